#include "gpuhist/io/shard.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>

#include "dataset/facts.hpp"
#include "dataset/json.hpp"
#include "dataset/summary_file.hpp"
#include "files/regular_file.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/frequency_file.hpp"

namespace gpuhist::io {
namespace {

namespace fs = std::filesystem;

/// Kind of file that holds a shard, or the counts of a whole run in the same form.
struct Kind {
    std::string_view name;    ///< its format without the number
    std::string_view format;  ///< with the number, which goes up with the form
    const char* noun;
    const char* remedy;  ///< for a file of another version
};
constexpr Kind part_kind{"gpuhist part ", "gpuhist part 13", "a part file",
                         "run this part again, or merge with that version"};
constexpr Kind counts_kind{"gpuhist counts ", "gpuhist counts 13", "a file of kept counts",
                           "run gpuhist with --keep-counts again, or compare with that version"};
constexpr std::uint64_t most_shards = std::uint64_t{1} << 20;
constexpr std::uint64_t most_group_bytes = std::uint64_t{64} << 20;  ///< of all shards' groups in memory

std::string name_of(ShardId id) {
    return "part-" + std::to_string(id.number) + "-of-" + std::to_string(id.count);
}

Percentiles read_percentiles(const JsonReader& list) {
    std::vector<double> percents;
    for (std::size_t i = 0; i < list.size(); ++i) percents.push_back(list[i].number());
    try {
        return Percentiles(percents);
    } catch (const InvalidArgument& error) {
        list.refuse(error.what());
    }
}

std::vector<Group> read_groups(const JsonReader& list, const FrequencyFiles& files, ReadLimits& limits) {
    std::vector<Group> groups;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const JsonReader value = list[i].members({"group", "pool"});
        groups.push_back({value["group"].bytes(), read_summary(value["pool"], files, limits)});
        if (i == 0 ? !groups[i].name.empty() : groups[i].name <= groups[i - 1].name)
            value["group"].refuse("groups are in byte order, each once, and the whole set comes first");
    }
    if (groups.empty()) list.refuse("the whole set is missing");
    return groups;
}

Json stored_value(const StoredGroups& stored, const FrequencyFile* file) {
    Json groups = Json::array();
    stored.each_stored([&](const std::string& name, const std::vector<StoredSummary>& parts) {
        Json list = Json::array();
        for (const StoredSummary& part : parts) {
            Json runs = Json::array();
            for (const FrequencyRun& run : part.runs)
                runs.push_back(Json::array({to_string(run.depth()), place_value(run.place(), run.bytes(), file)}));
            list.push_back(Json::array({place_value(part.place, part.bytes, file), std::move(runs)}));
        }
        groups.push_back(Json{{"group", byte_string(name)}, {"at", std::move(list)}});
    });
    return groups;
}

StoredGroups read_stored(const JsonReader& list, const FrequencyFiles& files, ReadLimits& limits) {
    StoredGroups groups(files.runs);
    std::string last;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const JsonReader value = list[i].members({"group", "at"}), parts = value["at"];
        const std::string name = value["group"].bytes();
        if (name <= last) value["group"].refuse("groups are in byte order, each once");
        last = name;
        if (parts.size() == 0 || parts.size() >= StoredGroups::most_parts)
            parts.refuse("a group has from 1 to " + std::to_string(StoredGroups::most_parts - 1) + " parts");
        for (std::size_t k = 0; k < parts.size(); ++k) {
            const JsonReader part = parts[k], runs = part[1];
            if (part.size() != 2) part.refuse("expected a place and runs of values");
            const auto [place, bytes] = read_place(part[std::size_t{0}], files, limits);
            StoredSummary stored{place, bytes, {}};
            for (std::size_t r = 0; r < runs.size(); ++r) {
                const JsonReader run = runs[r];
                if (run.size() != 2 || run[1].is_text()) run.refuse("expected a depth and a place");
                stored.runs.push_back(read_run(run[1], depth_named(run[std::size_t{0}]), files, limits));
            }
            groups.add(name, std::move(stored));
        }
    }
    return groups;
}

Json lines_value(const std::optional<LineRange>& lines) {
    return lines ? Json::array({whole_number(lines->first), whole_number(lines->end)}) : Json(nullptr);
}

std::optional<LineRange> read_lines(const JsonReader& value, std::uint64_t inputs) {
    if (value.is_null()) return std::nullopt;
    if (value.size() != 2) value.refuse("expected two numbers");
    const LineRange lines{value[std::size_t{0}].whole(), value[1].whole(inputs)};
    if (lines.first > lines.end) value.refuse("the first line comes before the end");
    return lines;
}

Json notes_value(const Notes& notes) {
    Json list = Json::array();
    for (const auto& [subject, note] : notes.all())
        list.push_back(Json{{"subject", byte_string(subject)},
                            {"index", whole_number(note.index)},
                            {"path", byte_string(note.path)},
                            {"text", byte_string(note.text)},
                            {"count", whole_number(note.count)}});
    return list;
}

Notes read_notes(const JsonReader& list) {
    Notes notes;
    std::string last;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const JsonReader value = list[i].members({"subject", "index", "path", "text", "count"});
        const std::string subject = value["subject"].bytes();
        if (subject <= last) value["subject"].refuse("subjects are in byte order, each once");
        last = subject;
        notes.add(subject,
                  {value["index"].whole(), value["path"].bytes(), value["text"].bytes(), value["count"].whole()});
    }
    return notes;
}

/// Checks the format, with which the text begins: another version's has another form, perhaps without a checksum.
void check_format(const Kind& kind, std::string_view json, const std::string& name) {
    constexpr std::string_view start = "{\"format\":\"";
    std::string_view found = json.substr(0, start.size()) == start ? json.substr(start.size()) : "";
    found = found.substr(0, std::min<std::size_t>(found.find('"'), 40));
    if (found == kind.format) return;
    if (found.substr(0, kind.name.size()) != kind.name)
        throw IoError(name + ": not " + kind.noun + ": it does not begin with '" + std::string(start) +
                      std::string(kind.format) + "\"'");
    throw IoError(name + ": its format is '" + std::string(found) +
                  "', which another version of gpuhist wrote; this one reads '" + std::string(kind.format) +
                  "': " + kind.remedy);
}

/// Shard of a name like "part-3-of-7.json", and nothing else.
std::optional<ShardId> shard_of_file_name(const std::string& name) {
    ShardId id{0, 0, {}};
    const char* end = name.data() + name.size();
    if (name.rfind("part-", 0) != 0) return std::nullopt;
    const auto first = std::from_chars(name.data() + 5, end, id.number);
    if (first.ec != std::errc() || std::string_view(first.ptr, end).substr(0, 4) != "-of-") return std::nullopt;
    const auto second = std::from_chars(first.ptr + 4, end, id.count);
    return second.ec == std::errc() && name == shard_file_name(id) ? std::optional(id) : std::nullopt;
}

/// Numbers of those of the `count` shards that the K-th of M takes, including the last one.
std::pair<std::uint64_t, std::uint64_t> numbers_of(const std::optional<ShardId>& joined, std::uint64_t count) {
    if (!joined) return {1, count};
    return {(joined->number - 1) * count / joined->count + 1, joined->number * count / joined->count};
}

ShardFile read_shard_file(const fs::path& path, const std::shared_ptr<FrequencyFile>& storage) {
    const fs::path frequency_path = fs::path(path).replace_extension(".values");
    ShardFile file{path,
                   {},
                   frequency_path,
                   parse_shard(read_text(path), path.string(), {FrequencyFile::existing(frequency_path), storage}),
                   {}};
    const ShardId id = file.shard.id;
    if (path.filename() != shard_file_name(id))
        throw IoError(path.string() + ": this is " + shard_file_name(id) + " under another name");
    file.rows_path = path.parent_path() / shard_rows_file_name(id);
    file.facts = facts_of(file.shard.groups.front().summary);
    return file;
}

/// Adds the groups of a shard to those of others. Throws where they together are not its whole set, as directories are:
/// counts within a group, power sums and the values of floats between the extremes are not compared, of these the
/// checksum alone tells.
void add_groups(const ShardFile& file, const std::vector<Group>& groups, const StoredGroups& further, Summary& whole,
                StoredGroups& stored) {
    const auto grouped = file.shard.options.find("--group-by");
    const bool any =
        !groups_are_regions(file.shard) &&
        (groups.size() > 1 || !further.empty() || (grouped != file.shard.options.end() && !grouped->second.empty()));
    Facts sum;
    const auto add = [&](const Group& group) {
        add_facts(sum, facts_of(group.summary));
        stored.add(group.name, group.summary);
    };
    whole.merge(groups.front().summary);
    for (std::size_t i = 1; i < groups.size(); ++i) add(groups[i]);
    try {
        further.each(add);
    } catch (const IoError& error) {
        const std::string text = error.what(), values = file.frequency_path.string();
        throw IoError(text.rfind(values, 0) == 0 ? text : values + ": " + text, error.kind());
    }
    if (const std::string what = any ? difference(sum, file.facts) : ""; !what.empty())
        throw IoError(file.path.string() + ": its groups do not add up to the whole set: " + what,
                      IoError::Kind::damaged);
}

void refuse_pair(const ShardFile& a, const ShardFile& b, const std::string& what) {
    throw IoError(a.path.string() + " and " + b.path.string() + " do not belong together: " + what);
}

/// Pictures as JSON, without their size, which is always the same.
Json plots_value(const PlotRequest& plots) {
    Json range(plots.range.kind == PlotRange::Kind::full ? "full" : "auto");
    if (plots.range.kind == PlotRange::Kind::given)
        range = Json::array({plots.range.values.lower, plots.range.values.upper});
    Json value{{"log", plots.options.log_counts},
               {"dark", plots.options.theme == PlotTheme::dark},
               {"range", range},
               {"png", false},
               {"svg", false}};
    for (const PlotFormat one : plots.formats) value[one == PlotFormat::svg ? "svg" : "png"] = true;
    return value;
}

PlotRequest read_plots(const JsonReader& value) {
    value.members({"log", "dark", "range", "png", "svg"});
    PlotRequest plots;
    plots.options.log_counts = value["log"].truth();
    if (value["dark"].truth()) plots.options.theme = PlotTheme::dark;
    const JsonReader range = value["range"];
    if (!range.is_text())
        plots.range = {PlotRange::Kind::given, read_range(range)};
    else if (range.one_of({"auto", "full"}) == 1)
        plots.range.kind = PlotRange::Kind::full;
    plots.formats.clear();
    if (value["png"].truth()) plots.formats.push_back(PlotFormat::png);
    if (value["svg"].truth()) plots.formats.push_back(PlotFormat::svg);
    return plots;
}

/// Checks the facts that all shards of a run must have in common.
void check_same_run(const ShardFile& a, const ShardFile& b) {
    if (a.shard.id.count != b.shard.id.count)
        refuse_pair(a, b,
                    "one is of " + std::to_string(a.shard.id.count) + " shards, the other of " +
                        std::to_string(b.shard.id.count));
    for (const auto& [name, value] : a.shard.options) {
        const auto other = b.shard.options.find(name);
        if (other == b.shard.options.end() || other->second != value)
            refuse_pair(a, b,
                        name + " is " + (value.empty() ? "not given" : value) + " in one and " +
                            (other == b.shard.options.end() || other->second.empty() ? "not given" : other->second) +
                            " in the other");
    }
    const HistogramOptions &first = a.shard.histogram, &second = b.shard.histogram;
    if (a.shard.options.size() != b.shard.options.size() || first.bins != second.bins || first.range != second.range ||
        !(a.shard.plots == b.shard.plots) || !(a.shard.asked() == b.shard.asked()))
        refuse_pair(a, b, "their options differ");
    if (a.shard.inputs != b.shard.inputs)
        refuse_pair(
            a, b,
            "one is of " + std::to_string(a.shard.inputs) + " inputs, the other of " + std::to_string(b.shard.inputs));
    if (a.shard.inputs_hash != b.shard.inputs_hash) refuse_pair(a, b, "the paths of their inputs differ");
    if (a.shard.id.lines.has_value() != b.shard.id.lines.has_value()) refuse_pair(a, b, "one has lines of a manifest");
}

/// Checks that lines of a manifest follow each other, from the first to the last where no other shards are joined.
void check_lines(const std::vector<ShardFile>& files, bool all) {
    std::uint64_t next = all ? 0 : files.front().shard.id.lines->first;
    const ShardFile* before = nullptr;
    for (const ShardFile& file : files) {
        const auto [first, end] = *file.shard.id.lines;
        if (first != next)
            refuse_pair(before ? *before : file, file,
                        "line " + std::to_string(next + 1) + " of their manifest should follow, but line " +
                            std::to_string(first + 1) + " does");
        before = &file;
        next = end;
    }
    if (all && next != before->shard.inputs)
        throw IoError(before->path.string() + ": the last shard ends before line " + std::to_string(next + 1) +
                      " of a manifest of " + std::to_string(before->shard.inputs));
}

void check_complete(const std::vector<ShardFile>& files, const std::optional<ShardId>& joined) {
    std::string missing;
    const auto [first, last] = numbers_of(joined, files.front().shard.id.count);
    std::uint64_t next = first, count = 0;
    const auto miss = [&](std::uint64_t from, std::uint64_t to) {
        for (; from < to; ++from)
            if (++count <= 10) missing += (missing.empty() ? "" : ", ") + std::to_string(from);
    };
    for (const ShardFile& file : files) {
        miss(next, file.shard.id.number);
        next = file.shard.id.number + 1;
    }
    miss(next, last + 1);
    if (count > 10) missing += " and " + std::to_string(count - 10) + " more";
    if (count > 0)
        throw IoError("of " + std::to_string(files.front().shard.id.count) + " shards, as " +
                      files.front().path.string() + " says, these are missing: " + missing);
}

/// Rows of a shard, the current one ready, and how many of each file have been.
struct CheckedRows {
    ShardRows rows;
    const ShardFile& file;
    const Shard& shard;
    RowFacts facts;
    bool more;
    RowCounts counts;

    explicit CheckedRows(const ShardFile& of)
        : rows(of.rows_path, of.shard.rows_file, of.shard.asked()),
          file(of),
          shard(of.shard),
          facts(of.shard.asked()),
          more(rows.next()) {
        check();
    }
    void advance() {
        const ColumnFile table = rows.table();
        ++counts[table];
        if (table == ColumnFile::stats && !facts.add(rows.row())) rows.refuse("not a row of stats.csv");
        const std::uint64_t last = rows.index();
        more = rows.next();
        check();
        if (more && rows.index() < last) rows.refuse("the rows are not in the order of the inputs");
    }
    void check_counts() {
        for (const TableTraits& traits : input_tables())
            if (const std::uint64_t count = counts[traits.table], wanted = shard.rows_of(traits.table); count != wanted)
                rows.refuse(std::to_string(count) + " rows of " + traits.name + ", but the shard file says " +
                            std::to_string(wanted));
        if (const std::string what = difference(facts.all(), file.facts); !what.empty())
            throw IoError(file.path.string() + ": its numbers are not those of the rows beside it: " + what,
                          IoError::Kind::damaged);
    }

  private:
    void check() const {
        if (more && !(rows.index() < shard.inputs && shard.id.has(rows.index())))
            rows.refuse("input " + std::to_string(rows.index()) + " is not one of this shard's");
    }
};

}  // namespace

bool groups_have_plots(const Shard& shard) {
    const auto by = shard.options.find("--group-by");
    return !groups_are_regions(shard) && (by == shard.options.end() || by->second != "key");
}

bool groups_are_regions(const Shard& shard) {
    const auto by = shard.options.find("--group-by");
    return by != shard.options.end() && by->second == "region";
}

bool is_set(const Shard& shard, const Summary& whole, std::uint64_t errors) {
    if (shard.inputs > 1) return true;
    const auto pages = shard.options.find("--pages");
    if (pages == shard.options.end() || pages->second.empty()) return false;
    std::uint64_t all = errors;
    for (const DepthSummary& depth : whole.depths()) all += depth.images;
    return all > 1;
}

std::string shard_file_name(ShardId id) {
    return name_of(id) + ".json";
}

std::string shard_rows_file_name(ShardId id) {
    return name_of(id) + ".stats.csv";
}

std::string shard_frequency_file_name(ShardId id) {
    return name_of(id) + ".values";
}

namespace {

std::string json_of(const Kind& kind, const Shard& shard, const FrequencyFile* file) {
    Json value{{"format", std::string(kind.format)},
               {"part", whole_number(shard.id.number)},
               {"parts", whole_number(shard.id.count)},
               {"lines", lines_value(shard.id.lines)},
               {"inputs", whole_number(shard.inputs)},
               {"inputs_hash", shard.inputs_hash},
               {"rows", Json::object()},
               {"rows_file", Json{{"bytes", whole_number(shard.rows_file.bytes)}, {"blocks", shard.rows_file.blocks}}},
               {"options", Json::object()},
               {"percentiles", Json::array()},
               {"clip_sigma", shard.clip_sigma ? Json(*shard.clip_sigma) : Json(nullptr)},
               {"histogram", Json::object()},
               {"plots", Json::object()},
               {"groups", Json::array()},
               {"stored", stored_value(shard.stored, file)},
               {"notes", notes_value(shard.notes)}};
    for (const TableTraits& traits : input_tables())
        if (traits.always || shard.rows.count(traits.table) > 0)
            value["rows"][traits.name] = whole_number(shard.rows_of(traits.table));
    for (const auto& [name, text] : shard.options) value["options"][name] = byte_string(text);
    for (std::size_t i = 0; i < shard.percentiles.size(); ++i)
        value["percentiles"].push_back(shard.percentiles.micro(i) / 1e6);
    const auto& range = shard.histogram.range;
    value["histogram"] = Json{{"bins", shard.histogram.bins},
                              {"range", range ? Json::array({range->lower, range->upper}) : Json(nullptr)}};
    value["plots"] = plots_value(shard.plots);
    std::uint64_t counts = 0;
    for (const Group& group : shard.groups) {
        value["groups"].push_back(
            Json{{"group", byte_string(group.name)}, {"pool", summary_value(group.summary, file)}});
        counts += counts_bytes(group.summary);
    }
    std::string text = value.dump();
    text.insert(text.size() - 1, padding(text.size(), counts));
    return seal_json(std::move(text));
}

Shard parse(const Kind& kind, std::string_view json, const std::string& name, const FrequencyFiles& given) {
    FrequencyFiles files = given;  // a run of values is often in a group and in the whole set
    files.known = std::make_shared<std::map<std::uint64_t, FrequencyRun>>();
    check_format(kind, json, name);
    check_seal(json, name);
    const ReadJson root = JsonReader::parse(json, name);
    const JsonReader value(root, name);
    value.members({"format", "part", "parts", "lines", "inputs", "inputs_hash", "rows", "rows_file", "options",
                   "percentiles", "clip_sigma", "histogram", "plots", "groups", "stored", "notes", "checksum"});
    Shard shard;
    shard.id.count = value["parts"].whole(most_shards);
    shard.id.number = value["part"].whole(shard.id.count);
    if (shard.id.number == 0) value["part"].refuse("shards are counted from 1");
    shard.inputs = value["inputs"].whole();
    shard.id.lines = read_lines(value["lines"], shard.inputs);
    shard.inputs_hash = value["inputs_hash"].text();
    std::vector<const char*> always, asked;
    for (const TableTraits& traits : input_tables()) (traits.always ? always : asked).push_back(traits.name);
    const JsonReader rows = value["rows"].members(always, asked);
    for (const TableTraits& traits : input_tables())
        if (rows.has(traits.name)) shard.rows[traits.table] = rows[traits.name].whole();
    const JsonReader rows_file = value["rows_file"].members({"bytes", "blocks"});
    shard.rows_file = {rows_file["bytes"].whole(), rows_file["blocks"].text()};
    value["options"].each(
        [&](const std::string& option, const JsonReader& text) { shard.options[option] = text.bytes(); });
    shard.percentiles = read_percentiles(value["percentiles"]);
    if (const JsonReader sigma = value["clip_sigma"]; !sigma.is_null()) {
        shard.clip_sigma = sigma.number();
        if (!(*shard.clip_sigma > 0)) sigma.refuse("clip_sigma is over 0");
    }
    const JsonReader histogram = value["histogram"].members({"bins", "range"});
    shard.histogram.bins = static_cast<std::uint32_t>(histogram["bins"].whole(1U << 24));
    if (const JsonReader range = histogram["range"]; !range.is_null()) shard.histogram.range = read_range(range);
    shard.plots = read_plots(value["plots"]);
    shard.plots.of_groups = groups_have_plots(shard);
    ReadLimits limits(json.size(), files.runs ? files.runs->bytes() : 0);
    shard.groups = read_groups(value["groups"], files, limits);
    shard.stored = read_stored(value["stored"], files, limits);
    shard.notes = read_notes(value["notes"]);
    return shard;
}

/// Copy of a shard whose stored groups and long runs of values are in `storage`, as long as the copy exists.
Shard stored_in(const Shard& shard, const std::shared_ptr<FrequencyFile>& storage) {
    Shard merged = shard;
    for (Group& group : merged.groups) group.summary = group.summary.merged_values(storage);
    merged.stored = StoredGroups(storage);
    shard.stored.each([&](const Group& group) {
        merged.stored.add(group.name, store(group.summary.merged_values(storage), *storage));
    });
    return merged;
}

}  // namespace

std::string shard_json(const Shard& shard, const FrequencyFile* file) {
    return json_of(part_kind, shard, file);
}

Shard parse_shard(std::string_view json, const std::string& name, const FrequencyFiles& files) {
    return parse(part_kind, json, name, files);
}

std::vector<std::string> write_shard(const fs::path& directory, const Shard& shard, const FileWriter& write) {
    const std::string name = shard_file_name(shard.id), frequency_name = shard_frequency_file_name(shard.id);
    const auto storage = FrequencyFile::named(directory / frequency_name);
    const Shard stored = stored_in(shard, storage);
    const std::string text = json_of(part_kind, stored, storage.get());
    const bool any = storage->sync() > 0;
    write(directory / name, [&](const auto& take) { take(text.data(), text.size()); });
    return any ? std::vector{frequency_name, name} : std::vector{name};
}

std::vector<std::string> write_counts(const fs::path& directory, const Shard& run, const FileWriter& write) {
    Shard whole = run;
    whole.id = {};
    whole.rows_file = {};
    const auto storage = FrequencyFile::temporary(directory);
    const Shard stored = stored_in(whole, storage);
    const std::string text = json_of(counts_kind, stored, storage.get());
    std::vector<std::string> names;
    if (const std::uint64_t bytes = storage->bytes(); bytes > 0) {
        names.emplace_back(counts_values_file_name);
        write(directory / names.back(), [&](const auto& take) {
            std::vector<std::byte> piece(std::size_t{1} << 20);
            for (std::uint64_t place = 0; place < bytes; place += piece.size()) {
                piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes - place)));
                storage->read(place, piece.data(), piece.size());
                take(piece.data(), piece.size());
            }
        });
    }
    names.emplace_back(counts_file_name);
    write(directory / names.back(), [&](const auto& take) { take(text.data(), text.size()); });
    return names;
}

Shard read_counts(const fs::path& directory, const std::shared_ptr<FrequencyStorage>& storage) {
    const fs::path path = directory / counts_file_name;
    return parse(counts_kind, read_text(path), path.string(),
                 {FrequencyFile::existing(directory / counts_values_file_name), storage});
}

ShardSet collect_shards(const std::vector<fs::path>& directories, const std::shared_ptr<FrequencyFile>& storage,
                        std::optional<ShardId> joined) {
    std::vector<fs::path> paths;
    const auto wanted = [&](const fs::path& path) {
        const auto id = shard_of_file_name(path.filename().string());
        if (!id || !joined || id->count > most_shards) return id.has_value();  // the reader checks it
        if (joined->count > id->count)
            throw IoError(path.string() + ": of " + std::to_string(id->count) + " shards no " +
                          std::to_string(joined->count) + " can be made");
        const auto [first, last] = numbers_of(joined, id->count);
        return first <= id->number && id->number <= last;
    };
    for (const fs::path& directory : directories) {
        std::error_code failure;
        for (fs::directory_iterator entry(directory, failure), end; !failure && entry != end; entry.increment(failure))
            if (wanted(entry->path())) paths.push_back(entry->path());
        if (failure) throw IoError(directory.string() + ": cannot be listed: " + failure.message());
    }
    std::sort(paths.begin(), paths.end());
    std::map<std::uint64_t, ShardFile> files;
    Summary whole;
    Notes notes;
    StoredGroups stored(storage, most_group_bytes);
    for (const fs::path& path : paths) {
        ShardFile file = read_shard_file(path, storage);
        if (joined && !file.shard.id.lines)
            throw IoError(path.string() + ": only shards of a manifest can be made one shard");
        if (!files.empty()) check_same_run(files.begin()->second, file);
        const std::vector<Group> groups = std::exchange(file.shard.groups, {});
        const StoredGroups further = std::exchange(file.shard.stored, {});
        const auto [there, fresh] = files.try_emplace(file.shard.id.number, file);
        if (fresh) {
            add_groups(there->second, groups, further, whole, stored);
            notes.add(file.shard.notes);
        } else if (!same_bytes(there->second.path, path) || !same_bytes(there->second.rows_path, file.rows_path) ||
                   !same_bytes(there->second.frequency_path, file.frequency_path)) {
            refuse_pair(there->second, file, "they are the same shard of the run and differ");
        }
    }
    if (files.empty()) {
        std::string names;
        for (const fs::path& directory : directories) names += (names.empty() ? "" : ", ") + directory.string();
        throw IoError(names + ": no part-K-of-N.json" + (joined ? " of that part" : ""));
    }
    ShardSet shards;
    for (auto& [number, file] : files) shards.files.push_back(std::move(file));
    shards.groups.push_back({"", std::move(whole)});
    shards.stored = std::move(stored);
    shards.notes = std::move(notes);
    check_complete(shards.files, joined);
    if (shards.files.front().shard.id.lines) check_lines(shards.files, !joined);
    return shards;
}

void merge_rows(const ShardSet& shards, const std::function<void(const ShardRow&)>& write) {
    const auto write_input = [&](CheckedRows& shard, std::uint64_t index) {
        ShardRows& rows = shard.rows;
        if (!shard.more || rows.index() != index)
            rows.refuse("input " + std::to_string(index) + " has neither a row of stats nor one of errors");
        for (; shard.more && rows.index() == index; shard.advance())
            write({index, rows.table(), rows.row(), rows.record()});
    };
    const Shard& first = shards.files.front().shard;
    if (first.id.lines) {
        for (const ShardFile& file : shards.files) {
            CheckedRows rows(file);
            const auto [begin, end] = *file.shard.id.lines;
            for (std::uint64_t index = begin; index < end; ++index) write_input(rows, index);
            rows.check_counts();
        }
        return;
    }
    std::deque<CheckedRows> all;
    for (const ShardFile& file : shards.files) all.emplace_back(file);
    for (std::uint64_t index = 0; index < first.inputs; ++index) write_input(all[index % all.size()], index);
    for (CheckedRows& shard : all) shard.check_counts();
}

Shard whole_run(const ShardSet& shards) {
    Shard all = shards.files.front().shard;
    all.id = {};
    all.rows.clear();
    all.rows_file = {};
    for (const ShardFile& file : shards.files)
        for (const auto& [table, rows] : file.shard.rows) all.rows[table] += rows;
    all.groups = shards.groups;
    all.stored = shards.stored;
    all.notes = shards.notes;
    return all;
}

Shard joined_shard(const ShardSet& shards, ShardId joined) {
    Shard all = whole_run(shards);
    all.id = joined;
    all.id.lines = {shards.files.front().shard.id.lines->first, shards.files.back().shard.id.lines->end};
    return all;
}

}  // namespace gpuhist::io
