// Chunks: pieces of a segment's bits that threads decode at once, none knowing where in a block the one before it ends.
// Huffman codes synchronize themselves: a decoder that begins with a wrong state soon finds the right one. So each
// chunk is first decoded from a guess, then from what the one before it ended with, until nothing changes any more
// (Weissenberger and Schmidt, "Accelerating JPEG Decompression on GPUs", 2021). The number of blocks in each chunk then
// says where its coefficients go.
#pragma once

#include <cstdint>

#include "core/portable.hpp"
#include "jpeg/bits.hpp"
#include "jpeg/huffman.hpp"
#include "jpeg/image.hpp"

namespace gpuhist::jpeg {

/// State of a decoder between two codes, at the begin of a chunk.
struct State {
    std::uint32_t past = 0;         ///< bits of the chunk that were read before it begins, up to 30
    std::uint32_t phase = 0;        ///< of the block in the MCU, see Image::phases
    std::uint32_t coefficient = 0;  ///< of the block, 0 to 63, that comes next

    GPUHIST_HD bool operator==(const State& other) const {
        return past == other.past && phase == other.phase && coefficient == other.coefficient;
    }
};

/// State after a chunk, and how many blocks ended in it, in a word.
struct ChunkEnd {
    std::uint32_t word = 0;

    GPUHIST_HD static ChunkEnd make(const State& state, std::uint32_t blocks) {
        return {blocks << 16 | state.past << 10 | state.phase << 6 | state.coefficient};
    }
    GPUHIST_HD State state() const { return {word >> 10 & 63U, word >> 6 & 15U, word & 63U}; }
    GPUHIST_HD std::uint32_t blocks() const { return word >> 16; }
};

/// Most bits of a chunk: its blocks, which have two each at least, are counted in 16 bits.
inline constexpr std::uint32_t most_chunk_bits = 65536;

/// Chunk of an image.
struct Chunk {
    std::uint32_t segment;
    std::uint32_t begin, end;  ///< bits of the segment
    bool first, last;          ///< in its segment
};

/// Segment of a chunk: the last that does not begin behind it.
GPUHIST_HD inline std::uint32_t find_segment(const Segment* segments, std::uint32_t count, std::uint32_t chunk) {
    std::uint32_t low = 0, high = count;
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (segments[middle].first_chunk <= chunk)
            low = middle;
        else
            high = middle;
    }
    return low;
}

GPUHIST_HD inline Chunk find_chunk(const Image& image, const Segment* segments, std::uint32_t chunk) {
    const std::uint32_t segment = find_segment(segments, image.segments, chunk);
    const std::uint32_t begin = (chunk - segments[segment].first_chunk) * image.chunk_bits;
    const bool last = segments[segment].bits - begin <= image.chunk_bits;
    return {segment, begin, last ? segments[segment].bits : begin + image.chunk_bits, begin == 0, last};
}

/// First block of a segment, and that behind its last one.
GPUHIST_HD inline std::uint32_t first_block(const Image& image, std::uint32_t segment) {
    return segment * image.segment_mcus * static_cast<std::uint32_t>(image.mcu_blocks);
}
GPUHIST_HD inline std::uint32_t end_block(const Image& image, std::uint32_t segment) {
    return segment + 1 == image.segments ? image.blocks() : first_block(image, segment + 1);
}

/// Decoder of an image's codes: its tables, wherever they lie.
struct Codes {
    const HuffmanTable* tables;
    const std::uint8_t *dc_table, *ac_table;  ///< of a phase
    std::uint32_t phases;

    GPUHIST_HD std::uint32_t next_phase(std::uint32_t phase) const { return phase + 1 == phases ? 0 : phase + 1; }
};

/// Steps over the codes of a chunk. `words`: the segment's.
GPUHIST_HD inline ChunkEnd pass_chunk(const Codes& codes, const std::uint32_t* words, const Chunk& chunk, State state) {
    BitReader bits(words, chunk.begin + state.past);
    const HuffmanTable* dc = codes.tables + codes.dc_table[state.phase];
    const HuffmanTable* ac = codes.tables + codes.ac_table[state.phase];
    std::uint32_t blocks = 0, coefficient = state.coefficient;
    while (bits.position() < chunk.end) {
        const Code code = find_code(coefficient == 0 ? *dc : *ac, bits.peek());
        bits.skip(bits_of(code));
        coefficient += advance_of(code);
        if (coefficient >= block_samples) {
            coefficient = 0;
            ++blocks;
            state.phase = codes.next_phase(state.phase);
            dc = codes.tables + codes.dc_table[state.phase];
            ac = codes.tables + codes.ac_table[state.phase];
        }
    }
    return ChunkEnd::make({bits.position() - chunk.end, state.phase, coefficient}, blocks);
}

/// State at the beginning of a chunk, from the ends of the chunks before it.
GPUHIST_HD inline State begin_of(const Chunk& at, const ChunkEnd* ends, std::uint32_t chunk) {
    return at.first ? State{} : ends[chunk - 1].state();
}

/// Decodes chunks anew from one on whose begin was wrong, until one ends as it did before.
GPUHIST_HD inline void repair(const Codes& codes, const Image& image, const Segment* segments,
                              const std::uint32_t* words, ChunkEnd* ends, std::uint32_t chunk) {
    for (bool again = true; again && chunk < image.chunks; ++chunk) {
        const Chunk at = find_chunk(image, segments, chunk);
        const ChunkEnd end = pass_chunk(codes, words + segments[at.segment].first_word, at, begin_of(at, ends, chunk));
        again = !(end.state() == ends[chunk].state());
        ends[chunk] = end;
    }
}

/// Number that so many bits stand for, which follow a code.
GPUHIST_HD inline std::int32_t extended(std::uint32_t value, std::uint32_t bits) {
    const std::uint32_t half = bits == 0 ? 0 : std::uint32_t{1} << (bits - 1);
    return static_cast<std::int32_t>(value) -
           (value < half ? static_cast<std::int32_t>((std::uint32_t{1} << bits) - 1) : 0);
}

/// Coefficients of an image, all 0 at first, block after block in the order of the file; those of a block lie row after
/// row. DC differences lie by themselves.
struct Coefficients {
    std::int16_t* ac;  ///< 64 per block, of which the first stays 0
    std::int16_t* dc;  ///< one per block
};

/// Decodes a chunk into coefficients. `state` is the correct state at its beginning, and `block` the block in which it
/// begins. Returns damage. `order`: natural_order, in any memory.
GPUHIST_HD inline std::uint32_t write_chunk(const Codes& codes, const std::uint32_t* words, const Chunk& chunk,
                                            std::uint32_t segment_bits, State state, std::uint32_t block,
                                            std::uint32_t end, const Order& order, const Coefficients& coefficients) {
    BitReader bits(words, chunk.begin + state.past);
    const HuffmanTable* dc = codes.tables + codes.dc_table[state.phase];
    const HuffmanTable* ac = codes.tables + codes.ac_table[state.phase];
    std::uint32_t coefficient = state.coefficient;
    std::int16_t* to = coefficients.ac + std::int64_t{block} * block_samples;
    while (bits.position() < chunk.end && block < end) {
        const std::uint32_t window = bits.peek();
        const Code code = find_code(coefficient == 0 ? *dc : *ac, window);
        const std::uint32_t advance = advance_of(code);
        if (advance == 0) return no_such_code;
        const std::uint32_t value_bits = value_bits_of(code), code_bits = bits_of(code) - value_bits;
        const std::uint32_t value =
            value_bits == 0 ? 0 : static_cast<std::uint32_t>(window << code_bits) >> (32 - value_bits);
        bits.skip(bits_of(code));
        if (coefficient == 0) coefficients.dc[block] = static_cast<std::int16_t>(extended(value, value_bits));
        coefficient += advance;
        if (coefficient > block_samples && advance != to_the_end) return beyond_block;
        if (value_bits != 0 && coefficient > 1)
            to[order.place[coefficient - 1]] = static_cast<std::int16_t>(extended(value, value_bits));
        if (coefficient >= block_samples) {
            coefficient = 0;
            ++block;
            to += block_samples;
            state.phase = codes.next_phase(state.phase);
            dc = codes.tables + codes.dc_table[state.phase];
            ac = codes.tables + codes.ac_table[state.phase];
        }
    }
    if (block < end) return chunk.last ? ended_early : 0U;
    if (bits.position() > segment_bits) return ended_early;
    return segment_bits - bits.position() < 8 ? 0U : left_over;  // fewer are padding
}

}  // namespace gpuhist::jpeg
