#include "files/regular_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "files/failure.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::io {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 16;

/// Status of an open file, which must be a regular one.
struct stat status_of(int file, const std::string& name) {
    struct stat status {};
    if (fstat(file, &status) != 0) throw system_failure(name, "cannot be read", errno);
    if (!S_ISREG(status.st_mode)) fail(name, kind_of(status.st_mode));
    return status;
}

/// Tells whether the name leads to this file still: another process may have renamed or removed it since it was opened.
bool leads_to(const std::filesystem::path& path, const struct stat& status) {
    struct stat named {};
    return lstat(path.c_str(), &named) == 0 && named.st_dev == status.st_dev && named.st_ino == status.st_ino;
}

}  // namespace

const char* kind_of(unsigned mode) {
    return S_ISDIR(mode)    ? "a directory, not a file"
           : S_ISFIFO(mode) ? "a pipe, not a file"
           : S_ISSOCK(mode) ? "a socket, not a file"
                            : "a device, not a file";
}

int open_regular(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) throw system_failure(path.string(), "cannot be read", errno);
    try {
        status_of(file, path.string());
    } catch (...) {
        ::close(file);
        throw;
    }
    return file;
}

std::size_t read_at(int file, void* to, std::size_t bytes, std::uint64_t place, const std::string& name) {
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t part = pread(file, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(place + done));
        if (part == 0) break;
        if (part > 0)
            done += static_cast<std::size_t>(part);
        else if (errno != EINTR)
            throw system_failure(name, "cannot be read", errno);
    }
    return done;
}

bool same_bytes(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code ignored;
    const bool there = std::filesystem::exists(a, ignored);
    if (there != std::filesystem::exists(b, ignored)) return false;
    if (!there) return true;
    const Descriptor first(open_regular(a)), second(open_regular(b));
    std::vector<char> left(piece_bytes), right(piece_bytes);
    for (std::uint64_t place = 0;; place += piece_bytes) {
        const std::size_t bytes = read_at(first.get(), left.data(), piece_bytes, place, a.string());
        if (bytes != read_at(second.get(), right.data(), piece_bytes, place, b.string())) return false;
        if (!std::equal(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(bytes), right.begin())) return false;
        if (bytes < piece_bytes) return true;
    }
}

std::string read_text(const std::filesystem::path& path) {
    const std::string name = path.string();
    const Descriptor file(open_regular(path));
    std::string text(static_cast<std::size_t>(status_of(file.get(), name).st_size), '\0');
    text.resize(read_at(file.get(), text.data(), text.size(), 0, name));
    return text;
}

int open_locked(const std::filesystem::path& path, Opened opened) {
    const std::string name = path.string();
    constexpr int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
    for (;;) {
        const int make = opened == Opened::exists ? 0 : opened == Opened::is_new ? O_CREAT | O_EXCL : O_CREAT;
        int number = ::open(path.c_str(), flags | make, 0666);
        const bool taken = number < 0 && errno == EEXIST;
        if (taken) number = ::open(path.c_str(), flags);  // to tell whether another process has it
        if (number < 0 && opened == Opened::exists && (errno == ENOENT || errno == ENOTDIR)) return -1;
        Descriptor file(number);
        if (number < 0) throw system_failure(name, "cannot be written", errno);
        if (flock(number, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            throw LockedError(name + ": another run is writing it; name another --output");
        const struct stat status = status_of(number, name);
        if (!leads_to(path, status)) continue;
        if (taken || status.st_nlink > 1) fail(name, "cannot be written: there is another file of this name");
        return file.release();
    }
}

std::string name_below(const std::string& path) {
    std::string name;
    for (std::size_t start = 0; start < path.size();) {
        const std::size_t end = std::min(path.find('/', start), path.size());
        const std::string part = path.substr(start, end - start);
        if (!part.empty() && part != ".") name += (name.empty() ? "" : "/") + (part == ".." ? "up" : part);
        start = end + 1;
    }
    return name;
}

}  // namespace gpuhist::io
