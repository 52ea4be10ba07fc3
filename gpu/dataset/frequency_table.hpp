// Counts of float values: how they come together, and what is read from them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuhist/frequency_table.hpp"

namespace gpuhist::core {

/// One count for each of n > 0 keys, given by their distances from the first, ascending.
FrequencyRun sorted_run(std::uint32_t first, const std::uint32_t* distances, std::size_t n,
                        const std::shared_ptr<FrequencyStorage>& storage);

/// Whether they are what n finite samples between these extremes can give.
bool plausible(const FrequencyTable& values, std::uint64_t n, float minimum, float maximum);

/// The samples in ascending order.
class OrderedValues {
  public:
    explicit OrderedValues(const FrequencyTable& values) : runs_(values.runs()), reader_(runs_) {}
    /// The value at a zero-based rank among the samples. Fast where ranks ascend.
    float at_rank(std::uint64_t rank);

  private:
    const std::vector<FrequencyRun>& runs_;
    FrequencyReader reader_;
    std::uint64_t through_ = 0;  ///< samples, up to the reader's value
};

}  // namespace gpuhist::core
