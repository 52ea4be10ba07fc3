// f32 images, one a launch, that stay in shared memory. In a unit of its own, as a kernel keeps more in registers the
// fewer share its functions.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/floats_kernel.cuh"

namespace gpuhist::cuda {

bool launch_kept_floats(const Tensor& images, FloatWork work, int channels, std::int64_t blocks, std::size_t bytes,
                        const Launch& launch) {
    if (!launch.cooperative || images.count != 1) return false;
    bool kept = false;
    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value, threads = float_threads_of(C, false);
        using ImageTile = Tile<float, C>;
        const auto kernel = floats_kernel<C, false, Tensor, ImageTile>;
        blocks = std::clamp<std::int64_t>(blocks, 1, launch.multiprocessors);
        work.guesses = false;
        work.tile_at = static_cast<std::uint32_t>(aligned(bytes));
        const std::size_t taken = work.tile_at + aligned(static_bytes(launch, reinterpret_cast<const void*>(kernel)));
        if (taken < launch.shared_bytes)
            work.tile_rounds = ImageTile::rounds(images.first, blocks, threads, launch.shared_bytes - taken, 1);
        kept = work.tile_rounds > 0;
        if (!kept) return;
        launch_phases(launch, kernel, {blocks, threads, work.tile_at + ImageTile::bytes(work.tile_rounds, threads), 1},
                      0, work.steps, images, work);
    });
    return kept;
}

}  // namespace gpuhist::cuda
