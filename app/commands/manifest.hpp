/// `gpuhist manifest`: the inputs of a run, listed once for all machines that share it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "run/inputs.hpp"

namespace gpuhist::app {

struct ManifestOptions {
    InputOptions inputs;               ///< as a run lists them
    std::optional<std::string> lines;  ///< a file of a manifest's lines, `-` for standard input, instead
    std::filesystem::path output = "manifest.jsonl";
    bool force = false;  ///< a file that gpuhist did not write is replaced
    bool notes = true;
};

/// Writes a manifest of the inputs in their order, with the lengths and times of their files, which are not opened.
/// Reports errors on standard error. Returns an ExitCode: inputs_failed if inputs cannot be listed (their lines say
/// why), or if nothing was written.
int make_manifest(const ManifestOptions& options);

}  // namespace gpuhist::app
