/// Comparisons: how far the samples of one set are from those of another, channel by channel, from exact counts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/dataset.hpp"

namespace gpuhist {

/// Comparison of a channel of set A, the reference, with the same channel of set B. p and q are the shares of the valid
/// samples of A and B (in weighted images, of alpha) per value. Differences are B − A. A number is absent if it is
/// undefined, for example without valid samples.
///
/// Sets with the same depth and white are compared by their sample values, others by fractions of white: value / white.
struct ChannelComparison {
    Channel channel = Channel::gray;
    std::string name{};  ///< as in ChannelAnalysis
    Depth depth_a = Depth::u8, depth_b = Depth::u8;
    bool of_white = false;  ///< values are fractions of white
    std::uint64_t images_a = 0, images_b = 0;
    std::uint64_t valid_a = 0, valid_b = 0;  ///< valid samples
    std::optional<double> mean_a, mean_b, std_a, std_b;
    std::optional<double> mean_difference, std_difference;
    std::optional<double> std_ratio;  ///< std_b / std_a
    /// Standardized mean difference: mean_difference / sqrt((std_a² + std_b²) / 2).
    std::optional<double> smd;
    /// Number of bins for the next five numbers: one per value of the type for integers of 8 and 16 bits whose sample
    /// values are compared; else 256 equal bins from the lowest to the highest sample of both sets.
    std::uint64_t bins = 0;
    std::optional<double> correlation;     ///< of p and q over all bins; 1 if either is uniform
    std::optional<double> chi_square;      ///< Σ (p − q)² / p over the bins with p > 0
    std::optional<double> intersection;    ///< Σ min(p, q)
    std::optional<double> bhattacharyya;   ///< sqrt(1 − Σ sqrt(p q)), the Hellinger distance
    std::optional<double> jensen_shannon;  ///< square root of the Jensen-Shannon divergence to base 2
    std::optional<double> wasserstein;  ///< ∫ |F_A − F_B|, with the distribution functions F: earth mover's distance
    std::optional<double> ks;           ///< max |F_A − F_B|, the statistic D of Kolmogorov and Smirnov
    /// Population stability index: Σ (q − p) ln(q / p) over ten intervals between the deciles of A. A decile is the
    /// lowest value v with F_A(v) ≥ k / 10, and ends its interval. Shares below 1e-6 are replaced by 1e-6.
    std::optional<double> psi;

    /// Tells whether every value has the same share in both sets, exactly.
    bool same() const { return ks == 0.0; }
};

/// Channels of two sets.
struct Comparison {
    std::vector<ChannelComparison> channels;  ///< in the order of `Summary::statistics`, depth by depth
    /// Channels that only one of the sets has, as `u8 gray`.
    std::vector<std::string> only_a, only_b;
};

/// Which channels are compared: every one, or of each depth only those that stand for whole images: `gray`, and `all`
/// or a single band.
enum class ComparedChannels : std::uint8_t { every, whole };

/// Set that is ready to be compared, any number of times. Copies share it.
class ComparedSet {
  public:
    /// Finds mean and std of the channels. Throws the exceptions of the storages in which values are.
    ComparedSet(Summary set);
    const Summary& summary() const;

  private:
    friend Comparison compare(const ComparedSet& a, const ComparedSet& b, ComparedChannels channels);
    struct Channels;
    std::shared_ptr<const Channels> channels_;
};

/// Compares two sets, depth by depth. If each has a single depth, these two are compared. Values in a storage are read
/// once per channel. Throws InvalidArgument if values of f32 were not counted (DepthSummary::values_counted), if
/// different depths are compared and images of a set have different values for white, and the exceptions of the
/// storages.
Comparison compare(const ComparedSet& a, const ComparedSet& b, ComparedChannels channels = ComparedChannels::every);

}  // namespace gpuhist
