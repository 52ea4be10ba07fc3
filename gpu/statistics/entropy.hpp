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
        if (count != count_) {  // of many values most have the same
            const double p = static_cast<double>(count) / samples_;
            term_ = -p * std::log2(p);
            count_ = count;
        }
        const double next = sum_ + term_;
        lost_ += sum_ >= term_ ? sum_ - next + term_ : term_ - next + sum_;
        sum_ = next;
    }
    void finish(Statistics& row) const { row.entropy = sum_ + lost_; }

  private:
    double samples_, sum_ = 0, lost_ = 0;
    std::uint64_t count_ = 0;
    double term_ = 0;  ///< of `count_` samples
};

}  // namespace gpuhist::core
