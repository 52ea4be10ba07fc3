// Samples of a component as of the whole image: libjpeg's fancy upsampling, which weighs the nearer of two samples by
// 3 and the other by 1, per direction; the first and last rows and columns have themselves as neighbors. Where it has
// none, a sample is repeated.
#pragma once

#include <cstdint>

#include "core/portable.hpp"
#include "jpeg/image.hpp"

namespace gpuhist::jpeg {

/// Samples of row y from column x on, a multiple of 4. Those behind the image's last column mean nothing.
GPUHIST_HD inline void upsample(const Component& c, const std::uint8_t* plane, std::int32_t x, std::int32_t y,
                                std::int32_t out[together]) {
    const std::int32_t last_column = c.width - 1, last_row = c.height - 1;
    const auto row = [&](std::int32_t i) {
        return plane + std::int64_t{i < 0 ? 0 : i > last_row ? last_row : i} * c.row_samples;
    };
    const auto column = [&](std::int32_t i) { return i < 0 ? 0 : i > last_column ? last_column : i; };
    const bool odd = (y & 1) != 0;
    switch (c.upsampling) {
        case Upsampling::repeated: {
            const std::uint8_t* at = row(y / c.times_down);
            for (int i = 0; i < together; ++i) out[i] = at[column((x + i) / c.times_across)];
            break;
        }
        case Upsampling::fancy_h1v2: {
            const std::uint8_t *near = row(y / 2), *far = row(odd ? y / 2 + 1 : y / 2 - 1);
            for (int i = 0; i < together; ++i)
                out[i] = (3 * near[column(x + i)] + far[column(x + i)] + (odd ? 2 : 1)) >> 2;
            break;
        }
        case Upsampling::fancy_h2v1: {
            const std::uint8_t* at = row(y);
            std::int32_t v[together / 2 + 2];
            for (int i = 0; i < together / 2 + 2; ++i) v[i] = at[column(x / 2 - 1 + i)];
            for (int i = 0; i < together / 2; ++i) {
                out[2 * i] = (3 * v[i + 1] + v[i] + 1) >> 2;
                out[2 * i + 1] = (3 * v[i + 1] + v[i + 2] + 2) >> 2;
            }
            break;
        }
        case Upsampling::fancy_h2v2: {
            const std::uint8_t *near = row(y / 2), *far = row(odd ? y / 2 + 1 : y / 2 - 1);
            std::int32_t v[together / 2 + 2];
            for (int i = 0; i < together / 2 + 2; ++i) {
                const std::int32_t at = column(x / 2 - 1 + i);
                v[i] = 3 * near[at] + far[at];
            }
            for (int i = 0; i < together / 2; ++i) {
                out[2 * i] = (3 * v[i + 1] + v[i] + 8) >> 4;
                out[2 * i + 1] = (3 * v[i + 1] + v[i + 2] + 7) >> 4;
            }
            break;
        }
    }
}

}  // namespace gpuhist::jpeg
