/// Files, measured as the command does it, on all threads, in the order of the inputs.
#pragma once

#include <cstdint>
#include <memory>
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
    std::string masks{};  ///< an image, or a directory of such; empty: none
    io::OnDamaged on_damaged = io::OnDamaged::error;
    std::uint64_t memory = 0;  ///< bytes for images in flight; 0: a quarter of what there is
};

/// Outcome of one input: a measurement, or the failure that took its place.
struct FileOutcome {
    std::string path;
    std::shared_ptr<Measurement> measurement;
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

  private:
    class Run;
    std::unique_ptr<Run> run_;
};

}  // namespace gpuhist::python
