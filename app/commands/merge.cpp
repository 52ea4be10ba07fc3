#include "commands/merge.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "commands/joint.hpp"
#include "commands/output_failure.hpp"
#include "commands/same.hpp"
#include "commands/stack.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/csv_rows.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/frequency_file.hpp"
#include "gpuhist/io/policy.hpp"
#include "gpuhist/io/shard.hpp"
#include "gpuhist/io/sink.hpp"
#include "gpuhist/io/thumbnails.hpp"
#include "run/exit_code.hpp"
#include "run/gallery.hpp"
#include "run/image_flags.hpp"
#include "run/kept_counts.hpp"
#include "run/output_directory.hpp"
#include "run/table_file.hpp"
#include "run/written.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

/// Raises the limit of open files to what the system lets us have: a shard has one.
void allow_many_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

/// Bytes after which rows are written.
constexpr std::size_t many = std::size_t{1} << 18;

/// Path of the thumbnails that a shard kept; nothing if it kept none.
std::optional<fs::path> thumbnails_path(const io::ShardFile& file) {
    const fs::path path = file.path.parent_path() / io::shard_thumbnails_file_name(file.shard.id);
    std::error_code ignored;
    return fs::exists(path, ignored) ? std::optional(path) : std::nullopt;
}

/// Returns whether any of these shards kept thumbnails.
bool have_thumbnails(const io::ShardSet& shards) {
    return std::any_of(shards.files.begin(), shards.files.end(),
                       [](const io::ShardFile& file) { return thumbnails_path(file).has_value(); });
}

/// Thumbnails that shards kept of these images.
std::vector<io::Thumbnail> kept_thumbnails(const io::ShardSet& shards, const std::vector<std::string>& paths) {
    std::set<std::string> wanted(paths.begin(), paths.end());
    std::vector<io::Thumbnail> found;
    for (const io::ShardFile& file : shards.files) {
        const auto path = thumbnails_path(file);
        if (!path) continue;
        for (io::Thumbnail& one : io::parse_thumbnails(io::read_text(*path), path->string()))
            if (wanted.erase(one.path) > 0) found.push_back(std::move(one));
    }
    return found;
}

/// Writes the rows file of the joined shard, complete except for its name. Returns its checksums. `tables` get the rows
/// as well; null: there are none.
io::FileChecksums write_records(const io::ShardSet& shards, io::NewFile& file, FlagTables* tables) {
    io::BlockChecksums sums;
    std::string records = io::make_shard_sink(shards.files.front().shard.asked())->begin();
    const auto write = [&] {
        sums.add(records.data(), records.size());
        output([&] { file.write(records); });
        records.clear();
    };
    io::merge_rows(shards, [&](const io::ShardRow& row) {
        records += row.record;
        if (records.size() > many) write();
        if (tables) output([&] { tables->add(row.table, row.row); });
    });
    write();
    return sums.all();
}

/// Thresholds of flags in the run that the shards are of. Throws IoError.
FlagThresholds thresholds_of(const io::Shard& shard) {
    const auto policy = shard.options.find(thresholds_option);
    return policy == shard.options.end() ? FlagThresholds() : io::parse_policy(policy->second, policy->first).flags;
}

/// Makes a shard of some.
void join_into(const MergeOptions& options, Console& console) {
    const io::ShardId id = *options.joined;
    const std::string rows_name = io::shard_rows_file_name(id), values_name = io::shard_frequency_file_name(id),
                      thumbnails_name = io::shard_thumbnails_file_name(id);
    for (const std::string& directory : options.directories) {
        std::error_code ignored;
        if (fs::equivalent(directory, options.output, ignored))
            throw IoError(directory + ": the joined part can't be in a directory of its parts");
    }
    OutputDirectory directory(options.output, options.force, console);
    output([&] {
        directory.read_lists();
        directory.reserve({io::shard_file_name(id), rows_name, values_name, thumbnails_name});
        directory.make();
    });
    const io::ShardSet shards = io::collect_shards({options.directories.begin(), options.directories.end()},
                                                   io::FrequencyFile::temporary(options.output), id);
    std::optional<io::NewFile> rows;
    output([&] { rows.emplace(options.output / rows_name); });
    io::Shard shard = io::joined_shard(shards, id);
    std::optional<FlagTables> tables;
    if (have_thumbnails(shards)) output([&] { tables.emplace(options.output, shard.asked()); });
    shard.rows_file = write_records(shards, *rows, tables ? &*tables : nullptr);
    std::string thumbnails;
    if (tables)
        thumbnails = io::thumbnails_json(
            kept_thumbnails(shards, gallery_paths(tables->flags(thresholds_of(shards.files.front().shard)), true)));
    output([&] {
        directory.remove(io::shard_file_name(id));  // before the rows change: what is there then is none
        directory.remove(values_name);
        directory.remove(thumbnails_name);
        directory.commit();
        directory.stage(rows_name, std::move(*rows));
        if (!thumbnails.empty()) directory.stage(thumbnails_name, thumbnails);
        directory.commit();
        const auto names = io::write_shard(options.output, shard, [&](const fs::path& path, const io::Pieces& pieces) {
            directory.stage(path.lexically_relative(options.output).string(), pieces);
        });
        if (names.size() > 1) directory.keep(values_name);
        directory.commit();
    });
    if (!options.notes) return;
    const std::string summary = "joined  " + counted(shards.files.size(), "shard") + " in " +
                                printable((options.output / io::shard_file_name(id)).string()) + '\n';
    if (std::fputs(summary.c_str(), stdout) < 0 || (std::fflush(stdout) != 0 && errno != EPIPE))
        throw OutputFailure(std::string("standard output: ") + std::strerror(errno));
}

std::uint64_t total(const io::ShardSet& shards, ColumnFile table) {
    std::uint64_t sum = 0;
    for (const io::ShardFile& file : shards.files) sum += file.shard.rows_of(table);
    return sum;
}

/// Returns how many inputs had failed.
std::uint64_t merge_into(const MergeOptions& options, Console& console) {
    OutputDirectory directory(options.output, options.force, console);
    std::vector<std::string> names = io::dataset_file_names();
    std::vector<TableTraits> tables(input_tables().rbegin(), input_tables().rend());
    for (const TableTraits& traits : tables) names.push_back(traits.file_name());
    const std::string flags_name = traits_of(ColumnFile::flags).file_name();
    output([&] {
        directory.read_lists();
        directory.reserve(names);
        directory.make();
    });
    const io::ShardSet shards = io::collect_shards({options.directories.begin(), options.directories.end()},
                                                   io::FrequencyFile::temporary(options.output));
    const io::Shard& first = shards.files.front().shard;
    std::map<ColumnFile, TableFile> files;
    output([&] {
        for (const TableTraits& traits : input_tables())
            files.try_emplace(traits.table, options.output, traits, first.asked());
    });
    io::merge_rows(shards, [&](const io::ShardRow& row) { output([&] { files.at(row.table).add(row.row); }); });
    output([&] {
        for (auto& [table, file] : files) file.flush();
    });
    const std::uint64_t failed = total(shards, ColumnFile::errors), rows = total(shards, ColumnFile::stats);
    const bool is_set = io::is_set(first, shards.groups.front().summary, failed);
    std::vector<std::string> written;
    if (counts_are_kept(first)) output([&] { directory.reserve(kept_counts_names()); });
    std::optional<FlagFinder> flags;
    std::string flagged, thumbnails;
    if (rows > 0 && first.rows.count(ColumnFile::quality) != 0) {
        const auto table = [&](ColumnFile of) { return [&file = files.at(of)] { return file.read(); }; };
        output([&] { directory.reserve({flags_name}); });
        flags.emplace(ImageTables{table(ColumnFile::stats), table(ColumnFile::quality)}, thresholds_of(first));
        if (have_thumbnails(shards)) {
            output([&] { directory.reserve({io::thumbnails_file_name}); });
            thumbnails = io::thumbnails_json(kept_thumbnails(shards, gallery_paths(*flags, false)));
        }
    }
    output([&] {
        // A file that is not written now must not be left from an earlier run: it would be taken for this one's.
        std::set<std::string> stale(names.begin(), names.end());
        stale.insert(traits_of(ColumnFile::groups).file_name());
        stale.insert(flags_name);
        stale.insert(io::thumbnails_file_name);
        for (std::string& name : kept_counts_names()) stale.insert(std::move(name));
        if (flags) {
            stale.erase(flags_name);
            written.push_back(flags_name);
            FlagSummary summary;
            directory.stage(flags_name, flags_csv(*flags, summary));
            flagged = summary.text(*flags);
        }
        if (!thumbnails.empty()) {
            stale.erase(io::thumbnails_file_name);
            written.push_back(io::thumbnails_file_name);
            directory.stage(io::thumbnails_file_name, thumbnails);
        }
        if (is_set && rows > 0)
            io::write_dataset(
                options.output, shards.groups, shards.stored, first.histogram, first.plots, first.asked(),
                [&](const fs::path& path, const io::Pieces& pieces) {
                    const std::string name = path.lexically_relative(options.output);
                    if (io::is_group_plot(name) && !directory.may_write(name)) return;
                    stale.erase(name);
                    written.push_back(name);
                    directory.stage(name, pieces);
                },
                {}, first.id.lines ? first.inputs_hash : "");
        if (rows > 0 && counts_are_kept(first))
            for (std::string& name : stage_counts(directory, io::whole_run(shards))) {
                stale.erase(name);
                written.push_back(std::move(name));
            }
        directory.remove_former(io::is_group_plot);
        for (const TableTraits& traits : tables) {  // stats.csv last: with it all is there
            const std::uint64_t count = traits.subject == TableSubject::image ? rows : failed;
            if (count == 0 || first.rows.count(traits.table) == 0) continue;
            stale.erase(traits.file_name());
            written.push_back(traits.file_name());
            directory.stage(traits.file_name(), files.at(traits.table).take());
        }
        for (const std::string& name : stale) directory.remove(name);
        directory.commit();
    });
    if (!options.notes) return failed;
    for (const std::string& line : shards.notes.lines()) console.note(line);
    if (is_set)
        for (const std::string& line : io::dataset_notes(shards.groups.front().summary, shards.notes))
            console.note(line);
    const std::string summary = "merged  " + counted(shards.files.size(), "shard") + ", " +
                                counted(first.inputs, "input") + ", " + counted(failed, "error") + '\n' +
                                written_text(options.output, written);
    if (std::fputs((flagged + summary).c_str(), stdout) < 0 || (std::fflush(stdout) != 0 && errno != EPIPE))
        throw OutputFailure(std::string("standard output: ") + std::strerror(errno));
    return failed;
}

}  // namespace

int merge(const MergeOptions& options) {
    const auto has_pixels = [](const std::string& directory) { return !same_part_files(directory).empty(); };
    if (!options.joined && std::all_of(options.directories.begin(), options.directories.end(), has_pixels))
        return merge_pixels(options);
    const auto has_stacks = [](const std::string& directory) { return !stack_part_files(directory).empty(); };
    if (!options.joined && std::all_of(options.directories.begin(), options.directories.end(), has_stacks))
        return merge_stacks(options);
    const auto has_joints = [](const std::string& directory) { return !joint_part_files(directory).empty(); };
    if (!options.joined && std::all_of(options.directories.begin(), options.directories.end(), has_joints))
        return merge_joints(options);
    allow_many_files();
    Console console(!options.notes);
    try {
        const std::uint64_t failed = options.joined ? 0 : merge_into(options, console);
        if (options.joined) join_into(options, console);
        if (failed == 0) return all_done;
        console.say(counted(failed, "input") + " failed when the parts ran: see " +
                    (options.output / "errors.csv").string());
    } catch (const OutputFailure& error) {
        console.say(error.what());
        return output_failed;
    } catch (const std::exception& error) {
        console.say(error.what());
        const fs::path result = options.output / (options.joined ? io::shard_file_name(*options.joined) : "stats.csv");
        std::error_code ignored;
        if (fs::exists(result, ignored))
            console.say(options.output.string() + ": nothing was written: the results there are from an earlier run");
        return data_refused;
    }
    return inputs_failed;
}

}  // namespace gpuhist::app
