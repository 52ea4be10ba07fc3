// Pictures to measure and the truth about them, written apart from the product: from the definitions alone, in the
// plainest loops, so that an error would have to be made twice to go unseen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::test {

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

/// Fills a result with what must not survive a call.
void poison(Analysis& analysis);

/// Where two analyses, or two images, differ; empty when they are the same bit for bit.
std::string difference(const Analysis& got, const Analysis& expected);
std::string difference(const ImageView& got, const ImageView& expected);

/// The rows of an analysis of so many channels.
std::vector<Channel> rows_of(int channels);

/// A sample, of 8 and 16 bits.
std::uint32_t sample(const ImageView& image, std::int64_t x, std::int64_t y, int channel);
/// A row's values in reading order; `all`: those of red, green and blue together.
std::vector<std::uint32_t> values_of(const ImageView& image, Channel row);
std::vector<float> float_values_of(const ImageView& image, Channel row);

/// The complete findings in an image of 8 or 16 bits.
Analysis expected_analysis(const ImageView& image, bool luma_histogram = true);

/// A row of an f32 image.
struct FloatRow {
    std::uint64_t pixels = 0, nan = 0, positive_infinite = 0, negative_infinite = 0;
    std::vector<float> finite;  ///< ascending
};
FloatRow float_row(const ImageView& image, Channel row);

/// Population moments in passes of extended precision over ascending values, at least one.
struct Moments {
    long double mean = 0, std = 0, std_sample = 0, skewness = 0, kurtosis = 0;
};
Moments moments_of(const std::vector<float>& values);

/// The nearest-rank percentile of ascending values.
template <class T>
T nearest_rank(const std::vector<T>& ascending, double percent);

/// The normalised copy. For f32 zscore, mean and std are those that `statistics()` reports of `analysis`: they have
/// tests of their own.
Picture expected_normalized(const ImageView& image, const Normalization& normalization, const Analysis& analysis);

}  // namespace gpuhist::test
