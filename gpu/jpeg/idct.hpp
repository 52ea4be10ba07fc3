// Inverse DCT of libjpeg's accurate integer method (Loeffler, Ligtenberg and Moschytz), columns first. Its C code has
// 32 bits where libjpeg-turbo's SIMD code has 16; where numbers fit into 16 they agree, and every block that an encoder
// makes of pixels does so.
#pragma once

#include <cstdint>

#include "core/portable.hpp"
#include "jpeg/image.hpp"

namespace gpuhist::jpeg {

/// Test whether numbers fit into 16 bits, of many at once.
class Fits16 {
  public:
    GPUHIST_HD void add(std::int32_t number) { outside_ |= static_cast<std::uint32_t>(number) + 32768U; }
    GPUHIST_HD bool all() const { return outside_ >> 16 == 0; }

  private:
    std::uint32_t outside_ = 0;
};

/// Inverse DCT of 8 numbers, in place, rounded and without the lowest `dropped` bits. Nothing overflows where the
/// numbers and the sums fit.
template <int dropped>
GPUHIST_HD inline void inverse_dct(std::int32_t v[side], Fits16& fits) {
    constexpr int fraction = 13;
    const auto times = [](std::int32_t a, std::int32_t b) {
        return static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b);
    };
    fits.add(v[0] + v[4]);
    fits.add(v[0] - v[4]);
    fits.add(v[7] + v[3]);
    fits.add(v[5] + v[1]);
    // Even part. Unsigned, since it may wrap where the numbers do not fit.
    const std::uint32_t e1 = times(v[2] + v[6], 4433), e2 = e1 - times(v[6], 15137), e3 = e1 + times(v[2], 6270);
    const std::uint32_t s0 = static_cast<std::uint32_t>(v[0] + v[4]) << fraction,
                        s1 = static_cast<std::uint32_t>(v[0] - v[4]) << fraction;
    const std::uint32_t a0 = s0 + e3, a3 = s0 - e3, a1 = s1 + e2, a2 = s1 - e2;
    // Odd part.
    const std::uint32_t z5 = times(v[7] + v[3] + v[5] + v[1], 9633);
    const std::uint32_t z1 = times(v[7] + v[1], -7373), z2 = times(v[5] + v[3], -20995),
                        z3 = times(v[7] + v[3], -16069) + z5, z4 = times(v[5] + v[1], -3196) + z5;
    const std::uint32_t b0 = times(v[7], 2446) + z1 + z3, b1 = times(v[5], 16819) + z2 + z4,
                        b2 = times(v[3], 25172) + z2 + z3, b3 = times(v[1], 12299) + z1 + z4;
    const auto rounded = [](std::uint32_t sum) {
        return static_cast<std::int32_t>(sum + (std::uint32_t{1} << (dropped - 1))) >> dropped;
    };
    v[0] = rounded(a0 + b3);
    v[7] = rounded(a0 - b3);
    v[1] = rounded(a1 + b2);
    v[6] = rounded(a1 - b2);
    v[2] = rounded(a2 + b1);
    v[5] = rounded(a2 - b1);
    v[3] = rounded(a3 + b0);
    v[4] = rounded(a3 - b0);
}

/// First pass, over a column of coefficients. If its results do not fit into 16 bits, `fits` says so.
GPUHIST_HD inline void transform_column(const std::int16_t* coefficients, const std::uint16_t* quantization,
                                        std::int32_t v[side], Fits16& fits) {
    for (int i = 0; i < side; ++i) {
        v[i] = coefficients[i * side] * std::int32_t{quantization[i * side]};
        fits.add(v[i]);
    }
    inverse_dct<11>(v, fits);
    for (int i = 0; i < side; ++i) fits.add(v[i]);
}

/// Second pass, of a row: samples.
GPUHIST_HD inline void transform_row(std::int32_t v[side], std::uint8_t samples[side], Fits16& fits) {
    inverse_dct<18>(v, fits);
    for (int i = 0; i < side; ++i) {
        // Farther out, libjpeg's table of limits is at its end and begins anew.
        const std::int32_t sample = v[i] < -512 || v[i] > 511 ? 1 << 20 : v[i] + 128;
        fits.add(sample);
        samples[i] = static_cast<std::uint8_t>(sample < 0 ? 0 : sample > 255 ? 255 : sample);
    }
}

/// Place of a block in the plane of its component.
struct BlockPlace {
    std::int32_t component;
    std::int64_t first_sample;
};
GPUHIST_HD inline BlockPlace place_of(const Image& image, std::uint32_t block) {
    const auto mcu_blocks = static_cast<std::uint32_t>(image.mcu_blocks),
               mcus_across = static_cast<std::uint32_t>(image.mcus_across);
    const std::uint32_t mcu = block / mcu_blocks, mcu_row = mcu / mcus_across, mcu_column = mcu - mcu_row * mcus_across;
    const McuBlock& at = image.block[block - mcu * mcu_blocks];
    const Component& component = image.component[at.component];
    const std::int64_t row = std::int64_t{mcu_row} * component.down + at.row,
                       column = std::int64_t{mcu_column} * component.across + at.column;
    return {at.component, component.plane + row * side * component.row_samples + column * side};
}

}  // namespace gpuhist::jpeg
