// Copies of u8 and u16 images with excluded samples: LUTs from the counts of a result, and the writing.

#include <type_traits>

#include "cuda/block/reduce.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/normalize/result_counts.cuh"
#include "cuda/normalize/valid_copy.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

/// Kernel that builds an image's LUTs from the counts of its result, and publishes that. Launch: lut_blocks.
template <typename T, int C>
__global__ void __launch_bounds__(lut_threads)
    lut_kernel(const __grid_constant__ Common common, std::uint32_t each, std::uint32_t* arrived) {
    __shared__ Word pages[measured_channels(C)][pages_of<T>];
    __shared__ TableRoom room[3];
    __shared__ core::Line<T> lines[3];
    __shared__ bool last;
    const ResultCounts<T, C> counts{common, each, pages};
    core::with_mode(common.normalization.mode, [&](auto mode) {
        using Mode = decltype(mode);
        if constexpr (sizeof(T) > 1 && needs_pages(traits_of(Mode::mode).needs)) {
            const LutChannels<C> channels(common.normalization, traits_of(Mode::mode).joint_by_luma, 0);
            const int end = channels.first == luma_channel ? luma_channel + 1 : colors_of(C);
            for (int channel = channels.first; channel < end; ++channel)
                add_up_pages<T>(counts_of(common, 0, counts.channel_of(channel)), pages[channel]);
            __syncthreads();  // the pages, for all
        }
        build_luts<Mode, T, C>(common.normalization, counts, room, lines, luts_of<Written<Mode, T>>(common, 0),
                               static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x), common.levels);
    });
    if (arrive_last(arrived, gridDim.x, &last) && threadIdx.x == 0) publish(result_of(common, 0));
}

template <typename T>
void launch_luts(const Common& common, int channels, std::uint32_t each, std::uint32_t* arrived, const Launch& launch) {
    const LaunchConfiguration configuration{lut_blocks<T>, lut_threads, 0, 1};
    if (channels == 1)
        launch_kernel(launch, lut_kernel<T, 1>, false, configuration, common, each, arrived);
    else
        launch_kernel(launch, lut_kernel<T, 3>, false, configuration, common, each, arrived);
}

/// Kernel of a copy by LUTs. Launch: any grid. Bytes: each pixel is read once, and written once.
template <typename T, typename O, int C>
__global__ void __launch_bounds__(copy_threads) lut_copy_kernel(const __grid_constant__ ValidCopy p) {
    const O* luts = luts_of<O>(p.common, 0);
    constexpr int values = 1 << 8 * sizeof(T);
    const int tables = lut_count(C, p.common.normalization), stride = tables > 1 ? values : 0;
    const O* const alpha = p.alpha_table ? luts + tables * values : nullptr;
    write_copy<C, T, O>(p, [&](const T(&pixel)[C], O(&written)[C]) {
#pragma unroll
        for (int c = 0; c < C; ++c)
            written[c] = c < 3   ? __ldg(luts + c * stride + pixel[c])
                         : alpha ? __ldg(alpha + pixel[c])
                                 : static_cast<O>(pixel[c]);
    });
}

template <typename T>
void launch_copy(const ValidCopy& copy, int channels, const Launch& launch) {
    with_copies(copy, [&](auto* output) {
        using O = std::remove_pointer_t<decltype(output)>;
        with_channels(channels, [&](auto c) {
            launch_kernel(launch, lut_copy_kernel<T, O, c()>, false, copy_configuration(copy.image), copy);
        });
    });
}

}  // namespace

void launch_valid_luts(const Common& common, int channels, std::uint32_t each, std::uint32_t* arrived,
                       const Launch& launch) {
    if (sample_bytes(common.depth) == 1)
        launch_luts<std::uint8_t>(common, channels, each, arrived, launch);
    else
        launch_luts<std::uint16_t>(common, channels, each, arrived, launch);
}

void launch_valid_copy(const ValidCopy& copy, int channels, const Launch& launch) {
    if (sample_bytes(copy.common.depth) == 1)
        launch_copy<std::uint8_t>(copy, channels, launch);
    else
        launch_copy<std::uint16_t>(copy, channels, launch);
}

}  // namespace gpuhist::cuda
