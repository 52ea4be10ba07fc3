// Pixel sources: a view, and which of its pixels count. Accumulators are shown samples that count, and know neither
// where these lay nor why others are left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/codes.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

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

/// Positions of the colours in an interleaved pixel.
struct Positions {
    int red, green, blue;
    explicit Positions(ChannelOrder order)
        : red(order == ChannelOrder::bgr ? 2 : 0), green(1), blue(order == ChannelOrder::bgr ? 0 : 2) {}
};

/// Walk over a view: calls piece(pointer, pixels) for the consecutive parts of rows that hold the pixels [begin, end),
/// numbered row after row; `Sample` may be const.
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

/// Validity of which every pixel counts: the question compiles to nothing. Another one answers for pixel number p, row
/// after row, and has `every` false.
struct EveryPixel {
    static constexpr bool every = true;
    constexpr bool operator()(std::int64_t) const { return true; }
};

/// Pixels of a view that count.
template <class Validity>
struct PixelSource {
    ImageView image;
    Validity counts;
};

/// Choice of the pixels that count, made in this place alone: calls `use` with the source of an image. So far no
/// request leaves pixels out.
template <class Use>
decltype(auto) with_pixel_source(const ImageView& image, const AnalysisRequest&, const Use& use) {
    return use(PixelSource<EveryPixel>{image, {}});
}

/// Walk over those of the pixels [begin, end) that count. Where not all do, pieces are copies without the others, of at
/// most `block_pixels`.
template <class Sample, class Validity, class Piece>
void for_pieces(const PixelSource<Validity>& source, std::int64_t begin, std::int64_t end, const Piece& piece) {
    if constexpr (Validity::every) {
        for_pieces<const Sample>(source.image, begin, end, piece);
    } else {
        constexpr int most_channels = 4;
        const int channels = source.image.channels;
        alignas(64) Sample counted[block_pixels * most_channels];
        std::int64_t number = begin;
        for_pieces<const Sample>(source.image, begin, end, [&](const Sample* samples, std::int64_t pixels) {
            for (std::int64_t done = 0; done < pixels; done += block_pixels) {
                std::int64_t filled = 0;
                for (std::int64_t p = done; p < std::min(done + block_pixels, pixels); ++p) {
                    if (!source.counts(number++)) continue;
                    std::copy_n(samples + p * channels, channels, counted + filled++ * channels);
                }
                if (filled > 0) piece(static_cast<const Sample*>(counted), filled);
            }
        });
    }
}

/// Walk over those of the pixels [begin, end) that count, in blocks of at most `block_pixels`.
template <class Sample, class Validity, class Block>
void for_blocks(const PixelSource<Validity>& source, std::int64_t begin, std::int64_t end, const Block& block) {
    for_pieces<Sample>(source, begin, end, [&](const Sample* samples, std::int64_t pixels) {
        for (std::int64_t done = 0; done < pixels; done += block_pixels)
            block(samples + done * source.image.channels, static_cast<int>(std::min(block_pixels, pixels - done)));
    });
}

/// Walk as `for_pieces`, over the samples' codes: of unsigned samples these themselves, of others copies, in pieces of
/// at most `block_pixels`.
template <class Sample, class Validity, class Piece>
void for_codes(const PixelSource<Validity>& source, std::int64_t begin, std::int64_t end, const Piece& piece) {
    if constexpr (std::is_unsigned_v<Sample>) {
        for_pieces<Sample>(source, begin, end, piece);
    } else {
        constexpr int most_channels = 4;
        const int channels = source.image.channels;
        alignas(64) core::Code<Sample> codes[block_pixels * most_channels];
        for_pieces<Sample>(source, begin, end, [&](const Sample* samples, std::int64_t pixels) {
            for (std::int64_t done = 0; done < pixels; done += block_pixels) {
                const std::int64_t part = std::min(block_pixels, pixels - done);
                for (std::int64_t i = 0; i < part * channels; ++i)
                    codes[i] = core::code_of(samples[done * channels + i]);
                piece(static_cast<const core::Code<Sample>*>(codes), part);
            }
        });
    }
}

}  // namespace gpuhist::cpu
