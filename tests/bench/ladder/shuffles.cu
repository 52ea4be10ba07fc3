// Shuffles: lanes of a warp read each other's registers. Sums by shuffles down and xor are in brightness.cu.

#include "bench/ladder/exact.hpp"
#include "bench/ladder/ladder.cuh"

namespace gpuhist::bench::ladder {
namespace {

// broadcast

constexpr int words_of_ticket = 16;  // for each lane
constexpr std::int64_t ticket_pixels = 16 * warp_lanes * words_of_ticket;

/// Warps take pieces of the image by themselves, without a block barrier: lane 0 draws the ticket, all read it from
/// lane 0. Launch: any grid. Bytes: each pixel is read once.
__global__ void __launch_bounds__(many_threads)
    broadcast_kernel(const std::uint8_t* pixels, std::int64_t count, unsigned* next, Word* answer) {
    Word sum = 0;
    while (true) {
        unsigned piece = lane_of_thread() == 0 ? atomicAdd(next, 1u) : 0;
        piece = __shfl_sync(whole_warp, piece, 0);
        const std::int64_t first = piece * ticket_pixels;
        if (first >= count) break;
#pragma unroll 4
        for (int w = 0; w < words_of_ticket; ++w) {
            const std::int64_t i = first + (w * warp_lanes + lane_of_thread()) * 16;
            if (i + 16 <= count)
                sum += sum_of_bytes(*reinterpret_cast<const uint4*>(pixels + i));
            else
                for (std::int64_t p = i; p < count; ++p) sum += pixels[p];
        }
    }
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, sum);
}

void broadcast(const Call& call) {
    auto* next = static_cast<unsigned*>(call.scratch);
    clear(call, next, sizeof(unsigned));
    clear(call, call.answer, sizeof(Word));
    launch_many(call, broadcast_kernel, call.image.samples(), pixels_of(call), call.image.samples(), next, call.answer);
}

// up

__global__ void __launch_bounds__(many_threads)
    histogram_kernel(const std::uint8_t* pixels, std::int64_t count, Word* counts) {
    const SharedHistogram histogram = SharedHistogram::cleared();
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) { for_each_byte(word, [&](unsigned v, int) { histogram.add(v); }); },
        [&](std::uint8_t value, std::int64_t) { histogram.add(value); });
    histogram.merge(counts);
}

/// Inclusive scan of 256 counts: the cumulative histogram, from which percentiles and equalization are read. In
/// log2(32) steps each lane adds what the lane 1, 2, 4, 8, 16 below has; then each warp adds the totals of those
/// before. Launch: one block of 256 threads. Barrier: the totals have been written.
__global__ void scan_kernel(const Word* counts, Word* cumulative) {
    __shared__ Word totals[256 / warp_lanes];
    const int lane = lane_of_thread(), warp = threadIdx.x / warp_lanes;
    Word sum = counts[threadIdx.x];
#pragma unroll
    for (int offset = 1; offset < warp_lanes; offset *= 2) {
        const Word below = __shfl_up_sync(whole_warp, sum, offset);
        if (lane >= offset) sum += below;  // lower lanes get their own back
    }
    if (lane == warp_lanes - 1) totals[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp; ++w) sum += totals[w];
    cumulative[threadIdx.x] = sum;
}

std::size_t counts_bytes(const Image&) {
    return 256 * sizeof(Word);
}

void cumulative(const Call& call) {
    auto* counts = static_cast<Word*>(call.scratch);
    clear(call, counts, counts_bytes(call.image));
    launch_many(call, histogram_kernel, call.image.samples(), pixels_of(call), call.image.samples(), counts);
    launch(call, scan_kernel, 1, 256, counts, call.answer);
}

// down

/// Σ |x[i + 1] − x[i]|, the total variation: small in a smooth image, large in a noisy one. A lane needs one pixel more
/// than its 16, the first of the next lane's; only the last lane reads it from memory. Differences of four bytes at
/// once: the word, and the word one byte further. Launch: any grid. Bytes: each pixel is read once, one in 512 twice.
__global__ void __launch_bounds__(many_threads)
    variation_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    Word sum = 0;
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t i) {
            unsigned next = __shfl_down_sync(whole_warp, word.x, 1);
            if (lane_of_thread() == warp_lanes - 1)
                next = 16 * (i + 1) < count ? pixels[16 * (i + 1)] : word.w >> 24;  // the image's last pixel: no step
            const unsigned parts[5] = {word.x, word.y, word.z, word.w, next};
            unsigned of_word = 0;
#pragma unroll
            for (int p = 0; p < 4; ++p) of_word += __vsadu4(parts[p], __funnelshift_r(parts[p], parts[p + 1], 8));
            sum += of_word;
        },
        [&](int value, std::int64_t place) {
            if (place + 1 < count) sum += static_cast<Word>(abs(pixels[place + 1] - value));
        });
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, sum);
}

void variation(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch_many(call, variation_kernel, call.image.samples(), pixels_of(call), call.image.samples(), call.answer);
}

// xor

/// Each 512 pixels from their own darkest upwards, summed: every lane needs that minimum, and after five exchanges with
/// the lane whose number differs in one bit every lane has it, without a broadcast. What is left behind the last whole
/// 512 is the grid's first warp's. Launch: any grid. Bytes: each pixel is read once.
__global__ void __launch_bounds__(many_threads)
    stretch_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    static_assert(stretch_pixels == 16 * warp_lanes);
    Word sum = 0;
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) {
            const unsigned four = __vminu4(__vminu4(word.x, word.y), __vminu4(word.z, word.w));
            const unsigned two = __vminu4(four, four >> 16 | four << 16);
            const unsigned lowest = reduce_warp(__vminu4(two, two >> 8 | two << 24) & 0xFFu, Minimum{});
            sum += sum_of_bytes(word) - 16 * lowest;
        },
        [](std::uint8_t, std::int64_t) {});
    if (grid_rank() < warp_lanes) {
        const std::int64_t first = count / stretch_pixels * stretch_pixels;
        unsigned lowest = 255, of_lane = 0, values = 0;
        for (std::int64_t i = first + grid_rank(); i < count; i += warp_lanes, ++values) {
            of_lane += pixels[i];
            lowest = min(lowest, static_cast<unsigned>(pixels[i]));
        }
        lowest = reduce_warp(lowest, Minimum{});
        sum += of_lane - values * lowest;
    }
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, sum);
}

void stretch(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch_many(call, stretch_kernel, call.image.samples(), pixels_of(call), call.image.samples(), call.answer);
}

// width 8

/// Means of 8 × 8 pixels: a thumbnail. A lane adds a row of 8 pixels; 8 lanes are a block of 8 rows, whose sum a
/// shuffle of width 8 finds without seeing the warp's other three blocks, which lie beside it. Launch: any grid; a warp
/// takes every n-th four blocks. Bytes: each pixel is read once, and 1/64 written. Rows that start on 8 bytes are read
/// so.
__global__ void __launch_bounds__(many_threads)
    thumbnail_kernel(const std::uint8_t* pixels, std::int64_t width, std::int64_t height, std::uint8_t* thumbnail) {
    constexpr int side = thumbnail_side, blocks_of_warp = warp_lanes / side;
    const std::int64_t columns = (width + side - 1) / side, rows = (height + side - 1) / side;
    const std::int64_t fours = (columns + blocks_of_warp - 1) / blocks_of_warp;
    const bool aligned = width % side == 0;
    for (std::int64_t i = grid_rank() / warp_lanes; i < fours * rows; i += grid_threads() / warp_lanes) {
        const std::int64_t row = i / fours, column = i % fours * blocks_of_warp + lane_of_thread() / side;
        const std::int64_t x = column * side, y = row * side + lane_of_thread() % side;
        unsigned sum = 0;
        if (y < height && x < width) {
            const std::uint8_t* first = pixels + y * width + x;
            if (aligned) {
                const uint2 eight = *reinterpret_cast<const uint2*>(first);
                sum = __dp4a(eight.x, 0x01010101u, __dp4a(eight.y, 0x01010101u, 0u));
            } else {
                for (int p = 0; p < side && x + p < width; ++p) sum += first[p];
            }
        }
#pragma unroll
        for (int offset = side / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(whole_warp, sum, offset, side);
        if (lane_of_thread() % side == 0 && column < columns) {
            const auto count = static_cast<unsigned>(min(std::int64_t{side}, width - x) *
                                                     min(std::int64_t{side}, height - row * side));
            thumbnail[row * columns + column] = static_cast<std::uint8_t>((sum + count / 2) / count);
        }
    }
}

void thumbnail(const Call& call) {
    const std::int64_t width = call.image.width, height = call.image.height;
    const std::int64_t means =
        ((width + thumbnail_side - 1) / thumbnail_side) * ((height + thumbnail_side - 1) / thumbnail_side);
    clear(call, call.answer + (means - 1) / 8, sizeof(Word));  // the last word may end in zeros
    launch_many(call, thumbnail_kernel, call.image.samples(), pixels_of(call), width, height,
                reinterpret_cast<std::uint8_t*>(call.answer));
}

// width 16

/// Sum of each 256 pixels, the profile of a line camera: 16 lanes of 16 bytes are a segment, and a warp sums two at
/// once. Launch: any grid. Bytes: each pixel is read once, and 1/32 written. Single pixels, at most two segments' that
/// have been cleared, add themselves.
__global__ void __launch_bounds__(many_threads)
    segments_kernel(const std::uint8_t* pixels, std::int64_t count, Word* sums) {
    constexpr int lanes = static_cast<int>(segment_pixels / 16);
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t i) {
            unsigned sum = sum_of_bytes(word);
#pragma unroll
            for (int offset = lanes / 2; offset > 0; offset /= 2)
                sum += __shfl_down_sync(whole_warp, sum, offset, lanes);
            if (lane_of_thread() % lanes == 0) sums[i / lanes] = sum;
        },
        [&](std::uint8_t pixel, std::int64_t place) { atomicAdd(sums + place / segment_pixels, Word{pixel}); });
}

void segments(const Call& call) {
    const std::int64_t pixels = call.image.samples(), all = (pixels + segment_pixels - 1) / segment_pixels;
    const std::int64_t whole = pixels / 512 * (512 / segment_pixels);
    if (whole < all) clear(call, call.answer + whole, static_cast<std::size_t>(all - whole) * sizeof(Word));
    launch_many(call, segments_kernel, pixels, pixels_of(call), pixels, call.answer);
}

}  // namespace

std::vector<Rung> shuffle_rungs() {
    const auto rung = [](const char* name, const char* change, Answer (*answer)(const Image&),
                         void (*run)(const Call&)) {
        return Rung{"shuffle", name, change, answer, run};
    };
    return {
        rung("broadcast", "a warp draws its own tickets: lane 0 draws, all read it, and no block waits", exact::sum,
             broadcast)
            .with(&Rung::scratch_bytes, one_word),
        rung("up", "a scan in registers makes the histogram cumulative: lanes add what lower lanes have",
             exact::cumulative, cumulative)
            .with(&Rung::scratch_bytes, counts_bytes),
        rung("down", "a lane's right neighbor from the next lane: differences of neighboring pixels, one read",
             exact::variation, variation),
        rung("xor", "every lane learns the minimum of the warp's 512 pixels, and subtracts it", exact::stretched,
             stretch),
        rung("width_8", "four shuffles of 8 lanes in one: means of 8 x 8 pixels", exact::thumbnail, thumbnail),
        rung("width_16", "two shuffles of 16 lanes in one: sums of 256 pixels", exact::segment_sums, segments),
    };
}

}  // namespace gpuhist::bench::ladder
