/// Summaries: the findings of many images, as if their pixels were one image's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist {

/// Power sums Σx, Σx², Σx³ and Σx⁴ over finite f32 samples, exact in the samples' distances from each image's pivot,
/// which are rounded as FloatMoments says: they do not depend on the order or grouping in which images come together.
/// `sums[k-1]` is Σx^k · 2^(k · fraction_bits), in two's complement, the least significant word first. Wide enough for
/// 2^62 samples of any size: that many x⁴ stay below 2^(62 + 4·128 + 4·fraction_bits) < 2^(64·words − 1).
struct PowerSums {
    static constexpr int words = 30;
    static constexpr int fraction_bits = 330;
    using Integer = std::array<std::uint64_t, words>;
    std::array<Integer, 4> sums{};
    friend bool operator==(const PowerSums& a, const PowerSums& b) { return a.sums == b.sums; }
};

/// Channel of all images of a depth, with at most 2^60 samples. Nothing vanishes: where there are counts,
/// Σ counts + below + above + nan == counted(); of depths that are sorted, those in `values` instead of Σ counts.
/// Weighted ones lie between the samples and these times the depth's highest value.
struct ChannelSummary : SampleCounts {
    Channel channel = Channel::gray;
    std::uint64_t images = 0;
    std::vector<std::uint64_t> counts;  ///< as in ChannelAnalysis; f32: bins over the depth's range

    // Floats only, zero otherwise; as in ChannelAnalysis. f32 without a common range: zero.
    std::uint64_t below = 0, above = 0;
    // f32 only, zero otherwise.
    float minimum = 0, maximum = 0;  ///< of the finite samples; 0 when there is none
    PowerSums power_sums;            ///< of brief analyses k = 1 and 2 alone, the rest zero
    FrequencyTable values;           ///< f32: frequencies, where they came with all images; Counting::sorted: always

    friend bool operator==(const ChannelSummary& a, const ChannelSummary& b) {
        return a.by_class() == b.by_class() && a.channel == b.channel && a.images == b.images && a.counts == b.counts &&
               a.below == b.below && a.above == b.above && a.minimum == b.minimum && a.maximum == b.maximum &&
               a.power_sums == b.power_sums && a.values == b.values;
    }
};

/// Images of one depth, summed up: gray ones feed `gray`, color ones `red green blue luma` and `alpha`, bands their
/// own.
struct DepthSummary {
    Depth depth = Depth::u8;
    /// Value that stands for white in all images, over 0; absent where they have several.
    std::optional<double> white = traits_of(Depth::u8).highest;
    std::optional<Range> range;  ///< that `counts` cover: all values; f32: the images' range where all were counted in
                                 ///< the same bins; else absent, and there are no counts
    bool upper_closed = false;   ///< f32: as in Analysis
    Detail detail = Detail::full;  ///< f32: brief where any image's was; others: full
    bool weighted = false;         ///< as Analysis::weighted, of all images: `counts` are sums of weights
    bool values_counted = false;   ///< f32: FrequencyTable came with all images; Counting::sorted: true; others: false
    std::vector<ChannelSummary> channels;  ///< in the order of `Channel`, never `all`

    /// Findings of a channel, or null.
    const ChannelSummary* find(Channel channel) const;
    /// Lowest and highest finite sample of one of its channels; absent where there is none.
    std::optional<Range> extremes(const ChannelSummary& channel) const;

    friend bool operator==(const DepthSummary& a, const DepthSummary& b) {
        return a.depth == b.depth && a.white == b.white && a.range == b.range && a.upper_closed == b.upper_closed &&
               a.detail == b.detail && a.weighted == b.weighted && a.values_counted == b.values_counted &&
               a.channels == b.channels;
    }
};

/// Row of dataset.csv.
struct SummaryRow {
    Depth depth = Depth::u8;
    std::uint64_t images = 0;
    Statistics statistics;
    std::optional<double> white;  ///< of DepthSummary
};

/// Numbers that a summary gives for one depth.
struct SummaryNumbers {
    std::vector<SummaryRow> rows;
    std::optional<Histogram> histogram;
};

/// Summary of images. A value type. Images added and summaries merged in any order and grouping give equal summaries.
class Summary {
  public:
    Summary() = default;
    /// Restores a summary from what `depths()` said. Throws InvalidArgument where that breaks what these structures
    /// promise.
    explicit Summary(std::vector<DepthSummary> depths);

    /// Adds an image, or a region of one; of samples that are sorted with `values` in place of its own tables where
    /// they are given, which may lie in a storage then; one of f32 with what `count_frequencies` says of it, without
    /// which the summary's f32 images have neither percentiles nor, unless all were counted over one range, a
    /// histogram. Throws InvalidArgument, the summary unchanged, for findings that no engine gives, for weighted images
    /// among others of their depth, and for more than 2^60 samples in a channel, or more weight.
    void add(const Analysis& image, const std::vector<FrequencyTable>& values = {});
    /// Adds all images of another summary. Throws as `add`.
    void merge(const Summary& other);
    /// Summary with the same content, each channel's frequencies in one run: see FrequencyTable::merged.
    Summary merged_values(const std::shared_ptr<FrequencyStorage>& storage) const;

    /// Content, in the order of `Depth`; empty where no image was added.
    const std::vector<DepthSummary>& depths() const { return depths_; }
    /// Content of one depth, or null.
    const DepthSummary* find(Depth depth) const;
    bool empty() const { return depths_.empty(); }
    /// Memory that it takes, about.
    std::uint64_t memory_bytes() const;

    /// Rows of each depth: `gray red green blue luma c0 c1 … all alpha`, those there are; `all` is the depth's colors
    /// and bands together, where they are more than one. Without a white for all, `clipped_high` is absent. But of f32
    /// every number is that of one image of all these pixels, bit for bit. f32: mean, std, skewness and kurtosis come
    /// from the exact power sums; percentiles, those of one image of all pixels, bit for bit, and `unique` from the
    /// frequencies, where there are such. They are read once for each row, from where they lie: what the
    /// FrequencyStorage throws comes through.
    std::vector<SummaryRow> statistics(const Percentiles& percentiles = {}) const;

    /// Rows red, green and blue of one depth in which gray images count as R = G = B, as code that trains on colors
    /// converts them; of f32 with mean and std alone. Empty where there are no colors.
    std::vector<SummaryRow> rgb_rows(Depth depth) const;

    /// Histogram of one depth, as of one image of all its pixels. f32: in the bins in which all images were counted
    /// over a given range, where these are asked for; else in any, made from the frequencies. Absent where there
    /// is no image of this depth or, for f32, neither. Throws InvalidArgument as `gpuhist::histogram`.
    std::optional<Histogram> histogram(Depth depth, const HistogramOptions& options = {}) const;

    /// Rows and histogram of one depth, for which the frequencies are read only once. Empty where it is not there.
    SummaryNumbers numbers(Depth depth, const HistogramOptions& options = {},
                           const Percentiles& percentiles = {}) const;

    friend bool operator==(const Summary& a, const Summary& b) { return a.depths_ == b.depths_; }

  private:
    std::vector<DepthSummary> depths_;
};

}  // namespace gpuhist
