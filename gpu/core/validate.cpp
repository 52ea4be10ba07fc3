#include "core/validate.hpp"

#include <cmath>
#include <string>

#include "core/channels.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::core {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw InvalidArgument(what);
}

}  // namespace

void validate_sides(const ImageView& image) {
    if (image.width < 1 || image.height < 1)
        refuse("image of " + std::to_string(image.width) + " x " + std::to_string(image.height) +
               ": both sides must be at least 1");
    if (image.width > (std::int64_t{1} << 47) / image.height)
        refuse("image of " + std::to_string(image.width) + " x " + std::to_string(image.height) +
               ": sums are exact up to 2^47 pixels");
    if (image.channels < 1 || image.channels > most_channels)
        refuse("image of " + std::to_string(image.channels) + " channels: 1 to " + std::to_string(most_channels) +
               " are supported");
}

void validate(const ImageView& image) {
    const auto bytes = static_cast<std::int64_t>(sample_bytes(image.depth));
    validate_sides(image);
    if (image.data == nullptr) refuse("image without pixels: data is null");
    if (reinterpret_cast<std::uintptr_t>(image.data) % bytes != 0)
        refuse(std::string("image data is not aligned to its samples (") + to_string(image.depth) + ")");
    if (image.height > 1 && (image.row_bytes < image.packed_row_bytes() || image.row_bytes % bytes != 0))
        refuse("row_bytes of " + std::to_string(image.row_bytes) + ": a row has " +
               std::to_string(image.packed_row_bytes()) + " bytes, and rows must start at whole samples");
    if (image.mask && image.height > 1 && image.mask_row_bytes < image.width)
        refuse("mask_row_bytes of " + std::to_string(image.mask_row_bytes) + ": a row of the mask has " +
               std::to_string(image.width) + " bytes");
}

void validate_swept(const ImageView& image) {
    if (!is_swept(image))
        refuse("image of " + std::to_string(image.channels) + " channels: 1, 3 or 4 are supported here");
}

void validate(const Range& range) {
    if (!std::isfinite(range.lower) || !std::isfinite(range.upper) || !(range.lower < range.upper))
        refuse("range " + std::to_string(range.lower) + "," + std::to_string(range.upper) +
               ": give two finite numbers, the lower one first");
}

void validate(const AnalysisRequest& request) {
    if (request.bins < 1 || request.bins > max_bins)
        refuse(std::to_string(request.bins) + " bins: 1 to " + std::to_string(max_bins) + " are supported");
    if (request.range) validate(*request.range);
}

void validate(const ImageView& image, const AnalysisRequest& request) {
    validate(image);
    validate(request);
}

void validate_labels(Depth depth, const char* what) {
    if (depth != Depth::u8 && depth != Depth::u16 && depth != Depth::u32 && depth != Depth::s32)
        refuse(std::string(what) + " of " + to_string(depth) +
               ": they must be u8, u16, u32, or s32 without negative values");
}

void validate_labels(const ImageView& image, const ImageView& labels) {
    validate(labels);
    validate_labels(labels.depth, "labels");
    if (labels.channels != 1) refuse("labels of " + std::to_string(labels.channels) + " channels: they must have one");
    if (labels.width != image.width || labels.height != image.height)
        refuse("labels of " + std::to_string(labels.width) + " x " + std::to_string(labels.height) +
               " pixels for an image of " + std::to_string(image.width) + " x " + std::to_string(image.height) +
               ": they must have the same size");
}

void validate(const Normalization& normalization) {
    for (const NormalizeParameter& parameter : all_normalize_parameters) {
        if (!parameter.modes.has(normalization.mode) || parameter.admits(normalization)) continue;
        std::string numbers = std::to_string(normalization.*parameter.first);
        if (parameter.second) numbers.append(",").append(std::to_string(normalization.*parameter.second));
        refuse(std::string(parameter.name) + " " + numbers + ": " + parameter.limits);
    }
    if (normalization.depth && traits_of(normalization.mode).real && !traits_of(*normalization.depth).floating)
        refuse(std::string(to_string(normalization.mode)) + " writes floats, but " + to_string(*normalization.depth) +
               " cannot hold them");
}

void validate_kept(const ImageView& image, const Normalization& normalization) {
    const Depth depth = normalized_depth(image.depth, normalization);
    if (normalization.valid_only && depth != image.depth)
        refuse(std::string("copy in ") + to_string(depth) + " of an image of " + to_string(image.depth) +
               ": excluded samples cannot stay as they are");
}

void validate_fill(Depth copy, const std::optional<double>& fill) {
    if (!fill) return;
    if (const std::string refusal = fill_refusal(copy, *fill); !refusal.empty()) refuse("fill: " + refusal);
}

void validate_output(const ImageView& image, Depth depth, const MutableImageView& output) {
    validate(ImageView(output));
    if (output.width != image.width || output.height != image.height || output.channels != image.channels ||
        output.order != image.order || output.depth != depth)
        refuse(std::string("output view: it must have the input's width, height, channels and order, and depth ") +
               to_string(depth));
    if (output.memory != image.memory) refuse("output view: it must be in the same memory as the input");
}

namespace {

void validate_pair(const ImageView& image, const ImageView& output, const ColorEncoding& encoding, Memory memory) {
    validate(image);
    validate(output);
    for (const ImageView* one : {&image, &output})
        if (one->memory != memory)
            refuse(std::string("conversion of colors: an image lies in ") +
                   (memory == Memory::host ? "device memory" : "host memory"));
    if (image.width != output.width || image.height != output.height)
        refuse("conversion of colors: the images must have the same size");
    if (!(encoding.white > 0 && std::isfinite(encoding.white)))
        refuse("conversion of colors: white must be positive and finite");
}

bool is_converted(Depth depth) {
    return depth == Depth::u8 || depth == Depth::u16 || depth == Depth::f16 || depth == Depth::f32;
}

}  // namespace

void validate_conversion(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                         const ImageView& output, Memory memory) {
    validate_pair(image, output, encoding, memory);
    if (has_bands(image)) refuse("conversion of colors: the image has bands");
    if (output.channels != 3 && !(output.channels == 4 && image.channels == 4))
        refuse("conversion of colors: the output needs 3 channels, or 4 if the image has alpha");
    const Depth depth = depth_in(space, image.depth);
    if (output.depth != depth) refuse(std::string("conversion of colors: the output must be ") + to_string(depth));
}

void validate_restoration(const ImageView& image, ColorSpace space, const ColorEncoding& encoding,
                          const ImageView& output) {
    validate_pair(image, output, encoding, Memory::host);
    if (image.channels != 3 && image.channels != 4) refuse("conversion of colors: the image needs 3 or 4 channels");
    if (image.depth != Depth::f32 && !(image.depth == Depth::u8 && traits_of(space).bytes))
        refuse(std::string("conversion of colors: ") + traits_of(space).name + " of " + to_string(image.depth));
    if (output.channels != 1 && output.channels != 3 && !(output.channels == 4 && image.channels == 4))
        refuse("conversion of colors: the output needs 1 or 3 channels, or 4 if the image has alpha");
    if (!is_converted(output.depth))
        refuse(std::string("conversion of colors: an output of ") + to_string(output.depth));
}

}  // namespace gpuhist::core

namespace gpuhist {

Depth depth_in(ColorSpace space, Depth depth) {
    if (depth == Depth::u8 && traits_of(space).bytes) return Depth::u8;
    if (!core::is_converted(depth))
        core::refuse(std::string("colors of ") + to_string(depth) + " have no " + traits_of(space).name +
                     ": u8, u16, f16 and f32 are converted");
    return Depth::f32;
}

}  // namespace gpuhist
