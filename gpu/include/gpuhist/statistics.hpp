/// The numbers a person reads, computed from an Analysis on the host, the same for every engine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"

namespace gpuhist {

/// The percentiles that `Statistics` holds, in percent.
inline constexpr std::array<int, 7> reported_percentiles{1, 5, 25, 50, 75, 95, 99};

/// One row of `stats.csv`. Absent means undefined: no finite sample, a constant channel (skewness, kurtosis), one
/// sample (std_sample), or f32 (entropy, clipped_*, effective_bits); or not found out: unique of one f32 image,
/// skewness, kurtosis and percentiles of a brief analysis. NaN and ±Inf are counted and left out of all the rest.
struct Statistics {
    Channel channel = Channel::gray;
    std::uint64_t pixels = 0;  ///< samples of this row; of `all`, the colour channels' together
    std::uint64_t nan = 0;
    std::uint64_t inf = 0;
    std::optional<double> min, max;
    std::optional<double> mean;        ///< Σx / n, rounded once (8 and 16 bits)
    std::optional<double> std;         ///< population: sqrt(n Σx² − (Σx)²) / n
    std::optional<double> std_sample;  ///< with n − 1
    std::optional<double> skewness;    ///< g1 = m3 / m2^1.5, population
    std::optional<double> kurtosis;    ///< g2 = m4 / m2² − 3, population
    std::optional<double> entropy;     ///< −Σ p log2 p, bits, one bin per possible value
    /// Linear interpolation between order statistics at index q (n − 1), as `numpy.percentile`.
    std::array<std::optional<double>, reported_percentiles.size()> percentiles;
    std::optional<double> clipped_low, clipped_high;  ///< fraction of samples at the type's lowest / highest value
    std::optional<std::uint64_t> unique;              ///< different values that occur
    /// Distance from the lowest to the highest bit that varies, inclusive. With `or` the bits ever set and `and` those
    /// always set over the values that occur, the bits that vary are `or & ~and`; of a constant channel none does: 0.
    /// So 12-bit data in 16 bits gives 12, low (0 … 4095) or shifted left, and a bit that is always set does not count.
    std::optional<std::uint64_t> effective_bits;
};

/// The rows of an analysis: `gray`; or `red green blue luma all`, then `alpha` where there is one.
/// Without a luma histogram the luma row is left out.
std::vector<Statistics> statistics(const Analysis& analysis);

/// What the written histogram shows.
struct HistogramOptions {
    std::uint32_t bins = 256;    ///< equal bins over the range; 0: one per value (8 and 16 bits)
    std::optional<Range> range;  ///< absent: [0, 256) or [0, 65536); f32: the one analysed
};

/// Equal bins over one range, a column a channel.
struct Histogram {
    struct Column {
        Channel channel = Channel::gray;
        std::vector<std::uint64_t> counts;
        std::uint64_t below = 0, above = 0, nan = 0;
    };
    Range range;
    std::vector<Column> columns;  ///< `gray`; or `red green blue luma`, then `alpha`; all of the same length

    /// Lower edge of a bin; edge(bins) is the upper end. lower + i·(upper − lower)/bins, in double.
    double edge(std::size_t bin) const;
};

/// The histogram of an analysis. Bin of v: floor((v − lower) N / (upper − lower)), in exact integers for 8 and 16 bits,
/// whose range bounds must be whole numbers. For f32 the analysis was already made with bins and range, channel by
/// channel, and `options` must agree with it.
/// Throws InvalidArgument: lower ≥ upper, bounds not finite, bins over 2^24, full bins of f32.
Histogram histogram(const Analysis& analysis, const HistogramOptions& options = {});

}  // namespace gpuhist
