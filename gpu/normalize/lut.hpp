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
#include "normalize/depths.hpp"
#include "normalize/modes.hpp"

namespace gpuhist::core {

/// Facts that a normalisation needs of counted samples, at least one; `lowest` is the value of the first count.
IntegerFacts facts_of(const std::vector<std::uint64_t>& counts, std::int64_t lowest,
                      const Normalization& normalization);

/// Table that leaves each of a sample's values as it is, brought to the depth of `Out`; as they are for a mode that
/// writes real numbers.
template <class Sample, class Out>
void identity(NormalizeMode mode, Out* table) {
    constexpr auto lowest = std::int64_t{std::numeric_limits<Sample>::lowest()};
    constexpr auto highest = std::int64_t{std::numeric_limits<Sample>::max()};
    const bool real = traits_of(mode).real;
    for (std::int64_t value = lowest; value <= highest; ++value)
        *table++ = real ? static_cast<Out>(value) : to_depth<Out>(static_cast<Sample>(value));
}

/// Table of a normalisation from the counts of all values of a sample: a value for each, as it is where nothing was
/// counted. `Out` is what the mode writes, the sample's type or float; or, of a mode that writes no real numbers, any
/// type.
template <class Sample, class Out>
void fill_table(const std::vector<std::uint64_t>& counts, const Normalization& normalization, Out* table) {
    constexpr auto lowest = std::int64_t{std::numeric_limits<Sample>::lowest()};
    if (std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; }))
        return identity<Sample>(normalization.mode, table);
    with_mode(normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        constexpr bool real = traits_of(Mode::mode).real;
        if constexpr (!real && !std::is_same_v<Out, Sample>) {
            const IntegerFacts facts = facts_of(counts, lowest, normalization);
            if (facts.low == facts.high) return identity<Sample>(Mode::mode, table);
            const typename Mode::template Scaled<Out> map(facts);
            std::uint64_t through = 0;
            for (std::size_t code = 0; code < counts.size(); ++code) {
                through += counts[code];
                table[code] = map(static_cast<std::uint32_t>(code), through);
            }
        } else if constexpr (real != std::is_same_v<Out, Sample>) {
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

/// Calls apply(sample, out), values of the types that an integer image and its copy hold; nothing for floats.
template <class Apply>
void with_integer_copies(Depth depth, Depth copy, const Apply& apply) {
    with_depth(depth, [&](auto sample) {
        if constexpr (std::is_integral_v<decltype(sample)>) with_depth(copy, [&](auto out) { apply(sample, out); });
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
