#include "decode/profile.hpp"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "decode/tiff_directory.hpp"

namespace gpuhist::io {
namespace {

using Profile = std::vector<unsigned char>;

/// Bytes of a profile that are looked at: the description is at their beginning.
constexpr std::uint64_t most_bytes = 1 << 16;
/// Parts of a file that are looked at.
constexpr int most_parts = 10000;

Profile bytes_of(const Bytes& file, std::uint64_t place, std::uint64_t size) {
    size = std::min(size, most_bytes);
    if (!file.has(place, size)) return {};
    const Bytes part = file.part(place, size);
    return {part.at(0), part.at(0) + size};
}

Profile inflated(const Profile& data) {
    Profile profile(most_bytes);
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return {};
    stream.next_in = const_cast<Bytef*>(data.data());
    stream.avail_in = static_cast<uInt>(data.size());
    stream.next_out = profile.data();
    stream.avail_out = static_cast<uInt>(profile.size());
    inflate(&stream, Z_FINISH);  // a longer one ends before
    profile.resize(profile.size() - stream.avail_out);
    inflateEnd(&stream);
    return profile;
}

Profile profile_of_png(const Bytes& file) {
    std::uint64_t at = 8;
    for (int part = 0; part < most_parts; ++part) {
        const auto size = file.number(at, 4, Endian::big);
        if (!size || file.starts_with("IDAT", at + 4)) break;
        if (file.starts_with("iCCP", at + 4)) {
            const Profile chunk = bytes_of(file, at + 8, *size);
            const auto end_of_name = std::find(chunk.begin(), chunk.end(), 0);
            if (chunk.end() - end_of_name < 3) break;
            return inflated({end_of_name + 2, chunk.end()});  // behind the method
        }
        at += 12 + *size;
    }
    return {};
}

Profile profile_of_jpeg(const Bytes& file) {
    constexpr std::string_view words("ICC_PROFILE\0\1", 13);  // the first of its parts
    std::uint64_t at = 2;
    for (int part = 0; part < most_parts; ++part) {
        const auto fill = file.number(at, 1, Endian::big), marker = file.number(at + 1, 1, Endian::big);
        if (!fill || !marker || *fill != 0xFF) break;
        if (*marker == 0xFF) {
            ++at;
            continue;
        }
        const auto size = file.number(at + 2, 2, Endian::big);
        if (!size || *marker == 0xDA) break;
        if (*marker == 0xE2 && file.starts_with(words, at + 4) && *size > 16)
            return bytes_of(file, at + 18, *size - 16);
        at += 2 + *size;
    }
    return {};
}

Profile profile_of_webp(const Bytes& file) {
    std::uint64_t at = 12;
    for (int part = 0; part < most_parts; ++part) {
        const auto size = file.number(at + 4, 4, Endian::little);
        if (!size) break;
        if (file.starts_with("ICCP", at)) return bytes_of(file, at + 8, *size);
        at += 8 + *size + *size % 2;
    }
    return {};
}

Profile profile_in(const Bytes& file, const Probe& probe) {
    if (probe.format == &png_format) return profile_of_png(file);
    if (probe.format == &jpeg_format) return profile_of_jpeg(file);
    if (probe.format == &webp_format) return profile_of_webp(file);
    if (probe.format != &tiff_format) return {};
    Profile profile = TiffDirectory(file, probe.page.directory).raw(tag::icc_profile, 1 << 24);
    profile.resize(std::min<std::size_t>(profile.size(), most_bytes));
    return profile;
}

/// Text of a tag `desc`: ASCII, or the first of several languages in UTF-16.
std::string description(const Bytes& tag) {
    std::string text;
    const auto add = [&](std::uint64_t unit) {
        if (unit >= 0x20 && unit < 0x7F) text += static_cast<char>(unit);
        if (unit >= 0x7F) text += '?';
    };
    if (tag.starts_with("desc")) {
        const std::uint64_t count = std::min<std::uint64_t>(tag.number(8, 4, Endian::big).value_or(0), 100);
        for (std::uint64_t i = 0; i < count; ++i) add(tag.number(12 + i, 1, Endian::big).value_or(0));
    } else if (tag.starts_with("mluc")) {
        const std::uint64_t count = std::min<std::uint64_t>(tag.number(20, 4, Endian::big).value_or(0) / 2, 100),
                            first = tag.number(24, 4, Endian::big).value_or(0);
        for (std::uint64_t i = 0; i < count; ++i) add(tag.number(first + 2 * i, 2, Endian::big).value_or(0));
    }
    return text;
}

}  // namespace

std::string profile_name(const Bytes& file, const Probe& probe) {
    const Profile profile = profile_in(file, probe);
    if (profile.empty()) return {};
    const Bytes bytes(profile.data(), profile.size());
    const std::uint64_t tags = std::min<std::uint64_t>(bytes.number(128, 4, Endian::big).value_or(0), 100);
    for (std::uint64_t i = 0; i < tags; ++i) {
        const std::uint64_t entry = 132 + 12 * i, place = bytes.number(entry + 4, 4, Endian::big).value_or(0);
        if (!bytes.starts_with("desc", entry) || place >= bytes.size()) continue;
        if (std::string text = description(bytes.part(place, bytes.size() - place)); !text.empty()) return text;
    }
    return "without a name";
}

}  // namespace gpuhist::io
