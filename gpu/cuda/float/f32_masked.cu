// Launch of the analysis of a single f32 image with a mask. In a unit of its own likewise.

#include "cuda/float/kernel.cuh"

namespace gpuhist::cuda {

template <int C, bool Full>
void launch_masked_f32(const Tensor& images, const F32Work& work, std::int64_t blocks, std::size_t bytes,
                       const Launch& launch) {
    const LaunchConfiguration configuration{blocks, f32_threads_of(C, Full), bytes, 1};
    launch_kernel(launch, f32_kernel<C, Full, Tensor, Mask>, true, configuration, images, work);
}

template void launch_masked_f32<GPUHIST_CHANNELS, false>(const Tensor&, const F32Work&, std::int64_t, std::size_t,
                                                         const Launch&);
template void launch_masked_f32<GPUHIST_CHANNELS, true>(const Tensor&, const F32Work&, std::int64_t, std::size_t,
                                                        const Launch&);

}  // namespace gpuhist::cuda
