/// All that is done for an image, on one thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/pinned.hpp"
#include "gpuhist/lut.hpp"
#include "gpuhist/pinned_memory.hpp"
#include "run/engine_pool.hpp"
#include "run/inputs.hpp"
#include "run/memory_budget.hpp"
#include "run/options.hpp"
#include "run/stages.hpp"

namespace gpuhist::app {

struct Failure {
    std::string kind;     ///< a word: missing, permission, truncated, …
    std::string message;  ///< begins with the path
};

/// An input, and what came of it.
struct Outcome {
    Input input;
    bool left_out = false;           ///< another part's, or nothing is to be done for it in this pass
    std::optional<Failure> failure;  ///< why it could not be measured; then only this is set
    /// Why the run cannot go on: nothing of this input counts, nor of those after it.
    std::optional<Failure> end;
    bool engine_ended = false;  ///< it is the engine, rather than a full disk

    std::uint64_t pixels = 0;
    std::string stats;                 ///< its lines of stats.csv, where they are wanted
    std::uint64_t rows = 0;            ///< of these
    std::string printed;               ///< for standard output
    std::vector<Failure> not_written;  ///< files that could not be
    /// What this image and those before it in its batch that have none add up to, where that is wanted. What follows a
    /// failure is apart, so that a run can end there.
    std::vector<io::Group> pools;
};

/// Inputs that follow each other, which one thread takes at once.
using Batch = std::vector<Outcome>;

class Measurer {
  public:
    Measurer(const Options& options, std::shared_ptr<const InputList> inputs, EnginePool& engines, MemoryBudget& budget,
             StageTimes& times, bool single);

    /// From now on pixels lie in memory that is reused, of which so many bytes are kept; pinned for the GPU, if one
    /// works.
    void reuse_memory(std::size_t bytes);
    /// From now on images are added up, by groups too if these are wanted; counts of their values lie in `values`.
    void pool_images(std::shared_ptr<FrequencyStorage> values) {
        pools_ = true;
        values_ = std::move(values);
    }
    /// From now on images are normalised by these tables.
    void use_tables(std::vector<LutSet> tables) { tables_ = std::move(tables); }
    /// From now on images are normalised, and nothing else is done.
    void begin_second_pass() { pass_ = 2; }

    /// Reads, analyses and writes the files about each input, up to one that ends the run. Throws nothing. Safe to call
    /// from several threads.
    void measure(Batch& batch);

  private:
    struct Image;
    class Images;

    cv::Mat read(const Input& input, bool normalized, std::uint64_t held, MemoryBudget::Share& share,
                 StageClock& clock) const;
    Writes writes_of(const Input& input) const;
    Task task_of(Image& image) const;
    cv::Mat apply_luts(const cv::Mat& pixels) const;
    /// Memory for the normalised copy.
    cv::Mat like(const cv::Mat& pixels, NormalizeMode mode) const;
    void write_results(Image& image, StageClock& clock) const;
    std::vector<std::string> write_files(Outcome& outcome, const Writes& writes, const Histogram& histogram,
                                         const std::vector<Statistics>& rows, const cv::Mat& normalized) const;
    std::optional<Failure> write(const std::filesystem::path& path, const std::function<void()>& writer) const;

    const Options& options_;
    const std::shared_ptr<const InputList> inputs_;
    EnginePool& engines_;
    MemoryBudget& budget_;
    StageTimes& times_;
    const bool single_;  ///< there is one input: its files are written at the same time
    int pass_ = 1;
    bool pools_ = false;
    std::shared_ptr<FrequencyStorage> values_;
    std::optional<std::vector<LutSet>> tables_;
    std::unique_ptr<PinnedPool> pixel_memory_;  ///< of a run over many images
    std::unique_ptr<io::PinnedAllocator> allocator_;
    std::atomic<int> in_flight_{0};  ///< batches being measured
};

/// The pool of a group, made where it is not there yet.
Summary& pool_of(std::vector<io::Group>& groups, const std::string& name);

/// The word for a kind of failure in errors.csv.
const char* word(IoError::Kind kind);

/// Throws IoError.
void make_directories(const std::filesystem::path& directory);

}  // namespace gpuhist::app
