// clahe of u8 images, by launches behind the analysis. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/host/parameters.hpp"
#include "plan/abilities.hpp"

namespace gpuhist::cuda {

/// Tiles for which a workspace has room.
inline constexpr int most_clahe_tiles = plan::most_clahe_tiles_of_gpu;

/// Memory for counts and tables of the tiles. Counts are zero before and after.
struct ClaheMemory {
    std::uint32_t* counts = nullptr;  ///< 256 per tile
    std::uint8_t* tables = nullptr;   ///< 256 per tile
};

/// Copy of one image of u8, all of whose samples are valid.
struct ClaheCopy {
    Image image;  ///< with its own rows
    Output output;
    int tiles_x, tiles_y;
    std::uint32_t most;   ///< highest count of a bin; 0: without a limit
    int bins;             ///< over which clipped counts are spread
    core::Levels levels;  ///< of the copy
    bool rgb, joint;
    ClaheMemory memory;
};

/// Enqueues the copy of an image of 1, 3 or 4 channels. The output may be the image. Throws CudaError; does not
/// synchronize.
void launch_clahe(const ClaheCopy& copy, int channels, const Launch& launch);

}  // namespace gpuhist::cuda
