// 16-bit grey images, one a launch, that stay in shared memory. In a unit of its own, as a kernel keeps more in
// registers the fewer share its functions.

#include <cstddef>
#include <cstdint>

#include "cuda/histogram/u16_kernel.cuh"

namespace gpuhist::cuda {

bool launch_kept_words(const Tensor& images, CountParameters p, const Launch& launch) {
    using L = Layout<1, true>;
    using ImageTile = Tile<std::uint16_t, 1>;
    if (!launch.cooperative || images.count != 1 || !p.common.normalize) return false;
    const auto kernel = words_kernel<1, L, Tensor, ImageTile>;
    const std::size_t taken = tile_at<L> + aligned(static_bytes(launch, reinterpret_cast<const void*>(kernel)));
    const int blocks = launch.multiprocessors;
    if (taken < launch.shared_bytes)
        p.tile_rounds =
            ImageTile::rounds(images.first, blocks, L::threads, launch.shared_bytes - taken, least_part_of_tile);
    if (p.tile_rounds == 0) return false;
    launch_phases(launch, kernel, {blocks, L::threads, tile_at<L> + ImageTile::bytes(p.tile_rounds, L::threads)}, 1,
                  1 + shared_steps(p.common), images, p);
    return true;
}

}  // namespace gpuhist::cuda
