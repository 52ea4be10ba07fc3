#include "gpuhist/io/frequency_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "files/descriptor.hpp"
#include "files/failure.hpp"
#include "files/regular_file.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/files.hpp"

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

std::shared_ptr<FrequencyFile> FrequencyFile::named(fs::path path, std::function<void()> announce) {
    const std::shared_ptr<FrequencyFile> file(new FrequencyFile(std::move(path), Use::named));
    file->announce_ = std::move(announce);
    return file;
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

/// Opens the file for writing: a new one, or the existing one.
void FrequencyFile::open(bool there) {
    if (file_ >= 0) return;
    if (use_ == Use::temporary) {
        file_ = open_unnamed(path_);
        if (file_ < 0) throw system_failure(path_.string(), "no temporary file can be made there", errno);
        return;
    }
    if (announce_) announce_();
    std::error_code failure;
    fs::create_directories(path_.parent_path(), failure);
    file_ = open_locked(path_, there ? Opened::may_exist : Opened::is_new);
    if (ftruncate(file_, static_cast<off_t>(end_)) != 0)
        throw system_failure(path_.string(), "cannot be written", errno);
}

std::uint64_t FrequencyFile::take(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    open(false);
    const std::uint64_t place = (end_ + block_bytes - 1) / block_bytes * block_bytes;
    end_ = place + bytes;
    if (use_ == Use::named) written_[place] = {0, 0, std::make_unique<Checksum>()};
    return place;
}

void FrequencyFile::write(std::uint64_t place, const std::byte* from, std::size_t bytes) {
    if (use_ == Use::named) {
        std::unique_lock lock(mutex_);
        auto room = written_.upper_bound(place);
        if (room != written_.begin() && (--room)->second.sum && room->first + room->second.bytes == place) {
            room->second.bytes += bytes;
            Checksum& sum = *room->second.sum;
            lock.unlock();  // a room has one writer
            sum.add(from, bytes);
        } else if (room != written_.end()) {
            written_.erase(room);  // not one piece after the other: it has to be read
        }
    }
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t part = pwrite(file_, from + done, bytes - done, static_cast<off_t>(place + done));
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) throw system_failure(path_.string(), "cannot be written", errno);
        done += static_cast<std::size_t>(part);
    }
}

void FrequencyFile::read(std::uint64_t place, std::byte* to, std::size_t bytes) const {
    const Descriptor opened(use_ == Use::existing ? open_regular(path_) : -1);
    const int file = use_ == Use::existing ? opened.get() : file_;
    if (file < 0) throw system_failure(path_.string(), "cannot be read", ENOENT);
    if (read_at(file, to, bytes, place, path_.string()) < bytes)
        fail(path_.string(), "it is truncated", IoError::Kind::truncated);
}

std::uint64_t FrequencyFile::bytes() const {
    if (use_ == Use::existing) {
        std::error_code failure;
        const std::uintmax_t bytes = fs::file_size(path_, failure);
        return failure ? 0 : bytes;
    }
    const std::lock_guard lock(mutex_);
    return end_;
}

std::uint64_t FrequencyFile::checksum(std::uint64_t place, std::uint64_t bytes) const {
    {
        const std::lock_guard lock(mutex_);
        const auto room = written_.find(place);
        if (room != written_.end() && room->second.bytes == bytes) {
            Written& known = room->second;
            if (known.sum) known.value = known.sum->value();
            known.sum.reset();
            return known.value;
        }
    }
    Checksum sum;
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, std::uint64_t{1} << 16)));
    for (std::uint64_t done = 0; done < bytes;) {
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes - done));
        read(place + done, piece.data(), part);
        sum.add(piece.data(), part);
        done += part;
    }
    const std::lock_guard lock(mutex_);
    if (use_ == Use::named) written_[place] = {bytes, sum.value(), nullptr};
    return sum.value();
}

void FrequencyFile::give_back(std::uint64_t place, std::uint64_t bytes) noexcept {
    if (use_ == Use::existing) return;
    const std::lock_guard lock(mutex_);
    written_.erase(place);  // the rest of a room begins elsewhere
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
        fail(path_.string(), "differs from the checkpoint: start again without --resume");
    written_.clear();
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
    if (file_ < 0) file_ = open_locked(path_, Opened::exists);  // so that no other run's is removed
    if (file_ < 0) return;
    unlink(path_.c_str());
    close(std::exchange(file_, -1));
    end_ = synced_ = 0;
    given_back_.clear();
    written_.clear();
}

}  // namespace gpuhist::io
