/// Files, measured as the command does it, on all threads, in the order of the inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/walk.hpp"
#include "images.hpp"

namespace gpuhist::python {

/// Files to be measured.
struct AskedFiles {
    std::vector<std::string> arguments;  ///< files and directories
    io::WalkOptions walk{};
    bool every_page = false;
    std::uint64_t page = 0;  ///< of every file, from 1; 0: the first
    std::optional<std::uint64_t> max_pixels{};
    std::string masks{};   ///< an image, or a directory of such; empty: none
    std::string labels{};  ///< likewise
    bool label_zero = false;
    io::OnDamaged on_damaged = io::OnDamaged::error;
    std::uint64_t memory = 0;  ///< bytes for images in flight; 0: a quarter of what there is
};

/// Outcome of one input: a measurement, or the failure that took its place.
struct FileOutcome {
    std::string path;
    std::shared_ptr<Measurement> measurement;
    std::shared_ptr<Regions> regions;    ///< where label images were given
    std::string kind, message;           ///< of the failure
    std::vector<std::string> remarks{};  ///< on what was measured
};

/// Run over files on threads of its own, a bounded distance ahead of who takes the outcomes.
class Files {
  public:
    Files(AskedFiles files, const Asked& asked);
    /// Ends the run, once the images in flight are done.
    ~Files();
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;

    /// Takes the next outcome, in the order of the inputs; waits for it `milliseconds` at most. `ended()` then tells
    /// whether there is none because that was the last. Throws what ended the run before its time: IoError,
    /// EngineUnavailable, CudaError.
    std::optional<FileOutcome> next(int milliseconds);
    bool ended() const;
    /// Throws what `next` threw, again.
    void rethrow() const;

    /// Number of outcomes that were taken.
    std::uint64_t taken() const;

  private:
    class Run;
    std::unique_ptr<Run> run_;
};

/// Runs over the same files, one after the other. The first one begins at once. Safe to use from several threads.
class FileRuns {
  public:
    FileRuns(AskedFiles files, const Asked& asked);
    /// The run that nobody has taken, or a new one. Throws as Files does.
    std::shared_ptr<Files> take();
    /// The run of all who ask here, which is taken when the first one asks.
    std::shared_ptr<Files> shared();
    /// The run that was taken last; null before.
    std::shared_ptr<Files> latest() const;
    /// Number of inputs: lists them all. The list of a set may be long, so it asks whether to stop.
    std::uint64_t count(const std::function<bool()>& stopped) const;

  private:
    const AskedFiles files_;
    const Asked asked_;
    mutable std::mutex mutex_;
    std::shared_ptr<Files> waiting_, shared_, latest_;
};

}  // namespace gpuhist::python
