#include "commands/measured_sets.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "commands/output_failure.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/frequency_file.hpp"
#include "run/exit_code.hpp"
#include "run/kept_counts.hpp"
#include "run/options.hpp"
#include "run/pipeline.hpp"
#include "run/run_state.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* keep_them = "run gpuhist with --keep-counts and the options of that run";

std::uint64_t images_of(const Summary& summary) {
    std::uint64_t images = 0;
    for (const DepthSummary& depth : summary.depths()) images += depth.images;
    return images;
}

/// Writes the paths of the images of results, each followed by a zero byte.
void list_images(const ResultsThere& results, const fs::path& to) {
    io::CsvRows rows = results.open(ColumnFile::stats);
    const std::size_t path = rows.column("path"), pages = rows.column("pages");
    std::ofstream list(to, std::ios::binary);
    std::string last;
    while (rows.next()) {
        const std::string now(rows.text(path));
        if (now == last) continue;
        std::error_code ignored;
        const bool page = rows.text(pages) != "1" && !fs::exists(now, ignored) && now.find('#') != now.npos;
        if (now == "-" || page || now.rfind("-#", 0) == 0)
            throw IoError(results.directory().string() + ": has no counts, and its " +
                          (page ? "pages" : "standard input") + " can't be measured again here: " + keep_them);
        list << now << '\0';
        last = now;
    }
    if (!list.flush()) throw OutputFailure(to.string() + ": cannot be written");
}

/// Throws unless the rows of images are the same in both, as far as they say what was measured.
void check_same_rows(const ResultsThere& results, const ResultsThere& again) {
    io::CsvRows old_rows = results.open(ColumnFile::stats), new_rows = again.open(ColumnFile::stats);
    std::vector<std::pair<std::size_t, std::size_t>> columns;
    for (const char* name : {"path", "depth", "channel", "valid", "min", "max", "mean", "std"})
        columns.emplace_back(old_rows.column(name), new_rows.column(name));
    while (old_rows.next()) {
        const std::string path(old_rows.text(columns[0].first));
        const bool same = new_rows.next() && std::all_of(columns.begin(), columns.end(), [&](const auto& column) {
                              return old_rows.text(column.first) == new_rows.text(column.second);
                          });
        if (!same)
            throw IoError(
                results.directory().string() + ": has no counts, and " + path +
                " now gives other numbers than these results: it was changed, or measured with options: " + keep_them);
    }
}

}  // namespace

std::string differing_options(const RunOptions& a, const RunOptions& b, const std::vector<const char*>& further) {
    std::vector<const char*> options{"--mask",       "--nodata, --valid or --nodata-any",
                                     "--alpha",      "--white",
                                     "--on-damaged", "--max-pixels",
                                     "--decoder",    "--raw",
                                     "--space"};
    options.insert(options.end(), further.begin(), further.end());
    std::string names;
    for (const char* option : options) {
        const auto one = a.find(option), other = b.find(option);
        if (one != a.end() && other != b.end() && one->second != other->second)
            names += (names.empty() ? "" : ", ") + std::string(option);
    }
    return names;
}

std::uint64_t MeasuredSet::images() const {
    return images_of(whole());
}

std::optional<Summary> MeasuredSet::find(const std::string& directory) const {
    std::optional<Summary> found;
    each_directory([&](const io::Group& group) {
        if (group.name == directory) found = group.summary;
    });
    return found;
}

void MeasuredSet::each_directory(const std::function<void(const io::Group&)>& visit) const {
    for (std::size_t i = 1; i < counts.groups.size(); ++i) visit(counts.groups[i]);
    counts.stored.each(visit);
}

void MeasuredSet::each_image(const std::function<void(std::string_view, const Summary&)>& visit) const {
    io::CsvRows rows(results.path_of(ColumnFile::image_counts));
    const std::size_t path = rows.column("path"), text = rows.column("counts");
    while (rows.next()) {
        const std::string image(rows.text(path));
        if (rows.text(text).empty()) throw IoError(image + ": has too many different values to be compared one by one");
        visit(image, io::parse_summary(rows.text(text), results.path_of(ColumnFile::image_counts) + ": " + image));
    }
}

MeasuredSets::~MeasuredSets() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

fs::path MeasuredSets::next_directory() {
    if (temporary_.empty()) {
        std::string name = (temporary_directory() / "gpuhist-XXXXXX").string();
        if (!mkdtemp(name.data())) throw OutputFailure(name + ": cannot be made: " + std::strerror(errno));
        temporary_ = name;
    }
    return temporary_ / std::to_string(++runs_);
}

void MeasuredSets::keep_counts(Options& run) const {
    run.keep_counts = true;
    run.keep_image_counts = options_.of_images;
    if (options_.by_directory) run.group_by = GroupBy::directory;
}

ResultsThere MeasuredSets::measure(const std::string& name, const std::function<void(Options&)>& set) {
    Options options;
    options.engine = options_.engine;
    set(options);
    options.output = next_directory();
    options.write = Writes{true, false, false, false};
    options.format = "none";
    options.quiet = true;
    options.temporary = true;
    options.checkpoint_seconds = 1e9;
    const int code = run(options);
    if (code != all_done && code != inputs_failed) throw RunEnded(code);
    if (code != all_done) code_ = code;
    std::error_code ignored;
    if (!fs::exists(options.output / traits_of(ColumnFile::stats).file_name(), ignored)) {
        if (code != all_done) throw RunEnded(code);
        throw IoError(name + ": has no images");
    }
    return ResultsThere(options.output);
}

MeasuredSet MeasuredSets::measure_again(const std::string& name, const ResultsThere& results) {
    const fs::path list = next_directory().concat(".list");
    list_images(results, list);
    const ResultsThere again = measure(name, [&](Options& run) {
        keep_counts(run);
        run.inputs.files_from = list.string();
        run.inputs.zero_separated = true;
    });
    check_same_rows(results, again);
    return {name, again, io::read_counts(again.directory())};
}

ResultsThere MeasuredSets::find_results(const std::string& name) {
    std::error_code ignored;
    if (!fs::exists(name, ignored))
        throw IoError(name + ": does not exist: name images, a directory of images, or results",
                      IoError::Kind::missing);
    if (!fs::is_directory(name, ignored) || !ResultsThere::are_in(name))
        return measure(name, [&](Options& run) {
            keep_counts(run);
            run.inputs.arguments = {name};
        });
    return ResultsThere(name);
}

MeasuredSet MeasuredSets::find(const std::string& name) {
    const ResultsThere results = find_results(name);
    if (results.directory() != name) return {name, results, io::read_counts(results.directory())};  // measured now
    const bool images = !options_.of_images || results.has(ColumnFile::image_counts);
    if (!results.has(io::counts_file_name) || !images) {
        if (options_.by_directory)
            throw IoError(name + ": has no counts of directories: run gpuhist with --group-by dir --keep-counts");
        return measure_again(name, results);
    }
    MeasuredSet set{name, results, io::read_counts(name)};
    if (const auto by = set.counts.options.find("--group-by");
        options_.by_directory && (by == set.counts.options.end() || by->second != "dir"))
        throw IoError(name + ": has no counts of directories: run gpuhist with --group-by dir --keep-counts");
    return set;
}

}  // namespace gpuhist::app
