// Header of a JPEG file: a plan of its image, or the reason why it is decoded by libjpeg, on the CPU. The parser is
// strict: if libjpeg would warn about a file, repair it or guess, the CPU decodes it, so that no warning is lost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "jpeg/image.hpp"

namespace gpuhist::jpeg {

/// Plan of a file. `image` has no places in a batch yet, and neither segments nor chunks.
struct Plan {
    std::string reason;  ///< why the file is not for the GPU; empty where it is
    Image image{};
    std::vector<HuffmanTable> tables;  ///< by the numbers in `image`
    std::size_t data = 0;              ///< place of the entropy-coded data
};

/// Reads a header. Throws only std::bad_alloc.
Plan parse(const unsigned char* file, std::size_t bytes);

/// Bytes that suffice for the data of a plan's file: `stage` needs so many.
inline std::size_t staged_bytes(std::size_t file_bytes, const Plan& plan) {
    const std::size_t segments = (plan.image.mcus() + plan.image.segment_mcus - 1) / plan.image.segment_mcus;
    // A segment replaces the 2 bytes of its marker by up to 3 that round it up to a word.
    return (file_bytes + std::min(segments, file_bytes) + 64) / 4 * 4;
}

/// Copies the entropy-coded data of a plan's file without stuffing and restart markers to `to`, aligned to 4 bytes, and
/// says where each segment begins, in a whole word. Sets the plan's segments and chunks, or a reason. Returns the bytes
/// that were written, a multiple of 4.
std::size_t stage(const unsigned char* file, std::size_t bytes, unsigned char* to, std::vector<Segment>& segments,
                  Plan& plan, std::uint32_t chunk_bits = default_chunk_bits);

}  // namespace gpuhist::jpeg
