#include "support/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>

#include "gpuhist/statistics.hpp"

namespace gpuhist::test {
namespace {

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

/// Which of a pixel's samples holds a color.
int position(const ImageView& image, Channel channel) {
    const bool bgr = image.order == ChannelOrder::bgr;
    switch (channel) {
        case Channel::red:
            return bgr ? 2 : 0;
        case Channel::green:
            return 1;
        case Channel::blue:
            return bgr ? 0 : 2;
        case Channel::alpha:
            return 3;
        default:
            return 0;
    }
}

template <class T, class Luma>
std::vector<T> values(const ImageView& image, Channel channel, Luma luma) {
    std::vector<T> result;
    if (channel == Channel::all) {
        for (Channel color : {Channel::red, Channel::green, Channel::blue}) {
            const std::vector<T> part = values<T>(image, color, luma);
            result.insert(result.end(), part.begin(), part.end());
        }
        return result;
    }
    result.reserve(static_cast<std::size_t>(image.pixels()));
    const int red = position(image, Channel::red), green = 1, blue = position(image, Channel::blue);
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x) {
            auto at = [&](int place) -> T {
                if constexpr (std::is_same_v<T, float>)
                    return load<float>(image, x, y, place);
                else
                    return sample(image, x, y, place);
            };
            result.push_back(channel == Channel::luma ? luma(at(red), at(green), at(blue))
                                                      : at(position(image, channel)));
        }
    return result;
}

Int128 to_int128(i128 value) {
    return {static_cast<std::uint64_t>(value), static_cast<std::int64_t>(value >> 64)};
}

template <class T>
bool same_bits(const T& a, const T& b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace

void poison(Analysis& analysis) {
    analysis.depth = analysis.depth == Depth::u16 ? Depth::f32 : Depth::u16;
    analysis.white = -3;
    analysis.channels.resize(7);
    std::uint64_t seed = 99;
    for (ChannelAnalysis& channel : analysis.channels) {
        auto garbage = [&seed] { return seed = scramble(seed); };
        channel.channel = static_cast<Channel>(garbage() % channel_names);
        channel.pixels = garbage();
        channel.masked = garbage();
        channel.nodata = garbage();
        channel.counts.resize(garbage() % 700);
        for (std::uint64_t& count : channel.counts) count = garbage();
        channel.nan = garbage();
        channel.infinite = garbage();
        channel.below = garbage();
        channel.above = garbage();
        channel.minimum = -1e30f;
        channel.maximum = 1e30f;
        channel.moments = {3.5, 17, {Int128{1, 2}, Int128{3, 4}, Int128{5, 6}, Int128{7, -8}}};
        channel.order_statistics.assign(30, {garbage(), 4.5f});
    }
    analysis.brightness = Brightness{seed, {seed, 77}, 3, 9};
    analysis.range = {-12, 34};
    analysis.upper_closed = !analysis.upper_closed;
    analysis.weighted = !analysis.weighted;
    analysis.detail = analysis.detail == Detail::brief ? Detail::full : Detail::brief;
    analysis.pooled_order_statistics.assign(40, {seed, 6.5f});
}

std::string difference(const Analysis& got, const Analysis& expected) {
    std::ostringstream out;
    auto differ = [&out](const std::string& what, const auto& a, const auto& b) {
        if (out.tellp() == 0) out << what << ": " << a << ", expected " << b;
    };
    auto compare = [&](const std::string& what, const auto& a, const auto& b) {
        if (!same_bits(a, b)) differ(what, +a, +b);
    };
    auto compare_order = [&](const std::string& what, const std::vector<OrderStatistic>& a,
                             const std::vector<OrderStatistic>& b) {
        if (a.size() != b.size()) return differ(what + " size", a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            compare(what + " rank", a[i].rank, b[i].rank);
            compare(what + " of rank " + std::to_string(b[i].rank), a[i].value, b[i].value);
        }
    };
    auto compare_int128 = [&](const std::string& what, const Int128& a, const Int128& b) {
        compare(what + " high", a.high, b.high);
        compare(what + " low", a.low, b.low);
    };
    if (got.depth != expected.depth) differ("depth", to_string(got.depth), to_string(expected.depth));
    compare("white", got.white, expected.white);
    compare("weighted", got.weighted, expected.weighted);
    compare("channels", got.channels.size(), expected.channels.size());
    if (!out.str().empty()) return out.str();
    for (std::size_t i = 0; i < got.channels.size(); ++i) {
        const ChannelAnalysis &a = got.channels[i], &b = expected.channels[i];
        const std::string name = to_string(b.channel);
        if (a.channel != b.channel) differ("channel " + std::to_string(i), to_string(a.channel), name);
        compare(name + " pixels", a.pixels, b.pixels);
        compare(name + " masked", a.masked, b.masked);
        compare(name + " nodata", a.nodata, b.nodata);
        compare(name + " bins", a.counts.size(), b.counts.size());
        for (std::size_t v = 0; v < std::min(a.counts.size(), b.counts.size()) && a.counts != b.counts; ++v)
            compare(name + " count of " + std::to_string(v), a.counts[v], b.counts[v]);
        compare(name + " nan", a.nan, b.nan);
        compare(name + " infinite", a.infinite, b.infinite);
        compare(name + " below", a.below, b.below);
        compare(name + " above", a.above, b.above);
        compare(name + " minimum", a.minimum, b.minimum);
        compare(name + " maximum", a.maximum, b.maximum);
        compare(name + " pivot", a.moments.pivot, b.moments.pivot);
        compare(name + " exponent", a.moments.exponent, b.moments.exponent);
        for (std::size_t k = 0; k < 4; ++k)
            compare_int128(name + " power sum " + std::to_string(k + 1), a.moments.sums[k], b.moments.sums[k]);
        compare_order(name + " order statistic", a.order_statistics, b.order_statistics);
    }
    compare("has brightness", got.brightness.has_value(), expected.brightness.has_value());
    if (got.brightness && expected.brightness) {
        compare("brightness sum", got.brightness->sum, expected.brightness->sum);
        compare_int128("brightness sum of squares", got.brightness->sum_squares, expected.brightness->sum_squares);
        compare("brightness minimum", got.brightness->minimum, expected.brightness->minimum);
        compare("brightness maximum", got.brightness->maximum, expected.brightness->maximum);
    }
    compare("range lower", got.range.lower, expected.range.lower);
    compare("range upper", got.range.upper, expected.range.upper);
    compare("upper closed", got.upper_closed, expected.upper_closed);
    if (got.detail != expected.detail) differ("in full", got.detail == Detail::full, expected.detail == Detail::full);
    compare_order("pooled order statistic", got.pooled_order_statistics, expected.pooled_order_statistics);
    if (out.str().empty() && !(got == expected)) out << "operator== tells them apart";
    return out.str();
}

std::string difference(const ImageView& got, const ImageView& expected) {
    std::ostringstream out;
    if (got.width != expected.width || got.height != expected.height || got.channels != expected.channels ||
        got.depth != expected.depth || got.order != expected.order)
        return "images of different shape";
    const std::int64_t bytes = got.packed_row_bytes();
    for (std::int64_t y = 0; y < got.height; ++y) {
        if (std::memcmp(static_cast<const std::byte*>(got.data) + y * got.row_bytes,
                        static_cast<const std::byte*>(expected.data) + y * expected.row_bytes,
                        static_cast<std::size_t>(bytes)) == 0)
            continue;
        for (std::int64_t x = 0; x < got.width; ++x)
            for (int c = 0; c < got.channels; ++c) {
                auto report = [&](auto a, auto b) {
                    if (same_bits(a, b)) return false;
                    out << "pixel " << x << "," << y << " sample " << c << ": " << +a << ", expected " << +b;
                    return true;
                };
                const bool reported = got.depth == Depth::f32
                                          ? report(load<float>(got, x, y, c), load<float>(expected, x, y, c))
                                          : report(sample(got, x, y, c), sample(expected, x, y, c));
                if (reported) return out.str();
            }
    }
    return {};
}

std::vector<Channel> measured_channels(int channels) {
    if (channels == 1) return {Channel::gray};
    std::vector<Channel> measured{Channel::red, Channel::green, Channel::blue, Channel::luma};
    if (channels == 4) measured.push_back(Channel::alpha);
    return measured;
}

std::uint32_t sample(const ImageView& image, std::int64_t x, std::int64_t y, int channel) {
    return image.depth == Depth::u8 ? load<std::uint8_t>(image, x, y, channel)
                                    : load<std::uint16_t>(image, x, y, channel);
}

std::vector<std::uint32_t> values_of(const ImageView& image, Channel channel) {
    return values<std::uint32_t>(image, channel, [](std::uint64_t red, std::uint64_t green, std::uint64_t blue) {
        return static_cast<std::uint32_t>((9798 * red + 19235 * green + 3735 * blue + 16384) / 32768);
    });
}

std::vector<float> float_values_of(const ImageView& image, Channel channel) {
    return values<float>(image, channel, [](float red, float green, float blue) {
        const float weighted_red = 0.299f * red, weighted_green = 0.587f * green, weighted_blue = 0.114f * blue;
        const float sum = weighted_red + weighted_green;
        return sum + weighted_blue;
    });
}

Analysis expected_analysis(const ImageView& image, bool luma_histogram) {
    Analysis analysis;
    analysis.depth = image.depth;
    analysis.white = top_of(image.depth);
    analysis.range = {0, top_of(image.depth) + 1.0};
    for (Channel channel : measured_channels(image.channels)) {
        if (channel == Channel::luma && !luma_histogram) continue;
        ChannelAnalysis found;
        found.channel = channel;
        found.pixels = static_cast<std::uint64_t>(image.pixels());
        found.counts.assign(top_of(image.depth) + 1, 0);
        for (std::uint32_t value : values_of(image, channel)) ++found.counts[value];
        analysis.channels.push_back(found);
    }
    Brightness brightness;
    const std::vector<std::uint32_t> values = values_of(image, image.channels == 1 ? Channel::gray : Channel::luma);
    i128 squares = 0;
    brightness.minimum = brightness.maximum = values.front();
    for (std::uint64_t value : values) {
        brightness.sum += value;
        squares += static_cast<i128>(value * value);
        brightness.minimum = std::min(brightness.minimum, static_cast<std::uint32_t>(value));
        brightness.maximum = std::max(brightness.maximum, static_cast<std::uint32_t>(value));
    }
    brightness.sum_squares = to_int128(squares);
    analysis.brightness = brightness;
    return analysis;
}

FloatChannel float_channel(const ImageView& image, Channel channel) {
    FloatChannel result;
    for (float value : float_values_of(image, channel)) {
        ++result.pixels;
        if (std::isnan(value))
            ++result.nan;
        else if (std::isinf(value))
            ++(value > 0 ? result.positive_infinite : result.negative_infinite);
        else
            result.finite.push_back(value);
    }
    std::sort(result.finite.begin(), result.finite.end());
    return result;
}

Moments moments_of(const std::vector<float>& values) {
    // Deviations from a value in their midst, so that few digits go to the distance from zero.
    const long double origin = values[values.size() / 2];
    const auto n = static_cast<long double>(values.size());
    long double shift = 0, rest = 0, m2 = 0, m3 = 0, m4 = 0;
    for (float value : values) shift += value - origin;
    shift /= n;
    for (float value : values) rest += value - origin - shift;
    shift += rest / n;  // what the first pass lost to rounding
    for (float value : values) {
        const long double d = value - origin - shift;
        m2 += d * d;
        m3 += d * d * d;
        m4 += d * d * d * d;
    }
    Moments result;
    result.mean = origin + shift;
    result.std = std::sqrt(m2 / n);
    result.std_sample = std::sqrt(m2 / (n - 1));
    m2 /= n;
    result.skewness = m3 / n / (m2 * std::sqrt(m2));
    result.kurtosis = m4 / n / (m2 * m2) - 3;
    return result;
}

template <class T>
T nearest_rank(const std::vector<T>& ascending, double percent) {
    const auto millionths = static_cast<u128>(std::llround(percent * 1e6));
    const u128 rank = (millionths * ascending.size() + 99'999'999) / 100'000'000;  // upwards
    return ascending[rank == 0 ? 0 : static_cast<std::size_t>(rank - 1)];
}
template std::uint32_t nearest_rank(const std::vector<std::uint32_t>&, double);
template float nearest_rank(const std::vector<float>&, double);

namespace {

/// A sum over n, rounded once; sum below 2^47.
double mean_of(std::uint64_t sum, std::uint64_t n) {
    const u128 scaled = static_cast<u128>(sum) << 80;
    const u128 quotient = scaled / n | (scaled % n ? 1 : 0);  // the last bit only decides ties
    return std::ldexp(static_cast<double>(quotient), -80);
}

/// What each value of 8 or 16 bits becomes, given the samples that decide, ascending.
std::vector<double> table_of(const std::vector<std::uint32_t>& population, const Normalization& normalization,
                             std::uint32_t top) {
    std::vector<double> table;
    for (std::uint32_t value = 0; value <= top; ++value) table.push_back(value);
    const std::uint64_t n = population.size();
    switch (normalization.mode) {
        case NormalizeMode::minmax:
        case NormalizeMode::percentile: {
            std::int64_t low = population.front(), high = population.back();
            if (normalization.mode == NormalizeMode::percentile) {
                low = nearest_rank(population, normalization.low);
                high = nearest_rank(population, normalization.high);
            }
            if (low == high) return table;
            for (double& value : table) {
                const std::int64_t v = std::clamp(static_cast<std::int64_t>(value), low, high);
                value = static_cast<double>(((v - low) * top * 2 + (high - low)) / (2 * (high - low)));
            }
            return table;
        }
        case NormalizeMode::equalize: {
            std::vector<std::uint64_t> counts(table.size(), 0);
            for (std::uint32_t value : population) ++counts[value];
            const std::uint32_t first = population.front();
            const std::uint64_t rest = n - counts[first];
            if (rest == 0) return table;
            const float scale = static_cast<float>(top) / static_cast<float>(rest);
            std::uint64_t cumulative = 0;
            for (std::uint32_t value = 0; value <= top; ++value) {
                if (value > first) cumulative += counts[value];
                const float product = static_cast<float>(cumulative) * scale;
                table[value] = std::min<double>(std::rint(product), top);
            }
            return table;
        }
        case NormalizeMode::zscore: {
            std::uint64_t sum = 0;
            u128 squares = 0;
            for (std::uint64_t value : population) {
                sum += value;
                squares += value * value;
            }
            const double mean = mean_of(sum, n);
            const u128 spread = squares * n - static_cast<u128>(sum) * sum;
            const double std = std::sqrt(static_cast<double>(spread)) / static_cast<double>(n);
            for (double& value : table) value = std > 0 ? (value - mean) / std : 0;
            return table;
        }
        default:
            break;
    }
    return table;
}

/// Mapping of f32 values, a function of the value.
class FloatMapping {
  public:
    /// `bins`: the extremes of the colors and luma, between which equalization counts; the rest as for integers.
    FloatMapping(const std::vector<float>& population, const Normalization& normalization, Range bins, double mean,
                 double std)
        : mode_(normalization.mode), mean_(mean), std_(std) {
        if (population.empty()) return;
        low_ = population.front() + 0.0;  // no negative zero
        high_ = population.back() + 0.0;
        if (mode_ == NormalizeMode::percentile) {
            low_ = nearest_rank(population, normalization.low) + 0.0;
            high_ = nearest_rank(population, normalization.high) + 0.0;
        }
        unchanged_ = low_ == high_ && mode_ != NormalizeMode::zscore;
        if (mode_ == NormalizeMode::equalize && !unchanged_) equalize(population, bins);
    }

    float operator()(float value) const {
        if (std::isnan(value) || unchanged_) return value;
        const double v = value;
        if (mode_ == NormalizeMode::zscore) return static_cast<float>(std_ > 0 ? (v - mean_) / std_ : 0);
        if (mode_ == NormalizeMode::equalize) {
            const float product = static_cast<float>(cumulative_[bin_of(v)]) * scale_;
            return std::min(product, 1.0f);
        }
        const double mapped = (v - low_) / (high_ - low_);
        return static_cast<float>(mode_ == NormalizeMode::percentile ? std::clamp(mapped, 0.0, 1.0) : mapped);
    }

  private:
    void equalize(const std::vector<float>& population, Range range) {
        constexpr int bins = 65536;
        for (int i = 0; i <= bins; ++i) edges_.push_back(range.lower + i * (range.upper - range.lower) / bins);
        cumulative_.assign(bins, 0);
        for (float value : population) ++cumulative_[bin_of(value)];
        std::size_t first = 0;
        while (cumulative_[first] == 0) ++first;
        const std::uint64_t rest = population.size() - cumulative_[first];
        unchanged_ = rest == 0;
        cumulative_[first] = 0;
        for (std::size_t i = 1; i < bins; ++i) cumulative_[i] += cumulative_[i - 1];
        scale_ = 1.0f / static_cast<float>(rest);
    }
    /// Bin i holds edge(i) ≤ v < edge(i + 1); what lies outside goes to the nearest.
    std::size_t bin_of(double value) const {
        const auto after = std::upper_bound(edges_.begin(), edges_.end(), value) - edges_.begin();
        return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(after - 1, 0, 65535));
    }

    NormalizeMode mode_;
    double low_ = 0, high_ = 0, mean_ = 0, std_ = 0;
    bool unchanged_ = true;
    std::vector<double> edges_;
    std::vector<std::uint64_t> cumulative_;  ///< samples after the first non-empty bin, up to and including this one
    float scale_ = 0;
};

}  // namespace

Picture expected_normalized(const ImageView& image, const Normalization& normalization, const Analysis& analysis) {
    const Shape shape{image.width, image.height, image.channels, normalized_depth(image.depth, normalization.mode),
                      image.order};
    Picture result(shape, packed);
    const MutableImageView output = result.mutable_view();
    const std::vector<Channel> colors = image.channels == 1
                                            ? std::vector<Channel>{Channel::gray}
                                            : std::vector<Channel>{Channel::red, Channel::green, Channel::blue};
    const bool joint = normalization.joint && image.channels > 1;
    Range bins{INFINITY, -INFINITY};
    for (Channel channel : measured_channels(image.channels)) {
        if (image.depth != Depth::f32 || channel == Channel::alpha) continue;
        const FloatChannel found = float_channel(image, channel);
        if (found.finite.empty()) continue;
        bins.lower = std::min<double>(bins.lower, found.finite.front());
        bins.upper = std::max<double>(bins.upper, found.finite.back());
    }
    std::vector<double> table;
    std::optional<FloatMapping> mapping;
    for (Channel color : colors) {
        const Channel source = !joint                                          ? color
                               : normalization.mode == NormalizeMode::equalize ? Channel::luma
                                                                               : Channel::all;
        const bool known = joint && color != colors.front();
        if (image.depth == Depth::f32 && !known) {
            double mean = 0, std = 0;
            for (const Statistics& row : statistics(analysis))
                if (row.channel == source) mean = row.mean.value_or(0), std = row.std.value_or(0);
            mapping.emplace(float_channel(image, source).finite, normalization, bins, mean, std);
        } else if (!known) {
            std::vector<std::uint32_t> population = values_of(image, source);
            std::sort(population.begin(), population.end());
            table = table_of(population, normalization, top_of(image.depth));
        }
        const int c = position(image, color);
        for (std::int64_t y = 0; y < image.height; ++y)
            for (std::int64_t x = 0; x < image.width; ++x)
                image.depth == Depth::f32 ? store(output, x, y, c, (*mapping)(load<float>(image, x, y, c)))
                                          : result.set(x, y, c, table[sample(image, x, y, c)]);
    }
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width && image.channels == 4; ++x)
            image.depth == Depth::f32 ? store(output, x, y, 3, load<float>(image, x, y, 3))
                                      : result.set(x, y, 3, sample(image, x, y, 3));
    return result;
}

}  // namespace gpuhist::test
