// Pictures to measure, with contents of every kind and layouts of every alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "gpuhist/image.hpp"

namespace gpuhist::test {

struct Size {
    std::int64_t width, height;
};

struct Shape {
    std::int64_t width = 1, height = 1;
    int channels = 1;
    Depth depth = Depth::u8;
    ChannelOrder order = ChannelOrder::bgr;
};

/// Where the samples lie in their buffer. The buffer ends with the last sample, so that reading past it is seen by
/// AddressSanitizer; `frame_rows` whole rows before and after make the picture a region of a larger one instead.
struct Layout {
    int row_padding = 0;  ///< samples between rows
    int offset = 0;       ///< samples before the first: every alignment that a sample's size allows
    int frame_rows = 0;
};
inline constexpr Layout packed{};
inline constexpr Layout layouts[] = {packed, {1, 1, 0}, {7, 5, 0}, {67, 15, 0}, {129, 37, 2}};

/// What the pixels show. Those from `specials` on are for f32 only.
enum class Content {
    constant,
    lowest,
    highest,
    two_values,
    ramp,
    random,
    natural,
    gaussian,
    sparse,    ///< one value almost everywhere
    specials,  ///< NaN of several kinds, ±Inf, ±0, denormals, ordinary numbers
    nan,       ///< nothing else
    infinite,  ///< ±Inf and NaN, nothing finite
    denormals,
    huge,           ///< up to ±3.4e38
    far_from_zero,  ///< 1e7 and 1e7 + 1: the std is 0.5
    outliers,       ///< few values far away from the others
};
inline constexpr Content integer_contents[] = {Content::constant,   Content::lowest,   Content::highest,
                                               Content::two_values, Content::ramp,     Content::random,
                                               Content::natural,    Content::gaussian, Content::sparse};
inline constexpr Content float_contents[] = {
    Content::constant,  Content::lowest,   Content::highest,       Content::two_values,
    Content::ramp,      Content::random,   Content::natural,       Content::gaussian,
    Content::sparse,    Content::specials, Content::nan,           Content::infinite,
    Content::denormals, Content::huge,     Content::far_from_zero, Content::outliers};
std::vector<Content> contents_of(Depth depth);

/// An image that owns its pixels. What lies between its rows is garbage that would show in any result.
class Picture {
  public:
    Picture(const Shape& shape, const Layout& layout);  ///< all of it garbage
    Picture(const Shape& shape, const Layout& layout, Content content);

    ImageView view() const;
    MutableImageView mutable_view();
    const Shape& shape() const { return shape_; }
    void set(std::int64_t x, std::int64_t y, int channel, double value);

    /// A copy of the whole buffer, garbage included.
    std::vector<std::byte> bytes() const;
    /// The same with this image's pixels zeroed: what a function that writes pixels must leave alone.
    std::vector<std::byte> bytes_between_pixels() const;

  private:
    Shape shape_;
    std::int64_t row_samples_ = 0, first_ = 0;
    std::size_t size_ = 0;
    std::unique_ptr<std::byte[]> buffer_;
};

/// A pseudo-random number, the same on every machine.
std::uint64_t scramble(std::uint64_t seed);

/// The highest value that 8 or 16 bits hold.
inline std::uint32_t top_of(Depth depth) {
    return depth == Depth::u8 ? 255 : 65535;
}

template <class T>
T load(const ImageView& image, std::int64_t x, std::int64_t y, int channel) {
    T value;
    std::memcpy(&value,
                static_cast<const std::byte*>(image.data) + y * image.row_bytes +
                    (x * image.channels + channel) * static_cast<std::int64_t>(sizeof(T)),
                sizeof value);
    return value;
}

/// A NaN keeps its bits.
inline void store(const MutableImageView& image, std::int64_t x, std::int64_t y, int channel, float value) {
    std::memcpy(static_cast<std::byte*>(image.data) + y * image.row_bytes + (x * image.channels + channel) * 4, &value,
                sizeof value);
}

}  // namespace gpuhist::test
