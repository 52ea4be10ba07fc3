// 8-bit images of GPUHIST_CHANNELS channels: their launch. Single ones have a unit of their own.

#include <cstdint>
#include <type_traits>

#include "cuda/histogram/u8_batch.cuh"
#include "cuda/histogram/u8_list.cuh"

namespace gpuhist::cuda {

template <int C>
std::size_t u8_workspace(const Launch& launch) {
    return sizeof(U8Workspace<C>) + sizeof(Meeting<C>) * blocks_per_multiprocessor * launch.multiprocessors;
}

template <int C, class Images>
void launch_u8(const Images& images, CountParameters p, const Launch& launch) {
    const std::size_t copy_bytes = (C == 1 ? 1 : C + p.count_luma) * values * sizeof(std::uint32_t);
    p.columns_log2 = columns_log2(launch, copy_bytes);
    const std::size_t shared_bytes = copy_bytes << p.columns_log2;
    const bool all_columns = p.columns_log2 == 5 && images.image(0).pixels() < std::int64_t{1} << 32;
    if constexpr (std::is_same_v<Images, Tensor>)
        if (all_columns && images.count == 1) return launch_u8_image<C>(images, p, shared_bytes, launch);
    with_output<std::uint8_t>(p.common, [&](auto* output) {
        using O = std::remove_pointer_t<decltype(output)>;
        if constexpr (std::is_same_v<Images, Tensor>)
            if (all_columns && with_luma<C>(p, [&](auto counted) {
                    return launch_batch<C, counted(), O>(launch, shared_bytes, images, p);
                }))
                return;
        const std::int64_t pieces = images.pieces_before(images.count);
        const std::int64_t blocks = blocks_for(pieces, u8_pixels_per_block / group_pixels(1, C));
        const Shape shape{blocks, images.count > 1 && C > 1 ? batch_threads_of(C + p.count_luma) : block_threads,
                          shared_bytes};
        launch_kernel(launch, u8_list_kernel<C, O, Images>, !std::is_void_v<O>, shape, images, p);
    });
}

template std::size_t u8_workspace<GPUHIST_CHANNELS>(const Launch&);
template void launch_u8<GPUHIST_CHANNELS>(const Tensor&, CountParameters, const Launch&);
template void launch_u8<GPUHIST_CHANNELS>(const List&, CountParameters, const Launch&);

}  // namespace gpuhist::cuda
