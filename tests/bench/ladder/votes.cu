// Votes of a warp: all, any, ballot. Each shortcut stands beside the same kernel without it: what it gains where it can
// be taken, and what asking costs where it cannot.

#include "bench/ladder/exact.hpp"
#include "bench/ladder/ladder.cuh"

namespace gpuhist::bench::ladder {
namespace {

// all

/// One histogram per block. With the shortcut a warp asks whether its 512 pixels are all equal (each lane: are my 16
/// bytes those of lane 0, and equal?), and then adds once. Launch: any grid. Bytes: each pixel is read once.
template <bool Shortcut>
__global__ void __launch_bounds__(many_threads)
    uniform_kernel(const std::uint8_t* pixels, std::int64_t count, Word* counts) {
    const SharedHistogram histogram = SharedHistogram::cleared();
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) {
            if constexpr (Shortcut) {
                const unsigned four = __shfl_sync(whole_warp, word.x, 0), value = four & 0xFFu;
                const bool equal =
                    four == value * 0x01010101u && word.x == four && word.y == four && word.z == four && word.w == four;
                if (__all_sync(whole_warp, equal)) {
                    if (lane_of_thread() == 0) histogram.add(value, 16 * warp_lanes);
                    return;
                }
            }
            for_each_byte(word, [&](unsigned value, int) { histogram.add(value); });
        },
        [&](std::uint8_t value, std::int64_t) { histogram.add(value); });
    histogram.merge(counts);
}

template <bool Shortcut>
void uniform(const Call& call) {
    clear(call, call.answer, 256 * sizeof(Word));
    launch_many(call, uniform_kernel<Shortcut>, call.image.samples(), pixels_of(call), call.image.samples(),
                call.answer);
}

// any

__device__ inline bool is_nan(unsigned bits) {
    return (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

/// NaNs, and the sum of the others in steps of 2^-24, exact in integers. With the shortcut a warp asks once whether any
/// of its 128 samples is NaN, and if not adds without looking at each. Launch: any grid. Bytes: each sample is read
/// once.
template <bool Shortcut>
__global__ void __launch_bounds__(many_threads) nan_kernel(const float* samples, std::int64_t count, Word* answer) {
    Word nans = 0;
    long long sum = 0;
    const auto steps = [](unsigned bits) { return __float2ll_rn(__uint_as_float(bits) * 0x1p24f); };
    const auto look_and_add = [&](unsigned bits) {
        if (is_nan(bits))
            ++nans;
        else
            sum += steps(bits);
    };
    sweep(
        samples, count,
        [&](const uint4& word, std::int64_t) {
            if constexpr (Shortcut) {
                const bool own = is_nan(word.x) || is_nan(word.y) || is_nan(word.z) || is_nan(word.w);
                if (!__any_sync(whole_warp, own)) {
                    sum += steps(word.x) + steps(word.y) + steps(word.z) + steps(word.w);
                    return;
                }
            }
            look_and_add(word.x);
            look_and_add(word.y);
            look_and_add(word.z);
            look_and_add(word.w);
        },
        [&](float sample, std::int64_t) { look_and_add(__float_as_uint(sample)); });
    nans = reduce_block(nans, Word{0}, Sum{});
    const Word of_block = reduce_block(static_cast<Word>(sum), Word{0}, Sum{});  // two's complement
    if (threadIdx.x == 0) {
        atomicAdd(answer, nans);
        atomicAdd(answer + 1, of_block);
    }
}

template <bool Shortcut>
void nan(const Call& call) {
    clear(call, call.answer, 2 * sizeof(Word));
    launch_many(call, nan_kernel<Shortcut>, 4 * call.image.samples(), call.image.on_device<float>(),
                call.image.samples(), call.answer);
}

// ballot

/// The places of bright pixels, one behind the other in any order: one atomic per pixel gives each its slot. (A
/// compiler may join the atomics of lanes that happen to be there together; they still are 16 per word.)
__device__ void append_each(const uint4& word, unsigned first_place, unsigned* length, unsigned* list) {
    for_each_byte(word, [&](unsigned value, int byte) {
        if (value >= bright) list[atomicAdd(length, 1u)] = first_place + byte;
    });
}

/// The same with ballots: 16 of them tell every lane which pixels of the warp's 512 are bright. One atomic takes slots
/// for all; within them a pixel comes after those of earlier ballots and of lower lanes.
__device__ void append_by_ballot(const uint4& word, unsigned first_place, unsigned* length, unsigned* list) {
    unsigned ballots[16], slots = 0;
    for_each_byte(word, [&](unsigned value, int byte) {
        ballots[byte] = __ballot_sync(whole_warp, value >= bright);
        slots += __popc(ballots[byte]);
    });
    if (slots == 0) return;  // for all lanes or none
    unsigned slot = lane_of_thread() == 0 ? atomicAdd(length, slots) : 0;
    slot = __shfl_sync(whole_warp, slot, 0);
    const unsigned own = 1u << lane_of_thread();
#pragma unroll
    for (int byte = 0; byte < 16; ++byte) {
        if (ballots[byte] & own) list[slot + __popc(ballots[byte] & (own - 1))] = first_place + byte;
        slot += __popc(ballots[byte]);
    }
}

/// Launch: any grid. Bytes: each pixel is read once, and 4 are written for each that is bright. Limit: 2^32 pixels.
template <bool Ballot>
__global__ void __launch_bounds__(many_threads)
    compact_kernel(const std::uint8_t* pixels, std::int64_t count, unsigned* length, unsigned* list) {
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t i) {
            if constexpr (Ballot)
                append_by_ballot(word, static_cast<unsigned>(16 * i), length, list);
            else
                append_each(word, static_cast<unsigned>(16 * i), length, list);
        },
        [&](std::uint8_t value, std::int64_t place) {
            if (value >= bright) list[atomicAdd(length, 1u)] = static_cast<unsigned>(place);
        });
}

/// Length of the list, sum of its places and of their squares. Launch: any grid.
__global__ void __launch_bounds__(many_threads) add_places(const unsigned* length, const unsigned* list, Word* answer) {
    Word sum = 0, squares = 0;
    for (std::int64_t i = grid_rank(); i < *length; i += grid_threads()) {
        const Word place = list[i];
        sum += place;
        squares += place * place;
    }
    sum = reduce_block(sum, Word{0}, Sum{});
    squares = reduce_block(squares, Word{0}, Sum{});
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) answer[0] = *length;
    atomicAdd(answer + 1, sum);
    atomicAdd(answer + 2, squares);
}

std::size_t list_bytes(const Image& image) {
    return sizeof(unsigned) * static_cast<std::size_t>(4 + image.samples());
}

std::string too_many_places(const Image& image) {
    return image.samples() >> 32 ? "a place does not fit 32 bits" : "";
}

template <bool Ballot>
void compact(const Call& call) {
    auto* length = static_cast<unsigned*>(call.scratch);
    unsigned* list = length + 4;
    clear(call, length, sizeof(unsigned));
    clear(call, call.answer, 3 * sizeof(Word));
    launch_many(call, compact_kernel<Ballot>, call.image.samples(), pixels_of(call), call.image.samples(), length,
                list);
    launch_many(call, add_places, 4 * call.image.samples(), length, list, call.answer);
}

}  // namespace

std::vector<Rung> vote_rungs() {
    const auto rung = [](const char* name, const char* change, Answer (*answer)(const Image&),
                         void (*run)(const Call&)) {
        return Rung{"vote", name, change, answer, run};
    };
    const auto list = [&](const char* name, const char* change, void (*run)(const Call&)) {
        return rung(name, change, exact::bright_places, run)
            .with(&Rung::scratch_bytes, list_bytes)
            .with(&Rung::divisor, 16)
            .with(&Rung::obstacle, too_many_places);
    };
    return {
        rung("all_without", "one histogram per block, every pixel counted", exact::histogram, uniform<false>),
        rung("all", "a warp whose 512 pixels are all equal counts them at once: gains in flat areas only",
             exact::histogram, uniform<true>),
        rung("any_without", "NaNs counted, the others summed: each float is looked at", exact::nan_and_sum, nan<false>)
            .with(&Rung::depth, Depth::f32),
        rung("any", "a warp without any NaN sums without looking at each", exact::nan_and_sum, nan<true>)
            .with(&Rung::depth, Depth::f32),
        list("ballot_without", "a list of the bright pixels' places: one atomic per bright pixel", compact<false>),
        list("ballot", "ballots say where in the list each lane writes: an atomic for 512 pixels", compact<true>),
    };
}

}  // namespace gpuhist::bench::ladder
