#include "run/line_reader.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gpuhist/error.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::app {

LineReader::LineReader(const std::string& path, const std::function<void(const std::string&)>& unwritten)
    : name_(path == "-" ? "standard input" : path), file_(stdin) {
    if (path == "-") return;
    const int descriptor = io::open_written(path, unwritten);
    file_ = fdopen(descriptor, "r");
    if (file_) return;
    const int error = errno;
    close(descriptor);
    throw IoError(name_ + ": cannot be opened: " + std::strerror(error));
}

LineReader::~LineReader() {
    if (file_ != stdin) std::fclose(file_);
}

bool LineReader::next(std::string& line, char end) {
    line.clear();
    int byte = EOF;
    while ((byte = getc_unlocked(file_)) != EOF && byte != end) {
        if (line.size() == longest)
            throw IoError(name_ + ": a line has more than " + std::to_string(longest) +
                          " bytes: this is not a list of paths");
        line += static_cast<char>(byte);
    }
    if (byte == EOF && std::ferror(file_)) throw IoError(name_ + ": cannot be read: " + std::strerror(errno));
    empty_ = line.empty() ? empty_ + 1 : 0;
    if (empty_ > most_empty)
        throw IoError(name_ + ": more than " + std::to_string(most_empty) +
                      (end == '\0' ? " zero bytes" : " empty lines") + " in a row: this is not a list of paths");
    return byte != EOF || !line.empty();
}

}  // namespace gpuhist::app
