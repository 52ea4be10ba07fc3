// 16-bit images: the kernel, of a single image, a batch or a list.
#pragma once

#include <cstdint>

#include "cuda/histogram/u16_accumulate.cuh"
#include "cuda/histogram/u16_merge.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

/// Counts of an image in device memory, as build_luts asks for them.
template <int C>
struct ImageCounts {
    const Common& common;
    std::int64_t image;
    const Word (*pages)[page_count];

    __device__ int row_of(int row) const { return counted_row(row, C, common.rgb); }
    __device__ Word count(int row, int value) const { return __ldcg(counts_of(common, image, row_of(row)) + value); }
    __device__ Word count_page(int row, int page) const { return __ldcg(&pages[row][page]); }
    __device__ LutNumbers numbers(const LutRows<C>& rows) const {
        LutNumbers numbers{values - 1, 0, 0, 0, 0};
        for (int r = rows.row; r < rows.row + (rows.together ? 3 : 1); ++r) {
            const ChannelResult& channel = result_of(common, image)->channels[row_of(r)];
            numbers.low = min(numbers.low, static_cast<std::uint32_t>(__ldcg(&channel.minimum)));
            numbers.high = max(numbers.high, static_cast<std::uint32_t>(__ldcg(&channel.maximum)));
            numbers.samples += __ldcg(&channel.samples);
            numbers.sum += __ldcg(&channel.sum);
            numbers.squares += static_cast<core::u128>(
                core::from_public({__ldcg(&channel.sum_squares.low), __ldcg(&channel.sum_squares.high)}));
        }
        return numbers;
    }
};
/// Builds an image's LUTs by blocks of which this one has the given rank.
template <int C>
__device__ __noinline__ void make_luts(const Common& common, std::int64_t i, const Word (*pages)[page_count],
                                       core::Line<std::uint16_t>* lines, int rank, int blocks) {
    __shared__ TableRoom room[3];
    core::with_mode(common.normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        build_luts<Mode, std::uint16_t, C>(common.normalization, ImageCounts<C>{common, i, pages}, room, lines,
                                           luts_of<Written<Mode, std::uint16_t>>(common, i), rank, blocks);
    });
}

/// Steps of u16_kernel.
template <int C, class L, class Images>
class U16Steps {
  public:
    using Counters = typename L::Counters;
    using Crowded = typename L::Crowded;

    __device__ U16Steps(const Images& images, const CountParameters& p, core::Line<std::uint16_t>* lines)
        : images_(images),
          p_(p),
          lines_(lines),
          rows_(C == 1 ? 1 : C + p.count_luma),
          workspace_(*static_cast<U16Workspace<L>*>(p.workspace)) {}

    __device__ bool alone(std::int64_t i) const { return images_.image(i).pixels() <= p_.alone_pixels; }
    __device__ std::int64_t pieces(std::int64_t i) const {
        return images_.pieces_before(i + 1) - images_.pieces_before(i);
    }

    // ---- Images that one block has alone

    __device__ void do_alone(std::int64_t i, RowSums* sums, bool* carried) const {
        const Image image = images_.image(i);
        BlockPartial<L>& partial = workspace_.blocks[blockIdx.x];
        if (threadIdx.x < 5) sums[threadIdx.x] = RowSums{};
        for (int role = 0; role < L::roles; ++role) {
            count(role, image, dealt(pieces(i), 0, 1), partial, sums, carried);
            for (int row = role * L::rows; row < min((role + 1) * L::rows, rows_); ++row) {
                const int at = row - role * L::rows;
                RowSums own =
                    write_counts<L>(dynamic_shared + at * Counters::words, *carried ? partial.carries[at] : nullptr,
                                    counts_of(p_.common, i, counted_row(row, C, p_.common.rgb)));
                own.reduce_over_warp();
                if (threadIdx.x % warp_lanes == 0) own.add_to(sums[row]);
            }
            __syncthreads();  // the counters and the flag may be written again
        }
        write_rows<C>(p_, i, image.pixels(), sums);
        __syncthreads();
        if (p_.common.normalize) {
            for (int row = 0; needs_pages(p_.common.needs) && row < rows_; ++row)
                write_pages(counts_of(p_.common, i, counted_row(row, C, p_.common.rgb)), partial.pages[row]);
            __syncthreads();  // the pages, for all
            make_luts<C>(p_.common, i, partial.pages, lines_, 0, 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) publish(result_of(p_.common, i));
        if (p_.common.normalize) apply(i, 0, 1);
        __syncthreads();  // shared memory may be written again
    }

    // ---- Images that all blocks share: count, merge, build, apply, with all blocks at the same step

    __device__ void count_shared(std::int64_t i, RowSums* sums, bool* carried) const {
        const int role = Crew::role_of(blockIdx.x, L::roles, p_.count_luma);
        const Crew crew(role, L::roles, p_.count_luma);
        const int rank = crew.rank(blockIdx.x);
        BlockPartial<L>& carrier = workspace_.blocks[crew.block(rank % carriers)];
        if (threadIdx.x < 5) sums[threadIdx.x] = RowSums{};
        if (blockIdx.x == 0 && p_.common.normalize)  // before anybody adds to them
            for (int k = threadIdx.x; k < 5 * page_count; k += blockDim.x)
                workspace_.blocks[0].pages[k / page_count][k % page_count] = 0;
        count(role, images_.image(i), dealt(pieces(i), rank, crew.blocks()), carrier, sums, carried);
        auto* to = reinterpret_cast<uint4*>(workspace_.blocks[blockIdx.x].words);
        const auto* from = reinterpret_cast<const uint4*>(dynamic_shared);
        for (int w = threadIdx.x; w < L::counter_words / 4; w += blockDim.x) to[w] = from[w];
        if (threadIdx.x != 0) return;
        if (*carried) carrier.carried = true;
        if (C > 1 && rows_ == C && role == L::roles - 1) sums[C].add_to(workspace_.sums[C]);
    }

    __device__ void merge_shared(std::int64_t i, RowSums* sums, bool* last) const {
        add_up_blocks<C, L>(p_, i, sums);
        if (!arrive_last(&workspace_.arrived, gridDim.x, last)) return;
        if (threadIdx.x < 5) {
            RowSums& all = workspace_.sums[threadIdx.x];
            sums[threadIdx.x] = {__ldcg(&all.sum), __ldcg(&all.squares_low), __ldcg(&all.squares_high),
                                 __ldcg(&all.complement_minimum), __ldcg(&all.maximum)};
            all = RowSums{};
        }
        for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x)
            workspace_.blocks[block].carried = false;
        __syncthreads();  // the image's sums, for all
        write_rows<C>(p_, i, images_.image(i).pixels(), sums);
        __syncthreads();
        if (threadIdx.x == 0 && !p_.common.normalize) publish(result_of(p_.common, i));
    }

    __device__ void build_shared(std::int64_t i) const {
        make_luts<C>(p_.common, i, workspace_.blocks[0].pages, lines_, blockIdx.x, gridDim.x);
    }

    __device__ void apply_shared(std::int64_t i) const {
        if (blockIdx.x == 0 && threadIdx.x == 0) publish(result_of(p_.common, i));
        apply(i, blockIdx.x, gridDim.x);
    }

    /// Builds and applies lines, which each block has: none waits for the LUTs of others.
    __device__ void build_and_apply_shared(std::int64_t i) const {
        build_shared(i);
        __syncthreads();  // what this block writes of the LUTs
        if (threadIdx.x == 0 && arrives_last(&workspace_.arrived, gridDim.x)) publish(result_of(p_.common, i));
        apply(i, blockIdx.x, gridDim.x);
    }

  private:
    /// Counts one role's rows of a share in shared memory; luma that is not counted is added to sums[C].
    __device__ void count(int role, const Image& image, const Share& share, BlockPartial<L>& carrier, RowSums* sums,
                          bool* carried) const {
        std::uint32_t* crowded = dynamic_shared + L::counter_words;
        auto* words = reinterpret_cast<uint4*>(dynamic_shared);
        for (int w = threadIdx.x; w < L::counter_words / 4; w += blockDim.x) words[w] = uint4{};
        for (int w = threadIdx.x; w < L::rows * Crowded::words; w += blockDim.x)
            crowded[w] = Crowded::initial(w % Crowded::words);
        if (threadIdx.x == 0) *carried = false;
        __syncthreads();  // counters, sums and the flag, for all
        const Counting counting{shared_address(dynamic_shared),
                                shared_address(crowded),
                                shared_address(carried),
                                p_.rings ? shared_address(dynamic_shared + L::words) : 0,
                                carrier.carries[0],
                                p_.common.rgb};
        BrightnessSums luma = count_role<C, L>(role, image, share, counting, p_.count_luma);
        if (C > 1 && rows_ == C && role == L::roles - 1) {
            luma.reduce_over_warp();
            if (threadIdx.x % warp_lanes == 0)
                RowSums{luma.sum, luma.squares & 0xFFFFFFFFu, luma.squares >> 32, luma.complement_minimum, luma.maximum}
                    .add_to(sums[C]);
        }
        __syncthreads();  // all samples are counted
        for (int at = 0; at < L::rows; ++at)
            Crowded::template merge<Counters>(crowded + at * Crowded::words,
                                              counting.counters + at * Counters::words * 4,
                                              Carries{carrier.carries[at], counting.carried});
        __syncthreads();
    }
    __device__ void apply(std::int64_t i, int rank, int blocks) const {
        const Image image = images_.image(i);
        const Output output = images_.output_of(i);
        const Share share = dealt(pieces_of_samples<std::uint16_t, C>(image), rank, blocks);
        const bool separate = tables_of(C, p_.common.normalization) > 1;
        core::with_mode(p_.common.normalization.mode, [&](auto mode) {
            using Mode = decltype(mode);
            using O = Written<Mode, std::uint16_t>;
            auto write = [&](auto map) {
                write_mapped(image, share, MappedWriter<std::uint16_t, C, O, decltype(map)>{map, output});
            };
            const O* table = luts_of<O>(p_.common, i);
            constexpr int words = values * sizeof(O) / 4;
            if constexpr (is_stretch<Mode>) {
                write(LineMap<std::uint16_t, Mode>{lines_});
            } else if (separate || L::words < words) {
                write(LutMap<std::uint16_t, O, false>(table, separate));
            } else if constexpr (L::words >= words) {
                // One table for all is copied into shared memory where it fits; others are read through the caches.
                const auto* from = reinterpret_cast<const uint4*>(table);
                auto* near = reinterpret_cast<uint4*>(dynamic_shared);
                for (int w = threadIdx.x; w < words / 4; w += blockDim.x) near[w] = __ldcg(from + w);
                __syncthreads();
                write(LutMap<std::uint16_t, O, true>(reinterpret_cast<const O*>(dynamic_shared), separate));
            }
        });
    }

    const Images& images_;
    const CountParameters& p_;
    core::Line<std::uint16_t>* lines_;  ///< in shared memory: one a colour, of the image that is normalised
    int rows_;
    U16Workspace<L>& workspace_;
};

/// Kernel of all 16-bit images: counts per value of every channel and of luma, and the brightness sums, from counts or
/// pixels. Then, where it is asked for, each image's LUTs from its counts, and its normalised copy. Launch: one block a
/// multiprocessor of whole warps, at least as many as roles; cooperative where images are shared. A block's shared
/// memory holds the counters of few rows, see Layout. Small images are dealt to the blocks, which do all of them alone,
/// a role after the other. Large ones follow one after the other: blocks are dealt to the roles, see Crew, and those of
/// a role share the pixels; blocks of different roles read the same pixels at about the same time, mostly from L2. Each
/// leaves its counters in its partial, and after a grid barrier all blocks add up the partials, a stretch of words
/// each; the last one to finish writes the numbers. Then all blocks make the LUTs and, a barrier later where they need
/// them, write the copy. Colours come through the Rings of each warp, where there is a copy engine and room. Limit:
/// fewer than 2^32 pixels a block. Barriers in a block: after clearing and before reading counters, since any thread
/// may count any value. Bytes: each pixel is read once a role; for the copy once more, and written once.
template <int C, class L, class Images>
__global__ void __launch_bounds__(L::threads, 1)
    u16_kernel(const __grid_constant__ Images images, const __grid_constant__ CountParameters p) {
    __shared__ RowSums sums[5];
    __shared__ core::Line<std::uint16_t> lines[3];
    __shared__ bool carried, last_block;
    const U16Steps<C, L, Images> kernel(images, p, lines);
    if constexpr (L::ringed)
        if (p.rings) begin_rings<typename L::Rings>(shared_address(dynamic_shared + L::words));
    if (p.shared_images < images.count)
        for (std::int64_t i = blockIdx.x; i < images.count; i += gridDim.x)
            if (kernel.alone(i)) kernel.do_alone(i, sums, &carried);

    std::int64_t i = -1;
    for (std::int64_t seen = 0; seen < p.shared_images; ++seen) {
        while (kernel.alone(++i)) continue;                               // on to the next image that is shared
        if (seen > 0 || p.shared_images < images.count) wait_for_grid();  // the images before
        kernel.count_shared(i, sums, &carried);
        wait_for_grid();
        kernel.merge_shared(i, sums, &last_block);
        if (!p.common.normalize) continue;
        wait_for_grid();
        if (core::with_mode(p.common.normalization.mode, [](auto mode) { return is_stretch<decltype(mode)>; })) {
            kernel.build_and_apply_shared(i);
            continue;
        }
        kernel.build_shared(i);
        wait_for_grid();
        kernel.apply_shared(i);
    }
}

}  // namespace
}  // namespace gpuhist::cuda
