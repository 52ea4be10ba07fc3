// clahe as cv::createCLAHE: tiles of an image, clipped counts, and codes of tables, for both engines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/levels.hpp"
#include "core/portable.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::core {

/// Number of bins over which clipped counts are spread: all values of the depth, or those up to `white`. Host only.
inline std::int64_t clahe_bins(const Normalization& normalization, Depth depth) {
    const DepthTraits& traits = traits_of(depth);
    if (!normalization.clip_white) return traits.values;
    const double white = std::clamp(normalization.white.value_or(traits.highest), traits.lowest, traits.highest);
    return static_cast<std::int64_t>(white - traits.lowest) + 1;
}

/// Tiles along one side of an image.
struct TiledSide {
    std::int64_t side, tiles, length;  ///< pixels, tiles, and pixels of a tile
    float inverse;                     ///< of the length

    GPUHIST_HD TiledSide(std::int64_t pixels, std::int64_t count, bool extended)
        : side(pixels),
          tiles(count),
          length((extended ? pixels + count - pixels % count : pixels) / count),
          inverse(1.0f / static_cast<float>(length)) {}

    /// Pixel at a place in the tiles: cv::BORDER_REFLECT_101.
    GPUHIST_HD std::int64_t reflected(std::int64_t at) const {
        if (side == 1) return 0;
        while (at >= side || at < 0) at = at < 0 ? -at : 2 * side - 2 - at;
        return at;
    }
    /// Place of a pixel among the centers of the tiles: 0 is the first center. Conversion from 64 bits is slow on a
    /// GPU.
    GPUHIST_HD float place(std::int64_t at) const {
        const float value = side <= 0x7FFFFFFF ? static_cast<float>(static_cast<int>(at)) : static_cast<float>(at);
        return value * inverse - 0.5f;
    }

    /// Tiles between whose centers a pixel lies, and the weight of the second.
    struct Between {
        std::int64_t first, second;
        float to_second;
    };
    GPUHIST_HD Between between(std::int64_t at) const {
        const float where = place(at), before = floorf(where);
        const auto first = static_cast<std::int64_t>(before), last = tiles - 1;
        return {first < 0 ? 0 : first, first < last ? first + 1 : last, where - before};
    }
};

/// Tiles of an image. Where their numbers do not divide both sides, the image is extended by its mirror image.
struct TiledImage {
    TiledSide across, down;

    GPUHIST_HD TiledImage(std::int64_t width, std::int64_t height, std::int64_t tiles_x, std::int64_t tiles_y)
        : across(width, tiles_x, width % tiles_x != 0 || height % tiles_y != 0),
          down(height, tiles_y, width % tiles_x != 0 || height % tiles_y != 0) {}
};

/// Highest count that is not clipped, of n samples; 0: all counts stay.
GPUHIST_HD inline std::uint32_t highest_count(double clip_limit, std::int64_t n, std::int64_t bins) {
    if (!(clip_limit > 0) || n == 0) return 0;
    const double limit = floor(clip_limit * static_cast<double>(n) / static_cast<double>(bins));
    return static_cast<std::uint32_t>(fmax(1.0, fmin(limit, 2147483647.0)));
}

/// Clipped samples, spread over the bins: `each` for all bins, and one more for every `step`-th bin, `rest` of them.
template <class Int>
struct ClippedSamples {
    Int each, rest, step;

    GPUHIST_HD ClippedSamples(Int clipped, Int bins)
        : each(clipped / bins), rest(clipped - each * bins), step(rest > 0 ? bins / rest : 1) {}
    /// Samples that a bin gains.
    GPUHIST_HD Int of(Int bin) const { return each + (bin % step == 0 && bin / step < rest ? 1 : 0); }
};

/// Value rounded to the nearest code, halves to even; `top`: the highest.
GPUHIST_HD inline std::uint32_t clahe_rounded(float value, float top) {
    const float whole = rintf(value);
    return static_cast<std::uint32_t>(whole < 0 ? 0 : whole > top ? top : whole);
}

/// Code that a table has for a value. `through`: spread samples up to it; `scale`: width of the levels per sample.
GPUHIST_HD inline std::uint32_t clahe_code(std::int32_t through, float scale, float top, const Levels& levels) {
    const std::uint32_t code = clahe_rounded(static_cast<float>(through) * scale, top);
    return levels.first + (code < levels.width() ? code : levels.width());
}

}  // namespace gpuhist::core
