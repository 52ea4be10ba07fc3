/// Thumbnails of images, for pages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::app {

/// Small picture of an image, or the reason why there is none.
struct Thumbnail {
    static constexpr int side = 192;                   ///< longest side, in pixels
    static constexpr std::size_t most_bytes = 20'000;  ///< of its JPEG
    std::vector<unsigned char> jpeg;
    int width = 0, height = 0;
    std::string missing;
};

/// Makes thumbnails of images, which are files, or pages FILE#N. Each is decoded again, on the CPU, whatever engine
/// measured it; several at a time. Colors are shown without alpha, and of other samples the first. 8-bit samples are
/// shown as they are; others are stretched from their lowest to their highest value.
std::vector<Thumbnail> make_thumbnails(const std::vector<std::string>& paths);

}  // namespace gpuhist::app
