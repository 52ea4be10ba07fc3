// Refusals: what a backend does not do, in the same words to the command, the stream API and Python.
#pragma once

#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/request.hpp"
#include "plan/abilities.hpp"
#include "plan/plan.hpp"

namespace gpuhist::plan {

/// Throws InvalidArgument where neither a backend nor the CPU in its place does what is asked of an image, and
/// UnsupportedDepth for strips of a depth that the backend measures whole. Arguments are checked before.
void refuse(const ImageView& image, const AnalysisRequest& request, const Normalization* copy, Rows rows,
            const Abilities& abilities);

/// Throws UnsupportedDepth where a backend without the CPU behind it does not measure a depth, or, where it is to write
/// copies, does not copy it.
void refuse_depth(Depth depth, bool copied, const Abilities& abilities);

/// Throws InvalidArgument where a backend without the CPU behind it writes no copies by a mode.
void refuse_mode(NormalizeMode mode, const Abilities& abilities);

}  // namespace gpuhist::plan
