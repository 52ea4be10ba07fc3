#include "gpuhist/frequency_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "core/analysis.hpp"
#include "core/channels.hpp"
#include "core/float_keys.hpp"
#include "core/validate.hpp"
#include "cpu/classifier.hpp"
#include "cpu/parts.hpp"
#include "cpu/planes.hpp"
#include "cpu/radix_sort.hpp"
#include "dataset/frequency_table.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {
namespace cpu {
namespace {

/// Pixels whose keys are sorted at a time: so many that adding them to the counts costs little beside.
constexpr std::int64_t chunk_pixels = std::int64_t{1} << 20;

/// Keys of some samples. Returns whether all are finite.
GPUHIST_SIMD bool keys_loop(const float* values, int samples, std::uint32_t* keys) {
    std::uint32_t largest = 0;  // magnitude, as bits
    for (int i = 0; i < samples; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, values + i, sizeof bits);
        largest = std::max(largest, bits & 0x7FFFFFFFU);
    }
    for (int i = 0; i < samples; ++i) keys[i] = core::float_key(values[i]);
    return largest < 0x7F800000U;
}

/// Keys of the finite samples to `keys`, which has room for all. Returns how many.
int finite_keys(const float* values, int samples, std::uint32_t* keys, FrequencyTable& infinite) {
    if (keys_loop(values, samples, keys)) return samples;
    int count = 0;
    for (int i = 0; i < samples; ++i) {
        infinite.minus_infinite += values[i] == -std::numeric_limits<float>::infinity();
        infinite.plus_infinite += values[i] == std::numeric_limits<float>::infinity();
        keys[count] = core::float_key(values[i]);
        count += std::isfinite(values[i]) ? 1 : 0;
    }
    return count;
}

GPUHIST_SIMD std::pair<std::uint32_t, std::uint32_t> extremes_loop(const std::uint32_t* keys, std::size_t n) {
    std::uint32_t lowest = ~0U, highest = 0;
    for (std::size_t i = 0; i < n; ++i) lowest = keys[i] < lowest ? keys[i] : lowest;
    for (std::size_t i = 0; i < n; ++i) highest = keys[i] > highest ? keys[i] : highest;
    return {lowest, highest};
}

GPUHIST_SIMD void distances_loop(std::uint32_t* keys, std::size_t n, std::uint32_t first) {
    for (std::size_t i = 0; i < n; ++i) keys[i] -= first;
}

/// Keys of one channel, not yet counted.
struct Pending {
    std::unique_ptr<std::uint32_t[]> keys;
    std::size_t count = 0;
};

void count(Pending& pending, std::uint32_t* scratch, const std::shared_ptr<FrequencyStorage>& storage,
           FrequencyTable& sum) {
    if (pending.count == 0) return;
    std::uint32_t* keys = pending.keys.get();
    const auto [lowest, highest] = extremes_loop(keys, pending.count);  // what lies below needs no passes
    distances_loop(keys, pending.count, lowest);
    const int bits = static_cast<int>(std::bit_width(highest - lowest));
    sum.add(core::sorted_run(Depth::f32, lowest, radix_sort<11, 3>(keys, scratch, pending.count, bits), pending.count,
                             storage));
    sum.settle();
    pending.count = 0;
}

std::int64_t chunk_of(const ImageView& image) {
    return std::min(chunk_pixels, image.pixels());
}

std::size_t tables_of(const ImageView& image) {
    return static_cast<std::size_t>(core::measured_channels(std::min(image.channels, 4)));
}

/// Tables of an image that has parts, or a fourth channel that is a band.
std::vector<FrequencyTable> count_parts(const ImageView& image, const std::shared_ptr<FrequencyStorage>& storage,
                                        const AnalysisRequest& request) {
    std::vector<FrequencyTable> tables;
    Part part;
    const int bands = core::first_band(image);
    if (bands > 0) tables = count_frequencies(part.of(image, 0, bands), storage, request);
    for (int c = bands; c < image.channels; ++c)
        tables.push_back(count_frequencies(part.of(image, c, 1), storage, request).front());
    return tables;
}

template <class Source>
std::vector<FrequencyTable> count_pixels(const Source& source, const std::shared_ptr<FrequencyStorage>& storage) {
    const ImageView& image = source.image;
    const std::int64_t chunk = chunk_of(image);
    std::vector<FrequencyTable> tables(tables_of(image), FrequencyTable(storage));
    std::vector<Pending> pending(tables.size());
    const auto keys_of_a_chunk = [&] { return std::make_unique_for_overwrite<std::uint32_t[]>(chunk); };
    for (Pending& one : pending) one.keys = keys_of_a_chunk();
    const auto scratch = keys_of_a_chunk();
    for (std::int64_t begin = 0; begin < image.pixels(); begin += chunk) {
        const std::int64_t end = std::min(begin + chunk, image.pixels());
        for_planes(source, begin, end, [&](const Planes& planes, int pixels) {
            for (std::size_t c = 0; c < tables.size(); ++c) {
                Pending& to = pending[c];
                to.count += finite_keys(planes.values[c], pixels, to.keys.get() + to.count, tables[c]);
            }
        });
        for (std::size_t c = 0; c < tables.size(); ++c) count(pending[c], scratch.get(), storage, tables[c]);
    }
    return tables;
}

}  // namespace
}  // namespace cpu

std::size_t counting_bytes(const ImageView& image) {
    const std::size_t part = !core::is_swept(image) ? static_cast<std::size_t>(3 * image.pixels()) * sizeof(float) : 0;
    return (cpu::tables_of(image) + 1) * static_cast<std::size_t>(cpu::chunk_of(image)) * sizeof(std::uint32_t) + part;
}

std::vector<FrequencyTable> count_frequencies(const ImageView& image, const std::shared_ptr<FrequencyStorage>& storage,
                                              const AnalysisRequest& request, Samples samples) {
    core::validate(image, request);
    if (traits_of(image.depth).counting != Counting::bins) throw InvalidArgument("counts of values are for f32 images");
    if (samples == Samples::gray_alpha && image.channels != 4)
        throw InvalidArgument("gray and alpha are four samples per pixel");
    if (image.memory != Memory::host) throw InvalidArgument("counts of values: the image lies in device memory");
    if (request.validity || (image.mask && !core::is_swept(image))) {
        cpu::Workers workers(1);
        cpu::HostClassifier classifier(workers);
        rules::ClassCounts counts;
        ImageView named = image;
        if (samples != Samples::color) named.samples = samples;
        AnalysisRequest all = request;
        all.validity.reset();
        const rules::ImageRules rules(named, request.validity.get());
        ImageView view = classifier.substitute(named, rules, counts);
        if (samples == Samples::gray_alpha && rules.alpha_left_out()) {
            auto tables = count_frequencies(view, storage, all);
            return {std::move(tables.front())};
        }
        return count_frequencies(view, storage, all, samples);
    }
    if (!core::is_swept(image)) {
        ImageView parts = image;
        if (samples == Samples::color_bands) parts.samples = samples;
        return cpu::count_parts(parts, storage, request);
    }
    auto tables = cpu::with_pixel_source(image, [&](const auto& source) { return cpu::count_pixels(source, storage); });
    // Counted are red green blue luma alpha, of one channel gray.
    if (samples == Samples::gray_alpha) tables.erase(tables.begin() + 1, tables.end() - 1);
    if (samples == Samples::bands && tables.size() > 1) tables.erase(tables.begin() + 3);
    return tables;
}

}  // namespace gpuhist
