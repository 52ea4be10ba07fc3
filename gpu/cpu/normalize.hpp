// Normalised copies, once the image is analysed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/float_analysis.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::cpu {

/// Writer of normalised copies. Owns its tables and reuses them.
class Normalizer {
  public:
    /// Writes the copy of an image whose values are counted one by one, of the output's depth. `analysis` has the luma
    /// row where that decides.
    void apply_counted(Workers& workers, const ImageView& image, const Analysis& analysis,
                       const Normalization& normalization, const MutableImageView& output);

    /// Writes the copy of an image whose samples were sorted, of the output's depth; `analysis` as above.
    void apply_sorted(Workers& workers, const ImageView& image, const Analysis& analysis,
                      const Normalization& normalization, const MutableImageView& output);

    /// Writes the copy of an f32 image; the analysis holds the nearest ranks where the mode needs them, and `floats`
    /// counts `counted` again where it needs counts: the image that was analysed.
    void apply_floats(Workers& workers, const ImageView& image, const ImageView& counted, const Analysis& analysis,
                      const Normalization& normalization, FloatAnalyzer& floats, const MutableImageView& output);

  private:
    template <class Sample, class Out>
    void apply_luts(Workers& workers, const ImageView& image, const Analysis& analysis,
                    const Normalization& normalization, const MutableImageView& output);
    void fill_float_tables(Workers& workers, const ImageView& image, const Analysis& analysis, bool joint,
                           FloatAnalyzer& floats, const float* (&tables)[3], Range& range);

    std::vector<std::uint64_t> counts_;  ///< of the colours together; f32: over equal bins, a row each
    std::vector<std::byte> tables_;      ///< values of the output's type, a table for each interleaved channel
};

/// Brings an f32 image to the output's depth.
void convert_floats(Workers& workers, const ImageView& image, const MutableImageView& output);

/// Whether luma is counted: where it is wanted, and where it decides about the copy.
bool needs_luma(const AnalysisRequest& request, const Normalization& normalization);
/// Takes the luma row out of a result where only the copy needed it.
void leave_out_luma(const AnalysisRequest& request, Analysis& result);

}  // namespace gpuhist::cpu
