#include "gpuhist/io/shard.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <iterator>
#include <utility>

#include "dataset/json.hpp"
#include "dataset/summary_file.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/frequency_file.hpp"
#include "gpuhist/io/image_file.hpp"
#include "report/csv.hpp"

namespace gpuhist::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* format = "gpuhist part 5";
constexpr std::uint64_t most_parts = std::uint64_t{1} << 20;
constexpr std::size_t longest_row = std::size_t{1} << 24;

/// Whether an index is one of the part's.
bool has(const Part& part, std::uint64_t index) {
    return index < part.inputs && index % part.parts == part.part - 1;
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

std::vector<Group> read_groups(const JsonReader& list, const FrequencyFiles& files) {
    std::vector<Group> groups;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const JsonReader value = list[i].members({"group", "pool"});
        groups.push_back({value["group"].bytes(), read_pool(value["pool"], files)});
        if (i == 0 ? !groups[i].name.empty() : groups[i].name <= groups[i - 1].name)
            value["group"].refuse("groups are in byte order, each once, and the whole set comes first");
    }
    if (groups.empty()) list.refuse("the whole set is missing");
    return groups;
}

/// "part-3-of-7.json", nothing else.
bool is_part_file_name(const std::string& name) {
    std::uint64_t part = 0, parts = 0;
    const char* end = name.data() + name.size();
    if (name.rfind("part-", 0) != 0) return false;
    const auto first = std::from_chars(name.data() + 5, end, part);
    if (first.ec != std::errc() || std::string_view(first.ptr, end).substr(0, 4) != "-of-") return false;
    const auto second = std::from_chars(first.ptr + 4, end, parts);
    return second.ec == std::errc() && name == part_file_name(part, parts);
}

std::string read_text(const fs::path& path) {
    const auto bytes = read_bytes(path);
    return {bytes.begin(), bytes.end()};
}

PartFile read_part_file(const fs::path& path, const std::shared_ptr<FrequencyStorage>& values) {
    const fs::path values_path = fs::path(path).replace_extension(".values");
    PartFile file{path,
                  {},
                  values_path,
                  parse_part(read_text(path), path.string(), {FrequencyFile::existing(values_path), values})};
    const Part& part = file.part;
    if (path.filename() != part_file_name(part.part, part.parts))
        throw IoError(path.string() + ": this is " + part_file_name(part.part, part.parts) + " under another name");
    file.rows_path = path.parent_path() / part_rows_file_name(part.part, part.parts);
    return file;
}

bool same_bytes(const fs::path& a, const fs::path& b) {
    std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
    std::error_code ignored;
    if (!first && !second) return !fs::exists(a, ignored) && !fs::exists(b, ignored);
    using Bytes = std::istreambuf_iterator<char>;
    return first && second && std::equal(Bytes(first), Bytes(), Bytes(second), Bytes());
}

void refuse_pair(const PartFile& a, const PartFile& b, const std::string& what) {
    throw IoError(a.path.string() + " and " + b.path.string() + " do not belong together: " + what);
}

/// What all parts of a run have in common.
void check_same_run(const PartFile& a, const PartFile& b) {
    if (a.part.parts != b.part.parts)
        refuse_pair(
            a, b, "one is of " + std::to_string(a.part.parts) + " parts, the other of " + std::to_string(b.part.parts));
    for (const auto& [name, value] : a.part.options) {
        const auto other = b.part.options.find(name);
        if (other == b.part.options.end() || other->second != value)
            refuse_pair(a, b,
                        name + " is " + (value.empty() ? "not given" : value) + " in one and " +
                            (other == b.part.options.end() || other->second.empty() ? "not given" : other->second) +
                            " in the other");
    }
    const HistogramOptions &first = a.part.histogram, &second = b.part.histogram;
    if (a.part.options.size() != b.part.options.size() || first.bins != second.bins || first.range != second.range ||
        a.part.log_counts != b.part.log_counts || !(a.part.percentiles == b.part.percentiles))
        refuse_pair(a, b, "their options differ");
    if (a.part.inputs != b.part.inputs)
        refuse_pair(
            a, b,
            "one is of " + std::to_string(a.part.inputs) + " inputs, the other of " + std::to_string(b.part.inputs));
    if (a.part.inputs_hash != b.part.inputs_hash) refuse_pair(a, b, "the paths of their inputs differ");
}

void check_complete(const std::vector<PartFile>& parts) {
    std::string missing;
    std::uint64_t next = 1, count = 0;
    const auto miss = [&](std::uint64_t from, std::uint64_t to) {
        for (; from < to; ++from)
            if (++count <= 10) missing += (missing.empty() ? "" : ", ") + std::to_string(from);
    };
    for (const PartFile& file : parts) {
        miss(next, file.part.part);
        next = file.part.part + 1;
    }
    miss(next, parts.front().part.parts + 1);
    if (count > 10) missing += " and " + std::to_string(count - 10) + " more";
    if (count > 0)
        throw IoError("of " + std::to_string(parts.front().part.parts) + " parts, as " + parts.front().path.string() +
                      " says, these are missing: " + missing);
}

/// A part's rows, the current one ready, and how many of each file have been.
struct CheckedRows {
    PartRows rows;
    const Part& part;
    bool more;
    std::uint64_t stats = 0, errors = 0;

    explicit CheckedRows(const PartFile& file)
        : rows(file.rows_path, file.part.percentiles), part(file.part), more(rows.next()) {
        check();
    }
    void advance() {
        ++(rows.is_error() ? errors : stats);
        const std::uint64_t last = rows.index();
        more = rows.next();
        check();
        if (more && rows.index() < last) rows.refuse("the rows are not in the order of the inputs");
    }
    void check_counts() const {
        const auto check_count = [&](std::uint64_t count, std::uint64_t wanted, const char* what) {
            if (count != wanted)
                rows.refuse(std::to_string(count) + what + ", but the part file says " + std::to_string(wanted));
        };
        check_count(stats, part.rows, " rows of stats");
        check_count(errors, part.errors, " rows of errors");
    }

  private:
    void check() const {
        if (more && !has(part, rows.index()))
            rows.refuse("input " + std::to_string(rows.index()) + " is not one of this part's");
    }
};

std::string start_of_row(std::uint64_t index, bool is_error) {
    return std::to_string(index) + (is_error ? ",errors," : ",stats,");
}

class ShardSink final : public Sink {
  public:
    explicit ShardSink(const Percentiles& percentiles)
        : rows_(ColumnFile::stats_csv, percentiles), header_(part_rows_header(percentiles)) {}

    std::string begin() override { return header_; }
    std::string format(const ImageResult& image) const override {
        std::string lines;
        rows_.append(lines, image.info, image.rows, start_of_row(image.index, false));
        return lines;
    }
    std::string append_failure(std::uint64_t index, const Failure& failure) override {
        return part_error_row(index, failure);
    }

  private:
    CsvRows rows_;
    std::string header_;
};

}  // namespace

std::string part_file_name(std::uint64_t part, std::uint64_t parts) {
    return "part-" + std::to_string(part) + "-of-" + std::to_string(parts) + ".json";
}

std::string part_rows_file_name(std::uint64_t part, std::uint64_t parts) {
    return "part-" + std::to_string(part) + "-of-" + std::to_string(parts) + ".stats.csv";
}

std::string part_values_file_name(std::uint64_t part, std::uint64_t parts) {
    return "part-" + std::to_string(part) + "-of-" + std::to_string(parts) + ".values";
}

std::string part_json(const Part& part) {
    Json value{{"format", format},
               {"part", whole_number(part.part)},
               {"parts", whole_number(part.parts)},
               {"inputs", whole_number(part.inputs)},
               {"inputs_hash", part.inputs_hash},
               {"rows", whole_number(part.rows)},
               {"errors", whole_number(part.errors)},
               {"options", Json::object()},
               {"percentiles", Json::array()},
               {"histogram", Json::object()},
               {"groups", Json::array()}};
    for (const auto& [name, text] : part.options) value["options"][name] = byte_string(text);
    for (std::size_t i = 0; i < part.percentiles.size(); ++i)
        value["percentiles"].push_back(part.percentiles.micro(i) / 1e6);
    const auto& range = part.histogram.range;
    value["histogram"] = Json{{"bins", part.histogram.bins},
                              {"range", range ? Json::array({range->lower, range->upper}) : Json(nullptr)},
                              {"log", part.log_counts}};
    for (const Group& group : part.groups)
        value["groups"].push_back(Json{{"group", byte_string(group.name)}, {"pool", pool_value(group.pool)}});
    return value.dump() + '\n';
}

Part parse_part(std::string_view json, const std::string& name, const FrequencyFiles& files) {
    const Json root = JsonReader::parse(json, name);
    const JsonReader value(root, name);
    if (const std::string& found = value["format"].text(); found != format)
        value["format"].refuse(found.rfind("gpuhist part ", 0) == 0
                                   ? "'" + found + "', which another version of gpuhist wrote, while this one reads '" +
                                         format + "': run this part again, or merge with that version"
                                   : "this is no part: '" + std::string(format) + "' is wanted");
    value.members({"format", "part", "parts", "inputs", "inputs_hash", "rows", "errors", "options", "percentiles",
                   "histogram", "groups"});
    Part part;
    part.parts = value["parts"].whole(most_parts);
    part.part = value["part"].whole(part.parts);
    if (part.part == 0) value["part"].refuse("parts are counted from 1");
    part.inputs = value["inputs"].whole();
    part.inputs_hash = value["inputs_hash"].text();
    part.rows = value["rows"].whole();
    part.errors = value["errors"].whole();
    value["options"].each(
        [&](const std::string& option, const JsonReader& text) { part.options[option] = text.bytes(); });
    part.percentiles = read_percentiles(value["percentiles"]);
    const JsonReader histogram = value["histogram"].members({"bins", "range", "log"});
    part.histogram.bins = static_cast<std::uint32_t>(histogram["bins"].whole(1U << 24));
    if (const JsonReader range = histogram["range"]; !range.is_null()) part.histogram.range = read_range(range);
    part.log_counts = histogram["log"].truth();
    part.groups = read_groups(value["groups"], files);
    return part;
}

std::vector<std::string> write_part(const fs::path& directory, const Part& part) {
    remove_part(directory, part);
    const std::string name = part_file_name(part.part, part.parts),
                      values_name = part_values_file_name(part.part, part.parts);
    const auto values = FrequencyFile::named(directory / values_name);
    Part merged = part;
    for (Group& group : merged.groups) group.pool = group.pool.merged_values(values);
    const bool any = values->sync() > 0;
    write_file(directory / name, part_json(merged));
    return any ? std::vector{values_name, name} : std::vector{name};
}

void remove_part(const fs::path& directory, const Part& part) {
    for (const std::string& name :
         {part_file_name(part.part, part.parts), part_values_file_name(part.part, part.parts)}) {
        std::error_code failure;
        fs::remove(directory / name, failure);
        if (failure) throw IoError((directory / name).string() + ": cannot be removed: " + failure.message());
    }
}

std::string part_rows_header(const Percentiles& percentiles) {
    return "index,file," + stats_csv_header(percentiles);
}

std::string part_stats_rows(std::uint64_t index, const ImageInfo& image, const std::vector<Statistics>& rows,
                            const Percentiles& percentiles) {
    return ShardSink(percentiles).format({index, image, {}, rows});
}

std::string part_error_row(std::uint64_t index, const Failure& failure) {
    return start_of_row(index, true) + errors_csv_row(failure);
}

std::unique_ptr<Sink> make_shard_sink(const Percentiles& percentiles) {
    return std::make_unique<ShardSink>(percentiles);
}

PartRows::PartRows(const fs::path& path, const Percentiles& percentiles)
    : name_(path.string()), file_(path, std::ios::binary) {
    if (!file_) throw IoError(name_ + ": cannot be read: " + std::strerror(errno));
    if (!read_record() || row_ != part_rows_header(percentiles)) refuse("this is not the header of a part's rows");
}

bool PartRows::next() {
    if (!read_record()) return false;
    std::from_chars(row_.data(), row_.data() + row_.size(), index_);  // what is no index starts no row
    for (const bool is_error : {false, true}) {
        const std::string start = start_of_row(index_, is_error);
        if (row_.compare(0, start.size(), start) != 0) continue;
        row_.erase(0, start.size());
        is_error_ = is_error;
        return true;
    }
    refuse("the row does not start with the input's index and 'stats' or 'errors'");
}

bool PartRows::read_record() {
    row_.clear();
    line_ = next_line_;
    std::streambuf& bytes = *file_.rdbuf();
    bool quoted = false;
    for (int byte; (byte = bytes.sbumpc()) != std::char_traits<char>::eof();) {
        row_ += static_cast<char>(byte);
        if (byte == '"') quoted = !quoted;
        if (byte == '\n') ++next_line_;
        if (byte == '\n' && !quoted) return true;
        if (row_.size() == longest_row) refuse("a row of 16 MiB or more: a quote is missing");
    }
    if (!row_.empty()) refuse("the last row has no end: the file is truncated");
    return false;
}

void PartRows::refuse(const std::string& what) const {
    throw IoError(name_ + ": line " + std::to_string(line_) + ": " + what);
}

PartSet collect_parts(const std::vector<fs::path>& directories, const std::shared_ptr<FrequencyStorage>& values) {
    std::vector<fs::path> paths;
    for (const fs::path& directory : directories) {
        std::error_code failure;
        for (fs::directory_iterator entry(directory, failure), end; !failure && entry != end; entry.increment(failure))
            if (is_part_file_name(entry->path().filename().string())) paths.push_back(entry->path());
        if (failure) throw IoError(directory.string() + ": cannot be listed: " + failure.message());
    }
    std::sort(paths.begin(), paths.end());
    std::map<std::uint64_t, PartFile> files;
    std::map<std::string, Summary> pools;
    for (const fs::path& path : paths) {
        PartFile file = read_part_file(path, values);
        if (!files.empty()) check_same_run(files.begin()->second, file);
        const std::vector<Group> groups = std::exchange(file.part.groups, {});
        const auto [there, fresh] = files.try_emplace(file.part.part, file);
        if (fresh)
            for (const Group& group : groups) pools[group.name].merge(group.pool);
        else if (!same_bytes(there->second.path, path) || !same_bytes(there->second.rows_path, file.rows_path) ||
                 !same_bytes(there->second.values_path, file.values_path))
            refuse_pair(there->second, file, "they are the same part of the run and differ");
    }
    if (files.empty()) {
        std::string names;
        for (const fs::path& directory : directories) names += (names.empty() ? "" : ", ") + directory.string();
        throw IoError(names + ": no part-K-of-N.json");
    }
    PartSet parts;
    for (auto& [number, file] : files) parts.files.push_back(std::move(file));
    for (auto& [name, pool] : pools) parts.groups.push_back({name, std::move(pool)});
    check_complete(parts.files);
    return parts;
}

void merge_rows(const PartSet& parts, const std::function<void(const std::string& row)>& write_stats,
                const std::function<void(const std::string& row)>& write_error) {
    std::deque<CheckedRows> all;
    for (const PartFile& file : parts.files) all.emplace_back(file);
    for (std::uint64_t index = 0; index < parts.files.front().part.inputs; ++index) {
        CheckedRows& part = all[index % all.size()];
        if (!part.more || part.rows.index() != index)
            part.rows.refuse("input " + std::to_string(index) + " has neither a row of stats nor one of errors");
        for (; part.more && part.rows.index() == index; part.advance())
            (part.rows.is_error() ? write_error : write_stats)(part.rows.row());
    }
    for (const CheckedRows& part : all) part.check_counts();
}

}  // namespace gpuhist::io
