// Entropy of counted samples.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpuhist/statistics.hpp"
#include "statistics/counted_samples.hpp"

namespace gpuhist::core {

/// −Σ p log2 p over the values that occur, ascending, by Neumaier's compensated sum.
class Entropy {
  public:
    explicit Entropy(const Population& samples) : samples_(static_cast<double>(samples.n)) {}
    void accumulate(double, std::uint64_t count) {
        const double p = static_cast<double>(count) / samples_, term = -p * std::log2(p), next = sum_ + term;
        lost_ += sum_ >= term ? sum_ - next + term : term - next + sum_;
        sum_ = next;
    }
    void finish(Statistics& row) const { row.entropy = sum_ + lost_; }

  private:
    double samples_, sum_ = 0, lost_ = 0;
};

}  // namespace gpuhist::core
