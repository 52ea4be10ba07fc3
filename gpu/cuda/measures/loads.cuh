// Loads of four pixels of u8 per lane, row after row, wherever rows begin.
#pragma once

#include "cuda/measures/bytes.hpp"
#include "cuda/pixels/walk.cuh"

namespace gpuhist::cuda {

/// Word of device memory: volatile, so that the compiler does not move the load down to its use.
__device__ inline std::uint32_t global_word(const char* at) {
    std::uint32_t word;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(word) : "l"(at));
    return word;
}

/// Pixels of lanes in the rows of an image: lanes of a warp have neighboring ones. Samples outside of the image are
/// zero.
template <int C>
class LaneLoads {
  public:
    /// Begins at row y. `x`: first pixel of the lane, a multiple of 4; `first`: of the warp. Both may lie outside.
    __device__ LaneLoads(const Image& image, std::int64_t x, std::int64_t first, std::int64_t y)
        : at_(static_cast<const char*>(image.data) + y * image.row_bytes + x * C),
          row_bytes_(image.row_bytes),
          valid_(x < 0 ? 0
                       : static_cast<int>(min(max(image.width - x, std::int64_t{0}), std::int64_t{lane_pixels})) * C),
          aligned_(
              ((reinterpret_cast<std::uintptr_t>(image.data) | static_cast<std::uintptr_t>(image.row_bytes)) & 3) == 0),
          inside_((first > 0 || (first == 0 && aligned_)) &&
                  (first + warp_lanes * lane_pixels) * C + (aligned_ ? 0 : 4) <= image.width * C) {}

    /// Loads the lane's pixels of a row, and goes on to the next row.
    __device__ void next(std::uint32_t (&words)[C]) {
        if (inside_ && aligned_) {
#pragma unroll
            for (int i = 0; i < C; ++i) words[i] = global_word(at_ + 4 * i);
        } else if (inside_) {
            const unsigned off = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at_)) % 4;  // of all lanes
            std::uint32_t loaded[C + 1];
#pragma unroll
            for (int i = 0; i < C + 1; ++i) loaded[i] = global_word(at_ - off + 4 * i);
#pragma unroll
            for (int i = 0; i < C; ++i) words[i] = __funnelshift_r(loaded[i], loaded[i + 1], 8 * off);
        } else {
#pragma unroll
            for (int i = 0; i < C; ++i) words[i] = part(4 * i);
        }
        at_ += row_bytes_;
    }

  private:
    /// Word whose bytes may lie outside.
    __device__ std::uint32_t part(int begin) const {
        if (aligned_ && begin + 4 <= valid_) return global_word(at_ + begin);
        std::uint32_t word = 0;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (begin + k < valid_)
                word |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(at_[begin + k])) << 8 * k;
        return word;
    }

    const char* at_;
    const std::int64_t row_bytes_;
    const int valid_;              ///< bytes of the lane in a row
    const bool aligned_, inside_;  ///< all rows begin with a word; all words of the warp lie in the row
};

}  // namespace gpuhist::cuda
