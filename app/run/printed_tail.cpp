#include "run/printed_tail.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace gpuhist::app {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 16;
constexpr std::size_t longest_line = std::size_t{1} << 24;

}  // namespace

PrintedTail::PrintedTail(const Checkpoint::Output& output) : begin_(output) {
    struct stat status {};
    const bool same = fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == output.device &&
                      status.st_ino == output.file && static_cast<std::uint64_t>(status.st_size) >= output.bytes;
    if (!same) return;
    lseek(STDOUT_FILENO, 0, SEEK_END);
    file_ = open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC);  // standard output itself can mostly not be read
    place_ = output.bytes;
}

PrintedTail::~PrintedTail() {
    if (file_ >= 0) close(file_);
}

PrintedTail& PrintedTail::operator=(PrintedTail&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(file_, other.file_);
    std::swap(place_, other.place_);
    std::swap(bytes_, other.bytes_);
    std::swap(line_, other.line_);
    return *this;
}

/// Moves to the next line. False at the end, and if a line is too long to be one of ours.
bool PrintedTail::next_line() {
    std::size_t end;
    for (std::size_t from = 0; (end = bytes_.find('\n', from)) == bytes_.npos;) {
        from = bytes_.size();
        if (from > longest_line) return false;
        bytes_.resize(from + piece_bytes);
        ssize_t got;
        do got = pread(file_, bytes_.data() + from, piece_bytes, static_cast<off_t>(place_));
        while (got < 0 && errno == EINTR);
        bytes_.resize(from + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got <= 0) break;
        place_ += static_cast<std::uint64_t>(got);
    }
    const std::size_t length = end == bytes_.npos ? bytes_.size() : end + 1;
    line_ = bytes_.substr(0, length);
    bytes_.erase(0, length);
    return !line_.empty();
}

/// Looks for the line from here on. Where it was printed only in part, the last thing there, `missing` becomes the
/// rest.
bool PrintedTail::find(const std::string& line, std::string& missing) {
    while (next_line()) {
        if (line_ == line) return true;
        if (line_.back() == '\n' || line.compare(0, line_.size(), line_) != 0) continue;
        missing = line.substr(line_.size());
        return false;
    }
    return false;
}

std::optional<Checkpoint::Output> PrintedTail::rest() const {
    if (file_ < 0) return std::nullopt;
    return Checkpoint::Output{begin_.device, begin_.file, place_ - bytes_.size()};
}

std::string PrintedTail::missing(const std::string& text) {
    std::string all;
    for (std::size_t start = 0, end; start < text.size(); start = end) {
        end = std::min(text.find('\n', start), text.size() - 1) + 1;
        std::string line = text.substr(start, end - start);
        if (file_ >= 0 && find(line, line)) continue;
        if (file_ >= 0)
            close(std::exchange(file_, -1));  // lines are printed in their order: none after this one is there
        all += line;
    }
    return all;
}

}  // namespace gpuhist::app
