// Walking an image: pieces of rows, blocks of pixels, planes of channels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/luma.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

// Loops worth compiling for wider registers too, the best picked at load time. Sanitizers must start before the code
// that picks; they get the plain loops, as do other compilers and processors.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__OPTIMIZE__)
#define GPUHIST_SIMD __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define GPUHIST_SIMD
#endif

namespace gpuhist::cpu {

/// Pixels handled at a time where an intermediate (luma, planes) is kept in the innermost cache.
inline constexpr std::int64_t block_pixels = 512;

/// A sweep's part for one thread at a time: long enough to hide the hand-out, short enough to balance.
inline constexpr std::int64_t tile_pixels = std::int64_t{1} << 16;

/// Below this a second thread gains nothing.
inline constexpr std::int64_t serial_pixels = std::int64_t{1} << 17;

/// Positions of the colours in an interleaved pixel.
struct Positions {
    int red, green, blue;
    explicit Positions(ChannelOrder order)
        : red(order == ChannelOrder::bgr ? 2 : 0), green(1), blue(order == ChannelOrder::bgr ? 0 : 2) {}
};

/// Calls piece(pointer, pixels) for the consecutive parts of rows that hold the pixels [begin, end), counted row after
/// row; `Sample` may be const.
template <class Sample, class Void, class Piece>
void for_pieces(const BasicImageView<Void>& image, std::int64_t begin, std::int64_t end, const Piece& piece) {
    using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
    const bool packed = image.height == 1 || image.row_bytes == image.packed_row_bytes();
    const std::int64_t width = packed ? image.pixels() : image.width;
    while (begin < end) {
        const std::int64_t row = begin / width, column = begin % width;
        const std::int64_t pixels = std::min(end - begin, width - column);
        Byte* start = static_cast<Byte*>(image.data) + (packed ? 0 : row * image.row_bytes);
        piece(reinterpret_cast<Sample*>(start) + column * image.channels, pixels);
        begin += pixels;
    }
}

/// The same, in blocks of at most `block_pixels`.
template <class Sample, class Void, class Block>
void for_blocks(const BasicImageView<Void>& image, std::int64_t begin, std::int64_t end, const Block& block) {
    for_pieces<Sample>(image, begin, end, [&](Sample* samples, std::int64_t pixels) {
        for (std::int64_t done = 0; done < pixels; done += block_pixels)
            block(samples + done * image.channels, static_cast<int>(std::min(block_pixels, pixels - done)));
    });
}

/// Rows of an f32 image: as the channels of its Analysis.
enum Row { red_row, green_row, blue_row, luma_row, alpha_row, color_rows };

/// One block of an f32 image, a plane a channel.
struct Planes {
    alignas(64) float values[color_rows][block_pixels];
};

/// Fills the planes from interleaved samples, luma included; a 1-channel block fills the first alone.
void split(const float* samples, int pixels, int channels, ChannelOrder order, Planes& planes);

}  // namespace gpuhist::cpu
