// QOI, the Quite OK Image format.
#include <algorithm>
#include <array>

#include "decode/formats.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;
using namespace std::string_view_literals;

constexpr std::uint64_t data = 14;              // where the samples begin
constexpr auto end = "\0\0\0\0\0\0\0\x01"sv;    // what follows them
constexpr std::uint64_t most_pixels_byte = 62;  // a run

struct Header {
    std::uint64_t width = 0, height = 0, channels = 0, space = 0;
    bool complete = false;
};

bool matches(const Bytes& file) {
    return file.starts_with("qoif");
}

Header read_header(const Bytes& file) {
    const auto number = [&](std::uint64_t at, unsigned count) {
        return file.number(at, count, Endian::big).value_or(0);
    };
    return {number(4, 4), number(8, 4), number(12, 1), number(13, 1), file.has(0, data)};
}

void inspect(const Bytes& file, Probe& probe) {
    const Header header = read_header(file);
    if (!header.complete) {
        probe.truncated = "the QOI ends inside its header";
        return;
    }
    probe.set_size(header.width, header.height);
    if (header.channels != 3 && header.channels != 4)
        probe.unsupported = "a QOI of " + std::to_string(header.channels) + " channels is not supported";
    else if (header.space > 1)
        probe.unsupported = "a QOI of the color space " + std::to_string(header.space) + " is not supported";
    if (file.size() == data)
        probe.truncated = "the QOI ends before its samples";
    else if (saturating_product(header.width, header.height) / most_pixels_byte > file.size())
        probe.too_large = cannot_hold("the QOI", header.width, header.height);
}

/// Red, green, blue and alpha.
using Pixel = std::array<std::uint8_t, 4>;

/// Pixels of a file, one after the other.
class Pixels {
  public:
    explicit Pixels(const Bytes& file) : file_(file) {}

    /// Reads the next pixel. Returns false where the file ends.
    bool next(Pixel& pixel) {
        if (run_ > 0) {
            --run_;
        } else if (!read()) {
            return false;
        }
        pixel = pixel_;
        return true;
    }
    /// Tells whether a run goes on after the last pixel.
    bool goes_on() const { return run_ > 0; }
    bool at_end() const { return file_.starts_with(end, at_); }
    bool has_end() const { return file_.has(at_, end.size()); }

  private:
    bool read() {
        if (!file_.has(at_, 1)) return false;
        const unsigned head = *file_.at(at_), low = head & 63;
        const std::uint64_t bytes = head == 0xFF ? 5 : head == 0xFE ? 4 : head >> 6 == 2 ? 2 : 1;
        if (!file_.has(at_, bytes)) return false;
        const unsigned char* in = file_.at(at_);
        at_ += bytes;
        const auto add = [&](std::size_t c, unsigned difference) {
            pixel_[c] = static_cast<std::uint8_t>(pixel_[c] + difference);
        };
        if (head >= 0xFE) {
            std::copy_n(in + 1, bytes - 1, pixel_.begin());
        } else if (head >> 6 == 0) {
            pixel_ = seen_[low];
        } else if (head >> 6 == 1) {
            add(0, (low >> 4) - 2);
            add(1, (low >> 2 & 3) - 2);
            add(2, (low & 3) - 2);
        } else if (head >> 6 == 2) {
            const unsigned green = low - 32;
            add(0, green - 8 + (in[1] >> 4));
            add(1, green);
            add(2, green - 8 + (in[1] & 15));
        } else {
            run_ = low;
        }
        seen_[(pixel_[0] * 3U + pixel_[1] * 5U + pixel_[2] * 7U + pixel_[3] * 11U) % 64] = pixel_;
        return true;
    }

    const Bytes& file_;
    std::uint64_t at_ = data, run_ = 0;
    Pixel pixel_{0, 0, 0, 255};
    std::array<Pixel, 64> seen_{};
};

Image decode(const EncodedImage& file) {
    const Header header = read_header(file.bytes);
    const bool alpha = header.channels == 4;
    Image image;
    if (alpha) image.alpha = Alpha::straight;
    image.pixels = file.allocate(header.height, header.width, alpha ? CV_8UC4 : CV_8UC3);
    Pixels pixels(file.bytes);
    Pixel pixel{};
    for (int y = 0; y < image.pixels.rows; ++y) {
        auto* out = image.pixels.ptr(y);
        for (int x = 0; x < image.pixels.cols; ++x) {
            if (!pixels.next(pixel)) {
                file.report(image, "the QOI ends in row " + std::to_string(y), Kind::truncated);
                return image;
            }
            for (const std::size_t c : {2U, 1U, 0U}) *out++ = pixel[c];
            if (alpha) *out++ = pixel[3];
        }
    }
    if (pixels.goes_on())
        file.report(image, "the QOI's last run goes on after the last pixel");
    else if (!pixels.at_end())
        file.report(image, "the QOI's data do not end with the last pixel",
                    pixels.has_end() ? Kind::damaged : Kind::truncated);
    return image;
}

}  // namespace

const ImageFormat qoi_format{
    "a QOI",
    {".qoi"},
    4,
    matches,
    inspect,
    decode,
    {"QOI", {}, "u8", "", "3 and 4 channels; the color space is ignored", "other numbers of channels"}};

}  // namespace gpuhist::io
