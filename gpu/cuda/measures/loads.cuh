// Loads of four pixels of bytes per lane, wherever rows begin.
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

/// Pixels of lanes in the rows of an image: lanes of a warp have neighboring ones. Bytes outside of the image become 0
/// if they are flipped.
template <int C>
class LaneLoads {
  public:
    /// `x`: first pixel of the lane, a multiple of 4; `first`: of the warp. Both may lie outside.
    __device__ LaneLoads(const Image& image, std::uint32_t flip, std::int64_t x, std::int64_t first)
        : image_(image), flip_(flip), x_(x) {
        constexpr std::int64_t together = warp_lanes * lane_pixels;
        inside_ = first >= lane_pixels && (first + together) * C + 4 <= image.width * C;
    }

    __device__ void load(std::int64_t y, std::uint32_t (&words)[C]) const {
        const char* const row = static_cast<const char*>(image_.data) + y * image_.row_bytes;
        const char* const at = row + x_ * C;
        const unsigned off = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at)) % 4;  // of all lanes
        if (!inside_) return load_parts(row, at, off, words);
        std::uint32_t loaded[C + 1];
#pragma unroll
        for (int i = 0; i < C; ++i) loaded[i] = global_word(at - off + 4 * i);
        loaded[C] = off == 0 ? 0 : global_word(at - off + 4 * C);
#pragma unroll
        for (int i = 0; i < C; ++i) words[i] = __funnelshift_r(loaded[i], loaded[i + 1], 8 * off);
    }

  private:
    /// Loads words that may lie outside of the row.
    __device__ void load_parts(const char* row, const char* at, unsigned off, std::uint32_t (&words)[C]) const {
        const char* const end = row + image_.width * C;
#pragma unroll
        for (int i = 0; i < C; ++i, at += 4) {
            words[i] = flip_;
            if (off == 0 && at >= row && at + 4 <= end) {
                words[i] = global_word(at);
                continue;
            }
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (at + k >= row && at + k < end)
                    words[i] ^= (static_cast<std::uint32_t>(static_cast<std::uint8_t>(at[k])) ^ (flip_ & 0xFF))
                                << 8 * k;
        }
    }

    const Image& image_;
    const std::uint32_t flip_;
    const std::int64_t x_;
    bool inside_;
};

}  // namespace gpuhist::cuda
