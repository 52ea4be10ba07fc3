// 8-bit images: one bin per possible value, and the brightness sums, in one sweep of the pixels.

#include <cstdint>

#include "cuda/brightness.cuh"
#include "cuda/launch.cuh"
#include "cuda/results.cuh"
#include "cuda/shared.cuh"
#include "cuda/shares.cuh"
#include "cuda/sweep.cuh"
#include "cuda/tables.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int values = 256;

/// Where blocks that share an image meet. Zero but for `generation` while none does.
template <int C>
struct Meeting {
    Word counts[rows_of(C) * values];  ///< of images under 2^32 pixels two counts in each
    BrightnessSums sums[rows_of(C)];
    std::uint32_t arrived;     ///< blocks that have added what they found
    std::uint32_t generation;  ///< grows when an image's result is complete
};

/// `Columns`: copies of each bin, as a constant where it is the usual 32; 0: `1 << columns_log2`.
template <int C, int Columns, bool CountLuma>
struct ByteCounter {
    std::uint32_t column;  ///< shared address of this lane's copy of bin 0, row 0
    int columns_log2;
    Luma luma;
    BrightnessSums brightness{};  ///< of luma, where it is not counted
    std::uint32_t group_sum = 0, group_squares = 0, minimum = 0xFFFFFFFFu;

    __device__ void count(int row, std::uint32_t value) const {
        const std::uint32_t bin = row * values + value;
        shared_increment(column + (Columns ? bin * (Columns * 4) : bin << (columns_log2 + 2)));
    }
    __device__ void look_at(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        const std::uint32_t value = luma(a, b, c);
        if constexpr (CountLuma) {
            count(C, value);
        } else {
            group_sum += value;
            group_squares += value * value;
            minimum = min(minimum, value);
            brightness.maximum = max(brightness.maximum, value);
        }
    }
    /// Before 2^16 pixels, while their sums fit 32 bits.
    __device__ void fold() {
        if constexpr (C > 1 && !CountLuma) {
            brightness.sum += group_sum;
            brightness.squares += group_squares;
            group_sum = group_squares = 0;
        }
    }
    __device__ void group(std::int64_t, std::int64_t, const Group<std::uint8_t, C>& g) {
#pragma unroll
        for (int i = 0; i < Group<std::uint8_t, C>::samples; i += C) {
            std::uint32_t sample[C];
#pragma unroll
            for (int c = 0; c < C; ++c) count(c, sample[c] = g[i + c]);
            if constexpr (C > 1) look_at(sample[0], sample[1], sample[2]);
        }
        fold();
    }
    __device__ void pixel(std::int64_t, std::int64_t, const std::uint8_t (&sample)[C]) {
#pragma unroll
        for (int c = 0; c < C; ++c) count(c, sample[c]);
        if constexpr (C > 1) look_at(sample[0], sample[1], sample[2]);
        fold();
    }
};

/// Grey images want two blocks of a multiprocessor, each of its threads with 32 registers: that is all their counters
/// leave room for; colours and normalised copies want 64.
template <int C, typename O>
constexpr int blocks_wanted = C == 1 && std::is_void_v<O> ? 2 : 1;
/// Groups loaded at once: as many as the registers hold; BGR, whose group is three words, loads one ahead.
template <int C, int Wanted>
constexpr int unroll = C == 3                  ? 1
                       : C == 1 && Wanted == 2 ? 2
                                               : 4;

/// The hot loops: functions of their own, so that what the kernel keeps does not crowd their registers.
template <int C, int Columns, bool CountLuma, bool OneRow, int Wanted>
__device__ __noinline__ BrightnessSums count_part(Image image, Share share, int columns_log2, bool rgb) {
    ByteCounter<C, Columns, CountLuma> counter{shared_address(dynamic_shared + threadIdx.x % (1u << columns_log2)),
                                               columns_log2, Luma(rgb)};
    if constexpr (OneRow)
        sweep_one_row<std::uint8_t, C, unroll<C, Wanted>, C == 3>(image, share, counter);
    else
        sweep_rows<std::uint8_t, C>(image, share, counter);
    counter.brightness.complement_minimum = ~counter.minimum;
    return counter.brightness;
}
template <int C, bool CountLuma, int Wanted>
__device__ inline BrightnessSums count_part(const CountParameters& p, const Image& image, const Part& part) {
    const bool rgb = p.common.rgb;
    if (p.columns_log2 != 5)
        return count_part<C, 0, CountLuma, false, Wanted>(image, part.share(), p.columns_log2, rgb);
    return in_one_row<std::uint8_t, C>(image)
               ? count_part<C, 32, CountLuma, true, Wanted>(image, part.share(), 5, rgb)
               : count_part<C, 32, CountLuma, false, Wanted>(image, part.share(), 5, rgb);
}

template <int C, typename O>
__device__ __noinline__ void apply_table(Image image, Share share, TableWriter<std::uint8_t, C, O, true> writer) {
    constexpr int W = written_channels<C>;
    if (in_one_row<std::uint8_t, W>(image))
        sweep_one_row<std::uint8_t, W, 2, false>(image, share, writer);
    else
        sweep_rows<std::uint8_t, W>(image, share, writer);
}

/// Counts of a block's columns to `totals`; the columns to zero where another image follows.
__device__ inline void gather(std::uint32_t* columns, int columns_log2, int bins, bool clear, Word* totals) {
    if (columns_log2 != 5) {
        for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
            Word sum = 0;
            for (int i = bin << columns_log2; i < (bin + 1) << columns_log2; ++i) {
                sum += columns[i];
                columns[i] = 0;
            }
            totals[bin] = sum;
        }
        return;
    }
    constexpr int quads = 8;
    auto* first = reinterpret_cast<uint4*>(columns);
#pragma unroll 1
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
        uint4 quad[quads];
        auto place = [&](int i) { return first + bin * quads + (i + bin) % quads; };  // neighbours use other banks
#pragma unroll
        for (int i = 0; i < quads; ++i) quad[i] = *place(i);
        Word sum = 0;
#pragma unroll
        for (int i = 0; i < quads; ++i) sum += static_cast<Word>(quad[i].x) + quad[i].y + quad[i].z + quad[i].w;
        totals[bin] = sum;
        if (!clear) continue;
#pragma unroll
        for (int i = 0; i < quads; ++i) *place(i) = uint4{};
    }
}

/// A row's sums, by one warp: from its counts, or those of luma that is not counted from what each warp found.
template <int C>
__device__ inline BrightnessSums sums_of_row(int row, int rows, const Word* totals, const BrightnessSums* warp_luma) {
    const int lane = threadIdx.x % warp_lanes;
    BrightnessSums sums{};
    if (row < rows) {
#pragma unroll 1
        for (int v = lane; v < values; v += warp_lanes) sums.add(v, totals[row * values + v]);
    } else if (lane < static_cast<int>(blockDim.x) / warp_lanes) {
        sums = warp_luma[lane];
    }
    sums.reduce_over_warp();
    return sums;
}

/// The row that this warp sums up, rows_of(C) where it has none: the last warps, which have the least else to do.
template <int C>
__device__ inline int row_of_warp() {
    const int from_last = (blockDim.x - 1 - threadIdx.x) / warp_lanes;
    return from_last < rows_of(C) ? from_last : rows_of(C);
}

/// Adds what one block counted. Two counts of an image under 2^32 pixels are one addition.
template <int C>
__device__ inline void add_to_meeting(Meeting<C>& meeting, int rows, bool paired, const Word* totals,
                                      const BrightnessSums* warp_luma) {
    if (paired) {
#pragma unroll 1
        for (int i = threadIdx.x; i < rows * values / 2; i += blockDim.x) {
            const Word two = totals[2 * i] | totals[2 * i + 1] << 32;
            if (two != 0) atomicAdd(&meeting.counts[i], two);
        }
    } else {
#pragma unroll 1
        for (int i = threadIdx.x; i < rows * values; i += blockDim.x)
            if (totals[i] != 0) atomicAdd(&meeting.counts[i], totals[i]);
    }
    const int row = row_of_warp<C>();
    if (row == rows_of(C)) return;
    const BrightnessSums sums = sums_of_row<C>(row, rows, totals, warp_luma);
    if (threadIdx.x % warp_lanes == 0 && sums.complement_minimum != 0) {
        atomicAdd(reinterpret_cast<Word*>(&meeting.sums[row].sum), Word{sums.sum});
        atomicAdd(reinterpret_cast<Word*>(&meeting.sums[row].squares), Word{sums.squares});
        atomicMax(&meeting.sums[row].complement_minimum, sums.complement_minimum);
        atomicMax(&meeting.sums[row].maximum, sums.maximum);
    }
}

/// Writes an image's result, by all threads of one block: from what the block counted itself, or from the meeting,
/// which it leaves empty. Leaves the image's table in `table`.
template <int C, typename O>
__device__ __noinline__ void complete(const CountParameters& p, std::int64_t index, std::int64_t pixels, int rows,
                                      Meeting<C>* meeting, bool paired, Word* totals, const BrightnessSums* warp_luma,
                                      O* table) {
    const Common& common = p.common;
    ImageResult& result = *result_of(common, index);
    const int row = row_of_warp<C>();
    if (row < rows_of(C)) {
        BrightnessSums sums;
        if (!meeting) {
            sums = sums_of_row<C>(row, rows, totals, warp_luma);
        } else if (threadIdx.x % warp_lanes == 0) {
            BrightnessSums& found = meeting->sums[row];
            sums = {__ldcg(&found.sum), __ldcg(&found.squares), __ldcg(&found.complement_minimum),
                    __ldcg(&found.maximum)};
            found = BrightnessSums{};
        }
        if (threadIdx.x % warp_lanes == 0)
            write_channel(result.channels[counted_row(row, C, common.rgb)], pixels, sums.sum, sums.squares,
                          ~sums.complement_minimum, sums.maximum);
    }
    auto write = [&](int i, Word count) {
        counts_of(common, index, counted_row(i / values, C, common.rgb))[i % values] = count;
    };
    if (!meeting) {
#pragma unroll 1
        for (int i = threadIdx.x; i < rows * values; i += blockDim.x) write(i, totals[i]);
    } else {
#pragma unroll 1
        for (int i = threadIdx.x; i < (paired ? rows * values / 2 : rows * values); i += blockDim.x) {
            const Word found = __ldcg(&meeting->counts[i]);
            meeting->counts[i] = 0;
            const int first = paired ? 2 * i : i;
            write(first, totals[first] = paired ? found & 0xFFFFFFFFu : found);
            if (paired) write(first + 1, totals[first + 1] = found >> 32);
        }
    }
    if (threadIdx.x == 0) {
        write_header(common, index, pixels, Depth::u8, rows_of(C));
        if (meeting) meeting->arrived = 0;
    }
    if constexpr (!std::is_void_v<O>) {
        const Normalization& normalization = common.normalization;
        const bool joint = C > 1 && normalization.joint;
        O* written = reinterpret_cast<O*>(reinterpret_cast<char*>(&result) + common.layout.tables_offset);
        __syncthreads();  // the totals, for all
        for (int t = 0; t < (C == 1 || joint ? 1 : 3); ++t) {
            const bool pooled = joint && normalization.mode != NormalizeMode::equalize;
            const Word* from = totals + values * (joint ? C : t);
            auto count = [&](int v) {
                return pooled ? totals[v] + totals[values + v] + totals[2 * values + v] : from[v];
            };
            build_table<values>(count, normalization, table + t * values);
            __syncthreads();  // the table, for all
            for (int v = threadIdx.x; v < values; v += blockDim.x) written[t * values + v] = table[t * values + v];
        }
    }
    __syncthreads();
}

/// Counts per value of every channel and of luma, and the brightness sums: from the counts where there are some, else
/// from the pixels. Then, for O not void, each image's table from its counts, and its normalised copy.
/// Launch: any grid of whole warps; cooperative where images that blocks share are to be normalised. See Parts for who
/// reads which pixels.
/// A block keeps `1 << columns_log2` copies of each bin side by side, a lane adding to copy lane mod copies: with 32,
/// no two lanes of a warp ever meet in a bank, whatever the picture. Shared memory: counted rows × 1 KiB × copies. Of
/// an image that it has alone a block writes the result. Blocks that share one add to a meeting's counts in device
/// memory; the last to arrive writes the result and leaves the meeting empty for the next launch. Barriers: after
/// clearing, and between counting and gathering, since any lane may count into any bin. Bytes: each pixel is read once;
/// for the copy once more (from L2 where it fits) and written once. Limit: fewer than 2^32 pixels a block, for the
/// 32-bit counters.
template <int C, typename O, class Images>
__global__ void __launch_bounds__(block_threads, blocks_wanted<C, O>)
    bytes_kernel(const __grid_constant__ Images images, const __grid_constant__ CountParameters p, int steps) {
    using Table = std::conditional_t<std::is_void_v<O>, std::uint8_t, O>;
    __shared__ Word totals[rows_of(C) * values];
    __shared__ Table table[std::is_void_v<O> ? 1 : 3 * values];
    __shared__ BrightnessSums warp_luma[warp_lanes];
    __shared__ std::uint32_t generation[2];
    __shared__ bool last;
    std::uint32_t* columns = dynamic_shared;
    const int rows = C == 1 ? 1 : C + p.count_luma;
    const Parts<Images> parts(images, blockIdx.x, gridDim.x);
    auto* meetings = static_cast<Meeting<C>*>(p.workspace);
    // A block shares its first and its last image at most.
    auto seat = [&](int i) { return i == 0 ? 0 : 1; };

    auto apply = [&](const Part& part) {
        if constexpr (!std::is_void_v<O>) {
            const Image image = images.image(part.image);
            apply_table<C, O>(samples_of<C>(image), part.dealt_share(pieces_of_samples<std::uint8_t, C>(image)),
                              {table, !p.common.normalization.joint, images.output_of(part.image)});
            __syncthreads();  // the table may be written again
        }
    };

    if (steps & analyze_step) {
#pragma unroll 4
        for (int i = threadIdx.x; i < rows * values << p.columns_log2 >> 2; i += blockDim.x)
            reinterpret_cast<uint4*>(columns)[i] = uint4{};
        __syncthreads();
        for (int i = 0; i < parts.count(); ++i) {
            const Part part = parts[i];
            const Image image = images.image(part.image);
            constexpr int wanted = blocks_wanted<C, O>;
            BrightnessSums luma = C == 1 || p.count_luma ? count_part<C, true, wanted>(p, image, part)
                                                         : count_part<C, C == 1, wanted>(p, image, part);
            if (C > 1 && !p.count_luma) {
                luma.reduce_over_warp();
                if (threadIdx.x % warp_lanes == 0) warp_luma[threadIdx.x / warp_lanes] = luma;
            }
            __syncthreads();
            gather(columns, p.columns_log2, rows * values, i + 1 < parts.count(), totals);
            __syncthreads();

            bool mine = part.whole();
            if (!mine) {
                Meeting<C>& meeting = meetings[part.first_block];
                const bool paired = image.pixels() < std::int64_t{1} << 32;
                add_to_meeting<C>(meeting, rows, paired, totals, warp_luma);
                __syncthreads();
                if (threadIdx.x == 0) {
                    __threadfence();  // everybody's additions are visible before this block counts as arrived
                    generation[seat(i)] = *static_cast<volatile std::uint32_t*>(&meeting.generation);
                    last = atomicAdd(&meeting.arrived, 1u) + 1 == static_cast<std::uint32_t>(part.blocks);
                    __threadfence();
                }
                __syncthreads();
                mine = last;
            }
            if (mine) {
                complete<C>(p, part.image, image.pixels(), rows, part.whole() ? nullptr : &meetings[part.first_block],
                            image.pixels() < std::int64_t{1} << 32, totals, warp_luma,
                            std::is_void_v<O> ? static_cast<O*>(nullptr) : reinterpret_cast<O*>(table));
                if (part.whole()) {
                    if (steps & apply_step) apply(part);
                } else if (threadIdx.x == 0) {
                    publish(result_of(p.common, part.image));
                    atomicAdd(&meetings[part.first_block].generation, 1u);  // publish's fence stands before it
                }
            }
        }
        if (threadIdx.x == 0) {  // one fence for all images that were this block's own
            __threadfence_system();
            for (int i = 0; i < parts.count(); ++i)
                if (parts[i].whole()) set_ready(result_of(p.common, parts[i].image));
        }
    }
    if constexpr (!std::is_void_v<O>) {
        if (!(steps & apply_step)) return;
        for (int i = 0; i < parts.count(); ++i) {
            const Part part = parts[i];
            if (steps & analyze_step) {
                if (part.whole()) continue;  // done above
                if (threadIdx.x == 0) {
                    auto* now = static_cast<volatile std::uint32_t*>(&meetings[part.first_block].generation);
                    while (*now == generation[seat(i)]) __nanosleep(100);
                    __threadfence();
                }
            }
            __syncthreads();
            const auto* written = reinterpret_cast<const O*>(
                reinterpret_cast<const char*>(result_of(p.common, part.image)) + p.common.layout.tables_offset);
            for (int v = threadIdx.x; v < (C == 1 || p.common.normalization.joint ? 1 : 3) * values; v += blockDim.x)
                table[v] = __ldcg(written + v);
            __syncthreads();
            apply(part);
        }
    }
}

}  // namespace

std::size_t bytes_workspace(int channels, bool, const Launch& launch) {
    std::size_t bytes = 0;
    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        bytes = sizeof(Meeting<C>) * blocks_per_multiprocessor * launch.multiprocessors;
    });
    return bytes;
}

template <class Images>
void launch_bytes(const Images& images, CountParameters p, int channels, const Launch& launch) {
    const std::size_t copy_bytes = (channels == 1 ? 1 : channels + p.count_luma) * values * sizeof(std::uint32_t);
    p.columns_log2 = columns_log2(launch, copy_bytes);
    const std::int64_t pieces = images.pieces_before(images.count);
    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        const std::int64_t blocks = blocks_for(pieces, byte_pixels_per_block / group_pixels(1, C));
        // Of many small images two blocks a multiprocessor, where they fit: one counts while the other completes.
        const int threads = images.count > 1 && C > 1 ? block_threads / 2 : block_threads;
        const Shape shape{blocks, threads, copy_bytes << p.columns_log2};
        with_output<std::uint8_t>(p.common, [&](auto* output) {
            using O = std::remove_pointer_t<decltype(output)>;
            launch_steps(launch, bytes_kernel<C, O, Images>, shape, !std::is_void_v<O>, images, p);
        });
    });
}
template void launch_bytes(const Tensor&, CountParameters, int, const Launch&);
template void launch_bytes(const List&, CountParameters, int, const Launch&);

}  // namespace gpuhist::cuda
