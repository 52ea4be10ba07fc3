// Branches: within a warp one side waits while the other runs; between warps nobody does. And the block barrier, which
// a branch may hold only if all threads of the block take it.

#include <type_traits>

#include "bench/ladder/ladder.cuh"
#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

constexpr int block_threads = 128;  // four warps, one per branch

std::int64_t blocks_of(const Image& image, int threads) {
    return (image.samples() + threads - 1) / threads;
}

// The four pieces of work, of about as many instructions each. Loops, so that the compiler keeps the branches.

__device__ unsigned work_0(unsigned x) {
    for (int i = 0; i < branch_steps; ++i) x = x * 0x01000193u ^ 0x811C9DC5u;
    return x;
}
__device__ unsigned work_1(unsigned x) {
    for (int i = 0; i < branch_steps; ++i) x = (x + 0x7F4A7C15u) ^ x >> 3;
    return x;
}
__device__ unsigned work_2(unsigned x) {
    for (int i = 0; i < branch_steps; ++i) x = x * 5 + (x >> 7);
    return x;
}
__device__ unsigned work_3(unsigned x) {
    for (int i = 0; i < branch_steps; ++i) x = __funnelshift_l(x, x, 5) + 0x9E3779B9u;
    return x;
}

struct NoBranch {
    static __device__ unsigned branch() { return 0; }
};
struct ByWarp {
    static __device__ unsigned branch() { return threadIdx.x / warp_lanes; }
};
struct ByLane {
    static __device__ unsigned branch() { return threadIdx.x % warp_lanes % 4; }
};
struct OneSide {  // odd lanes have nothing to do
    static __device__ unsigned branch() { return threadIdx.x % 2 == 0 ? 0 : 4; }
};

/// Sum of what the branches make of the pixels. Launch: one thread per pixel.
template <class Choice>
__global__ void __launch_bounds__(block_threads)
    branch_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    const std::int64_t i = grid_rank();
    unsigned value = i < count ? pixels[i] : 0;
    switch (Choice::branch()) {
        case 0:
            value = work_0(value);
            break;
        case 1:
            value = work_1(value);
            break;
        case 2:
            value = work_2(value);
            break;
        case 3:
            value = work_3(value);
            break;
        default:
            break;
    }
    const Word sum = reduce_block(Word{i < count ? value : 0}, Word{0}, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, sum);
}

template <class Choice>
void branch(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch(call, branch_kernel<Choice>, blocks_of(call.image, block_threads), block_threads, pixels_of(call),
           call.image.samples(), call.answer);
}

/// Sum of the pixels. Launch: one thread per pixel; without the guard there must be one for each.
template <bool Guard>
__global__ void guard_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    const std::int64_t i = grid_rank();
    unsigned value = 0;
    if (!Guard || i < count) value = pixels[i];
    const unsigned sum = reduce_block(value, 0u, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, Word{sum});
}

void guarded(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch(call, guard_kernel<true>, blocks_of(call.image, block_threads), block_threads, pixels_of(call),
           call.image.samples(), call.answer);
}

/// Whole blocks have no need of the guard; what is left is a launch of its own.
void unguarded(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    const std::int64_t whole = call.image.samples() / block_threads, rest = call.image.samples() % block_threads;
    if (whole > 0)
        launch(call, guard_kernel<false>, whole, block_threads, pixels_of(call), whole * block_threads, call.answer);
    if (rest > 0)
        launch(call, guard_kernel<true>, 1, block_threads, pixels_of(call) + whole * block_threads, rest, call.answer);
}

/// A decision of the whole block: it is made by a vote of its threads and by nothing else, so that a barrier in its
/// branch is met by all of them or by none. A thread's own condition does not convert into it.
class BlockDecision {
  public:
    static __device__ BlockDecision any(bool own) { return BlockDecision(__syncthreads_or(own) != 0); }
    static __device__ BlockDecision all(bool own) { return BlockDecision(__syncthreads_and(own) != 0); }
    /// Hands `work` the barrier, which there is nowhere else.
    template <class Work>
    __device__ void then(Work work) const {
        if (taken_) work(Barrier{});
    }

  private:
    class Barrier {
      public:
        __device__ void wait() const { __syncthreads(); }

      private:
        friend BlockDecision;
        __device__ Barrier() {}
    };
    __device__ explicit BlockDecision(bool taken) : taken_(taken) {}
    bool taken_;
};
static_assert(!std::is_constructible_v<BlockDecision, bool> && !std::is_default_constructible_v<BlockDecision>);

/// Stretches of 256 pixels with a bright one add up their brightest pixels: the tree for that, with its barriers,
/// lies in the branch. Beside it how many pixels are bright, and in how many stretches all are. Launch: one thread
/// per pixel.
__global__ void __launch_bounds__(bright_stretch)
    bright_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ unsigned values[bright_stretch];
    const std::int64_t i = grid_rank();
    const unsigned value = i < count ? pixels[i] : 0;
    const int found = __syncthreads_count(value >= bright);
    if (threadIdx.x == 0 && found > 0) atomicAdd(answer + 1, static_cast<Word>(found));
    BlockDecision::any(value >= bright).then([&](auto barrier) {
        values[threadIdx.x] = value;
        for (unsigned half = bright_stretch / 2; half > 0; half /= 2) {
            barrier.wait();
            if (threadIdx.x < half) values[threadIdx.x] = max(values[threadIdx.x], values[threadIdx.x + half]);
        }
        if (threadIdx.x == 0) atomicAdd(answer, Word{values[0]});
    });
    BlockDecision::all(i >= count || value >= bright).then([&](auto) {
        if (threadIdx.x == 0) atomicAdd(answer + 2, Word{1});
    });
}

void bright_stretches(const Call& call) {
    clear(call, call.answer, 3 * sizeof(Word));
    launch(call, bright_kernel, blocks_of(call.image, bright_stretch), bright_stretch, pixels_of(call),
           call.image.samples(), call.answer);
}

}  // namespace

std::vector<Rung> divergence_rungs() {
    const auto rung = [](const char* name, const char* change, Answer (*answer)(const Image&),
                         void (*run)(const Call&)) {
        return Rung{"seeds", name, change, answer, run};
    };
    return {
        rung("branch_none", "64 dependent steps per pixel, the same for all: what the next three are measured against",
             exact::branch_none, branch<NoBranch>),
        rung("branch_by_warp", "four branches by threadIdx / 32: a warp takes one, and nobody waits",
             exact::branch_by_warp, branch<ByWarp>),
        rung("branch_by_lane", "four branches by threadIdx % 32: a warp takes all of them, one after the other",
             exact::branch_by_lane, branch<ByLane>),
        rung("branch_one_side", "odd lanes skip the work: nothing is gained, and nothing lost either",
             exact::branch_one_side, branch<OneSide>),
        rung("unguarded", "no question whether the pixel exists: whole blocks only, the rest in another launch",
             ladder::exact::sum, unguarded),
        rung("guarded", "if (n < N) in every thread: at most the last warp diverges, and it costs nothing to speak of",
             ladder::exact::sum, guarded),
        rung("barrier_in_branch", "a block barrier in a branch: only a vote of the block can open it",
             exact::bright_stretches, bright_stretches),
    };
}

}  // namespace gpuhist::bench::ladder::seeds
