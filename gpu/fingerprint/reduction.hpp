// Reduction of luma to a small gray image: exact means over cells of equal size, which need not be whole pixels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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
/// bits from 0 to 65535, or finite doubles.
template <class Value>
class Reduction {
    static constexpr bool real = std::is_same_v<Value, double>, narrow = sizeof(Value) <= 4;
    using Sum = std::conditional_t<real, core::ExactSum, core::i128>;

  public:
    /// A row of up to 2^31 pixels: of values of 16 bits, times 32 across and 32 down, 57 bits.
    using RowSum = std::conditional_t<narrow, std::int64_t, core::i128>;

    Reduction(std::int64_t width, std::int64_t height, int columns, int rows)
        : across_{width, columns},
          down_{height, rows},
          sums_(static_cast<std::size_t>(columns * rows)),
          row_(static_cast<std::size_t>(columns)) {
        for (std::int64_t cell = 0; cell < columns; ++cell) covers_.push_back(across_.of_cell(cell));
    }

    /// Sum of some values of a row.
    static RowSum sum_of(const Value* begin, const Value* end) {
        RowSum sum = 0;
        while (begin != end) {
            const Value* const stop = begin + std::min<std::ptrdiff_t>(end - begin, 65536);
            std::conditional_t<narrow, std::uint32_t, RowSum> part = 0;  // of 65536 values of 16 bits
            while (begin != stop) part += static_cast<decltype(part)>(*begin++);
            sum += part;
        }
        return sum;
    }
    /// Adds row y. Each row comes once, in any order.
    void add_row(std::int64_t y, const Value* luma) {
        add_row(y, luma, [](const Value* begin, const Value* end) { return sum_of(begin, end); });
    }
    /// Adds row y, with another function for the same sum.
    template <class SumOf>
    void add_row(std::int64_t y, const Value* luma, const SumOf& sum_of) {
        if constexpr (real) {
            down_.for_cells(y, [&](std::int64_t row, std::int64_t rows) { add_doubles(row, rows, luma); });
        } else {
            for (std::size_t column = 0; column < covers_.size(); ++column) {
                const Side::Cover& cover = covers_[column];
                RowSum& row = row_[column];
                row = static_cast<RowSum>(luma[cover.first]) * cover.first_weight;
                if (cover.last > cover.first)
                    row += sum_of(luma + cover.first + 1, luma + cover.last) * across_.cells +
                           static_cast<RowSum>(luma[cover.last]) * cover.last_weight;
            }
            down_.for_cells(y, [&](std::int64_t row, std::int64_t rows) {
                Sum* const sums = sums_.data() + static_cast<std::size_t>(row) * covers_.size();
                for (std::size_t column = 0; column < covers_.size(); ++column) sums[column] += row_[column] * rows;
            });
        }
    }
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
    std::vector<RowSum> row_;          ///< sums of a row of whole numbers, by column
};

}  // namespace gpuhist::fingerprint
