/// Memory for pixels that are sent to a GPU.
#pragma once

#include <cstddef>
#include <memory>

namespace gpuhist {

/// Pool of host memory that is kept and handed out again. Functions may be called by several threads.
///
/// With CUDA, the memory is pinned: copies to and from the GPU run at the full speed of the bus, and at the same time
/// as kernels. Without a GPU, or if no more memory can be pinned, it is plain. Plain memory that is kept still saves
/// the system the clearing of new pages. Pieces of up to Engine::small_image_bytes are plain too, because Engine::run
/// gathers small images in pinned memory of its own.
class PinnedPool {
  public:
    /// Makes a pool that keeps at most `keep_bytes` of unused memory. Memory is pinned for this GPU; with -1 it is
    /// plain.
    explicit PinnedPool(std::size_t keep_bytes, int gpu = 0);
    ~PinnedPool();
    PinnedPool(const PinnedPool&) = delete;
    PinnedPool& operator=(const PinnedPool&) = delete;

    /// Pins large pieces for this GPU from now on. Plain memory that the pool has is released when it is given back.
    void pin_for(int gpu);
    /// Takes at least `bytes`, aligned to 64 bytes. The pool keeps the ownership. Throws std::bad_alloc.
    void* take(std::size_t bytes);
    /// Takes back a piece from `take`. All pieces must be given back before the pool is destroyed.
    void give_back(void* memory) noexcept;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace gpuhist
