#include "decode/color_space.hpp"

#include <algorithm>
#include <opencv2/core.hpp>
#include <optional>
#include <string>
#include <utility>

#include "files/failure.hpp"
#include "gpuhist/color_space.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::io {
namespace {

/// Excludes pixels by the mask of an image.
template <class Excluded>
void exclude(Image& image, const Excluded& excluded) {
    const cv::Mat& pixels = image.pixels;
    if (image.mask.empty())
        image.mask = cv::Mat(pixels.rows, pixels.cols, CV_8U, cv::Scalar(255));
    else
        image.mask = image.mask.clone();  // a strip of it may be one of the decoder's
    for (int y = 0; y < pixels.rows; ++y) {
        unsigned char* const mask = image.mask.ptr(y);
        for (int x = 0; x < pixels.cols; ++x)
            if (excluded(pixels.ptr(y), x)) mask[x] = 0;
    }
}

/// Excludes pixels with a color that is the file's nodata, and transparent pixels if that is asked for.
template <class Sample>
void exclude_pixels(Image& image, const std::optional<double>& nodata, bool transparent) {
    const int channels = image.pixels.channels(), colors = channels == 4 ? 3 : channels;
    const auto pixel = [channels](const unsigned char* row, int x) {
        return reinterpret_cast<const Sample*>(row) + static_cast<std::ptrdiff_t>(x) * channels;
    };
    if (nodata)
        exclude(image, [&](const unsigned char* row, int x) {
            const Sample* const color = pixel(row, x);
            return std::any_of(color, color + colors, [&](Sample one) { return static_cast<float>(one) == *nodata; });
        });
    if (transparent && channels == 4)
        exclude(image, [&](const unsigned char* row, int x) { return !(static_cast<float>(pixel(row, x)[3]) > 0); });
}

}  // namespace

StripFacts facts_in_space(const StripFacts& facts, const DecodeOptions& options) {
    if (!options.space || options.raw) return facts;
    StripFacts found = facts;
    try {
        found.depth = depth_in(*options.space, facts.depth);
    } catch (const InvalidArgument&) {
        // It is refused when it is decoded.
    }
    found.bands = true;
    return found;
}

void convert_to_space(Image& image, const std::string& name, const DecodeOptions& options, int threads) {
    if (!options.space || options.raw || image.pixels.empty()) return;
    Image converted;
    try {
        converted = image_in_space(view(image), {options.white.value_or(image.white), image.linear}, *options.space,
                                   options.allocator, threads);
    } catch (const InvalidArgument& error) {
        fail(name, error.what(), IoError::Kind::unsupported);
    } catch (const IoError& error) {
        fail(name, error.what(), error.kind());
    }
    const auto nodata = options.nodata && image.nodata ? nodata_in(image.depth, *image.nodata) : std::nullopt;
    const auto exclude_by = [&](auto sample) {
        exclude_pixels<decltype(sample)>(image, nodata, options.mask_transparent);
    };
    if (image.depth == Depth::u8)
        exclude_by(std::uint8_t{});
    else if (image.depth == Depth::u16)
        exclude_by(std::uint16_t{});
    else if (image.depth == Depth::f16)
        exclude_by(cv::float16_t{});
    else
        exclude_by(float{});
    image.pixels = std::move(converted.pixels);
    take_facts_in_space(image, converted);
}

void take_facts_in_space(Image& image, const Image& converted) {
    image.depth = converted.depth;
    image.samples = converted.samples;
    image.colors = converted.colors;
    image.bands = converted.bands;
    image.white = converted.white;
    image.nodata.reset();  // pixels with this color are masked
}

Image image_in_space(const ImageView& image, const ColorEncoding& encoding, ColorSpace asked,
                     cv::MatAllocator* allocator, int threads) {
    const ColorSpaceTraits& space = traits_of(asked);
    Image made;
    made.depth = depth_in(asked, image.depth);
    const int channels = image.channels == 4 ? 4 : 3;
    made.colors = StoredColors{asked, image.depth, image.samples,
                               image.channels == 1 || image.samples == Samples::gray_alpha, encoding};
    made.pixels.allocator = allocator;
    try {
        made.pixels.create(static_cast<int>(image.height), static_cast<int>(image.width),
                           CV_MAKETYPE(opencv_depth(made.depth), channels));
    } catch (const std::exception&) {
        throw IoError("no memory for " + std::to_string(image.width) + " x " + std::to_string(image.height) +
                          " pixels in " + space.name,
                      IoError::Kind::memory);
    }
    convert_colors(image, encoding, asked, mutable_view(made.pixels), threads);
    made.samples = Samples::bands;
    made.bands.assign(space.channels.begin(), space.channels.end());
    if (channels == 4) made.bands.emplace_back("opacity");  // alpha is a name of its own
    made.white = made.depth == Depth::u8 ? 255 : space.white;
    return made;
}

}  // namespace gpuhist::io
