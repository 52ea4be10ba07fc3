#include "run/set_summary.hpp"

#include <oneapi/tbb/parallel_for_each.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <utility>

namespace gpuhist::app {
namespace {

constexpr std::size_t most_latest_bytes = std::size_t{48} << 20;

/// Memory that the values of floats take, about, and with them the rest; 0 where there are none.
std::size_t bytes_of_values(const Summary& summary) {
    std::size_t bytes = 0;
    for (const DepthSummary& depth : summary.depths())
        if (traits_of(depth.depth).floating)
            for (const ChannelSummary& channel : depth.channels)
                bytes += sizeof channel + 8 * channel.counts.size() + channel.values.memory_bytes();
    return bytes;
}

/// Summaries, at least one, as one; they are used up.
Summary merged(Summary* begin, Summary* end) {
    if (end - begin == 1) return std::move(*begin);
    Summary* middle = begin + (end - begin) / 2;
    Summary left, right;
    tbb::parallel_invoke([&] { left = merged(begin, middle); }, [&] { right = merged(middle, end); });
    left.merge(right);
    return left;
}

}  // namespace

Summary& summary_of(std::vector<io::Group>& groups, const std::string& name) {
    auto place = std::lower_bound(groups.begin(), groups.end(), name,
                                  [](const io::Group& one, const std::string& other) { return one.name < other; });
    if (place == groups.end() || place->name != name) place = groups.insert(place, {name, {}});
    return place->summary;
}

void SetSummary::add(io::Group& group) {
    const std::size_t bytes = bytes_of_values(group.summary);
    if (bytes == 0) return summary_of(groups_, group.name).merge(group.summary);
    latest_[group.name].push_back(std::move(group.summary));
    latest_bytes_ += bytes;
    if (latest_bytes_ >= most_latest_bytes) settle();
}

void SetSummary::settle() {
    if (latest_.empty()) return;
    in_doubt_ = true;
    std::vector<std::pair<Summary*, std::vector<Summary>*>> sums;
    for (const auto& [group, latest] : latest_) summary_of(groups_, group);  // before any is pointed to
    for (auto& [group, latest] : latest_) sums.emplace_back(&summary_of(groups_, group), &latest);
    tbb::this_task_arena::isolate([&] {  // while waiting, no other image is begun on this thread
        tbb::parallel_for_each(sums, [](const auto& sum) {
            sum.first->merge(merged(sum.second->data(), sum.second->data() + sum.second->size()));
        });
    });
    latest_.clear();
    latest_bytes_ = 0;
    in_doubt_ = false;
}

}  // namespace gpuhist::app
