// Counts of float values: how they come together, and what is read from them.
//
// Why the counts of a set depend on the set alone. Let D(S, k) be the number of different keys of a set S without their
// k lowest bits. It falls with k and grows with S, so k(S), the smallest k with D(S, k) ≤ most, grows with S. Hence
// what S dropped, its union with T drops too; from the keys of S and T without k(S) and k(T) bits follow those of the
// union without any k ≥ max(k(S), k(T)) bits, and with them D(S ∪ T, k) and k(S ∪ T): adding the counts of S and T
// gives those of S ∪ T, bit for bit. So adding is associative and commutative, and no order or cut shows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuhist/statistics.hpp"
#include "gpuhist/value_counts.hpp"

namespace gpuhist::core {

/// sum += more; the same object may be both.
void add(ValueCounts& sum, const ValueCounts& more, std::size_t most = ValueCounts::most);

/// sum += one count for each of n > 0 keys that have dropped as many bits as `sum`, given by their distances from the
/// first, ascending.
void add_sorted(ValueCounts& sum, std::uint32_t first, const std::uint32_t* distances, std::size_t n,
                std::size_t most = ValueCounts::most);

/// Whether they are what n finite samples between these extremes can give.
bool plausible(const ValueCounts& values, std::uint64_t n, float minimum, float maximum);

/// The values of one row, in ascending order, as its numbers are made from them: a group's, which may lie beyond the
/// row's extremes, is held within them.
class OrderedValues {
  public:
    OrderedValues(const ValueCounts& values, float minimum, float maximum)
        : values_(values), minimum_(minimum), maximum_(maximum) {}
    std::size_t size() const { return values_.keys.size(); }
    float value(std::size_t at) const;
    std::uint64_t count(std::size_t at) const { return values_.counts[at]; }
    /// The value at a zero-based rank among the samples. Fast where ranks ascend.
    float at_rank(std::uint64_t rank);

  private:
    const ValueCounts& values_;
    float minimum_, maximum_;
    std::size_t at_ = 0;
    std::uint64_t before_ = 0;  ///< samples below at_
};

}  // namespace gpuhist::core
