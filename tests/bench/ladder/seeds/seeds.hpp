// The seeds: every technique of the four articles on CUDA from which gpuhist began, at work. What the ladder does not
// show is here: as rungs of its group `seeds`, and, where an answer is a text, a time or a fault, as the samples that
// `gpuhist-bench seeds` prints. ../README.md says which paragraph is shown where.
//
//     divergence.cu   branches by warp and by lane, guards, a block barrier in a branch
//     warp.cu         barriers, votes and shuffles of a warp: masks, widths, types
//     tree.cu         the tree of a warp: its race, two remedies, and how few threads it uses
//     groups.cu       cooperative groups: members, tiles of tiles, their votes and shuffles
//     floats.cu       sums of floats: called twice, atomics, the last block; static memory
//     memory.cu       constant memory, volatile, a fence for the block
//     atomics.cu      each atomic for each of its types
//     listing.cu      the sum over managed memory, printed as there
//     barriers.cu     the hand-made spin barriers with their faults, one line for the whole grid
//     spin_model.cpp  all orders in which the threads of such a barrier can run
//     gpus.cu         a barrier across the GPUs of one machine
//     exact.cpp       the answers, by plain loops on the host
//     samples.cpp     the command
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/ladder/ladder.hpp"

namespace gpuhist::bench::ladder::seeds {

std::vector<Rung> divergence_rungs();
std::vector<Rung> warp_rungs();
std::vector<Rung> tree_rungs();
std::vector<Rung> group_rungs();
std::vector<Rung> float_rungs();
std::vector<Rung> memory_rungs();
std::vector<Rung> atomic_rungs();
std::vector<Rung> listing_rungs();
std::vector<Rung> barrier_rungs();
std::vector<Rung> gpu_rungs();

// Samples. Each runs on the current GPU, waits for it, and throws where CUDA fails.

/// The sample of warp functions, 16 threads in segments of 8: printed by the GPU to standard output.
void print_warp_sample();

/// A tree over 32 of 64 ones without its guard, the lanes one after the other in an order that the rules leave open:
/// the sum is 32 only by luck.
enum class LaneOrder { ascending, descending };
Word unguarded_tree(LaneOrder order);

/// Warps of which half the lanes are late, each with a tree: how many found another sum. Without the guard that is a
/// race, on purpose.
struct Race {
    unsigned warps, wrong;
};
Race race_in_tree(bool guarded);

/// Threads that add in a step, of all that could: in the tree of a block of 128, one pixel each, or after a loop in
/// which each thread has added many.
double thread_utilization(std::int64_t pixels, bool loop);

/// A sum of floats, and what it took on the GPU.
struct FloatSum {
    float sum;
    double ms;
};
enum class FloatMethod {
    atomic_a_block,    ///< a block of 128 for 128 numbers, one atomic each
    atomic_10240,      ///< 10,240 blocks of 128, as `twice` has, one atomic each
    twice,             ///< 10,240 blocks of 128, then the same kernel with one of 1024
    twice_static,      ///< partial sums in a __device__ array, found by cudaGetSymbolAddress
    twice_allocated,   ///< partial sums from cudaMalloc in each call: on the host's clock
    twice_static_host  ///< `twice_static` on that clock
};
/// The median of `repetitions`; `count` numbers on the GPU.
FloatSum sum_of_floats(const float* numbers, std::int64_t count, FloatMethod method, int repetitions);
/// Memory on the GPU with `count` times `number`.
std::unique_ptr<float, cudaError_t (*)(void*)> numbers_on_gpu(std::int64_t count, float number);

/// The table in constant memory, by the address of its symbol.
std::vector<unsigned> constant_table();

/// The operations of the article's testAtom, by 256 threads with a barrier between any two: what each left in its word.
struct AtomicSequence {
    int after_add, after_max, after_inc, after_cas;  ///< g_odata[0], 0 to begin with
    int after_and, after_or, after_xor;              ///< g_odata[8], 255 to begin with
};
AtomicSequence atomic_sequence();
/// Words that each block leaves after these operations without barriers, as the article has them: g_odata[0] and
/// g_odata[8] of its own.
std::vector<std::pair<int, int>> atomic_sequences_as_written(int blocks);

/// What is left in a word to which 256 threads of each block add 1 without an atomic, each when it comes.
unsigned left_of_lost_updates(int blocks);

/// The listing: 10^7 random ints in managed memory, summed by the GPU and the host, both timed; printed as there to
/// standard output.
struct Listing {
    int on_gpu, on_cpu;
    double gpu_ms, cpu_ms;
};
Listing print_listing(unsigned seed);
inline constexpr int listing_count = 10'000'000;

/// Blocks at a barrier that is watched: who looked for so long in vain gave up.
struct Spin {
    int passed, gave_up;
};
/// The article's barrier for 64 blocks, and its barrier for more, word for word but for the watch, and but for a sound
/// barrier between clearing and setting. Throws Refused where so many blocks are not resident.
Spin spin_as_written(int blocks);
Spin spin_of_more_as_written(int blocks);
/// A counting barrier of blocks that fill a multiprocessor, nobody having asked whether all are resident.
Spin spin_unasked(int blocks);
/// The most of these blocks that are resident.
int spin_unasked_resident();
/// Status of a cooperative launch of so many of these blocks.
cudaError_t spin_cooperatively(int blocks);

/// Line "Print a single line for the entire process", by the GPU to standard output: once, after a barrier of `blocks`.
void print_one_line(int blocks);

/// Reads of other blocks' sums behind a sound barrier between blocks, and how many of them found no sum yet.
struct Reads {
    unsigned all, missed;
};
/// A thread of each block comes late with the block's sum; thread 0 arrives at the barrier, and waits there. `before`,
/// `after`: whether its block has a barrier of its own before it arrives, and after it has waited. All threads then
/// read the next block's sum.
Reads reads_behind_barrier(bool before, bool after);
/// Thread 0 of each block reads the next block's sum before this is written, and again behind the barrier, with or
/// without fences on both sides of it.
Reads reads_again_behind_barrier(bool fence);

/// Every order in which the threads of the article's barrier can run, of few blocks of few threads.
struct SpinModel {
    int states;     ///< different ones that were reached
    bool can_hang;  ///< in one of them a thread looks for ever at a mask that stays incomplete
};
/// Model of so many; `after_clearing`: a block waits for its threads between clearing and setting.
SpinModel explore_spin(int blocks, int threads, bool after_clearing);

/// The current GPU, and others of this machine, as one: each has a part of the image and sums it, all meet at a barrier
/// in memory that all see, and a kernel on each reads the sums of all.
class GpuGroup {
  public:
    enum class Meeting {
        mapped,  ///< host memory: one flag per GPU, written by its own and read by all
        peer     ///< memory of the first GPU: one counter, atomics over the link between the GPUs
    };
    /// Throws Refused, with the reason, where `obstacle` has one.
    GpuGroup(int gpus, Meeting meeting);
    ~GpuGroup();

    /// Deals out the image, which the first GPU has: to each as many whole 16 bytes.
    void load(const Image& image, cudaStream_t stream);
    /// The total as a kernel on each of the GPUs found it; on the first also in `answer`, if it is given. Before that
    /// they meet `meetings` times.
    std::vector<Word> sum(int meetings = 1, Word* answer = nullptr);

    /// Reason why that cannot be, or empty.
    static std::string obstacle(int gpus, Meeting meeting);
    /// Number of this machine's GPUs.
    static int count();

  private:
    struct Member;
    Meeting meeting_;
    std::vector<Member> members_;
    void* shared_ = nullptr;
};

}  // namespace gpuhist::bench::ladder::seeds
