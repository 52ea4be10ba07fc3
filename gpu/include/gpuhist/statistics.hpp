/// Statistics: the numbers of the results, computed from an Analysis on the host, the same for every engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpuhist/analysis.hpp"

namespace gpuhist {

/// Percentile of a request. Its value is interpolated linearly between order statistics, at index q (n − 1), as
/// `numpy.percentile` does it; q is exact in units of 1e-6 percent.
struct Percentile {
    std::uint32_t micro = 0;  ///< percentile in units of 1e-6 percent
    std::optional<double> value;
    friend bool operator==(const Percentile& a, const Percentile& b) {
        return a.micro == b.micro && a.value == b.value;
    }
};

/// Requested numbers: percentiles, and robust numbers.
struct StatisticsRequest {
    StatisticsRequest(const Percentiles& list = {}, const std::optional<double>& sigma = {})
        : percentiles(list), clip_sigma(sigma) {}

    Percentiles percentiles;
    /// If this is set, robust numbers are found: samples further than this many standard deviations from the median are
    /// clipped. It must be over 0.
    std::optional<double> clip_sigma;

    friend bool operator==(const StatisticsRequest& a, const StatisticsRequest& b) {
        return a.percentiles == b.percentiles && a.clip_sigma == b.clip_sigma;
    }
};

/// Sum of samples: a whole number for integers, a double for floats.
using SampleSum = std::variant<Int128, double>;

/// Row of `stats.csv`: the numbers of one channel, in units of the stored values unless the field says otherwise. All
/// numbers but the counts by class are computed from valid samples. The row `all` has the samples of colors and bands
/// together.
///
/// A number is absent if it is undefined: without finite samples, in a constant channel (skewness, kurtosis), with one
/// sample (std_sample), and for floats if its column is for integers only (columns.hpp). It is also absent if it was
/// not found: entropy, unique and mode of a single f32 image, and skewness, kurtosis and percentiles of a brief
/// analysis.
struct Statistics : SampleCounts {
    Channel channel = Channel::gray;
    std::string name;  ///< as in ChannelAnalysis
    std::optional<double> min, max;
    std::optional<double> mean;           ///< Σx / n, rounded once (f32: nearly)
    std::optional<double> std;            ///< population: sqrt(n Σx² − (Σx)²) / n
    std::optional<double> std_sample;     ///< with n − 1
    std::optional<double> skewness;       ///< g1 = m3 / m2^1.5, population
    std::optional<double> kurtosis;       ///< g2 = m4 / m2² − 3, population
    std::optional<double> entropy;        ///< −Σ p log2 p, bits, one bin per possible value
    std::vector<Percentile> percentiles;  ///< percentiles of the request, in its order
    std::optional<double> clipped_low;    ///< fraction of samples at the type's lowest value
    std::optional<double>
        clipped_high;  ///< fraction of samples at white or over it; absent for several values of white
    std::optional<std::uint64_t> unique;  ///< number of different values that occur
    /// Distance from the lowest to the highest bit that varies, inclusive. The bits that vary are `or & ~and`, with
    /// `or` the bits that any value has and `and` the bits that all values have. So 12-bit data in 16 bits has 12,
    /// whether it is low (0 … 4095) or shifted left, and a bit that is always set adds nothing. A constant channel has
    /// 0.
    std::optional<std::uint64_t> effective_bits;
    // Weights. Only an analysis weighted by alpha has them: its numbers are weighted, without std_sample and
    // percentiles.
    std::optional<double> weight;  ///< Σα of the valid samples, n of the formulas; rounded over 2^53 units
    std::vector<Percentile> weighted_percentiles;  ///< for each q of the request, the smallest v with cum(v) >= q Σα
    /// Σx, exact; for floats it is rounded once (f32: nearly); for weighted samples it is Σαx. Also absent if it
    /// exceeds the range of doubles.
    std::optional<SampleSum> sum;
    std::optional<double> mode;  ///< most frequent value, the lowest if several are; of weighted samples, by weight
    /// Regions: Σvx / Σv and Σvy / Σv over the valid samples v and their coordinates, the sums exact and each rounded
    /// once. Absent if Σv is 0.
    std::optional<double> weighted_centroid_x, weighted_centroid_y;
    // Robust numbers, if StatisticsRequest::clip_sigma asks for them. The values of f32 must have been counted. Of
    // weighted samples, medians are the weighted percentile 50, and fractions are those of the weight.
    std::optional<double> mad;  ///< median of |x − median|, not scaled
    /// Mean and population std of the samples that clipping leaves: samples outside of median ± clip_sigma · std are
    /// taken out, and median and std are computed again, until no sample is outside.
    std::optional<double> clipped_mean, clipped_std;
    std::optional<double> clipped_share;  ///< fraction of the samples that clipping takes out

    /// Value of a percentile, or of the weighted one if samples are weighted. Absent if it was not requested or is
    /// undefined.
    std::optional<double> percentile(double percent) const;

    /// List of all fields, from which equality and pickles follow: visit(name, member) for each. A field that is
    /// missing here does not compile (statistics.cpp).
    template <class Visit>
    static constexpr void for_each_field(const Visit& visit) {
        visit("channel", &Statistics::channel);
        visit("name", &Statistics::name);
        SampleCounts::for_each_field(visit);
        visit("min", &Statistics::min);
        visit("max", &Statistics::max);
        visit("mean", &Statistics::mean);
        visit("std", &Statistics::std);
        visit("std_sample", &Statistics::std_sample);
        visit("skewness", &Statistics::skewness);
        visit("kurtosis", &Statistics::kurtosis);
        visit("entropy", &Statistics::entropy);
        visit("percentiles", &Statistics::percentiles);
        visit("clipped_low", &Statistics::clipped_low);
        visit("clipped_high", &Statistics::clipped_high);
        visit("unique", &Statistics::unique);
        visit("effective_bits", &Statistics::effective_bits);
        visit("weight", &Statistics::weight);
        visit("weighted_percentiles", &Statistics::weighted_percentiles);
        visit("sum", &Statistics::sum);
        visit("mode", &Statistics::mode);
        visit("weighted_centroid_x", &Statistics::weighted_centroid_x);
        visit("weighted_centroid_y", &Statistics::weighted_centroid_y);
        visit("mad", &Statistics::mad);
        visit("clipped_mean", &Statistics::clipped_mean);
        visit("clipped_std", &Statistics::clipped_std);
        visit("clipped_share", &Statistics::clipped_share);
    }
    friend bool operator==(const Statistics& a, const Statistics& b) { return equal_fields(a, b); }
};

/// Rows of an analysis in `stats.csv`: `gray`; or `red green blue luma all`, then `alpha` if there is one. Bands come
/// before `all`, which exists if there are several colors and bands. Without a luma histogram, there is no row `luma`.
/// `values` are the tables of count_frequencies, for robust numbers of f32; then mode and unique follow too. Throws
/// InvalidArgument if a full f32 analysis was not asked for these percentiles, and for a clip_sigma that is not over 0.
std::vector<Statistics> statistics(const Analysis& analysis, const StatisticsRequest& request = {},
                                   const std::vector<FrequencyTable>& values = {});

}  // namespace gpuhist
