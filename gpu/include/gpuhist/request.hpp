/// Requests: what an engine is asked to find.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist {

/// Range of sample values: the half-open interval [lower, upper).
struct Range {
    double lower = 0;
    double upper = 0;
    friend bool operator==(const Range& a, const Range& b) { return a.lower == b.lower && a.upper == b.upper; }
};

/// Detail in which f32 images are analysed. `brief` leaves out what costs most: order statistics (median and
/// percentiles) and the third and fourth moments (skewness and kurtosis). Of other depths all follow from the counts.
/// A stretch between percentiles (NormalizeMode::percentile) of f32 needs order statistics, and analyses in full
/// whatever is asked.
enum class Detail : std::uint8_t { brief, full };

/// List of percentiles, each once, in the order in which they are reported. A percent is resolved to 1e-6 of it. The
/// list is plain data: copying it takes no memory.
class Percentiles {
  public:
    static constexpr std::size_t most = 32;  ///< percentiles in a list

    /// Makes the usual list: 1, 5, 25, 50, 75, 95 and 99.
    Percentiles();
    /// Makes a list of percents. Throws InvalidArgument for an empty one, more than `most`, one outside 0 to 100, and
    /// one that is there twice.
    explicit Percentiles(const std::vector<double>& percents);

    std::size_t size() const { return size_; }
    /// Percentile i, in units of 1e-6 percent.
    std::uint32_t micro(std::size_t i) const { return micro_[i]; }
    /// Name of percentile i's column: `p01`, `p0.5`, `p99.9`, `p100`, and `median` for 50.
    std::string name(std::size_t i) const;

    friend bool operator==(const Percentiles& a, const Percentiles& b) {
        return a.size_ == b.size_ && a.micro_ == b.micro_;
    }

  private:
    std::array<std::uint32_t, most> micro_{};
    std::size_t size_ = 0;
};

/// Request for an analysis. All images but those of f32 are always counted by value, and `bins` and `range` do not
/// matter to them: any histogram follows from those counts afterwards (`histogram()`).
struct AnalysisRequest {
    bool luma_histogram = true;    ///< false: of luma only `Analysis::brightness`, and no `luma` channel
                                   ///< (f32 ignores it)
    std::uint32_t bins = 256;      ///< f32: equal bins over the range, 1 to 2^24
    std::optional<Range> range;    ///< f32: absent means the finite minimum and maximum over all rows, with the
                                   ///< maximum counted in the last bin
    Detail detail = Detail::full;  ///< f32; others ignore it
    Percentiles percentiles{};     ///< f32 in full: those whose order statistics are found; of others any follow

    friend bool operator==(const AnalysisRequest& a, const AnalysisRequest& b) {
        return a.luma_histogram == b.luma_histogram && a.bins == b.bins && a.range == b.range && a.detail == b.detail &&
               a.percentiles == b.percentiles;
    }
};

}  // namespace gpuhist
