// Images in the color space that DecodeOptions::space asks for.
#pragma once

#include "decode/formats.hpp"

namespace gpuhist::io {

/// Most bytes of a pixel in a space.
inline constexpr std::uint64_t most_bytes_in_space = 4 * sizeof(float);

/// Facts of the strips of an image in the space that is asked for.
StripFacts facts_in_space(const StripFacts& facts, const DecodeOptions& options);

/// Converts an image, or a strip, to the space that is asked for, if one is. Throws IoError for samples that are no
/// colors.
void convert_to_space(Image& image, const std::string& name, const DecodeOptions& options, int threads);

/// Gives an image the facts that follow from the space of another one.
void take_facts_in_space(Image& image, const Image& converted);

}  // namespace gpuhist::io
