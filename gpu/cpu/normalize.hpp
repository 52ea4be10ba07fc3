// Normalized copies, once the image is analyzed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/float_analysis.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::cpu {

/// Writer of normalized copies. Owns its tables and reuses them.
class Normalizer {
  public:
    /// Writes the copy of an image that is not f32, of the output's depth. `analysis` has luma where that decides.
    void apply_codes(Workers& workers, const ImageView& image, const Analysis& analysis,
                     const Normalization& normalization, const MutableImageView& output);

    /// Writes the copy of an f32 image, of the output's depth; the analysis holds the nearest ranks where the mode
    /// needs them, and `floats` counts `counted` again where it needs counts: the image that was analyzed.
    void apply_floats(Workers& workers, const ImageView& image, const ImageView& counted, const Analysis& analysis,
                      const Normalization& normalization, FloatAnalyzer& floats, const MutableImageView& output);

  private:
    void apply_sorted(Workers& workers, const ImageView& image, const Analysis& analysis,
                      const Normalization& normalization, const MutableImageView& output);
    void fill_float_tables(Workers& workers, const ImageView& image, const Analysis& analysis, bool joint,
                           FloatAnalyzer& floats, const float* (&tables)[3], Range& range);

    std::vector<std::uint64_t> counts_;  ///< of the colors together; f32: over equal bins, one channel each
    std::vector<std::byte> tables_;      ///< values of the output's type, a table for each interleaved channel
};

/// Brings a copy in f32 to the output's depth, in which `fill` stands for nodata.
void convert_floats(Workers& workers, const ImageView& image, const std::optional<double>& fill,
                    const MutableImageView& output);

}  // namespace gpuhist::cpu
