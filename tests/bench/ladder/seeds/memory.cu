// Memory that is constant, volatile, or shared by a block behind a fence.

#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.cuh"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

// __constant__

struct Table {
    unsigned square[256];
    constexpr Table() : square() {
        for (unsigned k = 0; k < 256; ++k) square[k] = k * k;
    }
};
__constant__ Table table = Table();

/// Pixels times a number for each 512 of them: all lanes of a warp read the same one. Launch: any grid.
__global__ void __launch_bounds__(many_threads)
    uniform_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    Word sum = 0;
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t i) {
            sum += Word{sum_of_bytes(word)} * table.square[i / warp_lanes % 256];
        },
        [&](std::uint8_t pixel, std::int64_t place) { sum += Word{pixel} * table.square[place / 512 % 256]; });
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, sum);
}

/// The square of each pixel, looked up: the lanes of a warp read as many numbers as it has different pixels. `Shared`:
/// in a copy in shared memory. Launch: any grid.
template <bool Shared>
__global__ void __launch_bounds__(many_threads)
    look_up_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ unsigned copy[256];
    const unsigned* squares = table.square;
    if constexpr (Shared) {
        for (int k = threadIdx.x; k < 256; k += many_threads) copy[k] = table.square[k];
        __syncthreads();
        squares = copy;
    }
    Word sum = 0;
    const auto look_up = [&](unsigned value) { return Shared ? squares[value] : table.square[value]; };
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) {
            for_each_byte(word, [&](unsigned value, int) { sum += look_up(value); });
        },
        [&](std::uint8_t pixel, std::int64_t) { sum += look_up(pixel); });
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, sum);
}

using PixelKernel = void (*)(const std::uint8_t*, std::int64_t, Word*);

template <PixelKernel Kernel>
void sum_by(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch_many(call, Kernel, call.image.samples(), pixels_of(call), call.image.samples(), call.answer);
}

// volatile

/// Sum of pixels that each thread reads four times. The compiler reads them once and multiplies; if they are volatile
/// it may not. Launch: any grid.
template <class Bytes>
__global__ void __launch_bounds__(many_threads)
    four_times_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    Bytes* bytes = pixels;
    Word sum = 0;
    for (std::int64_t i = grid_rank(); i < count; i += grid_threads())
#pragma unroll
        for (int turn = 0; turn < 4; ++turn) sum += bytes[i];
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, sum);
}

// __threadfence_block

/// What a block's first warp leaves to its second.
struct Handed {
    Word sum;
    unsigned ready;
};

/// Sum of 1024 pixels per block: the first warp sums one half and hands its sum to the second, without a barrier. The
/// fence keeps the sum before the flag, for threads of the block; volatile makes each look at the flag a read. Both
/// warps are there, and the second waits with a limit. Launch: a block of two warps for each 1024 pixels.
__global__ void __launch_bounds__(2 * warp_lanes)
    hand_over_kernel(const std::uint8_t* pixels, std::int64_t count, Handed* handed, Word* answer) {
    const unsigned warp = threadIdx.x / warp_lanes;
    const std::int64_t half = handed_pixels / 2,
                       first = static_cast<std::int64_t>(blockIdx.x) * handed_pixels + warp * half;
    Word sum = 0;
    for (std::int64_t i = first + lane_of_thread(); i < min(first + half, count); i += warp_lanes) sum += pixels[i];
    sum = reduce_warp(sum, Sum{});
    if (lane_of_thread() != 0) return;
    volatile Handed* message = handed + blockIdx.x;
    if (warp == 0) {
        message->sum = sum;
        __threadfence_block();
        message->ready = 1;
    } else {
        const Patience patience;
        while (message->ready == 0) patience.wait();
        __threadfence_block();
        atomicAdd(answer, sum + message->sum);
    }
}

std::int64_t hand_over_blocks(const Image& image) {
    return (image.samples() + handed_pixels - 1) / handed_pixels;
}

std::size_t handed_bytes(const Image& image) {
    return static_cast<std::size_t>(hand_over_blocks(image)) * sizeof(Handed);
}

void hand_over(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    clear(call, call.scratch, handed_bytes(call.image));
    launch(call, hand_over_kernel, hand_over_blocks(call.image), 2 * warp_lanes, pixels_of(call), call.image.samples(),
           static_cast<Handed*>(call.scratch), call.answer);
}

}  // namespace

std::vector<unsigned> constant_table() {
    void* address = nullptr;
    LADDER_CUDA(cudaGetSymbolAddress(&address, table));
    std::vector<unsigned> squares(256);
    LADDER_CUDA(cudaMemcpy(squares.data(), address, sizeof(Table), cudaMemcpyDeviceToHost));
    return squares;
}

std::vector<Rung> memory_rungs() {
    const auto rung = [](const char* name, const char* change, Answer (*answer)(const Image&),
                         void (*run)(const Call&)) {
        return Rung{"seeds", name, change, answer, run};
    };
    return {
        rung("constant_uniform", "a __constant__ table of which a warp reads one number at a time: a register's price",
             exact::weighted, sum_by<uniform_kernel>),
        rung("constant_scattered", "each lane its own number of that table: the reads queue up", exact::squares,
             sum_by<look_up_kernel<false>>),
        rung("shared_scattered", "the table copied into shared memory first: 32 banks answer at once", exact::squares,
             sum_by<look_up_kernel<true>>),
        rung("read_once", "each pixel read four times in the text: the compiler reads it once", exact::four_times,
             sum_by<four_times_kernel<const std::uint8_t>>),
        rung("read_volatile", "the same pixels as volatile: four reads, each of them real", exact::four_times,
             sum_by<four_times_kernel<const volatile std::uint8_t>>),
        rung("fence_block", "one warp hands another its sum: __threadfence_block, and a volatile flag",
             ladder::exact::sum, hand_over)
            .with(&Rung::scratch_bytes, handed_bytes),
    };
}

}  // namespace gpuhist::bench::ladder::seeds
