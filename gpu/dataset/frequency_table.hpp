// Frequencies of values: merging and reading them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "gpuhist/frequency_table.hpp"

namespace gpuhist::core {

/// Run with a count for each of n > 0 keys of a depth's values, given by their distances from the first, ascending.
template <class Key>
FrequencyRun sorted_run(Depth depth, Key first, const Key* distances, std::size_t n,
                        const std::shared_ptr<FrequencyStorage>& storage);

/// Run of n > 0 keys of a depth's values, ascending, each with the number of samples before it; `starts[n]`: of all.
template <class Key>
FrequencyRun counted_run(Depth depth, const Key* keys, const std::uint32_t* starts, std::size_t n);

/// Run with n counts of consecutive keys, at least one of which is not 0.
FrequencyRun run_of_counts(Depth depth, std::uint64_t first, const std::uint64_t* counts, std::size_t n);

/// Table in memory with each count so many times.
FrequencyTable multiplied(const FrequencyTable& table, std::uint64_t factor);

/// Table in memory of those values that `keep` is true for, infinite ones left as they are.
FrequencyTable filtered(const FrequencyTable& table, const std::function<bool(double)>& keep);

/// Verdict on a table: whether it has n samples, all of this depth.
bool plausible(const FrequencyTable& frequencies, Depth depth, std::uint64_t n);
/// Verdict on a table that has samples: whether these are its extremes.
bool has_extremes(const FrequencyTable& frequencies, double minimum, double maximum);

/// Samples in ascending order.
class OrderedValues {
  public:
    explicit OrderedValues(const FrequencyTable& frequencies) : runs_(frequencies.runs()), reader_(runs_) {}
    /// Value at a zero-based rank among the samples. Fast where ranks ascend.
    double at_rank(std::uint64_t rank);

  private:
    const std::vector<FrequencyRun>& runs_;
    FrequencyReader reader_;
    std::uint64_t through_ = 0;  ///< samples, up to the reader's value
};

}  // namespace gpuhist::core
