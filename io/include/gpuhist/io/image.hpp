/// Images as they come from files.
#pragma once

#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/image.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {

/// Alpha's relation to the colors beside it: these are as stored either way.
enum class Alpha : std::uint8_t { none, straight, premultiplied };

/// Damage that was let pass, by its kind.
enum class Damage : std::uint8_t { none, damaged, truncated };

/// Words in files; empty for none.
constexpr const char* to_string(Alpha alpha) {
    constexpr const char* words[] = {"", "straight", "premultiplied"};
    return words[static_cast<std::size_t>(alpha)];
}
constexpr const char* to_string(Damage damage) {
    constexpr const char* words[] = {"", "damaged", "truncated"};
    return words[static_cast<std::size_t>(damage)];
}

/// Image of a file: its samples, and what the file says of them.
struct Image {
    cv::Mat pixels;  ///< interleaved: colors in OpenCV's order B, G, R, A; bands by place
    cv::Mat mask;    ///< CV_8U, 0 where the file says that a pixel is masked; empty where it has no mask
    /// Sides, in pixels, of an image that was handed over in strips, whose `pixels` are empty; else 0.
    std::uint64_t width = 0, height = 0;
    Depth depth = Depth::u8;
    Samples samples = Samples::color;
    std::vector<std::string> bands;  ///< their names by place, where the file has such
    double white = 255;              ///< the value that stands for white
    Alpha alpha = Alpha::none;
    std::optional<double> nodata;  ///< the value that stands for no data, where the file says one: GDAL's in a TIFF
    std::string nodata_problem;    ///< why what the file says is not such a value, in words; else empty
    std::string format;            ///< of the file, with its article: "a PNG"
    std::string named;             ///< the format that its name's extension stands for, where that is another
    std::uint64_t pages = 1;       ///< of the file
    std::uint64_t page = 0;        ///< which was asked for, from 1; 0: none, and the pixels are those of the first
    Damage damage = Damage::none;  ///< other than none only where DecodeOptions::on_damaged lets it pass
    std::string cause;             ///< then what is damaged, in words
    std::string note;              ///< what is odd about the file and no damage, in words; empty: nothing

    /// The pixels as a matrix of OpenCV's.
    operator const cv::Mat&() const { return pixels; }
};

/// View of an image's pixels, which must outlive it. Throws as `view` of a matrix.
inline ImageView view(const Image& image) {
    ImageView found = view(image.pixels);
    found.depth = image.depth;
    found.samples = image.samples;
    if (image.samples == Samples::bands) found.order = ChannelOrder::rgb;
    return found;
}

/// That view, without the pixels that the file masks.
inline ImageView masked_view(const Image& image) {
    ImageView found = view(image);
    if (!image.mask.empty()) detail::set_mask(found, image.mask, image.mask.step[0], "cv::Mat");
    return found;
}

}  // namespace gpuhist::io
