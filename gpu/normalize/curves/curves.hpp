// Curves: modes of NormalizeKind::curve, each from its file. Host only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/frequency_table.hpp"
#include "normalize/curves/facts.hpp"
#include "normalize/curves/map.hpp"
#include "normalize/curves/match.hpp"

namespace gpuhist::core {

/// Map of a curve from values to samples of a copy. It works on blocks of values, so that each curve is compiled once
/// and not for each pair of depths.
class CurveMap {
  public:
    /// Number of values that callers should pass at once.
    static constexpr std::int64_t block = 256;

    /// `facts` outlive the map. Levels are of the depth of the copy.
    CurveMap(const CurveFacts& facts, Depth copy, Levels levels);
    /// Writes a sample for each of `count` values, `stride` samples apart. The values become the curve's results.
    void operator()(double* values, std::int64_t count, void* out, std::int64_t stride = 1) const;

  private:
    const CurveFacts& facts_;
    Depth copy_;
    Levels levels_;
    double unit_;  ///< result of a sample at the end of the range
};

/// Returns whether a curve leaves samples as they are.
bool keeps(const CurveFacts& facts, const Normalization& normalization);

/// Samples that decide a curve: counts by code for depths that are counted by value, and else the values that occur, or
/// for f32 findings in their place.
struct DecidingSamples {
    Depth depth;
    const std::vector<std::uint64_t>* counts = nullptr;
    const FrequencyTable* values = nullptr;
};

/// Facts that follow from samples. `channel` names the one that they decide about, or `luma` or `all`.
CurveFacts facts_of(const DecidingSamples& samples, Channel channel, const Normalization& normalization);

/// Throws InvalidArgument if the reference of a normalization does not fit images of a depth.
void validate_reference(const Normalization& normalization, Depth depth);

/// Table of a curve for the values of a depth that is counted by value, ascending: a sample of `copy` for each. `fill`
/// stands for nodata in it.
void fill_table(Depth depth, Depth copy, const CurveFacts& facts, const Normalization& normalization, void* table);

/// Ends of IRAF's zscale of some samples, at least one. They are sorted in place.
Range zscale(std::vector<double>& samples);
/// Number of samples that zscale takes at most, and the distance between them among n.
inline constexpr std::uint64_t zscale_samples = 1000;
constexpr std::uint64_t zscale_stride(std::uint64_t n) {
    return n < zscale_samples ? 1 : n / zscale_samples;
}

}  // namespace gpuhist::core
