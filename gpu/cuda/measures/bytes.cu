// Measures of u8 of 1, 3 or 4 channels without a mask: each warp walks down a strip of columns, four pixels per lane.

#include "cuda/measures/bytes.hpp"

#include "cuda/measures/loads.cuh"
#include "cuda/measures/merge.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int threads = 256, warps_of_block = threads / warp_lanes, most_resident = 4;
/// Columns that a warp measures. Its first and last lanes have the columns beside them.
constexpr int own_columns = (warp_lanes - 2) * lane_pixels;

/// Measures a strip of columns in rows from `begin` up to `end`, by a warp, and adds the sums to those of the block.
template <int C>
__device__ inline void measure(const MeasureParameters& p, const ByteColors<C>& colors, std::int64_t strip,
                               std::int64_t begin, std::int64_t end, BlockMeasures& block) {
    const int lane = threadIdx.x % warp_lanes;
    const std::int64_t first = strip * own_columns - lane_pixels, x = first + lane * lane_pixels;
    const auto inside = [&](int pixel) { return x + pixel > 0 && x + pixel + 1 < p.image.width; };
    const std::uint32_t keep_first = (inside(0) ? 0xFFFFu : 0) | (inside(1) ? 0xFFFF0000u : 0),
                        keep_second = (inside(2) ? 0xFFFFu : 0) | (inside(3) ? 0xFFFF0000u : 0);
    ByteSums sums;
    const auto add = [&](const std::uint32_t(&words)[C], bool counts) {
        const std::uint32_t luma = colors.luma(words), left = __shfl_up_sync(0xFFFFFFFFu, luma, 1),
                            right = __shfl_down_sync(0xFFFFFFFFu, luma, 1);
        sums.add_row(luma, left, right, counts, keep_first, keep_second);
        if (C == 1 || !counts) return;
        std::uint32_t red, green, blue;
        colors.split(words, red, green, blue);
        sums.add_colors(red, green, blue);
    };
    const int before = begin > 0 ? 2 : 0;
    LaneLoads<C> loads(p.image, x, first, begin - before);
    std::uint32_t even[C], odd[C] = {};
    if (before > 0) {
        loads.next(even);
        loads.next(odd);
        add(even, false);
        add(odd, false);
    }
    // Two rows are on their way while one is measured.
    int left = static_cast<int>(end - begin);  // rows to measure
    loads.next(even);
    if (left > 1) loads.next(odd);
#pragma unroll 1
    for (; left > 1; left -= 2) {
        std::uint32_t words[C];
#pragma unroll
        for (int i = 0; i < C; ++i) words[i] = even[i];
        if (left > 2) loads.next(even);
        add(words, true);
#pragma unroll
        for (int i = 0; i < C; ++i) words[i] = odd[i];
        if (left > 3) loads.next(odd);
        add(words, true);
    }
    if (left > 0) add(even, true);
    const bool own = lane > 0 && lane < warp_lanes - 1;
    sums.take([&](int sum, std::int64_t value) { block.add(sum, own ? value : 0); });
}

/// Kernel of the measures of an image with sides of at least 3. Launch: any grid. Bytes: each pixel is read once, and
/// those beside the strips and segments again.
template <int C>
__global__ void __launch_bounds__(threads, most_resident)
    byte_kernel(const __grid_constant__ MeasureParameters p, const __grid_constant__ ByteColors<C> colors) {
    __shared__ BlockMeasures block;
    block.clear();
    __syncthreads();  // clear sums
    const std::int64_t parts = p.strips * p.segments, step = std::int64_t{gridDim.x} * warps_of_block;
    for (std::int64_t part = std::int64_t{blockIdx.x} * warps_of_block + threadIdx.x / warp_lanes; part < parts;
         part += step) {
        const std::int64_t segment = divide(part, p.strips), begin = segment * p.rows;
        measure(p, colors, part - segment * p.strips, begin, min(begin + p.rows, p.image.height), block);
    }
    ThreadSums sums;
    const std::int64_t width = p.image.width, height = p.image.height, places = border_places(width, height);
    for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < places;
         i += std::int64_t{gridDim.x} * threads) {
        std::int64_t x = 0, y = 0;
        border_place(i, width, height, x, y);
        const auto luma_at = [&](std::int64_t column, std::int64_t row) -> std::uint32_t {
            const auto* pixel = static_cast<const std::uint8_t*>(p.image.data) + row * p.image.row_bytes + column * C;
            if constexpr (C == 1) return pixel[0];
            return core::luma(std::uint32_t{pixel[p.red]}, std::uint32_t{pixel[p.green]}, std::uint32_t{pixel[p.blue]});
        };
        add_border(x, y, width, height, luma_at, sums);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        add_neighborhoods(width, height, sums);
        sums.of[first_sum<measures::Colorfulness>()] += C > 1 ? width * height : 0;
        sums.of[first_sum<measures::Gray>()] += C > 1 ? width * height : 0;
    }
    block.add(sums);
    block.add_to(p.sums);
}

}  // namespace

void launch_byte_measures(const MeasureParameters& parameters, const Launch& launch) {
    const MeasureParameters p = cut(parameters, own_columns, 32, ByteSums::most_rows,
                                    std::int64_t{launch.multiprocessors} * most_resident * warps_of_block);
    with_channels(p.channels, [&](auto channels) {
        constexpr int C = decltype(channels)::value;
        launch_kernel(launch, byte_kernel<C>, false,
                      LaunchConfiguration{blocks_for(p.strips * p.segments, warps_of_block), threads, 0, most_resident},
                      p, ByteColors<C>(p.red == 0));
    });
}

}  // namespace gpuhist::cuda
