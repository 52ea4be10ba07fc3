/// A few of many values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gpuhist::app {

/// Values with the largest keys, in descending order. Values with equal keys are in the order of `add`, and the last
/// ones give way.
template <class Value>
class Largest {
  public:
    explicit Largest(std::size_t most) : most_(most) {}
    void add(double key, const Value& value) {
        if (all_.size() == most_ && !(key > all_.back().first)) return;
        const auto before = [](double k, const std::pair<double, Value>& other) { return k > other.first; };
        all_.insert(std::upper_bound(all_.begin(), all_.end(), key, before), {key, value});
        if (all_.size() > most_) all_.pop_back();
    }
    const std::vector<std::pair<double, Value>>& all() const { return all_; }

  private:
    std::size_t most_;
    std::vector<std::pair<double, Value>> all_;
};

}  // namespace gpuhist::app
