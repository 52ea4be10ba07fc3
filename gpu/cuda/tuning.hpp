// Numbers by which kernels are launched and their work is cut. Each has the figure that chose it, on an NVIDIA H200
// unless it says otherwise. Fractions are of the read-only sweep of 1 GiB. Every trial: tests/bench/TUNING.md.
#pragma once

#include <cstdint>

namespace gpuhist::cuda {

/// Threads of a block, which has one set of counters. Gray u8 has two blocks per multiprocessor: 0.985, with one 0.961;
/// BGR one: 0.92, with two 0.79.
inline constexpr int block_threads = 1024;

/// Threads and blocks per multiprocessor of a batch, so that one block counts while another gathers: 4096 × 224 × 224
/// BGR 0.75 with 2 × 384, 0.73 with 2 × 352; with luma 0.65 with 640, 0.62 with 800.
constexpr int batch_threads_of(int channels) {
    return channels == 1 ? 256 : channels <= 3 ? 384 : 640;
}
constexpr int batch_blocks(int channels) {
    return channels == 1 ? 4 : channels <= 3 ? 2 : 1;
}

/// Most resident blocks per multiprocessor of any other kernel: more, smaller ones were slower.
inline constexpr int blocks_per_multiprocessor = 2;

/// Pixels that are worth a block, which must clear and merge its counters. 1 MB of BGR: a copy of u8 11.7 µs, with
/// 16384 pixels 12.9; f32, brief, 20.9, with 4096 pixels 22.5; f32 in full 69, with 8192 pixels 73.
inline constexpr std::int64_t u8_pixels_per_block = 8 * 1024;
constexpr std::int64_t f32_pixels_per_block(int channels, bool full) {
    if (full) return channels == 1 ? 8 * 1024 : 4 * 1024;
    return channels == 1 ? 4 * 1024 : 2 * 1024;
}
/// Pixels of a list's u16 image up to which one block counts it alone. All blocks count larger ones together: 0.5 MB of
/// gray take 21 µs, with 8192 pixels per block 29.
inline constexpr std::int64_t u16_pixels_alone = 64 * 1024;

/// Blocks of 64 that count the two lighter channels of u16 BGR with luma, so that both roles keep the same pace, and
/// the second reads from L2. 1 GiB of random pixels on an H100: 640 µs, and with 28 and 30 of 64 814 and 661 µs; 1.25
/// GB are read, with 28 1.83.
inline constexpr int lighter_role_blocks = 29;

/// Rounds of a resident image that are on their way together: 25 MB of gray u8 21.5 µs, with 12 rounds 23.8. And the
/// least part of an image that is worth the cache it takes: 536 MB of BGR 412 µs with a smaller one, 400 without.
inline constexpr int resident_rounds_ahead = 3, least_resident_part = 8;

/// Threads of a block for f32; few when brief, so that each has registers for many groups on their way. Brief gray
/// 0.453 (768: 0.449), BGR 0.404 (640: 0.381); full gray of 1, 4 and 8 MB 57, 74 and 86 µs (1024: 62, 87 and 97; H100).
constexpr int f32_threads_of(int channels, bool full) {
    return full ? 768 : (channels == 1 ? 640 : 512);
}

/// Pixels per sampled one for speculation (f32, brief), odd so that images of common widths are sampled in all columns;
/// and parts of the sample: 1 GiB of a photograph takes 323 µs gray and 452 BGR, every 59th 512 and 480.
inline constexpr int sample_every = 23, sample_parts = 32;
/// Most images without speculation after a useless one: then it costs 2 µs of 151.
inline constexpr std::uint32_t most_backoff = 15;
/// Most width of a window, in bins: of 1 GiB windows are a few ten-thousandths of a bin wide.
inline constexpr double most_window = 0x1p-8;
/// Pixels from which L2 does not hold an image for a second sweep, so that speculation may pay: 64 MB.
constexpr std::int64_t sampled_pixels(int channels) {
    return (std::int64_t{1} << 24) / channels;
}
/// Pixels from which listing the samples in windows pays: 256 MiB of gray 122 µs for 151, 64 MiB 68 for 57.
constexpr std::int64_t listed_pixels(int channels) {
    return (std::int64_t{1} << 26) / channels;
}

/// Groups of a thread that are on their way together when an f32 copy is written: 512 MiB of gray 558 µs (2: 587), BGR
/// 604 (4: 624).
constexpr int apply_unroll_of(int channels) {
    return channels == 3 ? 6 : 4;
}

}  // namespace gpuhist::cuda
