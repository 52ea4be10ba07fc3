// Normalized copies of images: by an engine, or by lookup tables.
#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/core.hpp>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/metadata.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/reduce.hpp"
#include "run/image_task.hpp"
#include "run/weights.hpp"

namespace gpuhist::app {

/// Reason why an image has no normalized copy, or nothing: bands have no luma, and no lookup table.
std::string Measurer::no_copy(const io::Image& file, Depth depth) const {
    const bool bands = file.samples == Samples::bands || file.samples == Samples::color_bands;
    if (options_.tables_from.empty() && options_.normalization.fill)
        if (std::string why =
                fill_refusal(normalized_depth(depth, options_.normalization), *options_.normalization.fill);
            !why.empty())
            return "--fill: " + why;
    if (luts_) {
        if (bands) return "lookup tables don't exist for bands";
        const auto is_of_depth = [depth](const LutSet& tables) { return tables.depth == depth; };
        if (std::any_of(luts_->begin(), luts_->end(), is_of_depth)) return {};
        return std::string("lookup tables don't exist for ") + to_string(depth) + " images";
    }
    const Normalization& normalization = options_.normalization;
    const bool in_space = file.colors.has_value();
    const std::string by = std::string("a copy by ") + to_string(normalization.mode);
    if (normalization.mode == NormalizeMode::clahe && (sample_bytes(depth) > 2 || traits_of(depth).floating))
        return by + " needs integers of 8 or 16 bits, and not " + to_string(depth);
    if (in_space && traits_of(file.colors->space).lightness < 0)
        return std::string("a copy in ") + traits_of(file.colors->space).name +
               " has no channel of lightness to normalize";
    if (in_space && depth == Depth::f32 && traits_of(file.colors->space).white != 1 &&
        (normalization.mode == NormalizeMode::gamma || normalization.mode == NormalizeMode::auto_gamma))
        return by + " needs lightness up to 1: give --space oklab";
    if (normalization.reference && normalization.reference->analysis->depth != depth)
        return by + " needs the sample type of its reference, " + to_string(normalization.reference->analysis->depth) +
               ", and not " + to_string(depth);
    if (bands && !in_space && file.pixels.channels() > 1 && normalization.joint &&
        traits_of(normalization.mode).joint_by_luma)
        return std::string(to_string(normalization.mode)) +
               " can't use one table for all bands, because they have no luma: give --channels separate";
    return {};
}

/// Leaves out the copy of an image that cannot have one, and nothing else of it.
void Measurer::leave_out_copy(Image& image, const std::string& why) const {
    image.outcome->not_written.push_back({"unsupported", image.outcome->input.path + ": " + why});
    image.writes.normalized = false;
}

/// Memory that copies of an image take at most, in images: one is as large, as floats up to four times. Of floats one
/// in f32 comes before that of another depth; one that is made smaller is there beside it.
std::uint64_t Measurer::most_copies() const {
    std::uint64_t most = traits_of(options_.normalization.mode).real ? 4 : 1;
    if (const auto depth = options_.normalization.depth) most = std::max<std::uint64_t>(2, sample_bytes(*depth));
    if (luts_)
        for (const LutSet& tables : *luts_) most = std::max<std::uint64_t>(most, sample_bytes(tables.copy_depth()));
    return options_.copy_size > 0 ? 2 * most : most;
}

cv::Mat Measurer::copy_of(const io::Image& file, Depth depth) const {
    cv::Mat image;
    image.allocator = allocator_.get();
    image.create(file.pixels.rows, file.pixels.cols, CV_MAKETYPE(io::opencv_depth(depth), file.pixels.channels()));
    return image;
}

void Measurer::restore_colors(Image& image) const {
    const io::StoredColors& colors = *image.file.colors;
    const ColorSpaceTraits& space = traits_of(colors.space);
    const int threads = threads_of_image();
    MutableImageView copy = io::mutable_view(image.copy.pixels);
    copy.depth = image.copy.depth;
    copy.order = image.view.order;
    const NormalizeMode mode = options_.normalization.mode;
    const bool to_one = mode != NormalizeMode::match && mode != NormalizeMode::background;
    if (space.white != 1 && copy.depth == Depth::f32 && to_one) {
        // A table for floats ends at 1, also for excluded samples, which then get their value again.
        for (int y = 0; y < image.copy.pixels.rows; ++y) {
            auto* pixel = image.copy.pixels.ptr<float>(y) + space.lightness;
            for (int x = 0; x < image.copy.pixels.cols; ++x, pixel += copy.channels)
                *pixel = static_cast<float>(*pixel * space.white);
        }
        settle_copy(image.view, image.request, normalization_of(image.file), copy, threads);
    }
    for (int channel = 0; channel < copy.channels; ++channel)
        if (channel == 3 || (space.lightness != 3 && channel != space.lightness))
            cv::mixChannels({image.file.pixels}, {image.copy.pixels}, {channel, channel});
    const Depth depth = options_.normalization.depth.value_or(colors.depth);
    cv::Mat restored;
    restored.allocator = allocator_.get();
    restored.create(image.copy.pixels.rows, image.copy.pixels.cols,
                    CV_MAKETYPE(io::opencv_depth(depth), copy.channels));
    MutableImageView output = io::mutable_view(restored);
    output.depth = depth;
    ColorEncoding encoding = colors.encoding;
    if (depth != colors.depth) encoding.white = traits_of(depth).highest;
    gpuhist::restore_colors(copy, colors.space, encoding, output, threads);
    image.copy.pixels = restored;
    image.copy.depth = depth;
    image.file.samples = colors.samples;
    image.file.bands.clear();
}

void Measurer::reduce(Image& image) const {
    cv::Mat& copy = image.copy.pixels;
    const auto gray = [&] {  // which three equal colors stood for
        if (image.file.colors && image.file.colors->gray && copy.channels() == 3) cv::extractChannel(copy, copy, 1);
    };
    if (options_.copy_size == 0) return gray();
    const Sides sides{copy.cols, copy.rows}, wanted = reduced_sides(sides, options_.copy_size);
    if (wanted == sides) return gray();
    cv::Mat small(static_cast<int>(wanted.height), static_cast<int>(wanted.width), copy.type());
    ImageView from = io::view(copy);
    MutableImageView to = io::mutable_view(small);
    from.depth = to.depth = image.copy.depth;
    Normalization normalization = options_.normalization;
    normalization.fill = fill_of(image.view.depth);
    const bool straight = image.file.alpha == io::Alpha::straight || divides(options_.validity, image.file);
    reduce_copy(from, to, image.view, image.request, normalization, straight ? ReduceWeight::alpha : ReduceWeight::area,
                threads_of_image());
    copy = small;
    gray();
}

void Measurer::form_copy(Image& image) const {
    io::EncodeOptions& form = image.copy.form;
    image.copy.of_stack = options_.copied_into_stack(image.outcome->input);
    form.compression = options_.compression;
    form.png_level = options_.png_level;
    form.threads = threads_of_image();
    form.metadata.reset();
    if (image.file.metadata) form.metadata = *image.file.metadata;
    if (!form.metadata && image.file.bands.empty()) return;
    if (!form.metadata) form.metadata.emplace();
    io::Metadata& metadata = *form.metadata;
    const auto width = static_cast<double>(image.view.width), height = static_cast<double>(image.view.height);
    if (const cv::Mat& small = image.copy.pixels; !small.empty() && (small.cols < width || small.rows < height))
        metadata.map_pixels({small.cols / width, 0, 0, 0, small.rows / height, 0});
    metadata.drop_facts_about_values();
    metadata.adapt_description(image.copy.depth, image.copy.of_stack || image.file.pages == 1);
    form.predictor = !metadata.imagej;
    metadata.describe_bands(image.file.bands);
    const bool declared = metadata.nodata.has_value();
    metadata.nodata = nodata_of_copy(image);
    if (image.file.metadata && metadata.overviews)
        image.outcome->remarks.push_back({"overviews", "its copy has no overviews: gdaladdo makes them"});
    const bool shared = metadata.nodata && !traits_of(image.copy.depth).floating && !fill_of(image.view.depth);
    if (declared && shared)
        image.outcome->remarks.push_back(
            {"nodata of copies", "the nodata of its copy is " + io::shortest(*metadata.nodata) +
                                     ", which valid samples can become too: --fill reserves a value"});
}

/// Value that all samples without data have in the copy of an image; none where there are no such samples, or they
/// have several values.
std::optional<double> Measurer::nodata_of_copy(const Image& image) const {
    const auto& validity = image.request.validity;
    if (image.file.colors) return std::nullopt;  // its rules are about other channels
    if (!validity || validity->nodata.empty()) return std::nullopt;
    if (const auto fill = fill_of(image.view.depth)) return fill;
    if (image.copy.depth != image.view.depth) {
        constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
        return traits_of(image.copy.depth).floating ? nothing : 0;
    }
    const double first = validity->nodata.front().value;
    for (const auto& [channel, value] : validity->nodata)
        if (channel || (value != first && !(std::isnan(value) && std::isnan(first)))) return image.file.nodata;
    return first;
}

std::optional<double> Measurer::fill_of(Depth depth) const {
    return luts_ ? luts_for(depth).fill : options_.normalization.fill;
}

const LutSet& Measurer::luts_for(Depth depth) const {
    for (const LutSet& tables : *luts_)
        if (tables.depth == depth) return tables;
    throw InvalidArgument(no_copy({}, depth));
}

void Measurer::apply_luts(Image& image) const {
    const io::Image& file = image.file;
    const LutSet& tables = luts_for(image.view.depth);
    image.copy.depth = tables.copy_depth();
    image.copy.pixels = copy_of(file, image.copy.depth);
    MutableImageView output = io::mutable_view(image.copy.pixels);
    output.depth = image.copy.depth;
    apply_luts(image.view, file.samples, image.request, output);
}

void Measurer::apply_luts(const ImageView& view, Samples samples, const AnalysisRequest& request,
                          const MutableImageView& output) const {
    gpuhist::apply_luts(luts_for(view.depth), view, output, threads_of_image(), samples);
    Normalization normalization = options_.normalization;
    normalization.fill = fill_of(view.depth);
    settle_copy(view, request, normalization, output, threads_of_image());
}

/// Normalization of an image.
Normalization Measurer::normalization_of(const io::Image& file) const {
    Normalization normalization = options_.normalization;
    if (file.samples == Samples::gray_alpha) normalization.joint = false;  // gray is all that there is
    normalization.white = options_.white && !options_.space ? *options_.white : file.white;
    if (file.colors) {  // channels are normalized one by one, in the depth of the space; the copy keeps lightness
        normalization.joint = false;
        normalization.depth.reset();
    }
    return normalization;
}

/// Asks the engine for a copy.
void Measurer::ask_for_copy(Image& image, Job& job) const {
    Copy& copy = image.copy;
    job.normalization = normalization_of(image.file);
    copy.depth = normalized_depth(image.file.depth, *job.normalization);
    copy.pixels = copy_of(image.file, copy.depth);
    job.output = io::mutable_view(copy.pixels);
    job.output.order = job.image.order;
    job.output.depth = copy.depth;
}

}  // namespace gpuhist::app
