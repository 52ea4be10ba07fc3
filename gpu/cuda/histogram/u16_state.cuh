// 16-bit images: how the rows share a block's memory, and what blocks leave for each other in device memory.
#pragma once

#include <cstdint>

#include "core/integers.hpp"
#include "cuda/block/hot_bins.cuh"
#include "cuda/block/packed_counters.cuh"
#include "cuda/block/reduce.cuh"
#include "cuda/host/parameters.hpp"
#include "cuda/normalize/build_lut.cuh"
#include "cuda/pixels/ring.cuh"
#include "cuda/tuning.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int values = 65536;
constexpr int page_count = values / page_values;

/// Layout of rows of counts in the shared memory: `rows` of them at a time, in counters of `bits` bits. Wide where a
/// block has 160 KiB or more: grey counts into 16 bits; of colours two rows fit at once, so that pixels are read half
/// as often, and 8 bits wrap rarely enough. Narrow fits all GPUs.
template <int C, bool Wide>
struct Layout {
    static constexpr bool wide = Wide;
    static constexpr int bits = Wide ? (C == 1 ? 16 : 8) : 6;
    static constexpr int rows = Wide && C > 1 ? 2 : 1;
    static constexpr int roles = C == 1 ? 1 : (C + rows) / rows;  ///< of channels and luma
    static constexpr int threads = C == 1 ? 1024 : 768;           ///< colours take more registers
    using Counters = PackedCounters<bits>;
    using Crowded = CrowdedPlaces<Wide ? 5 : 4>;
    using Rings = Ring<std::uint16_t, C, C == 3 ? 1 : 2, C == 3 ? 2 : 3>;  ///< of a warp, where there is room
    static constexpr bool ringed = has_copy_engine && Wide && C > 1;
    static constexpr int counter_words = rows * Counters::words, words = counter_words + rows * Crowded::words;
};

/// Blocks that add up the carries, of those that count the same rows.
constexpr int carriers = 8;

/// Block partial: what one block counted, in device memory.
template <class L>
struct alignas(256) BlockPartial {
    std::uint32_t words[L::rows][L::Counters::words];
    std::uint32_t carries[L::rows][values];  ///< of each place; zero but between counting and merging
    Word pages[5][page_count];  ///< samples in each page of a row, where LUTs follow; the first block's: of
                                ///< an image that all share
    bool carried;               ///< whether a carry is not zero
};

/// Sums of a row over a whole image; Σ x² in parts that 64 bits hold. Zero between images.
struct RowSums {
    Word sum, squares_low, squares_high;
    std::uint32_t complement_minimum, maximum;

    __device__ void add(std::uint32_t value, std::uint64_t times) {
        if (times == 0) return;
        const core::u128 squares = static_cast<core::u128>(times) * (static_cast<std::uint64_t>(value) * value);
        sum += times * value;
        squares_low += static_cast<std::uint32_t>(squares);
        squares_high += static_cast<std::uint64_t>(squares >> 32);
        complement_minimum = max(complement_minimum, ~value);
        maximum = max(maximum, value);
    }
    __device__ void reduce_over_warp() {
        sum = reduce_warp(sum, Sum{});
        squares_low = reduce_warp(squares_low, Sum{});
        squares_high = reduce_warp(squares_high, Sum{});
        complement_minimum = reduce_warp(complement_minimum, Max{});
        maximum = reduce_warp(maximum, Max{});
    }
    /// Adds to sums that others add to as well, in shared or device memory.
    __device__ void add_to(RowSums& all) const {
        if (complement_minimum == 0) return;  // no sample
        atomicAdd(&all.sum, sum);
        atomicAdd(&all.squares_low, squares_low);
        atomicAdd(&all.squares_high, squares_high);
        atomicMax(&all.complement_minimum, complement_minimum);
        atomicMax(&all.maximum, maximum);
    }
};

/// Workspace, zero between launches but for the block partials' words and pages.
template <class L>
struct U16Workspace {
    RowSums sums[5];
    std::uint32_t arrived;
    BlockPartial<L> blocks[1];  ///< one a block
};

/// Blocks of one role, which is to count some rows together. They are dealt to the roles in turn; of two, by the
/// work that each has, so that both go through the image at the same pace: what those of one read from memory those of
/// the other then find in L2. Two rows and luma's sums of the pixels are as much work as two rows. Limit: 3 blocks.
class Crew {
  public:
    __device__ Crew(int role, int roles, bool count_luma)
        : role_(role),
          roles_(roles),
          part_(count_luma ? role == 0 ? lighter_role_blocks : 32 - lighter_role_blocks : 16) {}

    static __device__ int role_of(int block, int roles, bool count_luma) {
        if (roles != 2) return block % roles;
        return Crew(0, 2, count_luma).before(block + 1) > Crew(0, 2, count_luma).before(block) ? 0 : 1;
    }
    __device__ int blocks() const { return before(static_cast<int>(gridDim.x)); }
    __device__ int rank(int block) const { return before(block); }
    __device__ int block(int rank) const {
        if (roles_ != 2) return role_ + rank * roles_;
        return role_ == 0 ? rank * 32 / part_ : ((rank + 1) * 32 + part_ - 1) / part_ - 1;
    }

  private:
    /// Blocks of this role among the first `count` of the grid.
    __device__ int before(int count) const {
        if (roles_ != 2) return (count - role_ + roles_ - 1) / roles_;
        return role_ == 0 ? (count * part_ + 31) / 32 : count * part_ / 32;
    }

    int role_, roles_, part_;
};

}  // namespace
}  // namespace gpuhist::cuda
