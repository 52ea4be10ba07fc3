// Keys of the brightness of pixels, counted by digit in shared memory.

#include "cuda/measures/keys.hpp"

#include <type_traits>

#include "cuda/block/shared_memory.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/measures/loads.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int threads = block_threads, warps_of_block = threads / warp_lanes, most_resident = 2;
/// Pixels that are worth a block, which clears its counts and adds them to those in device memory.
constexpr std::int64_t pixels_of_block = 32 * 1024;

/// Digits before the current one, up to this number of bits, are looked up in a table in shared memory.
constexpr int table_bits = 14;
__host__ __device__ constexpr bool has_table(const KeyParameters& p, int key_bits) {
    return p.wanted > 0 && key_bits - p.left <= table_bits;
}

/// Counts of a block, in shared memory, and a table behind them.
class BlockKeys {
  public:
    __device__ explicit BlockKeys(const KeyParameters& p)
        : p_(p),
          left_(static_cast<std::uint32_t>(p.left)),
          bits_(static_cast<std::uint32_t>(p.bits)),
          below_(left_ - bits_),
          digits_((1u << bits_) - 1),
          size_(max(1, p.wanted) << p.bits),
          counts_(shared_address(dynamic_shared)) {
        asm volatile("" : "+r"(counts_));  // else the address is computed again for each pixel
        before_ = counts_ - (4u << bits_);
        table_ = counts_ + 4 * static_cast<std::uint32_t>(size_);
        for (int i = static_cast<int>(threadIdx.x); i < size_; i += threads) dynamic_shared[i] = 0;
        __syncthreads();  // clear counts
    }
    /// Makes the table of the wanted digits: the place of each, from 1 on.
    __device__ void make_table() const {
        std::uint32_t* const table = dynamic_shared + size_;
        for (int i = static_cast<int>(threadIdx.x); i < 1 << (table_bits - 2); i += threads) table[i] = 0;
        __syncthreads();  // a clear table
        if (threadIdx.x == 0)
            for (int i = 0; i < p_.wanted; ++i)
                reinterpret_cast<std::uint8_t*>(table)[p_.digits[i]] = static_cast<std::uint8_t>(i + 1);
        __syncthreads();  // the table
    }

    /// Counts the first digit of a key.
    template <class Key>
    __device__ void add(Key key) const {
        shared_increment(counts_ + 4 * static_cast<std::uint32_t>(key >> below_));
    }
    /// Counts a digit of a key, if those before it are wanted.
    __device__ void add_by_table(std::uint32_t key) const {
        const std::uint32_t place = shared_load(table_ + (key >> left_), std::uint8_t{});
        shared_increment_if(place != 0, before_ + 4 * (place << bits_ | (key >> below_ & digits_)));
    }
    template <class Key>
    __device__ void add_by_list(Key key) const {
        const auto before = static_cast<Key>(key >> left_);
        const auto digit = static_cast<std::uint32_t>(key >> below_) & digits_;
        for (int i = 0; i < p_.wanted; ++i)
            if (before == static_cast<Key>(p_.digits[i]))
                return shared_increment(counts_ + 4 * (static_cast<std::uint32_t>(i) << bits_ | digit));
    }
    __device__ void add_to(Word* counts) const {
        __syncthreads();  // all counts
        for (int i = static_cast<int>(threadIdx.x); i < size_; i += threads)
            if (dynamic_shared[i] != 0) global_add(counts + i, Word{dynamic_shared[i]});
    }

  private:
    const KeyParameters& p_;
    const std::uint32_t left_, bits_, below_, digits_;  ///< bits from the digit on, of it, and below it; its mask
    const int size_;                                    ///< number of counts
    std::uint32_t counts_, before_, table_;             ///< addresses; of counts before the first ones
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
        if (!p.mask.keeps(x, y)) continue;
        const auto* pixel =
            reinterpret_cast<const Sample*>(static_cast<const char*>(p.image.data) + y * p.image.row_bytes) +
            x * p.channels;
        const auto square = [&](int channel) {
            const std::int32_t sample = pixel[channel];
            const auto size = static_cast<std::uint32_t>(sample < 0 ? -sample : sample);
            return static_cast<Key>(size * size);
        };
        const Key key = measures::Brightness::key_of_squares<Key>(square(p.red), square(p.green), square(p.blue));
        p.wanted == 0 ? block.add(key) : block.add_by_list(key);
    }
    block.add_to(p.counts);
}

/// Counts the keys of u8 of C channels by `add(key)`. A warp walks down strips of columns, with four pixels per lane.
template <int C, class Add>
__device__ inline void count_keys(const KeyParameters& p, const ByteColors<C>& colors, const Add& add) {
    constexpr std::int64_t together = warp_lanes * lane_pixels, rows = 32;
    const int lane = threadIdx.x % warp_lanes;
    const std::int64_t strips = (p.image.width + together - 1) / together,
                       parts = strips * ((p.image.height + rows - 1) / rows);
    for (std::int64_t part = std::int64_t{blockIdx.x} * warps_of_block + threadIdx.x / warp_lanes; part < parts;
         part += std::int64_t{gridDim.x} * warps_of_block) {
        const std::int64_t segment = divide(part, strips), first = (part - segment * strips) * together,
                           x = first + lane * lane_pixels, begin = segment * rows;
        const int valid = static_cast<int>(min(max(p.image.width - x, std::int64_t{0}), std::int64_t{lane_pixels}));
        LaneLoads<C> loads(p.image, x, first, begin);
        std::uint32_t next[C];
        loads.next(next);
#pragma unroll 1
        for (int left = static_cast<int>(min(rows, p.image.height - begin)); left > 0; --left) {
            std::uint32_t words[C], red, green, blue;
#pragma unroll
            for (int i = 0; i < C; ++i) words[i] = next[i];
            if (left > 1) loads.next(next);
            colors.split(words, red, green, blue);
            const auto key = [&](int i) {
                const auto square = [&](std::uint32_t color) {
                    const std::uint32_t sample = permute(color, 0, 0x4440u | static_cast<std::uint32_t>(i));
                    return sample * sample;
                };
                return measures::Brightness::key_of_squares(square(red), square(green), square(blue));
            };
            if (valid == lane_pixels) {
#pragma unroll
                for (int i = 0; i < lane_pixels; ++i) add(key(i));
            } else {
#pragma unroll 1
                for (int i = 0; i < valid; ++i) add(key(i));
            }
        }
    }
}

/// Kernel of the keys of u8 of C channels without a mask, as the one above.
template <int C>
__global__ void __launch_bounds__(threads)
    byte_key_kernel(const __grid_constant__ KeyParameters p, const __grid_constant__ ByteColors<C> colors) {
    const BlockKeys block(p);
    if (p.wanted == 0) {
        count_keys(p, colors, [&](std::uint32_t key) { block.add(key); });
    } else if (has_table(p, measures::Brightness::key_bits<std::uint8_t>)) {
        block.make_table();
        count_keys(p, colors, [&](std::uint32_t key) { block.add_by_table(key); });
    } else {
        count_keys(p, colors, [&](std::uint32_t key) { block.add_by_list(key); });
    }
    block.add_to(p.counts);
}

}  // namespace

DigitBits digit_bits(const Launch& launch) {
    constexpr std::size_t counts = std::size_t{4} << 14;
    return {counts + static_shared_bytes <= launch.shared_bytes ? 14 : 12, 12};
}

void launch_keys(const KeyParameters& parameters, const Launch& launch) {
    constexpr std::size_t table_bytes = std::size_t{1} << table_bits;
    const bool bytes = parameters.depth == Depth::u8 && !parameters.mask.data && parameters.channels <= 4,
               table = bytes && has_table(parameters, measures::Brightness::key_bits<std::uint8_t>);
    const std::size_t counts_bytes = std::size_t{4} << parameters.bits, beside = table ? table_bytes : 0;
    const int most = static_cast<int>(std::min<std::size_t>(
        KeySelection::most_wanted, (launch.shared_bytes - static_shared_bytes - beside) / counts_bytes));
    for (int begin = 0; begin == 0 || begin < parameters.wanted; begin += most) {
        KeyParameters p = parameters;
        p.wanted = std::min(most, parameters.wanted - begin);
        std::copy_n(parameters.digits + begin, p.wanted, p.digits);
        p.counts = parameters.counts + (static_cast<std::size_t>(begin) << p.bits);
        const LaunchConfiguration configuration{blocks_for(p.image.pixels(), pixels_of_block), threads,
                                                counts_bytes * static_cast<std::size_t>(std::max(1, p.wanted)) + beside,
                                                most_resident};
        if (bytes && p.channels == 3)
            launch_kernel(launch, byte_key_kernel<3>, false, configuration, p, ByteColors<3>(p.red == 0));
        else if (bytes)
            launch_kernel(launch, byte_key_kernel<4>, false, configuration, p, ByteColors<4>(p.red == 0));
        else
            with_depth(p.depth, [&](auto sample) {
                using Sample = decltype(sample);
                if constexpr (std::is_integral_v<Sample> && sizeof(Sample) <= 2)
                    launch_kernel(launch, key_kernel<Sample>, false, configuration, p);
            });
    }
}

}  // namespace gpuhist::cuda
