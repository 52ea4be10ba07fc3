// Channels of an analysis: their layout, and the colors together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::core {

/// Colors, which joint normalizations treat together.
inline constexpr Channel colors[] = {Channel::red, Channel::green, Channel::blue};

/// Returns whether a channel belongs to `all`: a color or a band.
constexpr bool is_pooled(Channel channel) {
    return is_color(channel) || is_band(channel);
}

/// Returns whether an image or a set has more than one channel of `all`.
template <class Channels>
bool has_pooled(const Channels& channels) {
    int pooled = 0;
    for (const auto& one : channels) pooled += is_pooled(one.channel);
    return pooled > 1;
}

/// Adds the counts by class of another channel, and joins the extremes of both.
template <class Part>
void add_samples(Part& sum, const Part& more) {
    if (more.valid() > 0) {
        sum.minimum = sum.valid() > 0 ? std::min(sum.minimum, more.minimum) : more.minimum;
        sum.maximum = sum.valid() > 0 ? std::max(sum.maximum, more.maximum) : more.maximum;
    }
    sum.by_class() += more;
}

/// Removes from a result the channels for which gone(channel) is true.
template <class Gone>
void drop_channels(Analysis& result, const Gone& gone) {
    result.channels.erase(std::remove_if(result.channels.begin(), result.channels.end(),
                                         [&](const ChannelAnalysis& one) { return gone(one.channel); }),
                          result.channels.end());
}

/// Resets a result, except for its depth, its white and the storage of its channels.
void clear(Analysis& result, Depth depth);

/// Lays out the result of an image: depth, and channels with `bins` zeros each. All other fields are reset. Without
/// `luma`, that channel is left out. Storage is reused.
void lay_out(Analysis& result, const ImageView& image, bool luma, std::size_t bins);

/// Moves NaN and ±Inf from the counts of f16 codes into fields of their own.
void set_apart_non_finite(ChannelAnalysis& channel);

/// Sets the numbers of samples of every channel, from the pixels of the image and its unmasked pixels.
void set_pixels(Analysis& result, std::uint64_t pixels, std::uint64_t counted);

/// Sums and extremes of the codes of a channel with 8 or 16 bits.
Brightness brightness_of(const ChannelAnalysis& channel);

/// Lowest and highest finite value of a table, or of counts with one count per value of a depth. Absent if there is
/// none.
std::optional<Range> extremes_of(const FrequencyTable& frequencies);
std::optional<Range> extremes_of(Depth depth, const std::vector<std::uint64_t>& counts);

/// Adds the centroid sums of other samples. If only one of both has sums, the result has none.
void add_centroids(std::vector<Int128>& sums, const std::vector<Int128>& more);

/// Sum of the counts of all colors and bands. `sum` is overwritten.
void sum_of_pooled(const Analysis& analysis, std::vector<std::uint64_t>& sum);

/// Sorted samples of all colors and bands.
FrequencyTable values_of_pooled(const Analysis& analysis);

}  // namespace gpuhist::core
