/// Lines that an interrupted run printed after its checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "run/checkpoint.hpp"

namespace gpuhist::app {

/// Lines at the end of standard output that an interrupted run printed, and that the resumed run would print again. The
/// resumed run leaves them out; it does not cut them off, because other programs may have written between them, as into
/// a log.
class PrintedTail {
  public:
    PrintedTail() = default;
    /// Begins after the place in the checkpoint, if standard output is the same file.
    explicit PrintedTail(const Checkpoint::Output& output);
    ~PrintedTail();
    PrintedTail(const PrintedTail&) = delete;
    PrintedTail& operator=(PrintedTail&& other) noexcept;

    /// Returns the part of the next text that is not printed yet.
    std::string missing(const std::string& text);
    /// Place up to which the output was compared, for the next checkpoint. Absent if the rest of it is not ours.
    std::optional<Checkpoint::Output> rest() const;

  private:
    bool next_line();
    bool find(const std::string& line, std::string& missing);

    Checkpoint::Output begin_;
    int file_ = -1;            ///< standard output, to be read; −1 where nothing more of it is ours
    std::uint64_t place_ = 0;  ///< behind what is in `bytes_`
    std::string bytes_;        ///< read and not used yet
    std::string line_;         ///< with its LF, but for the last
};

}  // namespace gpuhist::app
