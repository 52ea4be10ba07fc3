// Regions on the GPU: keys of label and value are sorted, and numbers found of the runs of equal labels; or few labels
// are counted. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/integers.hpp"
#include "cuda/host/parameters.hpp"
#include "cuda/sorted/sort.hpp"
#include "gpuhist/stream_regions.hpp"

namespace gpuhist::cuda {

/// Byte of a mask for nodata samples.
inline constexpr std::uint8_t nodata_class = 2;

/// Images and their label maps, of `channel.image`'s size each. Rows are not taken together.
struct LabeledImages {
    SortedChannel channel;  ///< of the first image
    Image labels;
    std::int64_t images, image_bytes, labels_bytes, mask_bytes;
    std::uint32_t flip;    ///< of signed integers: their highest bit; else 0
    std::uint32_t weight;  ///< of samples with weights in images without alpha; else alpha is theirs
    bool classes;          ///< the mask tells nodata (`nodata_class`) from masked

    std::int64_t pixels() const { return images * channel.image.pixels(); }
};

/// Numbers of labels: the regions of all images of a batch one after the other, and one more that is outside of all.
struct LabelNumbers {
    std::uint32_t first;          ///< label that has the number 0: 0 or 1
    std::uint32_t largest;        ///< label
    std::uint64_t of_each;        ///< image: the labels from first to largest
    std::uint64_t outside;        ///< number of pixels in no region
    int weight_bits;              ///< of the weight, at the end of a key; or 0. It is not sorted by
    int sample_bits, value_bits;  ///< of a key below the number: of the value; and all, with a bit of excluded samples,
                                  ///< whose value is 1 where they are nodata, else 0
    int bits;                     ///< of a key
};

/// Box of a region: its first and last pixels.
struct RegionBox {
    int left, top, right, bottom;
};
/// Sums over the codes of a region, integers of 8 or 16 bits.
struct RegionSums {
    Word sum, squares;
};

/// Device memory for `pixels` keys and `regions` regions, and one more of all but the keys.
template <class Key>
struct RegionMemory {
    Key *keys, *sorted;
    std::uint32_t* chunks;   ///< see SortMemory
    std::uint32_t* starts;   ///< keys before each region; one more
    std::uint64_t* numbers;  ///< of each region's label
    std::uint32_t* places;   ///< a number's region; null: they are looked for in `numbers`
    RegionBox* boxes;
    RegionSums* sums;  ///< null where regions have launch_region_moments
    Word* refused;
    void* temporary;
    std::size_t temporary_bytes;  ///< see sort_temporary
    std::uint32_t regions;
};

/// Device memory for few labels: one of each number (LabelNumbers).
struct FewRegionsMemory {
    Word* counts;    ///< [number][256], of codes
    Word* excluded;  ///< [number][2]: pixels that are masked, and that are nodata
    RegionBox* boxes;
    std::uint32_t* places;  ///< a number's region
    Word* refused;
    std::uint32_t regions;
};

/// Place of results, and the request.
struct RegionResults {
    char* memory;  ///< RegionsFound, RegionResult
    RegionLayout layout;
    Depth depth;
    double lowest;  ///< value of the code 0, of integers
    std::int32_t percentiles;
    std::uint32_t micro[Percentiles::most];
};

/// Widest key. The narrowest of 32, 64 and 128 bits is sorted that holds a number, a value and a weight.
using WideKey = core::u128;

/// Enqueues the filling of a channel of the results; with the first one the regions are found. `result_channel`: its
/// place in the results. Throws CudaError; does not synchronize.
template <class Key>
void launch_region_channel(const LabeledImages& images, const LabelNumbers& numbers, const RegionMemory<Key>& memory,
                           std::size_t label_bytes, bool first, int result_channel, const RegionResults& results,
                           const Launch& launch);

/// Verdict on samples: whether their regions are measured one by one, not by sums over all keys.
constexpr bool are_measured_apart(const LabelNumbers& numbers, Depth depth) {
    return numbers.weight_bits > 0 || sample_bytes(depth) > 2 || traits_of(depth).floating;
}
/// Enqueues the last step for these: a channel of the results from sorted keys.
template <class Key>
void launch_region_moments(const LabelNumbers& numbers, const RegionMemory<Key>& memory, std::int64_t count, bool first,
                           int result_channel, const RegionResults& results, const Launch& launch);

/// Verdict on labels: whether a block's shared memory has room to count the samples of each.
bool are_few(const LabelNumbers& numbers, std::size_t sample_bytes, const Launch& launch);

/// Enqueues likewise, where they are.
void launch_few_regions_channel(const LabeledImages& images, const LabelNumbers& numbers,
                                const FewRegionsMemory& memory, std::size_t label_bytes, bool first, int result_channel,
                                const RegionResults& results, const Launch& launch);

}  // namespace gpuhist::cuda
