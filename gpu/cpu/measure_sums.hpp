// Sums of a measure's terms.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/integers.hpp"
#include "measures/list.hpp"

namespace gpuhist::cpu {

/// Sums of one measure in some pixels of an image.
template <class Value>
class MeasureSums {
  public:
    using Term = measures::Term<Value>;
    static constexpr bool real = std::is_same_v<Value, double>;
    using Sum = std::conditional_t<real, core::ExactSum, core::i128>;

    /// Adds the terms at the pixels of a row from `begin` up to `end`. `valid` null: all are.
    template <class Which>
    void add_terms(const measures::Pixel<Value>& row, const std::uint8_t* valid, std::int64_t begin, std::int64_t end) {
        constexpr int sums = Which::sums;
        sums_.resize(sums);
        for (std::int64_t first = begin; first < end; first += together) {
            const std::int64_t last = std::min(end, first + together);
            Term part[sums]{};
            std::uint64_t pixels = 0;
            const auto add = [&](std::int64_t x) {
                measures::Pixel<Value> at = row;
                at.x = x;
                if constexpr (real) {
                    std::pair<int, double> terms[measures::most_terms];
                    int count = 0;
                    bool finite = true;
                    Which::terms(at, [&](int sum, double term) {
                        terms[count++] = {sum, term};
                        finite = finite && std::isfinite(term);
                    });
                    if (!finite) return;
                    for (int i = 0; i < count; ++i)
                        sums_[static_cast<std::size_t>(terms[i].first)].add(terms[i].second, 1);
                } else {
                    Which::terms(at, [&](int sum, Term term) { part[sum] += term; });
                }
                ++pixels;
            };
            if (valid) {
                for (std::int64_t x = first; x < last; ++x)
                    if (valid[x]) add(x);
            } else {
                for (std::int64_t x = first; x < last; ++x) add(x);
            }
            pixels_ += pixels;
            if constexpr (!real)
                for (int i = 0; i < sums; ++i) sums_[static_cast<std::size_t>(i)] += part[i];
        }
    }

    /// Adds whole sums over some pixels.
    template <std::size_t sums>
    void add(std::uint64_t pixels, const std::array<std::int64_t, sums>& found) {
        static_assert(!real);
        sums_.resize(sums);
        pixels_ += pixels;
        for (std::size_t i = 0; i < sums; ++i) sums_[i] += found[i];
    }

    /// Adds them to the findings of a measure.
    void add_to(Measured& found) const {
        Measured own{found.measure, pixels_, {}};
        for (const Sum& sum : sums_)
            if constexpr (real)
                for (int i = 0; i < core::ExactSum::words; ++i) own.sums.push_back(sum.word(i));
            else
                own.sums.push_back(core::to_public(sum));
        found += own;
    }

  private:
    /// Pixels whose terms are added up in the terms' own type: 2^37 each of values of 16 bits.
    static constexpr std::int64_t together = std::int64_t{1} << 20;

    std::uint64_t pixels_ = 0;
    std::vector<Sum> sums_{};
};

/// Sums of each measure of a list.
template <class Value>
using MeasureTotals = std::array<MeasureSums<Value>, measures::OfPixels::size>;

/// Findings of a measure in the totals of all workers.
template <class Which, class Value>
Measured found_in(const std::vector<MeasureTotals<Value>>& workers, std::size_t place) {
    Measured found{Which::measure, 0, {}};
    found.sums.resize(static_cast<std::size_t>(Which::sums) * (MeasureSums<Value>::real ? core::ExactSum::words : 1));
    for (const MeasureTotals<Value>& totals : workers) totals[place].add_to(found);
    return found;
}

}  // namespace gpuhist::cpu
