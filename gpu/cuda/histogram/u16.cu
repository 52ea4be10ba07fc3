// 16-bit images of GPUHIST_CHANNELS channels: their launch.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cuda/histogram/u16_kernel.cuh"

namespace gpuhist::cuda {
namespace {

/// Calls `function` with the Layout that a GPU has room for.
template <int C, class Function>
void with_layout(const Launch& launch, Function function) {
    if (Layout<C, true>::words * sizeof(std::uint32_t) + static_shared_bytes <= launch.shared_bytes)
        return function(Layout<C, true>{});
    function(Layout<C, false>{});
}

}  // namespace

template <int C>
std::size_t words_workspace(const Launch& launch) {
    std::size_t bytes = 0;
    with_layout<C>(launch, [&](auto layout) {
        using L = decltype(layout);
        bytes = sizeof(WordWorkspace<L>) + sizeof(Slab<L>) * launch.multiprocessors;
    });
    return bytes;
}

template <int C, class Images>
void launch_words(const Images& images, CountParameters p, const Launch& launch) {
    // Very many images keep every block busy alone, whatever their size; a single one is shared whatever its size.
    p.alone_pixels = images.count >= 4 * launch.multiprocessors ? INT64_MAX : images.count == 1 ? 0 : word_pixels_alone;
    std::int64_t shared = 0;
    for (std::int64_t i = 0; i < images.count; ++i) shared += images.image(i).pixels() > p.alone_pixels;
    p.to_floats = normalized_depth(Depth::u16, p.common.normalization.mode) == Depth::f32;
    const int steps = shared_steps(p.common), first = shared < images.count ? 0 : 1;
    with_layout<C>(launch, [&](auto layout) {
        using L = decltype(layout);
        // All blocks add up what few have counted, however few pixels are shared.
        const std::int64_t blocks = shared ? launch.multiprocessors : images.count;
        std::size_t bytes = L::words * sizeof(std::uint32_t);
        constexpr std::size_t ring_bytes = L::threads / warp_lanes * L::Rings::bytes;
        p.rings = L::wide && C > 1 && bytes + ring_bytes + static_shared_bytes <= launch.shared_bytes;
        if (p.rings) bytes += ring_bytes;
        const Shape shape{std::min<std::int64_t>(blocks, launch.multiprocessors), L::threads, bytes};
        if constexpr (std::is_same_v<Images, Tensor> && C == 1)
            if (L::wide && launch_kept_words(images, p, launch)) return;
        launch_phases(launch, words_kernel<C, L, Images>, shape, first, 1 + static_cast<int>(shared) * steps, images,
                      p);
    });
}

template std::size_t words_workspace<GPUHIST_CHANNELS>(const Launch&);
template void launch_words<GPUHIST_CHANNELS>(const Tensor&, CountParameters, const Launch&);
template void launch_words<GPUHIST_CHANNELS>(const List&, CountParameters, const Launch&);

}  // namespace gpuhist::cuda
