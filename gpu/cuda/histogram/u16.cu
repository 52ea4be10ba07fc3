// Launch of the analysis of 16-bit images of GPUHIST_CHANNELS channels.

#include <algorithm>
#include <type_traits>

#include "cuda/histogram/u16_kernel.cuh"

namespace gpuhist::cuda {

template <int C>
std::size_t u16_workspace(const Launch& launch) {
    return with_layout<C>(launch, [&](auto layout) {
        using L = decltype(layout);
        return sizeof(U16Workspace<L>) + sizeof(BlockPartial<L>) * launch.multiprocessors;
    });
}

template <int C, class Images>
void launch_u16(const Images& images, CountParameters p, const Launch& launch) {
    if constexpr (std::is_same_v<Images, Tensor>)
        if (p.mask.data) return launch_masked_u16<C>(images, p, launch);
    // Very many images keep every block busy alone, whatever their size; all blocks count a single one together,
    // whatever its size.
    p.alone_pixels = images.count >= 4 * launch.multiprocessors ? INT64_MAX : images.count == 1 ? 0 : u16_pixels_alone;
    p.shared_images = 0;
    for (std::int64_t i = 0; i < images.count; ++i) p.shared_images += images.image(i).pixels() > p.alone_pixels;
    with_layout<C>(launch, [&](auto layout) {
        using L = decltype(layout);
        // All blocks add up the counters of few, however few pixels the images have.
        const std::int64_t blocks = p.shared_images > 0 ? launch.multiprocessors : images.count;
        std::size_t bytes = L::words * sizeof(std::uint32_t);
        constexpr std::size_t ring_bytes = L::threads / warp_lanes * L::Rings::bytes;
        p.rings = L::wide && C > 1 && bytes + ring_bytes + static_shared_bytes <= launch.shared_bytes;
        if (p.rings) bytes += ring_bytes;
        const LaunchConfiguration configuration{std::min<std::int64_t>(blocks, launch.multiprocessors), L::threads,
                                                bytes};
        launch_kernel(launch, u16_kernel<C, L, Images>, p.shared_images > 0, configuration, images, p);
    });
}

template std::size_t u16_workspace<GPUHIST_CHANNELS>(const Launch&);
template void launch_u16<GPUHIST_CHANNELS>(const Tensor&, CountParameters, const Launch&);
template void launch_u16<GPUHIST_CHANNELS>(const List&, CountParameters, const Launch&);

}  // namespace gpuhist::cuda
