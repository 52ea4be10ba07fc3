// clahe of u8: the tiles' counts, their tables, and the copy between the tables, as cpu/clahe.cpp.

#include "core/luma.hpp"
#include "cuda/block/reduce.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/normalize/clahe.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int values = 256, clahe_threads = 256;
/// Blocks that count a tile together.
constexpr int slabs = 8;

/// Tiles along one side, as in cpu/clahe.cpp.
struct Side {
    std::int64_t side, tiles, length;

    __device__ Side(std::int64_t of, int count, bool extended)
        : side(of), tiles(count), length((extended ? of + count - of % count : of) / count) {}
    /// cv::BORDER_REFLECT_101.
    __device__ std::int64_t reflected(std::int64_t at) const {
        if (side == 1) return 0;
        while (at >= side || at < 0) at = at < 0 ? -at : 2 * side - 2 - at;
        return at;
    }
    /// Tiles between which a place lies, and the weight of the second.
    __device__ float between(std::int64_t at, int& first, int& second) const {
        const float place = static_cast<float>(at) * (1.0f / static_cast<float>(length)) - 0.5f;
        const auto before = static_cast<int>(floorf(place));
        first = max(before, 0);
        second = min(before + 1, static_cast<int>(tiles) - 1);
        return place - static_cast<float>(before);
    }
};

struct Sides {
    Side across, down;

    __device__ explicit Sides(const ClaheCopy& p)
        : across(p.image.width, p.tiles_x, extended(p)), down(p.image.height, p.tiles_y, extended(p)) {}
    __device__ static bool extended(const ClaheCopy& p) {
        return p.image.width % p.tiles_x != 0 || p.image.height % p.tiles_y != 0;
    }
};

__device__ inline const std::uint8_t* row_of(const Image& image, std::int64_t y) {
    return static_cast<const std::uint8_t*>(image.data) + y * image.row_bytes;
}

/// Kernel that counts the tiles of a channel, or of luma if `channel` is negative. Launch: any grid, best a block per
/// slab of a tile.
template <int C>
__global__ void __launch_bounds__(clahe_threads) count_kernel(const __grid_constant__ ClaheCopy p, int channel) {
    __shared__ std::uint32_t counts[values];
    const Sides sides(p);
    for (int item = static_cast<int>(blockIdx.x); item < p.tiles_x * p.tiles_y * slabs;
         item += static_cast<int>(gridDim.x)) {
        counts[threadIdx.x] = 0;
        __syncthreads();  // clear counters
        const int tile = item / slabs, slab = item % slabs;
        const std::int64_t left = tile % p.tiles_x * sides.across.length, top = tile / p.tiles_x * sides.down.length,
                           width = sides.across.length, first = sides.down.length * slab / slabs,
                           pixels = (sides.down.length * (slab + 1) / slabs - first) * width;
        for (std::int64_t i = threadIdx.x; i < pixels; i += clahe_threads) {
            const std::uint8_t* const pixel = row_of(p.image, sides.down.reflected(top + first + i / width)) +
                                              sides.across.reflected(left + i % width) * C;
            const std::uint32_t code = C == 1 ? pixel[0]
                                       : channel >= 0
                                           ? pixel[channel]
                                           : core::luma(std::uint32_t{pixel[p.rgb ? 0 : 2]}, std::uint32_t{pixel[1]},
                                                        std::uint32_t{pixel[p.rgb ? 2 : 0]});
            atomicAdd(counts + code, 1u);
        }
        __syncthreads();  // all are counted
        if (counts[threadIdx.x] > 0) atomicAdd(p.memory.counts + tile * values + threadIdx.x, counts[threadIdx.x]);
    }
}

/// Kernel that makes a tile's table from its counts, which it clears. Launch: a block per tile.
__global__ void __launch_bounds__(values) table_kernel(const __grid_constant__ ClaheCopy p) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint32_t clipped;
    const Sides sides(p);
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
        const std::uint32_t rest = clipped % bins;
        if (bin < bins) {
            count += clipped / bins;
            const std::uint32_t step = rest > 0 ? max(bins / rest, 1u) : 1;
            if (bin % step == 0 && bin / step < rest) ++count;
        }
    }
    std::uint64_t all = 0;
    const std::uint64_t through = scan_lanes(count);
    const auto sum = static_cast<std::uint32_t>(through + scan_warps(through, scratch, all));
    const std::int64_t n = sides.across.length * sides.down.length;
    const float scale = static_cast<float>(p.levels.width()) / static_cast<float>(n);
    const float value = fminf(fmaxf(rintf(static_cast<float>(static_cast<int>(sum)) * scale), 0.0f), 255.0f);
    p.memory.tables[blockIdx.x * values + bin] =
        static_cast<std::uint8_t>(p.levels.first + min(static_cast<std::uint32_t>(value), p.levels.width()));
}

/// Kernel of the copy of the channels from `from` to `to`, between the tables. Launch: any grid. Bytes: each pixel is
/// read once, and written once.
template <int C>
__global__ void __launch_bounds__(clahe_threads) copy_kernel(const __grid_constant__ ClaheCopy p, int from, int to) {
    const Sides sides(p);
    const std::uint8_t* const tables = p.memory.tables;
    const std::int64_t pixels = p.image.pixels(), step = std::int64_t{gridDim.x} * clahe_threads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * clahe_threads + threadIdx.x; i < pixels; i += step) {
        const std::int64_t y = i / p.image.width, x = i - y * p.image.width;
        int x1, x2, y1, y2;
        const float right = sides.across.between(x, x1, x2), lower = sides.down.between(y, y1, y2);
        const float left = 1.0f - right, upper = 1.0f - lower;
        const std::uint8_t* const a = tables + (y1 * p.tiles_x + x1) * values;
        const std::uint8_t* const b = tables + (y1 * p.tiles_x + x2) * values;
        const std::uint8_t* const c = tables + (y2 * p.tiles_x + x1) * values;
        const std::uint8_t* const d = tables + (y2 * p.tiles_x + x2) * values;
        const std::uint8_t* const in = row_of(p.image, y) + x * C;
        std::uint8_t* const out = static_cast<std::uint8_t*>(p.output.data) + y * p.output.row_bytes + x * C;
#pragma unroll
        for (int channel = 0; channel < C; ++channel) {
            if (channel < from || channel >= to) continue;
            const std::uint8_t code = in[channel];
            const float value =
                (static_cast<float>(__ldg(a + code)) * left + static_cast<float>(__ldg(b + code)) * right) * upper +
                (static_cast<float>(__ldg(c + code)) * left + static_cast<float>(__ldg(d + code)) * right) * lower;
            out[channel] = static_cast<std::uint8_t>(fminf(fmaxf(rintf(value), 0.0f), 255.0f));
        }
        if (C == 4 && to == 3) out[C - 1] = in[C - 1];
    }
}

template <int C>
void launch_copy(const ClaheCopy& copy, const Launch& launch) {
    const int tiles = copy.tiles_x * copy.tiles_y;
    const auto by_tables_of = [&](int channel, int from, int to) {
        launch_kernel(launch, count_kernel<C>, false,
                      LaunchConfiguration{std::int64_t{tiles} * slabs, clahe_threads, 0, 8}, copy, channel);
        launch_kernel(launch, table_kernel, false, LaunchConfiguration{tiles, values, 0, 8}, copy);
        launch_kernel(launch, copy_kernel<C>, false,
                      LaunchConfiguration{blocks_for(copy.image.pixels(), clahe_threads), clahe_threads, 0, 8}, copy,
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
