#include "gpuhist/regions.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/validate.hpp"
#include "cpu/workers.hpp"
#include "engines.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {
namespace cpu {
namespace {

/// Pixels of one label.
struct Place {
    std::uint64_t label = 0, area = 0;
    std::int64_t left = std::numeric_limits<std::int64_t>::max(), top = left, right = -1, bottom = -1;
    std::uint64_t begin = 0;  ///< of its pixels among those of its group
};

/// Calls visit(label, first column, pixels) for the runs of equal labels in a row.
template <class Label, class Visit>
void for_runs(const Label* row, std::int64_t width, const Visit& visit) {
    for (std::int64_t x = 0; x < width;) {
        const Label label = row[x];
        const std::int64_t first = x;
        while (++x < width && row[x] == label) {
        }
        visit(label, first, x - first);
    }
}

template <class Visit>
void with_labels(const ImageView& labels, const Visit& visit) {
    switch (labels.depth) {
        case Depth::u8:
            return visit(std::uint8_t{});
        case Depth::u16:
            return visit(std::uint16_t{});
        case Depth::u32:
            return visit(std::uint32_t{});
        default:
            return visit(std::int32_t{});
    }
}

/// Finder of a label's place. Labels that lie close are found in a table, others by hashing.
class Index {
  public:
    explicit Index(std::uint64_t largest) : near_(largest < most_near) {
        if (near_) table_.assign(static_cast<std::size_t>(largest) + 1, none);
    }
    /// Place of a label, which is made where there is none yet.
    Place& operator[](std::uint64_t label) {
        if (near_) {
            std::uint32_t& at = table_[static_cast<std::size_t>(label)];
            if (at == none) at = add(label);
            return places[at];
        }
        const auto [there, fresh] = hashed_.try_emplace(label, 0U);
        if (fresh) there->second = add(label);
        return places[there->second];
    }
    /// Puts the places in the order of their labels.
    void sort() {
        std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.label < b.label; });
        for (std::uint32_t i = 0; i < places.size(); ++i)
            (near_ ? table_[static_cast<std::size_t>(places[i].label)] : hashed_[places[i].label]) = i;
    }
    /// Number of a label's place; none: there is none.
    std::uint32_t find(std::uint64_t label) const {
        if (near_) return table_[static_cast<std::size_t>(label)];
        const auto there = hashed_.find(label);
        return there == hashed_.end() ? none : there->second;
    }

    static constexpr std::uint32_t none = ~0U;
    std::vector<Place> places;

  private:
    static constexpr std::uint64_t most_near = std::uint64_t{1} << 24;

    std::uint32_t add(std::uint64_t label) {
        places.emplace_back().label = label;
        return static_cast<std::uint32_t>(places.size() - 1);
    }

    const bool near_;
    std::vector<std::uint32_t> table_;
    std::unordered_map<std::uint64_t, std::uint32_t> hashed_;
};

const std::byte* row_of(const ImageView& view, std::int64_t row) {
    return static_cast<const std::byte*>(view.data) + (view.height == 1 ? 0 : row * view.row_bytes);
}

template <class Label>
Index find_places(const ImageView& labels, bool label_zero) {
    std::uint64_t largest = 0;
    for (std::int64_t y = 0; y < labels.height; ++y) {
        const auto* row = reinterpret_cast<const Label*>(row_of(labels, y));
        Label lowest = 0, highest = 0;
        for (std::int64_t x = 0; x < labels.width; ++x) {
            lowest = std::min(lowest, row[x]);
            highest = std::max(highest, row[x]);
        }
        if (lowest < 0)
            throw InvalidArgument("label " + std::to_string(lowest) + " in row " + std::to_string(y) +
                                  ": labels are not negative");
        largest = std::max(largest, static_cast<std::uint64_t>(highest));
    }
    Index index(largest);
    for (std::int64_t y = 0; y < labels.height; ++y)
        for_runs(reinterpret_cast<const Label*>(row_of(labels, y)), labels.width,
                 [&](Label label, std::int64_t x, std::int64_t pixels) {
                     if (label == 0 && !label_zero) return;
                     Place& place = index[static_cast<std::uint64_t>(label)];
                     place.area += static_cast<std::uint64_t>(pixels);
                     place.left = std::min(place.left, x);
                     place.right = std::max(place.right, x + pixels - 1);
                     place.top = std::min(place.top, y);
                     place.bottom = y;
                 });
    index.sort();
    return index;
}

/// Labels that are analysed at once: their pixels lie together, label after label.
struct Group {
    std::size_t first, last;
    std::uint64_t pixels;
};

/// Next labels whose pixels take no more than so many bytes, one at least.
Group next_group(std::vector<Place>& places, std::size_t first, std::uint64_t most_pixels) {
    Group group{first, first, 0};
    while (group.last < places.size() &&
           (group.last == first || group.pixels + places[group.last].area <= most_pixels)) {
        places[group.last].begin = group.pixels;
        group.pixels += places[group.last++].area;
    }
    return group;
}

/// Brings the pixels of a group's labels together, and the bytes of their mask.
template <class Label>
void gather(const ImageView& image, const ImageView& labels, const Index& index, const Group& group, bool label_zero,
            std::byte* pixels, std::uint8_t* mask) {
    const auto pixel_bytes = static_cast<std::size_t>(image.channels) * sample_bytes(image.depth);
    std::vector<std::uint64_t> next(group.last - group.first);
    std::int64_t top = image.height, bottom = -1;
    for (std::size_t i = group.first; i < group.last; ++i) {
        next[i - group.first] = index.places[i].begin;
        top = std::min(top, index.places[i].top);
        bottom = std::max(bottom, index.places[i].bottom);
    }
    for (std::int64_t y = top; y <= bottom; ++y) {
        const std::byte* const row = row_of(image, y);
        const std::uint8_t* const bytes =
            image.mask ? image.mask + (image.height == 1 ? 0 : y * image.mask_row_bytes) : nullptr;
        for_runs(reinterpret_cast<const Label*>(row_of(labels, y)), labels.width,
                 [&](Label label, std::int64_t x, std::int64_t count) {
                     if (label == 0 && !label_zero) return;
                     const std::uint32_t at = index.find(static_cast<std::uint64_t>(label));
                     if (at < group.first || at >= group.last) return;
                     std::uint64_t& to = next[at - group.first];
                     const auto run = static_cast<std::size_t>(count);
                     std::memcpy(pixels + to * pixel_bytes, row + static_cast<std::size_t>(x) * pixel_bytes,
                                 run * pixel_bytes);
                     if (bytes) std::memcpy(mask + to, bytes + x, run);
                     to += run;
                 });
    }
}

/// Regions that are analysed before they are handed over, so that no more results are held.
constexpr std::size_t held_regions = 1024;

}  // namespace
}  // namespace cpu

void analyze_regions(const ImageView& image, const ImageView& labels, const AnalysisRequest& request,
                     const std::function<void(std::vector<Region>&)>& take, const RegionOptions& options) {
    using namespace cpu;
    core::validate(image, request);
    core::validate_labels(image, labels);
    if (image.memory != Memory::host || labels.memory != Memory::host)
        throw InvalidArgument("regions: image and labels must lie in host memory");
    EngineOptions one_thread;
    one_thread.threads = 1;
    EngineOptions all_threads;
    all_threads.threads = options.threads;
    const int threads = threads_of(all_threads);
    Workers workers(threads);
    std::vector<std::unique_ptr<Engine>> engines;
    for (int i = 0; i < threads; ++i) engines.push_back(make_engine("cpu", one_thread));
    const std::unique_ptr<Engine> together = threads > 1 ? make_engine("cpu", all_threads) : nullptr;
    AnalysisRequest asked = request;
    asked.sparse = true;

    with_labels(labels, [&](auto type) {
        using Label = decltype(type);
        Index index = find_places<Label>(labels, options.label_zero);
        const auto pixel_bytes = static_cast<std::uint64_t>(image.channels) * sample_bytes(image.depth);
        const std::uint64_t most = std::max<std::uint64_t>(1, options.memory / (pixel_bytes + (image.mask ? 1 : 0)));
        std::vector<double> pixels;  // aligned to any sample
        std::vector<std::uint8_t> mask;
        std::vector<Region> regions;
        for (std::size_t first = 0; first < index.places.size();) {
            const Group group = next_group(index.places, first, most);
            first = group.last;
            pixels.resize(static_cast<std::size_t>((group.pixels * pixel_bytes + sizeof(double) - 1) / sizeof(double)));
            if (image.mask) mask.resize(static_cast<std::size_t>(group.pixels));
            auto* const bytes = reinterpret_cast<std::byte*>(pixels.data());
            gather<Label>(image, labels, index, group, options.label_zero, bytes, mask.data());
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
                region.width = place.right - place.left + 1;
                region.height = place.bottom - place.top + 1;
                region.area = place.area;
                engine.analyze(view, asked, region.analysis);
                const bool counted = options.count_values && traits_of(view.depth).counting == Counting::bins;
                region.values = counted ? count_frequencies(view, nullptr, asked, *options.count_values)
                                        : std::vector<FrequencyTable>();
            };
            for (std::size_t begin = group.first, end; begin < group.last; begin = end) {
                end = std::min(begin + held_regions, group.last);
                regions.resize(end - begin);
                // Large regions are shared out among the threads, small ones are one thread's each.
                const auto large = [&](std::size_t i) {
                    return together && index.places[i].area >= static_cast<std::uint64_t>(2 * serial_pixels);
                };
                workers.sweep(static_cast<std::int64_t>(end - begin), 8, 2, threads,
                              [&](int worker, std::int64_t from, std::int64_t to) {
                                  for (std::int64_t i = from; i < to; ++i) {
                                      const std::size_t at = begin + static_cast<std::size_t>(i);
                                      if (!large(at))
                                          analyze(*engines[static_cast<std::size_t>(worker)], index.places[at],
                                                  regions[static_cast<std::size_t>(i)]);
                                  }
                              });
                for (std::size_t i = begin; i < end; ++i)
                    if (large(i)) analyze(*together, index.places[i], regions[i - begin]);
                take(regions);
            }
        }
    });
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
