// The probe: facts about an image file before it is decoded: its format, its size, and whether it is complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "decode/bytes.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::io {

struct ImageFormat;

/// Page of a TIFF.
struct PagePlace {
    std::uint64_t directory = 0;          ///< where that begins; 0: the first page's is looked for
    std::uint64_t plane = 0, planes = 1;  ///< of a stack behind one directory: which, and how many there are
    std::uint64_t mask = 0;               ///< directory of its mask; 0: it has none
    std::uint64_t number = 0;             ///< of the page; the first is 0
};

/// Findings in a file's header.
struct Probe {
    const ImageFormat* format = nullptr;  ///< null: unknown
    std::uint64_t width = 0;              ///< pixels; 0 where the file ends before it says
    std::uint64_t height = 0;             ///< pixels, as stored: before any EXIF orientation
    std::uint64_t pixel_bytes = 0;        ///< the most that a decoded pixel takes
    Depth depth = Depth::u8;              ///< of the samples, where `strip_rows` is not 0
    bool turned = false, bands = false;   ///< as StripFacts has them, where `strip_rows` is not 0
    bool stored = false;                  ///< likewise
    std::uint64_t strip_rows = 0;         ///< rows that are decoded at once at least; 0: all, since there are no strips
    PagePlace page{};                     ///< of a TIFF
    std::uint64_t pages = 1;              ///< of a TIFF whose first page is looked for
    bool masks = true;                    ///< that of a page is looked at
    std::uint64_t held_bytes = 0;         ///< of a window on the file the most that decoding holds; 0: all of it
    std::uint64_t whole_bytes = 0;        ///< that decoding all rows at once holds beside the pixels
    std::uint64_t mask_bytes = 0;         ///< that decoding a mask holds beside the pixels
    std::string truncated;                ///< empty where nothing is missing; otherwise what the file ends before
    std::string unsupported;              ///< empty, or what the samples are that gpuhist does not read
    std::string damaged;                  ///< empty, or what contradicts itself
    std::string too_large;                ///< empty, or why the file cannot hold the pixels that it claims

    /// Adds the memory that decoding a mask takes, and its faults.
    void add_mask(const Probe& mask) {
        pixel_bytes += mask.pixel_bytes;
        held_bytes += mask.held_bytes;
        mask_bytes += mask.mask_bytes;
        const auto add = [](std::string& text, const std::string& of_mask) {
            if (text.empty() && !of_mask.empty()) text = "its mask: " + of_mask;
        };
        add(truncated, mask.truncated);
        add(unsupported, mask.unsupported);
        add(damaged, mask.damaged);
        add(too_large, mask.too_large);
    }
    void set_size(std::optional<std::uint64_t> columns, std::optional<std::uint64_t> rows) {
        width = columns.value_or(0);
        height = rows.value_or(0);
    }
};

/// Inspects the bytes of a file, without decoding and without memory in proportion to the image. Never reads outside of
/// them and never throws, whatever they are. `masks`: whether to report faults of the page's mask.
Probe probe(const Bytes& file, const PagePlace& page = {}, bool masks = true);

/// Words about a header that claims more pixels than `holder`, the part of the file with the samples, has room for.
std::string cannot_hold(const std::string& holder, std::uint64_t width, std::uint64_t height);
/// Words about depths and numbers of samples per pixel that are not read.
std::string unsupported_depth(const std::string& depth);
std::string unsupported_channels(std::uint64_t count);
/// Words for an integer of 64 bits in a row, which 32 bits do not hold. The row "has" it, or "stores" it.
std::string unsupported_value(std::uint64_t row, const std::string& value, const char* verb = "has");

/// Value of u32 or s32 that replaces a nodata value of 64 bits (DecodeOptions::nodata).
constexpr double stand_in(Depth depth) {
    return traits_of(depth).lowest < 0 ? traits_of(depth).lowest : traits_of(depth).highest;
}
/// Words for a sample in a row that has this value, but isn't nodata.
std::string unsupported_stand_in(Depth depth, std::uint64_t row);

/// Words about the bytes of a file of unknown format.
std::string describe_unknown(const Bytes& file);

}  // namespace gpuhist::io
