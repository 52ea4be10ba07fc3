#include "run/set_summary.hpp"

#include <oneapi/tbb/parallel_for_each.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <utility>

namespace gpuhist::app {
namespace {

constexpr std::size_t most_latest_bytes = std::size_t{48} << 20;

bool has_tables(const Summary& summary) {
    return std::any_of(summary.depths().begin(), summary.depths().end(),
                       [](const DepthSummary& depth) { return traits_of(depth.depth).counting != Counting::values; });
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

void SetSummary::add_to(const std::string& group, const Summary& images) {
    if (group.empty())
        shard_.groups.front().summary.merge(images);
    else
        shard_.stored.add(group, images);
}

void SetSummary::add(io::Group& group) {
    if (!has_tables(group.summary)) return add_to(group.name, group.summary);
    latest_bytes_ += group.summary.memory_bytes();
    latest_[group.name].push_back(std::move(group.summary));
    if (latest_bytes_ >= most_latest_bytes) settle();
}

void SetSummary::settle() {
    if (latest_.empty()) return;
    in_doubt_ = true;
    tbb::this_task_arena::isolate([&] {  // while waiting, no other image is begun on this thread
        tbb::parallel_for_each(latest_, [](auto& latest) {
            std::vector<Summary>& images = latest.second;
            images.front() = merged(images.data(), images.data() + images.size());
        });
    });
    for (const auto& [group, images] : latest_) add_to(group, images.front());
    latest_.clear();
    latest_bytes_ = 0;
    in_doubt_ = false;
}

}  // namespace gpuhist::app
