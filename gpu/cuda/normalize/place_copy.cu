// Copies by place: clahe of any integers by counts in device memory, and background by medians that a block finds digit
// by digit.

#include "cuda/normalize/place_copy.hpp"

#include <algorithm>
#include <limits>

#include "core/luma.hpp"
#include "cuda/normalize/pixel_copy.cuh"
#include "normalize/clahe.hpp"
#include "normalize/depths.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int tile_threads = 1024;

/// Bits of a pixel's samples.
__device__ void load_pixel(const PixelCopy& p, std::int64_t x, std::int64_t y, int bytes, Bits (&pixel)[4]) {
    const char* const from = static_cast<const char*>(p.image.data) + y * p.image.row_bytes + x * p.channels * bytes;
#pragma unroll
    for (int c = 0; c < 4; ++c) pixel[c] = c < p.channels ? load_bits(from + c * bytes, bytes) : 0;
}

/// Classes of a pixel's samples.
__device__ PixelClasses classes_of(const PixelCopy& p, std::int64_t x, std::int64_t y, const Bits (&pixel)[4]) {
    double values[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) values[c] = value_of_bits(p.depth, pixel[c]);
    return {p.rules, p.mask.keeps(x, y), values};
}

// ---- clahe ----------------------------------------------------------------------------------------------------------

__device__ core::TiledImage tiles_of(const PixelCopy& p, const ClaheTables& t) {
    return {p.image.width, p.image.height, t.tiles_x, t.tiles_y};
}

/// Number of values of a type of 8 or 16 bits.
__device__ std::int64_t values_of(Depth depth) {
    return std::int64_t{1} << 8 * bytes_of(depth);
}

/// Kernel that counts the valid samples of tiles [first, first + tiles), of a channel or of luma. Launch: any grid.
__global__ void __launch_bounds__(copy_threads)
    tile_count_kernel(const __grid_constant__ PixelCopy p, const __grid_constant__ ClaheTables t, int channel,
                      std::int64_t first, std::int64_t tiles) {
    const core::TiledImage tiled = tiles_of(p, t);
    const std::int64_t length = tiled.across.length, of_tile = length * tiled.down.length, values = values_of(p.depth);
    const int bytes = bytes_of(p.depth), red = t.rgb ? 0 : 2;
    const std::int64_t step = std::int64_t{gridDim.x} * copy_threads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * copy_threads + threadIdx.x; i < of_tile * tiles; i += step) {
        const std::int64_t k = divide(i, of_tile), tile = first + k, within = i - k * of_tile;
        const std::int64_t row = divide(within, length), tile_y = divide(tile, t.tiles_x);
        const std::int64_t x = tiled.across.reflected((tile - tile_y * t.tiles_x) * length + within - row * length),
                           y = tiled.down.reflected(tile_y * tiled.down.length + row);
        Bits pixel[4];
        load_pixel(p, x, y, bytes, pixel);
        if (p.excludes) {
            const PixelClasses classes = classes_of(p, x, y, pixel);
            const bool valid =
                t.joint ? classes.valid_at(0) && classes.valid_at(1) && classes.valid_at(2) : classes.valid_at(channel);
            if (!valid) continue;
        }
        const auto code = [&](int c) { return static_cast<std::uint32_t>(code_of_bits(p.depth, pixel[c])); };
        const std::uint32_t value = t.joint ? core::luma(code(red), code(1), code(2 - red)) : code(channel);
        // Lanes with one counter add once.
        std::uint32_t* const counter = t.counts + k * values + value;
        const unsigned active = __activemask();
        int all_same = 0;
        __match_all_sync(active, reinterpret_cast<unsigned long long>(counter), &all_same);
        if (!all_same)
            atomicAdd(counter, 1u);
        else if (static_cast<int>(threadIdx.x % warp_lanes) == __ffs(static_cast<int>(active)) - 1)
            atomicAdd(counter, static_cast<std::uint32_t>(__popc(active)));
    }
}

/// Kernel that makes the table of each tile from its counts. Launch: a block per tile, at most.
__global__ void __launch_bounds__(tile_threads)
    tile_table_kernel(const __grid_constant__ PixelCopy p, const __grid_constant__ ClaheTables t, int set,
                      std::int64_t first, std::int64_t tiles) {
    __shared__ std::uint64_t scratch[warp_lanes];
    const std::int64_t values = values_of(p.depth), each = max(values / tile_threads, std::int64_t{1});
    const bool bytes = bytes_of(p.depth) == 1, works = static_cast<std::int64_t>(threadIdx.x) * each < values;
    const std::int64_t begin = works ? threadIdx.x * each : 0, end = works ? begin + each : 0;
    for (std::int64_t k = blockIdx.x; k < tiles; k += gridDim.x) {
        const std::uint32_t* const counts = t.counts + k * values;
        const auto total = [&](auto of) {
            std::uint64_t sum = 0, all = 0;
            for (std::int64_t v = begin; v < end; ++v) sum += of(counts[v]);
            scan_warps(scan_lanes(sum), scratch, all);
            return all;
        };
        const std::uint64_t n = total([](std::uint32_t count) { return count; });
        const std::uint32_t most = core::highest_count(t.clip_limit, static_cast<std::int64_t>(n), t.bins);
        const auto clipped = [&](std::uint32_t count) { return most > 0 && count > most ? count - most : 0u; };
        const core::ClippedSamples<std::int64_t> gained(most > 0 ? static_cast<std::int64_t>(total(clipped)) : 0,
                                                        t.bins);
        const auto spread = [&](std::int64_t v) {
            return std::uint64_t{counts[v] - clipped(counts[v])} +
                   static_cast<std::uint64_t>(v < t.bins ? gained.of(v) : 0);
        };
        std::uint64_t own = 0, all = 0;
        for (std::int64_t v = begin; v < end; ++v) own += spread(v);
        const std::uint64_t through = scan_lanes(own);
        std::uint64_t sum = through - own + scan_warps(through, scratch, all);
        const float scale = static_cast<float>(t.levels.width()) / static_cast<float>(static_cast<std::int64_t>(n));
        const std::int64_t at = (set * t.tiles() + first + k) * values;
        for (std::int64_t v = begin; v < end; ++v) {
            std::uint32_t code = t.levels.clamp(static_cast<std::uint32_t>(v));
            if (n > 0) {
                sum += spread(v);
                code =
                    core::clahe_code(static_cast<std::int32_t>(sum), scale, static_cast<float>(values - 1), t.levels);
            }
            if (bytes)
                static_cast<std::uint8_t*>(t.tables)[at + v] = static_cast<std::uint8_t>(code);
            else
                static_cast<std::uint16_t*>(t.tables)[at + v] = static_cast<std::uint16_t>(code);
        }
        __syncthreads();  // scratch may be reused
    }
}

/// Kernel of a copy between the tables of four tiles. Launch: any grid.
__global__ void __launch_bounds__(copy_threads)
    clahe_copy_kernel(const __grid_constant__ PixelCopy p, const __grid_constant__ ClaheTables t) {
    const core::TiledImage tiled = tiles_of(p, t);
    const std::int64_t values = values_of(p.depth);
    const bool bytes = bytes_of(p.depth) == 1;
    const float top = static_cast<float>(values - 1);
    const auto entry = [&](std::int64_t at) {
        return static_cast<float>(bytes ? __ldg(static_cast<const std::uint8_t*>(t.tables) + at)
                                        : __ldg(static_cast<const std::uint16_t*>(t.tables) + at));
    };
    write_pixels(p, [&](std::int64_t x, std::int64_t y, const Bits(&pixel)[4], Bits(&written)[4]) {
        const auto [x1, x2, right] = tiled.across.between(x);
        const auto [y1, y2, lower] = tiled.down.between(y);
        const float left = 1.0f - right, upper = 1.0f - lower;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            written[c] = pixel[c];
            if (c >= p.channels || c == 3) continue;
            const auto code = static_cast<std::int64_t>(code_of_bits(p.depth, pixel[c]));
            const std::int64_t set = t.joint ? 0 : c;
            const auto at = [&](std::int64_t i, std::int64_t j) {
                return entry(((set * t.tiles_y + j) * t.tiles_x + i) * values + code);
            };
            const float value =
                (at(x1, y1) * left + at(x2, y1) * right) * upper + (at(x1, y2) * left + at(x2, y2) * right) * lower;
            const std::uint32_t rounded = core::clahe_rounded(value, top);
            with_depth(p.depth, [&](auto type) {
                using Sample = decltype(type);
                written[c] = bits_of(core::sample_at<Sample>(static_cast<core::Code<Sample>>(rounded)));
            });
        }
    });
}

// ---- background -----------------------------------------------------------------------------------------------------

/// Search for the sample of a rank among the valid ones of a tile, by a block.
struct TileSearch {
    const PixelCopy& p;
    std::int64_t left, width, top, height;
    int channel, bytes;

    /// Calls visit(code) for the valid, finite samples.
    template <class Visit>
    __device__ void each(const Visit& visit) const {
        for (std::int64_t i = threadIdx.x; i < width * height; i += tile_threads) {
            const std::int64_t row = divide(i, width), x = left + i - row * width, y = top + row;
            Bits pixel[4];
            load_pixel(p, x, y, bytes, pixel);
            if (p.excludes && !classes_of(p, x, y, pixel).valid_at(channel)) continue;
            if (!isfinite(value_of_bits(p.depth, pixel[channel]))) continue;
            visit(code_of_bits(p.depth, pixel[channel]));
        }
    }
};

/// Kernel of the medians of tiles. Launch: a block per tile and color, at most.
__global__ void __launch_bounds__(tile_threads)
    median_kernel(const __grid_constant__ PixelCopy p, const __grid_constant__ Background b) {
    constexpr int digit_bits = 8, digits = 1 << digit_bits;
    __shared__ std::uint32_t counts[digits];
    __shared__ Bits found;             // digits so far
    __shared__ std::uint64_t rank, n;  // among the samples with these digits; all samples
    __shared__ std::uint32_t same;     // samples with these digits
    __shared__ unsigned long long above;
    const std::int64_t tiles = b.across.tiles * b.down.tiles;
    const int colors = p.channels == 1 ? 1 : 3, bytes = bytes_of(p.depth);
    for (std::int64_t item = blockIdx.x; item < tiles * colors; item += gridDim.x) {
        const std::int64_t color = divide(item, tiles), tile = item - color * tiles, j = divide(tile, b.across.tiles),
                           i = tile - j * b.across.tiles;
        const TileSearch search{p,
                                b.across.edges[i],
                                b.across.edges[i + 1] - b.across.edges[i],
                                b.down.edges[j],
                                b.down.edges[j + 1] - b.down.edges[j],
                                static_cast<int>(color),
                                bytes};
        for (int shift = 8 * bytes - digit_bits; shift >= 0; shift -= digit_bits) {
            const bool first = shift == 8 * bytes - digit_bits;
            for (int d = threadIdx.x; d < digits; d += tile_threads) counts[d] = 0;
            __syncthreads();  // clear counts
            search.each([&](Bits code) {
                if (first || code >> (shift + digit_bits) == found)
                    atomicAdd(counts + (code >> shift & (digits - 1)), 1u);
            });
            __syncthreads();  // all counts
            if (threadIdx.x == 0) {
                if (first) {
                    n = 0;
                    for (int d = 0; d < digits; ++d) n += counts[d];
                    rank = n > 0 ? (n - 1) / 2 : 0;
                    found = 0;
                }
                int d = 0;
                for (; d < digits - 1 && rank >= counts[d]; ++d) rank -= counts[d];
                found = found << digit_bits | static_cast<Bits>(d);
                same = counts[d];
                above = ~0ull;
            }
            __syncthreads();  // the digit, for all
        }
        // The upper of two middle samples has the same value, or the next higher one.
        const bool another = n > 0 && n % 2 == 0 && rank + 1 == same;
        if (another)
            search.each([&](Bits code) {
                if (code > found) atomicMin(&above, static_cast<unsigned long long>(code));
            });
        __syncthreads();  // the next higher, for all
        if (threadIdx.x == 0) {
            const double lower = core::value_at(p.depth, found),
                         upper = another ? core::value_at(p.depth, above) : lower;
            b.medians[item] = n == 0       ? std::numeric_limits<double>::quiet_NaN()
                              : n % 2 == 1 ? lower
                                           : lower / 2 + upper / 2;
        }
        __syncthreads();  // the findings may be replaced
    }
}

/// Kernel that subtracts the surface. Launch: any grid.
__global__ void __launch_bounds__(copy_threads)
    background_kernel(const __grid_constant__ PixelCopy p, const __grid_constant__ Background b) {
    const std::int64_t tiles = b.across.tiles * b.down.tiles;
    write_pixels(p, [&](std::int64_t x, std::int64_t y, const Bits(&pixel)[4], Bits(&written)[4]) {
        const double lower = b.down.to_second[y], upper = 1 - lower, right = b.across.to_second[x], left = 1 - right;
        const std::int64_t above = b.down.first[y], below = above + 1 < b.down.tiles ? above + 1 : b.down.tiles - 1,
                           x1 = b.across.first[x], x2 = x1 + 1 < b.across.tiles ? x1 + 1 : b.across.tiles - 1;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            written[c] = pixel[c];
            if (c >= p.channels || c == 3) continue;
            const auto at = [&](std::int64_t i, std::int64_t j) {
                return b.medians[c * tiles + j * b.across.tiles + i];
            };
            const double surface = (at(x1, above) * left + at(x2, above) * right) * upper +
                                   (at(x1, below) * left + at(x2, below) * right) * lower;
            with_depth(p.depth, [&](auto type) {
                using Sample = decltype(type);
                const Sample v = sample_of<Sample>(pixel[c]);
                const double distance = core::value_of(v) - surface;
                if constexpr (core::is_real<Sample>) {
                    if (b.known[c]) written[c] = bits_of(core::rounded_to<Sample>(distance));
                } else {
                    constexpr double lowest = traits_of(core::depth_of<Sample>()).lowest,
                                     range = traits_of(core::depth_of<Sample>()).highest - lowest;
                    const double code = fmin(fmax(floor(distance + 0.5) - lowest, 0.0), range);
                    written[c] =
                        bits_of(b.known[c] ? core::at_level<Sample>(b.levels.clamp(static_cast<std::uint32_t>(code)))
                                           : core::to_depth<Sample>(v, b.levels));
                }
            });
        }
    });
}

}  // namespace

void launch_clahe_copy(const PixelCopy& copy, const ClaheTables& tables, const Launch& launch) {
    const std::size_t values = traits_of(copy.depth).values;
    const int sets = tables.joint ? 1 : colors_of(copy.channels);
    for (int set = 0; set < sets; ++set)
        for (std::int64_t first = 0; first < tables.tiles(); first += ClaheTables::at_once) {
            const std::int64_t tiles = std::min<std::int64_t>(ClaheTables::at_once, tables.tiles() - first);
            if (!launch.only_loads)
                GPUHIST_CUDA(cudaMemsetAsync(
                    tables.counts, 0, static_cast<std::size_t>(tiles) * values * sizeof *tables.counts, launch.stream));
            launch_kernel(launch, tile_count_kernel, false, copy_configuration(copy.image), copy, tables, set, first,
                          tiles);
            launch_kernel(launch, tile_table_kernel, false, {tiles, tile_threads, 0}, copy, tables, set, first, tiles);
        }
    launch_kernel(launch, clahe_copy_kernel, false, copy_configuration(copy.image), copy, tables);
}

void launch_medians(const PixelCopy& copy, const Background& background, const Launch& launch) {
    const std::int64_t items = background.across.tiles * background.down.tiles * colors_of(copy.channels);
    launch_kernel(launch, median_kernel, false, {items, tile_threads, 0}, copy, background);
}

void launch_background(const PixelCopy& copy, const Background& background, const Launch& launch) {
    launch_kernel(launch, background_kernel, false, copy_configuration(copy.image), copy, background);
}

}  // namespace gpuhist::cuda
