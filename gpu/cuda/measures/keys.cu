// Keys of the brightness of pixels, counted by digit in shared memory.

#include "cuda/measures/keys.hpp"

#include <type_traits>

#include "cuda/block/shared_memory.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/measures/loads.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int threads = 512, warps_of_block = threads / warp_lanes;
/// Pixels that are worth a block, which clears its counts and adds them to those in device memory.
constexpr std::int64_t pixels_of_block = 32 * 1024;

/// Counts of a block, in shared memory.
class BlockKeys {
  public:
    __device__ explicit BlockKeys(const KeyParameters& p) : p_(p), counts_(shared_address(dynamic_shared)) {
        for (int i = static_cast<int>(threadIdx.x); i < size(); i += threads) dynamic_shared[i] = 0;
        __syncthreads();  // clear counts
    }
    template <class Key>
    __device__ void add(Key key) const {
        const auto digit = static_cast<std::uint32_t>(key >> (p_.left - p_.bits)) & ((1u << p_.bits) - 1);
        if (p_.wanted == 0) return shared_increment(counts_ + 4 * digit);
        const auto before = static_cast<Key>(key >> p_.left);
        for (int i = 0; i < p_.wanted; ++i)
            if (before == static_cast<Key>(p_.digits[i]))
                return shared_increment(counts_ + 4 * (static_cast<std::uint32_t>(i) << p_.bits | digit));
    }
    __device__ void add_to(Word* counts) const {
        __syncthreads();  // all counts
        for (int i = static_cast<int>(threadIdx.x); i < size(); i += threads)
            if (dynamic_shared[i] != 0) global_add(counts + i, Word{dynamic_shared[i]});
    }

  private:
    __device__ int size() const { return max(1, p_.wanted) << p_.bits; }
    const KeyParameters& p_;
    const std::uint32_t counts_;
};

/// Kernel of the keys of an image. Launch: any grid, with shared memory for the counts. Bytes: each pixel is read once.
/// Limit: fewer than 2^32 pixels per block.
template <class Sample>
__global__ void __launch_bounds__(threads) key_kernel(const __grid_constant__ KeyParameters p) {
    using Key = std::conditional_t<sizeof(Sample) == 1, std::uint32_t, std::uint64_t>;
    const BlockKeys block(p);
    const std::int64_t pixels = p.image.pixels();
    for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < pixels;
         i += std::int64_t{gridDim.x} * threads) {
        const std::int64_t y = divide(i, p.image.width), x = i - y * p.image.width;
        if (p.mask.data && p.mask.data[y * p.mask.row_bytes + x] == 0) continue;
        const auto* pixel =
            reinterpret_cast<const Sample*>(static_cast<const char*>(p.image.data) + y * p.image.row_bytes) +
            x * p.channels;
        const auto square = [&](int channel) {
            const std::int32_t sample = pixel[channel];
            const auto size = static_cast<std::uint32_t>(sample < 0 ? -sample : sample);
            return static_cast<Key>(size * size);
        };
        block.add(measures::Brightness::key_of_squares<Key>(square(p.red), square(p.green), square(p.blue)));
    }
    block.add_to(p.counts);
}

/// The same for u8 of C channels without a mask: four pixels per lane.
template <int C>
__global__ void __launch_bounds__(threads) byte_key_kernel(const __grid_constant__ KeyParameters p) {
    constexpr std::int64_t together = warp_lanes * lane_pixels;
    const BlockKeys block(p);
    const ByteColors<C> colors(p.red == 0);
    const int lane = threadIdx.x % warp_lanes;
    const std::int64_t in_row = (p.image.width + together - 1) / together, parts = in_row * p.image.height;
    for (std::int64_t part = std::int64_t{blockIdx.x} * warps_of_block + threadIdx.x / warp_lanes; part < parts;
         part += std::int64_t{gridDim.x} * warps_of_block) {
        const std::int64_t y = divide(part, in_row), first = (part - y * in_row) * together,
                           x = first + lane * lane_pixels;
        std::uint32_t words[C], red, green, blue;
        LaneLoads<C>(p.image, 0, x, first).load(y, words);
        colors.split(words, red, green, blue);
#pragma unroll
        for (int i = 0; i < lane_pixels; ++i) {
            const auto square = [&](std::uint32_t color) {
                const std::uint32_t sample = permute(color, 0, 0x4440u | static_cast<std::uint32_t>(i));
                return sample * sample;
            };
            if (x + i < p.image.width)
                block.add(measures::Brightness::key_of_squares(square(red), square(green), square(blue)));
        }
    }
    block.add_to(p.counts);
}

}  // namespace

DigitBits digit_bits(const Launch& launch) {
    constexpr std::size_t counts = std::size_t{4} << 14;
    return {counts + static_shared_bytes <= launch.shared_bytes ? 14 : 12, 12};
}

void launch_keys(const KeyParameters& parameters, const Launch& launch) {
    constexpr int most_resident = 4;
    const std::size_t counts_bytes = std::size_t{4} << parameters.bits;
    const int most = static_cast<int>(
        std::min<std::size_t>(KeySelection::most_wanted, (launch.shared_bytes - static_shared_bytes) / counts_bytes));
    for (int begin = 0; begin == 0 || begin < parameters.wanted; begin += most) {
        KeyParameters p = parameters;
        p.wanted = std::min(most, parameters.wanted - begin);
        std::copy_n(parameters.digits + begin, p.wanted, p.digits);
        p.counts = parameters.counts + (static_cast<std::size_t>(begin) << p.bits);
        const LaunchConfiguration configuration{blocks_for(p.image.pixels(), pixels_of_block), threads,
                                                counts_bytes * static_cast<std::size_t>(std::max(1, p.wanted)),
                                                most_resident};
        if (p.depth == Depth::u8 && !p.mask.data && p.channels == 3)
            launch_kernel(launch, byte_key_kernel<3>, false, configuration, p);
        else if (p.depth == Depth::u8 && !p.mask.data && p.channels == 4)
            launch_kernel(launch, byte_key_kernel<4>, false, configuration, p);
        else
            with_depth(p.depth, [&](auto sample) {
                using Sample = decltype(sample);
                if constexpr (std::is_integral_v<Sample> && sizeof(Sample) <= 2)
                    launch_kernel(launch, key_kernel<Sample>, false, configuration, p);
            });
    }
}

}  // namespace gpuhist::cuda
