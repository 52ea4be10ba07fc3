/// Images from files.
#pragma once

#include <cstdint>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/color_space.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {

struct Metadata;  // gpuhist/io/metadata.hpp

/// Relation of the colors to alpha. The colors stay as they are stored.
enum class Alpha : std::uint8_t { none, straight, premultiplied };

/// Kind of damage in a file that was accepted.
enum class Damage : std::uint8_t { none, damaged, truncated };

/// Names in files; empty for none.
constexpr const char* to_string(Alpha alpha) {
    constexpr const char* words[] = {"", "straight", "premultiplied"};
    return words[static_cast<std::size_t>(alpha)];
}
constexpr const char* to_string(Damage damage) {
    constexpr const char* words[] = {"", "damaged", "truncated"};
    return words[static_cast<std::size_t>(damage)];
}

/// Size of a pixel in space, as a file gives it.
struct PixelSize {
    double width = 0, height = 0;  ///< positive
    std::string unit;              ///< unit of both, such as `µm`, `m` or `degree`; empty: the file names none
};

/// Colors of an image before they were converted to a space.
struct StoredColors {
    ColorSpace space = ColorSpace::hsv;  ///< of the image now
    Depth depth = Depth::u8;
    Samples samples = Samples::color;
    bool gray = false;  ///< one channel, or gray with alpha
    ColorEncoding encoding{};
};

/// Image from a file: its samples, and the facts that the file gives about them.
struct Image {
    cv::Mat pixels;  ///< interleaved: colors in OpenCV's order B, G, R, A; bands by place
    cv::Mat mask;    ///< CV_8U, 0 where the file excludes a pixel; empty if the file has no mask
    /// Sides in pixels of an image whose `pixels` are empty, since it was delivered in strips or left encoded; else 0.
    std::uint64_t width = 0, height = 0;
    /// Bytes of a JPEG that was left encoded (DecodeOptions::leave_encoded); else empty.
    std::vector<unsigned char> encoded;
    std::uint64_t orientation =
        1;  ///< orientation in EXIF's numbers of an image that was left encoded, as stored; or 1
    Depth depth = Depth::u8;
    Samples samples = Samples::color;
    /// Description of the profile (ICC) of the colors, which is not applied, if they were converted to a space; empty:
    /// the file has none.
    std::string profile;
    std::optional<StoredColors> colors;  ///< set if DecodeOptions::space was: the samples are bands of that space
    std::vector<std::string> bands;  ///< names that the file gives to bands, by place; empty texts for other samples
    double white = 255;              ///< value that stands for white
    bool linear = false;             ///< whether samples are proportional to light, as in OpenEXR, Radiance HDR and PFM
    Alpha alpha = Alpha::none;
    std::optional<double> nodata;  ///< value that stands for no data, if the file names one: that of GDAL in a TIFF
    std::string nodata_problem;    ///< fault of the value that the file names; else empty
    /// Size of a pixel of a TIFF, by OME-XML, ImageJ or GeoTIFF; absent: the file doesn't say.
    std::optional<PixelSize> pixel_size;
    /// Metadata of a page of a TIFF, for its copies; null: DecodeOptions::metadata did not ask for it.
    std::shared_ptr<const Metadata> metadata;
    std::string format;       ///< format of the file, with its article: "a PNG"
    std::string named;        ///< format of the extension in the name of the file, if it is another one
    std::uint64_t pages = 1;  ///< number of pages in the file
    std::uint64_t page = 0;   ///< requested page, from 1; 0: none was requested, and the pixels are those of the first
    Damage damage = Damage::none;  ///< damage that DecodeOptions::on_damaged accepted
    std::string cause;             ///< description of that damage
    std::string note;              ///< oddity of the file that is not damage, in words; empty: none
    bool zero_is_white = false;    ///< samples as they are stored (DecodeOptions::raw): whether viewers show 0 as white

    /// Pixels as a matrix of OpenCV.
    operator const cv::Mat&() const { return pixels; }
};

/// View of the pixels of an image, which must outlive the view. Throws as `view` of a matrix.
inline ImageView view(const Image& image) {
    ImageView found = view(image.pixels);
    found.depth = image.depth;
    found.samples = image.samples;
    if (image.samples == Samples::bands) found.order = ChannelOrder::rgb;
    return found;
}

/// Names of the samples of an image in results, by place.
inline std::vector<std::string> names_of_samples(const Image& image) {
    return gpuhist::names_of_samples(view(image), image.bands);
}

/// Image in a color space (`convert_colors`): three bands with the names of its channels, and alpha as a fourth,
/// `opacity`. Throws InvalidArgument for samples that are no colors, and IoError without memory.
Image image_in_space(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                     cv::MatAllocator* allocator = nullptr, int threads = 1);

/// View of the pixels of an image, with the mask of its file.
inline ImageView masked_view(const Image& image) {
    ImageView found = view(image);
    if (!image.mask.empty()) detail::set_mask(found, image.mask, image.mask.step[0], "cv::Mat");
    return found;
}

}  // namespace gpuhist::io
