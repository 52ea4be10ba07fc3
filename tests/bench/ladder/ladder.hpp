// The ladder: the known ways to reduce and to count an image on a GPU, one small function each. A rung says what
// changed from the one before, and why; `gpuhist-bench ladder` times them all beside the product, and tests hold each
// of them to the exact answer.
//
//     brightness.cu   sums: from one atomic per pixel to one sweep with one block barrier, and barriers between blocks
//     histograms.cu   256 bins: where the counters lie, and who meets in them
//     atomics.cu      each atomic operation at the work that it is made for
//     votes.cu        all, any, ballot: shortcuts, with and without
//     shuffles.cu     values between lanes: broadcast, up, down, xor, and segments narrower than a warp
//     visibility.cu   who sees which write when: between blocks, and between the GPU and the host
//     seeds/          what else the articles show from which this began: seeds/seeds.hpp
//     ladder.cuh      what their kernels share
//     exact.cpp       the answers, by plain loops on the host
//     rungs.cpp       the list of rungs; memory and pixels to run them on
//     ladder.cpp      the command
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu_pixels.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::bench::ladder {

using Word = unsigned long long;  // std::uint64_t as CUDA's atomics spell it
static_assert(sizeof(Word) == sizeof(std::uint64_t));

/// What a rung finds; its meaning is that of the rung's `exact`.
using Answer = std::vector<Word>;

/// Packed samples of one channel, the same on the GPU and on the host.
struct Image {
    const void* device = nullptr;  ///< aligned to 16 bytes
    const void* host = nullptr;
    std::int64_t width = 0, height = 0;

    std::int64_t samples() const { return width * height; }
    template <typename T>
    const T* on_device() const {
        return static_cast<const T*>(device);
    }
    template <typename T>
    const T* on_host() const {
        return static_cast<const T*>(host);
    }
};

/// Host memory that the GPU can write.
struct Mailbox {
    Word answer[8];
    unsigned ready;
};

/// One call of a rung. Memory that it writes may hold anything before: what must be zero, the rung clears.
struct Call {
    Image image;
    Word* answer = nullptr;      ///< device memory
    void* scratch = nullptr;     ///< device memory, as much as the rung asks for
    Mailbox* mailbox = nullptr;  ///< pinned and mapped
    cudaStream_t stream = nullptr;
};

/// Thrown instead of a launch that could hang.
class Refused : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// How a rung is timed.
enum class Clock {
    graph,   ///< it only enqueues: many runs, captured in a graph
    stream,  ///< it only enqueues, but may not be captured
    host     ///< it allocates or waits: one run from its start to its end, on the host's clock
};

struct Rung {
    const char* group;
    const char* name;    ///< a lower-case word or several, joined by _
    const char* change;  ///< from the rung before, and why
    Answer (*exact)(const Image&);
    void (*run)(const Call&);
    Depth depth = Depth::u8;
    int divisor = 1;  ///< slow: the benchmark's image is so many times smaller, a power of two
    std::size_t (*scratch_bytes)(const Image&) = nullptr;
    int answer_bytes = 8;  ///< of a number in the answer: 8, or 4 where a library counts in 32 bits
    bool in_mailbox = false;
    Clock clock = Clock::graph;
    std::string (*obstacle)(const Image&) = nullptr;  ///< why it cannot run on this GPU or was not built, or empty

    template <class Member, class Value>
    Rung with(Member Rung::*member, Value value) const {
        Rung changed = *this;
        changed.*member = value;
        return changed;
    }
};

/// All of them, from the lowest up.
const std::vector<Rung>& rungs();

std::vector<Rung> brightness_rungs();
std::vector<Rung> histogram_rungs();
std::vector<Rung> atomic_rungs();
std::vector<Rung> vote_rungs();
std::vector<Rung> shuffle_rungs();
std::vector<Rung> visibility_rungs();

/// The memory of one rung, which must outlive it, for images of one size.
class Trial {
  public:
    /// `words`: numbers in the answer.
    Trial(const Rung& rung, const Image& image, std::size_t words);

    Call call(const Image& image, cudaStream_t stream) const;
    /// Everything that is timed.
    void run(const Image& image, cudaStream_t stream) const { rung_.run(call(image, stream)); }
    /// Fills with nonsense whatever the rung may write.
    void poison();
    /// Waits for the GPU.
    Answer answer();
    /// Whether the memory behind the answer and the scratch still is as poison() left it.
    bool surroundings_untouched();

  private:
    struct Free {
        void operator()(unsigned char* device) const { (void)cudaFree(device); }
        void operator()(Mailbox* pinned) const { (void)cudaFreeHost(pinned); }
    };
    const Rung& rung_;
    std::size_t answer_bytes_, scratch_bytes_;
    std::unique_ptr<unsigned char, Free> answer_, scratch_;
    std::unique_ptr<Mailbox, Free> mailbox_;
};

/// Makes samples on the host. Of `natural`, `photograph` is repeated: 8 bits as they are; 16 bits like a camera's, 12
/// of them and four low bits zero. f32 lies in [−0.5, 0.5), in steps of 2^−24; one of 1024 random samples, and one of
/// the two values, is NaN.
void make_samples(void* samples, std::int64_t count, Depth depth, Content content,
                  const std::vector<std::uint8_t>& photograph);

/// The sum by a barrier between blocks that is built by hand, with a grid of so many blocks; `tree`: they are added in
/// pairs, a barrier before each step. Throws Refused where they would not all be resident, since a block that waits for
/// one that cannot start waits for ever. That no other work holds the GPU meanwhile, the caller sees to.
void sum_by_mask_barrier(const Call& call, int blocks, bool tree);
/// The most blocks that it takes on this GPU.
int mask_barrier_blocks(bool tree);

// What techniques and exact answers agree on.
inline constexpr std::int64_t tile_pixels = 4096;  ///< of rungs that deal with an image in tiles
inline constexpr int ring_slots = 61;              ///< sums among which the tiles are dealt in turn
inline constexpr int slabs = 256;                  ///< parts of the image in the chain, of whole 16 pixels but the last
inline constexpr std::int64_t stretch_pixels = 512;  ///< that are stretched together
inline constexpr std::int64_t segment_pixels = 256;  ///< of one segment's sum
inline constexpr int thumbnail_side = 8;             ///< pixels of the image in one of the thumbnail, each way
inline constexpr int bright = 128;                   ///< the least value of a pixel that is called bright

}  // namespace gpuhist::bench::ladder
