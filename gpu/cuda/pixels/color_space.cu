// Color spaces: one thread per pixel. Bytes go through tables in shared memory.

#include "core/channels.hpp"
#include "core/color_space.hpp"
#include "core/half.hpp"
#include "cuda/host/launcher.cuh"
#include "cuda/pixels/color_space.hpp"
#include "cuda/pixels/walk.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int color_threads = 256;

/// Images and what a kernel needs to convert one to the other. `red`, `green` and `blue` are places in a pixel; gray
/// has one place for three.
struct Conversion {
    Image from;
    int channels, red, green, blue;
    char* to;
    std::int64_t to_row_bytes;
    int to_channels;
    core::ColorReader color, alpha;
    ColorSpace space;
};

/// Calls `convert(from, to)` with the samples of each pixel of the thread.
template <typename From, typename To, class Convert>
__device__ void for_pixels(const Conversion& images, const Convert& convert) {
    const Image& image = images.from;
    for (std::int64_t i = blockIdx.x * std::int64_t{color_threads} + threadIdx.x; i < image.pixels();
         i += gridDim.x * std::int64_t{color_threads}) {
        const std::int64_t y = divide(i, image.width), x = i - y * image.width;
        convert(reinterpret_cast<const From*>(static_cast<const char*>(image.data) + y * image.row_bytes) +
                    x * images.channels,
                reinterpret_cast<To*>(images.to + y * images.to_row_bytes) + x * images.to_channels);
    }
}

/// Copies a table into shared memory.
template <class Table>
__device__ void load_table(const Table& from, Table& to) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(&from);
    for (unsigned i = threadIdx.x; i < sizeof(Table) / sizeof(std::uint32_t); i += color_threads)
        reinterpret_cast<std::uint32_t*>(&to)[i] = words[i];
    __syncthreads();
}

/// Kernel. Launch: any grid.
template <class Table>
__global__ void __launch_bounds__(color_threads)
    color_bytes_kernel(const __grid_constant__ Conversion images, const __grid_constant__ Table given) {
    __shared__ Table table;
    load_table(given, table);
    for_pixels<std::uint8_t, std::uint8_t>(images, [&](const std::uint8_t* from, std::uint8_t* to) {
        const int red = from[images.red], green = from[images.green], blue = from[images.blue];
        core::Bytes3 made;
        if constexpr (std::is_same_v<Table, core::HsvTables>)
            made = core::hsv_of_bytes(table, red, green, blue);
        else if constexpr (std::is_same_v<Table, core::LabTables>)
            made = core::lab_of_bytes(table, red, green, blue);
        else
            made = core::ycbcr_of_bytes(red, green, blue);
        to[0] = made.first;
        to[1] = made.second;
        to[2] = made.third;
        if (images.to_channels == 4) to[3] = from[3];
    });
}

/// Kernel. Launch: any grid.
template <typename Sample>
__global__ void __launch_bounds__(color_threads) color_floats_kernel(const __grid_constant__ Conversion images) {
    __shared__ double table[256];
    if constexpr (sizeof(Sample) == 1) {
        table[threadIdx.x] = images.color(threadIdx.x);
        __syncthreads();
    }
    const auto number = [](Sample sample) -> double {
        if constexpr (std::is_same_v<Sample, Half>)
            return core::to_float(sample);
        else
            return sample;
    };
    const auto color = [&](Sample sample) -> double {
        if constexpr (sizeof(Sample) == 1)
            return table[sample];
        else
            return images.color(number(sample));
    };
    for_pixels<Sample, float>(images, [&](const Sample* from, float* to) {
        const core::Triple rgb{color(from[images.red]), color(from[images.green]), color(from[images.blue])};
        const core::Triple made =
            core::is_finite(rgb) ? core::in_space(images.space, rgb) : core::Triple{NAN, NAN, NAN};
        to[0] = core::as_float(made.first);
        to[1] = core::as_float(made.second);
        to[2] = core::as_float(made.third);
        if (images.to_channels == 4) to[3] = core::as_float(images.alpha(number(from[3])));
    });
}

/// Stands for a table where there is none.
struct NoTable {
    std::uint32_t nothing;
};

}  // namespace

void launch_color_space(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                        const MutableImageView& output, const Launch& launch) {
    const core::Positions at(image.order);
    const bool gray = image.channels == 1;
    const Conversion images{{image.data, image.width, image.height, image.row_bytes},
                            image.channels,
                            gray ? 0 : at.red,
                            gray ? 0 : at.green,
                            gray ? 0 : at.blue,
                            static_cast<char*>(output.data),
                            output.row_bytes,
                            output.channels,
                            core::ColorReader(encoding, space),
                            core::ColorReader({encoding.white, true}, space),
                            space};
    const std::int64_t most = 16 * std::int64_t{launch.multiprocessors};
    const LaunchConfiguration configuration{std::min(blocks_for(image.pixels(), color_threads), most), color_threads,
                                            0};
    if (output.depth == Depth::u8) {
        if (space == ColorSpace::hsv)
            launch_kernel(launch, color_bytes_kernel<core::HsvTables>, false, configuration, images,
                          core::hsv_tables());
        else if (space == ColorSpace::lab)
            launch_kernel(launch, color_bytes_kernel<core::LabTables>, false, configuration, images,
                          core::lab_tables());
        else
            launch_kernel(launch, color_bytes_kernel<NoTable>, false, configuration, images, NoTable{});
        return;
    }
    if (image.depth == Depth::u8)
        launch_kernel(launch, color_floats_kernel<std::uint8_t>, false, configuration, images);
    else if (image.depth == Depth::u16)
        launch_kernel(launch, color_floats_kernel<std::uint16_t>, false, configuration, images);
    else if (image.depth == Depth::f16)
        launch_kernel(launch, color_floats_kernel<Half>, false, configuration, images);
    else
        launch_kernel(launch, color_floats_kernel<float>, false, configuration, images);
}

}  // namespace gpuhist::cuda
