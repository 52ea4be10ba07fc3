// Measures of integers of 8 and 16 bits, with masks and any number of channels: each warp walks down a strip of
// columns, a pixel per lane, with the luma of three rows in registers.

#include "cuda/measures/merge.cuh"
#include "cuda/pixels/walk.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int threads = 256, warps_of_block = threads / warp_lanes;
/// Columns that a warp measures. Its first and last lanes have the columns beside them.
constexpr int own_columns = warp_lanes - 2;

/// Luma of a row at three columns, and whether all three pixels are valid.
template <class Value>
struct RowOfThree {
    Value luma[3];
    bool valid;
};

template <class Sample>
class MeasuringWarp {
  public:
    __device__ MeasuringWarp(const MeasureParameters& p, std::uint32_t flip) : p_(p), flip_(flip) {}

    /// Measures a strip in rows from `begin` up to `end`.
    __device__ void measure(std::int64_t strip, std::int64_t begin, std::int64_t end, ThreadSums& sums) {
        const int lane = threadIdx.x % warp_lanes;
        const std::int64_t width = p_.image.width, height = p_.image.height;
        x_ = strip * own_columns + lane - 1;
        in_ = x_ >= 0 && x_ < width;
        own_ = in_ && lane > 0 && lane <= own_columns;
        if (!p_.neighborhoods) {
            for (std::int64_t y = begin; y < end; ++y) load(y, true, sums);
            return;
        }
        RowOfThree<Value> above = load(begin == 0 ? 1 : begin - 1, false, sums), row = load(begin, true, sums);
        const bool inside_columns = x_ > 0 && x_ + 1 < width;
        for (std::int64_t y = begin; y < end; ++y) {
            const RowOfThree<Value> below = load(y + 1 == height ? height - 2 : y + 1, y + 1 < end, sums);
            if (own_ && above.valid && row.valid && below.valid) {
                const measures::Pixel<Value> at{{above.luma + 1, row.luma + 1, below.luma + 1}, {}, 0};
                sums.add<measures::Laplacian>(at);
                sums.add<measures::Tenengrad>(at);
                if (inside_columns && y > 0 && y + 1 < height) sums.add<measures::Noise>(at);
            }
            above = row;
            row = below;
        }
    }

  private:
    using Value = measures::Value<Sample>;
    static constexpr std::uint32_t valid_bit = 1u << 31;

    __device__ core::Code<Sample> code(const Sample* pixel, int channel) const {
        return static_cast<core::Code<Sample>>(pixel[channel] ^ flip_);
    }

    /// Loads a row of the image. `counts`: its pixels are measured by themselves.
    __device__ RowOfThree<Value> load(std::int64_t y, bool counts, ThreadSums& sums) {
        std::uint32_t own = 0;
        if (in_) {
            const auto* pixel =
                reinterpret_cast<const Sample*>(static_cast<const char*>(p_.image.data) + y * p_.image.row_bytes) +
                x_ * p_.channels;
            const bool valid = p_.mask.keeps(x_, y);
            const core::Code<Sample> red = code(pixel, p_.red);
            own = red;
            if (p_.green != p_.red) {
                const core::Code<Sample> green = code(pixel, p_.green), blue = code(pixel, p_.blue);
                own = core::luma_code<Sample>(red, green, blue);
                if (counts && own_ && valid && p_.colors) {
                    const Value colors[] = {static_cast<Value>(red), static_cast<Value>(green),
                                            static_cast<Value>(blue)};
                    const measures::Pixel<Value> at{{}, {colors, colors + 1, colors + 2}, 0};
                    sums.add<measures::Colorfulness>(at);
                    sums.add<measures::Gray>(at);
                }
            }
            if (valid) own |= valid_bit;
        }
        std::uint32_t left = __shfl_up_sync(0xFFFFFFFFu, own, 1), right = __shfl_down_sync(0xFFFFFFFFu, own, 1);
        if (x_ == 0)
            left = right;
        else if (x_ + 1 == p_.image.width)
            right = left;
        return {{static_cast<Value>(left & ~valid_bit), static_cast<Value>(own & ~valid_bit),
                 static_cast<Value>(right & ~valid_bit)},
                (left & own & right & valid_bit) != 0};
    }

    const MeasureParameters& p_;
    const std::uint32_t flip_;  ///< highest bit of signed samples
    std::int64_t x_ = 0;
    bool in_ = false, own_ = false;
};

/// Kernel of the measures of an image. Launch: any grid. Bytes: each pixel is read once, and those beside the strips
/// and segments again.
template <class Sample>
__global__ void __launch_bounds__(threads)
    measure_kernel(const __grid_constant__ MeasureParameters p, std::uint32_t flip) {
    __shared__ BlockMeasures block;
    block.clear();
    __syncthreads();  // clear sums
    ThreadSums sums;
    MeasuringWarp<Sample> warp(p, flip);
    const std::int64_t parts = p.strips * p.segments, step = std::int64_t{gridDim.x} * warps_of_block;
    std::int64_t rows = 0;
    for (std::int64_t part = std::int64_t{blockIdx.x} * warps_of_block + threadIdx.x / warp_lanes; part < parts;
         part += step) {
        const std::int64_t segment = divide(part, p.strips), begin = segment * p.rows;
        if (rows + p.rows > most_rows_of_sums) {
            block.add(sums);
            rows = 0;
        }
        rows += p.rows;
        warp.measure(part - segment * p.strips, begin, min(begin + p.rows, p.image.height), sums);
    }
    block.add(sums);
    block.add_to(p.sums);
}

}  // namespace

void launch_measures(const MeasureParameters& parameters, const Launch& launch) {
    constexpr int most_resident = 8;
    const MeasureParameters p = cut(parameters, own_columns, 32, most_rows_of_sums,
                                    std::int64_t{launch.multiprocessors} * most_resident * warps_of_block);
    const LaunchConfiguration configuration{blocks_for(p.strips * p.segments, warps_of_block), threads, 0,
                                            most_resident};
    const bool is_signed = p.depth == Depth::s8 || p.depth == Depth::s16;
    if (sample_bytes(p.depth) == 1)
        launch_kernel(launch, measure_kernel<std::uint8_t>, false, configuration, p,
                      is_signed ? std::uint32_t{0x80} : std::uint32_t{0});
    else
        launch_kernel(launch, measure_kernel<std::uint16_t>, false, configuration, p,
                      is_signed ? std::uint32_t{0x8000} : std::uint32_t{0});
}

}  // namespace gpuhist::cuda
