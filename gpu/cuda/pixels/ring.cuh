// Rings: one pass over an image's pixels through shared memory, which the copy engine of Hopper and later GPUs fills.
#pragma once

#include "cuda/block/reduce.cuh"
#include "cuda/pixels/sweep.cuh"

namespace gpuhist::cuda {

#if __CUDA_ARCH__ >= 900
inline constexpr bool has_copy_engine = true;

__device__ inline void barrier_init(std::uint32_t barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
/// Parity of the phase that a barrier is in.
__device__ inline std::uint32_t parity_of(std::uint32_t barrier) {
    std::uint32_t even_is_over;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(even_is_over)
                 : "r"(barrier)
                 : "memory");
    return even_is_over;
}
/// Tells a barrier to wait for `bytes` more.
__device__ inline void expect_copy(std::uint32_t barrier, std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Begins a copy; `bytes` is a multiple of 16, as both addresses are.
__device__ inline void begin_copy(std::uint32_t to, const char* from, std::uint32_t bytes, std::uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}
__device__ inline void wait_for_copy(std::uint32_t barrier, std::uint32_t parity) {
    asm volatile(
        "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

/// Waits until every lane has read its words from shared memory; `word` depends on all of them. The barrier alone lets
/// lanes pass with loads still on their way, for which the copy engine, unlike a store, does not wait.
__device__ inline void wait_for_reads(std::uint32_t word) {
    asm volatile(
        "{ .reg .pred some, any; setp.ne.u32 some, %0, 0; vote.sync.any.pred any, some, 0xFFFFFFFF; }" ::"r"(word)
        : "memory");
    __syncwarp();
}
#else
inline constexpr bool has_copy_engine = false;
#endif

/// Ring of a warp: stages of shared memory, each with `Unroll` groups per lane. The first lane of groups that lie side
/// by side asks for all of them; they pass through no register, and a barrier tells when a stage is full. So loads are
/// under way that no lane has registers for. Rings begin at an address divisible by 16.
template <typename T, int C, int Unroll, int Stages>
struct Ring {
    using G = Group<T, C>;
    static constexpr std::uint32_t round_bytes = warp_lanes * G::bytes, stage_bytes = Unroll * round_bytes,
                                   barrier_bytes = (Stages * 8 + 15) / 16 * 16,
                                   bytes = barrier_bytes + Stages * stage_bytes;

    std::uint32_t rings;  ///< shared address of the block's

#if __CUDA_ARCH__ >= 900
    /// Prepares the block's rings, once per launch. By all threads.
    __device__ void begin() const {
        if (threadIdx.x % warp_lanes == 0) {
#pragma unroll
            for (int s = 0; s < Stages; ++s) barrier_init(rings + threadIdx.x / warp_lanes * bytes + 8 * s);
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        __syncwarp();  // the barriers, for all lanes
    }
    /// Shows groups as Loads::sweep does, to a visitor that needs no place. No copy is under way before and after.
    template <class Walk, class Visit>
    __device__ void sweep(Walk walk, int count, Visit& visit) const {
        const int lane = threadIdx.x % warp_lanes, filled = __shfl_sync(0xFFFFFFFFu, count, warp_lanes - 1) / Unroll;
        const std::uint32_t barriers = rings + threadIdx.x / warp_lanes * bytes, memory = barriers + barrier_bytes;
        auto fill = [&](int stage) {
            const std::uint32_t barrier = barriers + 8 * stage, to = memory + stage * stage_bytes + lane * G::bytes;
            if (lane == 0) expect_copy(barrier, stage_bytes);
#pragma unroll
            for (int u = 0; u < Unroll; ++u, walk.next())
                if (lane == 0 || walk.apart())
                    begin_copy(to + u * round_bytes, walk.place().at,
                               min(warp_lanes - lane, walk.side_by_side()) * G::bytes, barrier);
        };
        std::uint32_t parities = 0;  // of the phases of the barriers, one bit each
#pragma unroll
        for (int s = 0; s < Stages; ++s) parities |= parity_of(barriers + 8 * s) << s;
        __syncwarp();  // all lanes have seen them
#pragma unroll
        for (int s = 0; s < Stages; ++s)
            if (s < filled) fill(s);
        int stage = 0;
#pragma unroll 1
        for (int left = filled; left > 0; --left) {
            wait_for_copy(barriers + 8 * stage, parities >> stage & 1);
            parities ^= 1u << stage;
            G group[Unroll];
            std::uint32_t last_words = 0;
#pragma unroll
            for (int u = 0; u < Unroll; ++u) {
                group[u].load_shared(memory + stage * stage_bytes + u * round_bytes + lane * G::bytes);
#pragma unroll
                for (int w = 0; w < G::words; ++w) last_words |= group[u].word[w].w;
            }
            wait_for_reads(last_words);
            if (left > Stages) fill(stage);
            if (++stage == Stages) stage = 0;
#pragma unroll
            for (int u = 0; u < Unroll; ++u) visit.accumulate(group[u]);
        }
        sweep_one_by_one(walk, count - filled * Unroll, visit);
    }
#endif
};

}  // namespace gpuhist::cuda
