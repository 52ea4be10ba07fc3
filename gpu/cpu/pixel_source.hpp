// Pixel sources: a view, and its unmasked pixels. Accumulators are shown samples of these, and know neither where they
// lay nor why others are left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/channels.hpp"
#include "core/codes.hpp"
#include "cpu/simd/avx2.hpp"
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

using core::Positions;

/// Samples of a view, from a pixel on.
template <class Sample, class Void>
auto* samples_at(const BasicImageView<Void>& image, std::int64_t row, std::int64_t column) {
    using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
    using At = std::conditional_t<std::is_const_v<Void>, const Sample, Sample>;
    return reinterpret_cast<At*>(static_cast<Byte*>(image.data) + row * image.row_bytes) + column * image.channels;
}

/// Walk over a view: calls piece(pointer, pixels) for the consecutive parts of rows that hold the pixels [begin, end),
/// numbered row after row.
template <class Sample, class Void, class Piece>
void for_pieces(const BasicImageView<Void>& image, std::int64_t begin, std::int64_t end, const Piece& piece) {
    const bool packed = image.height == 1 || image.row_bytes == image.packed_row_bytes();
    const std::int64_t width = packed ? image.pixels() : image.width;
    while (begin < end) {
        const std::int64_t row = begin / width, column = begin % width;
        const std::int64_t pixels = std::min(end - begin, width - column);
        piece(samples_at<Sample>(image, row, column), pixels);
        begin += pixels;
    }
}

/// Validity that masks no pixel: the question compiles to nothing.
struct EveryPixel {
    static constexpr bool every = true;
};

/// Validity by a mask: one byte per pixel, 0 where it is masked.
struct MaskedPixels {
    static constexpr bool every = false;
    const std::uint8_t* mask;
    std::int64_t row_bytes, width;

    /// Bytes of at most `block_pixels` pixels, numbered row after row, from this one on: in the mask or, where they lie
    /// in several rows, in `storage`.
    const std::uint8_t* bytes(std::int64_t first, int pixels, std::uint8_t* storage) const {
        std::int64_t row = first / width, column = first % width;
        if (row_bytes == width || column + pixels <= width) return mask + row * row_bytes + column;
        for (int done = 0; done < pixels; ++row, column = 0) {
            const int part = static_cast<int>(std::min<std::int64_t>(pixels - done, width - column));
            std::copy_n(mask + row * row_bytes + column, part, storage + done);
            done += part;
        }
        return storage;
    }
};

/// Number of bytes that are not 0. The counters are bytes, because a register holds the most of them.
GPUHIST_SIMD inline int count_set(const std::uint8_t* bytes, int count) {
    constexpr int together = 128;
    int set = 0;
    for (; count >= together; count -= together, bytes += together) {
        std::uint8_t some = 0;
        for (int i = 0; i < together; ++i) some = static_cast<std::uint8_t>(some + (bytes[i] != 0));
        set += some;
    }
    for (int i = 0; i < count; ++i) set += bytes[i] != 0;
    return set;
}

/// Copies the pixels whose bytes are not 0. Returns how many. There is room for 16 bytes behind all pixels. The loop
/// has no branch to be mispredicted: every pixel is copied, and the next one over it where it is masked.
template <int channels, class Sample>
int gather_set(const Sample* samples, const std::uint8_t* bytes, int pixels, Sample* to) {
    static const bool wide = avx2::supported();
    int filled = 0;
    int p = wide ? avx2::gather(reinterpret_cast<const std::byte*>(samples), bytes, pixels, channels * sizeof(Sample),
                                reinterpret_cast<std::byte*>(to), filled)
                 : 0;
    for (; p < pixels; ++p) {
        for (int c = 0; c < channels; ++c) to[filled * channels + c] = samples[p * channels + c];
        filled += bytes[p] != 0;
    }
    return filled;
}

/// Unmasked pixels of a view.
template <class Validity>
struct PixelSource {
    ImageView image;
    Validity counts;
};

/// Choice of the unmasked pixels, made in this place alone: calls `use` with the source of an image.
template <class Use>
decltype(auto) with_pixel_source(const ImageView& image, const Use& use) {
    if (!image.mask) return use(PixelSource<EveryPixel>{image, {}});
    return use(PixelSource<MaskedPixels>{image, {image.mask, image.mask_row_bytes, image.width}});
}

/// Walk over the unmasked ones of the pixels [begin, end): pieces are parts of rows without masked pixels or, at most
/// `block_pixels`, copies without them.
template <class Sample, class Validity, class Piece>
void for_pieces(const PixelSource<Validity>& source, std::int64_t begin, std::int64_t end, const Piece& piece) {
    if constexpr (Validity::every) {
        for_pieces<Sample>(source.image, begin, end, piece);
    } else {
        constexpr int most_channels = 4;
        const int channels = source.image.channels;
        alignas(64) Sample counted[block_pixels * most_channels + 16];
        alignas(64) std::uint8_t storage[block_pixels];
        const auto gather = channels == 1   ? &gather_set<1, Sample>
                            : channels == 3 ? &gather_set<3, Sample>
                                            : &gather_set<4, Sample>;
        std::int64_t number = begin;
        for_pieces<Sample>(source.image, begin, end, [&](const Sample* samples, std::int64_t pixels) {
            std::int64_t whole = 0;  // unmasked pixels before the block that are not yet shown
            for (std::int64_t done = 0; done < pixels; done += block_pixels) {
                const int part = static_cast<int>(std::min(block_pixels, pixels - done));
                const std::uint8_t* const bytes = source.counts.bytes(number, part, storage);
                number += part;
                const int set = count_set(bytes, part);
                const Sample* const from = samples + done * channels;
                if (set == part) {
                    whole += part;
                    continue;
                }
                if (whole > 0) piece(from - whole * channels, whole);
                whole = 0;
                if (set > 0)
                    piece(static_cast<const Sample*>(counted), std::int64_t{gather(from, bytes, part, counted)});
            }
            if (whole > 0) piece(samples + (pixels - whole) * channels, whole);
        });
    }
}

/// Walk over the unmasked ones of the pixels [begin, end), in blocks of at most `block_pixels`.
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
