// Percentiles: which order statistics they need, and what follows from these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/integers.hpp"
#include "core/portable.hpp"
#include "gpuhist/request.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::core {

inline constexpr std::uint32_t all_micro = 100'000'000;  ///< 100 percent

/// f32: percentiles whose order statistics one analysis finds; longer lists are found a group at a time.
inline constexpr int percentiles_in_group = 7;

/// The ranks of a group: two for each percentile, two to stretch between.
inline constexpr int max_ranks = 2 * percentiles_in_group + 2;

/// The order statistics that one f32 analysis finds.
struct RankRequest {
    std::int32_t percentiles = 0;  ///< 1 to percentiles_in_group
    std::uint32_t micro[percentiles_in_group] = {};
    bool stretch = false;  ///< the nearest ranks of `low` and `high`, in percent, too
    double low = 0, high = 0;

    /// Group `group` of a list.
    static RankRequest of(const Percentiles& list, int group, bool stretch, double low, double high) {
        RankRequest request;
        request.percentiles =
            std::min(static_cast<int>(list.size()) - group * percentiles_in_group, percentiles_in_group);
        for (int i = 0; i < request.percentiles; ++i)
            request.micro[i] = list.micro(static_cast<std::size_t>(group * percentiles_in_group + i));
        request.stretch = stretch;
        request.low = low;
        request.high = high;
        return request;
    }
    static int groups(const Percentiles& list) {
        return (static_cast<int>(list.size()) + percentiles_in_group - 1) / percentiles_in_group;
    }
};

/// Rank i < max_ranks, zero-based, of those that n > 0 samples need, in no order, some of them more than once.
GPUHIST_HD inline std::uint64_t required_rank(int i, std::uint64_t n, const RankRequest& request) {
    constexpr int first_of_stretch = 2 * percentiles_in_group;
    if (i >= first_of_stretch && request.stretch)
        return nearest_rank(i == first_of_stretch ? request.low : request.high, n) - 1;
    if (i >= 2 * request.percentiles) i = 0;
    const std::uint64_t last = n - 1, micro = request.micro[i / 2];
    const std::uint64_t rank = last / all_micro * micro + last % all_micro * micro / all_micro;
    return rank + i % 2 < n ? rank + i % 2 : rank;
}

/// The percentiles of n samples, absent where n is 0, given the value at each zero-based rank; ranks mostly ascend.
void set_percentiles(Statistics& row, const Percentiles& list, std::uint64_t n,
                     const std::function<double(std::uint64_t rank)>& value_at);

}  // namespace gpuhist::core
