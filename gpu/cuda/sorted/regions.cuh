// Regions as kernels find them, whether labels are sorted or counted.
#pragma once

#include <climits>

#include "cuda/sorted/regions.hpp"

namespace gpuhist::cuda {
namespace {

/// Box that holds no pixel.
constexpr RegionBox no_box{INT_MAX, INT_MAX, -1, -1};

/// Widens a box, which only grows: an old value costs at most an atomic operation that changes nothing.
__device__ inline void widen(RegionBox& box, const RegionBox& by) {
    const RegionBox old = box;
    if (by.left < old.left) atomicMin(&box.left, by.left);
    if (by.right > old.right) atomicMax(&box.right, by.right);
    if (by.top < old.top) atomicMin(&box.top, by.top);
    if (by.bottom > old.bottom) atomicMax(&box.bottom, by.bottom);
}

/// Verdict on the byte of a mask: whether its pixel's sample is valid.
__device__ inline bool is_valid(const LabeledImages& images, std::uint8_t byte) {
    return byte != 0 && !(images.classes && byte == nodata_class);
}

/// Place of a region's first key, from `begin` to `end`, with a value of at least `value`. `values`: the bits of
/// values.
template <class Key>
__device__ inline std::uint32_t first_of_value(const Key* sorted, std::uint32_t begin, std::uint32_t end, Key values,
                                               Key value) {
    while (begin < end) {
        const std::uint32_t middle = begin + (end - begin) / 2;
        if ((sorted[middle] & values) < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/// Writes a region's label, image and box, by its number.
__device__ inline void write_place(RegionResult& result, const LabelNumbers& numbers, std::uint64_t number,
                                   const RegionBox& box) {
    const std::uint64_t image = number / numbers.of_each;
    result.label = number - image * numbers.of_each + numbers.first;
    result.image = static_cast<std::int64_t>(image);
    result.x = box.left;
    result.y = box.top;
    result.width = box.right - box.left + 1;
    result.height = box.bottom - box.top + 1;
}

}  // namespace
}  // namespace gpuhist::cuda
