// Resident image: a block's part of an image in shared memory, from one sweep of the pixels to the next.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cuda/block/reduce.cuh"
#include "cuda/pixels/sweep.cuh"
#include "cuda/tuning.hpp"

namespace gpuhist::cuda {

#if __CUDA_ARCH__ >= 800
inline constexpr bool has_asynchronous_copies = true;

/// Begins a copy of 16 bytes from device to shared memory where `yes`, without a branch.
__device__ inline void begin_word_if(bool yes, std::uint32_t to, const char* from) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p cp.async.cg.shared.global [%1], [%2], 16; }" ::"r"(
                     std::uint32_t{yes}),
                 "r"(to), "l"(from)
                 : "memory");
}
/// Ends a set: the copies that this thread has begun since the last call.
__device__ inline void end_set() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits for all sets of this thread but the last `But`.
template <int But>
__device__ inline void wait_for_sets() {
    asm volatile("cp.async.wait_group %0;" ::"n"(But) : "memory");
}
#else
inline constexpr bool has_asynchronous_copies = false;

__device__ inline void begin_word_if(bool, std::uint32_t, const char*) {}
__device__ inline void end_set() {}
template <int But>
__device__ inline void wait_for_sets() {}
#endif

/// Resident image: groups that are dealt to the threads of a grid in turn, one per round, in as many rounds as a block
/// has room for. They pass through no register and are on their way before the block is ready to accumulate any; later
/// sweeps find them there. A warp brings its own groups, side by side, and waits for nobody else. Launch: the same grid
/// of whole warps for all sweeps. The image: in one row, at an address divisible by 16.
template <typename T, int C>
class ResidentImage {
    using G = Group<T, C>;

  public:
    static constexpr std::size_t bytes(int rounds, int block_threads) {
        return static_cast<std::size_t>(rounds) * block_threads * G::bytes;
    }
    /// Rounds that a block keeps in `room` bytes, beside the others of its grid; none of other images, and none where
    /// that is less than one of `least_part` parts of an image.
    static int rounds(const Image& image, std::int64_t blocks, int block_threads, std::size_t room, int least_part) {
        if (image.height != 1 || reinterpret_cast<std::uintptr_t>(image.data) % 16 != 0) return 0;
        const std::int64_t step = blocks * block_threads, of_image = (image.width / G::pixels + step - 1) / step;
        const auto fit = std::min(of_image, static_cast<std::int64_t>(room / bytes(1, block_threads)));
        return fit * least_part < of_image ? 0 : static_cast<int>(fit);
    }

    /// `memory`: the shared address of its bytes, divisible by 16. Each sweep derives its numbers anew from these, so
    /// that they take up no registers meanwhile.
    __device__ ResidentImage(const Image& image, std::uint32_t memory, int rounds)
        : data_(static_cast<const char*>(image.data)),
          width_(image.width),
          memory_(memory),
          rounds_(has_asynchronous_copies ? rounds : 0) {}
    __device__ bool empty() const { return rounds_ == 0; }

    /// Asks for the first rounds. By all threads, before any sweep.
    __device__ void begin() const {
        if (empty()) return;
        Round round(*this);
#pragma unroll
        for (int i = 0; i < resident_rounds_ahead; ++i, round.next()) round.bring();
    }
    /// Shows `visit` every group as it comes.
    template <class Visit>
    __device__ void sweep_coming(Visit& visit) const {
        constexpr bool alone = G::words == 1;  // a lane brings its own groups
        Round round(*this), ahead = round;
#pragma unroll
        for (int i = 0; i < resident_rounds_ahead; ++i) ahead.next();
#pragma unroll 1
        for (; alone ? round.has_own() : round.any(); round.next(), ahead.next()) {
            wait_for_sets<resident_rounds_ahead - 1>();
            if constexpr (!alone) __syncwarp();  // groups that other lanes have brought
            G group;
            if (round.has_own()) group.load_shared(round.own_address());
            ahead.bring();
            if (round.has_own()) show(round.own(), group, visit);
        }
    }
    /// Shows `visit` all groups once more, as pixels of C channels, `Together` rounds loaded at once; or as samples,
    /// pixels of one channel. Behind a barrier of the block after the sweep before.
    template <int Channels, int Together, class Visit>
    __device__ void sweep(Visit& visit) const {
        using Shown = Group<T, Channels>;
        Round round(*this);
        if constexpr (Channels == C) {
            if constexpr (Together > 1) {
                // As many as every lane has: so far the warp stays together.
#pragma unroll 1
                while (round.groups - (Together - 1) * round.step >= warp_lanes) {
                    Place place[Together];
                    Shown group[Together];
#pragma unroll
                    for (int u = 0; u < Together; ++u, round.next()) {
                        place[u] = round.own();
                        group[u].load_shared(round.own_address());
                    }
                    show_all(place, group, visit);
                }
            }
#pragma unroll 1
            for (; round.has_own(); round.next()) {
                Shown group;
                group.load_shared(round.own_address());
                show(round.own(), group, visit);
            }
        } else {
#pragma unroll 1
            for (; round.any(); round.next()) {
                Shown word[G::words];
#pragma unroll
                for (int i = 0; i < G::words; ++i)
                    if (round.has_word(i)) word[i].load_shared(round.word_address(i));
#pragma unroll
                for (int i = 0; i < G::words; ++i)
                    if (round.has_word(i)) show(round.word(i), word[i], visit);
            }
        }
    }
    /// Shows `visit` the last pixels, which no group holds, of an image that is wholly resident. By one warp, so that
    /// no other runs through a sweep's instructions.
    template <int Channels, class Visit>
    __device__ void sweep_end(const Image& image, Visit& visit) const {
        if (blockIdx.x != 0 || threadIdx.x >= warp_lanes) return;
        const char* data = static_cast<const char*>(image.data);
#pragma unroll 1
        for (std::int64_t x = shown<Channels>() + lane(); x < image.width; x += warp_lanes)
            show_pixel<T, Channels>({data + x * static_cast<std::int64_t>(sizeof(T) * Channels), 0, x}, visit);
    }
    /// Shows `visit` the groups behind the resident ones, as sweep_one_row, as pixels of `Channels` channels.
    template <int Channels, class By, class Visit>
    __device__ void sweep_behind(const Image& image, WorkPartition partition, const By& by, Visit& visit) const {
        if (kept() == width_ / G::pixels) return sweep_end<Channels>(image, visit);
        partition.first += shown<Channels>() / Group<T, Channels>::pixels;
        sweep_one_row<T, Channels>(image, partition, by, visit);
    }

  private:
    static __device__ int lane() {
        return static_cast<int>(threadIdx.x % warp_lanes);
    }
    /// Groups that all blocks keep.
    __device__ int kept() const {
        return static_cast<int>(min(width_ / G::pixels, std::int64_t{rounds_} * (gridDim.x * blockDim.x)));
    }
    /// Pixels of `Channels` channels in them.
    template <int Channels>
    __device__ std::int64_t shown() const {
        return std::int64_t{kept()} * (G::samples / Channels);
    }

    /// A warp's groups of a round.
    struct Round {
        int groups;            ///< from the first of them to the last one that is kept; may be negative
        int first, step;       ///< in groups; from one round to the next
        const char* data;      ///< of the first one
        std::uint32_t memory;  ///< likewise, here

        __device__ explicit Round(const ResidentImage& of)
            : first(static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x / warp_lanes * warp_lanes)),
              step(static_cast<int>(gridDim.x * blockDim.x)) {
            groups = of.kept() - first;
            data = of.data_ + std::int64_t{first} * G::bytes;
            memory = of.memory_ + threadIdx.x / warp_lanes * warp_lanes * G::bytes;
        }
        __device__ void next() {
            groups -= step;
            first += step;
            data += std::int64_t{step} * G::bytes;
            memory += blockDim.x * G::bytes;
        }
        __device__ bool any() const { return groups > 0; }
        /// This lane's group.
        __device__ bool has_own() const { return lane() < groups; }
        __device__ std::uint32_t own_address() const { return memory + lane() * G::bytes; }
        __device__ Place own() const { return {data + lane() * G::bytes, 0, std::int64_t{first + lane()} * G::pixels}; }
        /// Its words of 16 bytes, as the lanes bring them.
        __device__ bool has_word(int i) const { return lane() + i * warp_lanes < groups * G::words; }
        __device__ std::uint32_t word_address(int i) const { return memory + 16 * (lane() + i * warp_lanes); }
        __device__ Place word(int i) const {
            const int at = lane() + i * warp_lanes;
            return {data + 16 * at, 0, (std::int64_t{first} * G::words + at) * Group<T, 1>::pixels};
        }
        /// Begins a set, empty where there is no such round.
        __device__ void bring() const {
#pragma unroll
            for (int i = 0; i < G::words; ++i)
                begin_word_if(has_word(i), word_address(i), data + 16 * (lane() + i * warp_lanes));
            end_set();
        }
    };

    const char* data_;
    std::int64_t width_;
    std::uint32_t memory_;
    int rounds_;
};

/// Stand-in for a ResidentImage where no block keeps any.
struct NoResidentImage {};
/// Whether a kernel finds an image's pixels in an OfImage; never in code for GPUs without asynchronous copies.
template <class OfImage>
constexpr bool is_resident =
    has_asynchronous_copies && !std::is_same_v<OfImage, NoResidentImage> && !std::is_same_v<OfImage, Mask>;
/// Makes a ResidentImage, or none; see its constructor.
template <class OfImage>
__device__ inline OfImage resident_image_of(const Image& image, std::uint32_t memory, int rounds) {
    if constexpr (std::is_same_v<OfImage, NoResidentImage>)
        return {};
    else
        return OfImage(image, memory, rounds);
}

}  // namespace gpuhist::cuda
