/// Making of thumbnails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/thumbnails.hpp"

namespace gpuhist::app {

inline constexpr int thumbnail_side = 192;                   ///< longest side, in pixels
inline constexpr std::size_t most_thumbnail_bytes = 20'000;  ///< of its JPEG

/// Makes thumbnails of images, which are files, or pages FILE#N. Each is decoded again, on the CPU, whatever engine
/// measured it; several at a time. `array` is the layout of raw samples. Colors are shown without alpha, and of
/// other samples the first. 8-bit samples are shown as they are; others are stretched from their lowest to their
/// highest value.
std::vector<io::Thumbnail> make_thumbnails(const std::vector<std::string>& paths,
                                           const std::optional<io::RawArray>& array = {});

}  // namespace gpuhist::app
