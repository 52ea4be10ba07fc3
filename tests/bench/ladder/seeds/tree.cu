// A tree of additions whose last five steps are one warp's: why they need a guard or two barriers, and how few of its
// threads add.

#include "bench/ladder/ladder.cuh"
#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.cuh"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

/// In each step a lane below `half` adds what a lane above it has, and nobody writes what another reads.
struct Guarded {
    static __device__ void warp(Word* values) {
        for (int half = warp_lanes / 2; half > 0; half /= 2) {
            if (static_cast<int>(threadIdx.x) < half) values[threadIdx.x] += values[threadIdx.x + half];
            __syncwarp();
        }
    }
};

/// All lanes add: each reads, all wait, each writes, all wait. What lanes above `half` find is of no use, nor does it
/// matter. They read up to `values[47]`, which other warps have written before the block's last barrier.
struct TwoBarriers {
    static __device__ void warp(Word* values) {
        Word own = values[threadIdx.x];
        for (int half = warp_lanes / 2; half > 0; half /= 2) {
            own += values[threadIdx.x + half];
            __syncwarp();
            values[threadIdx.x] = own;
            __syncwarp();
        }
    }
};

/// Sum of the pixels. Launch: one thread per pixel.
template <class Remedy>
__global__ void __launch_bounds__(tree_threads)
    tree_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ Word values[tree_threads];
    const std::int64_t i = grid_rank();
    values[threadIdx.x] = i < count ? pixels[i] : 0;
    __syncthreads();
    for (int half = tree_threads / 2; half >= warp_lanes; half /= 2) {
        if (static_cast<int>(threadIdx.x) < half) values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x >= warp_lanes) return;
    Remedy::warp(values);
    if (threadIdx.x == 0) atomicAdd(answer, values[0]);
}

template <class Remedy>
void tree(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch(call, tree_kernel<Remedy>, (call.image.samples() + tree_threads - 1) / tree_threads, tree_threads,
           pixels_of(call), call.image.samples(), call.answer);
}

// The tree again and again, in blocks that stay: what its steps cost, without the start of a block for each

/// All steps with the block's barrier.
struct BlockSteps {
    static __device__ unsigned add(unsigned* values) {
        for (int half = tree_threads / 2; half > 0; half /= 2) {
            __syncthreads();
            if (static_cast<int>(threadIdx.x) < half) values[threadIdx.x] += values[threadIdx.x + half];
        }
        return values[threadIdx.x];
    }
};

/// Steps down to one warp.
__device__ inline void add_to_a_warp(unsigned* values) {
    for (int half = tree_threads / 2; half >= warp_lanes; half /= 2) {
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < half) values[threadIdx.x] += values[threadIdx.x + half];
    }
}

/// The last five steps with the barrier of a warp.
struct WarpSteps {
    static __device__ unsigned add(unsigned* values) {
        add_to_a_warp(values);
        if (threadIdx.x < warp_lanes)
            for (int half = warp_lanes / 2; half > 0; half /= 2) {
                __syncwarp();
                if (static_cast<int>(threadIdx.x) < half) values[threadIdx.x] += values[threadIdx.x + half];
            }
        return values[threadIdx.x];
    }
};

/// The last five steps in registers.
struct ShuffledSteps {
    static __device__ unsigned add(unsigned* values) {
        add_to_a_warp(values);
        unsigned sum = values[threadIdx.x];
        if (threadIdx.x < warp_lanes)
            for (int half = warp_lanes / 2; half > 0; half /= 2) sum += __shfl_down_sync(whole_warp, sum, half);
        return sum;
    }
};

/// Each warp in registers, and its sum in shared memory.
struct Registers {
    static __device__ unsigned add(unsigned* values) {
        unsigned sum = values[threadIdx.x];  // its own, which it has just written
        for (int half = warp_lanes / 2; half > 0; half /= 2) sum += __shfl_down_sync(whole_warp, sum, half);
        if (lane_of_thread() == 0) values[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x == 0)
            for (int warp = 1; warp < tree_threads / warp_lanes; ++warp) sum += values[warp * warp_lanes];
        return sum;
    }
};

/// Sum of the pixels, by a tree for each 128 of them. Launch: any grid.
template <class Steps>
__global__ void __launch_bounds__(tree_threads)
    resident_tree_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ unsigned values[tree_threads];
    Word sum = 0;
    for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * tree_threads; first < count;
         first += grid_threads()) {
        const std::int64_t i = first + threadIdx.x;
        values[threadIdx.x] = i < count ? pixels[i] : 0;
        const unsigned of_tile = Steps::add(values);
        if (threadIdx.x == 0) sum += of_tile;
        __syncthreads();  // the values may be replaced
    }
    if (threadIdx.x == 0) atomicAdd(answer, sum);
}

template <class Steps>
void resident_tree(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch(call, resident_tree_kernel<Steps>, resident_blocks(resident_tree_kernel<Steps>, tree_threads), tree_threads,
           pixels_of(call), call.image.samples(), call.answer);
}

/// Sum of the pixels, additions of a thread, and steps in which a thread could have added: of the loop before the tree,
/// where there is one, and of the tree. Launch: `Loop` ? any grid : one thread per pixel.
template <bool Loop>
__global__ void __launch_bounds__(tree_threads)
    utilization_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ Word values[tree_threads];
    Word sum = 0, added = 0, steps = 0;
    if constexpr (Loop) {
        for (std::int64_t first = 0; first < count; first += grid_threads(), ++steps) {
            if (first + grid_rank() >= count) continue;
            sum += pixels[first + grid_rank()];
            ++added;
        }
    } else if (grid_rank() < count) {
        sum = pixels[grid_rank()];
    }
    values[threadIdx.x] = sum;
    for (int half = tree_threads / 2; half > 0; half /= 2, ++steps) {
        __syncthreads();
        if (static_cast<int>(threadIdx.x) >= half) continue;
        values[threadIdx.x] += values[threadIdx.x + half];
        ++added;
    }
    added = reduce_block(added, Word{0}, Sum{});
    steps = reduce_block(steps, Word{0}, Sum{});
    if (threadIdx.x != 0) return;
    atomicAdd(answer, values[0]);
    atomicAdd(answer + 1, added);
    atomicAdd(answer + 2, steps);
}

template <bool Loop>
void utilization(const Call& call) {
    clear(call, call.answer, 3 * sizeof(Word));
    const std::int64_t pixels = call.image.samples();
    launch(call, utilization_kernel<Loop>, Loop ? utilization_blocks : (pixels + tree_threads - 1) / tree_threads,
           tree_threads, pixels_of(call), pixels, call.answer);
}

// The race, on purpose

/// One warp, one lane after the other: no race, but one of the orders that the lanes of an unguarded tree can run in.
__global__ void ordered_tree(bool ascending, Word* result) {
    __shared__ Word values[2 * warp_lanes];
    const int lane = static_cast<int>(threadIdx.x);
    values[lane] = values[lane + warp_lanes] = 1;
    __syncwarp();
    for (int half = warp_lanes / 2; half > 0; half /= 2)
        for (int turn = 0; turn < warp_lanes; ++turn) {
            if (lane == (ascending ? turn : warp_lanes - 1 - turn)) values[lane] += values[lane + half];
            __syncwarp();
        }
    if (lane == 0) *result = values[0];
}

/// A warp's tree over ones; in each step its lower half comes late. Launch: blocks of one warp.
template <bool Guard>
__global__ void late_tree(unsigned* wrong) {
    __shared__ volatile unsigned values[2 * warp_lanes];
    const int lane = static_cast<int>(threadIdx.x);
    values[lane] = 1;
    values[lane + warp_lanes] = 1;
    __syncwarp();
    for (int half = warp_lanes / 2; half > 0; half /= 2) {
        if (lane < half) {
            __nanosleep(200);
            values[lane] = values[lane] + values[lane + half];
        } else if (!Guard) {
            values[lane] = values[lane] + values[lane + half];
        }
        __syncwarp();
    }
    if (lane == 0 && values[0] != warp_lanes) atomicAdd(wrong, 1u);
}

}  // namespace

Word unguarded_tree(LaneOrder order) {
    const DeviceValues<Word> result;
    ordered_tree<<<1, warp_lanes>>>(order == LaneOrder::ascending, result.get());
    LADDER_CUDA(cudaGetLastError());
    return result.fetch();
}

Race race_in_tree(bool guarded) {
    constexpr unsigned warps = 1024;
    const DeviceValues<unsigned> wrong;
    if (guarded)
        late_tree<true><<<warps, warp_lanes>>>(wrong.get());
    else
        late_tree<false><<<warps, warp_lanes>>>(wrong.get());
    LADDER_CUDA(cudaGetLastError());
    return {warps, wrong.fetch()};
}

double thread_utilization(std::int64_t pixels, bool loop) {
    const DeviceValues<std::uint8_t> black(static_cast<std::size_t>(pixels));
    const DeviceValues<Word> counted(3);
    Call call;
    call.image = {black.get(), nullptr, pixels, 1};
    call.answer = counted.get();
    loop ? utilization<true>(call) : utilization<false>(call);
    return static_cast<double>(counted.fetch(1)) / static_cast<double>(counted.fetch(2));
}

std::vector<Rung> tree_rungs() {
    const auto rung = [](const char* name, const char* change, Answer (*answer)(const Image&),
                         void (*run)(const Call&)) {
        return Rung{"seeds", name, change, answer, run};
    };
    return {
        rung("tree_guarded", "a warp's last five steps with __syncwarp: only lanes below the half add, as in the text",
             ladder::exact::sum, tree<Guarded>),
        rung("tree_two_barriers", "all lanes add, without the guard: then each step needs two barriers",
             ladder::exact::sum, tree<TwoBarriers>),
        rung("resident_tree", "that tree again and again in blocks that stay, each step with the block's barrier",
             ladder::exact::sum, resident_tree<BlockSteps>),
        rung("resident_tree_syncwarp", "its last five steps with __syncwarp", ladder::exact::sum,
             resident_tree<WarpSteps>),
        rung("resident_tree_shuffle", "its last five steps in registers, by shuffles", ladder::exact::sum,
             resident_tree<ShuffledSteps>),
        rung("resident_tree_registers", "each warp in registers; shared memory and one barrier for four sums",
             ladder::exact::sum, resident_tree<Registers>),
        rung("utilization_tree", "additions counted: of 7 steps of 128 threads a seventh adds, 127 of 896",
             exact::utilization_tree, utilization<false>),
        rung("utilization_loop", "each thread first adds many pixels: now nearly all threads add in nearly all steps",
             exact::utilization_loop, utilization<true>),
    };
}

}  // namespace gpuhist::bench::ladder::seeds
