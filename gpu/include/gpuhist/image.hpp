/// Images that the caller owns: the input of every engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace gpuhist {

/// Type of a sample: unsigned and signed integers of 8, 16 or 32 bits, and IEEE floats of half, single and double
/// precision.
enum class Depth : std::uint8_t { u8, s8, u16, s16, u32, s32, f16, f32, f64 };

/// Sample of half precision, as bits. C++ has no such type yet.
struct Half {
    std::uint16_t bits;
};

/// Ways in which the samples of a depth are counted.
enum class Counting : std::uint8_t {
    values,  ///< in one bin per value of the type, ascending
    bins,    ///< in equal bins over a range, with moments and order statistics
    sorted   ///< by sorting: one count per value that occurs
};

/// Order of the colors in a pixel of 3 or 4 channels. Alpha, if there is one, is last.
enum class ChannelOrder : std::uint8_t { bgr, rgb };

/// Meaning of the samples of a pixel. Engines treat 1, 3 and 4 samples as `color`; afterwards, `name_channels` gives
/// the channels other names. Other numbers of samples are bands, or colors and bands if the view says so; their
/// channels have these names at once.
enum class Samples : std::uint8_t {
    color,       ///< 1: gray; 3: the colors; 4: the colors and alpha
    gray_alpha,  ///< 4: blue = green = red = gray, and alpha
    bands,       ///< 1 to 64 that are not colors, by place; 3 and 4 of them in ChannelOrder::rgb
    color_bands  ///< 4 to 64: the colors, and bands that are not alpha
};

/// Memory of the pixels. Device memory is that of the GPU of the engine. The cpu engine refuses it.
enum class Memory : std::uint8_t { host, device };

/// Facts of a depth: one row of the table of depths. All code that depends on a depth asks here, or is chosen by
/// `with_depth`.
struct DepthTraits {
    Depth depth;
    const char* name;        ///< in files and messages
    const char* array_type;  ///< name of the type in numpy and DLPack
    std::size_t bytes;       ///< bytes of a sample
    bool floating;           ///< whether samples are IEEE floats, which may be NaN or infinite
    Counting counting;       ///< how samples are counted
    std::uint32_t values;    ///< Counting::values: number of bins, one per value; else 0
    double lowest, highest;  ///< range of a normalized copy: that of the type, or 0 to 1 for floats
    Depth real;              ///< depth of copies with real numbers, see NormalizeTraits::real
    double alpha_unit;       ///< AlphaRule::weight: unit of alpha (0 to `highest`); 0: alpha is not a weight
};

inline constexpr DepthTraits all_depths[] = {
    {Depth::u8, "u8", "uint8", 1, false, Counting::values, 256, 0, 255, Depth::f32, 1},
    {Depth::s8, "s8", "int8", 1, false, Counting::values, 256, -128, 127, Depth::f32, 0},
    {Depth::u16, "u16", "uint16", 2, false, Counting::values, 65536, 0, 65535, Depth::f32, 1},
    {Depth::s16, "s16", "int16", 2, false, Counting::values, 65536, -32768, 32767, Depth::f32, 0},
    {Depth::u32, "u32", "uint32", 4, false, Counting::sorted, 0, 0, 4294967295.0, Depth::f64, 0},
    {Depth::s32, "s32", "int32", 4, false, Counting::sorted, 0, -2147483648.0, 2147483647.0, Depth::f64, 0},
    {Depth::f16, "f16", "float16", 2, true, Counting::values, 65536, 0, 1, Depth::f32, 0x1p-24},
    {Depth::f32, "f32", "float32", 4, true, Counting::bins, 0, 0, 1, Depth::f32, 0},
    {Depth::f64, "f64", "float64", 8, true, Counting::sorted, 0, 0, 1, Depth::f64, 0},
};

/// Row of a depth in the table. The depth must be one of the enumeration.
constexpr const DepthTraits& traits_of(Depth depth) {
    return all_depths[static_cast<std::size_t>(depth)];
}

/// Dispatch on a depth: calls `function` with a value of the sample type, and returns its result.
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

/// Bytes of a sample.
constexpr std::size_t sample_bytes(Depth depth) {
    return traits_of(depth).bytes;
}

/// Name of a depth in files.
constexpr const char* to_string(Depth depth) {
    return traits_of(depth).name;
}

/// List of depths for a sentence. `name` gives the text of each depth; depths with an empty text are left out.
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

/// Names of all depths, for a sentence: `u8, s8, … and f64`.
inline std::string depth_names(const char* last = " and ") {
    return list_depths([](const DepthTraits& depth) { return depth.name; }, last);
}

/// Largest number of channels in an image.
inline constexpr int most_channels = 64;

/// View of interleaved pixels, row after row. It owns nothing: the pixels must outlive the call that gets it. A region
/// of interest is a view too: `data` points to its first pixel, and `row_bytes` is that of the whole image. The same
/// holds for the mask.
template <class Void>
struct BasicImageView {
    Void* data = nullptr;        ///< first sample; aligned to the size of a sample
    std::int64_t width = 0;      ///< pixels in a row, at least 1
    std::int64_t height = 0;     ///< rows, at least 1
    int channels = 1;            ///< 1 (gray), 3 (color), 4 (color and alpha), or up to 64 bands
    Depth depth = Depth::u8;     ///< type of a sample
    std::int64_t row_bytes = 0;  ///< bytes from one row to the next, at least a row of samples, a multiple of a sample
    ChannelOrder order = ChannelOrder::bgr;
    Memory memory = Memory::host;
    /// Meaning of the samples, for other than 1, 3 or 4 channels, and for a fourth channel that is a band. Set it for
    /// such a band: otherwise f32 lacks the order statistics of `all`, and copies treat the band as alpha.
    Samples samples = Samples::color;
    /// Mask, in the same memory: one byte per pixel, and 0 excludes the pixel. Null: no mask. Ignored in outputs.
    const std::uint8_t* mask = nullptr;
    std::int64_t mask_row_bytes = 0;  ///< bytes from one row of the mask to the next, at least `width`

    constexpr std::int64_t pixels() const { return width * height; }
    constexpr std::int64_t packed_row_bytes() const {
        return width * channels * static_cast<std::int64_t>(sample_bytes(depth));
    }
    /// Converts a view for writing to a view for reading.
    template <class Other, class = std::enable_if_t<std::is_same_v<Other, const Void> && !std::is_same_v<Other, Void>>>
    operator BasicImageView<Other>() const {
        return {data, width, height, channels, depth, row_bytes, order, memory, samples, mask, mask_row_bytes};
    }
};

using ImageView = BasicImageView<const void>;
using MutableImageView = BasicImageView<void>;

/// View of packed rows, which have no gaps between them.
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
