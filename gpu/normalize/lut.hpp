// Lookup tables from counts, for one image's and for a summary's. Host only.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Values of samples, `stride` samples apart.
void read_values(Depth depth, const void* in, std::int64_t count, std::int64_t stride, double* values);

/// Map of an exact mode by its RealMap or Scaled. Integers of 8 and 16 bits have tables instead. A map works on blocks
/// of samples, so that a mode is not compiled for each pair of depths.
class ValueMap {
  public:
    /// Largest number of samples at once.
    static constexpr std::int64_t block = 256;

    ValueMap(NormalizeMode mode, Depth depth, Depth copy, const RealFacts& facts);
    /// Maps `count` samples, `stride` samples apart in both places. `through`: for each, the samples of values up to
    /// it.
    void operator()(const void* in, const std::uint64_t* through, std::int64_t count, void* out,
                    std::int64_t stride) const;

  private:
    NormalizeMode mode_;
    Depth depth_, copy_;
    RealFacts facts_;
    bool keeps_;  ///< whether samples stay as they are
};

/// Brings samples that stay as they are to levels of the depth of a copy; where a mode writes real numbers, to their
/// values. They are `stride` samples apart in both places.
void keep_samples(Depth depth, const void* in, Depth copy, void* out, std::int64_t count, std::int64_t stride,
                  NormalizeMode mode, Levels levels);

/// Table of `copy`'s samples that leaves each value of a depth as it is, ascending: as `keep_samples`.
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
