/// Groups of a set that take no more memory than asked, however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/frequency_file.hpp"

namespace gpuhist::io {

/// Summary that lies in a storage, as the text of `summary_json`: it takes room for the values that occur.
struct StoredSummary {
    std::uint64_t place = 0, bytes = 0;
    std::vector<FrequencyRun> runs;  ///< of values, beside it in the storage, that the text refers to
};

/// Brings a summary to a storage. Throws what that throws.
StoredSummary store(const Summary& summary, FrequencyFile& storage);

/// Groups by name, without the whole set: those lately added to in memory, the others in a storage. For each there are
/// its name and a place in memory, some 200 bytes. Copies refer to the same rooms of the storage. Functions throw what
/// the storage throws, and the groups have then what was added.
class StoredGroups {
  public:
    static constexpr std::size_t most_parts = 16;  ///< a group lies in fewer

    StoredGroups() = default;
    /// No groups, which are to take up to about `most_bytes` of memory, and then lie in `storage`.
    explicit StoredGroups(std::shared_ptr<FrequencyFile> storage, std::uint64_t most_bytes = 0)
        : storage_(std::move(storage)), most_bytes_(most_bytes) {}

    void limit(std::uint64_t most_bytes) { most_bytes_ = most_bytes; }
    bool empty() const { return groups_.empty(); }
    void add(const std::string& name, const Summary& images);
    /// Adds what lies in the storage of these groups.
    void add(const std::string& name, StoredSummary images);
    /// Brings to the storage what lies in memory.
    void spill();

    /// Goes through the groups, in byte order, one in memory at a time. Throws IoError for text that is no summary.
    void each(const std::function<void(const Group&)>& visit) const;
    /// Goes through what lies in the storage: visit(name, parts of the group).
    void each_stored(
        const std::function<void(const std::string& name, const std::vector<StoredSummary>& parts)>& visit) const;

  private:
    struct Parts {
        Summary latest;
        std::uint64_t latest_bytes = 0;
        std::vector<StoredSummary> stored;
    };
    void join(const std::string& name, Parts& parts);
    Summary sum_of(const std::string& name, const Parts& parts) const;

    std::shared_ptr<FrequencyFile> storage_;
    std::uint64_t most_bytes_ = 0, latest_bytes_ = 0;
    std::map<std::string, Parts> groups_;
};

}  // namespace gpuhist::io
