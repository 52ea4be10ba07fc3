// Refusals: what a backend does not do, in the same words to the command, the stream API and Python.
#pragma once

#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/request.hpp"
#include "plan/abilities.hpp"
#include "plan/plan.hpp"

namespace gpuhist::plan {

/// Throws InvalidArgument for arguments that break their rules, and where neither a backend nor the CPU in its place
/// does what is asked of an image; UnsupportedDepth for a depth that the backend does not measure, or not in strips.
/// Pixels matter where rows are whole.
void refuse(const ImageView& image, const AnalysisRequest& request, const Normalization* copy, Rows rows,
            const Abilities& abilities);

/// Throws InvalidArgument for images that a backend without the CPU behind it does not measure, or, where it is to
/// write copies, does not copy.
void refuse_plan(int channels, Depth depth, bool copied, const Abilities& abilities);

}  // namespace gpuhist::plan
