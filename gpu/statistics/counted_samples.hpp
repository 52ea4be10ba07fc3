// Samples counted one count per value, and what every statistic of them may ask.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/integers.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::core {

/// Population of integer samples, at most 2^62. `counts[i]` is that of the value `lowest + i`.
struct CountedSamples {
    const std::vector<std::uint64_t>& counts;
    std::int64_t lowest;
    const Percentiles* percentiles;  ///< that are asked for; null: none
    std::optional<double> white;     ///< value that stands for white; absent: images of several are together
    std::uint64_t n = 0;
    i128 sum = 0;
    u128 sum_squares = 0;

    CountedSamples(const std::vector<std::uint64_t>& counted, std::int64_t lowest_value,
                   const Percentiles* asked = nullptr, std::optional<double> white_value = std::nullopt)
        : counts(counted), lowest(lowest_value), percentiles(asked), white(white_value) {
        each([this](std::int64_t value, std::uint64_t count) {
            n += count;
            sum += static_cast<i128>(count) * value;
            sum_squares += static_cast<u128>(count) * static_cast<std::uint64_t>(value * value);
        });
    }

    /// Walk over the values that occur, ascending: visit(value, count).
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (counts[i] != 0) visit(lowest + static_cast<std::int64_t>(i), counts[i]);
    }
};

}  // namespace gpuhist::core
