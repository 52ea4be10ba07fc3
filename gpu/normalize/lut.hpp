// Lookup tables from counts, for one image's and for a summary's. Host only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/lut.hpp"
#include "gpuhist/normalize.hpp"
#include "normalize/modes.hpp"

namespace gpuhist::core {

/// Facts that a normalisation needs of counted samples, at least one; `lowest` is the value of the first count.
IntegerFacts facts_of(const std::vector<std::uint64_t>& counts, std::int64_t lowest,
                      const Normalization& normalization);

/// Table that leaves each of a sample's values as it is.
template <class Sample, class Out>
void identity(Out* table) {
    constexpr auto lowest = std::int64_t{std::numeric_limits<Sample>::lowest()};
    constexpr auto highest = std::int64_t{std::numeric_limits<Sample>::max()};
    for (std::int64_t value = lowest; value <= highest; ++value) *table++ = static_cast<Out>(value);
}

/// Table of a normalisation from the counts of all values of a sample: a value for each, as it is where nothing was
/// counted. `Out` is what the mode writes: the sample's type, or float.
template <class Sample, class Out>
void fill_table(const std::vector<std::uint64_t>& counts, const Normalization& normalization, Out* table) {
    constexpr auto lowest = std::int64_t{std::numeric_limits<Sample>::lowest()};
    if (std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; }))
        return identity<Sample>(table);
    with_mode(normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        constexpr bool real = traits_of(Mode::mode).real;
        if constexpr (real != std::is_same_v<Out, Sample>) {
            const typename Mode::template Table<std::make_unsigned_t<Sample>> map(
                facts_of(counts, lowest, normalization));
            std::uint64_t through = 0;
            for (std::size_t code = 0; code < counts.size(); ++code) {
                through += counts[code];
                const auto mapped = map(static_cast<std::uint32_t>(code), through);
                if constexpr (real)
                    table[code] = static_cast<Out>(mapped);
                else
                    table[code] = static_cast<Out>(lowest + std::int64_t{mapped});
            }
        }
    });
}

/// Finite samples of floats that decide about a channel, and their extremes.
struct FloatPopulation {
    std::uint64_t finite = 0;
    float minimum = 0, maximum = 0;
    void add(const ChannelAnalysis& row);
};

/// Value at the nearest rank of a percentile among n finite samples, of which `order` has that rank.
float value_of_rank(const std::vector<OrderStatistic>& order, double percent, std::uint64_t n);

/// Facts that a table of floats holds.
FloatFacts facts_of(const LutSet::Lut& lut);

/// Throws InvalidArgument where tables are not as they promise.
void validate(const LutSet& tables);

}  // namespace gpuhist::core
