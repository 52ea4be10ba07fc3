// Copies in which the new value of a sample depends on its place: clahe of any integers, and background. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/normalize/pixel_copy.hpp"

namespace gpuhist::cuda {

/// Tables of clahe of 8- and 16-bit integers, as cpu/clahe.cpp. Where all samples of u8 are valid, launch_clahe is
/// faster.
struct ClaheTables {
    static constexpr int at_once = 64;  ///< tiles that are counted at a time

    std::int32_t tiles_x, tiles_y;
    bool joint;  ///< one table for all colors, by luma
    bool rgb;
    double clip_limit;  ///< 0: without a limit
    std::int64_t bins;  ///< over which clipped counts are spread
    core::Levels levels;
    std::uint32_t* counts;  ///< of all values, for `at_once` tiles
    void* tables;           ///< the code of each value, tile by tile, channel by channel

    GPUHIST_HD std::int64_t tiles() const { return std::int64_t{tiles_x} * tiles_y; }
};

/// Enqueues the copy, which has the depth of the image. Throws CudaError; does not synchronize.
void launch_clahe_copy(const PixelCopy& copy, const ClaheTables& tables, const Launch& launch);

/// core::Knots of a side, in device memory.
struct KnotsOfSide {
    std::int64_t tiles;
    const std::int64_t *edges, *first;
    const double* to_second;
};

/// Surface through the medians of tiles, which is subtracted.
struct Background {
    KnotsOfSide across, down;
    double* medians;  ///< of each color's tiles, row by row
    core::Levels levels;
    bool known[3];  ///< whether a color has medians; else its samples stay
};

/// Enqueues the search for the medians of tiles, of valid samples; NaN without any. Throws CudaError; does not
/// synchronize.
void launch_medians(const PixelCopy& copy, const Background& background, const Launch& launch);

/// Enqueues the copy, which has the depth of the image. Likewise.
void launch_background(const PixelCopy& copy, const Background& background, const Launch& launch);

}  // namespace gpuhist::cuda
