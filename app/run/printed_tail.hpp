/// What an interrupted run printed after its checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "run/checkpoint.hpp"

namespace gpuhist::app {

/// Lines at the end of standard output that an interrupted run printed and the one that goes on would print again. They
/// are left out instead of being cut away: others may have written between them, as into a log.
class PrintedTail {
  public:
    PrintedTail() = default;
    /// Begins behind what the checkpoint speaks of, if standard output is the same file.
    explicit PrintedTail(const Checkpoint::Output& output);
    ~PrintedTail();
    PrintedTail(const PrintedTail&) = delete;
    PrintedTail& operator=(PrintedTail&& other) noexcept;

    /// Returns what of the next text, which is to be printed, is not there yet.
    std::string missing(const std::string& text);
    /// Place of what is not compared yet, for the next checkpoint; absent where nothing more of it is ours.
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
