// Each atomic operation at work for which it is made. Blocks add up first (reduce_block), so that few atomics meet;
// where that is so, the rungs cost a sweep, and the rest of the figure is what the operation is used for.

#include <limits>

#include "bench/ladder/exact.hpp"
#include "bench/ladder/ladder.cuh"

namespace gpuhist::bench::ladder {
namespace {

constexpr Word places = Word{1} << 40;  // a pixel's place fits below its value in 64 bits

/// Launch: one thread. For starting values that memset cannot write.
__global__ void set(Word* target, Word value) {
    *target = value;
}

// add

/// Pixels at the ends of the scale, where the camera has clipped. Launch: any grid. Bytes: each pixel is read once. A
/// comparison of four bytes gives 0xFF for each that is equal: an eighth of the bits set is their number.
__global__ void __launch_bounds__(many_threads)
    clipped_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    Word low = 0, high = 0;
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) {
            for (unsigned four : {word.x, word.y, word.z, word.w}) {
                low += __popc(__vcmpeq4(four, 0u)) / 8;
                high += __popc(__vcmpeq4(four, 0xFFFFFFFFu)) / 8;
            }
        },
        [&](std::uint8_t pixel, std::int64_t) {
            low += pixel == 0;
            high += pixel == 255;
        });
    low = reduce_block(low, Word{0}, Sum{});
    high = reduce_block(high, Word{0}, Sum{});
    if (threadIdx.x == 0) {
        atomicAdd(answer, low);
        atomicAdd(answer + 1, high);
    }
}

void clipped(const Call& call) {
    clear(call, call.answer, 2 * sizeof(Word));
    launch_many(call, clipped_kernel, call.image.samples(), pixels_of(call), call.image.samples(), call.answer);
}

// sub

/// Counts down the work that is left, here 16 pixels per unit: the block that takes it to zero knows that the sum is
/// complete, and computes the mean from it. Unlike a count of blocks, it need not know who does how much. Launch: any
/// grid. Fences: the block's sum is in before its work counts as done; the sum is read after all work has. Single
/// pixels are fewer than 512, and so all the first block's: it may count a unit as done with its first pixel.
__global__ void __launch_bounds__(many_threads)
    countdown_kernel(const std::uint8_t* pixels, std::int64_t count, unsigned* left, Word* answer) {
    Word sum = 0;
    unsigned units = 0;
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) {
            sum += sum_of_bytes(word);
            ++units;
        },
        [&](std::uint8_t pixel, std::int64_t place) {
            sum += pixel;
            units += place % 16 == 0;
        });
    sum = reduce_block(sum, Word{0}, Sum{});
    units = reduce_block(units, 0u, Sum{});
    if (threadIdx.x != 0 || units == 0) return;
    atomicAdd(answer, sum);
    __threadfence();
    if (atomicSub(left, units) != units) return;
    __threadfence();
    answer[1] = atomicAdd(answer, Word{0}) / static_cast<Word>(count);
}

/// Launch: one thread.
__global__ void start_countdown(unsigned* left, unsigned units, Word* answer) {
    *left = units;
    *answer = 0;
}

void countdown(const Call& call) {
    const std::int64_t pixels = call.image.samples();
    auto* left = static_cast<unsigned*>(call.scratch);
    launch(call, start_countdown, 1, 1, left, static_cast<unsigned>((pixels + 15) / 16), call.answer);
    launch_many(call, countdown_kernel, pixels, pixels_of(call), pixels, left, call.answer);
}

// Tiles of 4096 pixels, 16 for each thread of a block

constexpr int tile_threads = static_cast<int>(tile_pixels / 16);

std::int64_t tiles_of(const Image& image) {
    return (image.samples() + tile_pixels - 1) / tile_pixels;
}

/// Calls `on_tile(tile, value)` in thread 0, the value being that of all 16-byte words `of_word`, or of single pixels
/// `of_pixel`, combined. Launch: any grid of blocks of `tile_threads`; a block takes every n-th tile.
template <class OfWord, class OfPixel, class Combine, class OnTile>
__device__ void for_each_tile(const std::uint8_t* pixels, std::int64_t count, Word identity, OfWord of_word,
                              OfPixel of_pixel, Combine combine, OnTile on_tile) {
    const std::int64_t tiles = (count + tile_pixels - 1) / tile_pixels;
    for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const std::int64_t first = tile * tile_pixels + threadIdx.x * 16;
        Word value = identity;
        if (first + 16 <= count)
            value = of_word(*reinterpret_cast<const uint4*>(pixels + first));
        else
            for (std::int64_t i = first; i < count; ++i) value = combine(value, of_pixel(pixels[i]));
        value = reduce_block(value, identity, combine);
        if (threadIdx.x == 0) on_tile(tile, value);
    }
}

// exch

constexpr unsigned no_tile = 0xFFFFFFFFu;

/// An index of the image: for each value the list of tiles of which it is the maximum, so that whoever looks for bright
/// spots visits few tiles. A tile becomes its list's head in one exchange, without a lock, and the old head its
/// successor. Until the launch ends a list may still lack that link: it is read by the next launch.
__global__ void __launch_bounds__(tile_threads)
    build_lists(const std::uint8_t* pixels, std::int64_t count, unsigned* heads, unsigned* next) {
    for_each_tile(
        pixels, count, Word{0},
        [](const uint4& word) {
            const unsigned four = __vmaxu4(__vmaxu4(word.x, word.y), __vmaxu4(word.z, word.w));
            const unsigned two = __vmaxu4(four, four >> 16);
            return Word{__vmaxu4(two, two >> 8) & 0xFFu};
        },
        [](std::uint8_t pixel) { return Word{pixel}; }, Maximum{},
        [&](std::int64_t tile, Word value) {
            const auto number = static_cast<unsigned>(tile);
            next[number] = atomicExch(heads + value, number);
        });
}

/// Each list's length and the sum of its tiles' numbers. Launch: one thread per list. No list is longer than all tiles.
__global__ void walk_lists(const unsigned* heads, const unsigned* next, std::int64_t tiles, Word* answer) {
    Word length = 0, sum = 0;
    for (unsigned tile = heads[threadIdx.x]; tile != no_tile && length < static_cast<Word>(tiles); tile = next[tile]) {
        ++length;
        sum += tile;
    }
    answer[2 * threadIdx.x] = length;
    answer[2 * threadIdx.x + 1] = sum;
}

std::size_t lists_bytes(const Image& image) {
    return (256 + static_cast<std::size_t>(tiles_of(image))) * sizeof(unsigned);
}

void lists(const Call& call) {
    auto* heads = static_cast<unsigned*>(call.scratch);
    LADDER_CUDA(cudaMemsetAsync(heads, 0xFF, 256 * sizeof(unsigned), call.stream));
    launch(call, build_lists, std::min<std::int64_t>(tiles_of(call.image), resident_blocks(build_lists, tile_threads)),
           tile_threads, pixels_of(call), call.image.samples(), heads, heads + 256);
    launch(call, walk_lists, 1, 256, heads, heads + 256, tiles_of(call.image), call.answer);
}

// min, max

/// Where the darkest pixel is, or the brightest: value and place in one word, so that one atomic decides about both.
/// Of equal values the first place wins. A thread sees its pixels in ascending order and keeps the first.
template <bool Brightest>
__global__ void __launch_bounds__(many_threads)
    extreme_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    unsigned best = Brightest ? 0 : 255;
    std::int64_t place = -1;
    const auto look = [&](unsigned value, std::int64_t at) {
        if (place < 0 || (Brightest ? value > best : value < best)) {
            best = value;
            place = at;
        }
    };
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t at) {
            for_each_byte(word, [&](unsigned value, int byte) { look(value, 16 * at + byte); });
        },
        [&](std::uint8_t value, std::int64_t at) { look(value, at); });
    if constexpr (Brightest) {
        const Word key = place < 0 ? 0 : best * places + (places - 1 - static_cast<Word>(place));
        const Word of_block = reduce_block(key, Word{0}, Maximum{});
        if (threadIdx.x == 0) atomicMax(answer, of_block);
    } else {
        const Word key = place < 0 ? ~Word{0} : best * places + static_cast<Word>(place);
        const Word of_block = reduce_block(key, ~Word{0}, Minimum{});
        if (threadIdx.x == 0) atomicMin(answer, of_block);
    }
}

template <bool Brightest>
void extreme(const Call& call) {
    LADDER_CUDA(cudaMemsetAsync(call.answer, Brightest ? 0 : 0xFF, sizeof(Word), call.stream));
    launch_many(call, extreme_kernel<Brightest>, call.image.samples(), pixels_of(call), call.image.samples(),
                call.answer);
}

// inc

/// Whose turn it is, round and round: the tiles' sums go to a ring of sums by turns, so that blocks that are done
/// together do not queue for one address. The turn wraps by itself.
__global__ void __launch_bounds__(tile_threads)
    fill_ring(const std::uint8_t* pixels, std::int64_t count, unsigned* turn, Word* ring) {
    for_each_tile(
        pixels, count, Word{0}, [](const uint4& word) { return Word{sum_of_bytes(word)}; },
        [](std::uint8_t pixel) { return Word{pixel}; }, Sum{},
        [&](std::int64_t, Word sum) { atomicAdd(ring + atomicInc(turn, ring_slots - 1), sum); });
}

/// Launch: one block of 64 threads.
__global__ void add_ring(const Word* ring, const unsigned* turn, Word* answer) {
    const Word sum = reduce_block(threadIdx.x < ring_slots ? ring[threadIdx.x] : 0, Word{0}, Sum{});
    if (threadIdx.x == 0) {
        answer[0] = sum;
        answer[1] = *turn;
    }
}

std::size_t ring_bytes(const Image&) {
    return (ring_slots + 1) * sizeof(Word);
}

void ring(const Call& call) {
    auto* sums = static_cast<Word*>(call.scratch);
    auto* turn = reinterpret_cast<unsigned*>(sums + ring_slots);
    clear(call, sums, ring_bytes(call.image));
    launch(call, fill_ring, std::min<std::int64_t>(tiles_of(call.image), resident_blocks(fill_ring, tile_threads)),
           tile_threads, pixels_of(call), call.image.samples(), turn, sums);
    launch(call, add_ring, 1, 64, sums, turn, call.answer);
}

// dec

constexpr std::int64_t ticket_pixels = 64 * 1024;

/// 0 between launches, which must follow each other.
__device__ unsigned tickets = 0;

/// A block that is done takes a ticket for the next piece of the image: fast blocks take more. The counter is decreased
/// from 0 to `last`, and on to 0 again: there is a ticket for each piece and one for each block, by which it knows that
/// nothing is left, so that the counter ends as it began. Launch: any grid. Barriers: the ticket has been drawn; it has
/// been read.
__global__ void __launch_bounds__(many_threads)
    tickets_kernel(const std::uint8_t* pixels, std::int64_t count, unsigned pieces, Word* answer) {
    __shared__ unsigned drawn;
    const unsigned all = pieces + gridDim.x;
    Word sum = 0;
    while (true) {
        if (threadIdx.x == 0) drawn = atomicDec(&tickets, all - 1);
        __syncthreads();
        const unsigned piece = drawn == 0 ? 0 : all - drawn;  // 0, all − 1, all − 2, ... were drawn in this order
        __syncthreads();
        if (piece >= pieces) break;
        const std::int64_t first = piece * ticket_pixels, last = min(first + ticket_pixels, count);
        for (std::int64_t i = first + threadIdx.x * 16; i < last; i += many_threads * 16) {
            if (i + 16 <= last)
                sum += sum_of_bytes(*reinterpret_cast<const uint4*>(pixels + i));
            else
                for (std::int64_t p = i; p < last; ++p) sum += pixels[p];
        }
    }
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, sum);
}

void draw_tickets(const Call& call) {
    const std::int64_t pixels = call.image.samples();
    clear(call, call.answer, sizeof(Word));
    launch_many(call, tickets_kernel, pixels, pixels_of(call), pixels,
                static_cast<unsigned>((pixels + ticket_pixels - 1) / ticket_pixels), call.answer);
}

// compare-and-swap: any operation on a word. What was there is read, the result computed, and stored if nobody has
// stored another meanwhile; else again, with what there is now. Somebody always gets through.

/// CUDA has no atomicMax for float. Never stores a NaN; −∞ to begin with.
__device__ void atomic_max(float* target, float value) {
    auto* bits = reinterpret_cast<unsigned*>(target);
    unsigned found = *static_cast<volatile unsigned*>(bits);
    while (__uint_as_float(found) < value) {
        const unsigned expected = found;
        found = atomicCAS(bits, expected, __float_as_uint(value));
        if (found == expected) return;
    }
}

__global__ void __launch_bounds__(many_threads)
    float_maximum_kernel(const float* samples, std::int64_t count, float* answer) {
    float largest = -INFINITY;
    sweep(
        samples, count,
        [&](const uint4& word, std::int64_t) {
            for (unsigned bits : {word.x, word.y, word.z, word.w})
                largest = fmaxf(largest, __uint_as_float(bits));  // of a NaN and a number fmaxf returns the number
        },
        [&](float sample, std::int64_t) { largest = fmaxf(largest, sample); });
    largest = reduce_block(largest, -INFINITY, Maximum{});
    if (threadIdx.x == 0) atomic_max(answer, largest);
}

void float_maximum(const Call& call) {
    constexpr Word minus_infinity = 0xFF800000u;
    launch(call, set, 1, 1, call.answer, minus_infinity);
    launch_many(call, float_maximum_kernel, 4 * call.image.samples(), call.image.on_device<float>(),
                call.image.samples(), reinterpret_cast<float*>(call.answer));
}

/// Sum that stops at the largest number instead of beginning again from zero.
struct SaturatingSum {
    __device__ Word operator()(Word a, Word b) const {
        const Word sum = a + b;
        return sum < a ? ~Word{0} : sum;
    }
};

__device__ void atomic_saturating_add(Word* target, Word value) {
    Word found = *static_cast<volatile Word*>(target), expected;
    do {
        expected = found;
        found = atomicCAS(target, expected, SaturatingSum{}(expected, value));
    } while (found != expected);
}

/// Σ x³ of 16-bit samples, for the skewness: 2^16 bright ones pass 64 bits, and a wrapped sum would look like any
/// other.
__global__ void __launch_bounds__(many_threads)
    cubes_kernel(const std::uint16_t* samples, std::int64_t count, Word* answer) {
    Word sum = 0;
    const auto cube = [](Word x) { return x * x * x; };
    sweep(
        samples, count,
        [&](const uint4& word, std::int64_t) {
            Word of_word = 0;  // of 8 samples, below 2^51
            for (unsigned two : {word.x, word.y, word.z, word.w}) of_word += cube(two & 0xFFFFu) + cube(two >> 16);
            sum = SaturatingSum{}(sum, of_word);
        },
        [&](std::uint16_t sample, std::int64_t) { sum = SaturatingSum{}(sum, cube(sample)); });
    sum = reduce_block(sum, Word{0}, SaturatingSum{});
    if (threadIdx.x == 0) atomic_saturating_add(answer, sum);
}

void cubes(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch_many(call, cubes_kernel, 2 * call.image.samples(), call.image.on_device<std::uint16_t>(),
                call.image.samples(), call.answer);
}

// or, and, xor: which bits a 16-bit image really uses. Or minus and: those that ever change, hence its effective depth;
// xor: whether an odd number of samples has the bit, a checksum that two copies of an image must share.

struct Or {
    static constexpr unsigned identity = 0;
    __device__ unsigned operator()(unsigned a, unsigned b) const { return a | b; }
    static __device__ void atomic(Word* target, Word bits) { atomicOr(target, bits); }
};
struct And {
    static constexpr unsigned identity = 0xFFFFFFFFu;
    __device__ unsigned operator()(unsigned a, unsigned b) const { return a & b; }
    static __device__ void atomic(Word* target, Word bits) { atomicAnd(target, bits); }
};
struct Xor {
    static constexpr unsigned identity = 0;
    __device__ unsigned operator()(unsigned a, unsigned b) const { return a ^ b; }
    static __device__ void atomic(Word* target, Word bits) { atomicXor(target, bits); }
};

/// Two samples lie in each 32 bits, and are told apart no sooner than at the end.
template <class Combine>
__global__ void __launch_bounds__(many_threads)
    bits_kernel(const std::uint16_t* samples, std::int64_t count, Word* answer) {
    const Combine combine{};
    unsigned bits = Combine::identity;
    sweep(
        samples, count,
        [&](const uint4& word, std::int64_t) {
            bits = combine(bits, combine(combine(word.x, word.y), combine(word.z, word.w)));
        },
        [&](unsigned sample, std::int64_t) { bits = combine(bits, sample | (Combine::identity & 0xFFFF0000u)); });
    bits = reduce_block(bits, Combine::identity, combine);
    if (threadIdx.x == 0) Combine::atomic(answer, combine(bits & 0xFFFFu, bits >> 16));
}

template <class Combine>
void bits(const Call& call) {
    launch(call, set, 1, 1, call.answer, Word{Combine::identity & 0xFFFFu});
    launch_many(call, bits_kernel<Combine>, 2 * call.image.samples(), call.image.on_device<std::uint16_t>(),
                call.image.samples(), call.answer);
}

}  // namespace

std::vector<Rung> atomic_rungs() {
    const auto rung = [](const char* name, const char* change, Answer (*answer)(const Image&),
                         void (*run)(const Call&)) {
        return Rung{"atomic", name, change, answer, run};
    };
    return {
        rung("add", "clipped pixels, at 0 and at 255: two counts that every block adds to", exact::clipped, clipped),
        rung("sub", "work that is left, counted down: who takes it to zero finishes, and computes the mean",
             exact::sum_and_mean, countdown)
            .with(&Rung::scratch_bytes, one_word),
        rung("exch", "lists of tiles by their brightest pixel: a tile becomes its list's head without a lock",
             exact::tiles_by_maximum, lists)
            .with(&Rung::scratch_bytes, lists_bytes)
            .with(&Rung::divisor, 16),
        rung("min", "the darkest pixel and its place, packed in one word so that one atomic decides about both",
             exact::darkest, extreme<false>),
        rung("max", "the brightest pixel and its first place, as the complement", exact::brightest, extreme<true>),
        rung("inc", "turns that wrap: tiles add to a ring of sums, so that they do not queue for one",
             exact::sum_and_turn, ring)
            .with(&Rung::scratch_bytes, ring_bytes),
        rung("dec", "tickets for pieces of the image: fast blocks take more, and the counter ends where it began",
             exact::sum, draw_tickets),
        rung("cas_float_maximum", "compare-and-swap makes what is missing: a maximum of floats", exact::maximum,
             float_maximum)
            .with(&Rung::depth, Depth::f32),
        rung("cas_saturating_sum", "compare-and-swap in 64 bits: a sum of cubes that stops instead of wrapping",
             exact::cubes, cubes)
            .with(&Rung::depth, Depth::u16),
        rung("or", "bits that any sample of a 16-bit image has", exact::bits_or, bits<Or>)
            .with(&Rung::depth, Depth::u16),
        rung("and", "bits that all samples have: or without and are the bits in use, the effective depth",
             exact::bits_and, bits<And>)
            .with(&Rung::depth, Depth::u16),
        rung("xor", "parity of each bit: a checksum", exact::bits_xor, bits<Xor>).with(&Rung::depth, Depth::u16),
    };
}

}  // namespace gpuhist::bench::ladder
