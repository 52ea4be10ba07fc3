// Measures of bytes without a mask, four pixels at a time: for host and device. Formulas alone; which lane has which
// pixels, and what lies beside them, is the business of a warp (bytes.cu).
//
// Sums of squares of a filter over the whole plane, where the image is surrounded by zeros, follow from the sums of
// products of pixels at a distance: sum of (k * I)^2 = sum over distances d of (k * k)(d) times the sum of I(p) I(p +
// d). Products of bytes are added up four at once, and on newer GPUs by tensor cores. What is different at the border,
// where it is reflected, is corrected there (`add_border`). So there are no sums of Laplacian: those over the plane are
// zero.
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
inline constexpr std::uint32_t all_bytes = 0xFFFFFFFF, ones = 0x01010101;

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

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define GPUHIST_TENSOR_CORES 1
#else
#define GPUHIST_TENSOR_CORES 0
#endif

/// Two sums of products of bytes of a warp, modulo 2^32. On tensor cores: the diagonals of a matrix, of which a row and
/// a column are the bytes of four lanes.
class Dots {
  public:
    /// first += a.low * b.low + a.high * b.high; second += c.low * b.low + c.high * b.high. By all lanes of a warp.
    GPUHIST_HD void add(std::uint32_t a_low, std::uint32_t a_high, std::uint32_t c_low, std::uint32_t c_high,
                        std::uint32_t b_low, std::uint32_t b_high) {
#if GPUHIST_TENSOR_CORES
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
            "%2, %3};"
            : "+r"(sums_[0]), "+r"(sums_[1]), "+r"(sums_[2]), "+r"(sums_[3])
            : "r"(a_low), "r"(c_low), "r"(a_high), "r"(c_high), "r"(b_low), "r"(b_high));
#else
        sums_[0] = dot(a_high, b_high, dot(a_low, b_low, sums_[0]));
        sums_[1] = dot(c_high, b_high, dot(c_low, b_low, sums_[1]));
#endif
    }
    /// Share of a lane in the sums.
    GPUHIST_HD std::int64_t first() const {
        return share(0);
    }
    GPUHIST_HD std::int64_t second() const {
        return share(1);
    }

  private:
    GPUHIST_HD std::int64_t share(int sum) const {
#if GPUHIST_TENSOR_CORES
        const int lane = threadIdx.x % 32, row = lane / 4;  // with columns 2 (lane % 4) and the next
        if (row / 2 != lane % 4) return 0;
        return row % 2 == 0 ? sums_[2 * sum] : sums_[2 * sum + 1];
#else
        return sums_[sum];
#endif
    }
    std::uint32_t sums_[2 + 2 * GPUHIST_TENSOR_CORES] = {};
};

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

/// Sums of four columns, row after row.
class ByteSums {
  public:
    /// Rows at most between two calls of `take`: sums of products of 32 bits have room for 1032, floats that are whole
    /// numbers for 2056.
    static constexpr int most_rows = 512;

    /// Adds the colors of a row: of the pixels that are the lane's own, else zeros.
    GPUHIST_HD void add_colors(std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
        constexpr std::uint32_t low = 0x7F7F7F7F;
        const std::uint32_t differ = (red ^ green) | (green ^ blue), high = (((differ & low) + low) | differ) & ~low;
        colors_[0].add(red, green, blue, blue, red, green);
        colors_[1].add(red, 0, 0, blue, green, blue);
        colors_[2].add(ones, 0, 0, ones, red, green);
        colors_[3].add(ones, 0, 0, ones, blue, high);
    }

    /// Takes the luma of a row: four pixels, and those to the left and to the right, which are zero outside the image.
    /// `own`: zero in pixels that are not the lane's own. The first two rows are only looked at: rows above the image
    /// are zero.
    GPUHIST_HD void begin_row(std::uint32_t luma, std::uint32_t left, std::uint32_t right, std::uint32_t own) {
        const std::uint32_t before = permute(left, luma, 0x6543), behind = permute(luma, right, 0x4321);
        const Pair first = Pair::of_bytes(permute(luma, Pair::upper, 0x4140)),
                   second = Pair::of_bytes(permute(luma, Pair::upper, 0x4342)),
                   between = Pair::of_bytes(permute(behind, Pair::upper, 0x4140));
        rows_[1] = rows_[0];
        rows_[0] = luma & own;
        for (int i = 0; i < 2; ++i) {
            bends_[2][i] = bends_[1][i];
            bends_[1][i] = bends_[0][i];
        }
        bends_[0][0] = (Pair::of_bytes(permute(before, Pair::upper, 0x4140)) - first) + (between - first);
        bends_[0][1] = (between - second) + (Pair::of_bytes(permute(behind, Pair::upper, 0x4342)) - second);
    }
    GPUHIST_HD void add_row(std::uint32_t luma, std::uint32_t left, std::uint32_t right, std::uint32_t own) {
        const std::uint32_t above = rows_[0], higher = rows_[1], row = luma & own;
        const std::uint32_t left1 = permute(left, luma, 0x6543), left2 = permute(left, luma, 0x5432),
                            right1 = permute(luma, right, 0x4321), right2 = permute(luma, right, 0x5432);
        // By distance in columns and rows: (2, 1) and (1, 2) on both sides; (1, 1) on both sides;
        products_[0].add(right2, right1, right1, 0, above, higher);
        products_[0].add(left2, left1, left1, 0, above, higher);
        // (2, 0) and (0, 2); none;
        products_[1].add(right2, luma, luma, 0, row, higher);
        // (1, 0) and (0, 1); (2, 2) on both sides.
        products_[2].add(right1, 0, 0, right2, row, higher);
        products_[2].add(luma, 0, 0, left2, above, higher);
        begin_row(luma, left, right, own);
    }
    /// Adds the noise at the row before the last, inside the border. `keeps`: bits of two pixels each that are inside.
    GPUHIST_HD void add_noise(std::uint32_t keep_first, std::uint32_t keep_second) {
        const std::uint32_t keeps[] = {keep_first, keep_second};
        for (int i = 0; i < 2; ++i) {
            const Pair noise = (bends_[2][i].less_twice(bends_[1][i]) + bends_[0][i]).kept(keeps[i]);
            noise_ += fabsf(noise.first());
            noise_ += fabsf(noise.second());
        }
    }

    /// Calls add(sum, value) with the lane's share in each sum over the plane, and begins anew.
    template <class Add>
    GPUHIST_HD void take(const Add& add) {
        const std::int64_t far_1 = products_[0].first(), diagonal_1 = products_[0].second(), two = products_[1].first(),
                           none = products_[1].second(), one = products_[2].first(), diagonal_2 = products_[2].second();
        add(first_sum<measures::Laplacian>() + 2, 20 * none - 16 * one + 4 * diagonal_1 + 2 * two);
        add(first_sum<measures::Tenengrad>() + 1, 24 * none + 16 * one - 8 * two - 8 * far_1 - 4 * diagonal_2);
        add(first_sum<measures::Noise>() + 1, static_cast<std::int64_t>(noise_));
        const std::int64_t squares = colors_[0].first(), blue_others = colors_[0].second(),
                           red_green = colors_[1].first(), blues = colors_[1].second(), red = colors_[2].first(),
                           green = colors_[2].second(), blue = colors_[3].first(), high_bits = colors_[3].second();
        constexpr int colorfulness = first_sum<measures::Colorfulness>() + 1;
        add(colorfulness, red - green);
        add(colorfulness + 1, squares - 2 * red_green);
        add(colorfulness + 2, red + green - 2 * blue);
        add(colorfulness + 3, squares + 2 * red_green + 4 * blues - 4 * blue_others);
        add(first_sum<measures::Gray>() + 1, high_bits / 128);
        *this = ByteSums();
    }

  private:
    std::uint32_t rows_[2] = {};  ///< luma of the last rows, the last one first, of own pixels
    Pair bends_[3][2] = {};       ///< second differences along the last rows
    float noise_ = 0;
    Dots products_[3], colors_[4];
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
    sums.of[first_sum<measures::Noise>()] += (width - 2) * (height - 2);
}

}  // namespace gpuhist::cuda
