// Measures of bytes of 1, 3 or 4 channels without a mask: each warp walks down a strip of columns, four pixels per
// lane.

#include "cuda/measures/bytes.hpp"

#include "cuda/measures/loads.cuh"
#include "cuda/measures/merge.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int threads = 256, warps_of_block = threads / warp_lanes, most_resident = 3;
/// Columns that a warp measures. Its first and last lanes have the columns beside them.
constexpr int own_columns = (warp_lanes - 2) * lane_pixels;

template <int C>
struct ByteWarp {
    const MeasureParameters& p;
    const ByteColors<C> colors;
    const std::uint32_t flip;  ///< highest bits of signed samples

    /// Measures a strip in rows from `begin` up to `end`, and adds the sums to those of the block.
    __device__ void measure(std::int64_t strip, std::int64_t begin, std::int64_t end, BlockMeasures& block) const {
        const int lane = threadIdx.x % warp_lanes;
        const std::int64_t first = strip * own_columns - lane_pixels, x = first + lane * lane_pixels,
                           width = p.image.width;
        const std::uint32_t own = lane > 0 && lane < warp_lanes - 1 ? all_bytes : 0;
        const auto inside = [&](int pixel) { return own != 0 && x + pixel > 0 && x + pixel + 1 < width; };
        const std::uint32_t keep_first = (inside(0) ? 0xFFFFu : 0) | (inside(1) ? 0xFFFF0000u : 0),
                            keep_second = (inside(2) ? 0xFFFFu : 0) | (inside(3) ? 0xFFFF0000u : 0);
        const LaneLoads<C> loads(p.image, flip, x, first);
        ByteSums sums;
        const auto step = [&](std::uint32_t(&words)[C], std::int64_t y, bool counts) {
#pragma unroll
            for (int i = 0; i < C; ++i) words[i] ^= flip;
            if (counts && C > 1 && p.colors) {
                std::uint32_t red, green, blue;
                colors.split(words, red, green, blue);
                sums.add_colors(red & own, green & own, blue & own);
            }
            if (!p.neighborhoods) return;
            const std::uint32_t luma = colors.luma(words), left = __shfl_up_sync(0xFFFFFFFFu, luma, 1),
                                right = __shfl_down_sync(0xFFFFFFFFu, luma, 1);
            if (!counts) return sums.begin_row(luma, left, right, own);
            sums.add_row(luma, left, right, own);
            if (y >= 2) sums.add_noise(keep_first, keep_second);
        };
        std::uint32_t even[C], odd[C];
        if (begin > 0 && p.neighborhoods) {
            loads.load(begin - 2, even);
            loads.load(begin - 1, odd);
            step(even, begin - 2, false);
            step(odd, begin - 1, false);
        }
        // Two rows are on their way while one is measured.
        loads.load(begin, even);
        loads.load(min(begin + 1, end - 1), odd);
#pragma unroll 1
        for (std::int64_t y = begin; y < end; y += 2) {
            std::uint32_t words[C];
#pragma unroll
            for (int i = 0; i < C; ++i) words[i] = even[i];
            loads.load(min(y + 2, end - 1), even);
            step(words, y, true);
            if (y + 1 == end) break;
#pragma unroll
            for (int i = 0; i < C; ++i) words[i] = odd[i];
            loads.load(min(y + 3, end - 1), odd);
            step(words, y + 1, true);
        }
        sums.take([&](int sum, std::int64_t value) { block.add(sum, value); });
    }
};

/// Kernel of the measures of an image. Launch: any grid. Bytes: each pixel is read once, and those beside the strips
/// and segments again.
template <int C>
__global__ void __launch_bounds__(threads, most_resident)
    byte_kernel(const __grid_constant__ MeasureParameters p, std::uint32_t flip) {
    __shared__ BlockMeasures block;
    block.clear();
    __syncthreads();  // clear sums
    const ByteWarp<C> warp{p, ByteColors<C>(p.red == 0), flip};
    const std::int64_t parts = p.strips * p.segments, step = std::int64_t{gridDim.x} * warps_of_block;
    for (std::int64_t part = std::int64_t{blockIdx.x} * warps_of_block + threadIdx.x / warp_lanes; part < parts;
         part += step) {
        const std::int64_t segment = divide(part, p.strips), begin = segment * p.rows;
        warp.measure(part - segment * p.strips, begin, min(begin + p.rows, p.image.height), block);
    }
    ThreadSums sums;
    const std::int64_t width = p.image.width, height = p.image.height,
                       places = p.neighborhoods ? border_places(width, height) : 0;
    for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < places;
         i += std::int64_t{gridDim.x} * threads) {
        std::int64_t x = 0, y = 0;
        border_place(i, width, height, x, y);
        const auto luma_at = [&](std::int64_t column, std::int64_t row) -> std::uint32_t {
            const auto* pixel = static_cast<const std::uint8_t*>(p.image.data) + row * p.image.row_bytes + column * C;
            const auto code = [&](int channel) { return (pixel[channel] ^ flip) & 0xFF; };
            return C == 1 ? code(0) : core::luma(code(p.red), code(p.green), code(p.blue));
        };
        add_border(x, y, width, height, luma_at, sums);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (p.neighborhoods) add_neighborhoods(width, height, sums);
        if (p.colors) {
            sums.of[first_sum<measures::Colorfulness>()] += width * height;
            sums.of[first_sum<measures::Gray>()] += width * height;
        }
    }
    block.add(sums);
    block.add_to(p.sums);
}

}  // namespace

void launch_byte_measures(const MeasureParameters& parameters, const Launch& launch) {
    const MeasureParameters p = cut(parameters, own_columns, 32, ByteSums::most_rows,
                                    std::int64_t{launch.multiprocessors} * most_resident * warps_of_block);
    with_channels(p.channels, [&](auto channels) {
        launch_kernel(launch, byte_kernel<decltype(channels)::value>, false,
                      LaunchConfiguration{blocks_for(p.strips * p.segments, warps_of_block), threads, 0, most_resident},
                      p, p.depth == Depth::s8 ? std::uint32_t{0x80808080} : std::uint32_t{0});
    });
}

}  // namespace gpuhist::cuda
