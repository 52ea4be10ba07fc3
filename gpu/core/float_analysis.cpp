#include "core/float_analysis.hpp"

#include "core/float_details.hpp"

namespace gpuhist::core {

RankPlan plan_ranks(const std::uint64_t* high_counts, std::uint64_t n, float minimum, float maximum, bool stretch,
                    double low, double high, double& pivot) {
    RankPlan plan;
    plan.ranks = required_ranks(n, stretch, low, high, plan.rank);
    const std::uint32_t last = float_key(maximum) >> 16;
    std::uint64_t before = 0;  // samples under the high halves passed
    int next = 0;              // the first rank not placed
    for (std::uint32_t half = float_key(minimum) >> 16; half <= last; ++half) {
        const std::uint64_t through = before + high_counts[half];
        if (before <= n / 2 && n / 2 < through) pivot = middle_of_high_half(half, minimum, maximum);
        const int first = next;
        for (; next < plan.ranks && plan.rank[next] < through; ++next) {
            plan.within[next] = plan.rank[next] - before;
            plan.slot[next] = static_cast<std::uint8_t>(plan.selected);
        }
        if (next > first) plan.high[plan.selected++] = half;
        before = through;
    }
    return plan;
}

void read_float_details(const ImageResult& result, const FloatDetails& details, Analysis& analysis) {
    auto read = [](const FloatRanks& ranks, std::vector<OrderStatistic>& order) {
        order.clear();
        for (int i = 0; i < ranks.count; ++i) order.push_back({ranks.rank[i], ranks.value[i]});
    };
    for (int row = 0; row < result.rows; ++row) {
        analysis.channels[static_cast<std::size_t>(row)].moments = details.moments[row];
        read(details.ranks[row], analysis.channels[static_cast<std::size_t>(row)].order_statistics);
    }
    if (result.rows > 1) read(details.ranks[pooled_row], analysis.pooled_order_statistics);
}

}  // namespace gpuhist::core
