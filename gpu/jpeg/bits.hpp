// Bits of entropy-coded data without stuffing, which lie in words as they lie in the file.
#pragma once

#include <cstdint>

#include "core/portable.hpp"

namespace gpuhist::jpeg {

/// Word of the file's bytes, the first one highest.
GPUHIST_HD inline std::uint32_t first_byte_highest(std::uint32_t word) {
#ifdef __CUDA_ARCH__
    return __byte_perm(word, 0, 0x0123);
#else
    return __builtin_bswap32(word);
#endif
}

/// Reader of a segment's bits. It may look 32 bits past the next position's word, so that two words must follow.
class BitReader {
  public:
    GPUHIST_HD BitReader(const std::uint32_t* words, std::uint32_t position) : words_(words), position_(position) {
        high_ = load(position / 32);
        low_ = load(position / 32 + 1);
    }

    GPUHIST_HD std::uint32_t position() const { return position_; }
    /// Next 32 bits.
    GPUHIST_HD std::uint32_t peek() const {
        const std::uint32_t used = position_ % 32;
#ifdef __CUDA_ARCH__
        return __funnelshift_l(low_, high_, used);
#else
        return used == 0 ? high_ : high_ << used | low_ >> (32 - used);
#endif
    }
    /// Moves on by up to 31 bits.
    GPUHIST_HD void skip(std::uint32_t bits) {
        const std::uint32_t next = position_ + bits;
        if (next / 32 != position_ / 32) {
            high_ = low_;
            low_ = load(next / 32 + 1);
        }
        position_ = next;
    }

  private:
    GPUHIST_HD std::uint32_t load(std::uint32_t word) const {
        return first_byte_highest(words_[word]);
    }

    const std::uint32_t* words_;
    std::uint32_t position_, high_, low_;
};

}  // namespace gpuhist::jpeg
