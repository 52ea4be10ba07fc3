// Launch of the analysis of a single 8-bit image with a mask. In a unit of its own, as u8_image.cu.

#include "cuda/histogram/u8_list.cuh"

namespace gpuhist::cuda {

template <int C>
void launch_masked_u8(const Tensor& images, const CountParameters& p, std::size_t shared_bytes, const Launch& launch) {
    const std::int64_t blocks = blocks_for(images.units, u8_pixels_per_block / group_pixels(1, C));
    launch_kernel(launch, u8_list_kernel<C, void, Tensor, Mask>, false, {blocks, block_threads, shared_bytes}, images,
                  p);
}

template void launch_masked_u8<GPUHIST_CHANNELS>(const Tensor&, const CountParameters&, std::size_t, const Launch&);

}  // namespace gpuhist::cuda
