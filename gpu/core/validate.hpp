// Checks of arguments: what the public functions promise to refuse.
#pragma once

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::core {

/// Checks of one argument. Each throws InvalidArgument naming it, its value and what is allowed.
void validate(const ImageView& image);
void validate(const AnalysisRequest& request);
/// The image's sides and channels, wherever its pixels are.
void validate_sides(const ImageView& image);
/// The image has a number of channels that is measured in one sweep.
void validate_swept(const ImageView& image);
/// `request` must be one for `image`; both are checked.
void validate(const ImageView& image, const AnalysisRequest& request);
/// `depth` must be one that labels have; `what` they are.
void validate_labels(Depth depth, const char* what);
/// `labels` must be a label map for a valid image: one channel of its size, of a depth that labels have.
void validate_labels(const ImageView& image, const ImageView& labels);
void validate(const Normalization& normalization);
void validate(const Range& range);
/// A copy of `image` may leave excluded samples as they are: in its own depth alone.
void validate_kept(const ImageView& image, const Normalization& normalization);
/// `output` must be a copy of `image` of this depth.
void validate_output(const ImageView& image, Depth depth, const MutableImageView& output);

inline constexpr std::uint32_t max_bins = 1u << 24;

}  // namespace gpuhist::core
