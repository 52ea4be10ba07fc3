#include "gpuhist/io/decode.hpp"

#include <climits>
#include <cstring>
#include <opencv2/core.hpp>
#include <tuple>
#include <utility>

#include "decode/formats.hpp"
#include "decode/probe.hpp"
#include "files/bytes.hpp"
#include "files/failure.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

std::uint64_t pixels_of(const Probe& found) {
    return saturating_product(found.width, found.height);
}

std::string size_text(const Probe& found) {
    return std::to_string(found.width) + " x " + std::to_string(found.height) + " pixels";
}

/// Probes a file, or the first bytes of one. Throws where it is of no format that is read.
Probe probe_known(const Bytes& bytes, const std::string& name) {
    Probe found = probe(bytes);
    if (!found.format) fail(name, describe_unknown(bytes), Kind::unsupported);
    return found;
}

/// Throws where the header claims more pixels than are allowed.
void check_size(const Probe& found, const std::string& name, const DecodeOptions& options) {
    if (pixels_of(found) > options.max_pixels)
        fail(name,
             "its header claims " + size_text(found) + ", more than the " + std::to_string(options.max_pixels) +
                 " allowed: raise the limit if the file is to be trusted",
             Kind::too_large);
}

/// Probes a file before its pixels are decoded. Throws where they must not or cannot be.
Probe check(const Bytes& bytes, const std::string& name, const DecodeOptions& options) {
    if (bytes.size() == 0) fail(name, "empty: there are no bytes in it", Kind::truncated);
    Probe found = probe_known(bytes, name);
    if (!found.unsupported.empty()) fail(name, found.unsupported, Kind::unsupported);
    check_size(found, name, options);
    const bool sized = found.width != 0 && found.height != 0;
    const std::string size = size_text(found);
    if (!found.too_large.empty()) fail(name, found.too_large, Kind::too_large);
    const bool accepted = sized && options.on_damaged == OnDamaged::accept;
    if (!found.damaged.empty() && !accepted) fail(name, "damaged: " + found.damaged, Kind::damaged);
    if (!found.truncated.empty() && !accepted) fail(name, "truncated: " + found.truncated, Kind::truncated);
    // Nothing is allocated for pixels of which next to nothing is there: no more than deflate makes of as many bytes.
    if (!found.truncated.empty() && saturating_product(pixels_of(found), found.pixel_bytes) / 1032 > bytes.size())
        fail(name, "truncated: " + found.truncated + ", and less than a thousandth of its " + size, Kind::truncated);
    if (!sized) fail(name, "damaged: its header claims " + size, Kind::damaged);
    return found;
}

Image decode(const std::vector<unsigned char>& data, const std::string& name, const DecodeOptions& options) {
    const Bytes bytes(data.data(), data.size());
    const Probe found = check(bytes, name, options);
    if (options.admit) options.admit(bytes.size(), saturating_product(pixels_of(found), found.pixel_bytes));
    const EncodedImage file{bytes, found, name, options};
    Image image = found.format->decode(file);
    image.format = found.format->name;
    if (const ImageFormat* named = format_named(name); named && named != found.format) image.named = named->name;
    // The probe's finding, which was accepted, stands before what the decoder made of it.
    if (!found.truncated.empty()) std::tie(image.damage, image.cause) = std::pair(Damage::truncated, found.truncated);
    if (!found.damaged.empty()) std::tie(image.damage, image.cause) = std::pair(Damage::damaged, found.damaged);
    return image;
}

/// How a file is read whose first bytes decide whether it is.
Reading reading(const std::string& name, const DecodeOptions& options) {
    Reading how;
    if (options.admit) how.admit = [&](std::uint64_t bytes) { options.admit(bytes, 0); };
    how.look = [&](const std::vector<unsigned char>& first) {
        check_size(probe_known(Bytes(first.data(), first.size()), name), name, options);
    };
    how.max_pipe_bytes = options.max_pipe_bytes;
    how.while_reading = options.while_reading;
    return how;
}

}  // namespace

namespace {

/// cv::transpose, and of pixels that are too large for it.
void transpose(const cv::Mat& pixels, cv::Mat& turned) {
    constexpr std::size_t most = 32;
    const std::size_t bytes = pixels.elemSize();
    if (bytes <= most) return cv::transpose(pixels, turned);
    for (int y = 0; y < pixels.rows; ++y)
        for (int x = 0; x < pixels.cols; ++x)
            std::memcpy(turned.ptr(x) + static_cast<std::size_t>(y) * bytes,
                        pixels.ptr(y) + static_cast<std::size_t>(x) * bytes, bytes);
}

}  // namespace

cv::Mat EncodedImage::allocate(std::uint64_t rows, std::uint64_t columns, int type) const {
    cv::Mat image;
    image.allocator = options.allocator;
    if (rows > INT_MAX || columns > INT_MAX)
        refuse(std::to_string(columns) + " x " + std::to_string(rows) + " pixels are too large", Kind::too_large);
    try {
        image.create(static_cast<int>(rows), static_cast<int>(columns), type);
        if (options.on_damaged == OnDamaged::accept)  // what a damaged file does not hold is 0
            for (int y = 0; y < image.rows; ++y) std::memset(image.ptr(y), 0, image.cols * image.elemSize());
    } catch (const std::exception&) {
        refuse("no memory for " + std::to_string(columns) + " x " + std::to_string(rows) + " pixels", Kind::memory);
    }
    return image;
}

void EncodedImage::put_upright(cv::Mat& pixels, std::uint64_t orientation) const {
    if (orientation < 2 || orientation > 8) return;
    if (orientation >= 5) {
        cv::Mat turned =
            allocate(static_cast<std::uint64_t>(pixels.cols), static_cast<std::uint64_t>(pixels.rows), pixels.type());
        transpose(pixels, turned);
        pixels = turned;
    }
    constexpr int none = 2, across = 1, down = 0, both = -1;
    constexpr int flips[]{none, none, across, both, down, none, across, both, down};
    if (flips[orientation] != none) cv::flip(pixels, pixels, flips[orientation]);
}

void EncodedImage::report(Image& image, const std::string& cause, IoError::Kind kind) const {
    const bool truncated = kind == Kind::truncated;
    if (options.on_damaged == OnDamaged::error) refuse((truncated ? "truncated: " : "damaged: ") + cause, kind);
    if (image.damage != Damage::none) return;
    image.damage = truncated ? Damage::truncated : Damage::damaged;
    image.cause = cause;
}

void EncodedImage::refuse(const std::string& cause, IoError::Kind kind) const {
    fail(name, cause, kind);
}

Image decode_image(const std::vector<unsigned char>& bytes, const std::string& name, const DecodeOptions& options) {
    return decode(bytes, name, options);
}

Image read_image(const std::filesystem::path& path, const DecodeOptions& options) {
    const std::string name = path.string();
    return decode(read_bytes(path, reading(name, options)), name, options);
}

Image read_image(int descriptor, const std::string& name, const DecodeOptions& options) {
    return decode(read_pipe(descriptor, name, reading(name, options)), name, options);
}

}  // namespace gpuhist::io
