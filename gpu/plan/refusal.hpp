// Refusals: the requests that a backend cannot serve, in the same words for the command, the stream API and Python.
#pragma once

#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/request.hpp"
#include "plan/abilities.hpp"
#include "plan/plan.hpp"

namespace gpuhist::plan {

/// Throws InvalidArgument for arguments that break their rules, and for requests that neither a backend nor the CPU in
/// its place can serve. Throws UnsupportedDepth for a depth that the backend does not measure, or not in strips. If
/// rows are whole, the pixels are checked too.
void refuse(const ImageView& image, const AnalysisRequest& request, const Normalization* copy, Rows rows,
            const Abilities& abilities);

/// Throws InvalidArgument for an image whose samples are not weighted, or not where they lie.
void refuse_weights(const ImageView& image, const Validity& validity, const Abilities& abilities);

/// Throws InvalidArgument for images that a backend without the CPU behind it does not measure, or, where it is to
/// write copies, does not copy.
void refuse_plan(int channels, Depth depth, bool copied, const Abilities& abilities);

}  // namespace gpuhist::plan
