#include "gpuhist/regions.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "core/integers.hpp"
#include "core/validate.hpp"
#include "cpu/centroids.hpp"
#include "cpu/regions.hpp"
#include "cpu/workers.hpp"
#include "front/engine.hpp"
#include "gpuhist/error.hpp"
#include "plan/abilities.hpp"
#include "plan/executor.hpp"

namespace gpuhist {
namespace {

/// Number of regions that are analyzed before they are passed on, which bounds the results in memory.
constexpr std::size_t held_regions = 1024;

static_assert(plan::regions_on_host(), "a GPU finds all statistics of regions: have it measure them here");

}  // namespace

void analyze_regions(const ImageView& image, const ImageView& labels, const AnalysisRequest& request,
                     const std::function<void(std::vector<Region>&)>& take, const RegionOptions& options) {
    using namespace cpu;
    core::validate(image, request);
    core::validate_labels(image, labels);
    if (image.memory != Memory::host || labels.memory != Memory::host)
        throw InvalidArgument("regions: image and labels must lie in host memory");
    AnalysisRequest counts = request;
    counts.measures = {};  // the pixels of a region are gathered, without their neighbors
    EngineOptions one_thread;
    one_thread.threads = 1;
    EngineOptions all_threads;
    all_threads.threads = options.threads;
    const int threads = threads_of(all_threads);
    Workers workers(threads);
    std::vector<std::unique_ptr<Engine>> engines;
    for (int i = 0; i < threads; ++i) engines.push_back(front::make_region_engine(one_thread));
    const std::unique_ptr<Engine> together = threads > 1 ? front::make_region_engine(all_threads) : nullptr;

    LabelIndex index(labels, options.label_zero);
    const auto pixel_bytes = static_cast<std::uint64_t>(image.channels) * sample_bytes(image.depth);
    const std::uint64_t more_bytes = 2 * sizeof(std::uint32_t) + (image.mask ? 1 : 0);  // coordinates, mask
    const std::uint64_t most = std::max<std::uint64_t>(1, options.memory / (pixel_bytes + more_bytes));
    std::vector<double> pixels;  // aligned to any sample
    std::vector<std::uint32_t> xs, ys;
    std::vector<std::uint8_t> mask;
    std::vector<Region> regions;
    for (std::size_t first = 0; first < index.places().size();) {
        const Group group = index.next_group(first, most);
        first = group.last;
        pixels.resize(static_cast<std::size_t>((group.pixels * pixel_bytes + sizeof(double) - 1) / sizeof(double)));
        xs.resize(static_cast<std::size_t>(group.pixels));
        ys.resize(static_cast<std::size_t>(group.pixels));
        if (image.mask) mask.resize(static_cast<std::size_t>(group.pixels));
        auto* const bytes = reinterpret_cast<std::byte*>(pixels.data());
        index.gather(image, group, bytes, xs.data(), ys.data(), mask.data());
        const auto analyze = [&](Engine& engine, const Place& place, Region& region) {
            ImageView view = image;
            view.data = bytes + place.begin * pixel_bytes;
            view.width = static_cast<std::int64_t>(place.area);
            view.height = 1;
            view.row_bytes = view.packed_row_bytes();
            view.mask = image.mask ? mask.data() + place.begin : nullptr;
            region.label = place.label;
            region.x = place.left;
            region.y = place.top;
            region.width = std::int64_t{place.right} - place.left + 1;
            region.height = std::int64_t{place.bottom} - place.top + 1;
            region.area = place.area;
            region.centroid_x = core::ratio(place.sum_x, place.area);
            region.centroid_y = core::ratio(place.sum_y, place.area);
            engine.analyze(view, counts, region.analysis);
            Workers alone(1);
            cpu::find_centroids(alone, view, {0, 0, xs.data() + place.begin, ys.data() + place.begin}, counts,
                                region.analysis);
            const bool counted = options.count_values && traits_of(view.depth).counting == Counting::bins;
            region.values = counted ? count_frequencies(view, nullptr, request, *options.count_values)
                                    : std::vector<FrequencyTable>();
        };
        for (std::size_t begin = group.first, end; begin < group.last; begin = end) {
            end = std::min(begin + held_regions, group.last);
            regions.resize(end - begin);
            // All threads share a large region; each small region belongs to one thread.
            const auto large = [&](std::size_t i) {
                return together && index.places()[i].area >= static_cast<std::uint64_t>(2 * serial_pixels);
            };
            workers.sweep(static_cast<std::int64_t>(end - begin), 8, 2, threads,
                          [&](int worker, std::int64_t from, std::int64_t to) {
                              for (std::int64_t i = from; i < to; ++i) {
                                  const std::size_t at = begin + static_cast<std::size_t>(i);
                                  if (!large(at))
                                      analyze(*engines[static_cast<std::size_t>(worker)], index.places()[at],
                                              regions[static_cast<std::size_t>(i)]);
                              }
                          });
            for (std::size_t i = begin; i < end; ++i)
                if (large(i)) analyze(*together, index.places()[i], regions[i - begin]);
            take(regions);
        }
    }
}

void find_centroids(const ImageView& rectangle, std::int64_t x, std::int64_t y, const AnalysisRequest& request,
                    Analysis& analysis, int threads) {
    core::validate(rectangle, request);
    if (rectangle.memory != Memory::host) throw InvalidArgument("centroids: the rectangle must lie in host memory");
    EngineOptions options;
    options.threads = threads;
    cpu::Workers workers(cpu::threads_of(options));
    cpu::find_centroids(workers, rectangle, {x, y}, request, analysis);
}

std::vector<Region> analyze_regions(const ImageView& image, const ImageView& labels, const AnalysisRequest& request,
                                    const RegionOptions& options) {
    std::vector<Region> regions;
    const auto take = [&](std::vector<Region>& some) {
        std::move(some.begin(), some.end(), std::back_inserter(regions));
    };
    analyze_regions(image, labels, request, take, options);
    return regions;
}

}  // namespace gpuhist
