// Reduction of luma to a small gray image: exact means over cells of equal size, which need not be whole pixels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/integers.hpp"

namespace gpuhist::fingerprint {

/// Side of an image that is cut into cells. In units in which a pixel is as long as there are cells, a cell is as long
/// as there are pixels. So all overlaps are whole numbers.
struct Side {
    std::int64_t pixels, cells;

    /// Pixels of a cell, the first and the last of which may reach out of it.
    struct Cover {
        std::int64_t first, last;
        std::int64_t first_weight, last_weight;  ///< overlaps of these with the cell; those between have `cells`
    };
    Cover of_cell(std::int64_t cell) const {
        const std::int64_t begin = cell * pixels, end = begin + pixels, first = begin / cells,
                           last = (end + cells - 1) / cells - 1;
        return {first, last, std::min((first + 1) * cells, end) - begin, end - std::max(last * cells, begin)};
    }
    /// Calls function(cell, overlap) for the cells of a pixel.
    template <class Function>
    void for_cells(std::int64_t pixel, const Function& function) const {
        const std::int64_t begin = pixel * cells, end = begin + cells;
        for (std::int64_t cell = begin / pixels; cell * pixels < end; ++cell)
            function(cell, std::min(end, (cell + 1) * pixels) - std::max(begin, cell * pixels));
    }
};

/// Sums of luma over the cells of an image, times its number of cells. Values are whole numbers, in types of up to 32
/// bits without a sign, or finite doubles.
template <class Value>
class Reduction {
    static constexpr bool real = std::is_same_v<Value, double>;
    using Sum = std::conditional_t<real, core::ExactSum, core::i128>;

  public:
    Reduction(std::int64_t width, std::int64_t height, int columns, int rows)
        : across_{width, columns}, down_{height, rows}, sums_(static_cast<std::size_t>(columns * rows)) {
        for (std::int64_t cell = 0; cell < columns; ++cell) covers_.push_back(across_.of_cell(cell));
    }

    /// Cell whose rows contain all of row y; absent if it reaches into the next one.
    std::optional<std::int64_t> cell_of_row(std::int64_t y) const {
        const std::int64_t begin = y * down_.cells, cell = begin / down_.pixels;
        return begin + down_.cells <= (cell + 1) * down_.pixels ? std::optional(cell) : std::nullopt;
    }
    /// Adds row y. Each row comes once, in any order.
    void add_row(std::int64_t y, const Value* luma) {
        down_.for_cells(y, [&](std::int64_t row, std::int64_t rows) {
            if constexpr (real)
                add_doubles(row, rows, luma);
            else
                add_to_cells(luma, row, rows);
        });
    }
    /// Adds whole rows of a cell, of which these are the sums by column.
    void add_columns(std::int64_t cell, const std::uint32_t* columns) { add_to_cells(columns, cell, down_.cells); }
    /// Adds the rows of another part of the image.
    Reduction& operator+=(const Reduction& other) {
        for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
        return *this;
    }

    /// Pixels of the small image, row by row.
    std::vector<std::uint8_t> pixels() const {
        std::vector<std::uint8_t> values(sums_.size());
        std::vector<Mean> means;
        for (const Sum& sum : sums_) means.push_back(mean_of(sum));
        const auto [lowest, highest] = std::minmax_element(means.begin(), means.end());
        if (*lowest == *highest) return values;
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = mapped(means[i] - *lowest, *highest - *lowest);
        return values;
    }

  private:
    using Mean = std::conditional_t<real, double, core::i128>;  ///< of whole numbers the sum

    /// Adds values, each of a column, to the cells of a row, of whose height they have `rows` parts.
    template <class Number>
    void add_to_cells(const Number* numbers, std::int64_t row, std::int64_t rows) {
        Sum* sum = sums_.data() + static_cast<std::size_t>(row) * covers_.size();
        for (const Side::Cover& cover : covers_) {
            Sum own = static_cast<Sum>(numbers[cover.first]) * cover.first_weight;
            if (cover.last > cover.first) {
                // 2^31 numbers of 32 bits at most
                std::conditional_t<sizeof(Number) <= 4, std::uint64_t, Sum> between = 0;
                for (std::int64_t x = cover.first + 1; x < cover.last; ++x)
                    between += static_cast<decltype(between)>(numbers[x]);
                own += static_cast<Sum>(between) * across_.cells +
                       static_cast<Sum>(numbers[cover.last]) * cover.last_weight;
            }
            *sum++ += own * rows;
        }
    }
    void add_doubles(std::int64_t row, std::int64_t rows, const Value* luma) {
        for (std::size_t column = 0; column < covers_.size(); ++column) {
            const Side::Cover& cover = covers_[column];
            Sum& sum = sums_[static_cast<std::size_t>(row) * covers_.size() + column];
            for (std::int64_t x = cover.first; x <= cover.last; ++x) {
                const std::int64_t weight = x == cover.first  ? cover.first_weight
                                            : x == cover.last ? cover.last_weight
                                                              : across_.cells;
                sum.add(luma[x], static_cast<std::uint64_t>(weight * rows));
            }
        }
    }
    Mean mean_of(const Sum& sum) const {
        if constexpr (real)
            return sum.mean(static_cast<std::uint64_t>(across_.pixels * down_.pixels)) / 2;  // no difference overflows
        else
            return sum;
    }
    static std::uint8_t mapped(Mean over, Mean range) {
        if constexpr (real)
            return static_cast<std::uint8_t>(std::floor(over / range * 255 + 0.5));
        else
            return static_cast<std::uint8_t>((over * 510 + range) / (2 * range));
    }

    Side across_, down_;
    std::vector<Side::Cover> covers_;  ///< of the columns
    std::vector<Sum> sums_;            ///< of the cells, row by row
};

}  // namespace gpuhist::fingerprint
