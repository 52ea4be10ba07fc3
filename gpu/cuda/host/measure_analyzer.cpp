#include "cuda/host/measure_analyzer.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/channels.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/measures/sums.hpp"

namespace gpuhist::cuda {
namespace {

bool has_colors(const ImageView& image) {
    return core::colors_of(image) == 3 && image.samples != Samples::gray_alpha;
}

// Images keep their rows; a single row needs no distance.
Image rows_of(const ImageView& image) {
    return {image.data, image.width, image.height, image.height == 1 ? 0 : image.row_bytes};
}
Mask mask_of(const ImageView& image) {
    return {image.mask, image.height == 1 ? 0 : image.mask_row_bytes};
}

/// Returns whether there are sums of colors among some measures, or sums of neighborhoods.
bool any_sums(const Measures& measures, bool of_colors) {
    bool any = false;
    measures::OfPixels::for_each([&](auto measure) {
        using Which = decltype(measure);
        any = any || (measures.has(Which::measure) && (Which::reach == measures::Reach::colors) == of_colors);
    });
    return any;
}

}  // namespace

MeasureParameters measure_parameters(const ImageView& image, const Measures& measures) {
    MeasureParameters p{};
    p.image = rows_of(image);
    p.mask = mask_of(image);
    p.depth = image.depth;
    p.channels = image.channels;
    if (has_colors(image)) {
        const core::Positions at(image.order);
        p.red = at.red;
        p.green = at.green;
        p.blue = at.blue;
    }
    p.colors = has_colors(image) && any_sums(measures, true);
    p.neighborhoods = image.width >= 3 && image.height >= 3 && any_sums(measures, false);
    return p;
}

void launch_sums(const MeasureParameters& p, const Launch& launch) {
    const bool luma = p.red != p.green;
    if (p.depth == Depth::u8 && !p.mask.data && p.neighborhoods && (luma ? p.channels <= 4 : p.channels == 1))
        launch_byte_measures(p, launch);
    else
        launch_measures(p, launch);
}

KeySelection key_selection(const ImageView& image, const Launch& launch) {
    using measures::Brightness;
    const DigitBits bits = digit_bits(launch);
    return {sample_bytes(image.depth) == 1 ? Brightness::key_bits<std::uint8_t> : Brightness::key_bits<std::uint16_t>,
            bits.first, bits.others};
}

KeyParameters key_parameters(const ImageView& image, const KeySelection& selection) {
    const core::Positions at(image.order);
    KeyParameters p{};
    p.image = rows_of(image);
    p.mask = mask_of(image);
    p.depth = image.depth;
    p.channels = image.channels;
    p.red = at.red;
    p.green = at.green;
    p.blue = at.blue;
    p.left = selection.left();
    p.bits = selection.bits();
    p.wanted = static_cast<int>(selection.wanted().size());
    std::copy(selection.wanted().begin(), selection.wanted().end(), p.digits);
    return p;
}

MeasureAnalyzer::MeasureAnalyzer(int gpu) : launch_(launch_on(gpu)) {}

void MeasureAnalyzer::analyze(const ImageView& image, const Measures& measures, Analysis& result, cudaStream_t stream) {
    launch_.stream = stream;
    result = {};
    find_sums(image, measures, result);
    if (measures.has(Measure::brightness))
        result.measured.push_back(has_colors(image) ? find_brightness(image) : Measured{Measure::brightness, 0, {}});
    if (measures.has(Measure::exposure)) result.measured.push_back({Measure::exposure, 0, {}});  // luma is counted
    std::sort(result.measured.begin(), result.measured.end(),
              [](const Measured& a, const Measured& b) { return a.measure < b.measure; });
}

/// Finds the measures that are sums over pixels.
void MeasureAnalyzer::find_sums(const ImageView& image, const Measures& measures, Analysis& result) {
    constexpr std::size_t bytes = measure_words * sizeof(Word);
    Word words[measure_words] = {};
    MeasureParameters p = measure_parameters(image, measures);
    if (p.colors || p.neighborhoods) {
        p.sums = reinterpret_cast<Word*>(memory_.reserve(bytes));
        char* const fetched = fetched_.reserve(bytes);
        GPUHIST_CUDA(cudaMemsetAsync(p.sums, 0, bytes, launch_.stream));
        launch_sums(p, launch_);
        GPUHIST_CUDA(cudaMemcpyAsync(fetched, p.sums, bytes, cudaMemcpyDeviceToHost, launch_.stream));
        GPUHIST_CUDA(cudaStreamSynchronize(launch_.stream));
        std::copy_n(reinterpret_cast<const Word*>(fetched), measure_words, words);
    }
    measures::OfPixels::for_each([&](auto measure) {
        using Which = decltype(measure);
        if (!measures.has(Which::measure)) return;
        constexpr int first = first_sum<Which>();
        Measured found{Which::measure, static_cast<std::uint64_t>(sum_of_words(words, first)), {}};
        for (int i = 1; i <= Which::sums; ++i) found.sums.push_back(core::to_public(sum_of_words(words, first + i)));
        result.measured.push_back(std::move(found));
    });
}

/// Finds the percentiles of the brightness of colors.
Measured MeasureAnalyzer::find_brightness(const ImageView& image) {
    KeySelection selection = key_selection(image, launch_);
    for (bool more = true; more;) {
        const std::size_t bytes = selection.counts() * sizeof(Word);
        KeyParameters p = key_parameters(image, selection);
        p.counts = reinterpret_cast<Word*>(memory_.reserve(bytes));
        char* const fetched = fetched_.reserve(bytes);
        GPUHIST_CUDA(cudaMemsetAsync(p.counts, 0, bytes, launch_.stream));
        launch_keys(p, launch_);
        GPUHIST_CUDA(cudaMemcpyAsync(fetched, p.counts, bytes, cudaMemcpyDeviceToHost, launch_.stream));
        GPUHIST_CUDA(cudaStreamSynchronize(launch_.stream));
        more = selection.take(reinterpret_cast<const std::uint64_t*>(fetched));
    }
    return selection.found();
}

}  // namespace gpuhist::cuda
