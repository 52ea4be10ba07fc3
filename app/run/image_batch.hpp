/// Images of a batch, from reading to writing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "run/image_task.hpp"

namespace gpuhist::app {

/// Images of a batch that is being measured. Small ones wait, since an engine is better asked for many at once, and so
/// do JPEGs for a GPU that decodes them.
class Measurer::Images {
  public:
    Images(Measurer& measurer, StageClock& clock) : measurer_(measurer), clock_(clock), share_(measurer.budget_) {}

    void read(Outcome& outcome);
    /// Finishes all that were read.
    void finish();
    /// Tells whether one of them ends the run.
    bool ended() const { return ended_; }
    /// Finishes all, and gives their summaries to the last.
    void end();

  private:
    void decode();
    void decode_on_gpu(const std::vector<Image*>& left, int& gpu);
    void analyze();
    void took(Image& image, const Task& task);
    void count_values_of(Image& image);
    /// Brings the values of a set's image to the file of values.
    void store_values_of(Image& image);
    void add_up(Image& image);
    void add_to(const std::string& group, const Analysis& analysis, const std::vector<FrequencyTable>& values);
    /// Brings groups' summaries to the file of values.
    void store_groups();
    void give_summaries();

    Measurer& measurer_;
    StageClock& clock_;
    MemoryBudget::Share share_;
    std::vector<Image> waiting_;
    std::uint64_t held_ = 0;       ///< bytes of these
    std::vector<Analysis> spare_;  ///< whose memory is used again
    std::vector<io::Group> summaries_;
    std::uint64_t bytes_of_groups_ = 0;  ///< in these, the whole set apart
    std::vector<std::pair<std::string, io::StoredSummary>> stored_;
    Outcome* first_ = nullptr;  ///< that is in `summaries_`
    Outcome* last_ = nullptr;
    bool ended_ = false;
};

}  // namespace gpuhist::app
