/// A set's summary while its images come in.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "gpuhist/io/shard.hpp"

namespace gpuhist::app {

/// Summaries of a set and its groups. Those with values of floats wait, and are merged many at a time on all threads:
/// merging one with all values of the set takes a millisecond or more.
class SetSummary {
  public:
    /// `shard` receives the sums, the whole set as its first group, and must outlive this.
    explicit SetSummary(io::Shard& shard) : shard_(shard) {}

    /// Adds images of a group; where enough wait, they are merged. Throws IoError where the disk is full: some are then
    /// merged and some are not.
    void add(io::Group& group);
    /// Merges the waiting summaries; afterwards the groups have all images. Throws as `add`.
    void settle();
    /// Tells whether a merge has begun and not ended.
    bool in_doubt() const { return in_doubt_; }

  private:
    void add_to(const std::string& group, const Summary& images);

    io::Shard& shard_;
    std::map<std::string, std::vector<Summary>> latest_;
    std::size_t latest_bytes_ = 0;
    bool in_doubt_ = false;
};

/// The summary of a group, made where it is not there yet.
Summary& summary_of(std::vector<io::Group>& groups, const std::string& name);

}  // namespace gpuhist::app
