// Classes: a sweep that sorts samples into classes, and writes the mask or the copy that is measured in place of the
// image.

#include "cuda/rules/classes.hpp"

#include "cuda/host/launcher.cuh"
#include "cuda/pixels/walk.cuh"
#include "cuda/rules/pixel_classes.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int threads = 256;

/// Kernel of the classes of an image: one thread per pixel. Launch: any grid. Bytes: each pixel is read once, and
/// written once where there is a copy. Limit: fewer than 2^32 pixels per block.
template <class Sample>
__global__ void __launch_bounds__(threads)
    class_kernel(const __grid_constant__ Image image, const __grid_constant__ Mask mask,
                 const __grid_constant__ ClassRules rules, const __grid_constant__ ClassOutput to) {
    __shared__ BlockClassSums sums;
    sums.clear();
    __syncthreads();  // clear counts
    const std::int64_t pixels = image.pixels(), step = std::int64_t{gridDim.x} * threads;
    const std::uint64_t colors = rules::first_bits(rules.colors);
    for (std::int64_t begin = std::int64_t{blockIdx.x} * threads; begin < pixels; begin += step) {
        const std::int64_t i = begin + threadIdx.x;
        const bool in = i < pixels;
        const std::int64_t y = in && image.height > 1 ? divide(i, image.width) : 0, x = i - y * image.width;
        const auto* pixel =
            reinterpret_cast<const Sample*>(static_cast<const char*>(image.data) + y * image.row_bytes) +
            x * rules.channels;
        const PixelClasses of(rules, in && mask.keeps(x, y), pixel);
        sums.add(of, rules.channels, colors);
        if (!in) continue;
        if (to.mask) to.mask[i] = !of.unmasked ? 0 : (of.nodata & to.also) == 0 ? 1 : to.nodata;
        if constexpr (core::is_real<Sample>)
            if (to.copy) {
                Sample* copy = static_cast<Sample*>(to.copy) + i * to.copied;
                for (int c = 0; c < to.copied; ++c)
                    copy[c] =
                        c < rules.kept && of.valid_at(c) ? pixel[c] : core::sample_at<Sample>(core::nan_code<Sample>);
            }
    }
    __syncthreads();  // all counts
    sums.add_to(to.sums);
}

}  // namespace

void launch_classes(const Image& image, Depth depth, const Mask& mask, const ClassRules& rules, const ClassOutput& to,
                    const Launch& launch) {
    const LaunchConfiguration configuration{blocks_for(image.pixels(), threads), threads, 0, 8};
    with_depth(depth, [&](auto sample) {
        launch_kernel(launch, class_kernel<decltype(sample)>, false, configuration, image, mask, rules, to);
    });
}

}  // namespace gpuhist::cuda
