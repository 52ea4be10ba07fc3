#include "core/analysis.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "core/channels.hpp"
#include "core/codes.hpp"
#include "core/integers.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {

const char* to_string(Channel channel) {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all{"gray", "red", "green", "blue", "luma", "alpha", "all"};
        for (int place = 0; band(place) <= Channel::c63; ++place)
            all.push_back(std::string("c") += std::to_string(place));
        for (int number = 1; extra(number) <= Channel::extra61; ++number)
            all.push_back(std::string("extra") += std::to_string(number));
        all.emplace_back("band");
        return all;
    }();
    const auto at = static_cast<std::size_t>(channel);
    return at < names.size() ? names[at].c_str() : "";
}

std::optional<Channel> channel_of(std::string_view name) {
    for (int i = 0; i < channel_names; ++i)
        if (const auto channel = static_cast<Channel>(i); name == to_string(channel)) return channel;
    return std::nullopt;
}

std::string to_string(const Int128& value) {
    core::u128 rest = static_cast<core::u128>(core::from_public(value));
    if (value.high < 0) rest = -rest;
    std::string digits;
    do {
        digits += static_cast<char>('0' + static_cast<int>(rest % 10));
        rest /= 10;
    } while (rest != 0);
    if (value.high < 0) digits += '-';
    return {digits.rbegin(), digits.rend()};
}

double to_double(const Int128& value) {
    return core::to_double(core::from_public(value));
}

std::string band_name(std::string_view own) {
    constexpr std::string_view mark = "band:";
    const bool marked = channel_of(own) || own.substr(0, mark.size()) == mark;
    return std::string(marked ? mark : "").append(own);
}

const ChannelAnalysis* Analysis::find(std::string_view name) const {
    for (const ChannelAnalysis& candidate : channels)
        if (channel_name(candidate) == name) return &candidate;
    return nullptr;
}

const ChannelAnalysis* Analysis::find(Channel channel) const {
    for (const ChannelAnalysis& candidate : channels)
        if (candidate.channel == channel) return &candidate;
    return nullptr;
}

Measured& Measured::operator+=(const Measured& other) {
    if (measure != other.measure) throw InvalidArgument("different measures cannot be merged");
    if (!traits_of(measure).merges) {
        *this = {measure, 0, {}};
        return *this;
    }
    pixels += other.pixels;
    if (sums.size() < other.sums.size()) sums.resize(other.sums.size());
    for (std::size_t i = 0; i < other.sums.size(); ++i)
        sums[i] = core::to_public(core::from_public(sums[i]) + core::from_public(other.sums[i]));
    return *this;
}

Analysis& Analysis::operator+=(const Analysis& other) {
    if (depth != other.depth || channels.size() != other.channels.size())
        throw InvalidArgument("analyses of different depth or channels cannot be merged");
    if (weighted != other.weighted)
        throw InvalidArgument("an analysis weighted by alpha and one that is not cannot be merged");
    if (traits_of(depth).counting == Counting::bins)
        throw InvalidArgument(std::string(to_string(depth)) +
                              " analyses cannot be merged: order statistics need the pixels");
    for (std::size_t c = 0; c < channels.size(); ++c)
        if (channel_name(channels[c]) != channel_name(other.channels[c]) ||
            channels[c].counts.size() != other.channels[c].counts.size())
            throw InvalidArgument("analyses of different channels cannot be merged");
    for (std::size_t c = 0; c < channels.size(); ++c) {
        channels[c].by_class() += other.channels[c];
        channels[c].below += other.channels[c].below;
        channels[c].above += other.channels[c].above;
        channels[c].values.add(other.channels[c].values);
        channels[c].values.settle();
        core::add_centroids(channels[c].centroid_sums, other.channels[c].centroid_sums);
        std::transform(channels[c].counts.begin(), channels[c].counts.end(), other.channels[c].counts.begin(),
                       channels[c].counts.begin(), std::plus<>());
    }
    if (measured.size() == other.measured.size())
        for (std::size_t i = 0; i < measured.size(); ++i) measured[i] += other.measured[i];
    else
        measured.clear();
    if (white != other.white) white = 0;
    if (brightness && other.brightness) {
        brightness->sum += other.brightness->sum;
        brightness->sum_squares = core::to_public(core::from_public(brightness->sum_squares) +
                                                  core::from_public(other.brightness->sum_squares));
        brightness->minimum = std::min(brightness->minimum, other.brightness->minimum);
        brightness->maximum = std::max(brightness->maximum, other.brightness->maximum);
    } else {
        brightness.reset();
    }
    return *this;
}

namespace {

/// Gives the channels of a measured image the names for its samples.
void name_samples(Analysis& analysis, Samples samples) {
    const auto named = [](const ChannelAnalysis& one) { return is_band(one.channel); };
    const bool bands = samples == Samples::bands || samples == Samples::color_bands;
    if (bands && std::any_of(analysis.channels.begin(), analysis.channels.end(), named)) return;
    if (samples == Samples::gray_alpha && analysis.channels.size() == 1 && analysis.find(Channel::gray)) return;
    const bool colors = analysis.find(Channel::red), alpha = analysis.find(Channel::alpha);
    const bool fits = samples == Samples::color || (samples == Samples::bands ? !analysis.find(Channel::c0) : alpha);
    if (!fits) throw InvalidArgument("an analysis whose channels are not those that an engine gives to such samples");
    const bool fourth = alpha && (samples == Samples::bands || samples == Samples::color_bands);
    if (fourth && traits_of(analysis.depth).counting == Counting::bins)
        throw InvalidArgument(std::string("four samples, the last not alpha, of ") + to_string(analysis.depth) +
                              ": an engine measures them where the view says what they are");
    const auto rename = [&](Channel from, Channel to) {
        for (ChannelAnalysis& one : analysis.channels)
            if (one.channel == from) one.channel = to;
    };
    switch (samples) {
        case Samples::color:
            break;
        case Samples::gray_alpha:
            core::drop_channels(analysis, [](Channel one) { return one != Channel::red && one != Channel::alpha; });
            rename(Channel::red, Channel::gray);
            analysis.pooled_order_statistics.clear();
            break;
        case Samples::bands:
            core::drop_channels(analysis, [](Channel one) { return one == Channel::luma; });
            rename(colors ? Channel::red : Channel::gray, Channel::c0);
            rename(Channel::green, Channel::c1);
            rename(Channel::blue, Channel::c2);
            rename(Channel::alpha, Channel::c3);
            analysis.brightness.reset();
            break;
        case Samples::color_bands:
            rename(Channel::alpha, Channel::extra1);
            break;
    }
}

/// Names of bands in a pixel: their own, and numbers for extras without one.
class BandNames {
  public:
    explicit BandNames(const std::vector<std::string>& own) : own_(own) {}

    /// Name of the band at the next place. A band without a name of its own is `channel`.
    std::string next(Channel channel, std::size_t place) {
        if (place < own_.size() && !own_[place].empty()) return band_name(own_[place]);
        return to_string(channel >= Channel::extra1 ? extra(++extras_) : channel);
    }

  private:
    const std::vector<std::string>& own_;
    int extras_ = 0;
};

/// Whether the only sample of a pixel has a name of its own, as the channels of a microscope have.
bool is_named_gray(Samples samples, const std::vector<std::string>& bands) {
    return samples == Samples::color && bands.size() == 1 && !bands.front().empty() &&
           !channel_of(band_name(bands.front()));
}

std::size_t place_of_band(Channel channel) {
    const bool beside = channel >= Channel::extra1;
    return static_cast<std::size_t>(channel) - static_cast<std::size_t>(beside ? Channel::extra1 : Channel::c0) +
           (beside ? 3 : 0);
}

}  // namespace

void name_channels(Analysis& analysis, Samples samples, const std::vector<std::string>& bands) {
    name_samples(analysis, samples);
    if (std::all_of(bands.begin(), bands.end(), [](const std::string& own) { return own.empty(); })) return;
    BandNames names(bands);
    if (is_named_gray(samples, bands))
        if (ChannelAnalysis& only = analysis.channels.front(); only.channel == Channel::gray) {
            only.name = names.next(Channel::gray, 0);
            only.channel = Channel::named;
        }
    for (ChannelAnalysis& one : analysis.channels) {
        if (!is_band(one.channel) || one.channel == Channel::named) continue;
        std::string name = names.next(one.channel, place_of_band(one.channel));
        one.channel = channel_of(name).value_or(Channel::named);
        if (one.channel == Channel::named) one.name = std::move(name);
    }
}

std::vector<std::string> names_of_samples(const ImageView& image, const std::vector<std::string>& bands) {
    std::vector<std::string> all;
    BandNames names(bands);
    for (int place = 0; place < image.channels; ++place) {
        const Channel channel = core::channel_at(image, place);
        if (channel == Channel::gray && is_named_gray(image.samples, bands))
            all.push_back(names.next(channel, 0));
        else
            all.push_back(is_band(channel) ? names.next(channel, place_of_band(channel)) : to_string(channel));
    }
    return all;
}

void core::clear(Analysis& result, Depth depth) {
    Analysis fresh;
    fresh.depth = depth;
    fresh.white = traits_of(depth).highest;
    fresh.channels = std::move(result.channels);
    fresh.pooled_order_statistics = std::move(result.pooled_order_statistics);
    fresh.pooled_order_statistics.clear();
    result = std::move(fresh);
}

void core::lay_out(Analysis& result, const ImageView& image, bool luma, std::size_t bins) {
    std::array<Channel, 5> order{Channel::gray};
    std::size_t size = 1;
    if (image.channels >= 3) {
        order = {Channel::red, Channel::green, Channel::blue};
        size = 3;
        if (luma) order[size++] = Channel::luma;
        if (image.channels == 4) order[size++] = Channel::alpha;
    }
    clear(result, image.depth);
    result.channels.resize(size);
    for (std::size_t c = 0; c < size; ++c) {
        ChannelAnalysis fresh;
        fresh.channel = order[c];
        fresh.counts = std::move(result.channels[c].counts);
        fresh.counts.assign(bins, 0);
        fresh.order_statistics = std::move(result.channels[c].order_statistics);
        fresh.order_statistics.clear();
        result.channels[c] = std::move(fresh);
    }
}

void core::set_apart_non_finite(ChannelAnalysis& channel) {
    const auto take = [&](std::size_t first, std::size_t end) {
        std::uint64_t* const counts = channel.counts.data();
        const std::uint64_t sum = std::accumulate(counts + first, counts + end, std::uint64_t{0});
        std::fill(counts + first, counts + end, std::uint64_t{0});
        return sum;
    };
    constexpr std::size_t minus = minus_infinity_code<Half>, plus = plus_infinity_code<Half>;
    channel.below = take(minus, minus + 1);
    channel.above = take(plus, plus + 1);
    channel.infinite = channel.below + channel.above;
    channel.nan = take(0, minus) + take(plus + 1, channel.counts.size());
}

void core::set_pixels(Analysis& result, std::uint64_t pixels, std::uint64_t counted) {
    for (ChannelAnalysis& channel : result.channels) {
        channel.pixels = pixels;
        channel.masked = pixels - counted;
    }
}

Brightness core::brightness_of(const ChannelAnalysis& channel) {
    Brightness result;
    u128 squares = 0;
    bool any = false;
    const auto add = [&](std::uint64_t code, std::uint64_t count) {
        if (!any) result.minimum = static_cast<std::uint32_t>(code);
        any = true;
        result.maximum = static_cast<std::uint32_t>(code);
        result.sum += count * code;  // 2^47 pixels of 16 bits fit
        squares += static_cast<u128>(count) * (code * code);
    };
    for (std::uint64_t code = 0; code < channel.counts.size(); ++code)
        if (channel.counts[code] != 0) add(code, channel.counts[code]);
    for (FrequencyReader reader(channel.values.runs()); reader.next();) add(reader.key(), reader.count());
    result.sum_squares = to_public(static_cast<i128>(squares));
    return result;
}

std::optional<Range> core::extremes_of(const FrequencyTable& frequencies) {
    if (frequencies.runs().empty()) return std::nullopt;
    Range all{frequencies.runs().front().lowest(), frequencies.runs().front().highest()};
    for (const FrequencyRun& run : frequencies.runs())
        all = {std::min(all.lower, run.lowest()), std::max(all.upper, run.highest())};
    return all;
}

std::optional<Range> core::extremes_of(Depth depth, const std::vector<std::uint64_t>& counts) {
    const auto some = [](std::uint64_t count) { return count != 0; };
    const auto first = std::find_if(counts.begin(), counts.end(), some);
    if (first == counts.end()) return std::nullopt;
    const auto last = std::find_if(counts.rbegin(), counts.rend(), some).base() - 1;
    return Range{value_at(depth, static_cast<std::uint64_t>(first - counts.begin())),
                 value_at(depth, static_cast<std::uint64_t>(last - counts.begin()))};
}

void core::add_centroids(std::vector<Int128>& sums, const std::vector<Int128>& more) {
    if (sums.size() != more.size()) return sums.clear();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = to_public(from_public(sums[i]) + from_public(more[i]));
}

FrequencyTable core::values_of_pooled(const Analysis& analysis) {
    FrequencyTable sum;
    for (const ChannelAnalysis& channel : analysis.channels)
        if (is_pooled(channel.channel)) sum.add(channel.values);
    return sum;
}

void core::sum_of_pooled(const Analysis& analysis, std::vector<std::uint64_t>& sum) {
    sum.clear();
    for (const ChannelAnalysis& channel : analysis.channels) {
        if (!is_pooled(channel.channel)) continue;
        sum.resize(channel.counts.size());
        std::transform(sum.begin(), sum.end(), channel.counts.begin(), sum.begin(), std::plus<>());
    }
}

}  // namespace gpuhist
