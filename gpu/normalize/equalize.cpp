#include "normalize/equalize.hpp"

#include <algorithm>
#include <numeric>

namespace gpuhist::core {

bool fill_equalize_table(const std::uint64_t* counts, float* table) {
    const std::uint64_t* const end = counts + equalize_float_bins;
    const std::uint64_t total = std::accumulate(counts, end, std::uint64_t{0});
    const std::uint64_t* const first = std::find_if(counts, end, [](std::uint64_t n) { return n > 0; });
    if (first == end || *first == total) return false;
    const float scale = equalize_scale(total, *first, 1);
    std::uint64_t cumulative = 0;
    for (const std::uint64_t* count = counts; count != end; ++count) {
        if (count > first) cumulative += *count;
        *table++ = equalize(cumulative, scale);
    }
    return true;
}

}  // namespace gpuhist::core
