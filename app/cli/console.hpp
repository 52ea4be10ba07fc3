/// Standard output and standard error, shared by all threads: results, messages, and a line that shows how far the
/// work has come.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace gpuhist::app {

/// Terminal, or the files that stand for it: standard output and standard error.
class Console {
  public:
    /// `quiet`: no notes and no progress; errors are always said.
    explicit Console(bool quiet);
    ~Console();

    /// Prints a line on standard error, but not the same one twice in a row: several files may fail for one reason.
    /// Control characters are replaced.
    void say(const std::string& message);
    /// Says it, unless quiet.
    void note(const std::string& message);

    /// Prints results on standard output. Where that fails it is said once, and nothing more is printed.
    void print(const std::string& text);
    /// Prints rows of a format: to a file or a pipe their bytes, to a terminal with control characters replaced.
    void print_rows(const std::string& text);
    bool closed() const { return closed_; }  ///< the reader has seen enough
    bool failed() const { return failed_; }

    /// Tells whether `show` shows anything: standard error is a terminal, and not quiet.
    bool shows_progress() const { return progress_; }
    /// Redraws the line, as much of it as the terminal is wide.
    void show(const std::string& progress_line);
    /// Takes it away.
    void clear();

  private:
    void erase_line();

    std::mutex mutex_;
    bool quiet_, progress_, output_is_terminal_;
    bool drawn_ = false;
    bool closed_ = false, failed_ = false;
    std::string said_;  ///< the last line
};

/// A number of things, as "1 error" or "2 errors".
std::string counted(std::uint64_t count, const char* one);

}  // namespace gpuhist::app
