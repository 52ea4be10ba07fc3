// Image of a JPEG file as its decoding on a GPU needs it: plain data, for host and device. The file's bytes become
// words without stuffing (scan.hpp), these coefficients (chunk.hpp, dc.hpp), these planes (idct.hpp), these pixels
// (upsample.hpp, color.hpp).
#pragma once

#include <cstdint>

#include "core/portable.hpp"
#include "jpeg/huffman.hpp"

namespace gpuhist::jpeg {

inline constexpr int side = 8, block_samples = side * side;  ///< of a block
inline constexpr int most_components = 3, most_mcu_blocks = 10;
inline constexpr int most_tables = 2 * most_components;
inline constexpr int together = 4;  ///< pixels of a row that are made at once

/// Bits per chunk, which one thread decodes.
inline constexpr std::uint32_t default_chunk_bits = 1024;

/// Damage found in entropy-coded data or coefficients, as bits of a word. An image with any is one for the CPU.
enum Damage : std::uint32_t {
    no_such_code = 1,       ///< bits that no Huffman code begins
    beyond_block = 2,       ///< a coefficient behind the 64th
    ended_early = 4,        ///< data that end before the last block
    left_over = 8,          ///< a byte or more behind the last block
    dc_out_of_range = 16,   ///< a sum of differences that 16 bits do not hold
    idct_out_of_range = 32  ///< a block for which libjpeg-turbo's SIMD and C code differ
};

/// Ways from the samples of a component to those of the image: libjpeg-turbo's, with fancy upsampling.
enum class Upsampling : std::uint8_t { repeated, fancy_h2v1, fancy_h1v2, fancy_h2v2 };

/// Ways from components to pixels.
enum class Color : std::uint8_t { gray, ycc, rgb };

/// Component of a frame.
struct Component {
    std::int32_t across, down;              ///< blocks of an MCU
    std::int32_t width, height;             ///< samples, without those that fill up MCUs
    std::int32_t row_samples;               ///< of its plane, which holds whole MCUs
    std::int32_t times_across, times_down;  ///< samples of the image per sample
    Upsampling upsampling;
    std::uint16_t quantization[block_samples];  ///< row after row
    std::int64_t plane;                         ///< place of its plane among the batch's
};

/// Block of an MCU.
struct McuBlock {
    std::uint8_t component, column, row;
};

/// Segment of entropy-coded data: all of the data, or the part between two restart markers.
struct Segment {
    std::uint32_t first_word;   ///< from the image's first
    std::uint32_t bits;         ///< whole bytes
    std::uint32_t first_chunk;  ///< of the image's
};

/// Image, and where in the memory of its batch its data lie.
struct Image {
    std::int32_t width, height, components;
    Color color;
    std::int32_t mcus_across, mcus_down, mcu_blocks;
    McuBlock block[most_mcu_blocks];
    /// Blocks after which the Huffman tables of an MCU's blocks repeat: fewer than mcu_blocks where components share
    /// them. Such blocks cannot be told apart by their codes.
    std::int32_t phases;
    std::uint8_t dc_table[most_mcu_blocks], ac_table[most_mcu_blocks];  ///< of a phase
    std::int32_t tables;
    std::uint32_t segment_mcus;  ///< MCUs of each segment but the last
    std::uint32_t chunk_bits;    ///< a multiple of 32, at least 64
    std::uint32_t segments, chunks;
    Component component[most_components];

    std::int64_t first_table, first_segment, first_word, first_chunk, first_block, first_pixel_byte;

    GPUHIST_HD std::uint32_t mcus() const {
        return static_cast<std::uint32_t>(mcus_across) * static_cast<std::uint32_t>(mcus_down);
    }
    GPUHIST_HD std::uint32_t blocks() const { return mcus() * static_cast<std::uint32_t>(mcu_blocks); }
    GPUHIST_HD int channels() const { return components; }
};

/// Place of each coefficient of a block in the order of the file; row after row.
struct Order {
    std::uint8_t place[block_samples];
};
inline constexpr Order natural_order = {{0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                         12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                         35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                         58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63}};

}  // namespace gpuhist::jpeg
