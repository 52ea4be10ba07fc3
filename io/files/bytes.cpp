#include "files/bytes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "files/descriptor.hpp"
#include "files/failure.hpp"
#include "files/regular_file.hpp"

namespace gpuhist::io {
namespace {

constexpr std::array kinds{
    std::pair(IoError::Kind::missing, "missing"),         std::pair(IoError::Kind::permission, "permission"),
    std::pair(IoError::Kind::truncated, "truncated"),     std::pair(IoError::Kind::too_large, "too_large"),
    std::pair(IoError::Kind::unsupported, "unsupported"), std::pair(IoError::Kind::damaged, "damaged"),
    std::pair(IoError::Kind::memory, "memory"),           std::pair(IoError::Kind::no_space, "no_space")};

[[noreturn]] void fail_as_empty(const std::string& name) {
    fail(name, "empty: it has no bytes", IoError::Kind::truncated);
}

/// Fills bytes from a place in them on, and in the file. Returns where the file ends, or the bytes do.
std::size_t fill(std::vector<unsigned char>& bytes, std::size_t from, int descriptor, const std::string& name) {
    return from + read_at(descriptor, bytes.data() + from, bytes.size() - from, from, name);
}

std::vector<unsigned char> read_regular(int descriptor, std::size_t size, const std::string& name, const Reading& how) {
    // One byte more is asked for than the file has, so that one that grows is known.
    std::vector<unsigned char> bytes(std::min(size + 1, first_bytes));
    std::size_t end = fill(bytes, 0, descriptor, name);
    if (how.look && end == first_bytes) how.look(bytes);
    if (how.admit) how.admit(size);
    if (end == bytes.size()) {
        bytes.resize(size + 1);
        end = fill(bytes, end, descriptor, name);
    }
    if (end == 0) fail_as_empty(name);
    if (end != size)
        fail(name, std::string(end > size ? "grew" : "shrank") + " while it was read, from " + std::to_string(size) +
                       " bytes to " + std::to_string(end) + (end > size ? " or more" : ""));
    bytes.resize(size);
    return bytes;
}

/// Tells whether a pipe holds something, or somebody may write to it.
bool has_writer(int pipe) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return true;
    const Descriptor read_end(ends[0]), write_end(ends[1]);
    return ::tee(pipe, write_end.get(), 1, SPLICE_F_NONBLOCK) != 0;  // which takes nothing out
}

/// Wait for what a pipe brings.
class PipeWait {
  public:
    PipeWait(int descriptor, const std::string& name, const Reading& how)
        : descriptor_(descriptor), name_(name), how_(how) {}

    /// Returns whether there is input, or its end, within 50 ms.
    bool ready() {
        if (how_.while_reading) how_.while_reading();
        pollfd waiting{descriptor_, POLLIN, 0};
        const int ready = ::poll(&waiting, 1, 50);
        if (ready < 0 && errno != EINTR) throw system_failure(name_, "cannot be read", errno);
        if (ready > 0) said_ = true;
        if (!said_ && how_.unwritten && Clock::now() - begin_ >= patience && !has_writer(descriptor_)) {
            said_ = true;
            how_.unwritten(name_);
        }
        return ready > 0;
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds patience{2};

    const int descriptor_;
    const std::string& name_;
    const Reading& how_;
    const Clock::time_point begin_ = Clock::now();
    bool said_ = false;  ///< or there is nothing to be said
};

}  // namespace

std::vector<unsigned char> read_pipe(int descriptor, const std::string& name, const Reading& how) {
    std::vector<unsigned char> bytes;
    std::size_t length = 0;
    PipeWait wait(descriptor, name, how);
    for (bool looked = !how.look;;) {
        if (length == bytes.size()) {
            const std::size_t more = std::max<std::size_t>(65536, 2 * length);
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(how.max_pipe_bytes, more - 1)) + 1;
            if (how.admit) how.admit(length + size);  // while they are copied
            bytes.resize(size);
        }
        while (!wait.ready()) continue;
        const ssize_t got = ::read(descriptor, bytes.data() + length, bytes.size() - length);
        if (got == 0) break;
        if (got < 0) {
            if (errno == EINTR || errno == EAGAIN) continue;
            throw system_failure(name, "cannot be read", errno);
        }
        length += static_cast<std::size_t>(got);
        if (length > how.max_pipe_bytes)
            fail(name,
                 "more than the " + std::to_string(how.max_pipe_bytes) +
                     " bytes that are read of standard input or a pipe",
                 IoError::Kind::too_large);
        if (!looked && length >= first_bytes) {
            looked = true;
            how.look({bytes.begin(), bytes.begin() + first_bytes});
        }
    }
    if (length == 0) fail_as_empty(name);
    bytes.resize(length);
    return bytes;
}

int open_input(const std::filesystem::path& path, const std::string& name) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) throw system_failure(name, "cannot be opened", errno);
    return file;
}

std::vector<unsigned char> read_opened(int descriptor, const std::string& name, const Reading& how) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) throw system_failure(name, "cannot be read", errno);
    if (S_ISFIFO(status.st_mode) && how.max_pipe_bytes > 0) return read_pipe(descriptor, name, how);
    if (!S_ISREG(status.st_mode)) fail(name, kind_of(status.st_mode));
    return read_regular(descriptor, static_cast<std::size_t>(status.st_size), name, how);
}

std::vector<unsigned char> read_bytes(const std::filesystem::path& path, const Reading& how) {
    const std::string name = path.string();
    const Descriptor file(open_input(path, name));
    return read_opened(file.get(), name, how);
}

std::vector<unsigned char> read_bytes(const std::filesystem::path& path, std::uint64_t max_pipe_bytes,
                                      const std::function<void(const std::string&)>& unwritten) {
    Reading how;
    how.max_pipe_bytes = max_pipe_bytes;
    how.unwritten = unwritten;
    return read_bytes(path, how);
}

int open_written(const std::filesystem::path& path, const std::function<void(const std::string&)>& unwritten) {
    const std::string name = path.string();
    Descriptor file(open_input(path, name));
    struct stat status {};
    Reading how;
    how.unwritten = unwritten;
    if (::fstat(file.get(), &status) == 0 && S_ISFIFO(status.st_mode))
        for (PipeWait wait(file.get(), name, how); !wait.ready() && !has_writer(file.get());) continue;
    const int flags = ::fcntl(file.get(), F_GETFL);
    if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
        throw system_failure(name, "cannot be opened", errno);
    return file.release();
}

const char* to_string(IoError::Kind kind) {
    for (const auto& [of, word] : kinds)
        if (of == kind) return word;
    return "unreadable";
}

IoError::Kind error_kind(const std::string& word) {
    for (const auto& [of, name] : kinds)
        if (word == name) return of;
    return IoError::Kind::other;
}

}  // namespace gpuhist::io
