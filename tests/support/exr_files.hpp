// OpenEXR files of flat channels, made here.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

namespace exr_files {

/// Bytes of a file without compression, of floats, in which each channel has one value.
inline std::string exr(const std::map<std::string, float>& channels, int width = 3, int height = 2) {
    const auto number = [](std::uint64_t value, int bytes) {
        std::string text;
        for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
        return text;
    };
    const auto word = [](const std::string& text) { return text + '\0'; };
    const auto attribute = [&](const std::string& name, const std::string& type, const std::string& value) {
        return word(name) + word(type) + number(value.size(), 4) + value;
    };
    std::string list, row;
    for (const auto& [name, value] : channels) {
        list += word(name) + number(2, 4) + number(0, 4) + number(1, 4) + number(1, 4);
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        for (int x = 0; x < width; ++x) row += number(bits, 4);
    }
    const auto sides = static_cast<std::uint64_t>(width), rows = static_cast<std::uint64_t>(height);
    const std::string window = number(0, 8) + number(sides - 1, 4) + number(rows - 1, 4);
    std::string file = "\x76\x2F\x31\x01" + number(2, 4) + attribute("channels", "chlist", word(list)) +
                       attribute("compression", "compression", number(0, 1)) +
                       attribute("dataWindow", "box2i", window) + attribute("displayWindow", "box2i", window) +
                       attribute("lineOrder", "lineOrder", number(0, 1)) +
                       attribute("pixelAspectRatio", "float", number(0x3F800000, 4)) +
                       attribute("screenWindowCenter", "v2f", number(0, 8)) +
                       attribute("screenWindowWidth", "float", number(0x3F800000, 4)) + '\0';
    const std::uint64_t first = file.size() + 8 * rows;
    for (std::uint64_t y = 0; y < rows; ++y) file += number(first + y * (8 + row.size()), 8);
    for (std::uint64_t y = 0; y < rows; ++y) file += number(y, 4) + number(row.size(), 4) + row;
    return file;
}

}  // namespace exr_files
