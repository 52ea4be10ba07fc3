/// The command `gpuhist`: options, then the run, then the exit code.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gpuhist::app {

/// Writes the tables in a directory of results as Parquet, and returns the names of the files. `force` replaces the
/// files of others. Throws Error.
using ParquetWriter = std::function<std::vector<std::string>(const std::filesystem::path& results, bool force)>;

/// Executes a command line, flushes the output, and returns the exit code. Without a writer, `--write parquet` is
/// refused. Call it once per process: it installs signal handlers and opens standard streams that were closed.
int run_command(int argc, const char* const* argv, const ParquetWriter& parquet = {});

}  // namespace gpuhist::app
