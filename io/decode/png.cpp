// PNG.
#include <zlib.h>

#include <optional>

#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"
#include "decode/png.hpp"

namespace gpuhist::io {
namespace {

constexpr std::string_view png_signature("\x89PNG\r\n\x1a\n", 8);

struct Chunk {
    std::uint64_t length;  ///< of the data; the chunk is 12 bytes longer
    std::string_view type;
    bool critical() const { return type[0] < 'a'; }
};

std::optional<Chunk> png_chunk(const Bytes& file, std::uint64_t position) {
    const auto length = file.number(position, 4, Endian::big);
    if (!length || !file.has(position, 12) || !file.has(position, 12 + *length)) return std::nullopt;
    return Chunk{*length, file.text(position + 4, 4)};
}

bool matches(const Bytes& file) {
    return file.starts_with(png_signature);
}

void inspect(const Bytes& file, Probe& probe) {
    if (!file.has(0, png_signature.size() + 8)) {
        probe.truncated = "the PNG ends inside its header";
        return;
    }
    if (!file.starts_with("IHDR", 12)) {
        probe.damaged = "the PNG does not begin with its IHDR chunk";
        return;
    }
    probe.set_size(file.number(16, 4, Endian::big), file.number(20, 4, Endian::big));
    constexpr std::uint64_t bits = 24;  // of a sample; fewer than 8 where there is a palette
    probe.pixel_bytes = file.has(bits, 1) && *file.at(bits) == 16 ? 8 : 4;
    std::uint64_t position = png_signature.size();
    while (const auto chunk = png_chunk(file, position)) {
        // A wrong checksum of the others is only a wrong text or profile.
        if (chunk->critical()) {
            const auto checksum = crc32_z(0, file.at(position + 4), static_cast<z_size_t>(chunk->length + 4));
            if (file.number(position + 8 + chunk->length, 4, Endian::big) != checksum) {
                probe.damaged = "the checksum of the PNG's " + std::string(chunk->type) + " chunk at byte " +
                                std::to_string(position) + " is wrong";
                return;
            }
        }
        if (chunk->type == "IEND") return;
        position += 12 + chunk->length;
    }
    probe.truncated = file.has(position, 8) ? "the PNG ends inside a chunk (at byte " + std::to_string(position) + ")"
                                            : "the PNG ends before its IEND chunk";
}

Image decode(const EncodedImage& file) {
    const std::string essential = essential_png(file.bytes);
    return essential.empty() ? opencv_decode(file) : opencv_decode(file, essential);
}

}  // namespace

const ImageFormat png_format{"a PNG", {".png"}, 8, matches, inspect, decode};

std::string essential_png(const Bytes& file) {
    std::string kept(png_signature);
    kept.reserve(file.size());
    bool all = true;
    std::uint64_t position = png_signature.size();
    while (const auto chunk = png_chunk(file, position)) {
        if (chunk->critical() || chunk->type == "tRNS") {
            kept += file.text(position, 12 + chunk->length);
        } else {
            all = false;
        }
        position += 12 + chunk->length;
        if (chunk->type == "IEND") return all ? std::string() : kept;
    }
    kept += file.text(position, file.size() - position);  // of a truncated file: what is there of its last chunk
    return all ? std::string() : kept;
}

}  // namespace gpuhist::io
