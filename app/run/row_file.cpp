#include "run/row_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "gpuhist/error.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

/// Takes the file, which no other run gets until it is closed.
void lock(int file, const fs::path& path) {
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw IoError(path.string() + ": another run is writing it; name another --output");
}

}  // namespace

RowFile::RowFile(fs::path path) : path_(std::move(path)), partial_(path_.string() + ".partial") {}

RowFile::~RowFile() {
    if (file_ >= 0) close(file_);
}

void RowFile::open(bool resumed) {
    const int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
    file_ = ::open(partial_.c_str(), flags | O_CREAT | (resumed ? 0 : O_EXCL), 0666);
    const bool taken = file_ < 0 && errno == EEXIST;
    if (taken) file_ = ::open(partial_.c_str(), flags);
    if (file_ < 0) fail_to_write(partial_, errno);
    lock(file_, partial_);
    struct stat status {};
    if (taken || fstat(file_, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1)
        throw IoError(partial_.string() + ": cannot be written: there is another file of this name");
    if (ftruncate(file_, static_cast<off_t>(written_)) != 0) fail_to_write(partial_, errno);
    if (lseek(file_, 0, SEEK_END) < 0) fail_to_write(partial_, errno);
}

void RowFile::begin() {
    if (file_ < 0) open(false);
}

void RowFile::flush() {
    if (buffer_.empty() && file_ >= 0) return;
    begin();
    std::size_t done = 0;
    while (done < buffer_.size()) {
        const ssize_t part = ::write(file_, buffer_.data() + done, buffer_.size() - done);
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) {
            const int error = errno;
            written_ += done;
            buffer_.erase(0, done);
            fail_to_write(partial_, error);
        }
        done += static_cast<std::size_t>(part);
    }
    // The disk begins with it now, so that a checkpoint, which waits for the disk, finds little left to do.
    sync_file_range(file_, static_cast<off_t>(written_), static_cast<off_t>(done), SYNC_FILE_RANGE_WRITE);
    written_ += done;
    buffer_.clear();
}

void RowFile::append(const std::string& text) {
    buffer_ += text;
    if (buffer_.size() >= std::size_t{1} << 18) flush();
}

void RowFile::sync() {
    flush();
    if (fsync(file_) != 0) fail_to_write(partial_, errno);
}

void RowFile::resume(std::uint64_t bytes) {
    std::error_code failed;
    const std::uint64_t there = fs::file_size(partial_, failed);
    if (bytes > 0 && (failed || there < bytes))
        throw IoError(partial_.string() + ": is not what the checkpoint says of it: start anew without --resume");
    written_ = bytes;
    open(true);
}

void RowFile::complete(OutputDirectory& output) {
    const std::string name = path_.filename().string();
    if (file_ < 0) {
        output.stage(name, [&](const auto& take) { take(buffer_.data(), buffer_.size()); });
        discard();
        return;
    }
    sync();
    output.stage_working(name, partial_);
}

void RowFile::discard() {
    if (file_ < 0) file_ = ::open(partial_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file_ < 0) return;
    lock(file_, partial_);
    unlink(partial_.c_str());
    close(std::exchange(file_, -1));
}

}  // namespace gpuhist::app
