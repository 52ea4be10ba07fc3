/// Groups of a set in bounded memory, however many there are.
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

/// Summary in a storage, as the text of `summary_json`. It takes room for the values that occur.
struct StoredSummary {
    std::uint64_t place = 0, bytes = 0;
    std::vector<FrequencyRun> runs;  ///< runs of values to which the text refers, beside it in the storage
};

/// Writes a summary into a storage. Throws the exceptions of the storage.
StoredSummary store(const Summary& summary, FrequencyFile& storage);

/// Groups by name, without the whole set. The groups that were changed last are in memory, the others in a storage.
/// Each group keeps its name and a place in memory, about 200 bytes. Copies refer to the same room in the storage.
/// Functions throw the exceptions of the storage; the groups have the added images even then.
class StoredGroups {
  public:
    static constexpr std::size_t most_parts = 16;  ///< a group has fewer parts in the storage

    StoredGroups() = default;
    /// Makes an empty set of groups, which take up to about `most_bytes` of memory, and then move to `storage`.
    explicit StoredGroups(std::shared_ptr<FrequencyFile> storage, std::uint64_t most_bytes = 0)
        : storage_(std::move(storage)), most_bytes_(most_bytes) {}

    void limit(std::uint64_t most_bytes) { most_bytes_ = most_bytes; }
    bool empty() const { return groups_.empty(); }
    void add(const std::string& name, const Summary& images);
    /// Adds a summary that is in the storage of these groups.
    void add(const std::string& name, StoredSummary images);
    /// Moves the groups in memory to the storage.
    void spill();

    /// Visits the groups in byte order of their names, one in memory at a time. Throws IoError for text that is not a
    /// summary.
    void each(const std::function<void(const Group&)>& visit) const;
    /// Visits the groups in the storage: visit(name, parts of the group).
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
