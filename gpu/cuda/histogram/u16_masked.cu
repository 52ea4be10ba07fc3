// Launch of the analysis of a single 16-bit image with a mask. In a unit of its own, for the compiler's time.

#include "cuda/histogram/u16_kernel.cuh"

namespace gpuhist::cuda {

template <int C>
void launch_masked_u16(const Tensor& images, const CountParameters& p, const Launch& launch) {
    with_layout<C>(launch, [&](auto layout) {
        using L = decltype(layout);
        const LaunchConfiguration configuration{launch.multiprocessors, L::threads, L::words * sizeof(std::uint32_t)};
        launch_kernel(launch, u16_kernel<C, L, Tensor, Mask>, true, configuration, images, p);
    });
}

template void launch_masked_u16<GPUHIST_CHANNELS>(const Tensor&, const CountParameters&, const Launch&);

}  // namespace gpuhist::cuda
