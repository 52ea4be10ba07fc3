// Lookup tables from counts, for one image's and for a summary's. Host only.
#pragma once

#include <algorithm>
#include <cmath>
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
#include "statistics/counted_samples.hpp"

namespace gpuhist::core {

/// Facts that a normalization needs of counted integers of 8 or 16 bits, at least one.
IntegerFacts facts_of(const std::vector<std::uint64_t>& counts, Depth depth, const Normalization& normalization);

/// Facts that a normalization needs of other samples counted by value, at least one.
RealFacts facts_of(const RealSamples& samples, const Normalization& normalization);
/// Facts of integers, in codes.
IntegerFacts codes_of(const RealFacts& facts, Depth depth);

/// Calls use(sample, out), values of the types that an image and its copy hold, where samples are counted so.
template <Counting counting, class Use>
void with_copies(Depth depth, Depth copy, const Use& use) {
    with_depth(depth, [&](auto sample) {
        if constexpr (traits_of(depth_of<decltype(sample)>()).counting == counting)
            with_depth(copy, [&](auto out) { use(sample, out); });
    });
}

/// Map of a mode that writes `Out` for other samples than integers of 8 and 16 bits: that of RealMap, or of Scaled.
template <class Mode, class Sample, class Out>
class ValueMap {
  public:
    explicit ValueMap(const RealFacts& facts)
        : keeps_(Mode::RealMap::keeps(facts)), real_(facts), scaled_(codes_of(facts, depth_of<Sample>())) {}
    /// `through`: samples of values up to this one.
    Out operator()(Sample v, std::uint64_t through) const {
        if (keeps_) return to_depth<Out>(v);
        if constexpr (traits_of(Mode::mode).real) {
            if constexpr (is_real<Out>)
                return rounded_to<Out>(real_(value_of(v), through));
            else
                return Out{};  // refused
        } else if constexpr (is_real<Sample>) {
            return from_fraction<Out>(real_(value_of(v), through));
        } else {
            return scaled_(code_of(v), through);
        }
    }

  private:
    struct None {
        explicit None(const IntegerFacts&) {}
        Out operator()(std::uint32_t, std::uint64_t) const { return Out{}; }
    };
    template <class M>
    static auto scaled_of() {
        if constexpr (traits_of(M::mode).real || is_real<Sample>)
            return std::type_identity<None>{};
        else
            return std::type_identity<typename M::template Scaled<Out>>{};
    }

    bool keeps_;
    typename Mode::RealMap real_;
    typename decltype(scaled_of<Mode>())::type scaled_;
};

/// Sample that stays as it is, brought to the depth of `Out`; of a mode that writes real numbers its value.
template <class Out, class Sample>
Out kept(NormalizeMode mode, Sample v) {
    if constexpr (is_real<Out>)
        if (traits_of(mode).real) return rounded_to<Out>(value_of(v));
    return to_depth<Out>(v);
}

/// Infinite number or NaN in a copy by a table, which has no value for it.
template <class Out, class Sample>
Out not_in_table(NormalizeMode mode, Sample sample) {
    const NormalizeTraits& traits = traits_of(mode);
    double v = value_of(sample);
    const bool within = traits.needs == NormalizeNeeds::ranks || traits.needs == NormalizeNeeds::counts;
    if (within && std::isinf(v)) v = v < 0 ? 0 : 1;
    if constexpr (is_real<Out>)
        return rounded_to<Out>(v);
    else
        return from_fraction<Out>(v);
}

/// Table that leaves each of a sample's values as it is, ascending: as `kept`.
template <class Sample, class Out>
void identity(NormalizeMode mode, Out* table) {
    for (std::uint32_t place = 0; place <= std::numeric_limits<Code<Sample>>::max(); ++place)
        *table++ = kept<Out>(mode, sample_at<Sample>(static_cast<Code<Sample>>(place)));
}

/// Table of a normalization from the counts of all values of a sample: a value for each, as it is where nothing was
/// counted. `Out` is what the mode writes, or any other type that can hold it.
template <class Sample, class Out>
void fill_table(const std::vector<std::uint64_t>& counts, const Normalization& normalization, Out* table) {
    constexpr Depth depth = depth_of<Sample>();
    if (std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; }))
        return identity<Sample>(normalization.mode, table);
    const auto fill = [&](const auto& map) {
        std::uint64_t through = 0;
        for (std::size_t code = 0; code < counts.size(); ++code)
            table[code] = map(static_cast<Code<Sample>>(code), through += counts[code]);
    };
    with_mode(normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        constexpr bool real = traits_of(Mode::mode).real;
        if constexpr (is_real<Sample>) {
            const ValueMap<Mode, Sample, Out> map(facts_of(RealSamples(counts, {depth}), normalization));
            fill([&](auto place, std::uint64_t through) {
                const Sample sample = sample_at<Sample>(place);
                const std::size_t code = code_of(sample);  // of −0 that of +0, whose count comes after it
                return map(sample, code == place ? through : through + counts[code]);
            });
        } else if constexpr (real && is_real<Out>) {
            const IntegerFacts facts = facts_of(counts, depth, normalization);
            const typename Mode::RealMap map(RealFacts{0, 0, 0, 0, facts.mean_std});
            fill([&](auto code, std::uint64_t through) { return rounded_to<Out>(map(facts.lowest + code, through)); });
        } else if constexpr (!real && std::is_same_v<Out, Sample>) {
            const typename Mode::template Table<Code<Sample>> map(facts_of(counts, depth, normalization));
            fill([&](auto code, std::uint64_t through) {
                return sample_at<Sample>(static_cast<Code<Sample>>(map(code, through)));
            });
        } else if constexpr (!real) {
            const IntegerFacts facts = facts_of(counts, depth, normalization);
            if (facts.low == facts.high) return identity<Sample>(Mode::mode, table);
            const typename Mode::template Scaled<Out> map(facts);
            fill([&](auto code, std::uint64_t through) { return map(code, through); });
        }
    });
}

/// Value at the nearest rank of a percentile among n finite samples, of which `order` has that rank.
float value_of_rank(const std::vector<OrderStatistic>& order, double percent, std::uint64_t n);

/// Facts that a table of floats holds, and one of samples that are sorted.
FloatFacts facts_of(const LutSet::Lut& lut);
RealFacts real_facts_of(const LutSet::Lut& lut);

/// Throws InvalidArgument where tables are not as they promise.
void validate(const LutSet& tables);

}  // namespace gpuhist::core
