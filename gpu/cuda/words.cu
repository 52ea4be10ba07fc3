// 16-bit images: one bin per possible value, and the brightness sums, in one sweep of the pixels.

#include <cstdint>

#include "cuda/brightness.cuh"
#include "cuda/launch.cuh"
#include "cuda/packed.cuh"
#include "cuda/results.cuh"
#include "cuda/sweep.cuh"
#include "cuda/tables.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int values = 65536, pairs = values / 2;

/// What one block counted, in device memory.
struct Slab {
    std::uint32_t words[pairs];     ///< two counters each
    std::uint32_t carries[values];  ///< zero but between counting and merging
    bool carried;                   ///< whether a carry is not
};

/// A row's sums over a whole image; Σ x² in parts that 64 bits hold. Zero between images.
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

/// Zero but for the slabs' words and flags between launches.
struct WordWorkspace {
    RowSums sums[5];
    std::uint32_t arrived;
    alignas(256) Slab slabs[1];  ///< one a block
};

/// Blocks are dealt in turn to the roles: a row of counts and a slice of its values each.
struct Role {
    int row, first, values;
    int rank, blocks;  ///< this block's place among those of the role
};
__device__ inline Role role_of(int block, int blocks, int rows, int parts_log2) {
    const int roles = rows << parts_log2, role = block % roles;
    Role result;
    result.row = role >> parts_log2;
    result.values = values >> parts_log2;
    result.first = (role - (result.row << parts_log2)) * result.values;
    result.rank = block / roles;
    result.blocks = blocks / roles + (blocks % roles > role);
    return result;
}

/// The value of a pixel in one row: a channel's, or luma in row C.
template <int C, int Row, class Sample>
__device__ inline std::uint32_t row_value(const Sample& sample, const Luma& luma) {
    if constexpr (Row < C)
        return sample(Row);
    else
        return luma(sample(0), sample(1), sample(2));
}

template <int C, int Row, bool Mixed>
struct WordCounter {
    PackedCounters<Mixed> counters;
    Luma luma;

    __device__ void group(std::int64_t, std::int64_t, const Group<std::uint16_t, C>& g) const {
        std::uint32_t value[Group<std::uint16_t, C>::pixels];
#pragma unroll
        for (int p = 0; p < Group<std::uint16_t, C>::pixels; ++p)
            value[p] = row_value<C, Row>([&](int c) -> std::uint32_t { return g[p * C + c]; }, luma);
        counters.add(value);
    }
    __device__ void pixel(std::int64_t, std::int64_t, const std::uint16_t (&sample)[C]) const {
        counters.add_one(row_value<C, Row>([&](int c) -> std::uint32_t { return sample[c]; }, luma));
    }
};

/// Of luma that is not counted. Limit: fewer than 2^32 pixels a block, whose Σ x² < 2^64.
template <int C>
struct LumaSummer {
    Luma luma;
    BrightnessSums sums;

    __device__ void group(std::int64_t, std::int64_t, const Group<std::uint16_t, C>& g) {
#pragma unroll
        for (int p = 0; p < Group<std::uint16_t, C>::pixels; ++p) sums.add(luma(g[p * C], g[p * C + 1], g[p * C + 2]));
    }
    __device__ void pixel(std::int64_t, std::int64_t, const std::uint16_t (&sample)[C]) {
        sums.add(luma(sample[0], sample[1], sample[2]));
    }
};

/// The hot loops: functions of their own, so that what the kernel keeps does not crowd their registers.
template <int C, int Row, bool OneRow, bool Mixed>
__device__ __noinline__ void count_row(Image image, Share share, PackedCounters<Mixed> counters, bool rgb) {
    WordCounter<C, Row, Mixed> counter{counters, Luma(rgb)};
    if constexpr (OneRow)
        sweep_one_row<std::uint16_t, C, C == 1 ? 4 : 1, C != 1>(image, share, counter);
    else
        sweep_rows<std::uint16_t, C>(image, share, counter);
}
template <int C, bool OneRow, bool Mixed>
__device__ inline void count_row(int row, const Image& image, const Share& share, const PackedCounters<Mixed>& counters,
                                 bool rgb) {
    if (C == 1 || row == 0) return count_row<C, 0, OneRow>(image, share, counters, rgb);
    if constexpr (C > 1) {
        if (row == 1) return count_row<C, 1, OneRow>(image, share, counters, rgb);
        if (row == 2) return count_row<C, 2, OneRow>(image, share, counters, rgb);
        if (row == C) return count_row<C, C, OneRow>(image, share, counters, rgb);
        if constexpr (C == 4) count_row<C, 3, OneRow>(image, share, counters, rgb);
    }
}
template <int C>
__device__ __noinline__ BrightnessSums sum_luma(Image image, Share share, bool rgb) {
    LumaSummer<C> summer{Luma(rgb), BrightnessSums{}};
    if constexpr (C > 1) {
        if (in_one_row<std::uint16_t, C>(image))
            sweep_one_row<std::uint16_t, C, 1, C == 3>(image, share, summer);
        else
            sweep_rows<std::uint16_t, C>(image, share, summer);
    }
    return summer.sums;
}
template <int C, typename O, bool Shared>
__device__ __noinline__ void apply_table(Image image, Share share, TableWriter<std::uint16_t, C, O, Shared> writer) {
    constexpr int W = written_channels<C>;
    if (in_one_row<std::uint16_t, W>(image))
        sweep_one_row<std::uint16_t, W, W == 1 ? 2 : 1, false>(image, share, writer);
    else
        sweep_rows<std::uint16_t, W>(image, share, writer);
}

/// What a block finds while it counts, in shared memory.
struct Counting {
    bool carried;                ///< a carry was booked
    std::uint32_t ever, always;  ///< bits of some first samples
};

template <int C, typename O, class Images>
class WordKernel {
  public:
    __device__ WordKernel(const Images& images, const CountParameters& p)
        : images_(images),
          p_(p),
          rows_(C == 1 ? 1 : C + p.count_luma),
          workspace_(*static_cast<WordWorkspace*>(p.workspace)) {}

    __device__ bool alone(std::int64_t i) const { return images_.image(i).pixels() <= p_.alone_pixels; }
    __device__ std::int64_t pieces(std::int64_t i) const {
        return images_.pieces_before(i + 1) - images_.pieces_before(i);
    }
    __device__ Share block_share(std::int64_t i) const { return {threadIdx.x, pieces(i), blockDim.x}; }
    __device__ Share team_share(std::int64_t i, int rank, int blocks) const {
        return {static_cast<std::int64_t>(rank) * blockDim.x + threadIdx.x, pieces(i),
                static_cast<std::int64_t>(blocks) * blockDim.x};
    }

    // ---- Images that one block has alone

    __device__ void do_alone(std::int64_t i, RowSums* sums, Counting& state) const {
        const Image image = images_.image(i);
        const int slice = values >> p_.parts_log2;
        Slab& slab = workspace_.slabs[blockIdx.x];
        if (threadIdx.x < 5) sums[threadIdx.x] = RowSums{};
        for (int row = 0; row < rows_; ++row) {
            Word* counts = counts_of(p_.common, i, counted_row(row, C, p_.common.rgb));
            RowSums own{};
            for (int first = 0; first < values; first += slice) {
                const bool mixed = count(row, image, block_share(i), first, slice, slab, state);
                for (int v = threadIdx.x; v < slice; v += blockDim.x) {
                    const std::uint32_t word = word_of_pair(v >> 1, mixed);
                    std::uint64_t n = v & 1 ? word >> 16 : word & 0xFFFFu;
                    if (state.carried) n += std::uint64_t{atomicExch(&slab.carries[v], 0u)} << 16;
                    counts[first + v] = n;
                    own.add(first + v, n);
                }
                __syncthreads();  // the counters and the flag may be written again
            }
            own.reduce_over_warp();
            if (threadIdx.x % warp_lanes == 0) own.add_to(sums[row]);
        }
        if (C > 1 && !p_.count_luma) {
            BrightnessSums luma = sum_luma<C>(image, block_share(i), p_.common.rgb);
            add_luma(luma, sums[C]);
        }
        __syncthreads();  // the sums, for all
        write_rows(i, image, sums);
        if constexpr (!std::is_void_v<O>) {
            for (int t = 0; t < tables(); ++t) build(i, t);
            __syncthreads();
        }
        __syncthreads();
        if (threadIdx.x == 0) publish(result_of(p_.common, i));
        if constexpr (!std::is_void_v<O>) apply(i, 0, 1);
        __syncthreads();  // shared memory may be written again
    }

    // ---- Images that all blocks share: count, merge, build, apply, with all blocks at the same step

    __device__ void count_shared(std::int64_t i, RowSums* sums, Counting& state) const {
        const Image image = images_.image(i);
        const Role role = role_of(blockIdx.x, gridDim.x, rows_of(C), p_.parts_log2);
        if (role.row == rows_) {  // luma that is not counted: one block's look at each pixel
            if (role.first != 0) return;
            if (threadIdx.x < 5) sums[threadIdx.x] = RowSums{};
            __syncthreads();  // the sums, for all
            add_luma(sum_luma<C>(image, team_share(i, role.rank, role.blocks), p_.common.rgb), sums[C]);
            __syncthreads();
            if (threadIdx.x == 0) sums[C].add_to(workspace_.sums[C]);
            return;
        }
        Slab& slab = workspace_.slabs[blockIdx.x];
        const bool mixed =
            count(role.row, image, team_share(i, role.rank, role.blocks), role.first, role.values, slab, state);
        for (int w = threadIdx.x; w < role.values / 2; w += blockDim.x) slab.words[w] = word_of_pair(w, mixed);
        if (threadIdx.x == 0) slab.carried = state.carried;
    }

    /// Adds up what the blocks of each role counted. 64 pairs of values at a time, by 16 groups of threads, each of
    /// which reads every 16th block's counters.
    __device__ void merge_shared(std::int64_t i, RowSums* sums, bool* last) const {
        constexpr int chunk = 64, chunks = pairs / chunk;
        const int groups = blockDim.x / chunk, group = threadIdx.x / chunk, pair = threadIdx.x % chunk;
        const int roles = rows_of(C) << p_.parts_log2, slice_pairs = pairs >> p_.parts_log2;
        auto* partial = reinterpret_cast<Word*>(dynamic_shared);  // groups × 2 · chunk
        if (threadIdx.x < 5) sums[threadIdx.x] = RowSums{};
        for (int c = blockIdx.x; c < rows_ * chunks; c += gridDim.x) {
            const int row = c / chunks, first_pair = c % chunks * chunk;
            const int role = (row << p_.parts_log2) + first_pair / slice_pairs, at = first_pair % slice_pairs + pair;
            Word low = 0, high = 0;
#pragma unroll 4
            for (int block = role + group * roles; block < static_cast<int>(gridDim.x); block += groups * roles) {
                Slab& slab = workspace_.slabs[block];
                const std::uint32_t word = __ldcg(&slab.words[at]);
                low += word & 0xFFFFu;
                high += word >> 16;
                if (*static_cast<volatile bool*>(&slab.carried)) {
                    low += Word{atomicExch(&slab.carries[2 * at], 0u)} << 16;
                    high += Word{atomicExch(&slab.carries[2 * at + 1], 0u)} << 16;
                }
            }
            partial[group * 2 * chunk + 2 * pair] = low;
            partial[group * 2 * chunk + 2 * pair + 1] = high;
            __syncthreads();  // every group's part is there
            if (threadIdx.x < 2 * chunk) {
                Word n = 0;
                for (int g = 0; g < groups; ++g) n += partial[g * 2 * chunk + threadIdx.x];
                const int value = 2 * first_pair + threadIdx.x;
                counts_of(p_.common, i, counted_row(row, C, p_.common.rgb))[value] = n;
                RowSums own{};
                own.add(value, n);
                own.reduce_over_warp();
                if (threadIdx.x % warp_lanes == 0) own.add_to(sums[row]);
            }
            __syncthreads();  // the parts may be written again
        }
        __syncthreads();  // the block's sums, for all
        if (threadIdx.x < 5) sums[threadIdx.x].add_to(workspace_.sums[threadIdx.x]);
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();  // all that this block wrote is visible before it counts as arrived
            *last = atomicAdd(&workspace_.arrived, 1u) + 1 == gridDim.x;
            __threadfence();
        }
        __syncthreads();
        if (!*last) return;
        if (threadIdx.x < 5) {
            RowSums& all = workspace_.sums[threadIdx.x];
            sums[threadIdx.x] = {__ldcg(&all.sum), __ldcg(&all.squares_low), __ldcg(&all.squares_high),
                                 __ldcg(&all.complement_minimum), __ldcg(&all.maximum)};
            all = RowSums{};
        }
        if (threadIdx.x == 0) workspace_.arrived = 0;
        __syncthreads();  // the image's sums, for all
        write_rows(i, images_.image(i), sums);
        __syncthreads();
        if (threadIdx.x == 0 && std::is_void_v<O>) publish(result_of(p_.common, i));
    }

    __device__ void build_shared(std::int64_t i) const {
        if constexpr (!std::is_void_v<O>)
            for (int t = blockIdx.x; t < tables(); t += gridDim.x) build(i, t);
    }

    __device__ void apply_shared(std::int64_t i) const {
        if constexpr (!std::is_void_v<O>) {
            if (blockIdx.x == 0 && threadIdx.x == 0) publish(result_of(p_.common, i));
            apply(i, blockIdx.x, gridDim.x);
        }
    }

  private:
    /// Counts one row's values of a share in shared memory. Returns whether their places are mixed: where the first
    /// groups' bits do not all vary that choose the bank.
    __device__ bool count(int row, const Image& image, const Share& share, int first, int slice, Slab& slab,
                          Counting& state) const {
        if (threadIdx.x == 0) state = {false, 0, 0xFFFFFFFFu};
        auto* words = reinterpret_cast<uint4*>(dynamic_shared);
        for (int w = threadIdx.x; w < slice / 8; w += blockDim.x) words[w] = uint4{};
        __syncthreads();  // the counters and the state, for all
        const bool one_row = in_one_row<std::uint16_t, C>(image);
        constexpr std::uint32_t bank_bits = 0x3E;
        if (one_row && threadIdx.x < 128 && (share.first + 1) * Group<std::uint16_t, C>::pixels < image.width &&
            share.first < share.last) {
            const auto* sample =
                static_cast<const std::uint16_t*>(image.data) + share.first * Group<std::uint16_t, C>::samples;
            for (int i = 0; i < C; ++i) {
                atomicOr(&state.ever, std::uint32_t{sample[i]});
                atomicAnd(&state.always, std::uint32_t{sample[i]});
            }
        }
        __syncthreads();
        const bool mixed = !one_row || (state.ever & ~state.always & bank_bits) != bank_bits;
        const PackedCounters<true> counters{shared_address(dynamic_shared), static_cast<std::uint32_t>(first),
                                            static_cast<std::uint32_t>(slice), slab.carries, &state.carried};
        const PackedCounters<false> plain{counters.words, counters.first, counters.values, counters.carries,
                                          counters.carried};
        if (!one_row)
            count_row<C, false>(row, image, share, counters, p_.common.rgb);
        else if (mixed)
            count_row<C, true>(row, image, share, counters, p_.common.rgb);
        else
            count_row<C, true>(row, image, share, plain, p_.common.rgb);
        __syncthreads();
        return mixed;
    }
    static __device__ std::uint32_t word_of_pair(int pair, bool mixed) {
        return dynamic_shared[mixed ? PackedCounters<true>::place(pair) : pair];
    }
    __device__ static void add_luma(BrightnessSums luma, RowSums& all) {
        luma.reduce_over_warp();
        if (threadIdx.x % warp_lanes == 0)
            RowSums{luma.sum, luma.squares & 0xFFFFFFFFu, luma.squares >> 32, luma.complement_minimum, luma.maximum}
                .add_to(all);
    }
    __device__ void write_rows(std::int64_t i, const Image& image, const RowSums* sums) const {
        if (threadIdx.x % warp_lanes == 0 && static_cast<int>(threadIdx.x) / warp_lanes < rows_of(C)) {
            const int row = threadIdx.x / warp_lanes;
            const RowSums& s = sums[row];
            write_channel(result_of(p_.common, i)->channels[counted_row(row, C, p_.common.rgb)], image.pixels(), s.sum,
                          static_cast<core::u128>(s.squares_low) + (static_cast<core::u128>(s.squares_high) << 32),
                          ~s.complement_minimum, s.maximum);
        }
        if (threadIdx.x == blockDim.x - 1) write_header(p_.common, i, image.pixels(), Depth::u16, rows_of(C));
    }
    __device__ int tables() const {
        return C == 1 || p_.common.normalization.joint ? 1 : 3;
    }
    template <typename T = O>
    __device__ T* table(std::int64_t i, int t) const {
        return reinterpret_cast<T*>(p_.common.results + i * p_.common.layout.bytes + p_.common.layout.tables_offset) +
               t * values;
    }
    __device__ void build(std::int64_t i, int t) const {
        const Normalization& normalization = p_.common.normalization;
        const bool joint = C > 1 && normalization.joint,
                   pooled = joint && normalization.mode != NormalizeMode::equalize;
        const Word* row = counts_of(p_.common, i, joint ? luma_row : result_row(t, C, p_.common.rgb));
        const Word *red = counts_of(p_.common, i, 0), *green = red + values, *blue = green + values;
        auto count = [&](int v) -> std::uint64_t {
            return pooled ? __ldcg(red + v) + __ldcg(green + v) + __ldcg(blue + v) : __ldcg(row + v);
        };
        build_table<values>(count, normalization, table(i, t));
    }
    /// One table for all is copied into shared memory where it fits; others are read through the caches.
    __device__ void apply(std::int64_t i, int rank, int blocks) const {
        const O* source = table(i, 0);
        const Image image = samples_of<C>(images_.image(i));
        const Share share{static_cast<std::int64_t>(rank) * blockDim.x + threadIdx.x,
                          pieces_of_samples<std::uint16_t, C>(images_.image(i)),
                          static_cast<std::int64_t>(blocks) * blockDim.x};
        const Output output = images_.output_of(i);
        if constexpr (sizeof(O) == 2)
            if (tables() == 1 && p_.parts_log2 == 0) {
                const auto* from = reinterpret_cast<const uint4*>(source);
                auto* near = reinterpret_cast<uint4*>(dynamic_shared);
                for (int w = threadIdx.x; w < values / 8; w += blockDim.x) near[w] = __ldcg(from + w);
                __syncthreads();
                return apply_table<C, O, true>(image, share,
                                               {reinterpret_cast<const O*>(dynamic_shared), false, output});
            }
        apply_table<C, O, false>(image, share, {source, tables() > 1, output});
    }

    const Images& images_;
    const CountParameters& p_;
    int rows_;
    WordWorkspace& workspace_;
};

/// Counts per value of every channel and of luma, and the brightness sums, from counts or pixels. Then, for O not void,
/// each image's tables from its counts, and its normalised copy.
/// Launch: cooperative, one block a multiprocessor of whole warps, at least rows × slices; or one launch a phase.
/// 65536 counters of 16 bits fill 128 KiB, so a block counts one row of the result (and, where shared memory is
/// smaller, one slice of its values). Small images are dealt to the blocks, which do all of them alone: phase 0. Large
/// ones follow one after the other: blocks are dealt to the roles (row, slice) in turn, and those of a role share the
/// pixels; blocks of different roles read the same pixels at about the same time, mostly from L2. Each leaves its
/// counters in its slab, and after a grid barrier all blocks add up the slabs, a stretch of values each; the last one
/// to finish writes the numbers. Limit: fewer than 2^32 pixels a block.
/// Barriers in a block: after clearing and before reading counters, since any thread may count any value.
template <int C, typename O, class Images>
__global__ void __launch_bounds__(block_threads, 1)
    words_kernel(const __grid_constant__ Images images, const __grid_constant__ CountParameters p, int first,
                 int last) {
    __shared__ RowSums sums[5];
    __shared__ Counting state;
    __shared__ bool last_block;
    const WordKernel<C, O, Images> kernel(images, p);
    int phase = first;
    if (phase == 0) {
        for (std::int64_t i = blockIdx.x; i < images.count; i += gridDim.x)
            if (kernel.alone(i)) kernel.do_alone(i, sums, state);
        ++phase;
    }
    constexpr int steps = std::is_void_v<O> ? 2 : 4;
    std::int64_t image = -1;
    for (int seen = -1; phase < last; ++phase) {
        wait_for_phase(phase, first);
        while (seen < (phase - 1) / steps)  // on to the next image that is shared
            if (!kernel.alone(++image)) ++seen;
        switch ((phase - 1) % steps) {
            case 0:
                kernel.count_shared(image, sums, state);
                break;
            case 1:
                kernel.merge_shared(image, sums, &last_block);
                break;
            case 2:
                kernel.build_shared(image);
                break;
            default:
                kernel.apply_shared(image);
        }
    }
}

}  // namespace

std::size_t words_workspace(int, bool, const Launch& launch) {
    return sizeof(WordWorkspace) + sizeof(Slab) * launch.multiprocessors;
}

template <class Images>
void launch_words(const Images& images, CountParameters p, int channels, const Launch& launch) {
    p.parts_log2 = parts_log2(launch);
    const std::int64_t roles = rows_of(channels) << p.parts_log2;
    // Very many images keep every block busy alone, whatever their size.
    p.alone_pixels = images.count >= 4 * launch.multiprocessors ? INT64_MAX : word_pixels_alone;
    std::int64_t shared = 0, largest = 0;
    for (std::int64_t i = 0; i < images.count; ++i) {
        const std::int64_t pixels = images.image(i).pixels();
        if (pixels > p.alone_pixels) ++shared;
        largest = std::max(largest, pixels);
    }
    std::int64_t blocks = shared < images.count ? images.count - shared : 1;
    if (shared)
        blocks = std::max(blocks, std::max<std::int64_t>(blocks_for(largest, word_pixels_per_block), 1) * roles);
    blocks = std::min<std::int64_t>(blocks, launch.multiprocessors);
    const Shape shape{blocks, block_threads, std::size_t{131072} >> p.parts_log2};
    const int steps = p.common.normalize ? 4 : 2, first = shared < images.count ? 0 : 1;
    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        with_output<std::uint16_t>(p.common, [&](auto* output) {
            using O = std::remove_pointer_t<decltype(output)>;
            launch_phases(launch, words_kernel<C, O, Images>, shape, first, 1 + static_cast<int>(shared) * steps,
                          images, p);
        });
    });
}
template void launch_words(const Tensor&, CountParameters, int, const Launch&);
template void launch_words(const List&, CountParameters, int, const Launch&);

}  // namespace gpuhist::cuda
