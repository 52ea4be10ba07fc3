// Bits that vary among counted samples.
#pragma once

#include <bit>
#include <cstdint>

#include "gpuhist/statistics.hpp"
#include "statistics/counted_samples.hpp"

namespace gpuhist::core {

/// Number of bits from the lowest to the highest bit that varies, which means that it is set in some values, but not in
/// all. Negative values are in two's complement of the type's width.
class EffectiveBits {
  public:
    explicit EffectiveBits(const Population& samples)
        : of_type_((std::uint64_t{1} << 8 * sample_bytes(samples.depth)) - 1) {}
    void accumulate(double value, std::uint64_t) {
        const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
        ever_ |= bits;
        always_ &= bits;
    }
    void finish(Statistics& row) const {
        const std::uint64_t varying = ever_ & ~always_ & of_type_;
        row.effective_bits =
            varying == 0 ? 0 : static_cast<std::uint64_t>(std::bit_width(varying) - std::countr_zero(varying));
    }

  private:
    std::uint64_t of_type_;  ///< the type's bits
    std::uint64_t ever_ = 0, always_ = ~std::uint64_t{0};
};

}  // namespace gpuhist::core
