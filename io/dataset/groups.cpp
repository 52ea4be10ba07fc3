#include "gpuhist/io/groups.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "gpuhist/error.hpp"

namespace gpuhist::io {
namespace {

/// Bytes that are read at a time: a wrong length takes no memory.
constexpr std::uint64_t most_read = std::uint64_t{1} << 20;

Summary load(const StoredSummary& stored, const std::string& group, const std::shared_ptr<FrequencyFile>& storage) {
    std::string text;
    while (text.size() < stored.bytes) {
        const auto done = text.size();
        text.resize(static_cast<std::size_t>(done + std::min(most_read, stored.bytes - done)));
        storage->read(stored.place + done, reinterpret_cast<std::byte*>(text.data()) + done, text.size() - done);
    }
    FrequencyFiles files{storage, storage, std::make_shared<std::map<std::uint64_t, FrequencyRun>>()};
    for (const FrequencyRun& run : stored.runs) files.known->emplace(run.place(), run);
    return parse_summary(text, "group '" + group + "'", files);
}

}  // namespace

StoredSummary store(const Summary& summary, FrequencyFile& storage) {
    const std::string text = summary_json(summary, &storage);
    StoredSummary stored{storage.take(text.size()), text.size(), {}};
    storage.write(stored.place, reinterpret_cast<const std::byte*>(text.data()), text.size());
    for (const DepthSummary& depth : summary.depths())
        for (const ChannelSummary& channel : depth.channels)
            for (const FrequencyRun& run : channel.values.runs())
                if (!run.data()) stored.runs.push_back(run);
    return stored;
}

Summary StoredGroups::sum_of(const std::string& name, const Parts& parts) const {
    Summary sum = parts.latest;
    for (const StoredSummary& stored : parts.stored) sum.merge(load(stored, name, storage_));
    return sum;
}

void StoredGroups::add(const std::string& name, const Summary& images) {
    Parts& parts = groups_[name];
    parts.latest.merge(images);
    latest_bytes_ -= parts.latest_bytes;
    latest_bytes_ += parts.latest_bytes = parts.latest.memory_bytes();
    if (latest_bytes_ > most_bytes_) spill();
}

void StoredGroups::add(const std::string& name, StoredSummary images) {
    Parts& parts = groups_[name];
    parts.stored.push_back(std::move(images));
    join(name, parts);
}

/// Makes one part of many.
void StoredGroups::join(const std::string& name, Parts& parts) {
    if (parts.stored.size() < most_parts) return;
    Summary sum;
    for (const StoredSummary& stored : parts.stored) sum.merge(load(stored, name, storage_));
    std::vector<StoredSummary> one{store(sum, *storage_)};
    for (const StoredSummary& stored : parts.stored) storage_->give_back(stored.place, stored.bytes);
    parts.stored = std::move(one);
}

void StoredGroups::spill() {
    if (latest_bytes_ == 0) return;
    for (auto& [name, parts] : groups_) {
        if (parts.latest_bytes == 0) continue;
        parts.stored.push_back(store(parts.latest, *storage_));
        latest_bytes_ -= std::exchange(parts.latest_bytes, 0);
        parts.latest = {};
        join(name, parts);
    }
}

void StoredGroups::each(const std::function<void(const Group&)>& visit) const {
    for (const auto& [name, parts] : groups_) visit({name, sum_of(name, parts)});
}

void StoredGroups::each_stored(
    const std::function<void(const std::string& name, const std::vector<StoredSummary>& parts)>& visit) const {
    for (const auto& [name, parts] : groups_) visit(name, parts.stored);
}

}  // namespace gpuhist::io
