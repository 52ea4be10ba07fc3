#include "cpu/regions.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>

#include "cpu/pixel_source.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::cpu {
namespace {

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

/// As with_depth, for the depths that labels have.
template <class Visit>
void with_labels(const ImageView& labels, const Visit& visit) {
    with_depth(labels.depth, [&](auto label) {
        using Label = decltype(label);
        if constexpr (std::is_unsigned_v<Label> || std::is_same_v<Label, std::int32_t>) visit(label);
    });
}

}  // namespace

std::uint32_t LabelIndex::add(std::uint64_t label) {
    places_.emplace_back().label = label;
    return static_cast<std::uint32_t>(places_.size() - 1);
}

/// Place of a label. A new label gets a place.
Place& LabelIndex::place_of(std::uint64_t label) {
    if (near_) {
        std::uint32_t& at = table_[static_cast<std::size_t>(label)];
        if (at == none) at = add(label);
        return places_[at];
    }
    const auto [there, fresh] = hashed_.try_emplace(label, 0U);
    if (fresh) there->second = add(label);
    return places_[there->second];
}

/// Number of a label's place.
std::uint32_t LabelIndex::find(std::uint64_t label) const {
    if (near_) return table_[static_cast<std::size_t>(label)];
    const auto there = hashed_.find(label);
    return there == hashed_.end() ? none : there->second;
}

/// Puts the places in the order of their labels.
void LabelIndex::sort() {
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.label < b.label; });
    for (std::uint32_t i = 0; i < places_.size(); ++i)
        (near_ ? table_[static_cast<std::size_t>(places_[i].label)] : hashed_[places_[i].label]) = i;
}

template <class Label>
void LabelIndex::find_places() {
    std::uint64_t largest = 0;
    for (std::int64_t y = 0; y < labels_.height; ++y) {
        const Label* const row = samples_at<Label>(labels_, y, 0);
        Label lowest = 0, highest = 0;
        for (std::int64_t x = 0; x < labels_.width; ++x) {
            lowest = std::min(lowest, row[x]);
            highest = std::max(highest, row[x]);
        }
        if (lowest < 0)
            throw InvalidArgument("label " + std::to_string(lowest) + " in row " + std::to_string(y) +
                                  ": labels must not be negative");
        largest = std::max(largest, static_cast<std::uint64_t>(highest));
    }
    near_ = largest < most_near;
    if (near_) table_.assign(static_cast<std::size_t>(largest) + 1, none);
    for (std::int64_t y = 0; y < labels_.height; ++y)
        for_runs(samples_at<Label>(labels_, y, 0), labels_.width,
                 [&](Label label, std::int64_t x, std::int64_t pixels) {
                     if (label == 0 && !label_zero_) return;
                     Place& place = place_of(static_cast<std::uint64_t>(label));
                     place.area += static_cast<std::uint64_t>(pixels);
                     place.left = std::min(place.left, static_cast<std::uint32_t>(x));
                     place.right = std::max(place.right, static_cast<std::uint32_t>(x + pixels - 1));
                     place.top = std::min(place.top, static_cast<std::uint32_t>(y));
                     place.bottom = static_cast<std::uint32_t>(y);
                     const auto first = static_cast<core::u128>(x), run = static_cast<core::u128>(pixels);
                     place.sum_x += first * run + run * (run - 1) / 2;
                     place.sum_y += static_cast<core::u128>(y) * run;
                 });
    sort();
}

LabelIndex::LabelIndex(const ImageView& labels, bool label_zero) : labels_(labels), label_zero_(label_zero) {
    with_labels(labels, [&](auto label) { find_places<decltype(label)>(); });
}

Group LabelIndex::next_group(std::size_t first, std::uint64_t most_pixels) {
    Group group{first, first, 0};
    while (group.last < places_.size() &&
           (group.last == first || group.pixels + places_[group.last].area <= most_pixels)) {
        places_[group.last].begin = group.pixels;
        group.pixels += places_[group.last++].area;
    }
    return group;
}

void LabelIndex::gather(const ImageView& image, const Group& group, std::byte* pixels, std::uint32_t* xs,
                        std::uint32_t* ys, std::uint8_t* mask) const {
    const auto pixel_bytes = static_cast<std::size_t>(image.channels) * sample_bytes(image.depth);
    std::vector<std::uint64_t> next(group.last - group.first);
    std::int64_t top = image.height, bottom = -1;
    for (std::size_t i = group.first; i < group.last; ++i) {
        next[i - group.first] = places_[i].begin;
        top = std::min(top, std::int64_t{places_[i].top});
        bottom = std::max(bottom, std::int64_t{places_[i].bottom});
    }
    for (std::int64_t y = top; y <= bottom; ++y) {
        const auto* const row = static_cast<const std::byte*>(image.data) + y * image.row_bytes;
        const std::uint8_t* const bytes = image.mask ? image.mask + y * image.mask_row_bytes : nullptr;
        const auto copy = [&](std::uint64_t label, std::int64_t x, std::int64_t count) {
            if (label == 0 && !label_zero_) return;
            const std::uint32_t at = find(label);
            if (at < group.first || at >= group.last) return;
            std::uint64_t& to = next[at - group.first];
            const auto run = static_cast<std::size_t>(count);
            std::memcpy(pixels + to * pixel_bytes, row + static_cast<std::size_t>(x) * pixel_bytes, run * pixel_bytes);
            std::iota(xs + to, xs + to + run, static_cast<std::uint32_t>(x));
            std::fill_n(ys + to, run, static_cast<std::uint32_t>(y));
            if (bytes) std::memcpy(mask + to, bytes + x, run);
            to += run;
        };
        with_labels(labels_,
                    [&](auto type) { for_runs(samples_at<decltype(type)>(labels_, y, 0), labels_.width, copy); });
    }
}
}  // namespace gpuhist::cpu
