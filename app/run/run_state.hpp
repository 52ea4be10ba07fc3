/// Identity and traces of a run: what makes another run the same one, and what an interrupted one leaves behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "gpuhist/io/checksum.hpp"
#include "run/checkpoint.hpp"
#include "run/inputs.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

/// Options, and versions, that change results, by their names.
std::map<std::string, std::string> fingerprint(const Options& options);

/// Hash of all paths so far, in their order.
class PathsHash {
  public:
    void add(const std::string& path);
    std::string text() const;

  private:
    std::uint64_t high_ = 0xcbf29ce484222325u, low_ = 0x84222325cbf29ce4u;
};

/// Stamp of an input now: zeros where it is no regular file.
Stamp stamp_of(const Input& input);

/// Lets an input whose stamp shows another length than its manifest fail.
void refuse_changed(Input& input);

/// Hash of the sizes and times of modification of all inputs so far, in their order.
class StampsHash {
  public:
    void add(const Stamp& stamp);
    std::string text() const { return io::checksum_text(sum_.value()); }

  private:
    io::Checksum sum_;
};

/// Place in standard output behind all that was printed so far, if it is a file.
std::optional<Checkpoint::Output> standard_output();

/// The system's directory for temporary files.
std::filesystem::path temporary_directory();

}  // namespace gpuhist::app
