#include "gpuhist/io/decode.hpp"

#include <array>

#include "decode/formats.hpp"
#include "decode/probe.hpp"
#include "files/bytes.hpp"
#include "files/failure.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

/// Probes a file before its pixels are decoded. Throws where they must not or cannot be.
Probe check(const Bytes& bytes, const std::string& name, const DecodeOptions& options) {
    if (bytes.size() == 0) fail(name, "empty: there are no bytes in it", Kind::truncated);
    Probe found = probe(bytes);
    if (!found.format) fail(name, describe_unknown(bytes), Kind::unsupported);
    if (!found.unsupported.empty()) fail(name, found.unsupported, Kind::unsupported);
    const bool sized = found.width != 0 && found.height != 0;
    const std::string size = std::to_string(found.width) + " x " + std::to_string(found.height) + " pixels";
    unsigned long long pixels = 0;
    if (sized && (__builtin_umulll_overflow(found.width, found.height, &pixels) || pixels > options.max_pixels))
        fail(name,
             "its header claims " + size + ", more than the " + std::to_string(options.max_pixels) +
                 " allowed: raise the limit if the file is to be trusted",
             Kind::too_large);
    if (!found.damaged.empty()) fail(name, "damaged: " + found.damaged, Kind::damaged);
    const bool accepted = sized && options.on_truncated == OnTruncated::accept;
    if (!found.truncated.empty() && !accepted) fail(name, "truncated: " + found.truncated, Kind::truncated);
    if (!sized) fail(name, "damaged: its header claims " + size, Kind::damaged);
    return found;
}

/// Checks that a decoder has made an image that gpuhist measures. Throws IoError.
void check_decoded(const cv::Mat& image, const std::string& name) {
    constexpr std::array depths{"u8", "s8", "u16", "s16", "s32", "f32", "f64", "f16"};  // in the order of OpenCV's
    if (!depth_of(image.depth()))
        fail(name,
             std::string("depth ") + depths.at(static_cast<std::size_t>(image.depth())) +
                 " is not supported: gpuhist reads " + depth_names(),
             Kind::unsupported);
    const int channels = image.channels();
    if (channels != 1 && channels != 3 && channels != 4)
        fail(name, std::to_string(channels) + " channels are not supported: gpuhist reads 1, 3 or 4",
             Kind::unsupported);
}

cv::Mat decode(const std::vector<unsigned char>& data, const std::string& name, bool is_file,
               const DecodeOptions& options) {
    const Bytes bytes(data.data(), data.size());
    const Probe found = check(bytes, name, options);
    if (options.admit) options.admit(bytes.size() + found.width * found.height * found.pixel_bytes);
    cv::Mat image = found.format->decode({bytes, found, name, is_file, options.allocator});
    check_decoded(image, name);
    return image;
}

}  // namespace

cv::Mat decode_image(const std::vector<unsigned char>& bytes, const std::string& name, const DecodeOptions& options) {
    return decode(bytes, name, false, options);
}

cv::Mat read_image(const std::filesystem::path& path, const DecodeOptions& options) {
    return decode(read_bytes(path, options.admit), path.string(), true, options);
}

}  // namespace gpuhist::io
