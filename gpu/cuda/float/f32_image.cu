// Launch of the analysis of a single f32 image that stays in shared memory. In a unit of its own, as a kernel keeps
// more in registers the fewer share its functions.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/float/kernel.cuh"

namespace gpuhist::cuda {

template <int C>
bool launch_kept_floats(const Tensor& images, FloatWork work, std::int64_t blocks, std::size_t bytes,
                        const Launch& launch) {
    if (images.count != 1) return false;
    constexpr int threads = float_threads_of(C, false);
    using ImageTile = Tile<float, C>;
    const auto kernel = floats_kernel<C, false, Tensor, ImageTile>;
    blocks = std::clamp<std::int64_t>(blocks, 1, launch.multiprocessors);
    work.speculates = false;
    work.tile_at = static_cast<std::uint32_t>(aligned(bytes));
    const std::size_t taken = work.tile_at + aligned(static_bytes(launch, reinterpret_cast<const void*>(kernel)));
    if (taken < launch.shared_bytes)
        work.tile_rounds = ImageTile::rounds(images.first, blocks, threads, launch.shared_bytes - taken, 1);
    if (work.tile_rounds == 0) return false;
    const Shape shape{blocks, threads, work.tile_at + ImageTile::bytes(work.tile_rounds, threads), 1};
    launch_kernel(launch, kernel, true, shape, images, work);
    return true;
}

template bool launch_kept_floats<GPUHIST_CHANNELS>(const Tensor&, FloatWork, std::int64_t, std::size_t, const Launch&);

}  // namespace gpuhist::cuda
