#include "decode/probe.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "decode/formats.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::io {

using namespace std::string_view_literals;

constexpr const char* by_magick = "convert it with ImageMagick: convert FILE FILE.png";
constexpr const char* by_heif = "convert it with libheif (Debian: libheif-examples): heif-convert FILE FILE.png";

const std::array<UnreadFormat, 16> unread_formats{{
    {4, "ftyphei"sv, "a HEIC image", by_heif},
    {4, "ftyphev"sv, "a HEIC image", by_heif},
    {4, "ftypmif1"sv, "a HEIC image", by_heif},
    {4, "ftypmsf1"sv, "a HEIC image", by_heif},
    {0, "8BPS"sv, "a Photoshop file", "convert it with ImageMagick: convert 'FILE[0]' FILE.png"},
    {0, "%PDF"sv, "a PDF", "convert it with Poppler (Debian: poppler-utils): pdftoppm FILE FILE"},
    {128, "DICM"sv, "a DICOM file", "convert it with DCMTK (Debian: dcmtk): dcmj2pnm --write-16-bit-png FILE FILE.png"},
    {0, "\0\0\x01\0"sv, "an icon", by_magick},
    {0, "\0\0\x02\0"sv, "a cursor", by_magick},
    {0, "DDS "sv, "a DDS texture", by_magick},
    {0, "\x0A\x00\x01"sv, "a PCX", by_magick},
    {0, "\x0A\x02\x01"sv, "a PCX", by_magick},
    {0, "\x0A\x03\x01"sv, "a PCX", by_magick},
    {0, "\x0A\x04\x01"sv, "a PCX", by_magick},
    {0, "\x0A\x05\x01"sv, "a PCX", by_magick},
    {0, "\x01\xDA"sv, "an SGI image", by_magick},
}};

const ImageFormat* format_of(const Bytes& file) {
    const auto found = std::find_if(image_formats.begin(), image_formats.end(),
                                    [&](const ImageFormat* format) { return format->matches(file); });
    return found == image_formats.end() ? nullptr : *found;
}

Probe probe(const Bytes& file, const PagePlace& page, bool masks) {
    Probe found;
    found.page = page;
    found.masks = masks;
    found.format = format_of(file);
    if (!found.format) return found;
    found.pixel_bytes = found.format->pixel_bytes;
    found.format->inspect(file, found);
    // DICOM begins with 128 bytes of anything, such as a header of TIFF's, which may lead to an image or to nothing.
    const bool whole = found.width != 0 && found.truncated.empty() && found.damaged.empty() && found.too_large.empty();
    if (!whole && found.unsupported.empty() && file.starts_with("DICM", 128))
        found.unsupported = describe_unknown(file);
    return found;
}

std::string cannot_hold(const std::string& holder, std::uint64_t width, std::uint64_t height) {
    return holder + " cannot hold the " + std::to_string(width) + " x " + std::to_string(height) +
           " pixels that its header claims";
}

std::string unsupported_depth(const std::string& depth) {
    return "depth " + depth + " is not supported: gpuhist reads " + depth_names();
}

std::string unsupported_channels(std::uint64_t count) {
    return std::to_string(count) + " channels are not supported: gpuhist reads 1 to " + std::to_string(most_channels);
}

std::string unsupported_value(std::uint64_t row, const std::string& value, const char* verb) {
    return "integers of 64 bits are not supported beyond the range of 32 bits: row " + std::to_string(row) + " " +
           verb + " " + value;
}

std::string unsupported_stand_in(Depth depth, std::uint64_t row) {
    const std::string value = std::to_string(static_cast<std::int64_t>(stand_in(depth)));
    return "a nodata value beyond 32 bits is not supported beside samples that are " + value +
           ", by which gpuhist replaces it: row " + std::to_string(row) +
           " has one. Convert the image, as gdal_translate -ot Float64 does";
}

const ImageFormat* format_named(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos || dot == 0) return nullptr;
    std::string extension(name.substr(dot));
    for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto found = std::find_if(image_formats.begin(), image_formats.end(), [&](const ImageFormat* format) {
        const auto& known = format->extensions;
        return std::find(known.begin(), known.end(), extension) != known.end();
    });
    return found == image_formats.end() ? nullptr : *found;
}

std::string describe_unknown(const Bytes& file) {
    for (const auto& [offset, signature, name, remedy] : unread_formats) {
        // Icons and cursors have pictures; headers like that of a TGA begin as they do.
        const bool empty = signature.substr(0, 2) == "\0\0"sv && file.number(4, 2, Endian::little).value_or(0) == 0;
        if (file.starts_with(signature, offset) && !empty)
            return std::string(name) + " is not a format that gpuhist reads: " + remedy;
    }

    const auto beginning = file.text(0, std::min<std::size_t>(file.size(), 512));
    const auto control = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte == 0x7F || (byte < 0x20 && !(byte >= '\t' && byte <= '\r'));
    };
    if (std::none_of(beginning.begin(), beginning.end(), control)) return "not an image: the file begins with text";
    constexpr char digits[] = "0123456789abcdef";
    std::string text = "not an image of a known format: the file begins with the bytes";
    for (std::size_t i = 0; i < std::min<std::size_t>(file.size(), 8); ++i)
        text += {' ', digits[*file.at(i) >> 4], digits[*file.at(i) & 15]};
    return text + "; --decoder opencv asks OpenCV";
}

}  // namespace gpuhist::io
