// Sums of the measures of pixels, of a thread and in memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/integers.hpp"
#include "core/portable.hpp"
#include "measures/list.hpp"

namespace gpuhist::cuda {

/// Place of a measure in the sums of all: the number of its pixels, followed by its own sums. For void, their number.
template <class Which>
constexpr int first_sum() {
    int place = 0, found = -1;
    measures::OfPixels::for_each([&](auto measure) {
        if (std::is_same_v<decltype(measure), Which>) found = place;
        place += 1 + decltype(measure)::sums;
    });
    return std::is_void_v<Which> ? place : found;
}
inline constexpr int measure_sums = first_sum<void>();

/// Sums of a thread. After so many rows, each is still under 2^54, and that of a warp under 2^59: terms of 16 bits are
/// under 2^38.
inline constexpr std::int64_t most_rows_of_sums = 1 << 16;
struct ThreadSums {
    std::int64_t of[measure_sums] = {};

    template <class Which>
    GPUHIST_HD std::int64_t* sums() {
        return of + first_sum<Which>() + 1;
    }
    /// Adds the terms of a pixel, `times` times.
    template <class Which, class Value>
    GPUHIST_HD void add(const measures::Pixel<Value>& at, std::int64_t times = 1) {
        constexpr int first = first_sum<Which>();
        of[first] += times;
        Which::terms(at, Add{of + first + 1, times});
    }

  private:
    struct Add {
        std::int64_t* sums;
        std::int64_t times;
        GPUHIST_HD void operator()(int sum, std::int64_t term) const { sums[sum] += times * term; }
    };
};

/// Words of sums in memory: two per sum, so that neither overflows. The first adds up the lowest 32 bits, the second
/// the others.
inline constexpr int measure_words = 2 * measure_sums;
GPUHIST_HD inline core::i128 sum_of_words(const unsigned long long* words, int sum) {
    return static_cast<core::i128>(static_cast<std::int64_t>(words[2 * sum + 1])) * (core::i128{1} << 32) +
           static_cast<core::i128>(words[2 * sum]);
}

}  // namespace gpuhist::cuda
