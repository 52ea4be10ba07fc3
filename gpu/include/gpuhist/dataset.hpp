/// Summaries: the findings of many images, as if all their pixels were one image.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist {

/// Power sums Σx, Σx², Σx³ and Σx⁴ over finite f32 samples. They are exact sums of the distances from the pivot of each
/// image, which are rounded as FloatMoments says. So they do not depend on the order or the grouping of images.
/// `sums[k-1]` is Σx^k · 2^(k · fraction_bits), in two's complement, the least significant word first. They are wide
/// enough for 2^62 samples of any size: that many x⁴ stay below 2^(62 + 4·128 + 4·fraction_bits) < 2^(64·words − 1).
struct PowerSums {
    static constexpr int words = 30;
    static constexpr int fraction_bits = 330;
    using Integer = std::array<std::uint64_t, words>;
    std::array<Integer, 4> sums{};
    friend bool operator==(const PowerSums& a, const PowerSums& b) { return a.sums == b.sums; }
};

/// Channel of all images of a depth, with at most 2^60 samples. No sample is lost: if there are counts, Σ counts +
/// below + above + nan == counted(); sorted depths have the samples in `values` instead of counts. Weighted counts add
/// up to at least the number of samples, and at most that number times the highest alpha, in units of
/// DepthTraits::alpha_unit.
struct ChannelSummary : SampleCounts {
    Channel channel = Channel::gray;
    std::string name;  ///< as in ChannelAnalysis
    std::uint64_t images = 0;
    std::vector<std::uint64_t> counts;  ///< as in ChannelAnalysis; f32: bins over the depth's range
                                        ///< none where `values` has them

    // Floats only, zero otherwise; as in ChannelAnalysis. f32 without a common range: zero.
    std::uint64_t below = 0, above = 0;
    // f32 only, zero otherwise.
    float minimum = 0, maximum = 0;  ///< of the finite samples; 0 without finite samples
    PowerSums power_sums;            ///< of brief analyses: k = 1 and 2, the others are zero
    FrequencyTable values;           ///< f32: frequencies, if all images came with them; Counting::sorted: always;
                                     ///< Counting::values: in place of the counts, if all images came with them

    friend bool operator==(const ChannelSummary& a, const ChannelSummary& b) {
        return a.by_class() == b.by_class() && a.channel == b.channel && a.name == b.name && a.images == b.images &&
               a.counts == b.counts && a.below == b.below && a.above == b.above && a.minimum == b.minimum &&
               a.maximum == b.maximum && a.power_sums == b.power_sums && a.values == b.values;
    }
};

/// Numbers of images in one column of their measures.
struct MeasureSummary {
    static constexpr int words = 35;

    std::string column;        ///< name among `measure_columns()`
    std::uint64_t images = 0;  ///< images that have a number there
    double minimum = 0, maximum = 0;
    /// Exact sum of the numbers, in units of 2^-1074, in two's complement, the least significant word first. So it does
    /// not depend on the order or the grouping of images.
    std::array<std::uint64_t, words> sum{};

    /// Mean of the numbers, rounded once.
    double mean() const;

    friend bool operator==(const MeasureSummary& a, const MeasureSummary& b) {
        return a.column == b.column && a.images == b.images && a.minimum == b.minimum && a.maximum == b.maximum &&
               a.sum == b.sum;
    }
};

/// Summary of the images of one depth. Gray images are in `gray`, color images in `red green blue luma` and `alpha`,
/// and bands in the channels with their names.
struct DepthSummary {
    Depth depth = Depth::u8;
    std::uint64_t images = 0;
    /// Value that stands for white in all images, over 0. Absent if the images have different ones.
    std::optional<double> white = traits_of(Depth::u8).highest;
    std::optional<Range> range;  ///< range of the counts: all values; f32: the range of the images if all were counted
                                 ///< in the same bins; else absent, and there are no counts
    bool upper_closed = false;   ///< f32: as in Analysis
    Detail detail = Detail::full;  ///< f32: brief if that of any image was; others: full
    bool weighted = false;         ///< as Analysis::weighted, for all images: `counts` are sums of weights
    bool values_counted = false;   ///< f32: all images came with FrequencyTable; Counting::sorted: true; others: false
    std::vector<ChannelSummary> channels;  ///< in the order of `Channel`, then of their names; never `all`
    std::vector<MeasureSummary>
        measures;  ///< in the order of `measure_columns()`: columns in which an image has a number

    /// Returns the findings in a channel, or null.
    const ChannelSummary* find(Channel channel) const;
    /// Returns the findings in the channel with this name in files, or null.
    const ChannelSummary* find(std::string_view name) const;
    /// Number of images that are neither gray nor colors.
    std::uint64_t images_of_bands() const;
    /// Lowest and highest finite sample of one of its channels. Absent without finite samples.
    std::optional<Range> extremes(const ChannelSummary& channel) const;

    friend bool operator==(const DepthSummary& a, const DepthSummary& b) {
        return a.depth == b.depth && a.images == b.images && a.white == b.white && a.range == b.range &&
               a.upper_closed == b.upper_closed && a.detail == b.detail && a.weighted == b.weighted &&
               a.values_counted == b.values_counted && a.channels == b.channels && a.measures == b.measures;
    }
};

/// Row of dataset.csv.
struct SummaryRow {
    Depth depth = Depth::u8;
    std::uint64_t images = 0;
    Statistics statistics;
    std::optional<double> white;  ///< of DepthSummary
};

/// Numbers of a summary for one depth.
struct SummaryNumbers {
    std::vector<SummaryRow> rows;
    std::optional<Histogram> histogram;
};

/// Summary of images. A value type. Images added and summaries merged in any order and grouping give equal summaries.
class Summary {
  public:
    Summary() = default;
    /// Restores a summary from its `depths()`. Throws InvalidArgument if they break the rules of these structures.
    explicit Summary(std::vector<DepthSummary> depths);

    /// Adds an image or a region. `values` are optional tables of frequencies, which may be in a storage:
    /// - For sorted samples, they replace the tables of the analysis.
    /// - For a region of 8 or 16 bits, give its own tables if the summary should keep only the values that occur, which
    ///   takes less memory than one count per value.
    /// - For f32, they are the tables of `count_frequencies`. Without them, the f32 images of the summary have no
    ///   percentiles, and no histogram unless all were counted over one range.
    ///
    /// Throws InvalidArgument, and leaves the summary unchanged, for findings that no engine gives, for a mixture of
    /// weighted and other images of a depth, and for more than 2^60 samples, or that much weight, in a channel.
    void add(const Analysis& image, const std::vector<FrequencyTable>& values = {});
    /// Adds all images of another summary. Throws as `add`.
    void merge(const Summary& other);
    /// Returns a summary with the same content, in which the frequencies of each channel are in one run: see
    /// FrequencyTable::merged.
    Summary merged_values(const std::shared_ptr<FrequencyStorage>& storage) const;

    /// Content in the order of `Depth`; empty if no image was added.
    const std::vector<DepthSummary>& depths() const { return depths_; }
    /// Returns the content of one depth, or null.
    const DepthSummary* find(Depth depth) const;
    bool empty() const { return depths_.empty(); }
    /// Approximate size in bytes of the memory that it takes.
    std::uint64_t memory_bytes() const;

    /// Rows of each depth, for the channels that it has: `gray red green blue luma c0 c1 … extra1 …`, bands with
    /// names in byte order of these, `all`, `alpha`. `all` has the colors and bands of the depth together, if there is
    /// more than one. `clipped_high` is absent if the images have different values for white.
    ///
    /// Except for f32, every number is that of one image with all these pixels, bit for bit. In f32, mean, std,
    /// skewness and kurtosis come from the exact power sums. Percentiles, which are those of one image with all pixels,
    /// bit for bit, `unique`, `mode` and robust numbers come from the frequencies, if there are any. The frequencies
    /// are read once per row from their storage, whose exceptions are passed on; robust numbers read them several
    /// times.
    std::vector<SummaryRow> statistics(const StatisticsRequest& request = {}) const;

    /// Rows red, green and blue of one depth, in which gray images are treated as R = G = B, as code that trains on
    /// colors converts them. f32 has only mean and std. Empty without colors.
    std::vector<SummaryRow> rgb_rows(Depth depth) const;

    /// Histogram of one depth, as of one image with all its pixels. f32 has the bins in which all images were counted
    /// over a given range, if `options` ask for them, and any bins if there are frequencies. Absent if there is no
    /// image of this depth, or if f32 has neither. Throws InvalidArgument as `gpuhist::histogram`.
    std::optional<Histogram> histogram(Depth depth, const HistogramOptions& options = {}) const;

    /// Rows and histogram of one depth; the frequencies are read only once. Empty if there is no image of this depth.
    SummaryNumbers numbers(Depth depth, const HistogramOptions& options = {},
                           const StatisticsRequest& request = {}) const;

    friend bool operator==(const Summary& a, const Summary& b) { return a.depths_ == b.depths_; }

  private:
    std::vector<DepthSummary> depths_;
};

}  // namespace gpuhist
