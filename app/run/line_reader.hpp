/// Lines of files that somebody lists inputs in, which may be pipes.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>

namespace gpuhist::app {

/// Reader of lines, which are of bounded length.
class LineReader {
  public:
    static constexpr std::size_t longest = std::size_t{1} << 20;     ///< bytes of a line
    static constexpr std::size_t most_empty = std::size_t{1} << 20;  ///< lines in a row

    /// Opens a file, or standard input (`-`). Of a named pipe waits until somebody opens it too: `unwritten` is called
    /// with its name where nobody has for a while. Throws IoError.
    explicit LineReader(const std::string& path, const std::function<void(const std::string&)>& unwritten = nullptr);
    ~LineReader();
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;

    const std::string& name() const { return name_; }  ///< for messages
    /// Reads the next line, without the byte that ends it. Returns false at the end. Throws IoError, also for a line
    /// that is too long, and too many empty ones in a row: the file is then no list.
    bool next(std::string& line, char end);

  private:
    std::string name_;
    std::FILE* file_;
    std::size_t empty_ = 0;  ///< lines, the last ones
};

}  // namespace gpuhist::app
