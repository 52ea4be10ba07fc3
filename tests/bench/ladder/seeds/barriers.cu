// Barriers between blocks by hand, as the articles write them: with a watch, so that what would hang gives up and is
// counted. The sound one is the ladder's, for 64 blocks and for more.

#include <cooperative_groups.h>

#include <cstdio>

#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.cuh"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

namespace cg = cooperative_groups;

/// Looks at a barrier, each with a pause of about a microsecond, after which a block gives up: some hundredths of a
/// second, in which blocks that are there arrive many times over.
constexpr unsigned most_looks = 20'000;

struct Outcome {
    unsigned passed, gave_up;
};

class Watch {
  public:
    /// Whether to look once more.
    __device__ bool goes_on() {
        __nanosleep(1000);
        return ++looks_ < most_looks;
    }

  private:
    unsigned looks_ = 0;
};

/// Shift of 1 as the GPU does it: 0 from 32 on, which the language leaves open.
__device__ int one_shifted(unsigned by) {
    int result;
    asm("shl.b32 %0, 1, %1;" : "=r"(result) : "r"(by));
    return result;
}

/// The barrier for up to 64 blocks. Written there: a 64-bit mask of those that have arrived, cleared by every thread,
/// and a block waits until it is (1 << gridDim.x) - 1, which is an int. Up to 31 blocks that is right; from 32 to 63 it
/// is -1, in 64 bits all ones, which so few blocks never set; with 64 it is -1 again, and right by luck. The grid's
/// barrier is not there: it keeps the clearing apart, which is a fault of its own (spin_model.cpp).
__global__ void as_written(Word* complete_mask, Outcome* outcome) {
    atomicAnd(complete_mask, Word{0});
    cg::this_grid().sync();
    const int expected = one_shifted(gridDim.x) - 1;
    if (threadIdx.x != 0) return;
    Watch watch;
    while (atomicOr(complete_mask, Word{1} << blockIdx.x) != static_cast<Word>(static_cast<long long>(expected)))
        if (!watch.goes_on()) {
            atomicAdd(&outcome->gave_up, 1u);
            return;
        }
    atomicAdd(&outcome->passed, 1u);
}

struct Masks {
    int complete[2], super;
};

/// The barrier for more. Written there: a mask for each 32 blocks, and one of the masks; the first must be -1, the
/// second (1 << gridDim.x % 32) - 1, the mask of masks (1 << gridDim.x / 32) - 1. It is right for 32 blocks only. With
/// fewer, the first mask never is -1. With 64, the second must be 0: who finds it so has not waited, and the others
/// wait for ever.
__global__ void of_more_as_written(Masks* masks, Outcome* outcome) {
    for (int i = 0; i < 2; ++i) atomicAnd(&masks->complete[i], 0);
    atomicAnd(&masks->super, 0);
    cg::this_grid().sync();
    const int expected[3] = {-1, one_shifted(gridDim.x % 32) - 1, one_shifted(gridDim.x / 32) - 1};
    const unsigned b = blockIdx.x / 32;
    Watch watch;
    while (atomicOr(&masks->complete[b], one_shifted(blockIdx.x % 32)) != expected[b])
        if (!watch.goes_on()) {
            atomicAdd(&outcome->gave_up, 1u);
            return;
        }
    while (atomicOr(&masks->super, one_shifted(b)) != expected[2])
        if (!watch.goes_on()) {
            atomicAdd(&outcome->gave_up, 1u);
            return;
        }
    atomicAdd(&outcome->passed, 1u);
}

/// A barrier that counts, and is right: if all blocks are there. Launch: any grid of blocks of `many_threads`.
__global__ void __launch_bounds__(many_threads) unasked(unsigned* count, Outcome* outcome) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    atomicAdd(count, 1u);
    Watch watch;
    while (*static_cast<volatile unsigned*>(count) != gridDim.x)
        if (!watch.goes_on()) {
            atomicAdd(&outcome->gave_up, 1u);
            return;
        }
    atomicAdd(&outcome->passed, 1u);
}

/// Waits at a barrier that counts.
__device__ void meet(unsigned* count) {
    Watch watch;
    while (*static_cast<volatile unsigned*>(count) != gridDim.x && watch.goes_on()) {
    }
}

/// Launch: cooperative, blocks of at least two threads. The last thread comes later in some blocks than in others.
__global__ void sums_behind_barrier(bool before, bool after, unsigned* count, volatile unsigned* sums, Reads* reads) {
    if (threadIdx.x == blockDim.x - 1) {
        for (unsigned pause = 0; pause <= blockIdx.x % 8; ++pause) __nanosleep(100'000);
        sums[blockIdx.x] = 1;
        __threadfence();
    }
    if (before) __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1u);
        meet(count);
        __threadfence();
    }
    if (after) __syncthreads();
    const bool is_there = sums[(blockIdx.x + 1) % gridDim.x] != 0;
    atomicAdd(&reads->all, 1u);
    if (!is_there) atomicAdd(&reads->missed, 1u);
}

/// Words from one block's sum to the next one's: a line of the L1 cache.
constexpr unsigned line_words = 32;

/// Plain load, which may find its line in L1.
__device__ unsigned load(const unsigned* from) {
    unsigned value;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

/// Launch: cooperative, blocks of one thread. Each reads another block's sum before that is written, and again behind
/// the barrier.
__global__ void read_again_behind_barrier(bool fence, unsigned* count, unsigned* sums, Reads* reads) {
    cg::this_grid().sync();
    const unsigned* const other = sums + (blockIdx.x + 1) % gridDim.x * line_words;
    const unsigned early = load(other);  // from now on in L1
    for (unsigned pause = 0; pause <= blockIdx.x % 8; ++pause) __nanosleep(100'000);
    asm volatile("st.global.u32 [%0], %1;" ::"l"(sums + blockIdx.x * line_words), "r"(early + 1) : "memory");
    if (fence) __threadfence();
    atomicAdd(count, 1u);
    Watch watch;
    while (atomicOr(count, 0u) != gridDim.x && watch.goes_on()) {
    }
    if (fence) __threadfence();
    const bool is_there = load(other) != 0;
    atomicAdd(&reads->all, 1u);
    if (!is_there) atomicAdd(&reads->missed, 1u);
}

int multiprocessors() {
    int gpu = 0, count = 0;
    LADDER_CUDA(cudaGetDevice(&gpu));
    LADDER_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu));
    return count;
}

Spin fetch(const DeviceValues<Outcome>& outcome) {
    const Outcome found = outcome.fetch();
    return {static_cast<int>(found.passed), static_cast<int>(found.gave_up)};
}

/// All blocks wait for all others before the one line: who prints it knows that everybody's work is done.
__global__ void one_line() {
    cg::this_grid().sync();
    if (threadIdx.x == 0 && blockIdx.x == 0) printf("Print a single line for the entire process\n");
}

/// The ladder's barrier by hand with so many blocks, or as many as this GPU holds.
template <int Blocks>
void sound(const Call& call) {
    sum_by_mask_barrier(call, std::min(Blocks, mask_barrier_blocks(false)), false);
}

std::size_t partials_bytes(const Image&) {
    return 128 * sizeof(Word);
}

}  // namespace

Spin spin_as_written(int blocks) {
    const DeviceValues<Word> mask;
    const DeviceValues<Outcome> outcome;
    launch_cooperatively(nullptr, as_written, blocks, 1, mask.get(), outcome.get());
    return fetch(outcome);
}

Spin spin_of_more_as_written(int blocks) {
    if (blocks > 64) throw Refused("its two masks track 64 blocks");
    const DeviceValues<Masks> masks;
    const DeviceValues<Outcome> outcome;
    launch_cooperatively(nullptr, of_more_as_written, blocks, 1, masks.get(), outcome.get());
    return fetch(outcome);
}

int spin_unasked_resident() {
    return resident_blocks(unasked, many_threads);
}

Spin spin_unasked(int blocks) {
    const DeviceValues<unsigned> count;
    const DeviceValues<Outcome> outcome;
    unasked<<<static_cast<unsigned>(blocks), many_threads>>>(count.get(), outcome.get());
    LADDER_CUDA(cudaGetLastError());
    return fetch(outcome);
}

cudaError_t spin_cooperatively(int blocks) {
    const DeviceValues<unsigned> count;
    const DeviceValues<Outcome> outcome;
    unsigned* count_address = count.get();
    Outcome* outcome_address = outcome.get();
    void* arguments[] = {&count_address, &outcome_address};
    const cudaError_t status =
        cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(unasked), dim3(static_cast<unsigned>(blocks)),
                                    dim3(many_threads), arguments, 0, nullptr);
    (void)cudaGetLastError();
    LADDER_CUDA(cudaDeviceSynchronize());
    return status;
}

void print_one_line(int blocks) {
    std::fflush(stdout);
    launch_cooperatively(nullptr, one_line, blocks, 256);
    LADDER_CUDA(cudaDeviceSynchronize());
}

Reads reads_behind_barrier(bool before, bool after) {
    const int blocks = multiprocessors();
    const DeviceValues<unsigned> count, sums(static_cast<std::size_t>(blocks));
    const DeviceValues<Reads> reads;
    launch_cooperatively(nullptr, sums_behind_barrier, blocks, 256, before, after, count.get(), sums.get(),
                         reads.get());
    return reads.fetch();
}

Reads reads_again_behind_barrier(bool fence) {
    const int blocks = multiprocessors();
    const DeviceValues<unsigned> count, sums(static_cast<std::size_t>(blocks) * line_words);
    const DeviceValues<Reads> reads;
    launch_cooperatively(nullptr, read_again_behind_barrier, blocks, 1, fence, count.get(), sums.get(), reads.get());
    return reads.fetch();
}

std::vector<Rung> barrier_rungs() {
    const auto rung = [](const char* name, const char* change, void (*run)(const Call&)) {
        return Rung{"seeds", name, change, ladder::exact::sum, run}.with(&Rung::scratch_bytes, partials_bytes);
    };
    return {
        rung("spin_64",
             "64 blocks and one 64-bit mask, made sound: a round that is opened, cleared by the last to come",
             sound<64>),
        rung("spin_128", "128 blocks: a mask for each 64, and one of the masks; no more blocks than are resident",
             sound<128>),
    };
}

}  // namespace gpuhist::bench::ladder::seeds
