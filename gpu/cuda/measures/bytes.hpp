// Measures of u8 without a mask, four pixels at a time: for host and device. Formulas alone; which lane has which
// pixels, and what lies beside them, is the business of a warp (bytes.cu).
//
// The image is seen as a plane, with zeros around it. There, sums of squares of a filter k follow from sums of products
// of pixels at a distance: the sum of (k * I)^2 is the sum over all distances d of (k * k)(d) times the sum of I(p) I(p
// + d). Products of bytes are added up four at once. Afterwards, `add_border` corrects what is different where the
// border is reflected. So the sum of the Laplacian needs only the border: it is zero over the plane.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/luma.hpp"
#include "core/portable.hpp"
#include "cuda/measures/sums.hpp"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

namespace gpuhist::cuda {

/// Pixels of a lane.
inline constexpr int lane_pixels = 4;
inline constexpr std::uint32_t ones = 0x01010101;

/// Bytes of two words: digit i of the selector, from the lowest, is the place of byte i in b and a.
GPUHIST_HD inline std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
#ifdef __CUDA_ARCH__
    return __byte_perm(a, b, selector);
#else
    const std::uint64_t both = std::uint64_t{b} << 32 | a;
    std::uint32_t result = 0;
    for (int i = 0; i < 4; ++i)
        result |= static_cast<std::uint32_t>(both >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i;
    return result;
#endif
}
/// sum + the products of four bytes each.
GPUHIST_HD inline std::uint32_t dot(std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
#ifdef __CUDA_ARCH__
    return __dp4a(a, b, sum);
#else
    for (int shift = 0; shift < 32; shift += 8) sum += (a >> shift & 0xFF) * (b >> shift & 0xFF);
    return sum;
#endif
}
/// sum + the products of the weights, of 16 bits, and the two lowest bytes, or the two highest.
GPUHIST_HD inline std::uint32_t weigh_low(std::uint32_t weights, std::uint32_t bytes, std::uint32_t sum) {
#ifdef __CUDA_ARCH__
    return __dp2a_lo(weights, bytes, sum);
#else
    return sum + (weights & 0xFFFF) * (bytes & 0xFF) + (weights >> 16) * (bytes >> 8 & 0xFF);
#endif
}
GPUHIST_HD inline std::uint32_t weigh_high(std::uint32_t weights, std::uint32_t bytes, std::uint32_t sum) {
#ifdef __CUDA_ARCH__
    return __dp2a_hi(weights, bytes, sum);
#else
    return weigh_low(weights, bytes >> 16, sum);
#endif
}

/// Two whole numbers of up to 11 bits and a sign, as floats of 16 bits.
struct Pair {
#ifdef __CUDA_ARCH__
    __half2 of;
    /// Bytes 0 and 2, with 1024 added: bytes 1 and 3 are the upper bytes of such floats.
    static constexpr std::uint32_t upper = 0x64646464;
    __device__ static Pair of_bytes(std::uint32_t bytes) {
        Pair pair;
        memcpy(&pair.of, &bytes, sizeof bytes);
        return pair;
    }
    __device__ Pair operator+(const Pair& other) const {
        return {__hadd2(of, other.of)};
    }
    __device__ Pair operator-(const Pair& other) const {
        return {__hsub2(of, other.of)};
    }
    /// This less twice another.
    __device__ Pair less_twice(const Pair& other) const {
        return {__hfma2(__float2half2_rn(-2), other.of, of)};
    }
    __device__ Pair kept(std::uint32_t bits) const {
        std::uint32_t own;
        memcpy(&own, &of, sizeof own);
        return of_bytes(own & bits);
    }
    __device__ float first() const {
        return __low2float(of);
    }
    __device__ float second() const {
        return __high2float(of);
    }
#else
    float of[2];
    static constexpr std::uint32_t upper = 0;
    GPUHIST_HD static Pair of_bytes(std::uint32_t bytes) {
        return {{static_cast<float>(bytes & 0xFF), static_cast<float>(bytes >> 16 & 0xFF)}};
    }
    GPUHIST_HD Pair operator+(const Pair& other) const {
        return {{of[0] + other.of[0], of[1] + other.of[1]}};
    }
    GPUHIST_HD Pair operator-(const Pair& other) const {
        return {{of[0] - other.of[0], of[1] - other.of[1]}};
    }
    GPUHIST_HD Pair less_twice(const Pair& other) const {
        return *this - other - other;
    }
    GPUHIST_HD Pair kept(std::uint32_t bits) const {
        return {{bits & 0xFFFF ? of[0] : 0, bits >> 16 ? of[1] : 0}};
    }
    GPUHIST_HD float first() const {
        return of[0];
    }
    GPUHIST_HD float second() const {
        return of[1];
    }
#endif
};

/// Weights and places of colors in the words of four pixels of C channels.
template <int C>
struct ByteColors {
    std::uint32_t first_two, third, upper_first, last_two;  ///< weights of luma, twice as large
    std::uint32_t red_low, red_high, blue_low, blue_high;   ///< selectors

    GPUHIST_HD explicit ByteColors(bool rgb) {
        const std::uint32_t first = 2 * (rgb ? core::luma_red : core::luma_blue), second = 2 * core::luma_green,
                            last = 2 * (rgb ? core::luma_blue : core::luma_red);
        first_two = first | second << 16;
        third = last;
        upper_first = first << 16;
        last_two = second | last << 16;
        // Of three channels: bytes 0, 3, 6 and 9 of three words, and bytes 2, 5, 8 and 11; of four: the lower or the
        // upper half of words that have both.
        const std::uint32_t first_low = C == 4 ? 0x5410 : 0x0630, last_low = C == 4 ? 0x7632 : 0x0052,
                            first_high = 0x5210, last_high = 0x7410;
        red_low = rgb ? first_low : last_low;
        red_high = rgb ? first_high : last_high;
        blue_low = rgb ? last_low : first_low;
        blue_high = rgb ? last_high : first_high;
    }

    /// Luma of four pixels.
    GPUHIST_HD std::uint32_t luma(const std::uint32_t (&words)[C]) const {
        if constexpr (C == 1) {
            return words[0];
        } else {
            constexpr std::uint32_t half = 32768;  // luma is byte 2 of a sum
            std::uint32_t sums[lane_pixels];
            if constexpr (C == 4) {
                for (int i = 0; i < lane_pixels; ++i)
                    sums[i] = weigh_high(third, words[i], weigh_low(first_two, words[i], half));
            } else {
                sums[0] = weigh_high(third, words[0], weigh_low(first_two, words[0], half));
                sums[1] = weigh_low(last_two, words[1], weigh_high(upper_first, words[0], half));
                sums[2] = weigh_low(third, words[2], weigh_high(first_two, words[1], half));
                sums[3] = weigh_high(last_two, words[2], weigh_low(upper_first, words[2], half));
            }
            return permute(permute(sums[0], sums[1], 0x0062), permute(sums[2], sums[3], 0x0062), 0x5410);
        }
    }
    /// Four bytes of each color.
    GPUHIST_HD void split(const std::uint32_t (&words)[C], std::uint32_t& red, std::uint32_t& green,
                          std::uint32_t& blue) const {
        if constexpr (C == 4) {
            const std::uint32_t both[] = {permute(words[0], words[1], 0x6240), permute(words[2], words[3], 0x6240)};
            red = permute(both[0], both[1], red_low);
            blue = permute(both[0], both[1], blue_low);
            green = permute(permute(words[0], words[1], 0x0051), permute(words[2], words[3], 0x0051), 0x5410);
        } else if constexpr (C == 3) {
            red = permute(permute(words[0], words[1], red_low), words[2], red_high);
            blue = permute(permute(words[0], words[1], blue_low), words[2], blue_high);
            green = permute(permute(words[0], words[1], 0x0741), words[2], 0x6210);
        } else {
            red = green = blue = words[0];
        }
    }
};

/// Sums of the four columns of a lane, row after row.
class ByteSums {
  public:
    /// Rows at most before `take`: for more than these, sums of products of 32 bits have room, and floats are exact.
    static constexpr int most_rows = 1024;

    /// Adds the colors of a row.
    GPUHIST_HD void add_colors(std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
        constexpr std::uint32_t low = 0x7F7F7F7F;
        const std::uint32_t differ = (red ^ green) | (green ^ blue);
        not_gray_ = dot((((differ & low) + low) | differ) & ~low, ones, not_gray_);
        squares_ = dot(green, green, dot(red, red, squares_));
        blue_squares_ = dot(blue, blue, blue_squares_);
        red_green_ = dot(red, green, red_green_);
        blue_others_ = dot(green, blue, dot(red, blue, blue_others_));
        red_ = dot(red, ones, red_);
        green_ = dot(green, ones, green_);
        blue_ = dot(blue, ones, blue_);
    }

    /// Adds the luma of a row of the plane: four pixels, and those to the left and to the right. The two rows before
    /// come first, if they are not above the image; `counts` is false for them. `keeps`: bits of the pixels whose noise
    /// is added, 16 per pixel.
    GPUHIST_HD void add_row(std::uint32_t luma, std::uint32_t left, std::uint32_t right, bool counts,
                            std::uint32_t keep_first, std::uint32_t keep_second) {
        const std::uint32_t left1 = permute(left, luma, 0x6543), left2 = permute(left, luma, 0x5432),
                            right1 = permute(luma, right, 0x4321), right2 = permute(luma, right, 0x5432);
        const Pair first = pair(luma, 0x4140), second = pair(luma, 0x4342), between = pair(right1, 0x4140);
        const Pair bend_first = (pair(left1, 0x4140) - first) + (between - first),
                   bend_second = (between - second) + (pair(right1, 0x4342) - second);
        if (counts) {
            none_ = dot(luma, luma, none_);
            one_ = dot(above_, luma, dot(luma, right1, one_));
            two_ = dot(higher_, luma, dot(luma, right2, two_));
            diagonal_ = dot(above_, left1, dot(above_, right1, diagonal_));
            two_and_one_ = dot(above_, left2, dot(above_, right2, two_and_one_));
            two_and_one_ = dot(higher_, left1, dot(higher_, right1, two_and_one_));
            far_diagonal_ = dot(higher_, left2, dot(higher_, right2, far_diagonal_));
            add_noise((bends_higher_[0].less_twice(bends_above_[0]) + bend_first).kept(keep_first));
            add_noise((bends_higher_[1].less_twice(bends_above_[1]) + bend_second).kept(keep_second));
        }
        higher_ = above_;
        above_ = luma;
        bends_higher_[0] = bends_above_[0];
        bends_higher_[1] = bends_above_[1];
        bends_above_[0] = bend_first;
        bends_above_[1] = bend_second;
    }

    /// Calls add(sum, value) with the sums over the columns in the plane.
    template <class Add>
    GPUHIST_HD void take(const Add& add) const {
        const std::int64_t none = none_, one = one_, two = two_, diagonal = diagonal_, two_and_one = two_and_one_,
                           far_diagonal = far_diagonal_;
        add(first_sum<measures::Laplacian>() + 2, 20 * none - 16 * one + 4 * diagonal + 2 * two);
        add(first_sum<measures::Tenengrad>() + 1, 24 * none + 16 * one - 8 * two - 8 * two_and_one - 4 * far_diagonal);
        add(first_sum<measures::Noise>() + 1, static_cast<std::int64_t>(noise_));
        const std::int64_t squares = squares_, blue_squares = blue_squares_, red_green = red_green_,
                           blue_others = blue_others_, red = red_, green = green_, blue = blue_;
        constexpr int colorfulness = first_sum<measures::Colorfulness>() + 1;
        add(colorfulness, red - green);
        add(colorfulness + 1, squares - 2 * red_green);
        add(colorfulness + 2, red + green - 2 * blue);
        add(colorfulness + 3, squares + 2 * red_green + 4 * blue_squares - 4 * blue_others);
        add(first_sum<measures::Gray>() + 1, std::int64_t{not_gray_ / 0x80});
    }

  private:
    GPUHIST_HD static Pair pair(std::uint32_t bytes, std::uint32_t selector) {
        return Pair::of_bytes(permute(bytes, Pair::upper, selector));
    }
    GPUHIST_HD void add_noise(const Pair& noise) { noise_ = noise_ + fabsf(noise.first()) + fabsf(noise.second()); }

    std::uint32_t above_ = 0, higher_ = 0;             ///< luma of the last row, and of the one before
    Pair bends_above_[2] = {}, bends_higher_[2] = {};  ///< their second differences along the row
    float noise_ = 0;                                  ///< at the last row
    /// Sums of products of luma at a distance, in columns and rows: none, 1 in one of them, 2 in one of them, 1 in
    /// both, 2 in one and 1 in the other, 2 in both.
    std::uint32_t none_ = 0, one_ = 0, two_ = 0, diagonal_ = 0, two_and_one_ = 0, far_diagonal_ = 0;
    /// Sums of products of colors: squares of red and green, and of blue; red and green; blue and red or green.
    std::uint32_t squares_ = 0, blue_squares_ = 0, red_green_ = 0, blue_others_ = 0;
    std::uint32_t red_ = 0, green_ = 0, blue_ = 0, not_gray_ = 0;  ///< 128 per pixel that is not gray
};

/// Place at the border of an image: the pixels around it, and those at its edge. Numbers begin with 0.
GPUHIST_HD inline std::int64_t border_places(std::int64_t width, std::int64_t height) {
    return 2 * (width + 2) + 2 * height + 2 * width + 2 * (height - 2);
}
GPUHIST_HD inline void border_place(std::int64_t number, std::int64_t width, std::int64_t height, std::int64_t& x,
                                    std::int64_t& y) {
    std::int64_t before = 1;  // the frame begins so far outside
    if (number >= 2 * (width + 2) + 2 * height) {
        number -= 2 * (width + 2) + 2 * height;
        before = 0;
    }
    const std::int64_t wide = width + 2 * before, high = height + 2 * before - 2;
    if (number < 2 * wide) {
        x = number % wide - before;
        y = number < wide ? -before : height - 1 + before;
    } else {
        number -= 2 * wide;
        x = number < high ? -before : width - 1 + before;
        y = number % high + 1 - before;
    }
}

/// Adds what the sums of an image have at a place of the border more than those over the plane. `luma_at(x, y)` is
/// asked for pixels of the image alone. Sides are at least 3.
template <class LumaAt>
GPUHIST_HD void add_border(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height,
                           const LumaAt& luma_at, ThreadSums& sums) {
    using Value = measures::Value<std::uint8_t>;
    Value around[3][3];
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            const bool in = x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height;
            around[dy + 1][dx + 1] = in ? static_cast<Value>(luma_at(x + dx, y + dy)) : Value{0};
        }
    const measures::Pixel<Value> at{{around[0] + 1, around[1] + 1, around[2] + 1}, {}, 0};
    sums.add<measures::Laplacian>(at, -1);
    sums.add<measures::Tenengrad>(at, -1);
    if (y <= 0 && x > 0 && x + 1 < width) sums.add<measures::Noise>(at, -1);  // which lanes add from above the image on
    if (x < 0 || x >= width || y < 0 || y >= height) return;
    for (int i = 0; i < 3; ++i) {
        if (x == 0) around[i][0] = around[i][2];
        if (x + 1 == width) around[i][2] = around[i][0];
    }
    for (int i = 0; i < 3; ++i) {
        if (y == 0) around[0][i] = around[2][i];
        if (y + 1 == height) around[2][i] = around[0][i];
    }
    sums.add<measures::Laplacian>(at);
    sums.add<measures::Tenengrad>(at);
}

/// Adds the numbers of pixels of the measures of neighborhoods to those that `add_border` adds.
GPUHIST_HD inline void add_neighborhoods(std::int64_t width, std::int64_t height, ThreadSums& sums) {
    const std::int64_t around = 2 * (width + 2) + 2 * height;  // which it has subtracted
    sums.of[first_sum<measures::Laplacian>()] += width * height + around;
    sums.of[first_sum<measures::Tenengrad>()] += width * height + around;
    sums.of[first_sum<measures::Noise>()] += (width - 2) * height;
}

}  // namespace gpuhist::cuda
