// Launch of the analysis of a single f32 image with a mask. In a unit of its own likewise.

#include "cuda/float/kernel.cuh"

namespace gpuhist::cuda {

template <int C, bool Full>
void launch_masked_floats(const Tensor& images, const FloatWork& work, std::int64_t blocks, std::size_t bytes,
                          const Launch& launch) {
    const Shape shape{blocks, float_threads_of(C, Full), bytes, 1};
    launch_kernel(launch, floats_kernel<C, Full, Tensor, Mask>, true, shape, images, work);
}

template void launch_masked_floats<GPUHIST_CHANNELS, false>(const Tensor&, const FloatWork&, std::int64_t, std::size_t,
                                                            const Launch&);
template void launch_masked_floats<GPUHIST_CHANNELS, true>(const Tensor&, const FloatWork&, std::int64_t, std::size_t,
                                                           const Launch&);

}  // namespace gpuhist::cuda
