#include "run/row_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::app {

namespace fs = std::filesystem;

RowFile::RowFile(OutputDirectory& output, const std::string& name)
    : output_(output), path_(output.path() / name), partial_(path_.string() + ".partial") {}

RowFile::~RowFile() {
    if (file_ >= 0) close(file_);
}

void RowFile::go_to_end() {
    if (ftruncate(file_, static_cast<off_t>(written_)) != 0) fail_to_write(partial_, errno);
    if (lseek(file_, 0, SEEK_END) < 0) fail_to_write(partial_, errno);
}

void RowFile::begin() {
    if (file_ >= 0) return;
    output_.begin();
    file_ = io::open_locked(partial_, io::Opened::is_new);
    go_to_end();
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
    sums_.add(text.data(), text.size());
    if (buffer_.size() >= std::size_t{1} << 18) flush();
}

std::unique_ptr<std::istream> RowFile::read() {
    if (file_ < 0 && !buffer_.empty()) return std::make_unique<std::istringstream>(buffer_);
    if (file_ >= 0) flush();
    std::error_code ignored;
    const fs::path& path = fs::exists(partial_, ignored) ? partial_ : path_;
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*file) throw IoError(path.string() + ": cannot be read");
    return file;
}

void RowFile::sync() {
    flush();
    if (fsync(file_) != 0) fail_to_write(partial_, errno);
}

/// Reads the first bytes of the file of an interrupted run. Throws IoError if they differ from the checkpoint.
void RowFile::check(int file, const fs::path& path, const Extent& extent) {
    std::string piece(io::BlockChecksums::block_bytes, '\0');
    sums_ = {};
    while (file >= 0 && sums_.bytes() < extent.bytes) {
        const auto wanted = std::min<std::uint64_t>(piece.size(), extent.bytes - sums_.bytes());
        const ssize_t part = pread(file, piece.data(), wanted, static_cast<off_t>(sums_.bytes()));
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) throw IoError(path.string() + ": cannot be read: " + std::strerror(errno));
        if (part == 0) break;
        sums_.add(piece.data(), static_cast<std::size_t>(part));
    }
    if (sums_.bytes() != extent.bytes || (extent.bytes > 0 && sums_.value() != extent.checksum))
        throw IoError(path.string() + ": differs from the checkpoint: start again without --resume");
}

void RowFile::resume(const Extent& extent) {
    file_ = io::open_locked(partial_, extent.bytes == 0 ? io::Opened::may_exist : io::Opened::exists);
    check(file_, partial_, extent);
    written_ = extent.bytes;
    go_to_end();
}

void RowFile::check_complete(const Extent& extent) {
    const int file = io::open_locked(path_, io::Opened::exists);
    try {
        check(file, path_, extent);
    } catch (...) {
        close(file);
        throw;
    }
    close(file);
}

void RowFile::complete() {
    if (file_ < 0) {
        output_.stage(name(), [&](const auto& take) { take(buffer_.data(), buffer_.size()); });
        discard();
        return;
    }
    sync();
    output_.stage_working(name(), partial_);
}

void RowFile::discard() {
    buffer_.clear();
    written_ = 0;
    sums_ = {};
    if (file_ < 0) file_ = io::open_locked(partial_, io::Opened::exists);
    if (file_ < 0) return;
    unlink(partial_.c_str());
    close(std::exchange(file_, -1));
}

}  // namespace gpuhist::app
