#include "gpuhist/io/frequency_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "files/failure.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::io {
namespace {

namespace fs = std::filesystem;

/// Room begins at a multiple of this, since holes are made of whole blocks of a file system.
constexpr std::uint64_t block_bytes = 4096;

/// Descriptor of a file without a name, or −1.
int open_unnamed(const fs::path& directory) {
    const int file = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
    std::string name = (directory / ".gpuhist.XXXXXX").string();  // a file system that has none such
    const int named = mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0) unlink(name.c_str());
    return named;
}

}  // namespace

std::shared_ptr<FrequencyFile> FrequencyFile::named(fs::path path) {
    return std::shared_ptr<FrequencyFile>(new FrequencyFile(std::move(path), Use::named));
}

std::shared_ptr<FrequencyFile> FrequencyFile::temporary(fs::path directory) {
    return std::shared_ptr<FrequencyFile>(new FrequencyFile(std::move(directory), Use::temporary));
}

std::shared_ptr<FrequencyFile> FrequencyFile::existing(fs::path path) {
    return std::shared_ptr<FrequencyFile>(new FrequencyFile(std::move(path), Use::existing));
}

FrequencyFile::~FrequencyFile() {
    if (file_ >= 0) close(file_);
}

/// Opens what is to be written: a new file, or the one that is there.
void FrequencyFile::open(bool there) {
    if (file_ >= 0) return;
    if (use_ == Use::temporary) {
        file_ = open_unnamed(path_);
        if (file_ < 0) throw system_failure(path_.string(), "no temporary file can be made there", errno);
        return;
    }
    std::error_code failure;
    fs::create_directories(path_.parent_path(), failure);
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    int file = there ? -1 : ::open(path_.c_str(), flags | O_CREAT | O_EXCL, 0666);
    const bool taken = file < 0 && !there && errno == EEXIST;
    if (there || taken) file = ::open(path_.c_str(), flags);
    if (file < 0) throw system_failure(path_.string(), "cannot be written", errno);
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(file);
        fail(path_.string(), "another run is writing it; name another --output");
    }
    struct stat status {};
    if (taken || fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) {
        close(file);
        fail(path_.string(), "cannot be written: there is another file of this name");
    }
    file_ = file;
    if (ftruncate(file_, static_cast<off_t>(end_)) != 0)
        throw system_failure(path_.string(), "cannot be written", errno);
}

std::uint64_t FrequencyFile::take(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    open(false);
    const std::uint64_t place = (end_ + block_bytes - 1) / block_bytes * block_bytes;
    end_ = place + bytes;
    return place;
}

void FrequencyFile::write(std::uint64_t place, const std::byte* from, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t part = pwrite(file_, from + done, bytes - done, static_cast<off_t>(place + done));
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) throw system_failure(path_.string(), "cannot be written", errno);
        done += static_cast<std::size_t>(part);
    }
}

void FrequencyFile::read(std::uint64_t place, std::byte* to, std::size_t bytes) const {
    const bool open_now = use_ == Use::existing;
    const int file = open_now ? ::open(path_.c_str(), O_RDONLY | O_CLOEXEC) : file_;
    int error = file < 0 ? (open_now ? errno : ENOENT) : 0;
    std::size_t done = 0;
    while (error == 0 && done < bytes) {
        const ssize_t part = pread(file, to + done, bytes - done, static_cast<off_t>(place + done));
        if (part == 0) break;
        if (part > 0)
            done += static_cast<std::size_t>(part);
        else if (errno != EINTR)
            error = errno;
    }
    if (open_now && file >= 0) close(file);
    if (error != 0) throw system_failure(path_.string(), "cannot be read", error);
    if (done < bytes) fail(path_.string(), "it is truncated", IoError::Kind::truncated);
}

void FrequencyFile::give_back(std::uint64_t place, std::uint64_t bytes) noexcept {
    if (use_ == Use::existing) return;
    const std::lock_guard lock(mutex_);
    if (place + bytes == end_ && place >= synced_) {
        end_ = place;
    } else if (use_ == Use::temporary) {
        punch(place, bytes);
    } else {
        try {
            given_back_.emplace_back(place, bytes);
        } catch (...) {  // it takes space until the file goes
        }
    }
}

/// Makes a hole. Where that cannot be done, space is lost, and nothing else.
void FrequencyFile::punch(std::uint64_t place, std::uint64_t bytes) const noexcept {
    const std::uint64_t end = (place + bytes + block_bytes - 1) / block_bytes * block_bytes;
    place = (place + block_bytes - 1) / block_bytes * block_bytes;
    if (place < end)
        static_cast<void>(fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(place),
                                    static_cast<off_t>(end - place)));
}

std::uint64_t FrequencyFile::sync() {
    const std::lock_guard lock(mutex_);
    if (file_ < 0) return 0;
    // The length is set, though some room may not be written yet: so `resume` sees whether the file still has it.
    if (ftruncate(file_, static_cast<off_t>(end_)) != 0 || fsync(file_) != 0)
        throw system_failure(path_.string(), "cannot be written", errno);
    return synced_ = end_;
}

void FrequencyFile::release() {
    const std::lock_guard lock(mutex_);
    for (const auto& [place, bytes] : given_back_) punch(place, bytes);
    given_back_.clear();
}

void FrequencyFile::resume(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes == 0) return;
    std::error_code failure;
    if (const auto there = fs::file_size(path_, failure); failure || there < bytes)
        fail(path_.string(), "is not what the checkpoint says of it: start anew without --resume");
    end_ = synced_ = bytes;
    open(true);
}

void FrequencyFile::keep_only(std::vector<std::pair<std::uint64_t, std::uint64_t>> places) {
    const std::lock_guard lock(mutex_);
    if (file_ < 0) return;
    std::sort(places.begin(), places.end());
    std::uint64_t free = 0;
    for (const auto& [place, bytes] : places) {
        if (place > free) punch(free, place / block_bytes * block_bytes - free);
        free = std::max(free, place + bytes);
    }
    if (synced_ > free) punch(free, synced_ - free);
}

void FrequencyFile::discard() {
    const std::lock_guard lock(mutex_);
    struct stat status {};
    if (file_ < 0 && lstat(path_.c_str(), &status) != 0) return;
    open(true);  // so that no other run's is removed
    unlink(path_.c_str());
    close(std::exchange(file_, -1));
    end_ = synced_ = 0;
    given_back_.clear();
}

}  // namespace gpuhist::io
