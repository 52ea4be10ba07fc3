#include "commands/merge.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/frequency_file.hpp"
#include "gpuhist/io/shard.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

/// Failure of the output, not of the shards.
class OutputFailure : public Error {
    using Error::Error;
};

/// Runs a writer.
template <class Writer>
void output(const Writer& writer) {
    try {
        writer();
    } catch (const std::exception& error) {
        throw OutputFailure(error.what());
    }
}

/// A directory that is made where it is not there, and goes again if nothing comes to lie in it.
class OutputDirectory {
  public:
    explicit OutputDirectory(const fs::path& path) : path_(path) {
        std::error_code failure;
        made_ = fs::create_directories(path, failure);
        if (failure) throw OutputFailure(path.string() + ": cannot make this directory: " + failure.message());
    }
    ~OutputDirectory() {
        std::error_code ignored;
        if (made_) fs::remove(path_, ignored);
    }

  private:
    fs::path path_;
    bool made_ = false;
};

/// A file written row by row under another name, which gets its own when it is complete.
class StreamedFile {
  public:
    explicit StreamedFile(const fs::path& path)
        : path_(path), partial_(path.string() + ".partial"), file_(partial_, std::ios::binary | std::ios::trunc) {
        check();
    }
    ~StreamedFile() {
        std::error_code ignored;
        if (!kept_) fs::remove(partial_, ignored);
    }
    void write(const std::string& text) {
        file_.write(text.data(), static_cast<std::streamsize>(text.size()));
        check();
    }
    void close() {
        file_.close();
        check();
    }
    /// Gives the file its name, or leaves none of that name.
    void keep(bool wanted) {
        std::error_code failure;
        wanted ? fs::rename(partial_, path_, failure) : static_cast<void>(fs::remove(path_, failure));
        if (failure) throw OutputFailure(path_.string() + ": cannot be written: " + failure.message());
        kept_ = wanted;
    }

  private:
    void check() const {
        if (!file_) throw OutputFailure(path_.string() + ": cannot be written: " + std::strerror(errno));
    }

    fs::path path_, partial_;
    std::ofstream file_;
    bool kept_ = false;
};

/// Raises the limit of open files to what the system lets us have: a shard has one.
void allow_many_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

/// Writes both files, complete but for their names.
void write_rows(const io::ShardSet& shards, StreamedFile& stats, StreamedFile& errors) {
    stats.write(io::stats_csv_header(shards.files.front().shard.percentiles));
    errors.write(io::errors_csv_header());
    io::merge_rows(
        shards, [&](const std::string& row) { stats.write(row); }, [&](const std::string& row) { errors.write(row); });
    stats.close();
    errors.close();
}

std::uint64_t total(const io::ShardSet& shards, std::uint64_t io::Shard::*count) {
    std::uint64_t sum = 0;
    for (const io::ShardFile& file : shards.files) sum += file.shard.*count;
    return sum;
}

/// Returns how many inputs had failed.
std::uint64_t merge_into(const MergeOptions& options, Console& console) {
    const OutputDirectory directory(options.output);
    const io::ShardSet shards = io::collect_shards({options.directories.begin(), options.directories.end()},
                                                   io::FrequencyFile::temporary(options.output));
    const io::Shard& first = shards.files.front().shard;
    StreamedFile stats(options.output / "stats.csv"), errors(options.output / "errors.csv");
    write_rows(shards, stats, errors);
    const std::uint64_t failed = total(shards, &io::Shard::errors);
    // A file that is not written now must not be left from an earlier run: it would be taken for this one's.
    output([&] {
        io::remove_dataset(options.output);
        if (first.inputs > 1)
            io::write_dataset(options.output, shards.groups, first.histogram, first.log_counts, first.percentiles);
    });
    errors.keep(failed > 0);
    stats.keep(total(shards, &io::Shard::rows) > 0);  // last: with it all is there
    if (!options.notes) return failed;
    if (first.inputs > 1)
        for (const std::string& text : io::dataset_notes(shards.groups.front().summary)) console.say(text);
    const std::string summary = "merged  " + counted(shards.files.size(), "shard") + ", " +
                                counted(first.inputs, "input") + ", " + counted(failed, "error") + "\nwrote   " +
                                printable(options.output.string()) + '\n';
    if (std::fputs(summary.c_str(), stdout) < 0 || (std::fflush(stdout) != 0 && errno != EPIPE))
        throw OutputFailure(std::string("standard output: ") + std::strerror(errno));
    return failed;
}

}  // namespace

int merge(const MergeOptions& options) {
    allow_many_files();
    Console console(true);
    try {
        const std::uint64_t failed = merge_into(options, console);
        if (failed == 0) return all_done;
        console.say(counted(failed, "input") + " failed when the shards ran: see " +
                    (options.output / "errors.csv").string());
    } catch (const OutputFailure& error) {
        console.say(error.what());
        return output_failed;
    } catch (const std::exception& error) {
        console.say(error.what());
    }
    return inputs_failed;
}

}  // namespace gpuhist::app
