// One pass over an image's pixels through shared memory, which the copy engine of Hopper and later GPUs fills.
#pragma once

#include <cstdint>

#include "cuda/reduce.cuh"
#include "cuda/sweep.cuh"

namespace gpuhist::cuda {

/// Of a warp: stages of shared memory, each with `Unroll` groups a lane, which its lanes look at next. One lane asks
/// for a stage; it arrives without passing through registers, every byte of memory read once, and tells a barrier. So
/// loads are under way that no lane has registers for. A block's rings begin at an address divisible by 16.
template <typename T, int C, int Unroll, int Stages>
struct Ring {
    using G = Group<T, C>;
    static constexpr int unroll = Unroll, stages = Stages;
    static constexpr std::uint32_t round_bytes = warp_lanes * G::bytes, stage_bytes = Unroll * round_bytes,
                                   barrier_bytes = (Stages * 8 + 15) / 16 * 16,
                                   bytes = barrier_bytes + Stages * stage_bytes;
};

#if __CUDA_ARCH__ >= 900
inline constexpr bool has_copy_engine = true;

__device__ inline void barrier_init(std::uint32_t barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
/// Of the phase that it is in.
__device__ inline std::uint32_t parity_of(std::uint32_t barrier) {
    std::uint32_t even_is_over;
    asm volatile(
        "{\n"
        ".reg .pred over;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 over, [%1], 0;\n"
        "selp.u32 %0, 1, 0, over;\n"
        "}"
        : "=r"(even_is_over)
        : "r"(barrier)
        : "memory");
    return even_is_over;
}
/// The barrier is to wait for so many more bytes.
__device__ inline void expect_copy(std::uint32_t barrier, std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// `bytes` is a multiple of 16, as both addresses are.
__device__ inline void begin_copy(std::uint32_t to, const char* from, std::uint32_t bytes, std::uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}
__device__ inline void wait_for_copy(std::uint32_t barrier, std::uint32_t parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

/// Every lane has what it read from shared memory before: none of it may be written earlier. `word` depends on it all,
/// since the barrier alone lets lanes pass whose loads are still on their way, and the copy engine does not wait for
/// them as a store would.
__device__ inline void wait_for_reads(std::uint32_t word) {
    asm volatile(
        "{ .reg .pred some, any; setp.ne.u32 some, %0, 0; vote.sync.any.pred any, some, 0xFFFFFFFF; }" ::"r"(word)
        : "memory");
    __syncwarp();
}

/// Makes the block's rings ready, once a launch. By all threads.
template <class R>
__device__ inline void begin_rings(std::uint32_t rings) {
    if (threadIdx.x % warp_lanes == 0) {
#pragma unroll
        for (int s = 0; s < R::stages; ++s) barrier_init(rings + threadIdx.x / warp_lanes * R::bytes + 8 * s);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();  // the barriers, for all lanes
}

/// As sweep_one_row, of shares that are dealt from the first piece on. `rings`: the shared address of the block's,
/// which are ready and used for nothing else; no copy is under way in them before and after.
template <class R, typename T, int C, class Visit>
__device__ inline void sweep_ring(const Image& image, const Share& share, std::uint32_t rings, Visit& visit) {
    using G = typename R::G;
    const int head = head_pixels<T, C>(static_cast<const char*>(image.data)), lane = threadIdx.x % warp_lanes;
    const char* data = static_cast<const char*>(image.data) + head * static_cast<int>(sizeof(T) * C);
    const std::int64_t groups = (image.width - head) / G::pixels, warp_first = share.first - lane;
    // Rounds in which all lanes of this warp have a group, and stages that are full of them.
    const int rounds = warp_first + warp_lanes <= groups
                           ? static_cast<int>(divide(groups - warp_lanes - warp_first, share.step)) + 1
                           : 0,
              filled = rounds / R::unroll;
    const std::uint32_t barriers = rings + threadIdx.x / warp_lanes * R::bytes, stages = barriers + R::barrier_bytes;
    const std::int64_t step_bytes = share.step * G::bytes;
    const char* from = data + warp_first * G::bytes;
    auto fill = [&](int stage) {
        const std::uint32_t barrier = barriers + 8 * stage, to = stages + stage * R::stage_bytes;
        expect_copy(barrier, R::stage_bytes);
#pragma unroll
        for (int u = 0; u < R::unroll; ++u)
            begin_copy(to + u * R::round_bytes, from + u * step_bytes, R::round_bytes, barrier);
    };
    std::uint32_t parities = 0;  // of the phases that the barriers are in, a bit each
#pragma unroll
    for (int s = 0; s < R::stages; ++s) parities |= parity_of(barriers + 8 * s) << s;
    __syncwarp();  // all lanes have seen them
#pragma unroll
    for (int s = 0; s < R::stages; ++s) {
        if (lane == 0 && s < filled) fill(s);
        from += R::unroll * step_bytes;
    }
    const std::int64_t x_step = share.step * G::pixels;
    std::int64_t x = head + share.first * G::pixels;
    int stage = 0;
#pragma unroll 1
    for (int left = filled; left > 0; --left) {
        wait_for_copy(barriers + 8 * stage, parities >> stage & 1);
        parities ^= 1u << stage;
        G group[R::unroll];
        std::uint32_t last_words = 0;
#pragma unroll
        for (int u = 0; u < R::unroll; ++u) {
            group[u].load_shared(stages + stage * R::stage_bytes + u * R::round_bytes + lane * G::bytes);
#pragma unroll
            for (int w = 0; w < G::words; ++w) last_words |= group[u].word[w].w;
        }
        wait_for_reads(last_words);
        if (lane == 0 && left > R::stages) fill(stage);
        from += R::unroll * step_bytes;
        if (++stage == R::stages) stage = 0;
#pragma unroll
        for (int u = 0; u < R::unroll; ++u, x += x_step) visit.group(0, x, group[u]);
    }
    std::int64_t piece = share.first + static_cast<std::int64_t>(filled) * R::unroll * share.step;
#pragma unroll 1
    for (; piece < groups; piece += share.step, x += x_step) {  // what fills no stage
        G group;
        group.load(data + piece * G::bytes);
        visit.group(0, x, group);
    }
    sweep_ends<T, C>(image, groups, piece, share, visit);
}
#else
inline constexpr bool has_copy_engine = false;
#endif

}  // namespace gpuhist::cuda
