#include "commands/merge.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/frequency_file.hpp"
#include "gpuhist/io/image_file.hpp"
#include "gpuhist/io/shard.hpp"
#include "run/pipeline.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

void say(const std::string& message) {
    std::fprintf(stderr, "gpuhist: %s\n", printable(message).c_str());
}

/// What is wrong lies with the output, not with the parts.
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

/// As many open files as the system lets us have: a part each.
void allow_many_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

/// Both files, complete but for their names.
void write_rows(const io::PartSet& parts, StreamedFile& stats, StreamedFile& errors) {
    stats.write(io::stats_csv_header(parts.files.front().part.percentiles));
    errors.write(io::errors_csv_header());
    io::merge_rows(
        parts, [&](const std::string& row) { stats.write(row); }, [&](const std::string& row) { errors.write(row); });
    stats.close();
    errors.close();
}

std::uint64_t total(const io::PartSet& parts, std::uint64_t io::Part::*count) {
    std::uint64_t sum = 0;
    for (const io::PartFile& file : parts.files) sum += file.part.*count;
    return sum;
}

/// Returns how many inputs had failed.
std::uint64_t merge_into(const MergeOptions& options) {
    const OutputDirectory directory(options.output);
    const io::PartSet parts = io::collect_parts({options.directories.begin(), options.directories.end()},
                                                io::FrequencyFile::temporary(options.output));
    const io::Part& first = parts.files.front().part;
    StreamedFile stats(options.output / "stats.csv"), errors(options.output / "errors.csv");
    write_rows(parts, stats, errors);
    const std::uint64_t failed = total(parts, &io::Part::errors);
    // What is not written now must not be left from an earlier run: it would be taken for this one's.
    output([&] {
        io::remove_dataset(options.output);
        if (first.inputs > 1)
            io::write_dataset(options.output, parts.groups, first.histogram, first.log_counts, first.percentiles);
    });
    errors.keep(failed > 0);
    stats.keep(total(parts, &io::Part::rows) > 0);  // last: with it all is there
    if (!options.notes) return failed;
    const std::string summary = "merged  " + std::to_string(parts.files.size()) + " parts, " +
                                std::to_string(first.inputs) + " inputs, " + std::to_string(failed) +
                                " errors\nwrote   " + printable(options.output.string()) + '\n';
    if (std::fputs(summary.c_str(), stdout) < 0 || (std::fflush(stdout) != 0 && errno != EPIPE))
        throw OutputFailure(std::string("standard output: ") + std::strerror(errno));
    return failed;
}

}  // namespace

int merge(const MergeOptions& options) {
    allow_many_files();
    try {
        const std::uint64_t failed = merge_into(options);
        if (failed == 0) return all_done;
        say(std::to_string(failed) + (failed == 1 ? " input" : " inputs") + " failed when the parts ran: see " +
            (options.output / "errors.csv").string());
    } catch (const OutputFailure& error) {
        say(error.what());
        return output_failed;
    } catch (const std::exception& error) {
        say(error.what());
    }
    return inputs_failed;
}

}  // namespace gpuhist::app
