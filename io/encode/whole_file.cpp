#include "gpuhist/io/encode.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>

#include "files/failure.hpp"

namespace gpuhist::io {
namespace {

[[noreturn]] void give_up(const std::filesystem::path& path, int error) {
    throw system_failure(path.string(), "cannot be written", error);
}

}  // namespace

const std::string& temporary_prefix() {
    // Not the process's number: on a file system that machines or containers share, others have the same.
    static const std::string prefix = [] {
        std::random_device random;
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), ".gpuhist.%08x%08x-", random(), random());
        return std::string(text.data());
    }();
    return prefix;
}

NewFile::NewFile(std::filesystem::path path) : path_(std::move(path)) {
    // A file without a name goes with the process, whatever ends that; it needs /proc to get one later.
    static const bool can_be_named = ::access("/proc/self/fd", X_OK) == 0;
    const std::filesystem::path directory = path_.has_parent_path() ? path_.parent_path() : ".";
    if (can_be_named) file_ = ::open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (file_ >= 0) return;
    // Not every file system has files without a name.
    do {
        temporary_ = temporary_name();
        file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file_ < 0 && errno == EEXIST);
    if (file_ < 0) give_up(path_, errno);
}

/// Returns a short temporary name: the name of the file may already be as long as the file system allows.
std::filesystem::path NewFile::temporary_name() const {
    static std::atomic<unsigned> counter{0};
    const unsigned count = counter.fetch_add(1, std::memory_order_relaxed);
    return path_.parent_path() / (temporary_prefix() + std::to_string(count) + ".tmp");
}

std::filesystem::path NewFile::readable_path() const {
    return temporary_.empty() ? std::filesystem::path("/proc/self/fd") / std::to_string(file_) : temporary_;
}

/// Gives a file without a name this one. Returns 0, or the system's error.
int NewFile::link_to(const std::filesystem::path& name) const {
    const std::string open_file = "/proc/self/fd/" + std::to_string(file_);
    return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, -1)),
      bytes_(other.bytes_) {}

NewFile::~NewFile() {
    if (file_ >= 0) ::close(file_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void NewFile::write(const void* data, std::size_t bytes) {
    const auto* rest = static_cast<const char*>(data);
    while (bytes != 0) {
        const ssize_t written = ::write(file_, rest, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) give_up(path_, errno);
        rest += written;
        bytes -= static_cast<std::size_t>(written);
        bytes_ += static_cast<std::uint64_t>(written);
    }
}

void NewFile::write_at(std::uint64_t place, const void* data, std::size_t bytes) {
    const auto* rest = static_cast<const char*>(data);
    bytes_ = std::max<std::uint64_t>(bytes_, place + bytes);
    while (bytes != 0) {
        const ssize_t written = ::pwrite(file_, rest, bytes, static_cast<off_t>(place));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) give_up(path_, errno);
        rest += written;
        place += static_cast<std::uint64_t>(written);
        bytes -= static_cast<std::size_t>(written);
    }
}

void NewFile::sync() {
    if (::fsync(file_) != 0) give_up(path_, errno);
}

void NewFile::close() {
    if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0) give_up(path_, errno);
}

void NewFile::set_aside() {
    if (temporary_.empty()) {
        std::filesystem::path name;
        int error = 0;
        do error = link_to(name = temporary_name());
        while (error == EEXIST);
        if (error != 0) give_up(path_, error);
        temporary_ = std::move(name);
    }
    close();
}

void NewFile::replace() {
    set_aside();  // a link replaces nothing, a rename does
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) give_up(path_, errno);
    temporary_.clear();
}

bool NewFile::create() {
    int error = 0;
    if (temporary_.empty()) error = link_to(path_);
    close();
    if (!temporary_.empty()) {
        error = rename_to_new(temporary_, path_);
        if (error == 0) temporary_.clear();
    }
    if (error != 0 && error != EEXIST) give_up(path_, error);
    return error == 0;
}

int rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    // File systems that know no such rename (NFS) have links, or neither.
    if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()) == 0 ? 0 : errno;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    struct stat status {};
    if (::lstat(to.c_str(), &status) == 0) return EEXIST;
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

void write_file(const std::filesystem::path& path, const Pieces& pieces) {
    NewFile file(path);
    file.write(pieces);
    file.replace();
}

void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes) {
    write_file(path, [&](const auto& take) { take(data, bytes); });
}

void write_file(const std::filesystem::path& path, const std::string& text) {
    write_file(path, text.data(), text.size());
}

FileWriter whole_file_writer() {
    return [](const std::filesystem::path& path, const Pieces& pieces) {
        std::error_code failed;  // writing says what is wrong
        std::filesystem::create_directories(path.parent_path(), failed);
        write_file(path, pieces);
    };
}

}  // namespace gpuhist::io
