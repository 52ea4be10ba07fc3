/// Memory for pixels that are on their way to a GPU.
#pragma once

#include <cstddef>
#include <memory>

namespace gpuhist {

/// Pool of host memory that is kept and handed out again. With CUDA it is pinned, and copies to and from the GPU run at
/// the bus's full speed and at the same time as kernels; without a GPU, or where no more can be pinned, it is plain:
/// what is kept still saves the system's work of clearing new pages. Pieces of up to Engine::small_image_bytes are
/// plain too: Engine::run gathers them in pinned memory of its own. Safe to use from several threads.
class PinnedPool {
  public:
    /// Makes a pool that keeps at most `keep_bytes` that nobody uses. Memory is pinned for this GPU; -1: it is plain.
    explicit PinnedPool(std::size_t keep_bytes, int gpu = 0);
    ~PinnedPool();
    PinnedPool(const PinnedPool&) = delete;
    PinnedPool& operator=(const PinnedPool&) = delete;

    /// Pins for this GPU what large pieces get from now on. What is plain is released when it comes back.
    void pin_for(int gpu);
    /// Takes at least `bytes`, aligned to 64. They stay the pool's. Throws std::bad_alloc.
    void* take(std::size_t bytes);
    /// Takes back what `take` gave, all of it before the pool goes.
    void give_back(void* memory) noexcept;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace gpuhist
