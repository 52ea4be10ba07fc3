// Parameters of the kernels, and their workspace in device memory. Plain C++: the host side compiles without nvcc.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/channels.hpp"
#include "core/codes.hpp"
#include "core/levels.hpp"
#include "core/portable.hpp"
#include "gpuhist/stream.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist::cuda {

using Word = unsigned long long;  // CUDA's 64-bit atomics take it

/// Pixels in device memory. A packed image (no gaps between rows) is described as one long row.
struct Image {
    const void* data;
    std::int64_t width, height, row_bytes;
    GPUHIST_HD std::int64_t pixels() const { return width * height; }
};

/// Mask of an image: a byte per pixel, zero where it is excluded. Null: all are valid. Packed where its image is.
struct Mask {
    const std::uint8_t* data;
    std::int64_t row_bytes;
    /// Returns whether a pixel is included.
    GPUHIST_HD bool keeps(std::int64_t x, std::int64_t y) const { return !data || data[y * row_bytes + x] != 0; }
};

/// Place of a normalized copy; packed where its image is.
struct Output {
    void* data;
    std::int64_t row_bytes;
};

/// Group: pixels that a thread loads at once, the fewest that are whole 16-byte words; four words of 16-bit color and
/// alpha.
constexpr int group_words(int sample_bytes, int channels) {
    return channels == 3 ? 3 : channels == 4 && sample_bytes == 2 ? 4 : 1;
}
constexpr int group_pixels(int sample_bytes, int channels) {
    return 16 * group_words(sample_bytes, channels) / (sample_bytes * channels);
}
/// Work units in an image, which are dealt to threads: a row's groups, which start at 16-byte boundaries, and the
/// pixels before and after them as one more. Where fewer groups fit, the last units are empty.
GPUHIST_HD constexpr std::int64_t units_in_row(std::int64_t width, int pixels_of_group) {
    return width / pixels_of_group + 1;
}

/// Images of one launch: equal ones at equal distances,
struct Tensor {
    Image first;
    Output output;
    std::int64_t count, image_bytes, output_bytes;
    std::int64_t units;  ///< of each image

    /// Units of all images before image i.
    GPUHIST_HD std::int64_t units_before(std::int64_t i) const { return i * units; }
    GPUHIST_HD std::int64_t image_of(std::int64_t unit) const { return unit / units; }
    GPUHIST_HD Image image(std::int64_t i) const {
        Image result = first;
        result.data = static_cast<const char*>(first.data) + i * image_bytes;
        return result;
    }
    GPUHIST_HD Output output_of(std::int64_t i) const {
        return {static_cast<char*>(output.data) + i * output_bytes, output.row_bytes};
    }
};

/// or different ones. The list travels with the launch, so that nothing of it need stay in the host's memory.
struct List {
    std::int64_t count;
    std::int64_t before[StreamAnalyzer::list_images + 1];
    Image images[StreamAnalyzer::list_images];
    Output outputs[StreamAnalyzer::list_images];

    GPUHIST_HD std::int64_t units_before(std::int64_t i) const { return before[i]; }
    GPUHIST_HD std::int64_t image_of(std::int64_t unit) const {
        std::int64_t low = 0, high = count;  // before[low] ≤ piece < before[high]
        while (high - low > 1) {
            const std::int64_t middle = (low + high) / 2;
            (before[middle] <= unit ? low : high) = middle;
        }
        return low;
    }
    GPUHIST_HD Image image(std::int64_t i) const { return images[i]; }
    GPUHIST_HD Output output_of(std::int64_t i) const { return outputs[i]; }
};

/// Number of color channels, which are normalized: all but alpha.
GPUHIST_HD constexpr int colors_of(int channels) {
    return channels == 1 ? 1 : 3;
}

using core::measured_channels;

/// Place of luma among the measured channels in the kernels' order: those of the pixel in memory order, with luma
/// between colors and alpha. Gray has no luma.
inline constexpr int luma_channel = 3;
/// Channel of a result, where red comes first, from one in memory order; and back.
GPUHIST_HD constexpr int result_channel(int channel, int channels, bool rgb) {
    return channels > 1 && !rgb && (channel == 0 || channel == 2) ? 2 - channel : channel;
}
/// Channel of a result from one as u8 and u16 are counted: the pixel's in memory order, then luma.
GPUHIST_HD constexpr int counted_channel(int channel, int channels, bool rgb) {
    return channels == 1         ? 0
           : channel == channels ? luma_channel
           : channel == 3        ? 4
                                 : result_channel(channel, channels, rgb);
}

/// Colors of a pixel, as counters see them.
struct Colors {
    bool rgb;            ///< red first, not blue
    std::uint32_t flip;  ///< as Common::flip
};

/// Normalization whose table or numbers a kernel makes.
struct KernelNormalization {
    NormalizeMode mode = NormalizeMode::minmax;
    bool joint = true;
    double low = 1, high = 99;
    bool valid_only = false;
    std::optional<double> fill{};
    Depth copies = Depth::u8;

    KernelNormalization() = default;
    KernelNormalization(Depth image, const Normalization& of)
        : mode(of.mode),
          joint(is_joint(of)),
          low(of.low),
          high(of.high),
          valid_only(of.valid_only),
          fill(of.fill),
          copies(normalized_depth(image, of)) {}

    static bool is_joint(const Normalization& of) { return of.joint && !traits_of(of.mode).per_color; }
};

/// Returns whether tables are made by launches behind the analysis: for curves, and copies of another depth than that
/// of the mode.
inline bool has_tone(Depth image, const Normalization& of) {
    return traits_of(of.mode).kind != NormalizeKind::exact ||
           normalized_depth(image, of) != normalized_depth(image, of.mode);
}

/// Returns whether the launch that measures may make such tables, and the copies.
inline bool has_tone_at_once(Depth image, const Normalization& of) {
    const NormalizeTraits& mode = traits_of(of.mode);
    return image == Depth::u16 && of.depth == Depth::u8 && mode.kind == NormalizeKind::exact && !mode.real;
}

/// Parameters that all images of a launch have in common.
struct Common {
    char* results;        ///< ImageResult, counts, tables, details
    ResultLayout layout;  ///< of each
    Depth depth;          ///< of the images
    bool rgb;             ///< red first, not blue
    std::uint32_t flip;   ///< of signed integers: the highest bit of each sample in a word, see code_of_bin; else 0
    std::uint32_t bins;   ///< counts in a channel
    Range range;          ///< that they cover, where they are counts of values
    bool report_luma;     ///< ImageResult::luma_counted
    bool normalize;
    KernelNormalization normalization;
    NormalizeNeeds needs;  ///< of it; nothing without one
    core::Levels levels;   ///< of its copy, where it is one of integers
};

GPUHIST_HD inline ImageResult* result_of(const Common& common, std::int64_t image) {
    return reinterpret_cast<ImageResult*>(common.results + image * common.layout.bytes);
}
GPUHIST_HD inline Word* counts_of(const Common& common, std::int64_t image, int channel) {
    return reinterpret_cast<Word*>(common.results + image * common.layout.bytes + common.layout.counts_offset) +
           static_cast<std::uint64_t>(channel) * common.bins;
}
/// Code, see core::code_of, of the samples that were counted in a bin, of 8 or 16 bits. Bins are samples as they lie in
/// memory, put in order when they are written; but s8 colors become codes as they are loaded, for luma's sake.
template <typename T, int C>
GPUHIST_HD std::uint32_t code_of_bin(const Common& common, std::uint32_t bin) {
    if (sizeof(T) == 1) return C == 1 ? bin ^ (common.flip & 0xFF) : bin;
    return common.depth == Depth::f16 ? core::place_of(Half{static_cast<std::uint16_t>(bin)})
                                      : bin ^ (common.flip & 0xFFFF);
}
template <typename O>
GPUHIST_HD O* luts_of(const Common& common, std::int64_t image) {
    return reinterpret_cast<O*>(common.results + image * common.layout.bytes + common.layout.tables_offset);
}

/// Parameters of samples of 8 and 16 bits.
struct CountParameters {
    Common common;
    GPUHIST_HD Colors colors() const { return {common.rgb, common.flip}; }
    void* workspace;
    Mask mask;                   ///< of a launch of a single image, as a Tensor
    bool count_luma;             ///< false: of luma only the brightness sums
    int replicas_log2;           ///< u8: lane replicas of each bin in a block
    bool rings;                  ///< u16: a block's shared memory has room for rings
    int resident_rounds;         ///< u8: of a ResidentImage
    std::int64_t alone_pixels;   ///< u16: all blocks count larger images together
    std::int64_t shared_images;  ///< u16: number of larger images
};

/// Parameters of f32.
struct F32Parameters {
    Common common;
    void* workspace;
    Mask mask;  ///< of a launch of a single image, as a Tensor
    Detail detail;
    bool has_range;
    Range range;
    core::RankRequest ranks;     ///< of full analyses: of this launch
    std::int32_t group, groups;  ///< which of the groups of ranks these are
    bool publish;                ///< false: another launch of the same images follows, which publishes
    int slices_log2;             ///< slices in which 65536 keys are counted, see slices_log2()
    int replicas_log2;           ///< lane replicas of each bin in a block; negative: bins are counted in device memory
};

/// GPU and stream that kernels are launched on.
struct Launch {
    cudaStream_t stream = nullptr;
    int gpu = 0;
    int multiprocessors = 0;
    std::size_t shared_bytes = 0;  ///< that a block may ask for
    bool only_loads = false;       ///< kernels are loaded, and not launched
};

/// Calls `function` with the number of channels as a constant.
template <class Function>
auto with_channels(int channels, Function function) {
    if (channels == 1) return function(std::integral_constant<int, 1>{});
    if (channels == 3) return function(std::integral_constant<int, 3>{});
    return function(std::integral_constant<int, 4>{});
}

/// Bytes of workspace that the launches below need: zero before the first of them; each leaves it as the next needs it.
template <int C>
std::size_t u8_workspace(const Launch& launch);
template <int C>
std::size_t u16_workspace(const Launch& launch);
template <int C>
std::size_t f32_workspace(std::uint32_t bins);

/// Enqueue the analysis of Images (Tensor or List), and copies where the parameters ask for them; each sets the
/// parameters that depend on the GPU. Throw CudaError; do not synchronize.
template <int C, class Images>
void launch_u8(const Images& images, CountParameters parameters, const Launch& launch);
template <int C, class Images>
void launch_u16(const Images& images, CountParameters parameters, const Launch& launch);
template <int C, class Images>
void launch_f32(const Images& images, F32Parameters parameters, const Launch& launch);

}  // namespace gpuhist::cuda
