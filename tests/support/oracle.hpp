// The truth about pictures, written apart from the product: from the definitions alone, in the plainest loops, so that
// an error would have to be made twice to go unseen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/normalize.hpp"
#include "support/picture.hpp"

namespace gpuhist::test {

/// Fills a result with what must not survive a call.
void poison(Analysis& analysis);

/// The place where two analyses, or two images, differ; empty when they are the same bit for bit.
std::string difference(const Analysis& got, const Analysis& expected);
std::string difference(const ImageView& got, const ImageView& expected);

/// The channels of an analysis of pixels of so many.
std::vector<Channel> measured_channels(int channels);

/// A sample, of 8 and 16 bits.
std::uint32_t sample(const ImageView& image, std::int64_t x, std::int64_t y, int channel);
/// A channel's values in reading order; `all`: those of red, green and blue together.
std::vector<std::uint32_t> values_of(const ImageView& image, Channel channel);
std::vector<float> float_values_of(const ImageView& image, Channel channel);

/// The complete findings in an image of 8 or 16 bits.
Analysis expected_analysis(const ImageView& image, bool luma_histogram = true);

/// A channel of an f32 image.
struct FloatChannel {
    std::uint64_t pixels = 0, nan = 0, positive_infinite = 0, negative_infinite = 0;
    std::vector<float> finite;  ///< ascending
};
FloatChannel float_channel(const ImageView& image, Channel channel);

/// Population moments in passes of extended precision over ascending values, at least one.
struct Moments {
    long double mean = 0, std = 0, std_sample = 0, skewness = 0, kurtosis = 0;
};
Moments moments_of(const std::vector<float>& values);

/// The nearest-rank percentile of ascending values.
template <class T>
T nearest_rank(const std::vector<T>& ascending, double percent);

/// The normalized copy. For f32 zscore, mean and std are those that `statistics()` reports of `analysis`: they have
/// tests of their own.
Picture expected_normalized(const ImageView& image, const Normalization& normalization, const Analysis& analysis);

}  // namespace gpuhist::test
