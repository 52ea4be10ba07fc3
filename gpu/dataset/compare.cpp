#include "gpuhist/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/analysis.hpp"
#include "core/codes.hpp"
#include "core/integers.hpp"
#include "dataset/summary.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {
namespace {

constexpr std::size_t bins_of_range = 256;
constexpr int quantiles = 10;
constexpr double least_share = 1e-6;

/// Values of a channel that occur, ascending, each with its number of samples, or with their weight.
class Values {
  public:
    /// `unit` is the value of 1 in the scale of the comparison.
    Values(Depth depth, const ChannelSummary& channel, double unit)
        : depth_(depth),
          channel_(channel),
          unit_(unit),
          tabled_(traits_of(depth).counting != Counting::values || channel.counts.empty()),
          reader_(channel.values.runs()) {
        if (tabled_)
            for (const FrequencyRun& run : channel.values.runs()) all_ += run.samples();
        else
            for (const std::uint64_t count : channel.counts) all_ += count;
    }
    /// Moves to the first value, or to the next. Returns false if there is none, also in all later calls.
    bool next() {
        if (tabled_) {
            if (!reader_.next()) return false;
            count_ = reader_.count();
            value_ = reader_.value() / unit_;
            return true;
        }
        while (next_ < channel_.counts.size() && channel_.counts[next_] == 0) ++next_;
        if (next_ == channel_.counts.size()) return false;
        value_ = core::value_at(depth_, next_) / unit_;
        count_ = channel_.counts[next_++];
        return true;
    }
    double value() const { return value_; }
    std::uint64_t count() const { return count_; }
    std::uint64_t all() const { return all_; }  ///< Σ of the counts

  private:
    const Depth depth_;
    const ChannelSummary& channel_;
    const double unit_;
    const bool tabled_;  ///< values are in a table: the counts of f32 are bins
    FrequencyReader reader_;
    std::size_t next_ = 0;
    std::uint64_t count_ = 0, all_ = 0;
    double value_ = 0;
};

/// Channel of one of the sets, and its row.
struct Side {
    const DepthSummary& summary;
    const ChannelSummary& channel;
    const Statistics& row;
    double unit = 1;

    Values values() const { return {summary.depth, channel, unit}; }
    std::optional<double> scaled(const std::optional<double>& value) const {
        return value ? std::optional(*value / unit) : std::nullopt;
    }
};

/// Sum of doubles by Neumaier: its error does not grow with the number of terms.
class Sum {
  public:
    void add(double term) {
        const double sum = sum_ + term;
        lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - sum) + term : (term - sum) + sum_;
        sum_ = sum;
    }
    double value() const { return sum_ + lost_; }

  private:
    double sum_ = 0, lost_ = 0;
};

/// Shares p and q of each bin, added up to the numbers that depend on bins.
class SharesOfBins {
  public:
    void add(double p, double q) {
        products_.add(p * q);
        squares_a_.add(p * p);
        squares_b_.add(q * q);
        if (p > 0) chi_square_.add((p - q) * (p - q) / p);
        intersection_.add(std::min(p, q));
        const double difference = std::sqrt(p) - std::sqrt(q);
        hellinger_.add(difference * difference);
        const double middle = (p + q) / 2;
        for (const double share : {p, q})
            if (share > 0) divergence_.add(share * std::log2(share / middle));
    }
    void finish(std::uint64_t bins, ChannelComparison& found) const {
        const double mean = 1 / static_cast<double>(bins);  // of the shares, which add up to 1
        const double a = squares_a_.value() - mean, b = squares_b_.value() - mean;
        const double both = products_.value() - mean;
        found.bins = bins;
        found.correlation = a * b > std::numeric_limits<double>::epsilon() * mean * mean ? both / std::sqrt(a * b) : 1;
        found.chi_square = chi_square_.value();
        found.intersection = intersection_.value();
        found.bhattacharyya = std::sqrt(hellinger_.value() / 2);
        found.jensen_shannon = std::sqrt(std::max(0.0, divergence_.value() / 2));
    }

  private:
    Sum products_, squares_a_, squares_b_, chi_square_, intersection_, hellinger_, divergence_;
};

/// Shares between the quantiles of A, in ascending order.
class Quantiles {
  public:
    /// Takes the numbers of samples up to a value, of all.
    void take(std::uint64_t a, std::uint64_t b, std::uint64_t all_a, std::uint64_t all_b) {
        while (next_ < quantiles && static_cast<core::u128>(a) * quantiles >= static_cast<core::u128>(all_a) * next_) {
            add(a, b, all_a, all_b);
            ++next_;
        }
    }
    double finish(std::uint64_t all_a, std::uint64_t all_b) {
        add(all_a, all_b, all_a, all_b);
        return sum_.value();
    }

  private:
    void add(std::uint64_t a, std::uint64_t b, std::uint64_t all_a, std::uint64_t all_b) {
        const auto share = [](std::uint64_t samples, std::uint64_t all) {
            return std::max(static_cast<double>(samples) / static_cast<double>(all), least_share);
        };
        const double p = share(a - a_, all_a), q = share(b - b_, all_b);
        sum_.add((q - p) * std::log(q / p));
        a_ = a;
        b_ = b;
    }

    unsigned next_ = 1;
    std::uint64_t a_ = 0, b_ = 0;  ///< samples up to the last quantile
    Sum sum_;
};

/// Counts of both sets in equal bins between two values.
class RangeBins {
  public:
    RangeBins(double lowest, double highest) : lowest_(lowest), highest_(highest) {
        a.resize(highest > lowest ? bins_of_range : 1);
        b.resize(a.size());
    }
    std::size_t of(double value) const {
        const auto last = static_cast<double>(a.size() - 1);
        if (last == 0) return 0;
        // Halves of the values: their difference may not be a double.
        const double place = (value / 2 - lowest_ / 2) / (highest_ / 2 - lowest_ / 2);
        return static_cast<std::size_t>(std::min(std::floor(place * static_cast<double>(a.size())), last));
    }
    std::vector<std::uint64_t> a, b;

  private:
    const double lowest_, highest_;
};

/// Integers of 8 and 16 bits have one bin per value.
bool has_bin_per_value(Depth depth) {
    return traits_of(depth).counting == Counting::values && !traits_of(depth).floating;
}

Range common_range(const Side& a, const Side& b) {
    const Range first = *a.summary.extremes(a.channel), second = *b.summary.extremes(b.channel);
    return {std::min(first.lower / a.unit, second.lower / b.unit),
            std::max(first.upper / a.unit, second.upper / b.unit)};
}

/// Walks over the values of both, in ascending order.
void compare_values(const Side& side_a, const Side& side_b, ChannelComparison& found) {
    Values a = side_a.values(), b = side_b.values();
    const std::uint64_t all_a = a.all(), all_b = b.all();
    const auto whole_a = static_cast<double>(all_a), whole_b = static_cast<double>(all_b);
    const bool per_value = !found.of_white && has_bin_per_value(found.depth_a);
    const Range range = common_range(side_a, side_b);
    RangeBins bins(range.lower, range.upper);
    SharesOfBins shares;
    Quantiles intervals;
    Sum distance;
    core::u128 largest = 0;
    std::uint64_t up_to_a = 0, up_to_b = 0;
    double last = range.lower;
    core::u128 apart = 0;  // |F_A − F_B| · all_a · all_b from the last value on
    bool more_a = a.next(), more_b = b.next();
    while (more_a || more_b) {
        const double value = !more_b ? a.value() : !more_a ? b.value() : std::min(a.value(), b.value());
        const bool in_a = more_a && a.value() == value, in_b = more_b && b.value() == value;
        const std::uint64_t count_a = in_a ? a.count() : 0, count_b = in_b ? b.count() : 0;
        if (apart > 0) distance.add(core::to_double(apart) * (value - last));
        up_to_a += count_a;
        up_to_b += count_b;
        const core::u128 part_a = static_cast<core::u128>(up_to_a) * all_b,
                         part_b = static_cast<core::u128>(up_to_b) * all_a;
        apart = part_a > part_b ? part_a - part_b : part_b - part_a;
        largest = std::max(largest, apart);
        last = value;
        intervals.take(up_to_a, up_to_b, all_a, all_b);
        if (per_value) {
            shares.add(static_cast<double>(count_a) / whole_a, static_cast<double>(count_b) / whole_b);
        } else {
            const std::size_t bin = bins.of(value);
            bins.a[bin] += count_a;
            bins.b[bin] += count_b;
        }
        more_a = in_a ? a.next() : more_a;
        more_b = in_b ? b.next() : more_b;
    }
    if (!per_value)
        for (std::size_t i = 0; i < bins.a.size(); ++i)
            shares.add(static_cast<double>(bins.a[i]) / whole_a, static_cast<double>(bins.b[i]) / whole_b);
    shares.finish(per_value ? traits_of(found.depth_a).values : bins.a.size(), found);
    found.wasserstein = distance.value() / whole_a / whole_b;
    found.ks = core::to_double(largest) / (whole_a * whole_b);
    found.psi = intervals.finish(all_a, all_b);
}

ChannelComparison compare_channels(const Side& a, const Side& b, bool of_white) {
    ChannelComparison found;
    found.channel = a.channel.channel;
    found.name = a.channel.name;
    found.depth_a = a.summary.depth;
    found.depth_b = b.summary.depth;
    found.of_white = of_white;
    found.images_a = a.channel.images;
    found.images_b = b.channel.images;
    found.valid_a = a.channel.valid();
    found.valid_b = b.channel.valid();
    found.mean_a = a.scaled(a.row.mean);
    found.mean_b = b.scaled(b.row.mean);
    found.std_a = a.scaled(a.row.std);
    found.std_b = b.scaled(b.row.std);
    if (found.valid_a == 0 || found.valid_b == 0) return found;
    found.mean_difference = *found.mean_b - *found.mean_a;
    found.std_difference = *found.std_b - *found.std_a;
    if (*found.std_a > 0) found.std_ratio = *found.std_b / *found.std_a;
    if (const double spread = std::hypot(*found.std_a, *found.std_b) / std::sqrt(2.0); spread > 0)
        found.smd = *found.mean_difference / spread;
    for (const Side* side : {&a, &b})
        if (traits_of(side->summary.depth).counting == Counting::bins && !side->summary.values_counted)
            throw InvalidArgument(std::string(to_string(side->summary.depth)) +
                                  ": the values of the images were not counted");
    compare_values(a, b, found);
    if (found.same()) {  // without the rounding of two scales
        found.mean_difference = found.std_difference = 0;
        if (found.std_ratio) found.std_ratio = 1;
        if (found.smd) found.smd = 0;
    }
    return found;
}

/// Channels of a depth as its rows have them: `all` is made of others.
class Channels {
  public:
    Channels(const DepthSummary& summary, std::vector<Statistics> rows) : summary_(summary), rows_(std::move(rows)) {
        if (core::has_pooled(summary.channels)) all_ = core::sum_of(summary, core::is_pooled);
    }
    const DepthSummary& summary() const { return summary_; }
    const std::vector<Statistics>& rows() const { return rows_; }
    std::optional<Side> find(const Statistics& like, double unit) const {
        for (const Statistics& row : rows_) {
            if (channel_name(row) != channel_name(like)) continue;
            const ChannelSummary* channel = row.channel == Channel::all ? &*all_ : summary_.find(channel_name(row));
            return Side{summary_, *channel, row, unit};
        }
        return std::nullopt;
    }

    /// Returns whether a row is of all samples of some images, but alpha.
    bool stands_for_images(const Statistics& row) const {
        return row.channel == Channel::gray || (all_ ? row.channel == Channel::all : is_band(row.channel));
    }

  private:
    const DepthSummary& summary_;
    std::vector<Statistics> rows_;
    std::optional<ChannelSummary> all_;
};

std::string name_of(const DepthSummary& summary, const Statistics& row) {
    return std::string(to_string(summary.depth)).append(" ").append(channel_name(row));
}

void compare_depths(const Channels& a, const Channels& b, ComparedChannels channels, Comparison& found) {
    const auto &white_a = a.summary().white, &white_b = b.summary().white;
    const bool depths_differ = a.summary().depth != b.summary().depth;
    if (depths_differ && (!white_a || !white_b))
        throw InvalidArgument(std::string(to_string((white_a ? b : a).summary().depth)) +
                              ": images have different values for white, so they can't be compared with " +
                              to_string((white_a ? a : b).summary().depth));
    const bool of_white = depths_differ || (white_a && white_b && *white_a != *white_b);
    for (const Statistics& row : a.rows()) {
        if (channels == ComparedChannels::whole && !a.stands_for_images(row)) continue;
        const Side own = *a.find(row, of_white ? *white_a : 1);
        if (const auto other = b.find(row, of_white ? *white_b : 1))
            found.channels.push_back(compare_channels(own, *other, of_white));
        else
            found.only_a.push_back(name_of(a.summary(), row));
    }
    for (const Statistics& row : b.rows())
        if (!a.find(row, 1)) found.only_b.push_back(name_of(b.summary(), row));
}

}  // namespace

struct ComparedSet::Channels {
    Summary set;
    std::vector<gpuhist::Channels> depths;
};

ComparedSet::ComparedSet(Summary set) {
    auto channels = std::make_shared<Channels>();
    channels->set = std::move(set);
    std::vector<SummaryRow> all = channels->set.statistics(Percentiles({50.0}));
    for (const DepthSummary& depth : channels->set.depths()) {
        std::vector<Statistics> rows;
        for (SummaryRow& row : all)
            if (row.depth == depth.depth) rows.push_back(std::move(row.statistics));
        channels->depths.emplace_back(depth, std::move(rows));
    }
    channels_ = std::move(channels);
}

const Summary& ComparedSet::summary() const {
    return channels_->set;
}

Comparison compare(const ComparedSet& a, const ComparedSet& b, ComparedChannels channels) {
    const auto &depths_a = a.channels_->depths, &depths_b = b.channels_->depths;
    const auto find = [](const auto& depths, const Channels& like) {
        return std::find_if(depths.begin(), depths.end(),
                            [&](const Channels& one) { return one.summary().depth == like.summary().depth; });
    };
    const auto add_names = [](const Channels& depth, std::vector<std::string>& names) {
        for (const Statistics& row : depth.rows()) names.push_back(name_of(depth.summary(), row));
    };
    Comparison found;
    if (depths_a.size() == 1 && depths_b.size() == 1) {
        compare_depths(depths_a.front(), depths_b.front(), channels, found);
        return found;
    }
    for (const Channels& depth : depths_a)
        if (const auto other = find(depths_b, depth); other != depths_b.end())
            compare_depths(depth, *other, channels, found);
        else
            add_names(depth, found.only_a);
    for (const Channels& depth : depths_b)
        if (find(depths_a, depth) == depths_a.end()) add_names(depth, found.only_b);
    return found;
}

}  // namespace gpuhist
