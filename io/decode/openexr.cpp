// OpenEXR.
#include <cstring>
#include <optional>

#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"

namespace gpuhist::io {
namespace {

bool matches(const Bytes& file) {
    return file.starts_with("\x76\x2F\x31\x01");
}

void inspect(const Bytes& file, Probe& probe) {
    // Attributes: name, type, length, value; an empty name ends the header.
    std::uint64_t position = 8;
    const auto string_at = [&](std::uint64_t at) -> std::optional<std::string_view> {
        if (at >= file.size()) return std::nullopt;
        const void* end = std::memchr(file.at(at), 0, file.size() - at);
        if (!end) return std::nullopt;
        return file.text(at, static_cast<std::uint64_t>(static_cast<const unsigned char*>(end) - file.at(at)));
    };
    for (;;) {
        const auto name = string_at(position);
        if (!name) break;
        if (name->empty()) return;
        const auto type = string_at(position + name->size() + 1);
        if (!type) break;
        position += name->size() + type->size() + 2;
        const auto length = file.number(position, 4, Endian::little);
        position += 4;
        if (!length || !file.has(position, *length)) break;
        if (*name == "dataWindow" && *length == 16) {
            const auto coordinate = [&](unsigned index) {
                return std::int64_t{static_cast<std::int32_t>(
                    static_cast<std::uint32_t>(file.number(position + 4 * index, 4, Endian::little).value_or(0)))};
            };
            const auto width = coordinate(2) - coordinate(0) + 1, height = coordinate(3) - coordinate(1) + 1;
            if (width > 0 && height > 0)
                probe.set_size(static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height));
        }
        position += *length;
    }
    probe.truncated = "the OpenEXR file ends inside its header";
}

}  // namespace

const ImageFormat openexr_format{"an OpenEXR file", {".exr"}, 16, matches, inspect, opencv_decode};

}  // namespace gpuhist::io
