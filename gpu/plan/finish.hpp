// Finish: combines the findings of the passes of a plan into those of the image.
#pragma once

#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "plan/plan.hpp"
#include "rules/classes.hpp"

namespace gpuhist::plan {

/// Range over all parts of an f32 image, from the findings of the passes of Role::range.
Range found_range(const std::vector<Analysis>& found);

/// Puts the findings of the last passes of a plan together, each at the place of its pass. Leaves `found` in an
/// unspecified state. If the channels are not measured by parts, their pass has already written to `result`.
void assemble(const Plan& plan, const ImageView& image, std::vector<Analysis>& found, Analysis& result);

/// Turns the findings of passes into those of an image with excluded samples: takes nodata out, sets the numbers of
/// masked and nodata samples, and drops alpha that is left out. `counts` are those of the classes in the image. `luma`
/// has the findings of the pass for luma, if there is one.
void exclude(const Plan& plan, const ImageView& image, const rules::ClassCounts& counts, const Analysis* luma,
             Analysis& result);

/// Gives all samples of an analysis by counts the same weight.
void weigh(Analysis& result, std::uint64_t weight);

/// Takes the luma channel out of a result.
void drop_luma(Analysis& result);

}  // namespace gpuhist::plan
