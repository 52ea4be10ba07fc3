// Sun raster files.
#include <algorithm>
#include <array>
#include <vector>

#include "decode/formats.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

enum Type : std::uint64_t { old, standard, run_lengths, rgb };

struct Header {
    std::uint64_t width = 0, height = 0, bits = 0, type = 0, map_type = 0, map_bytes = 0;
    bool complete = false;

    std::uint64_t data() const { return 32 + map_bytes; }
    std::uint64_t colors() const { return map_type == 1 ? map_bytes / 3 : 0; }
    /// Rows are filled up to 16 bits.
    std::uint64_t row_bytes() const { return (width * bits + 15) / 16 * 2; }
    std::uint64_t bytes() const { return saturating_product(row_bytes(), height); }
};

bool matches(const Bytes& file) {
    return file.starts_with("\x59\xA6\x6A\x95");
}

Header read_header(const Bytes& file) {
    const auto word = [&](unsigned i) { return file.number(4 * i, 4, Endian::big).value_or(0); };
    return {word(1), word(2), word(3), word(5), word(6), word(7), file.has(0, 32)};
}

std::string unsupported(const Header& header) {
    const auto with = [](const std::string& what, std::uint64_t number) {
        return "a Sun raster file of " + what + " " + std::to_string(number) + " is not supported";
    };
    if (header.type > rgb) return with("type", header.type);
    if (header.bits != 1 && header.bits != 8 && header.bits != 24 && header.bits != 32)
        return with("depth", header.bits);
    if (header.map_bytes > 3 * 256) return with("a map of bytes", header.map_bytes);
    if (header.map_bytes != 0 && (header.map_type != 1 || header.bits > 8))
        return with("depth " + std::to_string(header.bits) + " with a map of type", header.map_type);
    return {};
}

void inspect(const Bytes& file, Probe& probe) {
    const Header header = read_header(file);
    if (!header.complete) {
        probe.truncated = "the Sun raster file ends inside its header";
        return;
    }
    probe.unsupported = unsupported(header);
    probe.set_size(header.width, header.height);
    // Three bytes of run lengths stand for at most 256.
    const std::uint64_t held = file.size() - std::min<std::uint64_t>(file.size(), header.data());
    if (header.type == run_lengths && header.bytes() / 86 > held)
        probe.too_large = cannot_hold("the Sun raster file", header.width, header.height);
    else if (held == 0 || (header.type != run_lengths && header.bytes() > held))
        probe.truncated = "the Sun raster file ends before its last row";
}

/// Bytes of all rows: 128 0 is 128, and 128 n v is n + 1 times v. Missing bytes are zeros.
std::vector<unsigned char> expand(const EncodedImage& file, const Header& header, Image& image) {
    std::vector<unsigned char> rows(header.bytes());
    std::uint64_t at = header.data(), filled = 0;
    while (filled < rows.size()) {
        const auto value = file.bytes.number(at, 1, Endian::big);
        const auto count = value == 128U ? file.bytes.number(at + 1, 1, Endian::big) : 0;
        const bool run = count.value_or(0) != 0;
        const auto repeated = run ? file.bytes.number(at + 2, 1, Endian::big) : value;
        const std::string row = std::to_string(filled / header.row_bytes());
        if (!value || !count || !repeated) {
            file.report(image, "the Sun raster file's run lengths end in row " + row, Kind::truncated);
            break;
        }
        if (*count + 1 > rows.size() - filled) {
            file.report(image, "the Sun raster file's run lengths pass the last row");
            break;
        }
        std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(filled), *count + 1,
                    static_cast<unsigned char>(*repeated));
        filled += *count + 1;
        at += run ? 3 : value == 128U ? 2 : 1;
    }
    return rows;
}

/// Colors of the map in OpenCV's order; without a map 1 is black of one bit, and 255 white of eight.
std::vector<std::array<unsigned char, 3>> read_map(const Bytes& file, const Header& header) {
    std::vector<std::array<unsigned char, 3>> map(header.colors());
    for (std::uint64_t i = 0; i < map.size() && file.has(32, header.map_bytes); ++i)
        for (std::uint64_t c = 0; c < 3; ++c) map[i][c] = *file.at(32 + (2 - c) * map.size() + i);
    if (map.empty() && header.bits == 1) map = {{255, 255, 255}, {0, 0, 0}};
    if (map.empty())
        for (unsigned i = 0; i < 256; ++i)
            map.push_back(
                {static_cast<unsigned char>(i), static_cast<unsigned char>(i), static_cast<unsigned char>(i)});
    return map;
}

Image decode(const EncodedImage& file) {
    const Header header = read_header(file.bytes);
    Image image;
    std::vector<std::array<unsigned char, 3>> map;
    if (header.bits <= 8) map = read_map(file.bytes, header);
    const bool gray = !map.empty() && std::all_of(map.begin(), map.end(), [](const auto& color) {
        return color[0] == color[1] && color[1] == color[2];
    });
    const unsigned channels = gray ? 1 : 3;
    image.pixels = file.allocate(header.height, header.width, gray ? CV_8UC1 : CV_8UC3);
    std::vector<unsigned char> expanded;
    if (header.type == run_lengths) expanded = expand(file, header, image);
    const Bytes rows = header.type == run_lengths
                           ? Bytes(expanded.data(), expanded.size())
                           : Bytes(file.bytes.at(std::min<std::uint64_t>(header.data(), file.bytes.size())),
                                   file.bytes.size() - std::min<std::uint64_t>(header.data(), file.bytes.size()));
    for (std::uint64_t y = 0; y < header.height && rows.has(y * header.row_bytes(), header.row_bytes()); ++y) {
        const auto* in = rows.at(y * header.row_bytes());
        auto* out = image.pixels.ptr(static_cast<int>(y));
        for (std::uint64_t x = 0; x < header.width; ++x, out += channels) {
            if (header.bits <= 8) {
                const unsigned index = header.bits == 8 ? in[x] : in[x / 8] >> (7 - x % 8) & 1;
                if (index < map.size())
                    std::copy_n(map[index].begin(), channels, out);
                else
                    file.report(image, "index " + std::to_string(index) + " in row " + std::to_string(y) +
                                           " is outside the map of " + std::to_string(map.size()));
                continue;
            }
            // A fourth byte comes first, and is not alpha.
            const auto* color = in + x * header.bits / 8 + (header.bits == 32 ? 1 : 0);
            for (unsigned c = 0; c < 3; ++c) out[c] = color[header.type == rgb ? 2 - c : c];
        }
    }
    return image;
}

}  // namespace

const ImageFormat sun_format{"a Sun raster file",
                             {".ras", ".sr"},
                             4,
                             matches,
                             inspect,
                             decode,
                             {"Sun raster",
                              {},
                              "u8; 1 bit as 0 and 255",
                              "",
                              "types 0 to 3; 1, 8, 24, 32 bits (the fourth byte is not alpha)",
                              "other types, depths and maps"}};

}  // namespace gpuhist::io
