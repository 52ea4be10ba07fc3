// Each atomic operation for each of its types: 256 pixels, a block of 256 threads, meet in one word.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <limits>
#include <type_traits>

#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.cuh"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

constexpr int most_answers = 3;

/// An operation has a word for the tile, its beginning, what a thread does to it with its pixel (and returns to be
/// summed), and what is said of its end: sums for the answer.
template <class Operation>
struct Slot {
    alignas(8) typename Operation::State state;
};

/// Launch: one block per tile. Barriers: the word is there; all have changed it.
template <class Operation>
__global__ void __launch_bounds__(atomic_tile)
    tile_kernel(const std::uint8_t* pixels, std::int64_t count, Slot<Operation>* slots, Word* answer) {
    const std::int64_t i = grid_rank();
    auto* state = &slots[blockIdx.x].state;
    if (threadIdx.x == 0) *state = Operation::begin();
    __syncthreads();
    Word returned = 0;
    if (i < count) returned = Operation::apply(state, unsigned{pixels[i]});
    returned = reduce_block(returned, Word{0}, Sum{});  // with barriers
    if (threadIdx.x != 0) return;
    Word sums[most_answers] = {};
    Operation::finish(*state, sums);
    sums[0] += returned;
#pragma unroll
    for (int k = 0; k < Operation::answers; ++k) atomicAdd(answer + k, sums[k]);
}

std::int64_t tiles_of(const Image& image) {
    return (image.samples() + atomic_tile - 1) / atomic_tile;
}

template <class Operation>
std::size_t slots_bytes(const Image& image) {
    return static_cast<std::size_t>(tiles_of(image)) * sizeof(Slot<Operation>);
}

template <class Operation>
void run_tiles(const Call& call) {
    clear(call, call.answer, Operation::answers * sizeof(Word));
    launch(call, tile_kernel<Operation>, tiles_of(call.image), atomic_tile, pixels_of(call), call.image.samples(),
           static_cast<Slot<Operation>*>(call.scratch), call.answer);
}

// Numbers of every type, and back. A count up to 256 is exact in all of them.

template <typename T>
__device__ T of_number(unsigned number) {
    if constexpr (std::is_same_v<T, __half>)
        return __uint2half_rn(number);
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
        return __float2bfloat16(static_cast<float>(number));
    else
        return static_cast<T>(number);
}
template <typename T>
__device__ Word to_number(T value) {
    if constexpr (std::is_same_v<T, __half>)
        return __half2uint_rn(value);
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
        return static_cast<Word>(__bfloat162float(value));
    else
        return static_cast<Word>(value);
}

__device__ void say_count(Word count, Word* sums) {
    sums[0] = count;
    sums[1] = count * count;
}

// add, sub: bright pixels counted, every thread adding 1 or 0

template <typename T>
struct Add {
    using State = T;
    static constexpr int answers = 2;
    static __device__ T begin() { return of_number<T>(0); }
    static __device__ Word apply(T* count, unsigned pixel) {
        atomicAdd(count, of_number<T>(pixel >= bright));
        return 0;
    }
    static __device__ void finish(T count, Word* sums) { say_count(to_number(count), sums); }
};

/// Bright ones and the others, at once: each half of the word is atomic, the two together need not be.
template <typename Pair>
struct AddPair {
    using State = Pair;
    static constexpr int answers = 2;
    static __device__ Pair of(float first, float second) {
        if constexpr (std::is_same_v<Pair, __half2>)
            return __floats2half2_rn(first, second);
        else
            return __floats2bfloat162_rn(first, second);
    }
    static __device__ Pair begin() { return of(0, 0); }
    static __device__ Word apply(Pair* counts, unsigned pixel) {
        atomicAdd(counts, of(pixel >= bright, pixel < bright));
        return 0;
    }
    static __device__ void finish(Pair counts, Word* sums) {
        const Word first = to_number(counts.x), second = to_number(counts.y);
        sums[0] = first * first;
        sums[1] = second * second;
    }
};

template <typename T>
struct Subtract {
    using State = T;
    static constexpr int answers = 2;
    static __device__ T begin() { return atomic_tile; }
    static __device__ Word apply(T* left, unsigned pixel) {
        atomicSub(left, T{pixel >= bright});
        return 0;
    }
    static __device__ void finish(T left, Word* sums) { say_count(static_cast<Word>(atomic_tile - left), sums); }
};

// min, max

/// The pixel as a number that needs the type: below zero where it has a sign, above 32 bits where it has 64.
template <typename T>
__device__ T spread(unsigned pixel) {
    const T value = static_cast<T>(pixel) - static_cast<T>(std::is_signed_v<T> ? 128 : 0);
    if constexpr (sizeof(T) == 8)
        return value * (T{1} << 33);
    else
        return value;
}

template <typename T>
struct Extremes {
    struct State {
        T minimum, maximum;
    };
    static constexpr int answers = 2;
    static constexpr T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    static __device__ State begin() { return {highest, lowest}; }
    static __device__ Word apply(State* state, unsigned pixel) {
        atomicMin(&state->minimum, spread<T>(pixel));
        atomicMax(&state->maximum, spread<T>(pixel));
        return 0;
    }
    static __device__ void finish(const State& state, Word* sums) {
        sums[0] = static_cast<Word>(state.minimum);
        sums[1] = static_cast<Word>(state.maximum);
    }
};

// exch: whoever puts a value in takes another out. Nothing is lost: what was taken and what is left is what was put in.

template <typename T>
struct Exchange {
    using State = T;
    static constexpr int answers = 1;
    static __device__ T value(unsigned pixel) {
        if constexpr (sizeof(T) == 8)
            return static_cast<T>(pixel) << 33;
        else
            return static_cast<T>(pixel);
    }
    static __device__ T begin() { return 0; }
    static __device__ Word apply(T* word, unsigned pixel) { return static_cast<Word>(atomicExch(word, value(pixel))); }
    static __device__ void finish(T left, Word* sums) { sums[0] = static_cast<Word>(left); }
};

// compare-and-swap: the count once more, in the types that it has

template <typename T>
struct CompareAndSwap {
    using State = T;
    static constexpr int answers = 2;
    static __device__ T begin() { return 0; }
    static __device__ Word apply(T* count, unsigned pixel) {
        if (pixel < bright) return 0;
        T found = *static_cast<volatile T*>(count), expected;
        do {
            expected = found;
            found = atomicCAS(count, expected, static_cast<T>(expected + 1));
        } while (found != expected);
        return 0;
    }
    static __device__ void finish(T count, Word* sums) { say_count(static_cast<Word>(count), sums); }
};

// inc, dec: each bright pixel a turn, round and round. A word beyond the bound comes back with its first turn: up to 0,
// down to the bound.

struct Turns {
    struct State {
        unsigned up, up_astray, down, down_astray;
    };
    static constexpr int answers = 2;
    static __device__ State begin() { return {0, astray, 0, astray}; }
    static __device__ Word apply(State* state, unsigned pixel) {
        if (pixel < bright) return 0;
        atomicInc(&state->up, turns);
        atomicInc(&state->up_astray, turns);
        atomicDec(&state->down, turns);
        atomicDec(&state->down_astray, turns);
        return 0;
    }
    static __device__ void finish(const State& state, Word* sums) {
        sums[0] = state.up + 1000 * state.up_astray;
        sums[1] = state.down + 1000 * state.down_astray;
    }
};

// and, or, xor

template <typename T>
struct Bits {
    struct State {
        T conjunction, disjunction, parity;
    };
    static constexpr int answers = 3;
    static __device__ State begin() { return {static_cast<T>(~T{0}), 0, 0}; }
    static __device__ Word apply(State* state, unsigned pixel) {
        // The pixel in each byte, and one of the bytes by the thread's rank as its complement.
        const Word in_each = pixel * Word{0x0101010101010101};
        const T value = static_cast<T>(in_each ^ Word{0xFF} << 8 * (threadIdx.x % sizeof(T)));
        atomicAnd(&state->conjunction, value);
        atomicOr(&state->disjunction, value);
        atomicXor(&state->parity, value);
        return 0;
    }
    static __device__ void finish(const State& state, Word* sums) {
        using Unsigned = std::make_unsigned_t<T>;
        sums[0] = static_cast<Unsigned>(state.conjunction);
        sums[1] = static_cast<Unsigned>(state.disjunction);
        sums[2] = static_cast<Unsigned>(state.parity);
    }
};

// Several operations on one word

/// Operations of the article's testAtom. `first` and `second` are g_odata[0] and g_odata[8].
__device__ void operations(int* first, int* second, int tid) {
    atomicAdd(first, 10);
    atomicMax(first, tid);
    atomicInc(reinterpret_cast<unsigned*>(first), 17);
    atomicCAS(first, tid - 1, tid);

    atomicAnd(second, 2 * tid + 7);
    atomicOr(second, 1 << tid % 32);
    atomicXor(second, tid);
}

/// Each thread does them to two words of its own, which begin as its pixel: what comes out follows from the text. Sums
/// of both. Launch: one thread per pixel.
__global__ void __launch_bounds__(atomic_tile)
    sequence_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ int first[atomic_tile], second[atomic_tile];
    const int tid = static_cast<int>(threadIdx.x);
    const std::int64_t i = grid_rank();
    Word sums[2] = {};
    if (i < count) {
        first[tid] = second[tid] = pixels[i];
        operations(first + tid, second + tid, tid);
        sums[0] = static_cast<unsigned>(first[tid]);
        sums[1] = static_cast<unsigned>(second[tid]);
    }
    for (int k = 0; k < 2; ++k) {
        const Word sum = reduce_block(sums[k], Word{0}, Sum{});
        if (tid == 0) atomicAdd(answer + k, sum);
    }
}

void sequence(const Call& call) {
    clear(call, call.answer, 2 * sizeof(Word));
    launch(call, sequence_kernel, tiles_of(call.image), atomic_tile, pixels_of(call), call.image.samples(),
           call.answer);
}

// The count of `add_unsigned` without an atomic

/// A warp's lanes with a bright pixel add 1 to the warp's word: all read it, all wait, all write. Launch: one thread
/// per pixel, blocks of whole warps.
__global__ void __launch_bounds__(atomic_tile)
    lost_kernel(const std::uint8_t* pixels, std::int64_t count, volatile unsigned* words, Word* answer) {
    const std::int64_t i = grid_rank();
    volatile unsigned* const word = words + i / warp_lanes;
    if (lane_of_thread() == 0) *word = 0;
    __syncwarp();
    const bool is_bright = i < count && pixels[i] >= bright;
    const unsigned found = *word;
    __syncwarp();
    if (is_bright) *word = found + 1;
    __syncwarp();
    const int all = __popc(__ballot_sync(whole_warp, is_bright));
    if (lane_of_thread() != 0) return;
    atomicAdd(answer, Word{*word});
    atomicAdd(answer + 1, static_cast<Word>(all));
}

void lost(const Call& call) {
    clear(call, call.answer, 2 * sizeof(Word));
    launch(call, lost_kernel, tiles_of(call.image), atomic_tile, pixels_of(call), call.image.samples(),
           static_cast<volatile unsigned*>(call.scratch), call.answer);
}

std::size_t lost_bytes(const Image& image) {
    return static_cast<std::size_t>(tiles_of(image)) * (atomic_tile / warp_lanes) * sizeof(unsigned);
}

/// Launch: any grid.
__global__ void lose_updates(volatile unsigned* word) {
    *word = *word + 1;
}

// testAtom

/// All threads do them to the same two words, a barrier after each: then the order within an operation does not matter,
/// but for compare-and-swap, where they take turns. Launch: one block of 256.
__global__ void sequence_of_block(AtomicSequence* left) {
    __shared__ int first, second;
    const int tid = static_cast<int>(threadIdx.x);
    const auto note = [&](int* to, const int& word) {
        __syncthreads();
        if (tid == 0) *to = word;
        __syncthreads();
    };
    if (tid == 0) {
        first = 0;
        second = 255;
    }
    __syncthreads();
    atomicAdd(&first, 10);
    note(&left->after_add, first);
    atomicMax(&first, tid);
    note(&left->after_max, first);
    atomicInc(reinterpret_cast<unsigned*>(&first), 17);
    note(&left->after_inc, first);
    for (int turn = 0; turn < 256; ++turn) {
        if (tid == turn) atomicCAS(&first, tid - 1, tid);
        __syncthreads();
    }
    note(&left->after_cas, first);
    atomicAnd(&second, 2 * tid + 7);
    note(&left->after_and, second);
    atomicOr(&second, 1 << tid % 32);
    note(&left->after_or, second);
    atomicXor(&second, tid);
    note(&left->after_xor, second);
}

/// All threads of a block do them to its two words, without barriers, as the article has them. Launch: blocks of 256.
__global__ void sequence_as_written(int* firsts, int* seconds) {
    const int tid = static_cast<int>(threadIdx.x);
    int *const first = firsts + blockIdx.x, *const second = seconds + blockIdx.x;
    if (tid == 0) {
        *first = 0;
        *second = 255;
    }
    __syncthreads();
    operations(first, second, tid);
}

}  // namespace

std::vector<std::pair<int, int>> atomic_sequences_as_written(int blocks) {
    const auto count = static_cast<std::size_t>(blocks);
    const DeviceValues<int> firsts(count), seconds(count);
    sequence_as_written<<<static_cast<unsigned>(blocks), 256>>>(firsts.get(), seconds.get());
    LADDER_CUDA(cudaGetLastError());
    std::vector<std::pair<int, int>> left;
    for (std::size_t b = 0; b < count; ++b) left.emplace_back(firsts.fetch(b), seconds.fetch(b));
    return left;
}

unsigned left_of_lost_updates(int blocks) {
    const DeviceValues<unsigned> word;
    lose_updates<<<static_cast<unsigned>(blocks), 256>>>(word.get());
    LADDER_CUDA(cudaGetLastError());
    return word.fetch();
}

AtomicSequence atomic_sequence() {
    const DeviceValues<AtomicSequence> left;
    sequence_of_block<<<1, 256>>>(left.get());
    LADDER_CUDA(cudaGetLastError());
    return left.fetch();
}

namespace {

template <class Operation>
Rung tile_rung(const char* name, const char* change, Answer (*answer)(const Image&)) {
    return Rung{"seeds", name, change, answer, run_tiles<Operation>}
        .with(&Rung::scratch_bytes, slots_bytes<Operation>)
        .with(&Rung::divisor, 4);
}

}  // namespace

std::vector<Rung> atomic_rungs() {
    return {
        tile_rung<Add<int>>("add_int", "256 threads count bright pixels in one word, each adding 1 or 0: int",
                            exact::counts),
        tile_rung<Add<unsigned>>("add_unsigned", "the same in unsigned", exact::counts),
        Rung{"seeds", "add_lost",
             "without an atomic, all lanes read before any writes: of a warp's additions one is left", exact::lost,
             lost}
            .with(&Rung::scratch_bytes, lost_bytes)
            .with(&Rung::divisor, 4),
        tile_rung<Add<Word>>("add_long", "in 64 bits", exact::counts),
        tile_rung<Add<float>>("add_float", "in float", exact::counts),
        tile_rung<Add<double>>("add_double", "in double", exact::counts),
        tile_rung<Add<__half>>("add_half", "in half, which counts to 2048", exact::counts),
        tile_rung<AddPair<__half2>>("add_half2", "in half2: bright ones and the others in one operation",
                                    exact::count_pairs),
        tile_rung<Add<__nv_bfloat16>>("add_bfloat16", "in bfloat16, which counts to 256 and no further", exact::counts),
        tile_rung<AddPair<__nv_bfloat162>>("add_bfloat162", "in bfloat162: both in one operation", exact::count_pairs),
        tile_rung<Subtract<int>>("sub_int", "counted down from 256: int", exact::counts),
        tile_rung<Subtract<unsigned>>("sub_unsigned", "and unsigned", exact::counts),
        tile_rung<Extremes<int>>("min_max_int", "darkest and brightest of 256 pixels, below zero too: int",
                                 exact::signed_extremes),
        tile_rung<Extremes<unsigned>>("min_max_unsigned", "unsigned", exact::extremes),
        tile_rung<Extremes<long long>>("min_max_long", "64 bits with a sign", exact::signed_wide_extremes),
        tile_rung<Extremes<Word>>("min_max_unsigned_long", "64 bits without", exact::wide_extremes),
        tile_rung<Exchange<int>>("exch_int", "who puts a value in takes another out: their sum stays. int",
                                 ladder::exact::sum),
        tile_rung<Exchange<unsigned>>("exch_unsigned", "unsigned", ladder::exact::sum),
        tile_rung<Exchange<Word>>("exch_long", "64 bits", exact::exchanges_wide),
        tile_rung<Exchange<float>>("exch_float", "float", ladder::exact::sum),
        tile_rung<CompareAndSwap<int>>("cas_int", "an addition made from compare-and-swap: int", exact::counts),
        tile_rung<CompareAndSwap<unsigned>>("cas_unsigned", "unsigned", exact::counts),
        tile_rung<CompareAndSwap<Word>>("cas_long", "64 bits", exact::counts),
        tile_rung<CompareAndSwap<unsigned short>>("cas_short", "unsigned short: 16 bits", exact::counts),
        tile_rung<Turns>("inc_dec", "up past 6 to 0, down past 0 to 6; from 100, up comes to 0 and down to 6",
                         exact::wraps),
        tile_rung<Bits<int>>("bits_int", "and, or, xor of 256 words: int", exact::bits_32),
        tile_rung<Bits<unsigned>>("bits_unsigned", "unsigned", exact::bits_32),
        tile_rung<Bits<Word>>("bits_long", "64 bits", exact::bits_64),
        Rung{"seeds", "sequence", "seven operations on a thread's two words in shared memory, one after the other",
             exact::sequence, sequence},
    };
}

}  // namespace gpuhist::bench::ladder::seeds
