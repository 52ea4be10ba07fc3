// Normalized copies of images: by an engine, or by lookup tables.
#include <algorithm>
#include <opencv2/core.hpp>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/reduce.hpp"
#include "run/image_task.hpp"

namespace gpuhist::app {
namespace {

/// Reason why the engine makes no normalized copy of an image, or nothing: bands have no luma.
std::string no_copy(const io::Image& file, const Normalization& normalization) {
    const bool bands = file.samples == Samples::bands || file.samples == Samples::color_bands;
    if (bands && file.pixels.channels() > 1 && normalization.joint && traits_of(normalization.mode).joint_by_luma)
        return std::string("by ") + to_string(normalization.mode) +
               " of bands together, which have no luma: give --channels separate";
    return {};
}

}  // namespace

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

void Measurer::reduce(cv::Mat& copy, Depth depth, const io::Image& file) const {
    if (options_.copy_size == 0) return;
    const Sides sides{copy.cols, copy.rows}, wanted = reduced_sides(sides, options_.copy_size);
    if (wanted == sides) return;
    cv::Mat small(static_cast<int>(wanted.height), static_cast<int>(wanted.width), copy.type());
    ImageView from = io::view(copy);
    MutableImageView to = io::mutable_view(small);
    from.depth = to.depth = depth;
    gpuhist::reduce(from, to, file.alpha == io::Alpha::straight ? ReduceWeight::alpha : ReduceWeight::area,
                    threads_of_copy_);
    copy = small;
}

const LutSet& Measurer::luts_for(Depth depth) const {
    for (const LutSet& tables : *luts_)
        if (tables.depth == depth) return tables;
    throw InvalidArgument(std::string("there is no lookup table for ") + to_string(depth) + " images");
}

void Measurer::apply_luts(Image& image) const {
    const io::Image& file = image.file;
    if (file.samples == Samples::bands || file.samples == Samples::color_bands)
        throw InvalidArgument("there is no lookup table for bands");
    const LutSet& tables = luts_for(image.view.depth);
    image.copy.depth = tables.copy_depth();
    image.copy.pixels = copy_of(file, image.copy.depth);
    MutableImageView output = io::mutable_view(image.copy.pixels);
    output.depth = image.copy.depth;
    apply_luts(image.view, file.samples, image.request, output);
}

void Measurer::apply_luts(const ImageView& view, Samples samples, const AnalysisRequest& request,
                          const MutableImageView& output) const {
    gpuhist::apply_luts(luts_for(view.depth), view, output, threads_of_copy_, samples);
    settle_copy(view, request, options_.normalization.valid_only, output, threads_of_copy_);
}

/// Normalization of an image.
Normalization Measurer::normalization_of(const io::Image& file) const {
    Normalization normalization = options_.normalization;
    if (file.samples == Samples::gray_alpha) normalization.joint = false;  // gray is all that there is
    return normalization;
}

/// Asks the engine for a copy, unless there is none.
void Measurer::ask_for_copy(Image& image, Job& job) const {
    if (const std::string why = no_copy(image.file, options_.normalization); !why.empty()) {
        image.outcome->not_written.push_back(
            {"output", image.outcome->input.path + ": no normalized copy " + why + " is made"});
        image.writes.normalized = false;
        return;
    }
    Copy& copy = image.copy;
    copy.depth = normalized_depth(image.file.depth, options_.normalization);
    copy.pixels = copy_of(image.file, copy.depth);
    job.normalization = normalization_of(image.file);
    job.output = io::mutable_view(copy.pixels);
    job.output.order = job.image.order;
    job.output.depth = copy.depth;
}

}  // namespace gpuhist::app
