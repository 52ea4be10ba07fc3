// Hashes of an image, which are found by an accumulator of their own (cpu/hashes.cpp).
#pragma once

#include "gpuhist/hashes.hpp"
#include "measures/measure.hpp"

namespace gpuhist::measures {

struct Hashes {
    static constexpr Measure measure = Measure::hashes;
    static constexpr MeasureColumn columns[] = {
        {measure, "pixels_hash", "none", ColumnType::text,
         "XXH3-128 of the line 'width height depth samples', where samples is their number in a pixel, and of the "
         "XXH3-128 of each 64 KiB of the samples: rows from the top without gaps, colors as red, green, blue, then "
         "alpha, then others, little-endian. Of all pixels, excluded or not.",
         "xxhash", "--quality"},
        {measure, "dhash", "none", ColumnType::text,
         "64 bits of 9 x 8 means of luma over equal areas, mapped to 0 to 255 between the lowest and the highest mean "
         "and rounded: whether a mean is higher than the one to its left. Of all pixels, NaN and Inf being 0.",
         "imagehash.dhash of the 9 x 8 means", "--quality, colors or gray"},
        {measure, "phash", "none", ColumnType::text,
         "64 bits of 32 x 32 such means: whether one of the 8 x 8 lowest coefficients of their DCT is higher than the "
         "32nd of these in ascending order.",
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
