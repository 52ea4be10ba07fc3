// Hashes of an image, which are found by an accumulator of their own (cpu/hashes.cpp).
#pragma once

#include "gpuhist/hashes.hpp"
#include "measures/measure.hpp"

namespace gpuhist::measures {

struct Hashes {
    static constexpr Measure measure = Measure::hashes;
    static constexpr MeasureColumn columns[] = {
        {measure, "pixels_hash", "none", ColumnType::text,
         "XXH3-128 of the line 'width height depth samples', where samples is the number of samples per pixel, "
         "followed by the XXH3-128 of each 64 KiB of the samples: rows from the top without gaps; red, green, blue, "
         "then alpha, then bands; little-endian. Covers all pixels, excluded or not.",
         "xxhash", "--quality"},
        {measure, "dhash", "none", ColumnType::text,
         "64 bits from the means of luma over 9 x 8 equal areas, scaled so that the lowest is 0 and the highest 255, "
         "and rounded: whether a mean is higher than the one to its left. Covers all pixels; NaN and Inf are treated "
         "as 0.",
         "imagehash.dhash of the 9 x 8 means", "--quality, colors or gray"},
        {measure, "phash", "none", ColumnType::text,
         "64 bits from 32 x 32 such means, one for each of the 8 x 8 lowest frequencies of their DCT: whether its "
         "coefficient is higher than the 32nd smallest of the 64.",
         "imagehash.phash of the 32 x 32 means", "--quality, colors or gray"}};

    static std::vector<MeasureValue> values(const Analysis& image) {
        std::vector<MeasureValue> values(std::size(columns));
        const std::vector<Int128>& found = findings(image, measure)->sums;
        for (std::size_t i = 0; i < found.size(); ++i)
            values[i] = i == 0 ? hash_text(Hash128{static_cast<std::uint64_t>(found[0].high), found[0].low})
                               : hash_text(found[i].low);
        return values;
    }
};

}  // namespace gpuhist::measures
