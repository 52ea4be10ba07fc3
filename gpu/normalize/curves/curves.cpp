#include "normalize/curves/curves.hpp"

#include <string>
#include <type_traits>
#include <utility>

#include "core/analysis.hpp"
#include "core/bins.hpp"
#include "core/validate.hpp"
#include "gpuhist/error.hpp"
#include "normalize/lut.hpp"
#include "statistics/counted_samples.hpp"
#include "statistics/moments.hpp"
#include "statistics/robust.hpp"
#include "statistics/thresholds.hpp"

namespace gpuhist::core {
namespace {

/// Calls use(samples, moments) with samples as statistics walk over them, and their type of moments.
template <class Use>
void with_samples(const DecidingSamples& of, const Use& use) {
    static const std::vector<std::uint64_t> no_counts;
    static const FrequencyTable no_values;
    const auto& counts = of.counts ? *of.counts : no_counts;
    const FrequencyTable& values = of.values ? *of.values : no_values;
    if (traits_of(of.depth).counting == Counting::values && !traits_of(of.depth).floating)
        use(CountedSamples(counts, values, {of.depth}), static_cast<Moments*>(nullptr));
    else
        use(RealSamples(counts, values, {of.depth}), static_cast<RealMoments*>(nullptr));
}

/// Smallest value with at least `rank` samples up to it.
template <class Samples>
double value_at_rank(const Samples& samples, std::uint64_t rank) {
    double found = 0;
    std::uint64_t through = 0;
    samples.each([&](auto value, std::uint64_t count) {
        if (through < rank) found = static_cast<double>(value);
        through += count;
    });
    return found;
}

/// Bins of a threshold of floats and of 32 bits, as scikit-image has them.
constexpr std::uint32_t threshold_bins = 256;

/// Threshold of samples. If all have one value, this value: all are dark.
template <class Samples>
double threshold_of(const Samples& samples, const DecidingSamples& of, ThresholdRule rule) {
    double first = 0, last = 0;
    bool any = false;
    samples.each([&](auto value, std::uint64_t) {
        last = static_cast<double>(value);
        if (!std::exchange(any, true)) first = last;
    });
    if (first == last) return first;
    const DepthTraits& traits = traits_of(of.depth);
    if (of.counts && !traits.floating) return traits.lowest + *threshold_by(rule, *of.counts);
    std::vector<std::uint64_t> counts(threshold_bins);
    const double width = bin_width(first, last, threshold_bins);
    samples.each([&](auto value, std::uint64_t count) {
        const double place = (static_cast<double>(value) / 2 - first / 2) / (width / 2);
        auto bin = std::min(static_cast<std::uint32_t>(place), threshold_bins - 1);
        // The edges decide, as in numpy.histogram.
        if (static_cast<double>(value) < bin_edge(first, last, threshold_bins, bin))
            --bin;
        else if (bin + 1 < threshold_bins &&
                 static_cast<double>(value) >= bin_edge(first, last, threshold_bins, bin + 1))
            ++bin;
        counts[bin] += count;
    });
    return first + (*threshold_by(rule, counts) + 0.5) * width;
}

/// Distinct values of samples, and the fraction of samples up to each.
struct Quantiles {
    std::vector<double> values, fractions;

    template <class Samples>
    explicit Quantiles(const Samples& samples) {
        std::uint64_t through = 0;
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(samples.n, 1 << 16));
        values.reserve(most);
        fractions.reserve(most);
        samples.each([&](auto value, std::uint64_t count) {
            through += count;
            values.push_back(static_cast<double>(value));
            fractions.push_back(static_cast<double>(through) / static_cast<double>(samples.n));
        });
    }
};

/// numpy.interp of ascending x.
std::vector<double> interpolated(const std::vector<double>& x, const Quantiles& reference) {
    const std::vector<double>&xs = reference.fractions, &ys = reference.values;
    std::vector<double> found;
    found.reserve(x.size());
    std::size_t at = 0;
    for (const double one : x) {
        while (at + 1 < xs.size() && xs[at + 1] <= one) ++at;
        if (one <= xs.front() || at + 1 == xs.size()) {
            found.push_back(one <= xs.front() ? ys.front() : ys.back());
            continue;
        }
        const double slope = (ys[at + 1] - ys[at]) / (xs[at + 1] - xs[at]);
        found.push_back(slope * (one - xs[at]) + ys[at]);
    }
    return found;
}

/// Samples of the reference that stand for a channel: its own, its gray for colors, or its luma for gray.
DecidingSamples samples_of(const NormalizeReference& reference, Channel channel) {
    const Analysis& analysis = *reference.analysis;
    const auto place_of = [&](Channel sought) {
        const auto at = std::find_if(analysis.channels.begin(), analysis.channels.end(),
                                     [&](const ChannelAnalysis& one) { return one.channel == sought; });
        return static_cast<std::size_t>(at - analysis.channels.begin());
    };
    std::size_t at = place_of(channel);
    if (at == analysis.channels.size()) at = place_of(channel == Channel::gray ? Channel::luma : Channel::gray);
    if (at == analysis.channels.size())
        throw InvalidArgument(std::string("match: the reference has no ") + to_string(channel));
    const ChannelAnalysis& found = analysis.channels[at];
    switch (traits_of(analysis.depth).counting) {
        case Counting::values:
            return {analysis.depth, &found.counts, nullptr};
        case Counting::sorted:
            return {analysis.depth, nullptr, &found.values};
        case Counting::bins:
            break;
    }
    if (reference.values.size() <= at) throw InvalidArgument("match: the reference has no counts of its values");
    return {analysis.depth, nullptr, &reference.values[at]};
}

/// Sets the facts of `match`, given the quantiles of a channel.
void match(CurveFacts& facts, Quantiles own, const Normalization& asked, Depth depth, Channel channel) {
    validate_reference(asked, depth);
    with_samples(samples_of(*asked.reference, channel), [&](const auto& reference, auto*) {
        const Quantiles target(reference);
        if (target.values.empty()) return;
        facts.matched.matched = interpolated(own.fractions, target);
        facts.matched.values = std::move(own.values);
    });
}

/// Dispatch on a mode that is a curve: calls `function` with the curve that follows from the facts.
template <class Function>
void with_curve(const CurveFacts& facts, const Function& function) {
    if (facts.asked.mode == NormalizeMode::match) return function(MatchCurve(facts));
    with_numeric_curve(facts, function);
}

}  // namespace

CurveMap::CurveMap(const CurveFacts& facts, Depth copy, Levels levels)
    : facts_(facts), copy_(copy), levels_(levels), unit_(1) {
    with_curve(facts, [&](const auto& curve) { unit_ = unit_of(curve, facts); });
}

void CurveMap::operator()(double* values, std::int64_t count, void* out, std::int64_t stride) const {
    with_curve(facts_, [&](const auto& curve) {
        if constexpr (std::is_same_v<decltype(curve), const MatchCurve&>)
            curve.replace(values, count);
        else
            for (std::int64_t i = 0; i < count; ++i) values[i] = curve(values[i]);
    });
    const bool real = traits_of(facts_.asked.mode).real;
    with_depth(copy_, [&](auto sample) {
        using Out = decltype(sample);
        for (std::int64_t i = 0; i < count; ++i)
            static_cast<Out*>(out)[i * stride] = written<Out>(values[i], unit_, real, levels_);
    });
}

bool keeps(const CurveFacts& facts, const Normalization& normalization) {
    if (normalization.mode == NormalizeMode::match) return MatchCurve::keeps(facts);
    return keeps(facts, needs_of(normalization));
}

CurveFacts facts_of(const DecidingSamples& of, Channel channel, const Normalization& asked) {
    CurveFacts facts(of.depth, CurveParameters(asked));
    facts.threshold = asked.threshold_value;
    with_samples(of, [&](const auto& samples, auto* kind) {
        using Sums = std::remove_pointer_t<decltype(kind)>;
        facts.samples = samples.n;
        if (samples.n == 0) return;
        switch (needs_of(asked)) {
            case NormalizeNeeds::nothing:
                break;
            case NormalizeNeeds::extremes:
                facts.low = value_at_rank(samples, 1);
                facts.high = value_at_rank(samples, samples.n);
                break;
            case NormalizeNeeds::ranks:
                facts.low = value_at_rank(samples, nearest_rank(asked.low, samples.n));
                facts.high = value_at_rank(samples, nearest_rank(asked.high, samples.n));
                break;
            case NormalizeNeeds::mean_std:
            case NormalizeNeeds::counts: {
                if (asked.mode == NormalizeMode::threshold) {
                    facts.threshold = threshold_of(samples, of, asked.threshold);
                    break;
                }
                if (asked.mode == NormalizeMode::match) {
                    match(facts, Quantiles(samples), asked, of.depth, channel);
                    break;
                }
                const Center center = center_of<Sums>(samples, false);
                const bool robust = asked.mode == NormalizeMode::robust;
                facts.mean = robust ? center.median : center.mean;
                facts.std = robust ? 1.4826 * median_distance(samples, center.median, false) : center.std;
                set_interval(facts);
                break;
            }
        }
    });
    return facts;
}

void validate_reference(const Normalization& normalization, Depth depth) {
    const auto& reference = normalization.reference;
    if (!reference || !reference->analysis) throw InvalidArgument("match needs a reference");
    if (reference->analysis->depth != depth)
        throw InvalidArgument(std::string("match: the reference is ") + to_string(reference->analysis->depth) +
                              ", and not " + to_string(depth) + " as the image");
}

void fill_table(Depth depth, Depth copy, const CurveFacts& facts, const Normalization& normalization, void* table) {
    const Levels levels = levels_of(copy, normalization.fill);
    if (keeps(facts, normalization)) return fill_identity(depth, copy, normalization.mode, levels, table);
    const CurveMap map(facts, copy, levels);
    const auto count = static_cast<std::int64_t>(traits_of(depth).values);
    auto* to = static_cast<std::byte*>(table);
    double values[CurveMap::block];
    for (std::int64_t place = 0; place < count; place += CurveMap::block) {
        for (std::int64_t i = 0; i < CurveMap::block; ++i) values[i] = value_at(depth, place + i);
        map(values, CurveMap::block, to + place * sample_bytes(copy));
    }
}

Range zscale(std::vector<double>& samples) {
    // astropy.visualization.ZScaleInterval with its defaults, after IRAF's zscale.
    constexpr double contrast = 0.25, most_rejected = 0.5, rejection = 2.5;
    constexpr int least = 5, iterations = 5;
    std::sort(samples.begin(), samples.end());
    const auto n = static_cast<int>(samples.size());
    const int least_good = std::max(least, static_cast<int>(n * most_rejected)),
              grown = std::max(1, static_cast<int>(n * 0.01));
    std::vector<char> bad(samples.size());
    int good = n, last_good = n + 1;
    double slope = 0;
    for (int i = 0; i < iterations && good < last_good && good >= least_good; ++i) {
        // Least squares over the good samples, about their middle.
        double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
        for (int x = 0; x < n; ++x)
            if (!bad[x]) {
                mean_x += x;
                mean_y += samples[x];
            }
        mean_x /= good;
        mean_y /= good;
        for (int x = 0; x < n; ++x)
            if (!bad[x]) {
                xx += (x - mean_x) * (x - mean_x);
                xy += (x - mean_x) * (samples[x] - mean_y);
            }
        slope = xx > 0 ? xy / xx : 0;
        std::vector<double> flat(samples.size());
        double mean = 0, squares = 0;
        for (int x = 0; x < n; ++x) {
            flat[x] = samples[x] - (mean_y + slope * (x - mean_x));
            if (!bad[x]) mean += flat[x] / good;
        }
        for (int x = 0; x < n; ++x)
            if (!bad[x]) squares += (flat[x] - mean) * (flat[x] - mean);
        const double threshold = rejection * std::sqrt(squares / good);
        std::vector<char> rejected = bad;
        for (int x = 0; x < n; ++x)
            if (flat[x] < -threshold || flat[x] > threshold) rejected[x] = 1;
        // A rejected sample takes its neighbors along, as numpy.convolve with mode "same" reaches.
        std::fill(bad.begin(), bad.end(), 0);
        for (int x = 0; x < n; ++x)
            if (rejected[x])
                for (int near = x - (grown - 1) / 2; near <= x + grown / 2; ++near)
                    if (near >= 0 && near < n) bad[near] = 1;
        last_good = good;
        good = static_cast<int>(std::count(bad.begin(), bad.end(), 0));
    }
    Range ends{samples.front(), samples.back()};
    if (good < least_good) return ends;
    slope /= contrast;
    const int center = (n - 1) / 2;
    const double median =
        (samples[static_cast<std::size_t>((n - 1) / 2)] + samples[static_cast<std::size_t>(n / 2)]) / 2;
    ends.lower = std::max(ends.lower, median - (center - 1) * slope);
    ends.upper = std::min(ends.upper, median + (n - center) * slope);
    return ends;
}

}  // namespace gpuhist::core
