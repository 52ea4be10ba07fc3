/// A set's summary while its images come in.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "gpuhist/io/dataset.hpp"

namespace gpuhist::app {

/// Summaries of the groups of a set. Those with values of floats wait, and are merged many at a time on all threads:
/// merging one with all values of the set takes a millisecond or more.
class SetSummary {
  public:
    /// `groups` receives the sums, and must outlive this.
    explicit SetSummary(std::vector<io::Group>& groups) : groups_(groups) {}

    /// Adds images of a group; where enough wait, they are merged. Throws IoError where the disk is full: some are then
    /// merged and some are not.
    void add(io::Group& group);
    /// Merges those that wait: the groups have all images afterwards. Throws as `add`.
    void settle();
    /// Tells whether a merge has begun and not ended.
    bool in_doubt() const { return in_doubt_; }

  private:
    std::vector<io::Group>& groups_;
    std::map<std::string, std::vector<Summary>> latest_;
    std::size_t latest_bytes_ = 0;
    bool in_doubt_ = false;
};

/// The summary of a group, made where it is not there yet.
Summary& summary_of(std::vector<io::Group>& groups, const std::string& name);

}  // namespace gpuhist::app
