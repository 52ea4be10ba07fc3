// Rows of an analysis: which there are, how they are laid out, and what colors are together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::core {

/// Colors that joint normalizations take together.
inline constexpr Channel colors[] = {Channel::red, Channel::green, Channel::blue};

/// Verdict on a channel: whether it is in `all`, a color or a band.
constexpr bool is_pooled(Channel channel) {
    return is_color(channel) || is_band(channel);
}

/// Verdict on the channels of an image or a set: whether there is more than one for `all`.
template <class Channels>
bool has_pooled(const Channels& channels) {
    int pooled = 0;
    for (const auto& one : channels) pooled += is_pooled(one.channel);
    return pooled > 1;
}

/// Rows of an image of 1, 3 or 4 channels: where there are colors, luma is one more.
constexpr int rows_of_channels(int channels) {
    return channels == 1 ? 1 : channels + 1;
}

/// Adds another channel's counts by class, and joins the extremes of both.
template <class Part>
void add_samples(Part& sum, const Part& more) {
    if (more.valid() > 0) {
        sum.minimum = sum.valid() > 0 ? std::min(sum.minimum, more.minimum) : more.minimum;
        sum.maximum = sum.valid() > 0 ? std::max(sum.maximum, more.maximum) : more.maximum;
    }
    sum.by_class() += more;
}

/// Takes channels out of a result: those of which gone(channel) is true.
template <class Gone>
void drop_channels(Analysis& result, const Gone& gone) {
    result.channels.erase(std::remove_if(result.channels.begin(), result.channels.end(),
                                         [&](const ChannelAnalysis& one) { return gone(one.channel); }),
                          result.channels.end());
}

/// Makes a result as new but for its depth, white and the storage of its channels.
void clear(Analysis& result, Depth depth);

/// Layout of an image's result: depth, rows, `bins` zeros each; every other field as new. Without `luma` that row is
/// left out. Storage is reused.
void lay_out(Analysis& result, const ImageView& image, bool luma, std::size_t bins);

/// Takes NaN and ±Inf out of the counts of f16 codes, into fields of their own.
void set_apart_non_finite(ChannelAnalysis& channel);

/// Sets the numbers of samples of every channel: an image's pixels, and how many of them are unmasked.
void set_pixels(Analysis& result, std::uint64_t pixels, std::uint64_t counted);

/// Sums and extremes of a channel's codes, of 8 or 16 bits.
Brightness brightness_of(const ChannelAnalysis& channel);

/// Lowest and highest finite value of a table, or of a count for each value of a depth; absent where there is none.
std::optional<Range> extremes_of(const FrequencyTable& frequencies);
std::optional<Range> extremes_of(Depth depth, const std::vector<std::uint64_t>& counts);

/// Counts of colors and bands, those there are, added up; `sum` is overwritten.
void sum_of_pooled(const Analysis& analysis, std::vector<std::uint64_t>& sum);

/// Sorted samples of colors and bands, those there are.
FrequencyTable values_of_pooled(const Analysis& analysis);

}  // namespace gpuhist::core
