/// Histograms that are written and drawn: equal bins over a range, made from an Analysis on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"

namespace gpuhist {

/// Bins that a written histogram shows.
struct HistogramOptions {
    std::uint32_t bins = 256;    ///< equal bins over the range; 0: one per value (integers)
    std::optional<Range> range;  ///< absent: 8- and 16-bit integers: all values of the type; f32: the one analyzed;
                                 ///< others: from the lowest to the highest finite sample of all channels, which is in
                                 ///< the last bin
};

/// Histogram of equal bins over one range, one column per channel.
struct Histogram {
    struct Column : SampleCounts {
        Channel channel = Channel::gray;
        std::vector<std::uint64_t> counts;
        std::uint64_t below = 0, above = 0;  ///< samples outside of the range, ±Inf included
    };
    Range range;
    bool weighted = false;        ///< counts, below and above are sums of weights: Analysis::weighted
    std::vector<Column> columns;  ///< `gray`; or `red green blue luma`, then `alpha`; all of the same length

    /// Lower edge of a bin; edge(bins) is the upper end. lower + i·(upper − lower)/bins, in double.
    double edge(std::size_t bin) const;
};

/// Histogram of an analysis. Bin of v: floor((v − lower) N / (upper − lower)), in exact arithmetic for integers, whose
/// range bounds must be whole numbers; of floats that which begins at or below v and ends over it. For f32 the analysis
/// was already made with bins and range, channel by channel, and `options` must agree with it. Throws InvalidArgument:
/// lower ≥ upper, bounds not finite, bins over 2^24, one bin per value of floats.
Histogram histogram(const Analysis& analysis, const HistogramOptions& options = {});

}  // namespace gpuhist
