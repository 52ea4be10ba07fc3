/// Inputs that are listed by a thread of their own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "run/inputs.hpp"

namespace gpuhist::app {

/// InputList read by a thread of its own, a bounded distance ahead. The thread may outlive this object, and touches
/// only the list.
class InputStream {
  public:
    /// `note` is called with the list's remarks, by `next`.
    InputStream(std::shared_ptr<InputList> list, std::function<void(const std::string&)> note);
    ~InputStream();
    /// Waits until the thread lists no more, before the list's end: it must not hang in a system call.
    void end();
    /// Waits for the next input, and returns it with the inputs after it that are already listed, at most `most` in
    /// all. Returns none at the end, or soon after `stopped()` returns true.
    std::vector<Input> next(std::size_t most, const std::function<bool()>& stopped);
    /// Number of inputs that are listed, but not taken yet, and whether the list is not complete.
    std::pair<std::size_t, bool> waiting() const;
    /// Entries that the list left out, once all inputs are known; nothing before.
    io::LeftOut left_out() const;

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
    std::function<void(const std::string&)> note_;
};

}  // namespace gpuhist::app
