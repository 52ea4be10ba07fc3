// Sums of brightness. A kernel is put together from three choices, one struct each, and a rung changes one of them:
//     what a thread brings        OnePixel, ManyPixels
//     how a block adds up         Tree, TreeInWarp, ShuffleDown, ShuffleXor, Tile
//     how the blocks' sums meet   AtomicABlock, LeavePartials, LastBlock, StaticPartials, GridBarrier, MaskBarrier

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstring>
#include <cub/device/device_reduce.cuh>

#include "bench/ladder/exact.hpp"
#include "bench/ladder/ladder.cuh"

namespace gpuhist::bench::ladder {
namespace {

namespace cg = cooperative_groups;

/// Where a thread looks at one pixel: blocks small enough that several share a multiprocessor and hide each other's
/// barriers.
constexpr int few_threads = 256;
constexpr int most_partials = 4096;

// What a thread brings

struct OnePixel {
    static __device__ Word sum(const std::uint8_t* pixels, std::int64_t count) {
        const std::int64_t i = grid_rank();
        return i < count ? pixels[i] : 0;
    }
};

/// 16 bytes per load, four loads in flight, added up in registers.
struct ManyPixels {
    static __device__ Word sum(const std::uint8_t* pixels, std::int64_t count) { return sum_of_pixels(pixels, count); }
};

// How a block adds up: all threads call `block`, thread 0 gets the sum. A block is of 2^n threads. Between two calls
// there must be a barrier.

/// Half of the threads add the values of the other half to theirs, then half of these, and so on. The barrier in each
/// step: the values of the step before have been written.
struct Tree {
    static __device__ Word block(Word value) {
        __shared__ Word values[many_threads];
        values[threadIdx.x] = value;
        for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        }
        return values[threadIdx.x];
    }
};

/// The last five steps concern one warp only: it waits for its own lanes, and the others need not come along.
struct TreeInWarp {
    static __device__ Word block(Word value) {
        __shared__ Word values[many_threads];
        values[threadIdx.x] = value;
        for (unsigned half = blockDim.x / 2; half >= warp_lanes; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        }
        if (threadIdx.x < warp_lanes)
            for (unsigned half = warp_lanes / 2; half > 0; half /= 2) {
                __syncwarp();  // the values of the step before; lanes no longer run in step by themselves
                if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
            }
        return values[threadIdx.x];
    }
};

/// Warps add up by `Warp`; then one value per warp goes through shared memory, and the first warp adds those. The
/// barrier: they have been written.
template <class Warp>
struct ByWarps {
    static __device__ Word block(Word value) {
        __shared__ Word of_warp[warp_lanes];
        const unsigned warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
        value = Warp::sum(value);
        if (lane_of_thread() == 0) of_warp[warp] = value;
        __syncthreads();
        if (warp == 0) value = Warp::sum(lane_of_thread() < warps ? of_warp[lane_of_thread()] : 0);
        return value;
    }
};

struct WarpDown {  // lane 0 gets the sum
    static __device__ Word sum(Word value) {
#pragma unroll
        for (int offset = warp_lanes / 2; offset > 0; offset /= 2) value += __shfl_down_sync(whole_warp, value, offset);
        return value;
    }
};
struct WarpXor {  // every lane does
    static __device__ Word sum(Word value) { return reduce_warp(value, Sum{}); }
};
struct WarpTile {
    static __device__ Word sum(Word value) {
        return cg::reduce(cg::tiled_partition<warp_lanes>(cg::this_thread_block()), value, cg::plus<Word>());
    }
};
using ShuffleDown = ByWarps<WarpDown>;
using ShuffleXor = ByWarps<WarpXor>;
using Tile = ByWarps<WarpTile>;

// How the blocks' sums meet: all threads call `finish`, `sum` is that of thread 0.

template <class Reduce>
__device__ Word sum_of_partials(const Word* partials, unsigned count) {
    Word sum = 0;
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) sum += partials[i];
    return Reduce::block(sum);
}

struct AtomicABlock {
    template <class Reduce>
    static __device__ void finish(Word sum, Word*, Word* answer) {
        if (threadIdx.x == 0) atomicAdd(answer, sum);
    }
};

/// For a second launch: its start is the barrier.
struct LeavePartials {
    template <class Reduce>
    static __device__ void finish(Word sum, Word* partials, Word*) {
        if (threadIdx.x == 0) partials[blockIdx.x] = sum;
    }
};

struct LastBlock {
    template <class Reduce>
    static __device__ void finish(Word sum, Word* partials, Word* answer) {
        if (threadIdx.x == 0) partials[blockIdx.x] = sum;
        if (!is_last_block()) return;  // a barrier too: the block's shared memory can be used again
        sum = sum_of_partials<Reduce>(partials, gridDim.x);
        if (threadIdx.x == 0) *answer = sum;
    }
};

__device__ Word static_partials[most_partials];
struct StaticPartials {
    template <class Reduce>
    static __device__ void finish(Word sum, Word*, Word* answer) {
        LastBlock::finish<Reduce>(sum, static_partials, answer);
    }
};

/// CUDA's own barrier, in a launch that CUDA refuses where not all blocks are resident.
struct GridBarrier {
    template <class Reduce>
    static __device__ void finish(Word sum, Word* partials, Word* answer) {
        if (threadIdx.x == 0) partials[blockIdx.x] = sum;
        cg::this_grid().sync();
        if (blockIdx.x != 0) return;
        sum = sum_of_partials<Reduce>(partials, gridDim.x);
        if (threadIdx.x == 0) *answer = sum;
    }
};

/// Who has arrived, one bit per block: up to 64 blocks in `groups`; beyond, in groups of 64, and one bit per group in
/// `groups`. The masks are zero between rounds, `round` only changes. Launches that share it must follow each other.
struct Arrivals {
    Word group[64];
    Word groups;
    unsigned round;
};
__device__ Arrivals arrivals = {};
constexpr int most_barrier_blocks = 64 * 64;

/// Sets a bit; whether the first `members` bits now are all set.
__device__ inline bool completes(Word* mask, unsigned bit, unsigned members) {
    const Word own = Word{1} << bit, full = members == 64 ? ~Word{0} : (Word{1} << members) - 1;
    return (atomicOr(mask, own) | own) == full;
}

/// Returns when all blocks of the grid have called it; then they see what the others wrote before. All threads call it,
/// and all blocks must be resident. The block that sets the last bit clears the masks, which nobody else looks at until
/// the next round, and opens it; the others wait for `round` and not for the masks, since a fast block may change those
/// again before a slow one has looked.
/// Fences: what a block wrote comes before its bit; what one bit says, before the bit of the group; the masks are clear
/// before the round opens; nothing is read before it has. Barriers: the block's threads have written, and may read.
__device__ void wait_for_all_blocks() {
    __syncthreads();
    if (threadIdx.x == 0) {
        volatile unsigned* round = &arrivals.round;
        const unsigned before = *round;  // cannot change before this block's bit is set
        const unsigned groups = (gridDim.x + 63) / 64, group = blockIdx.x / 64;
        __threadfence();
        bool last;
        if (groups == 1) {
            last = completes(&arrivals.groups, blockIdx.x, gridDim.x);
        } else {
            last = completes(&arrivals.group[group], blockIdx.x % 64, min(64u, gridDim.x - 64 * group));
            __threadfence();
            last = last && completes(&arrivals.groups, group, groups);
        }
        if (last) {
            __threadfence();
            if (groups > 1)
                for (unsigned g = 0; g < groups; ++g) atomicExch(&arrivals.group[g], Word{0});
            atomicExch(&arrivals.groups, Word{0});
            __threadfence();
            *round = before + 1;
        } else {
            const Patience patience;
            while (*round == before) patience.wait();
        }
        __threadfence();
    }
    __syncthreads();
}

struct MaskBarrier {
    template <class Reduce>
    static __device__ void finish(Word sum, Word* partials, Word* answer) {
        if (threadIdx.x == 0) partials[blockIdx.x] = sum;
        wait_for_all_blocks();
        if (blockIdx.x != 0) return;
        sum = sum_of_partials<Reduce>(partials, gridDim.x);
        if (threadIdx.x == 0) *answer = sum;
    }
};

/// A tree over the blocks: half of them add the other half's sums, a barrier before each step. Within a step nobody
/// writes what another block reads.
struct MaskBarrierTree {
    template <class Reduce>
    static __device__ void finish(Word sum, Word* partials, Word* answer) {
        if (threadIdx.x == 0) partials[blockIdx.x] = sum;
        unsigned width = 1;
        while (width < gridDim.x) width *= 2;
        for (unsigned half = width / 2; half > 0; half /= 2) {
            wait_for_all_blocks();
            if (threadIdx.x == 0 && blockIdx.x < half && blockIdx.x + half < gridDim.x)
                partials[blockIdx.x] += partials[blockIdx.x + half];
        }
        if (blockIdx.x == 0 && threadIdx.x == 0) *answer = partials[0];
    }
};

// The kernels

/// The lowest rung. Launch: one thread per pixel.
__global__ void atomic_each_pixel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    const std::int64_t i = grid_rank();
    if (i < count) atomicAdd(answer, Word{pixels[i]});
}

/// Sum of all pixels in `answer`; LeavePartials: in `partials`, one per block. Launch: one thread per pixel, or any
/// grid (GridBarrier: a cooperative one; MaskBarrier: one that is resident). Bytes: each pixel is read once.
template <class Pixels, class Reduce, class Finish>
__global__ void __launch_bounds__(many_threads)
    sum_kernel(const std::uint8_t* pixels, std::int64_t count, Word* partials, Word* answer) {
    Finish::template finish<Reduce>(Reduce::block(Pixels::sum(pixels, count)), partials, answer);
}

/// Launch: one block.
template <class Reduce>
__global__ void __launch_bounds__(many_threads) sum_partials(const Word* partials, unsigned count, Word* answer) {
    const Word sum = sum_of_partials<Reduce>(partials, count);
    if (threadIdx.x == 0) *answer = sum;
}

/// Σ, Σ², minimum and maximum in one sweep, while it waits for memory anyway: __dp4a squares and adds four bytes at
/// once, __vminu4 and __vmaxu4 compare four. Launch: any grid. Bytes: each pixel is read once. The last block puts the
/// blocks' quantities together.
__global__ void __launch_bounds__(many_threads)
    four_quantities(const std::uint8_t* pixels, std::int64_t count, Word* partials, Word* answer) {
    Word sum = 0, squares = 0;
    unsigned minima = 0xFFFFFFFFu, maxima = 0;  // four bytes each
    const auto add = [&](unsigned four) {
        squares += __dp4a(four, four, 0u);
        minima = __vminu4(minima, four);
        maxima = __vmaxu4(maxima, four);
    };
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) {
            sum += sum_of_bytes(word);
            add(word.x);
            add(word.y);
            add(word.z);
            add(word.w);
        },
        [&](unsigned pixel, std::int64_t) {
            sum += pixel;
            squares += pixel * pixel;
            minima = __vminu4(minima, pixel * 0x01010101u);
            maxima = __vmaxu4(maxima, pixel * 0x01010101u);
        });
    Word minimum = 255, maximum = 0;
    for (int b = 0; b < 4; ++b) {
        minimum = min(minimum, Word{minima >> 8 * b & 0xFFu});
        maximum = max(maximum, Word{maxima >> 8 * b & 0xFFu});
    }
    const auto reduce_all = [&] {
        sum = reduce_block(sum, Word{0}, Sum{});
        squares = reduce_block(squares, Word{0}, Sum{});
        minimum = reduce_block(minimum, Word{255}, Minimum{});
        maximum = reduce_block(maximum, Word{0}, Maximum{});
    };
    const auto store = [&](Word* to) {
        to[0] = sum;
        to[1] = squares;
        to[2] = minimum;
        to[3] = maximum;
    };
    reduce_all();
    if (threadIdx.x == 0) store(partials + 4 * blockIdx.x);
    if (!is_last_block()) return;
    sum = squares = maximum = 0;
    minimum = 255;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
        sum += partials[4 * i];
        squares += partials[4 * i + 1];
        minimum = min(minimum, partials[4 * i + 2]);
        maximum = max(maximum, partials[4 * i + 3]);
    }
    reduce_all();
    if (threadIdx.x == 0) store(answer);
}

// The rungs

std::int64_t one_pixel_blocks(const Image& image) {
    return (image.samples() + few_threads - 1) / few_threads;
}

std::size_t partials_bytes(const Image& image) {
    return sizeof(Word) * static_cast<std::size_t>(std::max<std::int64_t>(one_pixel_blocks(image), 4 * most_partials));
}

void atomic_a_pixel(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch(call, atomic_each_pixel, one_pixel_blocks(call.image), few_threads, pixels_of(call), call.image.samples(),
           call.answer);
}

template <class Reduce, class Finish>
void one_pixel(const Call& call) {
    if constexpr (std::is_same_v<Finish, AtomicABlock>) clear(call, call.answer, sizeof(Word));
    auto* partials = static_cast<Word*>(call.scratch);
    const std::int64_t blocks = one_pixel_blocks(call.image);
    launch(call, sum_kernel<OnePixel, Reduce, Finish>, blocks, few_threads, pixels_of(call), call.image.samples(),
           partials, call.answer);
    if constexpr (std::is_same_v<Finish, LeavePartials>)
        launch(call, sum_partials<Reduce>, 1, many_threads, partials, static_cast<unsigned>(blocks), call.answer);
}

template <class Finish>
void many_pixels(const Call& call, void* partials) {
    const auto kernel = sum_kernel<ManyPixels, ShuffleXor, Finish>;
    const int blocks = std::min(blocks_for(kernel, many_threads, call.image.samples()), most_partials);
    launch(call, kernel, blocks, many_threads, pixels_of(call), call.image.samples(), static_cast<Word*>(partials),
           call.answer);
}

void registers(const Call& call) {
    many_pixels<LastBlock>(call, call.scratch);
}

void registers_to_the_end(const Call& call) {
    registers(call);
    LADDER_CUDA(cudaStreamSynchronize(call.stream));
}

void partials_static(const Call& call) {
    many_pixels<StaticPartials>(call, nullptr);
    LADDER_CUDA(cudaStreamSynchronize(call.stream));
}

/// Memory for the length of a call.
template <cudaError_t (*Free)(void*)>
struct Held {
    void* data = nullptr;
    ~Held() { (void)Free(data); }
};

void partials_allocated(const Call& call) {
    Held<cudaFree> partials;
    LADDER_CUDA(cudaMalloc(&partials.data, most_partials * sizeof(Word)));
    many_pixels<LastBlock>(call, partials.data);
    LADDER_CUDA(cudaStreamSynchronize(call.stream));
}

void partials_from_pool(const Call& call) {
    void* partials = nullptr;
    LADDER_CUDA(cudaMallocAsync(&partials, most_partials * sizeof(Word), call.stream));
    try {
        many_pixels<LastBlock>(call, partials);
    } catch (...) {
        (void)cudaFreeAsync(partials, call.stream);
        throw;
    }
    LADDER_CUDA(cudaFreeAsync(partials, call.stream));
    LADDER_CUDA(cudaStreamSynchronize(call.stream));
}

bool has(cudaDeviceAttr attribute) {
    int gpu = 0, value = 0;
    LADDER_CUDA(cudaGetDevice(&gpu));
    LADDER_CUDA(cudaDeviceGetAttribute(&value, attribute, gpu));
    return value != 0;
}

std::string no_pools(const Image&) {
    return has(cudaDevAttrMemoryPoolsSupported) ? "" : "this GPU has no memory pools";
}

std::string no_cooperation(const Image&) {
    return has(cudaDevAttrCooperativeLaunch) ? "" : "this GPU launches no cooperative grids";
}

void grid_barrier(const Call& call) {
    const auto kernel = sum_kernel<ManyPixels, ShuffleXor, GridBarrier>;
    const std::uint8_t* pixels = pixels_of(call);
    std::int64_t count = call.image.samples();
    auto* partials = static_cast<Word*>(call.scratch);
    Word* answer = call.answer;
    void* arguments[] = {&pixels, &count, &partials, &answer};
    const int blocks = std::min(blocks_for(kernel, many_threads, count), most_partials);
    LADDER_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(blocks)),
                                            dim3(many_threads), arguments, 0, call.stream));
}

template <class Finish>
int most_blocks() {
    return std::min(resident_blocks(sum_kernel<ManyPixels, ShuffleXor, Finish>, many_threads), most_barrier_blocks);
}

template <class Finish>
void mask_barrier(const Call& call, int blocks) {
    const auto kernel = sum_kernel<ManyPixels, ShuffleXor, Finish>;
    const int most = most_blocks<Finish>();
    if (blocks < 1 || blocks > most)
        throw Refused("a barrier between " + std::to_string(blocks) + " blocks could hang: this GPU holds " +
                      std::to_string(most) +
                      " of them at once, and who waits for a block that cannot start waits for ever");
    launch(call, kernel, blocks, many_threads, pixels_of(call), call.image.samples(), static_cast<Word*>(call.scratch),
           call.answer);
}

template <class Finish>
void mask_barrier_rung(const Call& call) {
    const auto kernel = sum_kernel<ManyPixels, ShuffleXor, Finish>;
    mask_barrier<Finish>(call, std::min(blocks_for(kernel, many_threads, call.image.samples()), most_barrier_blocks));
}

/// Managed memory pays for its pages: at most a quarter of what the GPU has free.
std::string too_large_to_manage(const Image& image) {
    if (!has(cudaDevAttrManagedMemory)) return "this GPU has no managed memory";
    std::size_t free_bytes = 0, total = 0;
    LADDER_CUDA(cudaMemGetInfo(&free_bytes, &total));
    return static_cast<std::size_t>(image.samples()) > free_bytes / 4 ? "more than a quarter of the GPU's free memory"
                                                                      : "";
}

/// The host writes the pixels, the GPU sums them, the host reads the sum.
template <bool Prefetch>
void managed(const Call& call) {
    const auto count = static_cast<std::size_t>(call.image.samples());
    Held<cudaFree> pixels, sums;
    LADDER_CUDA(cudaMallocManaged(&pixels.data, count));
    LADDER_CUDA(cudaMallocManaged(&sums.data, (1 + most_partials) * sizeof(Word)));
    std::memcpy(pixels.data, call.image.host, count);
    if constexpr (Prefetch) {
        int gpu = 0;
        LADDER_CUDA(cudaGetDevice(&gpu));
#if CUDART_VERSION >= 13000
        LADDER_CUDA(cudaMemPrefetchAsync(pixels.data, count, {cudaMemLocationTypeDevice, gpu}, 0, call.stream));
#else
        LADDER_CUDA(cudaMemPrefetchAsync(pixels.data, count, gpu, call.stream));
#endif
    }
    Call there = call;
    there.image.device = pixels.data;
    there.answer = static_cast<Word*>(sums.data);
    many_pixels<LastBlock>(there, there.answer + 1);
    LADDER_CUDA(cudaStreamSynchronize(call.stream));
    call.mailbox->answer[0] = there.answer[0];
}

std::string cannot_prefetch(const Image& image) {
    if (!has(cudaDevAttrConcurrentManagedAccess)) return "this GPU takes no prefetches of managed memory";
    return too_large_to_manage(image);
}

void four_in_one(const Call& call) {
    const int blocks = std::min(blocks_for(four_quantities, many_threads, call.image.samples()), most_partials);
    launch(call, four_quantities, blocks, many_threads, pixels_of(call), call.image.samples(),
           static_cast<Word*>(call.scratch), call.answer);
}

void cub_sum(const Image& image, void* storage, std::size_t& bytes, Word* answer, cudaStream_t stream) {
    LADDER_CUDA(
        cub::DeviceReduce::Sum(storage, bytes, image.on_device<std::uint8_t>(), answer, image.samples(), stream));
}

std::size_t cub_bytes(const Image& image) {
    std::size_t bytes = 0;
    cub_sum(image, nullptr, bytes, nullptr, nullptr);
    return bytes;
}

void cub_reduce(const Call& call) {
    std::size_t bytes = cub_bytes(call.image);
    cub_sum(call.image, call.scratch, bytes, call.answer, call.stream);
}

}  // namespace

int mask_barrier_blocks(bool tree) {
    return tree ? most_blocks<MaskBarrierTree>() : most_blocks<MaskBarrier>();
}

void sum_by_mask_barrier(const Call& call, int blocks, bool tree) {
    tree ? mask_barrier<MaskBarrierTree>(call, blocks) : mask_barrier<MaskBarrier>(call, blocks);
}

std::vector<Rung> brightness_rungs() {
    const auto rung = [](const char* name, const char* change, void (*run)(const Call&)) {
        return Rung{"sum", name, change, exact::sum, run}.with(&Rung::scratch_bytes, partials_bytes);
    };
    const auto on_host = [&](const char* name, const char* change, void (*run)(const Call&)) {
        return rung(name, change, run).with(&Rung::clock, Clock::host);
    };
    return {
        rung("atomic_a_pixel", "one thread per pixel; each adds to one sum in device memory, and all queue for it",
             atomic_a_pixel)
            .with(&Rung::divisor, 64),
        rung("tree", "a block adds up in shared memory, half its threads idle in each step; one atomic per block",
             one_pixel<Tree, AtomicABlock>),
        rung("tree_second_launch", "blocks leave their sums, a second launch adds them: no atomic, but another start",
             one_pixel<Tree, LeavePartials>),
        rung("tree_last_block", "the last block to arrive adds the blocks' sums: one launch, a fence, a counter",
             one_pixel<Tree, LastBlock>),
        rung("tree_warp_barrier", "the last five steps are one warp's: its own barrier is cheaper than the block's",
             one_pixel<TreeInWarp, LastBlock>),
        rung("shuffle_down", "lanes pass values in registers: in shared memory one value per warp, one block barrier",
             one_pixel<ShuffleDown, LastBlock>),
        rung("shuffle_xor", "a butterfly instead of a slope: as many steps, and every lane knows the sum",
             one_pixel<ShuffleXor, LastBlock>),
        rung("tile", "the same said by a cooperative group of 32, which knows who takes part",
             one_pixel<Tile, LastBlock>),
        rung("registers",
             "16 bytes per load and many loads per thread, summed in registers; only then the block adds up",
             registers),
        rung("four_in_one",
             "squares, minimum and maximum too: the sweep waits for memory, and four answers cost a tenth more",
             four_in_one)
            .with(&Rung::exact, exact::four_quantities),
        rung("grid_barrier", "one cooperative launch: all blocks wait for each other, then one adds", grid_barrier)
            .with(&Rung::obstacle, no_cooperation),
        rung("mask_barrier", "that barrier by hand: one bit per block in 64-bit masks, refused where blocks must queue",
             mask_barrier_rung<MaskBarrier>),
        rung("mask_barrier_tree", "blocks add in pairs, with one barrier per step: what log2(blocks) barriers cost",
             mask_barrier_rung<MaskBarrierTree>),
        on_host("partials_workspace", "`registers` on the host's clock; the blocks' sums in memory that is reused",
                registers_to_the_end),
        on_host("partials_static", "in a __device__ array: nothing to allocate, but one array for all streams",
                partials_static),
        on_host("partials_allocated", "from cudaMalloc in each call: the driver works, and cudaFree waits for the GPU",
                partials_allocated),
        on_host("partials_from_pool", "from cudaMallocAsync: memory from a pool, in the stream's order",
                partials_from_pool)
            .with(&Rung::obstacle, no_pools),
        on_host("managed", "managed memory that the host fills: each page moves when the GPU first touches it",
                managed<false>)
            .with(&Rung::divisor, 16)
            .with(&Rung::in_mailbox, true)
            .with(&Rung::obstacle, too_large_to_manage),
        on_host("managed_prefetched", "the GPU is told before the launch: the pages move together", managed<true>)
            .with(&Rung::divisor, 16)
            .with(&Rung::in_mailbox, true)
            .with(&Rung::obstacle, cannot_prefetch),
        rung("cub_reduce", "cub::DeviceReduce::Sum: what a library does", cub_reduce)
            .with(&Rung::scratch_bytes, cub_bytes)
            .with(&Rung::clock, Clock::stream),
    };
}

}  // namespace gpuhist::bench::ladder
