// TGA, of Truevision. A file has no magic number at its beginning: its header must be one in every field.
#include <algorithm>
#include <array>
#include <vector>

#include "decode/formats.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;
using namespace std::string_view_literals;

enum Type : std::uint64_t { indices = 1, colors = 2, gray = 3, run_lengths = 8 };

constexpr std::uint64_t header_bytes = 18, footer_bytes = 26;
constexpr auto signature = "TRUEVISION-XFILE.\0"sv;

struct Header {
    std::uint64_t map_type = 0, type = 0, first = 0, colors = 0, map_bits = 0, width = 0, height = 0, bits = 0;
    std::uint64_t alpha_bits = 0;
    bool right_to_left = false, top_down = false;
    std::uint64_t map = 0;      ///< where the color map begins
    Alpha alpha = Alpha::none;  ///< what the bits of alpha are
    bool complete = false, sound = false;

    std::uint64_t kind() const { return type & 7; }
    bool has_runs() const { return type >= run_lengths; }
    std::uint64_t entry_bytes() const { return (map_bits + 7) / 8; }
    std::uint64_t pixel_bytes() const { return (bits + 7) / 8; }
    std::uint64_t data() const { return map + colors * entry_bytes(); }
    std::uint64_t bytes() const { return saturating_product(saturating_product(width, height), pixel_bytes()); }
};

/// Bits of a color, and how many of them may be alpha.
bool fits(std::uint64_t bits, std::uint64_t alpha) {
    return bits == 15   ? alpha == 0
           : bits == 16 ? alpha <= 1
           : bits == 24 ? alpha == 0
                        : bits == 32 && (alpha == 0 || alpha == 8);
}

Header read_header(const Bytes& file) {
    Header header;
    header.complete = file.has(0, header_bytes);
    if (!header.complete) return header;
    const auto number = [&](std::uint64_t at, unsigned count) {
        return file.number(at, count, Endian::little).value_or(0);
    };
    header.map_type = number(1, 1);
    header.type = number(2, 1);
    header.first = number(3, 2);
    header.colors = number(5, 2);
    header.map_bits = number(7, 1);
    header.width = number(12, 2);
    header.height = number(14, 2);
    header.bits = number(16, 1);
    const std::uint64_t descriptor = number(17, 1);
    header.alpha_bits = descriptor & 15;
    header.right_to_left = (descriptor & 16) != 0;
    header.top_down = (descriptor & 32) != 0;
    header.map = header_bytes + number(0, 1);
    const bool type = (header.kind() >= indices && header.kind() <= gray) && header.type <= run_lengths + gray;
    const bool map = header.map_type == 0 ? header.first == 0 && header.colors == 0 : header.map_type == 1;
    bool bits = false;
    if (header.kind() == indices)
        bits = header.map_type == 1 && header.colors > 0 && header.first + header.colors <= 65536 &&
               (header.bits == 8 || header.bits == 16) &&
               (fits(header.map_bits, 0) || fits(header.map_bits, header.alpha_bits));
    else if (header.kind() == colors)
        bits = fits(header.bits, header.alpha_bits);
    else
        bits = (header.bits == 8 && header.alpha_bits == 0) || header.bits == 16;
    header.sound = type && map && bits && (descriptor & 0xC0) == 0 && header.width > 0 && header.height > 0;
    if (header.alpha_bits > 0) header.alpha = Alpha::straight;
    // The end of a newer file says what its bits of alpha are.
    if (file.size() >= header_bytes + footer_bytes && file.starts_with(signature, file.size() - signature.size())) {
        const std::uint64_t extension = number(file.size() - footer_bytes, 4);
        if (extension != 0 && file.has(extension, 495)) {
            const std::uint64_t attributes = number(extension + 494, 1);
            if (attributes < 3) header.alpha = Alpha::none;
            if (attributes == 4 && header.alpha_bits > 0) header.alpha = Alpha::premultiplied;
        }
    }
    return header;
}

bool matches(const Bytes& file) {
    return read_header(file).sound;
}

std::string unsupported(const Header& header) {
    const auto with = [](const std::string& what) { return "a TGA of " + what + " is not supported"; };
    if (header.kind() == indices && header.bits != 8) return with("indices of 16 bits");
    if (header.kind() == gray && header.bits == 16 && header.alpha_bits != 8) return with("gray of 16 bits");
    return {};
}

void inspect(const Bytes& file, Probe& probe) {
    const Header header = read_header(file);
    probe.unsupported = unsupported(header);
    probe.set_size(header.width, header.height);
    if (header.has_runs()) probe.pixel_bytes += header.pixel_bytes();
    const std::uint64_t held = file.size() - std::min<std::uint64_t>(file.size(), header.data());
    // A byte before a pixel stands for 128 of them.
    if (header.has_runs() && header.width * header.height / 128 > held / (1 + header.pixel_bytes()) + 1)
        probe.too_large = cannot_hold("the TGA's run lengths", header.width, header.height);
    else if (held == 0 || (!header.has_runs() && header.bytes() > held))
        probe.truncated = "the TGA ends before its last row";
}

/// Color in OpenCV's order, with alpha.
using Color = std::array<unsigned char, 4>;

/// Color of so many bits, which are stored from the lowest byte on.
Color color_of(const unsigned char* in, std::uint64_t bits) {
    if (bits >= 24) return {in[0], in[1], in[2], bits == 32 ? in[3] : static_cast<unsigned char>(255)};
    const unsigned word = in[0] | in[1] << 8;
    const auto of_five = [&](unsigned shift) {
        return static_cast<unsigned char>(((word >> shift & 31) * 510 + 31) / 62);
    };
    return {of_five(0), of_five(5), of_five(10), static_cast<unsigned char>((word >> 15 & 1) * 255)};
}

/// Samples of the file as they are stored, runs expanded. Missing ones are zeros.
std::vector<unsigned char> expand(const EncodedImage& file, const Header& header, Image& image) {
    std::vector<unsigned char> samples(header.bytes());
    const std::uint64_t pixel = header.pixel_bytes();
    std::uint64_t at = header.data(), filled = 0;
    while (filled < samples.size()) {
        const auto head = file.bytes.number(at, 1, Endian::little);
        const bool run = head.value_or(0) >= 128;
        const std::uint64_t count = (head.value_or(0) & 127) + 1, bytes = run ? pixel : count * pixel;
        const auto row = [&] { return std::to_string(filled / pixel / header.width) + " of the file"; };
        if (!head || !file.bytes.has(at + 1, bytes)) {
            file.report(image, "the TGA's run lengths end in row " + row(), Kind::truncated);
            break;
        }
        if (count * pixel > samples.size() - filled) {
            file.report(image, "the TGA's run lengths pass the last row");
            break;
        }
        for (std::uint64_t i = 0; i < count; ++i, filled += pixel)
            std::copy_n(file.bytes.at(at + 1 + (run ? 0 : i * pixel)), pixel, samples.data() + filled);
        at += 1 + bytes;
    }
    return samples;
}

/// Color map, and whether all of it is gray.
struct Map {
    std::vector<Color> colors;
    bool gray = true;

    Map(const EncodedImage& file, const Header& header) {
        for (std::uint64_t i = 0; i < header.colors; ++i) {
            const std::uint64_t at = header.map + i * header.entry_bytes();
            if (!file.bytes.has(at, header.entry_bytes())) break;
            colors.push_back(color_of(file.bytes.at(at), header.map_bits));
            const Color& c = colors.back();
            gray = gray && c[0] == c[1] && c[1] == c[2];
        }
    }
};

Image decode(const EncodedImage& file) {
    const Header header = read_header(file.bytes);
    const std::uint64_t pixel = header.pixel_bytes();
    const bool raw = file.options.raw, indexed = header.kind() == indices;
    Image image;
    std::vector<Color> map;
    bool is_gray = header.kind() == gray;
    const std::uint64_t color_bits = indexed ? header.map_bits : header.bits;
    bool alpha = header.alpha != Alpha::none && (is_gray || color_bits == 16 || color_bits == 32) && !(indexed && raw);
    if (indexed && !raw) {
        Map found(file, header);
        map = std::move(found.colors);
        is_gray = found.gray;
    } else if (indexed) {
        is_gray = true;
    }
    if (alpha) image.alpha = header.alpha;
    if (alpha && is_gray) image.samples = Samples::gray_alpha;
    const unsigned channels = alpha ? 4 : is_gray ? 1 : 3;
    image.pixels = file.allocate(header.height, header.width, CV_MAKETYPE(CV_8U, static_cast<int>(channels)));
    std::vector<unsigned char> expanded;
    if (header.has_runs()) expanded = expand(file, header, image);
    const Bytes samples =
        header.has_runs()
            ? Bytes(expanded.data(), expanded.size())
            : file.bytes.part(std::min<std::uint64_t>(header.data(), file.bytes.size()),
                              file.bytes.size() - std::min<std::uint64_t>(header.data(), file.bytes.size()));
    for (std::uint64_t row = 0; row < header.height && samples.has(row * header.width * pixel, header.width * pixel);
         ++row) {
        const unsigned char* in = samples.at(row * header.width * pixel);
        auto* const out = image.pixels.ptr(static_cast<int>(header.top_down ? row : header.height - 1 - row));
        for (std::uint64_t x = 0; x < header.width; ++x, in += pixel) {
            Color color{};
            if (indexed && !raw) {
                if (*in < header.first || *in - header.first >= map.size()) {
                    file.report(image, "index " + std::to_string(*in) + " in row " + std::to_string(row) +
                                           " of the file is outside of the map of " + std::to_string(map.size()) +
                                           " colors from " + std::to_string(header.first) + " on");
                    continue;
                }
                color = map[*in - header.first];
            } else if (indexed || header.kind() == gray) {
                color = {in[0], in[0], in[0], pixel == 2 ? in[1] : static_cast<unsigned char>(255)};
            } else {
                color = color_of(in, header.bits);
            }
            std::copy_n(color.begin(), channels, out + channels * (header.right_to_left ? header.width - 1 - x : x));
        }
    }
    return image;
}

}  // namespace

const ImageFormat tga_format{"a TGA",
                             {".icb", ".tga", ".vda", ".vst"},
                             4,
                             matches,
                             inspect,
                             decode,
                             {"TGA",
                              {},
                              "u8; 5 bits as 0 to 255",
                              "",
                              "color maps (gray if all colors are), colors of 15, 16, 24, 32 bits, gray; run lengths; "
                              "all four origins; alpha if the header counts bits of it and the end does not deny it",
                              "indices and gray of 16 bits, interleaved rows"}};

}  // namespace gpuhist::io
