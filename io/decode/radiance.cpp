// Radiance: pixels of three mantissas and one exponent, m · 2^(e - 136), as stored: no exposure is taken back.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "decode/formats.hpp"
#include "decode/words.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;
using Pixel = std::array<unsigned char, 4>;

struct Header {
    std::uint64_t width = 0, height = 0, data = 0;  ///< 0: the file ends before it says so
    std::string unsupported;
    bool bottom_up = false, mirrored = false;
};

bool matches(const Bytes& file) {
    return file.starts_with("#?RADIANCE") || file.starts_with("#?RGBE");
}

/// Lines, an empty one, then for instance "-Y 480 +X 640".
Header read_header(const Bytes& file) {
    Header header;
    const auto text = file.text(0, std::min<std::uint64_t>(file.size(), 65536));
    const auto blank = text.find("\n\n");
    if (blank == text.npos) return header;
    constexpr std::string_view key = "\nFORMAT=", known = "32-bit_rle_rgbe";
    const auto lines = text.substr(0, blank + 1);
    for (auto at = lines.find(key); at != lines.npos; at = lines.find(key, at + 1)) {
        auto format = lines.substr(at + key.size(), lines.find('\n', at + 1) - at - key.size());
        while (!format.empty() && std::isspace(static_cast<unsigned char>(format.back()))) format.remove_suffix(1);
        if (format != known)
            header.unsupported = "a Radiance file of the format " + std::string(format.substr(0, 64)) +
                                 " is not supported: gpuhist reads " + std::string(known);
    }
    Words words(file, blank + 2);
    std::array<std::string_view, 2> axes;
    std::array<std::uint64_t, 2> lengths{};
    for (int axis = 0; axis < 2; ++axis) {
        axes[axis] = words.word();
        lengths[axis] = words.number().value_or(0);
    }
    const auto is = [](std::string_view axis, char letter) {
        return axis.size() == 2 && (axis[0] == '-' || axis[0] == '+') && axis[1] == letter;
    };
    if (is(axes[0], 'X') && is(axes[1], 'Y')) {
        header.unsupported = "a Radiance file of columns is not supported: gpuhist reads rows";
        std::swap(lengths[0], lengths[1]);
    } else if (!is(axes[0], 'Y') || !is(axes[1], 'X')) {
        return header;
    }
    header.height = lengths[0];
    header.width = lengths[1];
    header.bottom_up = axes[0][0] == '+';
    header.mirrored = axes[1][0] == '-';
    header.data = words.position() + 1;
    return header;
}

void inspect(const Bytes& file, Probe& probe) {
    const Header header = read_header(file);
    probe.unsupported = header.unsupported;
    probe.set_size(header.width, header.height);
    if (header.width == 0 || header.height == 0) {
        probe.truncated = "the Radiance file ends before it says its size";
        return;
    }
    // A row takes at least 4 bytes; a byte stands for many pixels only in a run of runs.
    const std::uint64_t bytes = file.size() - std::min<std::uint64_t>(file.size(), header.data);
    if (saturating_product(header.width, header.height) / 1024 > bytes)
        probe.too_large = cannot_hold("the Radiance file", header.width, header.height);
    else if (saturating_product(header.height, 4) > bytes)
        probe.truncated = "the Radiance file ends before its last row";
}

/// Rows of pixels, in one of three codings each.
class Rows {
  public:
    Rows(const Bytes& file, std::uint64_t position) : file_(file), at_(position) {}

    /// Reads the next row. Returns its fault, if any; then the rest of the row is not changed.
    std::string read(std::vector<Pixel>& row) {
        const std::uint64_t width = row.size();
        if (!file_.has(at_, 4)) return ended;
        const auto* head = file_.at(at_);
        if (width < 8 || width > 0x7FFF || head[0] != 2 || head[1] != 2 || head[2] >= 128) return read_pixels(row);
        if ((std::uint64_t{head[2]} << 8 | head[3]) != width) return "a row of another length";
        at_ += 4;
        for (std::size_t plane = 0; plane < 4; ++plane)
            for (std::uint64_t x = 0; x < width;) {
                if (!file_.has(at_, 2)) return ended;
                const unsigned char code = *file_.at(at_++);
                const std::uint64_t count = code > 128 ? code - 128U : code;
                const bool run = code > 128;
                if (count == 0 || count > width - x) return "a run that passes the width";
                if (!file_.has(at_, run ? 1 : count)) return ended;
                for (std::uint64_t i = 0; i < count; ++i) row[x++][plane] = *file_.at(at_ + (run ? 0 : i));
                at_ += run ? 1 : count;
            }
        return {};
    }

    static constexpr const char* ended = "the end of the file";

  private:
    /// Pixels one by one. 1 1 1 n repeats the last pixel n times; a second such code after it repeats it 256 n times.
    std::string read_pixels(std::vector<Pixel>& row) {
        unsigned shift = 0;
        for (std::uint64_t x = 0; x < row.size();) {
            if (!file_.has(at_, 4)) return ended;
            const auto* in = file_.at(at_);
            at_ += 4;
            if (in[0] == 1 && in[1] == 1 && in[2] == 1) {
                if (x == 0) return "a run with nothing before it";
                const std::uint64_t count = shift < 32 ? std::uint64_t{in[3]} << shift : row.size();
                if (count > row.size() - x) return "a run that passes the width";
                const Pixel last = row[x - 1];
                for (std::uint64_t i = 0; i < count; ++i) row[x++] = last;
                shift += 8;
            } else {
                std::copy_n(in, 4, row[x++].begin());
                shift = 0;
            }
        }
        return {};
    }

    Bytes file_;
    std::uint64_t at_;
};

Image decode(const EncodedImage& file) {
    const Header header = read_header(file.bytes);
    Image image;
    image.depth = Depth::f32;
    image.white = 1;
    image.pixels = file.allocate(header.height, header.width, CV_32FC3);
    image.pixels.setTo(0);
    std::array<float, 256> scales{};
    for (int e = 1; e < 256; ++e) scales[static_cast<std::size_t>(e)] = std::ldexp(1.0F, e - 136);
    std::vector<Pixel> row(header.width);
    Rows rows(file.bytes, header.data);
    for (std::uint64_t y = 0; y < header.height; ++y) {
        std::fill(row.begin(), row.end(), Pixel{});
        const std::string fault = rows.read(row);
        auto* out = image.pixels.ptr<float>(static_cast<int>(header.bottom_up ? header.height - 1 - y : y));
        for (std::uint64_t x = 0; x < header.width; ++x, out += 3) {
            const auto& [red, green, blue, exponent] = row[header.mirrored ? header.width - 1 - x : x];
            out[0] = static_cast<float>(blue) * scales[exponent];
            out[1] = static_cast<float>(green) * scales[exponent];
            out[2] = static_cast<float>(red) * scales[exponent];
        }
        if (fault.empty()) continue;
        file.report(image, "the Radiance file's data meet " + fault + " in row " + std::to_string(y) + " of the file",
                    fault == Rows::ended ? Kind::truncated : Kind::damaged);
        break;
    }
    return image;
}

}  // namespace

const ImageFormat radiance_format{
    "a Radiance file",
    {".hdr", ".pic"},
    12,
    matches,
    inspect,
    decode,
    {"Radiance", {}, "f32", "", "flat, old and new runs; not multiplied by the exposure", "XYZE, columns first"}};

}  // namespace gpuhist::io
