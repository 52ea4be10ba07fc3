/// Joint histograms of two channels.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

/// Channel of an image, as one axis of a joint histogram sees it.
struct JointChannel {
    ImageView view;                      ///< in host memory; with a mask, if the image has one
    int position = 0;                    ///< place of the channel in the pixel; -1: luma, of images with colors
    const Validity* validity = nullptr;  ///< further rules for valid samples; null: none. Weights are not used
};

/// Place of the channel with this name in the pixel, as `JointChannel::position`, by the names of its samples
/// (`names_of_samples`), `luma`, or its number from 0. Absent if there is no such channel.
std::optional<int> joint_position(const ImageView& view, const std::vector<std::string>& names, std::string_view name);

/// Bins of an axis.
struct JointAxis {
    Depth depth = Depth::u8;
    Range range;          ///< [lower, upper), of integers in whole numbers, or halves of them
    bool closed = false;  ///< the upper end is in the last bin
    friend bool operator==(const JointAxis& a, const JointAxis& b) {
        return a.depth == b.depth && a.range == b.range && a.closed == b.closed;
    }
};

/// Axis of a channel: over the given range; else over all values of integers of 8 and 16 bits, or from the lowest to
/// the highest valid sample of other depths. Throws InvalidArgument for ranges that `histogram` refuses.
JointAxis joint_axis(const JointChannel& channel, const std::optional<Range>& range = std::nullopt, int threads = 0);

/// Numbers of pixels by the bins of two channels, and exact sums of their samples. A pixel is valid if both samples
/// are; NaN and infinite samples are not. Results depend neither on the order of strips and images nor on threads.
class JointHistogram {
  public:
    static constexpr std::uint32_t most_bins = 4096;  ///< per axis

    JointHistogram() = default;
    /// Throws InvalidArgument for 0 or more than `most_bins` bins.
    JointHistogram(std::uint32_t bins, const JointAxis& first, const JointAxis& second);

    /// Adds the pixels of an image, or of a strip of it. The views have the same sides. Throws InvalidArgument if they
    /// have not, or other depths than the axes.
    void add(const JointChannel& first, const JointChannel& second, int threads = 0);
    /// Adds the pixels of another histogram with the same bins. Throws InvalidArgument for others.
    JointHistogram& operator+=(const JointHistogram& other);

    std::uint32_t bins() const { return bins_; }
    const JointAxis& axis(int which) const { return axes_[static_cast<std::size_t>(which)]; }
    /// Lower edge of a bin, as Histogram::edge. edge(which, bins()) is the upper end.
    double edge(int which, std::uint32_t bin) const;
    /// Number of pixels in bin i of the first and j of the second channel, at i · bins() + j.
    const std::vector<std::uint64_t>& counts() const { return counts_; }
    std::uint64_t pixels() const { return pixels_; }    ///< valid ones
    std::uint64_t outside() const { return outside_; }  ///< of these, not in a bin

    /// Covariance (n Σxy − Σx Σy) / n², over all valid pixels. Absent without any.
    std::optional<double> covariance() const;
    /// Pearson's correlation, in the same way. Absent if a channel does not vary.
    std::optional<double> pearson() const;
    /// Mutual information of the bins in bits, Σ p log2(p / (p₁ p₂)), over the pixels in a bin. Absent without any.
    std::optional<double> mutual_information() const;

    /// State as text, from which `from_text` makes this histogram.
    std::string to_text() const;
    /// Throws InvalidArgument for other text.
    static JointHistogram from_text(const std::string& text);

  private:
    static constexpr int sum_words = 36, product_words = 72;
    using Sum = std::array<std::uint64_t, sum_words>;
    using Product = std::array<std::uint64_t, product_words>;
    struct Sums {
        std::array<Sum, 2> x{};             ///< Σx of the first and the second channel, in units of 2^-1074
        std::array<Product, 3> products{};  ///< Σxx, Σyy, Σxy, in units of 2^-2148
    };

    std::uint32_t bins_ = 0;
    std::array<JointAxis, 2> axes_;
    std::vector<std::uint64_t> counts_;
    std::uint64_t pixels_ = 0, outside_ = 0;
    Sums sums_;
};

}  // namespace gpuhist
