#include "gpuhist/pinned_memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "plan/executor.hpp"

namespace gpuhist {
namespace {

constexpr std::size_t alignment = 64;
/// Size in bytes from which plain blocks are mapped one by one, and so vanish when they are released. In the heap,
/// other memory comes to lie between them, the more the longer a process runs, and then they cannot be returned to the
/// system.
constexpr std::size_t mapped_bytes = std::size_t{1} << 17;

/// Size in bytes from which the kernel is asked for huge pages: new pages of 4 KiB take longer to come than many an
/// image takes to be measured.
constexpr std::size_t huge_bytes = std::size_t{1} << 22;

/// Sizes are in steps of an eighth, so that images of nearly one size share memory.
std::size_t rounded(std::size_t bytes) {
    std::size_t step = 4096;
    while (step * 16 <= bytes) step *= 2;
    return (bytes + step - 1) / step * step;
}

}  // namespace

class PinnedPool::Implementation {
  public:
    Implementation(std::size_t keep_bytes, int gpu) : keep_bytes_(keep_bytes), gpu_(gpu) {}
    ~Implementation() {
        for (const auto& [bytes, block] : idle_) release(block);
    }

    void pin_for(int gpu) {
        const std::lock_guard lock(mutex_);
        if (std::exchange(gpu_, gpu) == gpu) return;
        for (auto at = idle_.begin(); at != idle_.end();) at = outdated(at->second) ? drop(at) : std::next(at);
    }

    void* take(std::size_t wanted) {
        if (wanted > SIZE_MAX / 2) throw std::bad_alloc();
        const std::size_t bytes = rounded(wanted);
        const std::lock_guard lock(mutex_);
        if (const auto found = idle_.lower_bound(bytes); found != idle_.end() && found->first <= bytes + bytes / 4) {
            const Block block = found->second;
            idle_.erase(found);
            idle_bytes_ -= block.bytes;
            used_.emplace(block.memory, block);
            return block.memory;
        }
        make_room(bytes);
        const Block block = allocate(bytes);
        try {
            used_.emplace(block.memory, block);
        } catch (...) {
            release(block);
            throw;
        }
        return block.memory;
    }

    void give_back(void* memory) noexcept {
        const std::lock_guard lock(mutex_);
        const auto found = used_.find(memory);
        if (found == used_.end()) return;
        const Block block = found->second;
        used_.erase(found);
        try {
            if (outdated(block) || idle_bytes_ + block.bytes > keep_bytes_) throw std::bad_alloc();
            idle_.emplace(block.bytes, block);
            idle_bytes_ += block.bytes;
        } catch (const std::bad_alloc&) {
            release(block);
        }
    }

  private:
    enum class Kind { heap, mapped, pinned };
    struct Block {
        void* memory;
        std::size_t bytes;
        Kind kind;
        int gpu;  ///< GPU for which it should be pinned, whether or not there was room
    };
    using Idle = std::multimap<std::size_t, Block>;  ///< by size

    bool wants_pinning(std::size_t bytes) const {
        return gpu_ >= 0 && bytes > static_cast<std::size_t>(Engine::small_image_bytes);
    }
    bool outdated(const Block& block) const { return wants_pinning(block.bytes) && block.gpu != gpu_; }

    /// Makes room: idle blocks of other sizes are released before new memory is taken.
    void make_room(std::size_t bytes) {
        while (!idle_.empty() && idle_bytes_ + bytes > keep_bytes_) drop(std::prev(idle_.end()));
    }

    /// Releases an idle block. Returns the next one.
    Idle::iterator drop(Idle::iterator block) {
        idle_bytes_ -= block->first;
        release(block->second);
        return idle_.erase(block);
    }

    Block allocate(std::size_t bytes) {
        if (wants_pinning(bytes))
            if (void* memory = cuda::allocate_pinned(bytes, gpu_)) return {memory, bytes, Kind::pinned, gpu_};
        if (bytes >= mapped_bytes) {
            void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) throw std::bad_alloc();
            if (bytes >= huge_bytes) madvise(memory, bytes, MADV_HUGEPAGE);  // else it comes in small ones
            return {memory, bytes, Kind::mapped, gpu_};
        }
        void* memory = std::aligned_alloc(alignment, bytes);
        if (!memory) throw std::bad_alloc();
        return {memory, bytes, Kind::heap, gpu_};
    }
    static void release(const Block& block) noexcept {
        switch (block.kind) {
            case Kind::heap:
                return std::free(block.memory);
            case Kind::mapped:
                munmap(block.memory, block.bytes);
                return;
            case Kind::pinned:
                return cuda::free_pinned(block.memory);
        }
    }

    const std::size_t keep_bytes_;
    std::mutex mutex_;
    int gpu_;
    Idle idle_;
    std::size_t idle_bytes_ = 0;
    std::unordered_map<void*, Block> used_;
};

PinnedPool::PinnedPool(std::size_t keep_bytes, int gpu)
    : implementation_(std::make_unique<Implementation>(keep_bytes, gpu)) {}
PinnedPool::~PinnedPool() = default;
void PinnedPool::pin_for(int gpu) {
    implementation_->pin_for(gpu);
}
void* PinnedPool::take(std::size_t bytes) {
    return implementation_->take(bytes);
}
void PinnedPool::give_back(void* memory) noexcept {
    implementation_->give_back(memory);
}

}  // namespace gpuhist
