/// Histograms for files and pictures: equal bins over a range, made from an Analysis on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/analysis.hpp"

namespace gpuhist {

/// Bins of a histogram.
struct HistogramOptions {
    std::uint32_t bins = 256;  ///< number of equal bins over the range; 0: one bin per value, for integers
    /// Range of the bins. Without one, the bins of 8- and 16-bit integers cover all values of the type, f32 has the
    /// range of its analysis, and other depths have the range from the lowest to the highest finite sample of all
    /// channels; the highest sample is in the last bin.
    std::optional<Range> range;
};

/// Histogram of equal bins over one range, one column per channel.
struct Histogram {
    struct Column : SampleCounts {
        Channel channel = Channel::gray;
        std::vector<std::uint64_t> counts;
        std::uint64_t below = 0, above = 0;  ///< samples outside of the range, ±Inf included
        std::string name{};                  ///< as in ChannelAnalysis
    };
    Range range;
    bool weighted = false;        ///< counts, below and above are sums of weights: Analysis::weighted
    double unit = 1;              ///< unit of these sums: DepthTraits::alpha_unit if they are weights
    std::vector<Column> columns;  ///< `gray`; or `red green blue luma`, then `alpha`; all of the same length

    /// Lower edge of a bin: lower + i·(upper − lower)/bins, in double. edge(bins) is the upper end.
    double edge(std::size_t bin) const;
};

/// Histogram of an analysis. The bin of an integer v is floor((v − lower) N / (upper − lower)), in exact arithmetic;
/// the bounds of the range must be whole numbers. The bin of a float is the one that begins at or below it and ends
/// above it. An f32 analysis already has its bins and range, and `options` must agree with them. Throws InvalidArgument
/// for lower ≥ upper, bounds that are not finite, more than 2^24 bins, and one bin per value of floats.
Histogram histogram(const Analysis& analysis, const HistogramOptions& options = {});

}  // namespace gpuhist
