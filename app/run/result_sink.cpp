#include "run/result_sink.hpp"

#include <fcntl.h>
#include <oneapi/tbb/parallel_for_each.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <opencv2/core.hpp>
#include <system_error>
#include <utility>

#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/lut_file.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/shard.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int error) {
    throw IoError(path.string() + ": cannot be written: " + std::strerror(error),
                  error == ENOSPC || error == EDQUOT ? IoError::Kind::no_space : IoError::Kind::other);
}

/// Until the file is closed no other run gets it.
void lock(int file, const fs::path& path) {
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw IoError(path.string() + ": another run is writing it; name another --output");
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

/// All that changes results, by the names of the options.
std::map<std::string, std::string> fingerprint(const Options& options) {
    const Normalization& normalization = options.normalization;
    const auto number = [](double value) { return io::shortest(value); };
    const auto& range = options.histogram.range;
    std::map<std::string, std::string> all{
        {"the inputs", join(options.inputs.arguments)},
        {"--files-from", options.inputs.files_from.value_or("")},
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
    if (!options.write && options.normalize) write = "normalized of directories too";
    all["--link"] = options.linked ? "dataset" : "";
    all["--lut-in"] = options.tables_from.string();
    all["--lut-out"] = options.tables_to.string();
    return all;
}

std::string shard_name(const Options& options, const char* otherwise) {
    if (!options.shard) return otherwise;
    return "part-" + std::to_string(options.shard->number) + "-of-" + std::to_string(options.shard->count);
}

std::string rows_name(const Options& options) {
    return options.shard ? io::shard_rows_file_name(*options.shard) : "stats.csv";
}

/// Where standard output stands, if it is a file.
std::optional<Checkpoint::Output> standard_output() {
    struct stat status {};
    const off_t place = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    if (place < 0 || fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return Checkpoint::Output{status.st_dev, status.st_ino, static_cast<std::uint64_t>(place)};
}

/// Cuts off what standard output received after that, if it is the same file.
void cut_standard_output(const Checkpoint::Output& output) {
    struct stat status {};
    const bool same = fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == output.device &&
                      status.st_ino == output.file && static_cast<std::uint64_t>(status.st_size) >= output.bytes;
    if (same && ftruncate(STDOUT_FILENO, static_cast<off_t>(output.bytes)) == 0) lseek(STDOUT_FILENO, 0, SEEK_END);
}

/// The temporary files of a run that was killed.
void remove_temporary_files(const fs::path& directory, const std::string& prefix) {
    if (prefix.rfind(".gpuhist.", 0) != 0) return;
    std::error_code failed;
    for (auto entry = fs::recursive_directory_iterator(directory, failed); !failed && entry != fs::end(entry);
         entry.increment(failed))
        if (entry->path().filename().string().rfind(prefix, 0) == 0) {
            std::error_code ignored;
            fs::remove(entry->path(), ignored);
        }
}

/// What the values of floats take in memory, and with them the rest, about; 0 where there are none.
std::size_t bytes_of_values(const Summary& pool) {
    const DepthSummary* floats = pool.find(Depth::f32);
    std::size_t bytes = 0;
    if (floats)
        for (const ChannelSummary& channel : floats->channels)
            bytes += sizeof channel + 8 * channel.counts.size() + channel.values.memory_bytes();
    return bytes;
}

/// The system's.
fs::path temporary_directory() {
    std::error_code failure;
    const fs::path path = fs::temp_directory_path(failure);
    return failure ? "/tmp" : path;
}

constexpr std::size_t most_latest_bytes = std::size_t{48} << 20;

/// At least one, as one; they are used up.
Summary merged(Summary* begin, Summary* end) {
    if (end - begin == 1) return std::move(*begin);
    Summary* middle = begin + (end - begin) / 2;
    Summary left, right;
    tbb::parallel_invoke([&] { left = merged(begin, middle); }, [&] { right = merged(middle, end); });
    left.merge(right);
    return left;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- RowFile

RowFile::RowFile(fs::path path) : path_(std::move(path)), partial_(path_.string() + ".partial") {}

RowFile::~RowFile() {
    if (file_ >= 0) close(file_);
}

void RowFile::open() {
    file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) fail(partial_, errno);
    lock(file_, partial_);
    if (ftruncate(file_, static_cast<off_t>(written_)) != 0) fail(partial_, errno);
    if (lseek(file_, 0, SEEK_END) < 0) fail(partial_, errno);
}

void RowFile::begin() {
    if (file_ < 0) open();
}

void RowFile::flush() {
    if (buffer_.empty() && file_ >= 0) return;
    begin();
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
    // The disk begins with it now, so that a checkpoint, which waits for the disk, finds little left to do.
    sync_file_range(file_, static_cast<off_t>(written_), static_cast<off_t>(done), SYNC_FILE_RANGE_WRITE);
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
    if (bytes > 0 && (failed || there < bytes))
        throw IoError(partial_.string() + ": is not what the checkpoint says of it: start anew without --resume");
    written_ = bytes;
    open();
}

void RowFile::complete() {
    if (file_ < 0) {
        io::write_file(path_, buffer_);
        discard();
        return;
    }
    sync();
    if (rename(partial_.c_str(), path_.c_str()) != 0) fail(path_, errno);
}

void RowFile::discard() {
    if (file_ < 0) file_ = ::open(partial_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) return;
    lock(file_, partial_);
    unlink(partial_.c_str());
    close(std::exchange(file_, -1));
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
      table_wanted_(options.format == Format::table && !options.table_of_each),
      pooled_((!single && table_wanted_) || (journaled_ && stats_wanted_) || options.linked ||
              !options.tables_to.empty()),
      sharded_(options.shard.has_value()),
      linked_(options.linked && journaled_),
      journal_path_(options.output / (shard_name(options, "gpuhist") + ".journal")),
      rows_(options.output / rows_name(options)),
      errors_(options.output / "errors.csv"),
      bad_(options.output / "gpuhist.bad"),
      values_(journaled_
                  ? io::FrequencyFile::named(options.output / (shard_name(options, "gpuhist") + ".values.partial"))
                  : io::FrequencyFile::temporary(temporary_directory())),
      last_checkpoint_(std::chrono::steady_clock::now()),
      pause_(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(options.checkpoint_seconds))) {
    io::Shard& shard = journal_.shard;
    shard.options = fingerprint(options_);
    shard.histogram = options_.histogram;
    shard.log_counts = options_.log_counts;
    if (options_.shard) shard.id = *options_.shard;
    shard.groups = {{"", {}}};
}

std::uint64_t Results::begin() {
    if (!journaled_) return 0;
    if (auto former = options_.resume ? load_checkpoint(journal_path_, values_) : std::nullopt) {
        std::string differences;
        for (const auto& [name, value] : journal_.shard.options)
            if (former->shard.options[name] != value) differences += (differences.empty() ? "" : ", ") + name;
        if (!differences.empty())
            throw UsageError("--resume: the interrupted run in " + options_.output.string() + " differs in " +
                             differences + ": repeat it with its options, or start anew without --resume");
        const std::string killed = former->temporary;
        journal_ = std::move(*former);
        expected_hash_ = journal_.paths_hash;
        to_skip_ = journal_.inputs;
        complete_ = journal_.complete;
        printed_ = journal_.images > 0;
        journal_saved_ = true;
        begun_ = complete_ || journal_.pass == 2 || journal_.inputs > 0;  // else there are no headers yet
        keep_values();
        if (!complete_ && stats_wanted_) {
            rows_.resume(journal_.rows_bytes);
            if (!sharded_) errors_.resume(journal_.errors_bytes);
        }
        if (!complete_ && linked_) bad_.resume(journal_.bad_bytes);
        remove_temporary_files(options_.output, killed);
        if (journal_.standard_output) cut_standard_output(*journal_.standard_output);
        journal_.temporary = io::temporary_prefix();
        save_checkpoint(journal_path_, journal_);  // so that this run's temporary files are known for its, too
        return to_skip_;
    }
    rows_.discard();
    if (!sharded_) errors_.discard();
    if (linked_) bad_.discard();
    values_->discard();
    std::optional<std::string> former;
    try {
        former = load_temporary_prefix(journal_path_);
    } catch (const IoError&) {
        former.emplace();  // whatever it is: the run starts anew
    }
    if (former) {
        remove_temporary_files(options_.output, *former);
        console_.note(options_.output.string() +
                      ": holds an interrupted run, which this one replaces; --resume would have gone on with it");
        std::error_code ignored;
        fs::remove(journal_path_, ignored);
    }
    journal_.temporary = io::temporary_prefix();
    return 0;
}

/// Of the file of values what the journal speaks of.
void Results::keep_values() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const io::Group& group : journal_.shard.groups)
        if (const DepthSummary* floats = group.summary.find(Depth::f32))
            for (const ChannelSummary& channel : floats->channels)
                for (const FrequencyRun& run : channel.values.runs())
                    if (!run.data()) places.emplace_back(run.place(), run.bytes());
    values_->keep_only(std::move(places));
}

void Results::begin_second_pass() {
    journal_.shard.inputs = journal_.inputs;
    journal_.shard.inputs_hash = hash_.text();
    journal_.pass = 2;
    journal_.inputs = 0;
    hash_ = {};
    skipped_ = to_skip_ = 0;
    checkpoint();
}

bool Results::is_bad(const Input& input) {
    if (!bad_lines_.is_open()) bad_lines_.open(bad_.partial());
    while (!next_bad_ || *next_bad_ < input.index)
        if (!(bad_lines_ >> next_bad_.emplace())) next_bad_ = ~std::uint64_t{0};
    return *next_bad_ == input.index;
}

std::vector<LutSet> Results::tables() const {
    const Summary& all = journal_.shard.groups.front().summary;
    std::vector<LutSet> tables;
    for (const DepthSummary& one : all.depths()) tables.push_back(make_luts(all, one.depth, options_.normalization));
    return tables;
}

void Results::skip(const Input& input) {
    hash_.add(input.path);
    from_directory_ = from_directory_ || input.from_directory;
    if (++skipped_ == to_skip_ && hash_.text() != expected_hash_)
        throw UsageError("--resume: the inputs are not those of the interrupted run in " + options_.output.string() +
                         ": start anew without --resume");
}

/// Makes the directory and files when there is something to say: a run whose inputs all fail to be there leaves none.
void Results::begin_files() {
    if (std::exchange(begun_, true)) return;
    if (journaled_) {
        make_directories(options_.output);
        journal_.standard_output = standard_output();
        save_checkpoint(journal_path_, journal_);  // so that what is left of a run that is killed soon is known for its
        journal_saved_ = true;
    }
    if (stats_wanted_) {
        if (journaled_) rows_.begin();
        rows_.append(sharded_ ? io::shard_rows_header() : io::stats_csv_header());
        if (journaled_ && !sharded_) errors_.append(io::errors_csv_header());
    }
}

void Results::add_error(const Input& input, const Failure& failure) {
    console_.say(failure.message);
    ++journal_.errors[failure.kind];
    if (!journaled_ || !stats_wanted_) return;
    ++journal_.shard.errors;
    const std::string prefix = input.path + ": ";
    const std::string cause =
        failure.message.rfind(prefix, 0) == 0 ? failure.message.substr(prefix.size()) : failure.message;
    const io::Failure row{input.path, failure.kind, cause};
    if (sharded_)
        rows_.append(io::shard_error_row(input.index, row));
    else
        errors_.append(io::errors_csv_row(row));
}

void Results::print(const std::string& text) {
    if (text.empty()) return;
    std::string first;
    if (options_.format == Format::table && printed_) first = "\n";
    if (options_.format == Format::csv && !printed_) first = io::stats_csv_header();
    printed_ = true;
    console_.print(first + text);
}

/// Values of floats take long to merge: what has some waits for more of its kind.
void Results::add_to_pool(io::Group& group) {
    const std::size_t bytes = bytes_of_values(group.summary);
    if (bytes == 0) return pool_of(journal_.shard.groups, group.name).merge(group.summary);
    latest_[group.name].push_back(std::move(group.summary));
    latest_bytes_ += bytes;
    if (latest_bytes_ >= most_latest_bytes) settle_pools();
}

/// The pools have all images afterwards.
void Results::settle_pools() {
    if (latest_.empty()) return;
    const bool doubt = std::exchange(in_doubt_, true);  // where the disk is full, some are merged and some are not
    std::vector<std::pair<Summary*, std::vector<Summary>*>> sums;
    for (const auto& [group, latest] : latest_) pool_of(journal_.shard.groups, group);  // before any is pointed to
    for (auto& [group, latest] : latest_) sums.emplace_back(&pool_of(journal_.shard.groups, group), &latest);
    tbb::this_task_arena::isolate([&] {  // while waiting, no other image is begun on this thread
        tbb::parallel_for_each(sums, [](const auto& sum) {
            sum.first->merge(merged(sum.second->data(), sum.second->data() + sum.second->size()));
        });
    });
    latest_.clear();
    latest_bytes_ = 0;
    in_doubt_ = doubt;
}

void Results::add_image(Outcome& outcome) {
    if (journal_.pass == 2) return;
    rows_.append(outcome.stats);
    journal_.shard.rows += outcome.rows;
    for (io::Group& group : outcome.pools) add_to_pool(group);
    from_directory_ = from_directory_ || outcome.input.from_directory;
    ++journal_.images;
    ++images_;
    pixels_ += outcome.pixels;
    print(outcome.printed);
}

void Results::record(Outcome& outcome) {
    const Input& input = outcome.input;
    in_doubt_ = true;
    if (!outcome.failure || journaled_) begin_files();
    hash_.add(input.path);
    ++journal_.inputs;
    if (!outcome.left_out) {
        if (outcome.failure) {
            add_error(input, *outcome.failure);
            if (linked_ && journal_.pass == 1) bad_.append(std::to_string(input.index) + '\n');
        } else {
            for (const Failure& failure : outcome.not_written) add_error(input, failure);
            add_image(outcome);
        }
    }
    in_doubt_ = false;
}

void Results::checkpoint_now_and_then() {
    if (journaled_ && std::chrono::steady_clock::now() - last_checkpoint_ >= pause_) checkpoint();
}

void Results::checkpoint() {
    if (in_doubt_) return;
    settle_pools();
    if (!journaled_ || !begun_ || skipped_ < to_skip_) return;  // the last: nothing is new
    const auto start = std::chrono::steady_clock::now();
    if (stats_wanted_) {
        rows_.sync();
        journal_.rows_bytes = rows_.bytes();
        if (!sharded_) {
            errors_.sync();
            journal_.errors_bytes = errors_.bytes();
        }
    }
    const Writes most = options_.write.value_or(Writes{true, true, true, true});
    if (most.histogram || most.plot || most.normalized) {  // files of images
        const int directory = open(options_.output.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const bool done = directory >= 0 && syncfs(directory) == 0;
        const int error = errno;
        if (directory >= 0) close(directory);
        if (!done) fail(options_.output, error);
    }
    if (linked_) {
        bad_.sync();
        journal_.bad_bytes = bad_.bytes();
    }
    journal_.frequency_bytes = values_->sync();
    fsync(STDOUT_FILENO);
    journal_.standard_output = standard_output();
    journal_.paths_hash = hash_.text();
    if (journal_.pass == 1) {
        journal_.shard.inputs = journal_.inputs;
        journal_.shard.inputs_hash = journal_.paths_hash;
    }
    save_checkpoint(journal_path_, journal_);
    values_->release();
    journal_saved_ = true;
    // Where disks are slow, no more than a twentieth of the time goes into this.
    const auto now = std::chrono::steady_clock::now();
    pause_ = std::max(pause_, 20 * (now - start));
    last_checkpoint_ = now;
}

/// Gives a file of rows its name, unless a run that was interrupted while finishing has done so.
void Results::finish_rows(RowFile& file, const char* name, std::uint64_t bytes) {
    make_directories(options_.output);
    std::error_code ignored;
    const bool left = !complete_ || fs::exists(options_.output / (std::string(name) + ".partial"), ignored);
    if (complete_ && left) file.resume(bytes);
    if (left) file.complete();
    written_.push_back(name);
}

void Results::finish_part() {
    const io::Shard& shard = journal_.shard;
    io::remove_shard(options_.output, shard.id);  // before the rows change: what is there then is none
    finish_rows(rows_, rows_name(options_).c_str(), journal_.rows_bytes);
    for (std::string& name : io::write_shard(options_.output, shard)) written_.push_back(std::move(name));
}

/// What is not written now must not be left from an earlier run: it would be taken for this one's.
void Results::finish_dataset() {
    const io::Shard& shard = journal_.shard;
    const auto remove = [&](const std::string& name) {
        std::error_code ignored;
        fs::remove(options_.output / name, ignored);
    };
    if (shard.rows > 0) {
        finish_rows(rows_, "stats.csv", journal_.rows_bytes);
    } else {
        rows_.discard();
        remove("stats.csv");
    }
    if (!journaled_) return;
    if (!journal_.errors.empty()) {
        finish_rows(errors_, "errors.csv", journal_.errors_bytes);
    } else {
        errors_.discard();
        remove("errors.csv");
    }
    constexpr std::array dataset{"dataset.csv",
                                 "dataset.json",
                                 "dataset.histogram.png",
                                 "dataset.u8.histogram.png",
                                 "dataset.u16.histogram.png",
                                 "dataset.f32.histogram.png"};
    for (const char* name : dataset) remove(name);
    if (shard.inputs < 2) return;
    numbers_ = io::write_dataset(options_.output, shard.groups, shard.histogram, shard.log_counts);
    std::error_code ignored;
    for (const char* name : dataset)
        if (fs::exists(options_.output / name, ignored)) written_.push_back(name);
}

/// A table for each depth of the whole set.
void Results::print_set() {
    const auto& arguments = options_.inputs.arguments;
    const std::string name = arguments.size() == 1 ? arguments.front() : "all inputs";
    const Summary& whole = journal_.shard.groups.front().summary;
    if (!numbers_) numbers_ = io::set_numbers(whole, options_.histogram);
    for (std::size_t i = 0; i < whole.depths().size(); ++i) {
        const Depth depth = whole.depths()[i].depth;
        std::vector<Statistics> rows;
        std::uint64_t images = 0;
        for (const SummaryRow& row : numbers_->rows) {
            if (row.depth != depth) continue;
            rows.push_back(row.statistics);
            const Channel channel = row.statistics.channel;
            if (channel == Channel::gray || channel == Channel::red) images += row.images;
        }
        const TableHeading heading{
            name, std::to_string(images) + (images == 1 ? " image" : " images") + "  " + to_string(depth)};
        print(format_table(heading, rows, numbers_->histograms[i].value_or(Histogram{}), "", options_.style));
    }
}

void Results::finish() {
    settle_pools();
    if (!begun_) return;
    if (journal_.pass == 2 && !complete_ && hash_.text() != journal_.shard.inputs_hash) {
        console_.say("other images were there in the second pass than in the first: some may not be normalised");
        ++journal_.errors["other"];
    }
    if (journaled_ && !complete_) {
        journal_.complete = true;
        checkpoint();
    }
    if (!options_.tables_to.empty()) io::write_file(options_.tables_to, io::luts_csv(tables()));
    if (stats_wanted_) {
        if (sharded_)
            finish_part();
        else
            finish_dataset();
    }
    if (journaled_) {
        for (const std::string& file : written_) make_durable(options_.output / file);
        make_durable(options_.output);
        std::error_code ignored;
        fs::remove(journal_path_, ignored);
        journal_saved_ = false;
    }
    if (table_wanted_ && from_directory_) print_set();
    if (linked_) bad_.discard();
    if (journaled_) values_->discard();
    if (options_.format != Format::table || written_.empty()) return;
    std::string text = "wrote  " + printable((options_.output / written_.front()).string());
    for (std::size_t i = 1; i < written_.size(); ++i) text += " " + written_[i];
    console_.print(text + "\n");
}

std::uint64_t Results::failed() const {
    std::uint64_t count = 0;
    for (const auto& [kind, errors] : journal_.errors)
        if (kind != "output") count += errors;
    return count;
}

}  // namespace gpuhist::app
