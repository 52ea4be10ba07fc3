// Finish: the findings in an image, made of those of the passes of its plan.
#pragma once

#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "plan/plan.hpp"
#include "rules/classes.hpp"

namespace gpuhist::plan {

/// Range over all parts of an f32 image, of what the passes of Role::range found.
Range found_range(const std::vector<Analysis>& found);

/// Puts the findings of the last passes of a plan together, each at its pass's place. They are left in an unspecified
/// state. Where the channels are not measured by parts, their pass has written to `result` itself.
void assemble(const Plan& plan, const ImageView& image, std::vector<Analysis>& found, Analysis& result);

/// Makes the findings of passes those of an image with excluded samples: takes nodata out, sets how many samples are
/// masked and nodata, and drops alpha that is left out. `counts`: of the image's classes; `luma`: findings of the pass
/// for luma, if there is one.
void exclude(const Plan& plan, const ImageView& image, const rules::ClassCounts& counts, const Analysis* luma,
             Analysis& result);

/// Makes all samples of an analysis by count weigh the same.
void weigh(Analysis& result, std::uint64_t weight);

/// Takes the luma channel out of a result.
void drop_luma(Analysis& result);

}  // namespace gpuhist::plan
