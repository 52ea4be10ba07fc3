#include "cpu/neighborhoods.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "cpu/measure_rows.hpp"
#include "cpu/measure_sums.hpp"
#include "cpu/simd/avx2.hpp"
#include "gpuhist/reduce.hpp"
#include "measures/list.hpp"

namespace gpuhist::cpu {
namespace {

template <class Which>
constexpr bool has_neighbors = Which::reach != measures::Reach::colors;

/// Measures of an image from its rows.
template <class Sample>
class Neighborhoods {
  public:
    using Value = measures::Value<Sample>;
    using Row = MeasureRow<Value>;
    using Totals = MeasureTotals<Value>;

    Neighborhoods(const Measures& measures, const Sides& sides)
        : measures_(measures), width_(sides.width), height_(sides.height) {}

    /// Adds the terms of row y, from itself and the rows above and below it. The memory of `valid` is used.
    void add_row(std::int64_t y, const Row& above, const Row& own, const Row& below, std::vector<std::uint8_t>& valid,
                 Totals& totals) const;

    void add_findings(const std::vector<Totals>& totals, Analysis& result) const;

  private:
    const Measures measures_;
    const std::int64_t width_, height_;
};

template <class Sample>
class NeighborhoodStrips final : public StripAnalysis {
  public:
    explicit NeighborhoodStrips(const MeasuredImage& of)
        : workers_(of.workers),
          neighborhoods_(of.measures, {of.image.width, of.image.height}),
          luma_(of.luma_of<Sample>()),
          width_(of.image.width),
          height_(of.image.height),
          result_(of.result),
          totals_(static_cast<std::size_t>(of.workers.threads())) {}

    void take(const ImageView& strip) override {
        known_ += strip.height;
        const std::int64_t end = known_ == height_ ? known_ : known_ - 1;  // rows with one below
        if (end <= done_) return;
        workers_.sweep_rows(end - done_, width_, [&](int worker, std::int64_t first, std::int64_t last) {
            std::vector<std::uint8_t> valid;
            for (std::int64_t y = done_ + first; y < done_ + last; ++y)
                neighborhoods_.add_row(y, row_at(y - 1), row_at(y), row_at(y + 1), valid,
                                       totals_[static_cast<std::size_t>(worker)]);
        });
        done_ = end;
    }
    bool end_pass() override {
        neighborhoods_.add_findings(totals_, result_);
        return false;
    }

  private:
    using Row = typename Neighborhoods<Sample>::Row;
    using Totals = typename Neighborhoods<Sample>::Totals;

    /// Row of the image; those beyond the border are reflected.
    const Row& row_at(std::int64_t y) const {
        if (y < 0) y = std::min<std::int64_t>(1, height_ - 1);
        if (y >= height_) y = std::max<std::int64_t>(0, height_ - 2);
        return luma_.at(y);
    }

    Workers& workers_;
    const Neighborhoods<Sample> neighborhoods_;
    const LumaRows<Sample>& luma_;
    const std::int64_t width_, height_;
    Analysis& result_;
    std::vector<Totals> totals_;  ///< of each worker
    std::int64_t known_ = 0;      ///< rows that have come
    std::int64_t done_ = 0;       ///< rows whose pixels have been measured
};

/// Sums of measures of bytes, found together.
std::array<std::int64_t, 2> sums_of(measures::Laplacian, const avx2::NeighborSums& found) {
    return {found.laplacian, found.laplacian_squares};
}
std::array<std::int64_t, 1> sums_of(measures::Tenengrad, const avx2::NeighborSums& found) {
    return {found.gradients};
}
std::array<std::int64_t, 1> sums_of(measures::Noise, const avx2::NeighborSums& found) {
    return {found.noise};
}

template <class Sample>
void Neighborhoods<Sample>::add_row(std::int64_t y, const Row& above, const Row& own, const Row& below,
                                    std::vector<std::uint8_t>& valid, Totals& totals) const {
    if (width_ < 3 || height_ < 3) return;
    const bool all_valid = above.all_valid && own.all_valid && below.all_valid;
    if (!all_valid) {
        valid.resize(static_cast<std::size_t>(width_ + 2));
        for (std::size_t x = 0; x < valid.size(); ++x) valid[x] = above.valid[x] & own.valid[x] & below.valid[x];
        std::uint8_t before = valid[0];
        for (std::size_t x = 1; x + 1 < valid.size(); ++x)
            valid[x] = std::exchange(before, valid[x]) & valid[x] & valid[x + 1];
    }
    const measures::Pixel<Value> row{{above.luma.data() + 1, own.luma.data() + 1, below.luma.data() + 1}, {}, 0};
    avx2::NeighborSums found;
    std::int64_t fast = 0;  // pixels from the second on whose terms were found together
    if constexpr (sizeof(Sample) == 1)
        if (all_valid && avx2::supported())
            fast =
                avx2::neighbors(row.luma[0] + 1, row.luma[1] + 1, row.luma[2] + 1, static_cast<int>(width_ - 2), found);
    std::size_t place = 0;
    measures::OfPixels::for_each([&](auto measure) {
        using Which = decltype(measure);
        MeasureSums<Value>& total = totals[place++];
        if constexpr (has_neighbors<Which>) {
            constexpr std::int64_t border = Which::reach == measures::Reach::inside ? 1 : 0;
            if (!measures_.has(Which::measure) || y < border || y + border >= height_) return;
            const auto add = [&](std::int64_t begin, std::int64_t end) {
                total.template add_terms<Which>(row, all_valid ? nullptr : valid.data() + 1, begin, end);
            };
            if (fast == 0) return add(border, width_ - border);
            if constexpr (sizeof(Sample) == 1) total.add(static_cast<std::uint64_t>(fast), sums_of(measure, found));
            add(border, 1);
            add(1 + fast, width_ - border);
        }
    });
}

template <class Sample>
void Neighborhoods<Sample>::add_findings(const std::vector<Totals>& totals, Analysis& result) const {
    std::size_t place = 0;
    measures::OfPixels::for_each([&](auto measure) {
        using Which = decltype(measure);
        const std::size_t here = place++;
        if constexpr (has_neighbors<Which>)
            if (measures_.has(Which::measure)) result.measured.push_back(found_in<Which>(totals, here));
    });
}

/// Image that is reduced first: see Measures::reduce_to. Areas are counted in parts of a pixel, as many along each side
/// as the output has pixels there, so that all weights are whole numbers.
template <class Sample>
class ReducedStrips final : public StripAnalysis {
  public:
    ReducedStrips(const MeasuredImage& of, const Sides& sides)
        : workers_(of.workers),
          neighborhoods_(of.measures, sides),
          luma_(of.luma_of<Sample>()),
          from_{of.image.width, of.image.height},
          to_(sides),
          result_(of.result),
          sums_(static_cast<std::size_t>(to_.width)),
          valid_(static_cast<std::size_t>(to_.width), 1) {}

    void take(const ImageView& strip) override {
        columns_.resize(static_cast<std::size_t>(strip.height));
        workers_.sweep_rows(strip.height, strip.width, [&](int, std::int64_t first, std::int64_t last) {
            for (std::int64_t y = first; y < last; ++y)
                reduce_row(luma_.at(known_ + y), columns_[static_cast<std::size_t>(y)]);
        });
        for (const Columns& columns : columns_) add(columns);
    }
    bool end_pass() override {
        neighborhoods_.add_findings({totals_}, result_);
        return false;
    }

  private:
    using Value = measures::Value<Sample>;
    using Row = MeasureRow<Value>;
    using Sum = std::conditional_t<std::is_same_v<Value, double>, double,
                                   std::conditional_t<sizeof(Value) <= 4, std::int64_t, core::i128>>;

    /// Row of the image, reduced along itself.
    struct Columns {
        std::vector<Sum> sums;
        std::vector<std::uint8_t> valid;
    };

    void reduce_row(const Row& row, Columns& columns) const {
        columns.sums.assign(static_cast<std::size_t>(to_.width), Sum{});
        columns.valid.assign(static_cast<std::size_t>(to_.width), 1);
        for (std::int64_t i = 0; i < to_.width; ++i) {
            Sum sum{};
            std::uint8_t valid = 1;
            const std::int64_t low = i * from_.width, high = low + from_.width;
            for (std::int64_t x = low / to_.width; x * to_.width < high; ++x) {
                const std::int64_t parts = std::min((x + 1) * to_.width, high) - std::max(x * to_.width, low);
                sum += static_cast<Sum>(parts) * row.luma[static_cast<std::size_t>(x + 1)];
                valid &= row.valid[static_cast<std::size_t>(x + 1)];
            }
            columns.sums[static_cast<std::size_t>(i)] = sum;
            columns.valid[static_cast<std::size_t>(i)] = valid;
        }
    }

    /// Adds a row of the image to those of the output that it covers: one or two.
    void add(const Columns& columns) {
        const std::int64_t low = known_ * to_.height, high = low + to_.height, edge = (done_ + 1) * from_.height;
        ++known_;
        add(columns, std::min(high, edge) - low);
        if (high < edge) return;
        end_row();
        if (high > edge) add(columns, high - edge);
    }
    void add(const Columns& columns, std::int64_t parts) {
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            sums_[i] += static_cast<Sum>(parts) * columns.sums[i];
            valid_[i] &= columns.valid[i];
        }
    }

    /// Ends a row of the output, and measures the one before.
    void end_row() {
        const std::int64_t area = from_.width * from_.height;
        Row& row = rows_[done_ % 3];
        const std::size_t size = sums_.size() + 2;
        row.luma.resize(size);
        row.valid.assign(size, 1);
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            if constexpr (std::is_same_v<Value, double>) {
                const double average = sums_[i] / static_cast<double>(area);
                row.valid[i + 1] = valid_[i] && std::isfinite(average);
                row.luma[i + 1] = row.valid[i + 1] ? average : 0;
            } else {
                const Sum doubled = 2 * sums_[i] + area;  // halves are rounded up
                const Sum quotient = doubled / (2 * area);
                row.luma[i + 1] = static_cast<Value>(quotient - (doubled < quotient * (2 * area) ? 1 : 0));
                row.valid[i + 1] = valid_[i];
            }
        }
        row.luma.front() = row.luma[std::min<std::size_t>(2, size - 2)];
        row.luma.back() = row.luma[std::max<std::size_t>(3, size) - 3];
        row.valid.front() = row.valid[std::min<std::size_t>(2, size - 2)];
        row.valid.back() = row.valid[std::max<std::size_t>(3, size) - 3];
        row.all_valid = std::all_of(row.valid.begin(), row.valid.end(), [](std::uint8_t one) { return one != 0; });
        std::fill(sums_.begin(), sums_.end(), Sum{});
        std::fill(valid_.begin(), valid_.end(), 1);
        if (done_ > 0) measure_row(done_ - 1);
        ++done_;
        if (done_ == to_.height && done_ > 1) measure_row(done_ - 1);
    }
    void measure_row(std::int64_t y) {
        const std::int64_t above = y == 0 ? 1 : y - 1, below = y + 1 == to_.height ? y - 1 : y + 1;
        neighborhoods_.add_row(y, rows_[above % 3], rows_[y % 3], rows_[below % 3], neighbors_, totals_);
    }

    Workers& workers_;
    const Neighborhoods<Sample> neighborhoods_;
    const LumaRows<Sample>& luma_;
    const Sides from_, to_;
    Analysis& result_;
    typename Neighborhoods<Sample>::Totals totals_;
    std::vector<Columns> columns_;     ///< of the rows of a strip
    std::vector<Sum> sums_;            ///< of the output's row that is not complete
    std::vector<std::uint8_t> valid_;  ///< its pixels
    Row rows_[3];                      ///< the last rows of the output
    std::vector<std::uint8_t> neighbors_;
    std::int64_t known_ = 0;  ///< rows of the image that have come
    std::int64_t done_ = 0;   ///< rows of the output that are complete
};

}  // namespace

Measures measures_of_neighborhoods() {
    Measures some;
    measures::OfPixels::for_each([&](auto measure) {
        if (has_neighbors<decltype(measure)>) some.add(measure.measure);
    });
    return some;
}

std::unique_ptr<StripAnalysis> neighborhood_strips(const MeasuredImage& image) {
    const Sides sides{image.image.width, image.image.height},
        reduced = image.measures.longest_side() > 0 ? reduced_sides(sides, image.measures.longest_side()) : sides;
    return with_depth(image.image.depth, [&](auto sample) -> std::unique_ptr<StripAnalysis> {
        if (!(reduced == sides)) return std::make_unique<ReducedStrips<decltype(sample)>>(image, reduced);
        return std::make_unique<NeighborhoodStrips<decltype(sample)>>(image);
    });
}

}  // namespace gpuhist::cpu
