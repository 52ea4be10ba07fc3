/// Identity and traces of a run: what makes another run the same one, and what an interrupted one leaves behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "run/checkpoint.hpp"
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

/// Place of standard output, if it is a file.
std::optional<Checkpoint::Output> standard_output();
/// Cuts off what standard output received after that, if it is the same file.
void cut_standard_output(const Checkpoint::Output& output);

/// The system's directory for temporary files.
std::filesystem::path temporary_directory();

}  // namespace gpuhist::app
