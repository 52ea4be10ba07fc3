// Percentiles of brightness: sqrt(0.241 R^2 + 0.691 G^2 + 0.068 B^2), after D. R. Finley's HSP model, as CleanVision
// has them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "measures/measure.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist::measures {

constexpr MeasureColumn brightness_column(const char* name) {
    return {
        Measure::brightness,
        name,
        "fraction",
        ColumnType::number,
        "Percentile of sqrt(0.241 R^2 + 0.691 G^2 + 0.068 B^2) / white, or of gray / white, at index q / 100 (n - 1) "
        "of the sorted pixels, interpolated linearly.",
        "CleanVision's calc_percentile_brightness",
        "--quality, one white"};
}

struct Brightness {
    static constexpr Measure measure = Measure::brightness;
    static constexpr std::uint8_t percents[] = {1, 5, 10, 15, 90, 95, 99};
    static constexpr MeasureColumn columns[] = {
        brightness_column("brightness_p1"),  brightness_column("brightness_p5"),  brightness_column("brightness_p10"),
        brightness_column("brightness_p15"), brightness_column("brightness_p90"), brightness_column("brightness_p95"),
        brightness_column("brightness_p99")};

    /// Whether the keys of a sample type are whole numbers: 1000 times the square of brightness. Other keys are the
    /// bits of that square.
    template <class Sample>
    static constexpr bool whole = sizeof(Sample) <= 2 && !core::is_real<Sample>;

    /// Bits of the keys of a sample type.
    template <class Sample>
    static constexpr int key_bits = whole<Sample> ? (sizeof(Sample) == 1 ? 26 : 42) : 63;

    /// Key of a pixel from the squares of its colors, of whole numbers.
    template <class Square>
    GPUHIST_HD static constexpr Square key_of_squares(Square red, Square green, Square blue) {
        return 241 * red + 691 * green + 68 * blue;
    }
    /// Key of a pixel from the values of its colors: brighter pixels have higher ones. Returns false if the square
    /// overflows.
    template <class Sample>
    static bool key_of(Value<Sample> red, Value<Sample> green, Value<Sample> blue, std::uint64_t& key) {
        constexpr const DepthTraits& traits = traits_of(core::depth_of<Sample>());
        if constexpr (whole<Sample>) {
            const auto square = [](Value<Sample> value) {
                const std::int64_t sample = value + static_cast<std::int64_t>(traits.lowest);
                return static_cast<std::uint64_t>(sample * sample);
            };
            key = key_of_squares(square(red), square(green), square(blue));
            return true;
        } else {
            const auto square = [](Value<Sample> value) {
                const double sample =
                    static_cast<double>(value) * unit_of(traits.depth) + (core::is_real<Sample> ? 0.0 : traits.lowest);
                return sample * sample;
            };
            const double sum = 0.241 * square(red) + 0.691 * square(green) + 0.068 * square(blue);
            std::memcpy(&key, &sum, sizeof key);
            return std::isfinite(sum);
        }
    }

    /// Keys of colors are in the findings, two per percentile: those at the ranks that enclose it.
    static std::vector<MeasureValue> values(const Analysis& image) {
        std::vector<MeasureValue> values(std::size(columns));
        const Measured& found = *findings(image, measure);
        if (!(image.white > 0)) return values;
        if (!image.find(Channel::red)) {
            const auto row = statistics_of_luma(image, Percentiles({std::begin(percents), std::end(percents)}));
            for (std::size_t i = 0; row && i < values.size(); ++i)
                if (const auto value = row->percentile(percents[i])) values[i] = *value / image.white;
            return values;
        }
        if (found.sums.empty()) return values;
        const DepthTraits& traits = traits_of(image.depth);
        const bool whole_keys = traits.counting == Counting::values && !traits.floating;
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::size_t next = 2 * i;
            values[i] = core::percentile_of(percents[i] * 1'000'000u, found.pixels, [&](std::uint64_t) {
                const std::uint64_t key = found.sums[next++].low;
                double square = static_cast<double>(key) / 1000;
                if (!whole_keys) std::memcpy(&square, &key, sizeof square);
                return std::sqrt(square) / image.white;
            });
        }
        return values;
    }
};

}  // namespace gpuhist::measures
