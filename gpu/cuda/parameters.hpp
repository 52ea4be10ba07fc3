// What is handed to the kernels, and their results in device memory. Plain C++: the host side compiles without nvcc.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/float_analysis.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/normalization.hpp"

namespace gpuhist::cuda {

using Word = unsigned long long;  // what CUDA's 64-bit atomics take

/// Pixels in device memory. A packed image (no gaps between rows) is described as one long row.
struct Image {
    const void* data;
    std::int64_t width, height, row_bytes;
    std::int64_t pixels() const { return width * height; }
};

/// Rows of counts: the channels in memory order, then luma between colours and alpha. Grey has one.
inline constexpr int luma_row = 3;
constexpr int rows_of(int channels) {
    return channels == 1 ? 1 : channels + 1;
}

/// Results of one sweep, all zero before it. A minimum is kept as the maximum of its complement, for that reason.
struct BrightnessSums {
    Word sum;
    Word squares_low, squares_high;  ///< Σ of the low and the high 32 bits of each block's Σ x²
    std::uint32_t complement_minimum, maximum;
};

/// The normalised copy; `output` null: none is written.
struct Copy {
    Normalization normalization;
    void* table;   ///< 8 and 16 bits: a value of the output's type for each of the input's, for 1 (joint) or 3 channels
    void* output;  ///< pixels in the input's order
    std::int64_t row_bytes;
};

/// 8 and 16 bits.
struct CountParameters {
    Image image;
    Word* counts;  ///< rows × values, row after row
    BrightnessSums* brightness;
    bool rgb;          ///< red first, not blue
    bool count_luma;   ///< false: of luma only the brightness sums
    int columns_log2;  ///< u8: copies of each bin that a block keeps, see count_bytes
    int parts_log2;    ///< u16: slices of the value range, see count_words
    Copy copy;
};

/// f32. What is known of one row, in device memory; zero before the first sweep. Extremes are kept as keys, a minimum
/// as the complement.
struct FloatRow {
    // sweep 1
    Word nan, positive_infinite, negative_infinite;
    std::uint32_t complement_minimum_key, maximum_key;
    // plan
    std::uint64_t finite;
    float minimum, maximum;
    double pivot;
    int exponent;
    core::RankPlan ranks;
    // sweep 2
    Word below, above;
    Word sums[4][3];  ///< Σ of the terms' low, middle 32 and high 64 bits
    // finish
    float order[core::max_ranks];
    int again;  ///< the pivot was poor: sum the moments once more
    // normalised copy
    bool keep;         ///< a constant row, or one without a finite value, is left as it is
    double low, high;  ///< what is mapped to 0 and 1; or mean and std
    float equalize_scale;
};

/// f32.
struct FloatParameters {
    Image image;
    bool rgb;
    FloatRow* rows;     ///< core::float_rows of them
    Word* high_counts;  ///< colours, luma, alpha × 65536
    Word* low_counts;   ///< core::float_rows × core::max_ranks × 65536
    Word* counts;       ///< rows × bins
    std::uint32_t bins;
    int parts_log2;    ///< slices in which 65536 keys are counted, see count_keys
    int columns_log2;  ///< copies of each bin a block keeps; negative: bins are counted in device memory
    bool has_range;
    Range range;
    bool stretch;           ///< the ranks of the stretch percentiles are wanted too
    Word* equalize_counts;  ///< equalize: rows × core::equalize_float_bins, then their running sums
    Copy copy;
};

/// The value that its parts in FloatRow::sums stand for.
GPUHIST_HD inline Int128 sum_of(const Word (&parts)[3]) {
    return core::to_public(static_cast<core::i128>(static_cast<core::u128>(parts[0]) +
                                                   (static_cast<core::u128>(parts[1]) << 32) +
                                                   (static_cast<core::u128>(parts[2]) << 64)));
}

/// Where and how kernels are launched.
struct Launch {
    cudaStream_t stream = nullptr;
    int multiprocessors = 0;
    std::size_t shared_bytes = 0;  ///< that a block may ask for
    bool cooperative = false;      ///< one launch with grid barriers; else a launch a phase
};

/// Enqueue the analysis, and the normalised copy where one is asked for; results and counts must be zero before. Each
/// sets the parameters that depend on the GPU (columns_log2, parts_log2) itself. Throws CudaError; does not
/// synchronise.
void launch_bytes(CountParameters parameters, int channels, const Launch& launch);
void launch_words(CountParameters parameters, int channels, const Launch& launch);
void launch_floats(FloatParameters parameters, int channels, const Launch& launch);

}  // namespace gpuhist::cuda
