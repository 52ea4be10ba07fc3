// clahe of u8: the tiles' counts, their tables, and the copy between the tables, as cpu/clahe.cpp.

#include "core/luma.hpp"
#include "cuda/block/reduce.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/normalize/clahe.hpp"
#include "normalize/clahe.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int values = 256, clahe_threads = 256;
/// Blocks that count a tile together, or write what lies between the same tiles.
constexpr int count_slabs = 8, copy_slabs = 16;
/// Samples, or pixels, that a thread loads at once.
constexpr int together = 4;
/// Rows whose words a thread loads before it uses the first.
constexpr int rows_at_once = 4;

__device__ inline core::TiledImage tiles_of(const ClaheCopy& p) {
    return {p.image.width, p.image.height, p.tiles_x, p.tiles_y};
}

/// First pixel behind the center of tile `before`; of -1, the first of all; of the last tile, the first behind it.
__device__ inline std::int64_t first_behind(const core::TiledSide& of, std::int64_t before) {
    if (before < 0) return 0;
    if (before >= of.tiles) return of.side;
    std::int64_t at = min((2 * before + 1) * of.length / 2, of.side);
    const auto is_behind = [&](std::int64_t one) { return floorf(of.place(one)) >= static_cast<float>(before); };
    while (at > 0 && is_behind(at - 1)) --at;
    while (at < of.side && !is_behind(at)) ++at;
    return at;
}

__device__ inline const std::uint8_t* row_of(const Image& image, std::int64_t y) {
    return static_cast<const std::uint8_t*>(image.data) + y * image.row_bytes;
}
/// Returns whether the same place in each row is at a word.
__device__ inline bool in_words(const void* address, std::int64_t row_bytes) {
    return (reinterpret_cast<std::uintptr_t>(address) | static_cast<std::uint64_t>(row_bytes)) %
               sizeof(std::uint32_t) ==
           0;
}

/// Shares the words of a row out: calls use(word, group, groups) for each of them, once for each of several groups of
/// threads, which share the rows.
template <typename Use>
__device__ inline void for_each_word(std::int64_t words, Use use) {
    if (words <= 0) return;
    const std::int64_t passes = (words + clahe_threads - 1) / clahe_threads;
    const auto at_once = static_cast<int>((words + passes - 1) / passes), groups = clahe_threads / at_once;
    const int group = static_cast<int>(threadIdx.x) / at_once;
    if (group >= groups) return;
    for (std::int64_t word = static_cast<int>(threadIdx.x) % at_once; word < words; word += at_once)
        use(word, group, groups);
}

/// Kernel that counts the tiles of a channel, or of luma if `channel` is negative. Each lane has counters of its own.
/// Launch: any grid, best a block per slab of a tile.
template <int C>
__global__ void __launch_bounds__(clahe_threads, 4) count_kernel(const __grid_constant__ ClaheCopy p, int channel) {
    __shared__ std::uint32_t counts[values * warp_lanes];
    constexpr int row_bits = 7;  // of the bytes of a value's counters
    static_assert(1 << row_bits == warp_lanes * sizeof(std::uint32_t));
    const core::TiledImage tiled = tiles_of(p);
    const std::uint32_t mine = threadIdx.x % warp_lanes * static_cast<std::uint32_t>(sizeof(std::uint32_t));
    // The code stands above `row_bits` in `place`; other bits are anything.
    const auto count_at = [&](std::uint32_t place) {
        atomicAdd(
            reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(counts) + ((place & 0xFFu << row_bits) | mine)),
            1u);
    };
    const auto count_color = [&](std::uint32_t first, std::uint32_t green, std::uint32_t last) {
        const std::uint32_t code = channel == 0   ? first
                                   : channel == 1 ? green
                                   : channel == 2 ? last
                                                  : core::luma(p.rgb ? first : last, green, p.rgb ? last : first);
        count_at(code << row_bits);
    };
    const bool words = in_words(p.image.data, p.image.row_bytes);
    for (int item = static_cast<int>(blockIdx.x); item < p.tiles_x * p.tiles_y * count_slabs;
         item += static_cast<int>(gridDim.x)) {
        const int tile = item / count_slabs, slab = item % count_slabs;
        for (int i = static_cast<int>(threadIdx.x); i < values * warp_lanes; i += clahe_threads) counts[i] = 0;
        __syncthreads();  // clear counters
        const std::int64_t height = tiled.down.length, width = tiled.across.length, top = tile / p.tiles_x * height,
                           left = tile % p.tiles_x * width, right = left + width, start = left - left % together,
                           begin = top + height * slab / count_slabs, end = top + height * (slab + 1) / count_slabs;
        const bool below = end > tiled.down.side;  // the image
        for_each_word((right - start + together - 1) / together, [&](std::int64_t word, int group, int groups) {
            const std::int64_t x = start + word * together;
            if (!words || below || x + together > tiled.across.side) {
                for (std::int64_t y = begin + group; y < end; y += groups)
                    for (std::int64_t one = max(x, left); one < min(x + together, right); ++one) {
                        const std::uint8_t* const pixel =
                            row_of(p.image, tiled.down.reflected(y)) + tiled.across.reflected(one) * C;
                        if (C == 1)
                            count_at(pixel[0] << row_bits);
                        else
                            count_color(pixel[0], pixel[C > 1 ? 1 : 0], pixel[C > 1 ? 2 : 0]);
                    }
                return;
            }
            bool inside[together];
#pragma unroll
            for (int k = 0; k < together; ++k) inside[k] = x + k >= left && x + k < right;
            const std::int64_t step = groups * p.image.row_bytes;
            const std::uint8_t* at = row_of(p.image, begin + group) + x * C;
            for (std::int64_t y = begin + group; y < end; y += rows_at_once * groups, at += rows_at_once * step) {
                std::uint32_t loaded[rows_at_once][C];
#pragma unroll
                for (int r = 0; r < rows_at_once; ++r)
#pragma unroll
                    for (int w = 0; w < C; ++w)
                        if (y + r * groups < end)
                            loaded[r][w] = reinterpret_cast<const std::uint32_t*>(at + r * step)[w];
#pragma unroll
                for (int r = 0; r < rows_at_once; ++r) {
                    if (y + r * groups >= end) break;
                    const auto byte = [&](int i) { return loaded[r][i / 4] >> 8 * (i % 4) & 0xFFu; };
#pragma unroll
                    for (int k = 0; k < together; ++k) {
                        if (!inside[k]) continue;
                        if (C == 1)
                            count_at(8 * k < row_bits ? loaded[r][0] << (row_bits - 8 * k)
                                                      : loaded[r][0] >> (8 * k - row_bits));
                        else
                            count_color(byte(k * C), byte(k * C + (C > 1 ? 1 : 0)), byte(k * C + (C > 1 ? 2 : 0)));
                    }
                }
            }
        });
        __syncthreads();  // all are counted
        std::uint32_t all = 0;
        for (int k = 0; k < warp_lanes; ++k) all += counts[threadIdx.x * warp_lanes + (k + threadIdx.x) % warp_lanes];
        if (all > 0) atomicAdd(p.memory.counts + tile * values + threadIdx.x, all);
        __syncthreads();  // counters may be cleared
    }
}

/// Kernel that makes a tile's table from its counts, which it clears. Launch: a block per tile.
__global__ void __launch_bounds__(values) table_kernel(const __grid_constant__ ClaheCopy p) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint32_t clipped;
    const core::TiledImage tiled = tiles_of(p);
    const auto bin = static_cast<std::uint32_t>(threadIdx.x);
    std::uint32_t* const at = p.memory.counts + blockIdx.x * values + bin;
    std::uint32_t count = *at;
    *at = 0;
    if (bin == 0) clipped = 0;
    __syncthreads();  // nothing is clipped yet
    if (p.most > 0) {
        if (count > p.most) atomicAdd(&clipped, count - p.most);
        __syncthreads();  // all is clipped
        count = min(count, p.most);
        const auto bins = static_cast<std::uint32_t>(p.bins);
        if (bin < bins) count += core::ClippedSamples<std::uint32_t>(clipped, bins).of(bin);
    }
    std::uint64_t all = 0;
    const std::uint64_t through = scan_lanes(count);
    const auto sum = static_cast<std::int32_t>(through + scan_warps(through, scratch, all));
    const std::int64_t n = tiled.across.length * tiled.down.length;
    const float scale = static_cast<float>(p.levels.width()) / static_cast<float>(n);
    p.memory.tables[blockIdx.x * values + bin] =
        static_cast<std::uint8_t>(core::clahe_code(sum, scale, static_cast<float>(values - 1), p.levels));
}

/// Products of a word's bytes and weights, each rounded once. A byte under the exponent of 2^23 is 2^23 more than
/// itself, and an FMA takes 2^23 times the weight away again before it rounds.
struct Weight {
    static constexpr float unit = 8388608.0f;
    float weight, units;

    Weight() = default;
    __device__ explicit Weight(float of) : weight(of), units(-unit * of) {}
    __device__ float times_byte(std::uint32_t word, int i) const {
        return __fmaf_rn(__uint_as_float(__byte_perm(word, 0x4B000000u, 0x7540u + static_cast<std::uint32_t>(i))),
                         weight, units);
    }
    /// `value`, a mean of bytes, to the nearest integer, in the lowest byte.
    __device__ static std::uint32_t rounded(float value) { return __float_as_uint(value + unit); }
};

/// Kernel of the copy of the channels from `from` to `to`. Pixels between the centers of the same four tiles have the
/// same tables, whose values for a sample are one word in shared memory. Launch: any grid, best several slabs of such
/// pixels per block. Bytes: each pixel is read once, and written once.
template <int C>
__global__ void __launch_bounds__(clahe_threads, 4) copy_kernel(const __grid_constant__ ClaheCopy p, int from, int to) {
    __shared__ std::uint32_t tables[values];
    __shared__ std::int64_t ends[4];
    const core::TiledImage tiled = tiles_of(p);
    const bool words = in_words(p.image.data, p.image.row_bytes) && in_words(p.output.data, p.output.row_bytes);
    const auto selected = [&](int channel) {
        return C == 1 || (channel >= from && channel < to) || (C == 4 && channel == 3 && to == 3);
    };
    for (int item = static_cast<int>(blockIdx.x); item < (p.tiles_x + 1) * (p.tiles_y + 1) * copy_slabs;
         item += static_cast<int>(gridDim.x)) {
        const int part = item / copy_slabs, slab = item % copy_slabs;
        const int before_x = part % (p.tiles_x + 1) - 1, before_y = part / (p.tiles_x + 1) - 1;
        {
            const auto value = [&](int row, int column) -> std::uint32_t {
                const int y = min(max(row, 0), p.tiles_y - 1), x = min(max(column, 0), p.tiles_x - 1);
                return p.memory.tables[(y * p.tiles_x + x) * values + threadIdx.x];
            };
            tables[threadIdx.x] = value(before_y, before_x) | value(before_y, before_x + 1) << 8 |
                                  value(before_y + 1, before_x) << 16 | value(before_y + 1, before_x + 1) << 24;
            if (threadIdx.x < 2)
                ends[threadIdx.x] = first_behind(tiled.across, before_x + static_cast<int>(threadIdx.x));
            else if (threadIdx.x < 4)
                ends[threadIdx.x] = first_behind(tiled.down, before_y + static_cast<int>(threadIdx.x) - 2);
        }
        __syncthreads();  // tables and ends, for all
        const std::int64_t first = ends[0] * C, end = ends[1] * C, start = first - first % together,
                           rows = ends[3] - ends[2], first_row = ends[2] + rows * slab / copy_slabs,
                           last_row = ends[2] + rows * (slab + 1) / copy_slabs;
        const std::int64_t across = first < end ? (end - start + together - 1) / together : 0;
        for_each_word(across, [&](std::int64_t word, int group, int groups) {
            const std::int64_t s = start + word * together;
            Weight left[together], right[together];
            bool mine[together], all = words;
#pragma unroll
            for (int k = 0; k < together; ++k) {
                const std::int64_t at = s + k, x = C == 1 ? at : at / C;
                mine[k] = at >= first && at < end && selected(static_cast<int>(at - x * C));
                all = all && mine[k];
                const float weight = tiled.across.place(x) - static_cast<float>(before_x);
                right[k] = Weight(weight);
                left[k] = Weight(1.0f - weight);
            }
            const auto mapped = [&](std::uint32_t code, int k, float upper, float lower) {
                if (C == 4 && k == 3) return code;  // alpha
                const std::uint32_t four = tables[code];
                return Weight::rounded((left[k].times_byte(four, 0) + right[k].times_byte(four, 1)) * upper +
                                       (left[k].times_byte(four, 2) + right[k].times_byte(four, 3)) * lower);
            };
            const std::int64_t in_step = groups * p.image.row_bytes, out_step = groups * p.output.row_bytes;
            const std::uint8_t* in = row_of(p.image, first_row + group) + s;
            std::uint8_t* out =
                static_cast<std::uint8_t*>(p.output.data) + (first_row + group) * p.output.row_bytes + s;
            const bool loads_words = words && s + together <= tiled.across.side * C;
            for (std::int64_t y = first_row + group; y < last_row; y += rows_at_once * groups) {
                std::uint32_t codes[rows_at_once] = {};
#pragma unroll
                for (int r = 0; r < rows_at_once; ++r, in += in_step) {
                    if (y + r * groups >= last_row) continue;
                    if (loads_words)
                        codes[r] = *reinterpret_cast<const std::uint32_t*>(in);
                    else
#pragma unroll
                        for (int k = 0; k < together; ++k)
                            if (mine[k]) codes[r] |= static_cast<std::uint32_t>(in[k]) << 8 * k;
                }
#pragma unroll
                for (int r = 0; r < rows_at_once; ++r, out += out_step) {
                    if (y + r * groups >= last_row) break;
                    const float lower = tiled.down.place(y + r * groups) - static_cast<float>(before_y),
                                upper = 1.0f - lower;
                    std::uint32_t made[together];
#pragma unroll
                    for (int k = 0; k < together; ++k) made[k] = mapped(codes[r] >> 8 * k & 0xFFu, k, upper, lower);
                    if (all) {
                        *reinterpret_cast<std::uint32_t*>(out) = __byte_perm(
                            __byte_perm(made[0], made[1], 0x0040), __byte_perm(made[2], made[3], 0x0040), 0x5410);
                    } else {
#pragma unroll
                        for (int k = 0; k < together; ++k)
                            if (mine[k]) out[k] = static_cast<std::uint8_t>(made[k]);
                    }
                }
            }
        });
        __syncthreads();  // tables may be replaced
    }
}

template <int C>
void launch_copy(const ClaheCopy& copy, const Launch& launch) {
    const int tiles = copy.tiles_x * copy.tiles_y;
    const std::int64_t parts = (copy.tiles_x + 1) * (copy.tiles_y + 1);
    const auto by_tables_of = [&](int channel, int from, int to) {
        launch_kernel(launch, count_kernel<C>, false,
                      LaunchConfiguration{std::int64_t{tiles} * count_slabs, clahe_threads, 0, 4}, copy, channel);
        launch_kernel(launch, table_kernel, false, LaunchConfiguration{tiles, values, 0, 8}, copy);
        launch_kernel(launch, copy_kernel<C>, false, LaunchConfiguration{parts * copy_slabs, clahe_threads, 0, 8}, copy,
                      from, to);
    };
    if (C == 1) return by_tables_of(0, 0, 1);
    if (copy.joint) return by_tables_of(-1, 0, 3);
    for (int channel = 0; channel < 3; ++channel) by_tables_of(channel, channel, channel + 1);
}

}  // namespace

void launch_clahe(const ClaheCopy& copy, int channels, const Launch& launch) {
    with_channels(channels, [&](auto c) { launch_copy<c()>(copy, launch); });
}

}  // namespace gpuhist::cuda
