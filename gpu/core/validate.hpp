// Checks of arguments: the refusals that the public functions promise.
#pragma once

#include <optional>

#include "gpuhist/analysis.hpp"
#include "gpuhist/color_space.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::core {

/// Checks of one argument. Each throws InvalidArgument with its name, its value and the allowed values.
void validate(const ImageView& image);
void validate(const AnalysisRequest& request);
/// Checks the sides and the channels of an image, in any memory.
void validate_sides(const ImageView& image);
/// Checks that the number of channels can be measured in one sweep.
void validate_swept(const ImageView& image);
/// Checks that `request` fits `image`. Checks both of them too.
void validate(const ImageView& image, const AnalysisRequest& request);
/// Checks that labels can have `depth`. `what` names them.
void validate_labels(Depth depth, const char* what);
/// Checks that `labels` is a label image for a valid image: one channel of its size, with a depth for labels.
void validate_labels(const ImageView& image, const ImageView& labels);
void validate(const Normalization& normalization);
void validate(const Range& range);
/// Checks that a copy of `image` can leave excluded samples as they are, which needs its own depth.
void validate_kept(const ImageView& image, const Normalization& normalization);
/// Checks that `fill` can stand for nodata in copies of this depth.
void validate_fill(Depth copy, const std::optional<double>& fill);
/// Checks that `output` can be a copy of `image` with this depth.
void validate_output(const ImageView& image, Depth depth, const MutableImageView& output);

inline constexpr std::uint32_t max_bins = 1u << 24;

/// Throws InvalidArgument unless `convert_colors` and `restore_colors` accept such images in this memory.
void validate_conversion(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                         const ImageView& output, Memory memory);
void validate_restoration(const ImageView& image, ColorSpace space, const ColorEncoding& encoding,
                          const ImageView& output);

}  // namespace gpuhist::core
