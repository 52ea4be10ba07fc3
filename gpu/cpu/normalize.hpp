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
#include "normalize/curves/facts.hpp"
#include "plan/executor.hpp"

namespace gpuhist::cpu {

/// Pixels of an image as a normalization sees them.
struct NormalizedPixels {
    ImageView image;
    /// f32: the image that was analyzed, with NaN in place of excluded samples, or with its mask.
    ImageView counted;
    /// Other depths: a byte per sample as the samples lie, 0 where one is excluded; null: all are valid. Only modes
    /// that need places read it.
    const std::uint8_t* valid = nullptr;
    /// Copier and rules of an image in device memory, where the CPU reads no pixel; null: in host memory.
    plan::Copier* copier = nullptr;
    const rules::ImageRules* rules = nullptr;
};

/// Writer of normalized copies. Owns its tables and reuses them.
class Normalizer {
  public:
    /// Writes the copy of an image, of the output's depth; in device memory its excluded samples too. `analysis` has
    /// luma if that decides, and for f32 the nearest ranks if the mode needs them. `floats` counts f32 again if the
    /// mode needs counts; null if the image is not f32.
    void apply(Workers& workers, const NormalizedPixels& pixels, const Analysis& analysis,
               const Normalization& normalization, FloatAnalyzer* floats, const MutableImageView& output);

  private:
    /// Tables of the copy of an image that is counted by value. They stay until the next call.
    plan::SampleTables tables(const NormalizedPixels& pixels, const Analysis& analysis,
                              const Normalization& normalization, Depth copy);
    std::vector<core::CurveFacts> curve_facts(const NormalizedPixels& pixels, const Analysis& analysis,
                                              const Normalization& normalization);
    void apply_curve(Workers& workers, const NormalizedPixels& pixels, const Analysis& analysis,
                     const Normalization& normalization, const MutableImageView& output);
    void apply_floats(Workers& workers, const ImageView& image, const ImageView& counted, const Analysis& analysis,
                      const Normalization& normalization, FloatAnalyzer& floats, const MutableImageView& output);
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
