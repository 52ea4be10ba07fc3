#include "gpuhist/io/encode.hpp"

#include <vector>

#include "encode/encode.hpp"
#include "files/failure.hpp"

namespace gpuhist::io {

const char* lossless_extension(Depth depth, Samples samples) {
    const DepthTraits& traits = traits_of(depth);
    const bool bands = samples == Samples::bands || samples == Samples::color_bands;
    const bool png = !traits.floating && traits.lowest == 0 && traits.bytes <= 2 && !bands;
    return png ? ".png" : ".tiff";  // PNG has no fractions, signs, bands, and no more than 16 bits
}

std::vector<unsigned char> encode_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples,
                                        std::optional<Depth> depth) {
    const std::string extension = path.extension().string(), name = path.string();
    if (extension == ".png") return encode_png(image, samples, name);
    if (extension == ".tiff") return encode_tiff(image, samples, name, depth == Depth::u32);
    fail(name, "cannot be encoded: only .png and .tiff are written");
}

void write_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples, std::optional<Depth> depth) {
    const std::vector<unsigned char> bytes = encode_image(path, image, samples, depth);
    write_file(path, bytes.data(), bytes.size());
}

}  // namespace gpuhist::io
