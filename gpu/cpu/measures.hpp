// Measures, strip after strip, in one sweep over the pixels.
//
// A measure of pixels has an accumulator: a StripAnalysis that adds its findings to `Analysis::measured` after its last
// pass, one per measure. Sums over pixels share one (cpu/measures.cpp). Another kind of findings has a file of its own
// here, with a function like those of the list `makers` in cpu/measures.cpp, and a line there. Accumulators share the
// rows of luma, which are read before they take a strip.
#pragma once

#include <memory>

#include "cpu/luma_rows.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::cpu {

/// Accumulator that looks at a strip before its rows come.
class LooksAhead {
  public:
    virtual ~LooksAhead() = default;
    virtual void look_ahead(const ImageView& strip) = 0;
};

/// What an accumulator is made of. `luma` has the rows of each strip that it takes; null if no accumulator reads them.
struct MeasuredImage {
    Workers& workers;
    const Measures& measures;
    const ImageView& image;
    const AnyLumaRows* luma;
    Analysis& result;

    /// Rows of luma of samples of this type.
    template <class Sample>
    const LumaRows<Sample>& luma_of() const {
        return static_cast<const LumaRows<Sample>&>(*luma);
    }
};

/// Begins to measure an image with colors or gray. `image` has its width, height and depth. Masked pixels and
/// non-finite samples are excluded, but not from hashes: an image with a mask has either hashes or other measures.
/// After the last pass, only `measured` of the result is set, in the order of the enumeration.
std::unique_ptr<StripAnalysis> measure_strips(Workers& workers, const Measures& measures, const ImageView& image,
                                              Analysis& result);

}  // namespace gpuhist::cpu
