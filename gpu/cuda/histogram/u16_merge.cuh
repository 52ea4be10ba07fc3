// 16-bit images, merge: from the counters of blocks to an image's counts, sums and numbers.
#pragma once

#include <cstring>
#include <type_traits>

#include "cuda/histogram/u16_accumulate.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/results.cuh"
#include "cuda/tuning.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int page_count = values / page_values;

/// Blocks that add up the carries of all blocks with the same channels.
constexpr int carriers = 8;

/// Block partial: counters of one block, in device memory.
template <class L>
struct alignas(256) BlockPartial {
    std::uint32_t words[L::channels][L::Counters::words];
    std::uint32_t carries[L::channels][values];  ///< per place; zero but between counting and merging
    Word pages[5][page_count];  ///< samples in a channel's pages, for LUTs; the first block's: of a shared image
    bool carried;               ///< whether a carry is not zero
};

/// Sums of a channel over a whole image, of codes; Σ x² in parts that 64 bits hold. Of f16: the numbers of NaN, −Inf
/// and +Inf, and the extremes of the finite samples. Zero between images.
struct ChannelSums {
    union {
        Word sum, nan;
    };
    union {
        Word squares_low, minus_infinite;
    };
    union {
        Word squares_high, plus_infinite;
    };
    std::uint32_t complement_minimum, maximum;
    Word samples;  ///< non-finite ones included

    __device__ void add(std::uint32_t code, std::uint64_t times) {
        if (times == 0) return;
        samples += times;
        const core::u128 squares = static_cast<core::u128>(times) * (static_cast<std::uint64_t>(code) * code);
        sum += times * code;
        squares_low += static_cast<std::uint32_t>(squares);
        squares_high += static_cast<std::uint64_t>(squares >> 32);
        complement_minimum = max(complement_minimum, ~code);
        maximum = max(maximum, code);
    }
    __device__ void add_half(std::uint32_t code, std::uint64_t times) {
        constexpr std::uint32_t minus = core::minus_infinity_code<Half>, plus = core::plus_infinity_code<Half>;
        if (times == 0) return;
        samples += times;
        if (code < minus || code > plus) {
            nan += times;
        } else if (code == minus) {
            minus_infinite += times;
        } else if (code == plus) {
            plus_infinite += times;
        } else {
            complement_minimum = max(complement_minimum, ~code);
            maximum = max(maximum, code);
        }
    }
    __device__ void reduce_over_warp() {
        sum = reduce_warp(sum, Sum{});
        squares_low = reduce_warp(squares_low, Sum{});
        squares_high = reduce_warp(squares_high, Sum{});
        complement_minimum = reduce_warp(complement_minimum, Max{});
        maximum = reduce_warp(maximum, Max{});
        samples = reduce_warp(samples, Sum{});
    }
    /// Adds to sums of several blocks or warps, in shared or device memory.
    __device__ void add_to(ChannelSums& all) const {
        if ((complement_minimum | sum | squares_low | squares_high) == 0) return;  // no sample
        atomicAdd(&all.samples, samples);
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
    ChannelSums sums[5];
    std::uint32_t arrived;
    BlockPartial<L> blocks[1];  ///< one per block
};

/// Crew: the blocks of one role, which count some channels together. They are dealt to the roles in turn; to two, by
/// the work of each, so that both keep the same pace and the second to read pixels finds them in L2. Two channels and
/// luma's sums are as much work as two channels. Limit: 3 blocks.
class Crew {
  public:
    __device__ Crew(int role, int roles, bool count_luma)
        : role_(role),
          roles_(roles),
          part_(count_luma ? role == 0 ? lighter_role_blocks : 64 - lighter_role_blocks : 32) {}

    static __device__ int role_of(int block, int roles, bool count_luma) {
        if (roles != 2) return block % roles;
        return Crew(0, 2, count_luma).before(block + 1) > Crew(0, 2, count_luma).before(block) ? 0 : 1;
    }
    __device__ int blocks() const { return before(static_cast<int>(gridDim.x)); }
    __device__ int rank(int block) const { return before(block); }
    __device__ int block(int rank) const {
        if (roles_ != 2) return role_ + rank * roles_;
        return role_ == 0 ? rank * 64 / part_ : ((rank + 1) * 64 + part_ - 1) / part_ - 1;
    }

  private:
    /// Blocks of this role among the first `count` of the grid.
    __device__ int before(int count) const {
        if (roles_ != 2) return (count - role_ + roles_ - 1) / roles_;
        return role_ == 0 ? (count * part_ + 63) / 64 : count * part_ / 64;
    }

    int role_, roles_, part_;
};

/// Writes the count of the samples at a place of the counters, and adds it to the channel's sums.
template <int C>
__device__ inline void write_count(const Common& common, std::uint32_t place, Word n, Word* counts, ChannelSums& sums) {
    const std::uint32_t code = code_of_bin<std::uint16_t, C>(common, spread(place));
    counts[code] = n;
    if (common.depth == Depth::f16)
        sums.add_half(code, n);
    else
        sums.add(code, n);
}

/// Writes a channel's counts from a block's counters and carries (null: none), and clears the carries. Returns the
/// thread's sums.
template <int C, class L>
__device__ __noinline__ ChannelSums write_counts(const Common& common, const std::uint32_t* words,
                                                 std::uint32_t* carries, Word* counts) {
    using Counters = typename L::Counters;
    ChannelSums sums{};
    for (int w = threadIdx.x; w < static_cast<int>(Counters::words); w += blockDim.x) {
        std::uint32_t before = 0;
#pragma unroll
        for (int k = 0; k < Counters::per_word; ++k) {
            const std::uint32_t place = w * Counters::per_word + k;
            if (place >= Counters::places) break;
            std::uint64_t n = Counters::counter(words[w], k);
            if (carries) {
                const std::uint32_t here = __ldcg(carries + place);
                if (here != 0) carries[place] = 0;
                n += (std::uint64_t{here} << L::bits) - before;
                before = here;
            }
            write_count<C>(common, place, n, counts, sums);
        }
    }
    return sums;
}

/// Adds up the counters of each role's blocks, and each channel's sums and pages in the workspace, a chunk of words at
/// a time, several per lane. The block's groups of threads take turns reading the blocks' counters.
template <int C, class L>
__device__ __noinline__ void add_up_blocks(const CountParameters& p, std::int64_t i, ChannelSums* sums) {
    using Counters = typename L::Counters;
    auto& workspace = *static_cast<U16Workspace<L>*>(p.workspace);
    const int channels = C == 1 ? 1 : C + p.count_luma;
    constexpr int lanes = 64, each = L::wide ? 4 : 2, per_word = Counters::per_word, chunk = lanes * each,
                  places = chunk * per_word, chunks = (Counters::words + chunk - 1) / chunk;
    static_assert(places % warp_lanes == 0);  // a warp's places lie in one page
    using Words = std::conditional_t<each == 2, uint2, uint4>;
    const int groups = blockDim.x / lanes, group = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    std::uint32_t* partial = dynamic_shared;  // groups × places; all blocks' counters together fit 32 bits
    if (threadIdx.x < 5) sums[threadIdx.x] = ChannelSums{};
    for (int c = blockIdx.x; c < channels * chunks; c += gridDim.x) {
        const int channel = c / chunks, role = channel / L::channels, at = channel % L::channels,
                  first = c % chunks * chunk, w = first + lane * each;
        const Crew crew(role, L::roles, p.count_luma);
        std::uint32_t counts[each * per_word] = {};
        if (w < static_cast<int>(Counters::words)) {
#pragma unroll 4
            for (int rank = group; rank < crew.blocks(); rank += groups) {
                std::uint32_t word[each];
                const auto loaded =  // not from this multiprocessor's own cache
                    __ldcg(reinterpret_cast<const Words*>(&workspace.blocks[crew.block(rank)].words[at][w]));
                memcpy(word, &loaded, sizeof word);
#pragma unroll
                for (int k = 0; k < each * per_word; ++k)
                    counts[k] += Counters::counter(word[k / per_word], k % per_word);
            }
        }
#pragma unroll
        for (int k = 0; k < each * per_word; ++k) partial[group * places + lane * each * per_word + k] = counts[k];
        const int used = min(carriers, crew.blocks());
        bool carried[carriers];
#pragma unroll
        for (int k = 0; k < carriers; ++k)
            carried[k] = k < used && *static_cast<volatile bool*>(&workspace.blocks[crew.block(k)].carried);
        __syncthreads();  // every group's part is there
        ChannelSums own{};
        for (int q = threadIdx.x; q < places; q += blockDim.x) {
            const std::uint32_t place = first * per_word + q;
            Word n = 0;
            if (place < Counters::places) {
                for (int g = 0; g < groups; ++g) n += partial[g * places + q];
#pragma unroll
                for (int k = 0; k < carriers; ++k) {
                    if (!carried[k]) continue;
                    const std::uint32_t* carries = workspace.blocks[crew.block(k)].carries[at] + place;
                    n += Word{__ldcg(carries)} << L::bits;
                    if (place % per_word != 0) n -= __ldcg(carries - 1);
                }
                write_count<C>(p.common, place, n, counts_of(p.common, i, counted_channel(channel, C, p.common.rgb)),
                               own);
            }
            if (p.common.normalize) {
                const Word of_page = reduce_warp(n, Sum{});
                if (threadIdx.x % warp_lanes == 0 && place < Counters::places)
                    atomicAdd(&workspace.blocks[0].pages[channel][place / page_values], of_page);
            }
        }
        own.reduce_over_warp();
        if (threadIdx.x % warp_lanes == 0) own.add_to(sums[channel]);
        __syncthreads();  // the parts may be written again, and the carries
        for (int q = threadIdx.x; q < places; q += blockDim.x)
#pragma unroll
            for (int k = 0; k < carriers; ++k)
                if (const std::uint32_t place = first * per_word + q; carried[k] && place < Counters::places)
                    workspace.blocks[crew.block(k)].carries[at][place] = 0;
    }
    __syncthreads();  // the block's sums, for all
    if (threadIdx.x < 5) sums[threadIdx.x].add_to(workspace.sums[threadIdx.x]);
    __syncwarp();
}

/// Writes the numbers of a channel of f16, where −0 counts as +0. By one thread, when the channel's counts are written.
__device__ inline void write_half_channel(ChannelResult& result, Word* counts, const ChannelSums& sums) {
    constexpr std::uint32_t zero = 0x8000, minus_zero = zero - 1;
    counts[zero] = __ldcg(counts + zero) + __ldcg(counts + minus_zero);
    counts[minus_zero] = 0;
    const auto value = [](std::uint32_t code) {  // adding 0 turns −0 into 0
        return double(core::to_float(core::sample_at<Half>(static_cast<std::uint16_t>(code))) + 0.0f);
    };
    const bool any = sums.complement_minimum != 0;
    const double unknown = any ? __longlong_as_double(0x7FF8000000000000) : 0;
    result = ChannelResult{};
    result.samples = sums.samples - sums.nan - sums.minus_infinite - sums.plus_infinite;
    result.minimum = any ? value(~sums.complement_minimum) : 0;
    result.maximum = any ? value(sums.maximum) : 0;
    result.mean = result.std = unknown;
    result.nan = sums.nan;
    result.infinite = sums.minus_infinite + sums.plus_infinite;
    result.below = sums.minus_infinite;
    result.above = sums.plus_infinite;
}

/// Writes the numbers that follow from the channels' sums.
template <int C>
__device__ __noinline__ void write_channels(const CountParameters& p, std::int64_t i, std::int64_t pixels,
                                            const ChannelSums* sums) {
    if (threadIdx.x % warp_lanes == 0 && static_cast<int>(threadIdx.x) / warp_lanes < measured_channels(C)) {
        const int channel = threadIdx.x / warp_lanes;
        const ChannelSums& s = sums[channel];
        const int to = counted_channel(channel, C, p.common.rgb);
        ChannelResult& result = result_of(p.common, i)->channels[to];
        if (p.common.depth == Depth::f16)
            write_half_channel(result, counts_of(p.common, i, to), s);
        else
            write_channel(result, p.common.depth, sums[0].samples, s.sum,  // luma has as many
                          static_cast<core::u128>(s.squares_low) + (static_cast<core::u128>(s.squares_high) << 32),
                          ~s.complement_minimum, s.maximum);
    }
    if (threadIdx.x == blockDim.x - 1) write_header(p.common, i, pixels, measured_channels(C));
    __syncwarp();
}

/// Writes the samples of each page of a channel, by a block, from its counts.
__device__ inline void write_pages(const Word* counts, Word* pages) {
    const int lane = threadIdx.x % warp_lanes;
#pragma unroll 1
    for (int page = threadIdx.x / warp_lanes; page < page_count; page += blockDim.x / warp_lanes) {
        Word own = 0;
#pragma unroll
        for (int k = 0; k < page_values / warp_lanes; ++k)
            own += __ldcg(counts + page * page_values + k * warp_lanes + lane);
        own = reduce_warp(own, Sum{});
        if (lane == 0) pages[page] = own;
    }
}

}  // namespace

}  // namespace gpuhist::cuda
