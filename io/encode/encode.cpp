#include "gpuhist/io/encode.hpp"

#include <vector>

#include "encode/encode.hpp"
#include "files/failure.hpp"

namespace gpuhist::io {

const char* lossless_extension(Depth depth, Samples samples) {
    const DepthTraits& traits = traits_of(depth);
    const bool bands = samples == Samples::bands || samples == Samples::color_bands;
    return traits.floating || traits.lowest < 0 || bands ? ".tiff" : ".png";  // PNG has no fractions, signs and bands
}

std::vector<unsigned char> encode_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples) {
    const std::string extension = path.extension().string(), name = path.string();
    if (extension == ".png") return encode_png(image, samples, name);
    if (extension == ".tiff") return encode_tiff(image, samples, name);
    fail(name, "cannot be encoded: only .png and .tiff are written");
}

void write_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples) {
    const std::vector<unsigned char> bytes = encode_image(path, image, samples);
    write_file(path, bytes.data(), bytes.size());
}

}  // namespace gpuhist::io
