/// Inputs that a thread of its own lists.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "run/inputs.hpp"

namespace gpuhist::app {

/// An InputList read by a thread of its own, a bounded distance ahead. The thread may outlive this, and touches nothing
/// else than the list.
class InputStream {
  public:
    /// `note` is called with the list's remarks, by `next`.
    InputStream(std::shared_ptr<InputList> list, std::function<void(const std::string&)> note);
    ~InputStream();
    /// Waits for the next input, and takes those that follow and are there, `most` in all; none at the end, or soon
    /// after `stopped()` says true.
    std::vector<Input> next(std::size_t most, const std::function<bool()>& stopped);
    /// Inputs that are listed and were not taken yet, and whether the list goes on behind them.
    std::pair<std::size_t, bool> waiting() const;
    /// What the list left out, once all inputs are known; nothing before.
    io::LeftOut left_out() const;

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
    std::function<void(const std::string&)> note_;
};

}  // namespace gpuhist::app
