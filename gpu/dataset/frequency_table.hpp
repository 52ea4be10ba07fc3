// Frequencies of float values: how they come together, and what is read from them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuhist/frequency_table.hpp"

namespace gpuhist::core {

/// Run with a count for each of n > 0 keys, given by their distances from the first, ascending.
FrequencyRun sorted_run(std::uint32_t first, const std::uint32_t* distances, std::size_t n,
                        const std::shared_ptr<FrequencyStorage>& storage);

/// Verdict on a table: whether n finite samples between these extremes can give it.
bool plausible(const FrequencyTable& frequencies, std::uint64_t n, float minimum, float maximum);

/// Samples in ascending order.
class OrderedValues {
  public:
    explicit OrderedValues(const FrequencyTable& frequencies) : runs_(frequencies.runs()), reader_(runs_) {}
    /// Value at a zero-based rank among the samples. Fast where ranks ascend.
    float at_rank(std::uint64_t rank);

  private:
    const std::vector<FrequencyRun>& runs_;
    FrequencyReader reader_;
    std::uint64_t through_ = 0;  ///< samples, up to the reader's value
};

}  // namespace gpuhist::core
