// Huffman tables: they decode the next 16 bits of a stream, by a lookup for short codes and by one comparison per
// length for long ones.
#pragma once

#include <cstdint>

#include "core/portable.hpp"

namespace gpuhist::jpeg {

/// Code's meaning in 16 bits: how many bits it and the value behind it take (1 to 31), how many of these are the
/// value's (0 to 15), and by how many coefficients it moves on.
using Code = std::uint16_t;
inline constexpr int code_bits_of_size = 5, code_bits_of_value = 4;
inline constexpr int to_the_end = 64;  ///< how far an end of block moves on

GPUHIST_HD constexpr Code make_code(int bits, int value_bits, int advance) {
    return static_cast<Code>(advance << (code_bits_of_size + code_bits_of_value) | value_bits << code_bits_of_size |
                             bits);
}
GPUHIST_HD constexpr std::uint32_t bits_of(Code code) {
    return code & 31U;
}
GPUHIST_HD constexpr std::uint32_t value_bits_of(Code code) {
    return code >> code_bits_of_size & 15U;
}
GPUHIST_HD constexpr std::uint32_t advance_of(Code code) {
    return code >> (code_bits_of_size + code_bits_of_value);
}
inline constexpr Code no_code = make_code(1, 0, 0);  ///< for bits that begin no code: the next bit is tried

/// Table for the codes of DC differences, or of AC coefficients.
struct alignas(16) HuffmanTable {
    static constexpr int lookup_bits = 10, longest = 16, long_lengths = longest - lookup_bits;

    Code lookup[1 << lookup_bits];      ///< by the next bits; 0: the code is longer
    Code codes[256];                    ///< by their order
    std::uint32_t limit[long_lengths];  ///< what the next 16 bits are below, where the code has up to this length
    std::int32_t first[long_lengths];   ///< place of a code in `codes`, less its bits
};

/// Makes a table of a DHT segment's counts of codes per length, and symbols. False where libjpeg refuses them, or where
/// a DC difference had more than 15 bits.
bool make_table(const std::uint8_t counts[16], const std::uint8_t* symbols, bool dc, HuffmanTable& table);

/// Code that 32 bits begin with.
GPUHIST_HD inline Code find_code(const HuffmanTable& table, std::uint32_t bits) {
    const Code code = table.lookup[bits >> (32 - HuffmanTable::lookup_bits)];
    if (code != 0) return code;
    const std::uint32_t next = bits >> 16;
    for (int i = 0; i < HuffmanTable::long_lengths; ++i)
        if (next < table.limit[i])
            return table.codes[table.first[i] + static_cast<int>(next >> (HuffmanTable::long_lengths - 1 - i))];
    return no_code;
}

}  // namespace gpuhist::jpeg
