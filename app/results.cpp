#include "results.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <opencv2/core.hpp>
#include <system_error>
#include <utility>

#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/image_file.hpp"
#include "gpuhist/io/part.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int error) {
    throw IoError(path.string() + ": cannot be written: " + std::strerror(error),
                  error == ENOSPC || error == EDQUOT ? IoError::Kind::no_space : IoError::Kind::other);
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ",") + escape_bytes(word);
    return text;
}

/// All that changes results, by the names of the options.
std::map<std::string, std::string> fingerprint(const Options& options) {
    const Normalization& normalization = options.normalization;
    const auto number = [](double value) { return io::shortest(value); };
    const auto& range = options.histogram.range;
    std::map<std::string, std::string> all{
        {"the inputs", join(options.inputs.arguments)},
        {"--files-from", escape_bytes(options.inputs.files_from.value_or(""))},
        {"--no-recursive", options.inputs.walk.recursive ? "no" : "yes"},
        {"--include", join(options.inputs.walk.include)},
        {"--exclude", join(options.inputs.walk.exclude)},
        {"--group-by", options.group_by_directory ? "dir" : ""},
        {"--bins", std::to_string(options.histogram.bins)},
        {"--range", range ? number(range->lower) + "," + number(range->upper) : ""},
        {"--log", options.log_counts ? "yes" : "no"},
        {"--max-pixels", std::to_string(options.decode.max_pixels)},
        {"--on-truncated", options.decode.on_truncated == io::OnTruncated::accept ? "accept" : "error"},
        {"--normalize", std::to_string(static_cast<int>(normalization.mode)) + "," + number(normalization.low) + "," +
                            number(normalization.high) + (normalization.joint ? ",joint" : ",separate")},
        {"the version of gpuhist", GPUHIST_VERSION},
        {"the version of OpenCV", cv::getVersionString()},
    };
    std::string& write = all["--write"];
    if (const auto& writes = options.write)
        for (const auto& [wanted, name] :
             {std::pair(writes->stats, "stats "), std::pair(writes->histogram, "histogram "),
              std::pair(writes->plot, "plot "), std::pair(writes->normalized, "normalized ")})
            if (wanted) write += name;
    std::string& format = all["--format"];
    if (options.format == Format::csv) format = "csv";
    if (options.format == Format::json) format = "json";
    return all;
}

/// The temporary files of a process that was killed.
void remove_temporary_files(const fs::path& directory, std::int64_t process) {
    const std::string prefix = ".gpuhist." + std::to_string(process) + "-";
    std::error_code failed;
    for (auto entry = fs::recursive_directory_iterator(directory, failed); !failed && entry != fs::end(entry);
         entry.increment(failed))
        if (entry->path().filename().string().rfind(prefix, 0) == 0) {
            std::error_code ignored;
            fs::remove(entry->path(), ignored);
        }
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- RowFile

RowFile::RowFile(fs::path path) : path_(std::move(path)), partial_(path_.string() + ".partial") {}

RowFile::~RowFile() {
    if (file_ >= 0) close(file_);
}

void RowFile::open(bool keep) {
    file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) fail(partial_, errno);
    if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw IoError(partial_.string() + ": another run is writing it");
    if (ftruncate(file_, static_cast<off_t>(keep ? written_ : 0)) != 0) fail(partial_, errno);
    if (lseek(file_, 0, SEEK_END) < 0) fail(partial_, errno);
}

void RowFile::flush() {
    if (buffer_.empty() && file_ >= 0) return;
    if (file_ < 0) open(false);
    std::size_t done = 0;
    while (done < buffer_.size()) {
        const ssize_t part = ::write(file_, buffer_.data() + done, buffer_.size() - done);
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) {
            const int error = errno;
            written_ += done;
            buffer_.erase(0, done);
            fail(partial_, error);
        }
        done += static_cast<std::size_t>(part);
    }
    written_ += done;
    buffer_.clear();
}

void RowFile::append(const std::string& text) {
    buffer_ += text;
    if (buffer_.size() >= std::size_t{1} << 18) flush();
}

void RowFile::sync() {
    flush();
    if (fsync(file_) != 0) fail(partial_, errno);
}

void RowFile::resume(std::uint64_t bytes) {
    std::error_code failed;
    const std::uint64_t there = fs::file_size(partial_, failed);
    if (failed || there < bytes)
        throw IoError(partial_.string() + ": is not what the journal says of it: start anew without --resume");
    written_ = bytes;
    open(true);
}

void RowFile::complete() {
    if (file_ < 0) {
        io::write_file(path_, buffer_);
        discard_partial();
        return;
    }
    sync();
    if (rename(partial_.c_str(), path_.c_str()) != 0) fail(path_, errno);
}

void RowFile::discard_partial() const {
    std::error_code ignored;
    fs::remove(partial_, ignored);
}

// ----------------------------------------------------------------------------------------------------- PathsHash

void PathsHash::add(const std::string& path) {
    // Two FNV-1a hashes, of the bytes and of their complements, with a zero byte after each path.
    const auto step = [&](unsigned char byte) {
        constexpr std::uint64_t prime = 0x100000001b3u;
        high_ = (high_ ^ byte) * prime;
        low_ = (low_ ^ static_cast<unsigned char>(~byte)) * prime;
    };
    for (const char byte : path) step(static_cast<unsigned char>(byte));
    step(0);
}

std::string PathsHash::text() const {
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(high_),
                  static_cast<unsigned long long>(low_));
    return text.data();
}

// ------------------------------------------------------------------------------------------------------- Results

Results::Results(const Options& options, Console& console, bool single)
    : options_(options),
      console_(console),
      journaled_(!single && (!options.write || options.write->any())),
      stats_wanted_(!options.write || options.write->stats),
      journal_path_(options.output / "gpuhist.journal"),
      stats_(options.output / "stats.csv"),
      errors_(options.output / "errors.csv"),
      last_checkpoint_(std::chrono::steady_clock::now()),
      pause_(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(options.checkpoint_seconds))) {}

std::uint64_t Results::begin() {
    if (!journaled_) return 0;
    std::optional<Journal> former;
    try {
        former = load_journal(journal_path_);
    } catch (const IoError&) {
        if (options_.resume) throw;
        former.emplace();  // whatever it is: the run starts anew
    }
    const auto options = fingerprint(options_);
    if (former) remove_temporary_files(options_.output, former->process);
    if (former && options_.resume) {
        std::string differences;
        for (const auto& [name, value] : options)
            if (former->options[name] != value) differences += (differences.empty() ? "" : ", ") + name;
        if (!differences.empty())
            throw UsageError("--resume: the interrupted run in " + options_.output.string() + " differs in " +
                             differences + ": repeat it with its options, or start anew without --resume");
        journal_ = std::move(*former);
        expected_hash_ = journal_.paths_hash;
        to_skip_ = journal_.inputs;
        complete_ = journal_.complete;
        printed_ = journal_.images > 0;
        journal_saved_ = begun_ = true;
        if (!complete_ && stats_wanted_) {
            stats_.resume(journal_.stats_bytes);
            errors_.resume(journal_.errors_bytes);
        }
        if (const auto& output = journal_.standard_output) {
            struct stat status {};
            const bool same = fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) &&
                              status.st_dev == output->device && status.st_ino == output->file &&
                              static_cast<std::uint64_t>(status.st_size) >= output->bytes;
            if (same && ftruncate(STDOUT_FILENO, static_cast<off_t>(output->bytes)) == 0)
                lseek(STDOUT_FILENO, 0, SEEK_END);
        }
        journal_.process = getpid();
        if (!complete_) save_journal(journal_path_, journal_);
        return to_skip_;
    }
    if (former) {
        console_.note(options_.output.string() +
                      ": holds an interrupted run, which this one replaces; --resume would have gone on with it");
        std::error_code ignored;
        fs::remove(journal_path_, ignored);
    }
    stats_.discard_partial();
    errors_.discard_partial();
    journal_.options = options;
    journal_.process = getpid();
    return 0;
}

void Results::skip(const Input& input) {
    hash_.add(input.path);
    if (++skipped_ == to_skip_ && hash_.text() != expected_hash_)
        throw UsageError("--resume: the inputs are not those of the interrupted run in " + options_.output.string() +
                         ": start anew without --resume");
}

/// Makes the directory and files when there is something to say: a run whose inputs all fail to be there leaves none.
void Results::begin_files() {
    if (std::exchange(begun_, true)) return;
    if (journaled_) {
        make_directories(options_.output);
        save_journal(journal_path_, journal_);  // so that what is left of a run that is killed soon is known for its
        journal_saved_ = true;
    }
    if (stats_wanted_) {
        stats_.append(io::stats_csv_header());
        if (journaled_) errors_.append(io::errors_csv_header());
    }
}

void Results::add_error(const Input& input, const Failure& failure) {
    console_.say(failure.message);
    ++journal_.errors[failure.kind];
    if (!journaled_ || !stats_wanted_) return;
    const std::string prefix = input.path + ": ";
    const std::string cause =
        failure.message.rfind(prefix, 0) == 0 ? failure.message.substr(prefix.size()) : failure.message;
    errors_.append(io::errors_csv_row({input.index, input.path, failure.kind, cause}));
}

void Results::print(const std::string& text) {
    if (text.empty()) return;
    std::string first;
    if (options_.format == Format::table && printed_) first = "\n";
    if (options_.format == Format::csv && !printed_) first = io::stats_csv_header();
    printed_ = true;
    console_.print(first + text);
}

void Results::record(Outcome& outcome) {
    const Input& input = outcome.input;
    if (!outcome.failure || journaled_) begin_files();
    hash_.add(input.path);
    if (outcome.failure) {
        add_error(input, *outcome.failure);
    } else {
        stats_.append(outcome.stats);
        for (const Failure& failure : outcome.not_written) add_error(input, failure);
        if (journaled_ && stats_wanted_) {
            journal_.pools[""].add(outcome.analysis);
            if (options_.group_by_directory) journal_.pools[input.group].add(outcome.analysis);
        }
        ++journal_.images;
        ++images_;
        pixels_ += outcome.pixels;
        print(outcome.printed);
    }
    ++journal_.inputs;
    if (journaled_ && std::chrono::steady_clock::now() - last_checkpoint_ >= pause_) checkpoint();
}

void Results::checkpoint() {
    if (!journaled_ || !begun_) return;
    const auto start = std::chrono::steady_clock::now();
    if (stats_wanted_) {
        stats_.sync();
        errors_.sync();
        journal_.stats_bytes = stats_.bytes();
        journal_.errors_bytes = errors_.bytes();
    }
    const Writes most = options_.write.value_or(Writes{true, true, true, true});
    if (most.histogram || most.plot || most.normalized) {  // files of images
        const int directory = open(options_.output.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const bool done = directory >= 0 && syncfs(directory) == 0;
        const int error = errno;
        if (directory >= 0) close(directory);
        if (!done) fail(options_.output, error);
    }
    struct stat status {};
    if (fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode)) {
        fsync(STDOUT_FILENO);
        const off_t place = lseek(STDOUT_FILENO, 0, SEEK_CUR);
        journal_.standard_output = {status.st_dev, status.st_ino, static_cast<std::uint64_t>(std::max<off_t>(place, 0))};
    }
    journal_.paths_hash = hash_.text();
    save_journal(journal_path_, journal_);
    journal_saved_ = true;
    // Where disks are slow, no more than a twentieth of the time goes into this.
    const auto now = std::chrono::steady_clock::now();
    pause_ = std::max(pause_, 20 * (now - start));
    last_checkpoint_ = now;
}

void Results::write(const std::string& name, const std::string& text) {
    io::write_file(options_.output / name, text);
    written_.push_back(name);
}

void Results::write_dataset() {
    std::vector<io::Group> groups;
    for (const auto& [name, pool] : journal_.pools) groups.push_back({name, pool});
    write("dataset.csv", io::dataset_csv(groups));
    write("dataset.json", io::dataset_json(groups, options_.histogram));
    if (groups.empty()) return;
    for (const auto& [name, plot] : io::dataset_plots(groups.front().pool, options_.histogram, options_.log_counts)) {
        io::write_image(options_.output / name, plot);
        written_.push_back(name);
    }
}

void Results::finish() {
    if (!begun_) return;
    if (journaled_ && !complete_ && journal_.inputs > 0) {
        journal_.complete = true;
        checkpoint();
    }
    if (stats_wanted_) {
        std::error_code ignored;
        make_directories(options_.output);
        const auto name = [&](RowFile& file, const char* finished) {
            const bool left = !complete_ || fs::exists(options_.output / (std::string(finished) + ".partial"), ignored);
            if (complete_ && left) file.resume(finished == std::string("stats.csv") ? journal_.stats_bytes : journal_.errors_bytes);
            if (left) file.complete();
            written_.push_back(finished);
        };
        name(stats_, "stats.csv");
        if (journaled_) {
            name(errors_, "errors.csv");
            write_dataset();
        }
    }
    if (journaled_) {
        for (const std::string& file : written_) make_durable(options_.output / file);
        make_durable(options_.output);
        std::error_code ignored;
        fs::remove(journal_path_, ignored);
        journal_saved_ = false;
    }
    if (options_.format != Format::table || written_.empty()) return;
    std::string text = "wrote  " + printable((options_.output / written_.front()).string());
    for (std::size_t i = 1; i < written_.size(); ++i) text += " " + written_[i];
    console_.print(text + "\n");
}

std::uint64_t Results::failed() const {
    return journal_.inputs - journal_.images;
}

}  // namespace gpuhist::app
