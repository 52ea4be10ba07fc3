#include "files/window.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "files/failure.hpp"
#include "files/regular_file.hpp"

namespace gpuhist::io {
namespace {

constexpr std::uint64_t block = std::uint64_t{1} << 14;

unsigned char* map(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
}

/// Addresses for one window at a time, which a thread keeps: the threads of a process wait for each other whenever one
/// maps memory.
class KeptAddresses {
  public:
    ~KeptAddresses() {
        if (memory_) munmap(memory_, bytes);
    }
    /// Null if they are lent, or too few.
    unsigned char* take(std::size_t size) {
        if (lent_ || size > bytes) return nullptr;
        if (!memory_) memory_ = map(bytes);
        lent_ = memory_ != nullptr;
        return memory_;
    }
    /// `held`: bytes that are in memory.
    void give_back(std::uint64_t held) {
        if (held > kept) madvise(memory_, bytes, MADV_DONTNEED);
        lent_ = false;
    }

  private:
    static constexpr std::size_t bytes = std::size_t{1} << 26;
    static constexpr std::uint64_t kept = std::uint64_t{1} << 18;
    unsigned char* memory_ = nullptr;
    bool lent_ = false;
};

thread_local KeptAddresses kept_addresses;

}  // namespace

std::uint64_t modified_at(const struct stat& status) {
    return static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
}

std::uint64_t FileWindow::modified() const {
    return modified_at(status_);
}

void Bytes::load(std::uint64_t offset, std::uint64_t count) const {
    window_->load(offset, count);
}

std::uint64_t Bytes::copy(std::uint64_t offset, std::uint64_t count, unsigned char* to) const {
    const std::uint64_t there = std::min<std::uint64_t>(count, size_ - std::min<std::uint64_t>(size_, offset));
    if (window_)
        window_->read(offset, there, to);
    else if (there > 0)
        std::memcpy(to, data_ + offset, there);
    return there;
}

void Bytes::let_go() const {
    if (window_) window_->let_go();
}

FileWindow::FileWindow(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {
    if (fstat(descriptor_, &status_) != 0) throw system_failure(name_, "cannot be read", errno);
    if (!S_ISREG(status_.st_mode)) fail(name_, kind_of(status_.st_mode));
    size_ = static_cast<std::size_t>(status_.st_size);
    if (size_ == 0) fail(name_, "empty: it has no bytes", IoError::Kind::truncated);
    memory_ = kept_addresses.take(size_);
    kept_ = memory_ != nullptr;
    if (!kept_) memory_ = map(size_);
    if (!memory_) fail(name_, "no addresses for its " + std::to_string(size_) + " bytes", IoError::Kind::memory);
    there_.resize((size_ + block - 1) / block);
}

FileWindow::~FileWindow() {
    if (kept_)
        kept_addresses.give_back(held_);
    else
        munmap(memory_, size_);
}

void FileWindow::load(std::uint64_t offset, std::uint64_t count) {
    if (count == 0) return;
    const std::uint64_t end = (offset + count - 1) / block + 1;
    for (std::uint64_t first = offset / block; first < end; ++first) {
        if (there_[first]) continue;
        std::uint64_t last = first;
        for (; last < end && !there_[last]; ++last) there_[last] = true;
        const std::uint64_t begin = first * block, bytes = std::min<std::uint64_t>(size_, last * block) - begin;
        held_ += bytes;
        read(begin, bytes, memory_ + begin);
        first = last;
    }
}

void FileWindow::read(std::uint64_t offset, std::uint64_t count, unsigned char* to) {
    for (std::uint64_t done = 0; done < count;) {
        const ssize_t part = pread(descriptor_, to + done, count - done, static_cast<off_t>(offset + done));
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) error_ = errno;
        if (part <= 0) {  // check() tells that the file is shorter
            std::memset(to + done, 0, count - done);
            return;
        }
        done += static_cast<std::uint64_t>(part);
    }
}

void FileWindow::let_go() {
    if (held_ <= kept) return;
    madvise(memory_, size_, MADV_DONTNEED);
    std::fill(there_.begin(), there_.end(), false);
    held_ = 0;
}

void FileWindow::check() const {
    if (error_ != 0) throw system_failure(name_, "cannot be read", error_);
    struct stat now {};
    if (fstat(descriptor_, &now) != 0) throw system_failure(name_, "cannot be read", errno);
    const auto before = status_.st_size;
    if (now.st_size != before)
        fail(name_, std::string(now.st_size > before ? "grew" : "shrank") + " while it was read, from " +
                        std::to_string(before) + " bytes to " + std::to_string(now.st_size));
    if (modified_at(now) != modified_at(status_)) fail(name_, "was changed while it was read");
}

}  // namespace gpuhist::io
