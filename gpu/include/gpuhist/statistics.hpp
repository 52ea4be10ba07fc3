/// Numbers that a person reads, computed from an Analysis on the host, the same for every engine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"

namespace gpuhist {

/// Percentile that was asked for. Its value is linearly interpolated between order statistics at index q (n − 1), as
/// `numpy.percentile`; q is exact in units of 1e-6 percent.
struct Percentile {
    std::uint32_t micro = 0;  ///< in units of 1e-6 percent
    std::optional<double> value;
    friend bool operator==(const Percentile& a, const Percentile& b) {
        return a.micro == b.micro && a.value == b.value;
    }
};

/// Row of `stats.csv`: the numbers of one channel, in units of the stored values unless said otherwise. Absent means
/// undefined: no finite sample, a constant channel (skewness, kurtosis), one sample (std_sample), or floats, where a
/// column is for integers alone (columns.hpp); or not found out: entropy and unique of one f32 image, skewness,
/// kurtosis and percentiles of a brief analysis. All numbers but the counts by class are computed from valid samples.
/// Row `all` has the samples of colors and bands together.
struct Statistics : SampleCounts {
    Channel channel = Channel::gray;
    std::optional<double> min, max;
    std::optional<double> mean;           ///< Σx / n, rounded once (f32: nearly)
    std::optional<double> std;            ///< population: sqrt(n Σx² − (Σx)²) / n
    std::optional<double> std_sample;     ///< with n − 1
    std::optional<double> skewness;       ///< g1 = m3 / m2^1.5, population
    std::optional<double> kurtosis;       ///< g2 = m4 / m2² − 3, population
    std::optional<double> entropy;        ///< −Σ p log2 p, bits, one bin per possible value
    std::vector<Percentile> percentiles;  ///< those asked for, in their order
    std::optional<double> clipped_low;    ///< fraction of samples at the type's lowest value
    std::optional<double> clipped_high;   ///< of those at white or over it; images of several have none
    std::optional<std::uint64_t> unique;  ///< different values that occur
    /// Distance from the lowest to the highest bit that varies, inclusive. With `or` the bits ever set and `and` those
    /// always set over the values that occur, the bits that vary are `or & ~and`; of a constant channel none does: 0.
    /// So 12-bit data in 16 bits gives 12, low (0 … 4095) or shifted left, and a bit that is always set adds nothing.
    std::optional<std::uint64_t> effective_bits;
    // Weights, of an analysis by alpha alone: its numbers are weighted, and it has neither std_sample nor percentiles.
    std::optional<std::uint64_t> weight;           ///< Σα of the valid samples, n of the formulas
    std::vector<Percentile> weighted_percentiles;  ///< the smallest v with cum(v) >= q Σα, of those asked for

    /// Value of a percentile, of weighted samples the weighted one; absent where it was not asked for or is undefined.
    std::optional<double> percentile(double percent) const;

    /// List of all fields, from which equality and pickles follow: visit(name, member) for each. A field that is
    /// missing here does not compile (statistics.cpp).
    template <class Visit>
    static constexpr void for_each_field(const Visit& visit) {
        visit("channel", &Statistics::channel);
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
    }
    friend bool operator==(const Statistics& a, const Statistics& b) {
        bool equal = true;
        for_each_field([&](const char*, auto field) { equal = equal && a.*field == b.*field; });
        return equal;
    }
};

/// Rows of an analysis: `gray`; or `red green blue luma all`, then `alpha` where there is one. Bands stand before
/// `all`, which there is where colors and bands are more than one. Without a luma histogram the luma row is left out.
/// Throws InvalidArgument where an f32 analysis in full was not asked for these percentiles.
std::vector<Statistics> statistics(const Analysis& analysis, const Percentiles& percentiles = {});

}  // namespace gpuhist
