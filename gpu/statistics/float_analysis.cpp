#include "statistics/float_analysis.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gpuhist::core {
namespace {

/// Walks along counts by high half.
struct Walk {
    const std::uint64_t* counts;
    std::uint32_t half, last;
    std::uint64_t before = 0;  ///< samples under the halves passed

    /// To the half that holds a rank, which is not before this one.
    void to(std::uint64_t rank) {
        constexpr std::uint32_t step = 64;  // most halves are empty
        for (std::uint64_t sum = 0; last - half >= step; half += step, before += sum) {
            sum = std::accumulate(counts + half, counts + half + step, std::uint64_t{0});
            if (rank < before + sum) break;
        }
        for (; rank >= before + counts[half]; ++half) before += counts[half];
    }
};

}  // namespace

RankPlan plan_ranks(const std::uint64_t* high_counts, std::uint64_t n, float minimum, float maximum,
                    const RankRequest& request, double& pivot) {
    RankPlan plan;
    for (int i = 0; i < max_ranks; ++i) plan.rank[i] = required_rank(i, n, request);
    std::sort(plan.rank, plan.rank + max_ranks);
    plan.ranks = static_cast<std::int32_t>(std::unique(plan.rank, plan.rank + max_ranks) - plan.rank);
    Walk walk{high_counts, float_key(minimum) >> 16, float_key(maximum) >> 16};
    bool past_the_median = false;
    for (int i = 0; i < plan.ranks; ++i) {
        if (plan.rank[i] >= n / 2 && !std::exchange(past_the_median, true)) {
            walk.to(n / 2);
            pivot = middle_of_high_half(walk.half, minimum, maximum);
        }
        walk.to(plan.rank[i]);
        if (i == 0 || walk.half != plan.high[plan.selected - 1]) plan.high[plan.selected++] = walk.half;
        plan.within[i] = plan.rank[i] - walk.before;
        plan.slot[i] = static_cast<std::uint8_t>(plan.selected - 1);
    }
    return plan;
}

}  // namespace gpuhist::core
