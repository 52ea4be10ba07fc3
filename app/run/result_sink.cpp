#include "run/result_sink.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/lut_file.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/shard.hpp"
#include "gpuhist/io/thumbnails.hpp"
#include "run/gallery.hpp"
#include "run/image_files.hpp"
#include "run/image_flags.hpp"
#include "run/kept_counts.hpp"
#include "run/remarks.hpp"
#include "run/table_file.hpp"
#include "run/thumbnails.hpp"
#include "run/written.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

std::string shard_name(const Options& options, const char* otherwise) {
    if (!options.shard) return otherwise;
    return "part-" + std::to_string(options.shard->number) + "-of-" + std::to_string(options.shard->count);
}

}  // namespace

Results::Results(const Options& options, const Sinks& sinks, Console& console, OutputDirectory& output, bool single,
                 std::uint64_t group_bytes)
    : options_(options),
      sinks_(sinks),
      console_(console),
      output_(output),
      single_(single),
      journaled_(!single && (!options.write || options.write->any())),
      stats_wanted_(!options.write || options.write->stats),
      table_wanted_(options.format == "table" && !options.table_of_each),
      summed_((!single && table_wanted_) || (journaled_ && stats_wanted_) || options.linked ||
              !options.tables_to.empty() || (options.keep_counts && stats_wanted_)),
      sharded_(options.shard.has_value()),
      linked_(options.linked && journaled_),
      checkpoint_path_(options.output / (shard_name(options, "gpuhist") + ".journal")),
      first_pass_(output),
      values_(journaled_
                  ? io::FrequencyFile::named(options.output / (shard_name(options, "gpuhist") + ".values.partial"),
                                             [&output] { output.begin(); })
                  : io::FrequencyFile::temporary(temporary_directory())),
      group_bytes_(group_bytes),
      one_table_(options),
      last_checkpoint_(std::chrono::steady_clock::now()),
      pause_(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(options.checkpoint_seconds))) {
    for (const RowSink& sink : sinks_.files) rows_.emplace_back(output, sink.name);
    checkpoint_ = first_checkpoint();
    if (journaled_) output_.keep_track(shard_name(options_, "gpuhist"), working_names());
}

/// State of a run that has done nothing yet.
Checkpoint Results::first_checkpoint() const {
    Checkpoint first;
    io::Shard& shard = first.shard;
    shard.options = fingerprint(options_);
    shard.percentiles = options_.percentiles;
    shard.clip_sigma = options_.statistics().clip_sigma;
    shard.histogram = options_.histogram;
    shard.plots = options_.plots;
    shard.plots.of_groups = io::groups_have_plots(shard);
    if (options_.shard) shard.id = *options_.shard;
    for (const RowSink& sink : sinks_.files)
        for (const TableTraits& traits : sink.tables) shard.rows[traits.table] = 0;
    shard.groups = {{"", {}}};
    shard.stored = io::StoredGroups(values_, group_bytes_);
    return first;
}

/// Names of the files that rows of any table may be in.
std::vector<std::string> Results::table_names() const {
    if (sharded_) return {io::shard_rows_file_name(checkpoint_.shard.id)};
    std::vector<std::string> names;
    for (const TableTraits& traits : input_tables())
        if (journaled_ || traits.subject == TableSubject::image) names.push_back(traits.file_name());
    return names;
}

/// Files that grow during the run.
std::vector<RowFile*> Results::growing() {
    std::vector<RowFile*> files;
    for (RowFile& file : rows_) files.push_back(&file);
    if (linked_) files.push_back(&first_pass_.file());
    return files;
}

/// Name of the list of what the run writes.
std::string Results::list_name() const {
    return shard_name(options_, "gpuhist") + ".written.partial";
}

/// Names of the files that go before the run ends.
std::vector<std::string> Results::working_names() {
    std::vector<std::string> names{checkpoint_path_.filename(), shard_name(options_, "gpuhist") + ".values.partial"};
    for (const RowFile* file : growing()) names.push_back(file->partial().filename());
    if (stats_wanted_ && sharded_) names.push_back(io::shard_frequency_file_name(checkpoint_.shard.id));
    return names;
}

/// Tells whether this run writes the counts of its set: of a shard, the merge does.
bool Results::keeps_counts() const {
    return stats_wanted_ && !sharded_ && options_.keep_counts;
}

/// Tells whether this run keeps thumbnails of unusual images.
bool Results::keeps_thumbnails() const {
    return stats_wanted_ && options_.keep_thumbnails && options_.flags_asked();
}

void Results::reserve_names() {
    std::vector<std::string> names;
    if (stats_wanted_) names = table_names();
    if (stats_wanted_ && !sharded_ && options_.flags_asked()) names.push_back(traits_of(ColumnFile::flags).file_name());
    if (sharded_) names.push_back(io::shard_file_name(checkpoint_.shard.id));
    if (keeps_thumbnails())
        names.push_back(sharded_ ? io::shard_thumbnails_file_name(checkpoint_.shard.id) : io::thumbnails_file_name);
    if (keeps_counts())
        for (std::string& name : kept_counts_names()) names.push_back(std::move(name));
    if (journaled_) {
        for (std::string& name : working_names()) names.push_back(std::move(name));
        names.push_back(list_name());
        if (stats_wanted_ && !sharded_)
            for (std::string& name : io::dataset_file_names()) names.push_back(std::move(name));
    }
    output_.reserve(names);
    if (!options_.tables_to.empty())
        output_.reserve_elsewhere(options_.tables_to, {"# gpuhist tables: ", "# checksum "});
}

std::uint64_t Results::begin() {
    if (!journaled_) return 0;
    auto former = options_.resume ? load_checkpoint(checkpoint_path_, values_) : std::nullopt;
    if (former) {
        std::string differences, files;
        for (const auto& [name, value] : checkpoint_.shard.options) {
            if (former->shard.options[name] == value) continue;
            std::string& all = name.rfind(file_of_option, 0) == 0 ? files : differences;
            all += (all.empty() ? "" : ", ") + name;
        }
        if (!differences.empty())
            throw UsageError("--resume: the interrupted run in " + options_.output.string() + " differs in " +
                             differences + ": repeat it with its options, or start again without --resume");
        if (!files.empty()) {
            note_anew(files);
            former.reset();
        }
    }
    if (former) {
        checkpoint_ = std::move(*former);
        expected_hash_ = checkpoint_.paths_hash;
        expected_stamps_ = checkpoint_.stamps_hash;
        expected_beside_ = checkpoint_.beside_hash;
        to_skip_ = checkpoint_.inputs;
        complete_ = checkpoint_.complete;
        if (complete_) {  // no input is listed again
            own_ = checkpoint_.own_inputs;
            from_directory_ = checkpoint_.from_directory;
        }
        printed_ = checkpoint_.printed;
        checkpoint_saved_ = true;
        begun_ = complete_ || checkpoint_.pass == 2 || checkpoint_.inputs > 0;  // else there are no headers yet
        checkpoint_.shard.stored.limit(group_bytes_);
        keep_values();
        if (checkpoint_.frequency_bytes == 0) values_->discard();
        one_table_.resume(checkpoint_.shard.groups.front().summary);
        if (!complete_)
            for (RowFile* file : growing()) file->resume(checkpoint_.extents[file->name()]);
        if (checkpoint_.standard_output) printed_tail_ = PrintedTail(*checkpoint_.standard_output);
        output_.check_list(checkpoint_.extents[list_name()]);
        output_.begin();
        return to_skip_;
    }
    for (RowFile* file : growing()) file->discard();
    for (const std::string& name : table_names())  // of a run that wrote others
        if (RowFile file(output_, name); output_.owns(file.partial().filename())) file.discard();
    values_->discard();
    std::error_code ignored;
    const bool interrupted = fs::remove(checkpoint_path_, ignored);
    if (options_.resume && !interrupted && look_for_finished()) return 0;
    if (options_.resume && !interrupted) {
        const std::string result = sharded_ ? io::shard_file_name(checkpoint_.shard.id) : "stats.csv";
        const bool finished = stats_wanted_ && fs::exists(options_.output / result, ignored);
        console_.note(options_.output.string() + ": holds " +
                      (finished ? "a finished run, which is measured again" : "no interrupted run") +
                      ": --resume has nothing to continue");
    }
    if (interrupted && !options_.resume)
        console_.note(options_.output.string() +
                      ": the interrupted run there is replaced; --resume would have continued it");
    return 0;
}

namespace {

/// Checksum of names and values.
std::string checksum_of(const std::map<std::string, std::string>& values) {
    io::Checksum sum;
    for (const auto& [name, value] : values)
        for (const std::string* text : {&name, &value}) sum.add(text->c_str(), text->size() + 1);
    return io::checksum_text(sum.value());
}

}  // namespace

/// Whether the options, the inputs and the listed files can tell that there is nothing to do.
bool Results::may_be_listed() const {
    const auto& arguments = options_.inputs.arguments;
    return journaled_ && stats_wanted_ && options_.tables_to.empty() && !options_.temporary &&
           std::find(arguments.begin(), arguments.end(), "-") == arguments.end();
}

/// Checksum of all options that decide on files.
std::string Results::options_checksum() const {
    std::map<std::string, std::string> options = checkpoint_.shard.options;
    options["--keep-thumbnails"] = options_.keep_thumbnails ? "yes" : "no";
    return checksum_of(options);
}

/// Lists the run as finished: by its options, its inputs, and what it found.
void Results::list_finished() {
    std::string errors;
    for (const auto& [kind, count] : checkpoint_.errors) {
        if (kind == "output" || kind == "no_space" || kind == "engine") return;
        errors += ' ' + kind + ' ' + std::to_string(count);
    }
    if (!may_be_listed()) return;
    output_.finish_run(options_checksum() + ' ' +
                       checksum_of({{"paths", checkpoint_.paths_hash},
                                    {"stamps", checkpoint_.stamps_hash},
                                    {"beside", checkpoint_.beside_hash}}) +
                       ' ' + std::to_string(checkpoint_.images) + errors);
}

bool Results::look_for_finished() {
    if (!may_be_listed() || sinks_.printed) return false;  // rows would have to be printed again
    const auto found = output_.finished(shard_name(options_, "gpuhist"));
    if (!found) return false;
    std::istringstream words(*found);
    std::string options, kind;
    words >> options >> finished_ >> checkpoint_.images;
    if (options != options_checksum()) finished_.clear();
    for (std::uint64_t count = 0; !finished_.empty() && words >> kind >> count;) checkpoint_.errors[kind] = count;
    return !finished_.empty();
}

bool Results::settle_finished() {
    const std::string inputs =
        checksum_of({{"paths", hash_.text()}, {"stamps", stamps_.text()}, {"beside", beside_.text()}});
    if (inputs == finished_) {
        output_.clean();
        console_.note("--resume: " + options_.output.string() + " is finished: no input has changed");
        return true;
    }
    console_.note("--resume: inputs have changed since the finished run in " + options_.output.string() +
                  ": everything is measured again");
    finished_.clear();
    checkpoint_ = first_checkpoint();
    forget_inputs();
    return false;
}

/// Keeps that of the file of values which the checkpoint speaks of.
void Results::keep_values() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const io::Group& group : checkpoint_.shard.groups)
        for (const DepthSummary& depth : group.summary.depths())
            for (const ChannelSummary& channel : depth.channels)
                for (const FrequencyRun& run : channel.values.runs())
                    if (!run.data()) places.emplace_back(run.place(), run.bytes());
    checkpoint_.shard.stored.each_stored([&](const std::string&, const std::vector<io::StoredSummary>& parts) {
        for (const io::StoredSummary& part : parts) {
            places.emplace_back(part.place, part.bytes);
            for (const FrequencyRun& run : part.runs) places.emplace_back(run.place(), run.bytes());
        }
    });
    values_->keep_only(std::move(places));
}

void Results::begin_second_pass() {
    count_all();
    checkpoint_.pass = 2;
    checkpoint_.inputs = 0;
    checkpoint_.stacks.clear();
    forget_inputs();
    checkpoint();
}

void Results::forget_inputs() {
    hash_ = files_hash_ = {};
    stamps_ = {};
    beside_ = {};
    files_ = own_ = skipped_ = to_skip_ = 0;
    last_file_.reset();
}

void Results::note_anew(const std::string& what) const {
    console_.note("--resume: " + what + " changed since the interrupted run in " + options_.output.string() +
                  ": everything is measured again");
}

void Results::begin_anew() {
    for (RowFile& file : rows_) file.discard();
    if (linked_) first_pass_.discard();
    checkpoint_ = first_checkpoint();
    values_->discard();
    std::error_code ignored;
    fs::remove(checkpoint_path_, ignored);
    one_table_ = OneTable(options_);
    forget_inputs();
    printed_tail_ = PrintedTail();
    begun_ = checkpoint_saved_ = printed_ = from_directory_ = false;
}

void Results::look_back(Outcome& outcome) {
    Input& input = outcome.input;
    if (const auto seen = first_pass_.find(input, outcome.gone)) {
        outcome.left_out = outcome.left_out || seen->failed;
        outcome.first_stamp = seen->stamp;
    } else if (!input.failure) {
        input.failure = IoError(input.path + ": did not exist in the first pass: it gets no copy");
    }
}

std::vector<LutSet> Results::luts() const {
    const Summary& all = checkpoint_.shard.groups.front().summary;
    const Normalization& normalization = options_.normalization;
    std::vector<LutSet> luts;
    for (const DepthSummary& depth : all.depths()) {
        // Bands have none, nor have depths that do not hold --fill, and their copies are errors.
        if (!depth.find(Channel::gray) && !depth.find(Channel::red)) continue;
        if (normalization.fill && !fill_in(normalized_depth(depth.depth, normalization), *normalization.fill)) continue;
        luts.push_back(make_luts(all, depth.depth, normalization));
    }
    return luts;
}

/// Records an input, whatever its outcome.
void Results::count(const Input& input) {
    if (options_.copied_into_stack(input) && options_.inputs.shard.has(input.index) &&
        options_.writes_of(input).normalized)
        add_to_stack(input);
    hash_.add(input.path);
    if (input.stamp) {
        stamps_.add(input.stamp->of_file());
        beside_.add(input.stamp->beside());
    }
    own_ += options_.inputs.shard.has(input.index);
    if (last_file_ == input.index) return;
    last_file_ = input.index;
    files_hash_.add(input.file_path());
    ++files_;
}

void Results::add_to_stack(const Input& input) {
    if (linked_ && checkpoint_.pass == 1) return;
    auto& stacks = checkpoint_.stacks;
    if (stacks.empty() || stacks.back().index != input.index)
        stacks.push_back({stack_name(input), input.index, !input.pages->rest, input.pages->pages.size(), {}});
    stacks.back().pages.push_back(input.page);
}

/// Checks the files about an input that the interrupted run was done with.
void Results::check_files(const Input& input) const {
    const Writes writes = options_.writes_of(input);
    const auto check = [&](const std::string& suffix) { output_.check_file(input.output_name + suffix); };
    if (writes.histogram) check(".histogram.csv");
    if (writes.plot)
        for (const io::PlotFormat format : options_.plots.formats)
            check(std::string(".histogram") + io::extension_of(format));
    if (writes.normalized && (!linked_ || checkpoint_.pass == 2))
        for (const char* extension : {".png", ".tiff"}) check(copy_end + std::string(extension));
    if (writes.normalized) check(copy_end + std::string(page_copy_extension));
}

/// Says of what inputs the results are: a shard of a manifest has seen its own alone.
void Results::count_all() {
    const io::Manifest* const manifest = sharded_ ? options_.inputs.manifest.get() : nullptr;
    checkpoint_.shard.inputs = manifest ? manifest->inputs() : files_;
    checkpoint_.shard.inputs_hash = manifest ? manifest->checksum() : files_hash_.text();
}

bool Results::skip(const Input& input) {
    count(input);
    if (options_.inputs.shard.has(input.index)) check_files(input);
    if (input.stamp && changed_.empty() && input.stamp->changed > checkpoint_.time) changed_ = input.path;
    from_directory_ = from_directory_ || input.from_directory;
    if (checkpoint_.pass == 2) {
        std::vector<std::string> gone;  // which the interrupted run has said
        first_pass_.find(input, gone);
    }
    if (++skipped_ < to_skip_) return true;
    const std::string anew = " the interrupted run in " + options_.output.string() + ": start again without --resume";
    if (hash_.text() != expected_hash_) throw UsageError("--resume: the inputs are not those of" + anew);
    if (stamps_.text() != expected_stamps_)
        throw UsageError("--resume: " + (changed_.empty() ? "an input" : changed_) +
                         " has changed its size or modification time since it was measured by" + anew);
    if (beside_.text() == expected_beside_) return true;
    note_anew((changed_.empty() ? "an input" : changed_) + " or its mask" +
              (options_.labels.empty() ? "" : " or label image"));
    return false;
}

/// Makes the directory and files when there is something to say: a run whose inputs all fail to be there leaves none.
void Results::begin_files() {
    if (std::exchange(begun_, true)) return;
    if (journaled_) {
        output_.begin();
        checkpoint_.standard_output = printed_place();
        checkpoint_.extents[list_name()] = output_.listed();
        save_checkpoint(checkpoint_path_, checkpoint_, *values_);
        checkpoint_saved_ = true;
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (journaled_) rows_[i].begin();
        rows_[i].append(sinks_.files[i].sink->begin());
    }
}

void Results::append(Formatted formatted) {
    for (std::size_t i = 0; i < rows_.size(); ++i)
        rows_[i].append(sinks_.files[i].sink->append(std::move(formatted.files[i])));
    for (const auto& [table, count] : formatted.rows) checkpoint_.shard.rows[table] += count;
}

void Results::add_error(const Input& input, const Failure& failure) {
    console_.say(failure.message);
    ++checkpoint_.errors[failure.kind];
    if (!journaled_ || !stats_wanted_) return;
    const std::string prefix = input.path + ": ";
    const std::string cause =
        failure.message.rfind(prefix, 0) == 0 ? failure.message.substr(prefix.size()) : failure.message;
    const io::Failure row{input.path, failure.kind, cause};
    append(sinks_.format(io::record_of(input.index, row)));
}

/// Reports images that the second pass does not find: one error each, as for images that it cannot read.
void Results::add_gone(std::uint64_t index, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        Input input;
        input.index = index;
        input.path = path;
        add_error(input, failure_of(IoError(path + ": is gone since the first pass: it gets no copy",
                                            IoError::Kind::missing)));
    }
}

/// Place in standard output from which on a run that goes on from here may find lines of this one.
std::optional<Checkpoint::Output> Results::printed_place() const {
    const auto rest = printed_tail_.rest();
    return rest ? rest : standard_output();
}

void Results::print(const std::string& text) {
    if (text.empty()) return;
    std::string first;
    if (options_.format == "table" && printed_) first = "\n";
    if (sinks_.printed && !printed_) first = sinks_.printed->begin();
    printed_ = true;
    const std::string missing = printed_tail_.missing(first + text);
    if (missing.empty()) return;
    sinks_.printed ? console_.print_rows(missing) : console_.print(missing);
}

/// Prints remarks at once if there is one input; else each subject has a note at the end.
void Results::remark(const Outcome& outcome) {
    io::Notes& notes = checkpoint_.shard.notes;
    for (const auto& [subject, text] : outcome.remarks) {
        const bool of_set = subject == io::spare_bits_subject;  // which knows how many bits
        if (single_)
            console_.note(outcome.input.path + ": " + text);
        else
            notes.add(subject, {outcome.input.index, outcome.input.path, of_set ? "" : text, 1});
    }
    if (const std::uint64_t samples = outcome.excluded_by_file; samples > 0) {
        const auto& [index, path] = std::pair(outcome.input.index, outcome.input.path);
        notes.add(io::excluded_samples_subject, {index, path, "", samples});
        notes.add(io::excluding_files_subject, {index, path, "", 1});
    }
    if (options_.rules_name_channels())
        notes.add(io::images_of_rules_subject, {outcome.input.index, outcome.input.path, "", 1});
    add_kind(notes, outcome.result);
}

/// Prints the notes, once.
void Results::say_notes() {
    for (const std::string& line : checkpoint_.shard.notes.lines()) console_.note(line);
    if (sharded_) return;
    if (!options_.normalization.joint)
        if (const auto line = note_on_separate_channels(checkpoint_.shard.notes, checkpoint_.images))
            console_.note(*line);
    if (!numbers_ && !(table_wanted_ && summed_)) return;
    for (const std::string& line : io::dataset_notes(checkpoint_.shard.groups.front().summary, checkpoint_.shard.notes))
        console_.note(line);
}

/// Appends rows, and prints them.
void Results::add_rows(Formatted rows) {
    const std::string printed = std::exchange(rows.printed, {});
    append(std::move(rows));
    if (sinks_.printed) print(sinks_.printed->append(printed));
}

void Results::add_image(Outcome& outcome) {
    if (checkpoint_.pass == 2) return;
    remark(outcome);
    add_rows(std::move(outcome.formatted));
    outcome.regions.take([this](Formatted rows) { add_rows(std::move(rows)); });
    for (io::Group& group : outcome.summaries) summary_.add(group);
    for (auto& [group, images] : outcome.stored) checkpoint_.shard.stored.add(group, std::move(images));
    from_directory_ = from_directory_ || outcome.input.from_directory;
    ++checkpoint_.images;
    ++images_;
    pixels_ += outcome.pixels;
    if (!sinks_.printed) print(outcome.table);
}

void Results::record(Outcome& outcome) {
    const Input& input = outcome.input;
    if (!outcome.left_out && !outcome.failure && checkpoint_.pass == 1)
        if (const auto why = one_table_.refusal(outcome.result)) throw UsageError(*why);
    in_doubt_ = true;
    if (!outcome.failure || journaled_) begin_files();
    const std::string page_copy = copy_end + std::string(page_copy_extension);
    if (options_.copied_into_stack(input) && !(linked_ && checkpoint_.pass == 1) && !outcome.left_out &&
        std::find(outcome.files.begin(), outcome.files.end(), page_copy) == outcome.files.end())
        output_.discard(input.output_name + page_copy);  // of a run that was interrupted
    count(input);
    ++checkpoint_.inputs;
    add_gone(input.index, outcome.gone);
    if (linked_ && checkpoint_.pass == 1) first_pass_.add(input, outcome.failure.has_value());
    if (!outcome.left_out) {
        if (outcome.failure) {
            add_error(input, *outcome.failure);
        } else {
            for (const Failure& failure : outcome.not_written) add_error(input, failure);
            if (checkpoint_.pass == 2 || !options_.table_of(input))  // which names them
                for (const std::string& end : outcome.files)
                    if (end != copy_end + std::string(page_copy_extension)) ++checkpoint_.files[end];
            add_image(outcome);
        }
    }
    in_doubt_ = false;
}

void Results::checkpoint_now_and_then() {
    if (journaled_ && std::chrono::steady_clock::now() - last_checkpoint_ >= pause_) checkpoint();
}

void Results::checkpoint() {
    if (in_doubt_ || summary_.in_doubt()) return;
    summary_.settle();
    if (!journaled_ || !begun_ || skipped_ < to_skip_) return;  // the last: nothing is new
    const auto start = std::chrono::steady_clock::now();
    for (RowFile* file : growing()) {
        file->sync();
        checkpoint_.extents[file->name()] = file->extent();
    }
    checkpoint_.extents[list_name()] = output_.listed();
    output_.sync();
    const Writes most = options_.write.value_or(Writes{true, true, true, true});
    if (most.histogram || most.plot || most.normalized) {  // files of images
        const int directory = open(options_.output.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const bool done = directory >= 0 && syncfs(directory) == 0;
        const int error = errno;
        if (directory >= 0) close(directory);
        if (!done) fail_to_write(options_.output, error);
    }
    checkpoint_.shard.stored.spill();
    checkpoint_.frequency_bytes = values_->sync();
    fsync(STDOUT_FILENO);
    checkpoint_.standard_output = printed_place();
    checkpoint_.own_inputs = own_;
    checkpoint_.from_directory = from_directory_;
    checkpoint_.printed = printed_;
    checkpoint_.paths_hash = hash_.text();
    checkpoint_.stamps_hash = stamps_.text();
    checkpoint_.beside_hash = beside_.text();
    checkpoint_.time = static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
    if (checkpoint_.pass == 1) count_all();
    save_checkpoint(checkpoint_path_, checkpoint_, *values_);
    values_->release();
    checkpoint_saved_ = true;
    // Where disks are slow, no more than a twentieth of the time goes into this.
    const auto now = std::chrono::steady_clock::now();
    pause_ = std::max(pause_, 20 * (now - start));
    last_checkpoint_ = now;
}

namespace {

bool is_page_copy(const std::string& name) {
    const std::string end = copy_end + std::string(page_copy_extension);
    return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

/// Joins the copies of the pages of each file. These remain until the joined files have their names and the checkpoint
/// says so: a run that is killed before begins this step anew.
void Results::finish_stacks() {
    for (const Checkpoint::Stack& stack : checkpoint_.stacks) finish_stack(stack);
    if (!checkpoint_.stacks.empty()) {
        output_.commit();
        checkpoint_.stacks.clear();
        if (journaled_) save_checkpoint(checkpoint_path_, checkpoint_, *values_);
    }
    if (output_.remove_working(is_page_copy)) output_.commit();
}

void Results::finish_stack(const Checkpoint::Stack& stack) {
    const std::string end = copy_end + std::string(stack_extension), name = stack.name + end;
    std::vector<fs::path> pages;
    std::vector<std::string> names;  // of pages that stay files of their own
    for (const std::uint64_t page : stack.pages) {
        const std::string copy = stack.name + ".p" + std::to_string(page) + copy_end;
        if (!output_.has_written(copy + page_copy_extension)) continue;
        pages.push_back(options_.output / (copy + page_copy_extension));
        names.push_back(copy + stack_extension);
    }
    if (pages.empty()) return;
    const auto join = [&](const std::string& to, const std::vector<fs::path>& from, bool whole) {
        if (!output_.may_write(to)) {
            ++checkpoint_.errors["output"];
            return;
        }
        io::NewFile file(options_.output / to);
        io::join_tiffs(file, from, whole);
        output_.stage(to, std::move(file));
        ++checkpoint_.files[end];
    };
    std::vector<fs::path> alike;
    std::vector<std::size_t> others;
    for (std::size_t next = 0; const std::size_t place : io::alike_tiffs(pages)) {
        for (; next < place; ++next) others.push_back(next);
        alike.push_back(pages[next++]);
    }
    for (std::size_t next = others.size() + alike.size(); next < pages.size(); ++next) others.push_back(next);
    join(name, alike, stack.whole && alike.size() == stack.count);
    for (const std::size_t place : others) join(names[place], {pages[place]}, false);
    if (!others.empty())
        console_.note((options_.output / name).string() + ": " + std::to_string(others.size()) +
                      " of its pages have other sides or another type: their copies are files of their own");
}

/// Lets a file of rows have its name, unless a run that was interrupted while finishing has given it.
void Results::finish_rows(RowFile& file) {
    const std::string name = file.name();
    const Extent& extent = checkpoint_.extents[name];
    std::error_code ignored;
    const bool left = !complete_ || fs::exists(file.partial(), ignored);
    if (complete_) left ? file.resume(extent) : file.check_complete(extent);
    if (left)
        file.complete();
    else
        output_.keep(name);
    written_.push_back(name);
}

void Results::finish_shard() {
    io::Shard& shard = checkpoint_.shard;
    const std::string values_name = io::shard_frequency_file_name(shard.id);
    output_.remove(io::shard_file_name(shard.id));  // before the rows change: what is there then is none
    output_.remove(values_name);
    output_.remove(io::shard_thumbnails_file_name(shard.id));
    output_.commit();
    finish_rows(rows_.front());
    output_.commit();
    shard.rows_file = rows_.front().checksums();
    if (keeps_thumbnails() && shard.rows_of(ColumnFile::stats) > 0) stage_thumbnails_of_shard();
    std::vector<std::string> names = io::write_shard(options_.output, shard, writer());
    if (names.size() > 1) output_.keep(values_name);
    list_finished();
    output_.commit();
    written_.insert(written_.end(), names.begin(), names.end());
}

/// Writes the flags that follow from the rows, which have no names yet unless an interrupted run gave them.
void Results::write_flags() {
    const auto table = [this](ColumnFile of) {
        const std::string name = traits_of(of).file_name();
        const auto file =
            std::find_if(rows_.begin(), rows_.end(), [&](const RowFile& one) { return one.name() == name; });
        return [file, path = (options_.output / name).string()] { return io::CsvRows(file->read(), path); };
    };
    const FlagFinder flags({table(ColumnFile::stats), table(ColumnFile::quality)}, options_.flags);
    FlagSummary summary;
    const std::string name = traits_of(ColumnFile::flags).file_name();
    output_.stage(name, flags_csv(flags, summary));
    written_.push_back(name);
    flags_ = summary.text(flags);
    if (keeps_thumbnails()) stage_thumbnails(io::thumbnails_file_name, flags);
}

/// Makes thumbnails of the images that a page would show. They are known when all are measured, so these few are read
/// once more.
void Results::stage_thumbnails(const std::string& name, const FlagFinder& flags) {
    const std::vector<std::string> paths = gallery_paths(flags, sharded_);
    output_.stage(name, io::thumbnails_json(make_thumbnails(paths, options_.decode.array)));
    written_.push_back(name);
}

void Results::stage_thumbnails_of_shard() {
    const io::Shard& shard = checkpoint_.shard;
    FlagTables tables(options_.output, shard.asked());
    io::ShardRows rows(options_.output / io::shard_rows_file_name(shard.id), shard.rows_file, shard.asked());
    while (rows.next()) tables.add(rows.table(), rows.row());
    stage_thumbnails(io::shard_thumbnails_file_name(shard.id), tables.flags(options_.flags));
}

/// Files that are not written now must not be left from an earlier run: they would be taken for this one's.
void Results::finish_dataset() {
    const io::Shard& shard = checkpoint_.shard;
    std::vector<std::string> names = table_names();
    std::set<std::string> stale(names.begin(), names.end());
    stale.insert(traits_of(ColumnFile::groups).file_name());
    if (journaled_)
        for (const std::string& name : io::dataset_file_names()) stale.insert(name);
    stale.insert(traits_of(ColumnFile::flags).file_name());
    stale.insert(io::thumbnails_file_name);
    for (std::string& name : kept_counts_names()) stale.insert(std::move(name));
    const bool any = shard.rows_of(ColumnFile::stats) > 0;
    if (any && options_.flags_asked()) write_flags();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const bool of_images = sinks_.files[i].tables.front().subject == TableSubject::image;
        if (of_images ? any : journaled_ && !checkpoint_.errors.empty())
            finish_rows(rows_[i]);
        else if (journaled_)
            rows_[i].discard();
    }
    if (journaled_ && any && io::is_set(shard, shard.groups.front().summary, shard.rows_of(ColumnFile::errors)))
        numbers_ = io::write_dataset(
            options_.output, shard.groups, shard.stored, shard.histogram, shard.plots, options_.statistics(), writer(),
            [this](const std::string& name, const io::SetNumbers& numbers) { groups_.add(name, numbers); },
            options_.inputs.manifest ? options_.inputs.manifest->checksum() : "");
    if (any && keeps_counts())
        for (std::string& name : stage_counts(output_, shard)) written_.push_back(std::move(name));
    output_.remove_former(io::is_group_plot);
    for (const std::string& name : written_) stale.erase(name);
    for (const std::string& name : stale) output_.remove(name);
    list_finished();
    output_.commit();
}

/// What writes files of the set, which get their names with all others.
io::FileWriter Results::writer() {
    return [this](const fs::path& path, const io::Pieces& pieces) {
        const std::string name = path.lexically_relative(options_.output).string();
        if (io::is_group_plot(name) && !output_.may_write(name)) {
            ++checkpoint_.errors["output"];
            return;
        }
        output_.stage(name, pieces);
        if (!sharded_) written_.push_back(name);
    };
}

/// Prints a table for each depth of the whole set.
void Results::print_set() {
    const auto& arguments = options_.inputs.arguments;
    const std::string name = arguments.size() == 1 ? arguments.front() : "all inputs";
    const Summary& whole = checkpoint_.shard.groups.front().summary;
    if (!numbers_) numbers_ = io::set_numbers(whole, options_.histogram, options_.statistics());
    for (std::size_t i = 0; i < whole.depths().size(); ++i)
        print(set_table(name, whole, i, *numbers_, groups_, options_));
}

void Results::finish() {
    if (finished()) return;
    summary_.settle();
    if (!begun_ && sharded_ && options_.inputs.manifest) begin_files();  // a shard may have no lines
    if (!begun_) return;
    if (checkpoint_.pass == 2 && !complete_) add_gone(checkpoint_.shard.inputs, first_pass_.rest());
    for (std::size_t i = 0; i < rows_.size() && !complete_; ++i) rows_[i].append(sinks_.files[i].sink->end());
    if (journaled_ && !complete_) {
        checkpoint_.complete = true;
        checkpoint();
    }
    if (!options_.tables_to.empty() && checkpoint_.images > 0) {
        const std::vector<LutSet> tables = luts();
        if (tables.empty()) throw InvalidArgument("--lut-out: lookup tables don't exist for bands");
        make_directories(options_.tables_to.parent_path());
        write_durably(options_.tables_to, io::luts_csv(tables));
    }
    finish_stacks();
    if (stats_wanted_ && sharded_)
        finish_shard();
    else if (stats_wanted_)
        finish_dataset();
    else
        output_.commit();
    if (table_wanted_ && (from_directory_ || options_.group_by != GroupBy::none)) print_set();
    if (const std::string end = sinks_.printed && printed_ ? sinks_.printed->end() : ""; !end.empty())
        console_.print_rows(printed_tail_.missing(end));
    // The checkpoint goes when all is written and printed: a run killed later has nothing left to do.
    if (journaled_) {
        std::error_code ignored;
        fs::remove(checkpoint_path_, ignored);
        checkpoint_saved_ = false;
        values_->discard();
    }
    if (linked_) first_pass_.file().discard();
    output_.end();
    say_notes();
    if (options_.format != "table") return;
    std::vector<fs::path> tables;
    if (!options_.tables_to.empty() && checkpoint_.images > 0) tables.push_back(options_.tables_to);
    if (!flags_.empty()) console_.print(flags_);
    if (const std::string text = written_text(options_.output, written_, checkpoint_.files, tables); !text.empty())
        console_.print(text);
}

void Results::abandon() {
    if (!journaled_) return;
    for (RowFile* file : growing()) file->discard();
    values_->discard();
    std::error_code ignored;
    fs::remove(checkpoint_path_, ignored);
    checkpoint_saved_ = false;
    if (!begun_) return;
    output_.remove_working(is_page_copy);
    output_.commit();
    output_.end();
}

std::uint64_t Results::failed() const {
    std::uint64_t count = 0;
    for (const auto& [kind, errors] : checkpoint_.errors)
        if (kind != "output") count += errors;
    return count;
}

}  // namespace gpuhist::app
