#include "cpu/colors.hpp"

#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "cpu/measure_rows.hpp"
#include "cpu/measure_sums.hpp"
#include "cpu/simd/avx2.hpp"
#include "measures/list.hpp"

namespace gpuhist::cpu {
namespace {

template <class Which>
constexpr bool has_colors = Which::reach == measures::Reach::colors;

/// Sums of measures of bytes, found together.
std::array<std::int64_t, 4> sums_of(measures::Colorfulness, const avx2::ColorSums& found) {
    return {found.red_green, found.red_green_squares, found.yellow_blue, found.yellow_blue_squares};
}
std::array<std::int64_t, 1> sums_of(measures::Gray, const avx2::ColorSums& found) {
    return {found.pixels - found.gray};
}

template <class Sample>
class ColorStrips final : public StripAnalysis {
  public:
    explicit ColorStrips(const MeasuredImage& of)
        : workers_(of.workers),
          measures_(of.measures),
          has_colors_(measures_colors(of.image)),
          result_(of.result),
          totals_(static_cast<std::size_t>(of.workers.threads())) {}

    void take(const ImageView& strip) override {
        if (!has_colors_) return;
        workers_.sweep_rows(strip.height, strip.width, [&](int worker, std::int64_t first, std::int64_t last) {
            MeasureRow<Value> row;
            const ImageView rows = rows_of(strip, first, last);
            for (std::int64_t y = 0; y < rows.height; ++y)
                add_row(rows, y, row, totals_[static_cast<std::size_t>(worker)]);
        });
    }

    bool end_pass() override {
        std::size_t place = 0;
        measures::OfPixels::for_each([&](auto measure) {
            using Which = decltype(measure);
            const std::size_t here = place++;
            if constexpr (has_colors<Which>)
                if (measures_.has(Which::measure)) result_.measured.push_back(found_in<Which>(totals_, here));
        });
        return false;
    }

  private:
    using Value = measures::Value<Sample>;

    void add_row(const ImageView& strip, std::int64_t y, MeasureRow<Value>& row, MeasureTotals<Value>& totals) const {
        ImageView rest = strip;  // the row's pixels that are not measured yet
        rest.data = row_of<Sample>(strip, y);
        rest.mask = mask_of(strip, y);
        rest.height = 1;
        const auto add = [&](auto measure, MeasureSums<Value>& total) {
            using Which = decltype(measure);
            measures::Pixel<Value> pixels{};
            for (int c = 0; c < 3; ++c) pixels.colors[c] = row.colors[c].data() + 1;
            total.template add_terms<Which>(pixels, row.all_valid ? nullptr : row.valid.data() + 1, 0, rest.width);
        };
        if constexpr (std::is_same_v<Sample, std::uint8_t>)
            if (!rest.mask && rest.channels <= 4 && avx2::supported()) {
                const avx2::ColorSums found = avx2::colors(static_cast<const std::uint8_t*>(rest.data),
                                                           static_cast<int>(rest.width), rest.channels, rest.order);
                for_each(totals, [&](auto measure, MeasureSums<Value>& total) {
                    total.add(static_cast<std::uint64_t>(found.pixels), sums_of(measure, found));
                });
                rest.data = static_cast<const std::uint8_t*>(rest.data) + found.pixels * rest.channels;
                rest.width -= found.pixels;
            }
        if (rest.width == 0) return;
        read_row<Sample>(rest, 0, RowOf::colors, row);
        for_each(totals, add);
    }

    /// Calls function(measure, its sums) for each measure of colors that is requested.
    template <class Function>
    void for_each(MeasureTotals<Value>& totals, const Function& function) const {
        std::size_t place = 0;
        measures::OfPixels::for_each([&](auto measure) {
            MeasureSums<Value>& total = totals[place++];
            if constexpr (has_colors<decltype(measure)>)
                if (measures_.has(measure.measure)) function(measure, total);
        });
    }

    Workers& workers_;
    const Measures measures_;
    const bool has_colors_;
    Analysis& result_;
    std::vector<MeasureTotals<Value>> totals_;  ///< of each worker
};

}  // namespace

Measures measures_of_colors() {
    Measures some;
    measures::OfPixels::for_each([&](auto measure) {
        if (has_colors<decltype(measure)>) some.add(measure.measure);
    });
    return some;
}

std::unique_ptr<StripAnalysis> color_strips(const MeasuredImage& image) {
    return with_depth(image.image.depth, [&](auto sample) -> std::unique_ptr<StripAnalysis> {
        return std::make_unique<ColorStrips<decltype(sample)>>(image);
    });
}

}  // namespace gpuhist::cpu
