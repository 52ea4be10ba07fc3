// A warp's own barrier, votes and shuffles: with masks that leave lanes out, in segments of every width, for every
// type.

#include <cstdio>

#include "bench/ladder/ladder.cuh"
#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

constexpr int block_threads = 256;
constexpr unsigned without_lane_0 = 0xFFFFFFFEu, lane_0_alone = 1u;

/// The warps of the grid take the image in pieces of 32 pixels, zeros behind its end: all lanes call `visit` together.
template <class Visit>
__device__ void for_each_warp(const std::uint8_t* pixels, std::int64_t count, Visit visit) {
    for (std::int64_t i = grid_rank(); i - lane_of_thread() < count; i += grid_threads())
        visit(i < count ? unsigned{pixels[i]} : 0u);
}

template <class... Parameters>
void launch_pieces(const Call& call, void (*kernel)(const std::uint8_t*, std::int64_t, Parameters...),
                   std::size_t words) {
    clear(call, call.answer, words * sizeof(Word));
    launch(call, kernel, blocks_for(kernel, block_threads, 16 * call.image.samples()), block_threads, pixels_of(call),
           call.image.samples(), call.answer);
}

// __syncwarp

/// Lanes 1 to 31 hand their pixels round in shared memory: the product of each with its neighbor's. Lane 0 is not in
/// their mask, has one of its own, and need not come along. Barriers of the lanes that are named: all have written; all
/// have read. Launch: any grid.
__global__ void __launch_bounds__(block_threads)
    ring_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ unsigned values[block_threads];
    const int lane = lane_of_thread();
    Word products = 0, alone = 0;
    for_each_warp(pixels, count, [&](unsigned value) {
        values[threadIdx.x] = value;
        if (lane == 0) {
            __syncwarp(lane_0_alone);
            alone += values[threadIdx.x];
        } else {
            __syncwarp(without_lane_0);
            products += value * values[lane == warp_lanes - 1 ? threadIdx.x - lane + 1 : threadIdx.x + 1];
            __syncwarp(without_lane_0);
        }
    });
    products = reduce_block(products, Word{0}, Sum{});
    alone = reduce_block(alone, Word{0}, Sum{});
    if (threadIdx.x != 0) return;
    atomicAdd(answer, products);
    atomicAdd(answer + 1, alone);
}

void ring(const Call& call) {
    launch_pieces(call, ring_kernel, 2);
}

// Votes

/// Which pixels of a warp are bright, asked by the lanes of the mask only: whoever is not in it must not call. Its
/// lowest lane adds up. Launch: any grid.
template <unsigned Mask>
__global__ void __launch_bounds__(block_threads)
    vote_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    const int lane = lane_of_thread();
    Word ballots = 0, alls = 0, anys = 0;
    for_each_warp(pixels, count, [&](unsigned value) {
        if ((Mask >> lane & 1) == 0) return;
        const unsigned ballot = __ballot_sync(Mask, value >= bright);
        const int all = __all_sync(Mask, value >= bright), any = __any_sync(Mask, value >= bright);
        if (lane != __ffs(Mask) - 1) return;
        ballots += ballot;
        alls += static_cast<Word>(all);
        anys += static_cast<Word>(any);
    });
    ballots = reduce_block(ballots, Word{0}, Sum{});
    alls = reduce_block(alls, Word{0}, Sum{});
    anys = reduce_block(anys, Word{0}, Sum{});
    if (threadIdx.x != 0) return;
    atomicAdd(answer, ballots);
    atomicAdd(answer + 1, alls);
    atomicAdd(answer + 2, anys);
}

template <unsigned Mask>
void votes(const Call& call) {
    launch_pieces(call, vote_kernel<Mask>, 3);
}

// Shuffles

/// The four shuffles in segments of `Width`, by half of it (xor: all its bits); a lane's value counts as many times as
/// its number and one.
template <int Width>
__device__ void shuffle_each(unsigned value, Word* sums) {
    constexpr int half = Width / 2;
    const Word weight = static_cast<Word>(lane_of_thread()) + 1;
    sums[0] += weight * __shfl_sync(whole_warp, value, half, Width);
    sums[1] += weight * __shfl_up_sync(whole_warp, value, half, Width);
    sums[2] += weight * __shfl_down_sync(whole_warp, value, half, Width);
    sums[3] += weight * __shfl_xor_sync(whole_warp, value, Width - 1, Width);
}

/// Launch: any grid.
__global__ void __launch_bounds__(block_threads)
    width_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    Word sums[20] = {};
    for_each_warp(pixels, count, [&](unsigned value) {
        shuffle_each<2>(value, sums);
        shuffle_each<4>(value, sums + 4);
        shuffle_each<8>(value, sums + 8);
        shuffle_each<16>(value, sums + 12);
        shuffle_each<32>(value, sums + 16);
    });
#pragma unroll
    for (int k = 0; k < 20; ++k) {
        const Word sum = reduce_block(sums[k], Word{0}, Sum{});
        if (threadIdx.x == 0) atomicAdd(answer + k, sum);
    }
}

void widths(const Call& call) {
    launch_pieces(call, width_kernel, 20);
}

/// The value of the next lane, in a type; that of the last lane is its own.
template <typename T>
__device__ Word next_lane(unsigned value) {
    return static_cast<Word>(__shfl_down_sync(whole_warp, static_cast<T>(value), 1));
}

/// Launch: any grid.
__global__ void __launch_bounds__(block_threads)
    type_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    Word sums[8] = {};
    for_each_warp(pixels, count, [&](unsigned value) {
        sums[0] += next_lane<int>(value);
        sums[1] += next_lane<unsigned>(value);
        sums[2] += next_lane<long>(value);
        sums[3] += next_lane<unsigned long>(value);
        sums[4] += next_lane<long long>(value);
        sums[5] += next_lane<unsigned long long>(value);
        sums[6] += next_lane<float>(value);
        sums[7] += next_lane<double>(value);
    });
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const Word sum = reduce_block(sums[k], Word{0}, Sum{});
        if (threadIdx.x == 0) atomicAdd(answer + k, sum);
    }
}

void types(const Call& call) {
    launch_pieces(call, type_kernel, 8);
}

// The sample

constexpr unsigned sample_threads = 16, sample_width = 8, FULL_MASK = 0xFFFFFFFFu;

/// A line of all threads' values. Lanes need not come to printf in their order, so they take turns.
__device__ void print_line(const char* label, int value) {
    if (threadIdx.x == 0) printf("%-12s", label);
    for (unsigned turn = 0; turn < sample_threads; ++turn) {
        __syncwarp();
        if (threadIdx.x == turn) printf("%3d", value);
    }
    __syncwarp();
    if (threadIdx.x == 0) printf("\n");
    __syncwarp();
}

/// Launch: one block of `sample_threads`. Two votes are for few lanes: only these call them.
__global__ void warp_sample() {
    const int tid = static_cast<int>(threadIdx.x), lane_id = tid % static_cast<int>(sample_width);
    print_line("threadIdx.x:", tid);
    print_line("lane_id:", lane_id);

    const unsigned mask1 = __ballot_sync(FULL_MASK, tid > 0), mask2 = __ballot_sync(FULL_MASK, tid == 0);
    const int all = __all_sync(FULL_MASK, tid), any = __any_sync(FULL_MASK, tid);
    const int all1 = tid > 0 ? __all_sync(mask1, tid) : 0, any2 = tid == 0 ? __any_sync(mask2, tid) : 0;
    if (tid == 0) {
        printf("FULL_MASK = %x\nmask1     = %x\nmask2     = %x\n", FULL_MASK, mask1, mask2);
        printf("all_sync (FULL_MASK): %d\n", all);
    }
    __syncwarp();
    if (tid == 1) printf("all_sync (mask1):     %d\n", all1);
    __syncwarp();
    if (tid == 0) printf("any_sync (FULL_MASK): %d\nany_sync (mask2):     %d\n", any, any2);
    __syncwarp();

    print_line("shfl:", __shfl_sync(FULL_MASK, tid, 2, sample_width));
    print_line("shfl_up:", __shfl_up_sync(FULL_MASK, tid, 1, sample_width));
    print_line("shfl_down:", __shfl_down_sync(FULL_MASK, tid, 1, sample_width));
    print_line("shfl_xor:", __shfl_xor_sync(FULL_MASK, tid, 1, sample_width));
}

}  // namespace

void print_warp_sample() {
    std::fflush(stdout);
    warp_sample<<<1, sample_threads>>>();
    LADDER_CUDA(cudaGetLastError());
    LADDER_CUDA(cudaDeviceSynchronize());
}

std::vector<Rung> warp_rungs() {
    const auto rung = [](const char* name, const char* change, Answer (*answer)(const Image&),
                         void (*run)(const Call&)) {
        return Rung{"seeds", name, change, answer, run}.with(&Rung::divisor, 4);
    };
    return {
        rung("syncwarp_mask", "__syncwarp for lanes 1 to 31, and for lane 0 alone: who is not named is not waited for",
             exact::ring, ring),
        rung("vote_full", "ballot, all and any of all 32 lanes", exact::votes<whole_warp>, votes<whole_warp>),
        rung("vote_without_lane_0", "lane 0 left out: its bit is 0, and all and any do not ask it",
             exact::votes<without_lane_0>, votes<without_lane_0>),
        rung("vote_lane_0_alone", "lane 0 alone: ballot, all and any are its own answer", exact::votes<lane_0_alone>,
             votes<lane_0_alone>),
        rung("shuffle_widths", "broadcast, up, down and xor in segments of 2, 4, 8, 16 and 32 lanes", exact::widths,
             widths),
        rung("shuffle_types", "int, unsigned, long, long long, float, double: 64 bits pass as two shuffles of 32",
             exact::types, types),
    };
}

}  // namespace gpuhist::bench::ladder::seeds
