// Rows of pixels as measures read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/channels.hpp"
#include "core/codes.hpp"
#include "core/luma.hpp"
#include "cpu/simd/avx2.hpp"
#include "gpuhist/image.hpp"
#include "measures/measure.hpp"

namespace gpuhist::cpu {

/// Row of an image as values, with one more pixel at each end: the border, reflected.
template <class Value>
struct MeasureRow {
    std::vector<Value> luma;          ///< as far as it is read
    std::vector<Value> colors[3];     ///< as far as they are read
    std::vector<std::uint8_t> valid;  ///< pixels without an excluded or non-finite sample
    bool all_valid = true;
};

/// Pixels of rows that are one.
inline constexpr std::int64_t most_together = std::int64_t{1} << 20;

/// Returns whether measures see colors in an image.
inline bool measures_colors(const ImageView& image) {
    return core::colors_of(image) == 3 && image.samples != Samples::gray_alpha;
}

/// First sample of a row of a strip. A strip of one row needs no distance between rows.
template <class Sample>
const Sample* row_of(const ImageView& strip, std::int64_t y) {
    return reinterpret_cast<const Sample*>(static_cast<const std::byte*>(strip.data) +
                                           (strip.height == 1 ? 0 : y * strip.row_bytes));
}
inline const std::uint8_t* mask_of(const ImageView& strip, std::int64_t y) {
    return strip.mask ? strip.mask + (strip.height == 1 ? 0 : y * strip.mask_row_bytes) : nullptr;
}

/// Rows of a strip from `first` up to `last` that measures of single pixels look at. Rows without gaps or a mask are
/// one row, so that its end, which takes longer, comes once.
inline ImageView rows_of(const ImageView& strip, std::int64_t first, std::int64_t last) {
    ImageView rows = strip;
    rows.data = row_of<std::byte>(strip, first);
    rows.mask = mask_of(strip, first);
    rows.height = last - first;
    if (!rows.mask && rows.height > 1 && rows.row_bytes == rows.packed_row_bytes() && rows.pixels() < most_together) {
        rows.width *= rows.height;
        rows.height = 1;
    }
    return rows;
}

/// What is read of a row: luma, or red, green and blue of images that have them. Colors of floats come with luma, which
/// decides with them which pixels are finite.
enum class RowOf { luma, colors };

/// Reads a row of a strip.
template <class Sample>
void read_row(const ImageView& strip, std::int64_t y, RowOf what, MeasureRow<measures::Value<Sample>>& row) {
    using Value = measures::Value<Sample>;
    const std::int64_t width = strip.width;
    const auto size = static_cast<std::size_t>(width + 2);
    const Sample* const pixels = row_of<Sample>(strip, y);
    const std::uint8_t* const mask = mask_of(strip, y);
    if (!row.all_valid || row.valid.size() != size) row.valid.assign(size, 1);
    std::uint8_t* const valid = row.valid.data() + 1;
    if (mask)
        for (std::int64_t x = 0; x < width; ++x) valid[x] = mask[x] != 0;
    const auto read = [&](std::vector<Value>& values, std::int64_t first, const auto& code_of) {
        const Sample* pixel = pixels + first * strip.channels;
        for (std::int64_t x = first; x < width; ++x, pixel += strip.channels) {
            const core::Code<Sample> code = code_of(pixel);
            if constexpr (core::is_real<Sample>)
                valid[x] &= code > core::minus_infinity_code<Sample> && code < core::plus_infinity_code<Sample>;
            values[static_cast<std::size_t>(x + 1)] = valid[x] ? measures::value_of<Sample>(code) : Value{};
        }
        values.front() = values[std::min<std::size_t>(2, size - 2)];
        values.back() = values[std::max<std::size_t>(3, size) - 3];
    };
    const bool has_colors = measures_colors(strip);
    const core::Positions at(strip.order);
    if (what == RowOf::colors && has_colors) {
        const int places[] = {at.red, at.green, at.blue};
        for (int c = 0; c < 3; ++c) {
            row.colors[c].resize(size);
            read(row.colors[c], 0, [&](const Sample* pixel) { return core::code_of(pixel[places[c]]); });
        }
    }
    if (what == RowOf::luma || core::is_real<Sample>) {
        row.luma.resize(size);
        std::int64_t done = 0;
        if constexpr (std::is_same_v<Sample, std::uint8_t>)
            if (has_colors && !mask && strip.channels <= 4 && avx2::supported())
                done =
                    avx2::luma_words(pixels, static_cast<int>(width), strip.channels, strip.order, row.luma.data() + 1);
        if (has_colors)
            read(row.luma, done, [&](const Sample* pixel) {
                return core::luma_code<Sample>(core::code_of(pixel[at.red]), core::code_of(pixel[at.green]),
                                               core::code_of(pixel[at.blue]));
            });
        else
            read(row.luma, 0, [&](const Sample* pixel) { return core::code_of(pixel[0]); });
    }
    row.valid.front() = row.valid[std::min<std::size_t>(2, size - 2)];
    row.valid.back() = row.valid[std::max<std::size_t>(3, size) - 3];
    row.all_valid = (!mask && !core::is_real<Sample>) ||
                    std::all_of(row.valid.begin(), row.valid.end(), [](std::uint8_t one) { return one != 0; });
}

}  // namespace gpuhist::cpu
