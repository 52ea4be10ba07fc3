/// Images that somebody else owns: the input of every engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace gpuhist {

/// Type of one sample: whole numbers without and with a sign, of 8, 16 or 32 bits, and IEEE numbers of half, single and
/// double precision.
enum class Depth : std::uint8_t { u8, s8, u16, s16, u32, s32, f16, f32, f64 };

/// Sample of half precision, by its bits. The language has no such type yet.
struct Half {
    std::uint16_t bits;
};

/// Ways in which the samples of a depth are counted.
enum class Counting : std::uint8_t {
    values,  ///< in a bin for each value that the type has, ascending
    bins,    ///< in equal bins over a range, moments and order statistics beside them
    sorted   ///< by sorting: a count for each value that occurs
};

/// Order of the colors in a 3- or 4-channel pixel; alpha, where there is one, is last.
enum class ChannelOrder : std::uint8_t { bgr, rgb };

/// Meaning of a pixel's samples. Engines measure 1, 3 and 4 of them as `color`, and `name_channels` gives the channels
/// their names; other numbers are bands, or the colors and bands where the view says so, and have their names at once.
enum class Samples : std::uint8_t {
    color,       ///< 1: gray; 3: the colors; 4: the colors and alpha
    gray_alpha,  ///< 4: blue = green = red = gray, and alpha
    bands,       ///< 1 to 64 that are no colors, by place, of 3 and 4 in ChannelOrder::rgb
    color_bands  ///< 4 to 64: the colors, and bands that are no alpha
};

/// Memory in which the pixels lie. Device memory is that of the GPU an engine was made for; the cpu engine refuses it.
enum class Memory : std::uint8_t { host, device };

/// Depth's facts, one row of a table: whatever depends on the depth asks here, or is chosen by `with_depth`.
struct DepthTraits {
    Depth depth;
    const char* name;        ///< in files and messages
    const char* array_type;  ///< as numpy and DLPack call it
    std::size_t bytes;       ///< of one sample
    bool floating;           ///< IEEE numbers, which may be NaN and infinite
    Counting counting;       ///< how samples are counted
    std::uint32_t values;    ///< Counting::values: bins, each of one value; else 0
    double lowest, highest;  ///< what a normalized copy is stretched to: the type's values, of floats 0 to 1
    Depth real;              ///< of copies that hold real numbers, see NormalizeTraits::real
};

inline constexpr DepthTraits all_depths[] = {
    {Depth::u8, "u8", "uint8", 1, false, Counting::values, 256, 0, 255, Depth::f32},
    {Depth::s8, "s8", "int8", 1, false, Counting::values, 256, -128, 127, Depth::f32},
    {Depth::u16, "u16", "uint16", 2, false, Counting::values, 65536, 0, 65535, Depth::f32},
    {Depth::s16, "s16", "int16", 2, false, Counting::values, 65536, -32768, 32767, Depth::f32},
    {Depth::u32, "u32", "uint32", 4, false, Counting::sorted, 0, 0, 4294967295.0, Depth::f64},
    {Depth::s32, "s32", "int32", 4, false, Counting::sorted, 0, -2147483648.0, 2147483647.0, Depth::f64},
    {Depth::f16, "f16", "float16", 2, true, Counting::values, 65536, 0, 1, Depth::f32},
    {Depth::f32, "f32", "float32", 4, true, Counting::bins, 0, 0, 1, Depth::f32},
    {Depth::f64, "f64", "float64", 8, true, Counting::sorted, 0, 0, 1, Depth::f64},
};

/// Row of a depth. A value outside the enumeration is not allowed.
constexpr const DepthTraits& traits_of(Depth depth) {
    return all_depths[static_cast<std::size_t>(depth)];
}

/// Dispatch on a depth: calls `function` with a value of the depth's sample type, and returns what it does.
template <class Function>
constexpr decltype(auto) with_depth(Depth depth, Function&& function) {
    switch (depth) {
        case Depth::u8:
            return function(std::uint8_t{});
        case Depth::s8:
            return function(std::int8_t{});
        case Depth::u16:
            return function(std::uint16_t{});
        case Depth::s16:
            return function(std::int16_t{});
        case Depth::u32:
            return function(std::uint32_t{});
        case Depth::s32:
            return function(std::int32_t{});
        case Depth::f16:
            return function(Half{});
        case Depth::f32:
            return function(float{});
        case Depth::f64:
            return function(double{});
    }
    __builtin_unreachable();
}

/// Bytes of one sample.
constexpr std::size_t sample_bytes(Depth depth) {
    return traits_of(depth).bytes;
}

/// Name written in files.
constexpr const char* to_string(Depth depth) {
    return traits_of(depth).name;
}

/// List in a sentence of what `name` calls each depth, which is nothing for those that are left out.
template <class Name>
std::string list_depths(const Name& name, const char* last = " and ", const char* comma = ", ") {
    std::string list, held;  // the last one waits until it is known to be that
    for (const DepthTraits& depth : all_depths) {
        const std::string next = name(depth);
        if (next.empty()) continue;
        if (!held.empty()) list += list.empty() ? held : comma + held;
        held = next;
    }
    return list.empty() ? held : list + last + held;
}

/// Names of all depths in a sentence: `u8, s8, … and f64`.
inline std::string depth_names(const char* last = " and ") {
    return list_depths([](const DepthTraits& depth) { return depth.name; }, last);
}

/// Channels that an image may have.
inline constexpr int most_channels = 64;

/// View of interleaved pixels, row after row. It owns nothing: the pixels must outlive the call it is passed to.
/// A region of interest is a view of its own: `data` moved to its first pixel, the parent's `row_bytes` kept; a mask
/// likewise.
template <class Void>
struct BasicImageView {
    Void* data = nullptr;        ///< first sample; aligned to the sample's size
    std::int64_t width = 0;      ///< pixels in a row, at least 1
    std::int64_t height = 0;     ///< rows, at least 1
    int channels = 1;            ///< 1 (gray), 3 (color), 4 (color and alpha), or up to 64 bands
    Depth depth = Depth::u8;     ///< type of a sample
    std::int64_t row_bytes = 0;  ///< bytes from one row to the next, at least a row's samples, a multiple of a sample
    ChannelOrder order = ChannelOrder::bgr;
    Memory memory = Memory::host;
    /// Meaning of other than 1, 3 or 4 channels, and of a fourth that is a band, without which f32 has no order
    /// statistics of all, and copies take it for alpha.
    Samples samples = Samples::color;
    /// Mask, in the same memory: one byte per pixel, 0 where it is masked. Null: no pixel is. Of an output it means
    /// nothing.
    const std::uint8_t* mask = nullptr;
    std::int64_t mask_row_bytes = 0;  ///< bytes from one row of the mask to the next, at least `width`

    constexpr std::int64_t pixels() const { return width * height; }
    constexpr std::int64_t packed_row_bytes() const {
        return width * channels * static_cast<std::int64_t>(sample_bytes(depth));
    }
    /// A view to write to is also a view to read.
    template <class Other, class = std::enable_if_t<std::is_same_v<Other, const Void> && !std::is_same_v<Other, Void>>>
    operator BasicImageView<Other>() const {
        return {data, width, height, channels, depth, row_bytes, order, memory, samples, mask, mask_row_bytes};
    }
};

using ImageView = BasicImageView<const void>;
using MutableImageView = BasicImageView<void>;

/// View of packed rows, without gaps between them.
constexpr MutableImageView packed_view(void* data, std::int64_t width, std::int64_t height, int channels, Depth depth,
                                       ChannelOrder order = ChannelOrder::bgr, Memory memory = Memory::host) {
    MutableImageView view{data, width, height, channels, depth, 0, order, memory};
    view.row_bytes = view.packed_row_bytes();
    return view;
}
constexpr ImageView packed_view(const void* data, std::int64_t width, std::int64_t height, int channels, Depth depth,
                                ChannelOrder order = ChannelOrder::bgr, Memory memory = Memory::host) {
    ImageView view{data, width, height, channels, depth, 0, order, memory};
    view.row_bytes = view.packed_row_bytes();
    return view;
}

}  // namespace gpuhist
