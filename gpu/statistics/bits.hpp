// Bits that vary among counted samples.
#pragma once

#include <bit>
#include <cstdint>

#include "gpuhist/statistics.hpp"
#include "statistics/counted_samples.hpp"

namespace gpuhist::core {

/// Bits from the lowest to the highest that varies: those that are set in some values and not in all. Negative values
/// are in two's complement of the type's width, which the number of counts tells.
class EffectiveBits {
  public:
    explicit EffectiveBits(const CountedSamples& samples) : of_type_(std::bit_ceil(samples.counts.size()) - 1) {}
    void accumulate(std::int64_t value, std::uint64_t) {
        ever_ |= static_cast<std::uint64_t>(value);
        always_ &= static_cast<std::uint64_t>(value);
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
