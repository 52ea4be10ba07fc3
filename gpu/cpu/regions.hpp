// Regions of a label image on the CPU: where the pixels of each label lie, and copies of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/integers.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::cpu {

/// Pixels of one label, at least one.
struct Place {
    core::u128 sum_x = 0, sum_y = 0;
    std::uint64_t label = 0, area = 0;
    std::uint64_t begin = 0;  ///< of its pixels among those of its group
    std::uint32_t left = std::numeric_limits<std::uint32_t>::max(), top = left, right = 0, bottom = 0;
};

/// Group of labels whose pixels are copied at once, label after label.
struct Group {
    std::size_t first, last;
    std::uint64_t pixels;
};

/// Labels of an image, by their places.
class LabelIndex {
  public:
    /// Finds the labels of a label image, which is one channel in host memory and must stay. Throws InvalidArgument for
    /// a negative one.
    LabelIndex(const ImageView& labels, bool label_zero);

    /// Places in ascending order of the labels.
    const std::vector<Place>& places() const { return places_; }
    /// Next labels whose pixels are no more than so many, one at least. Sets where their pixels begin.
    Group next_group(std::size_t first, std::uint64_t most_pixels);
    /// Copies the pixels of a group's labels, their coordinates, and the bytes of the image's mask if it has one.
    void gather(const ImageView& image, const Group& group, std::byte* pixels, std::uint32_t* xs, std::uint32_t* ys,
                std::uint8_t* mask) const;

  private:
    static constexpr std::uint32_t none = ~0U;
    /// Labels up to which their places are found in a table, others by hashing.
    static constexpr std::uint64_t most_near = std::uint64_t{1} << 24;

    template <class Label>
    void find_places();
    Place& place_of(std::uint64_t label);
    std::uint32_t find(std::uint64_t label) const;
    std::uint32_t add(std::uint64_t label);
    void sort();

    const ImageView labels_;
    const bool label_zero_;
    bool near_ = true;
    std::vector<Place> places_;
    std::vector<std::uint32_t> table_;
    std::unordered_map<std::uint64_t, std::uint32_t> hashed_;
};

}  // namespace gpuhist::cpu
