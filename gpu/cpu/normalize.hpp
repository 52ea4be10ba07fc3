// Normalised copies, once the image is analysed.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/float_analysis.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::cpu {

class Normalizer {
  public:
    /// Writes the copy of a u8 or u16 image. `analysis` has the luma row where joint equalisation needs it.
    void apply_integers(Workers& workers, const ImageView& image, const Analysis& analysis,
                        const Normalization& normalization, const MutableImageView& output);

    /// Writes the copy of an f32 image; the analysis holds the nearest ranks where the mode is `percentile`, and
    /// `floats` counts again for `equalize`.
    void apply_floats(Workers& workers, const ImageView& image, const Analysis& analysis,
                      const Normalization& normalization, FloatAnalyzer& floats, const MutableImageView& output);

  private:
    template <class In>
    void apply_luts(Workers& workers, const ImageView& image, const Analysis& analysis,
                    const Normalization& normalization, const MutableImageView& output);

    std::vector<std::uint64_t> counts_;  ///< a group of channels pooled; f32: those of 65536 bins, a row each
    std::vector<std::uint8_t> bytes_;    ///< tables, one an interleaved channel
    std::vector<std::uint16_t> words_;
    std::vector<float> floats_;
};

}  // namespace gpuhist::cpu
