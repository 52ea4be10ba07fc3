// Lookup tables from counts, for one image's and for a summary's. Host only.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/lut.hpp"
#include "gpuhist/normalize.hpp"
#include "normalize/depths.hpp"
#include "normalize/modes.hpp"
#include "statistics/counted_samples.hpp"

namespace gpuhist::core {

/// Facts that a normalization needs of counted integers of 8 or 16 bits, at least one. `copy`: the copy's depth.
IntegerFacts facts_of(const std::vector<std::uint64_t>& counts, Depth depth, Depth copy,
                      const Normalization& normalization);

/// Facts that a normalization needs of other samples counted by value, at least one.
RealFacts facts_of(const RealSamples& samples, Depth copy, const Normalization& normalization);
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
        : keeps_(Mode::RealMap::keeps(facts)),
          levels_(facts.levels),
          real_(facts),
          scaled_(codes_of(facts, depth_of<Sample>())) {}
    /// `through`: samples of values up to this one.
    Out operator()(Sample v, std::uint64_t through) const {
        if (keeps_) return to_depth<Out>(v, levels_);
        if constexpr (traits_of(Mode::mode).real) {
            if constexpr (is_real<Out>)
                return rounded_to<Out>(real_(value_of(v), through));
            else
                return Out{};  // refused
        } else if constexpr (is_real<Sample>) {
            return from_fraction<Out>(real_(value_of(v), through), levels_);
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
    Levels levels_;
    typename Mode::RealMap real_;
    typename decltype(scaled_of<Mode>())::type scaled_;
};

/// Sample that stays as it is, brought to levels of the depth of `Out`; of a mode that writes real numbers its value.
template <class Out, class Sample>
Out kept(NormalizeMode mode, Sample v, Levels levels = levels_of_type<Out>()) {
    if constexpr (is_real<Out>)
        if (traits_of(mode).real) return rounded_to<Out>(value_of(v));
    return to_depth<Out>(v, levels);
}

/// Table of `copy`'s samples that leaves each value of a depth as it is, ascending: as `kept`.
void fill_identity(Depth depth, Depth copy, NormalizeMode mode, Levels levels, void* table);

/// Table of a normalization from the counts of all values of a depth: a sample of `copy` for each value. Without
/// counts, values do not change. `copy` is the depth of the mode, or any other depth that can hold its values.
void fill_table(Depth depth, Depth copy, const std::vector<std::uint64_t>& counts, const Normalization& normalization,
                void* table);

/// Table of `copy`'s samples from a given one, which has no values for infinite numbers and NaN.
void fill_table(const LutSet& given, const LutSet::Lut& lut, Depth copy, void* table);

/// Returns whether order statistics have the nearest rank of a percentile among n finite samples.
bool has_rank(const std::vector<OrderStatistic>& order, double percent, std::uint64_t n);
/// Value at the nearest rank of a percentile among n finite samples; `order` has that rank.
float value_of_rank(const std::vector<OrderStatistic>& order, double percent, std::uint64_t n);

/// Facts that a table of floats holds, and one of samples that are sorted.
FloatFacts facts_of(const LutSet::Lut& lut);
RealFacts real_facts_of(const LutSet& tables, const LutSet::Lut& lut);

/// Throws InvalidArgument where tables are not as they promise.
void validate(const LutSet& tables);

}  // namespace gpuhist::core
