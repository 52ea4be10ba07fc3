#include "commands/verify.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <queue>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "commands/measured_sets.hpp"
#include "commands/output_failure.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/version.hpp"
#include "run/exit_code.hpp"
#include "run/run_state.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_named = 20;

/// Percentiles that a table has columns for.
Percentiles percentiles_of(const io::CsvRows& rows) {
    std::vector<double> percents;
    for (const std::string& name : rows.names()) {
        if (name == "median") percents.push_back(50);
        if (name.size() < 2 || name[0] != 'p' || name.find_first_not_of("0123456789.", 1) != name.npos) continue;
        percents.push_back(std::strtod(name.c_str() + 1, nullptr));
    }
    return percents.empty() ? Percentiles() : Percentiles(percents);
}

/// Rows of stats.csv, image by image.
class ImageRows {
  public:
    explicit ImageRows(io::CsvRows rows)
        : rows_(std::move(rows)), path_(rows_.column("path")), channel_(rows_.column("channel")) {
        more_ = rows_.next();
    }
    /// Moves to the first image, or to the next. Returns false if there is none. A list may name an image twice.
    bool next() {
        channels_.clear();
        if (!more_) return false;
        image_ = rows_.text(path_);
        while (more_ && rows_.text(path_) == image_ && !find(rows_.text(channel_))) {
            std::vector<std::string>& fields = channels_.emplace_back();
            for (std::size_t i = 0; i < rows_.names().size(); ++i) fields.emplace_back(rows_.text(i));
            more_ = rows_.next();
        }
        return true;
    }
    const std::string& image() const { return image_; }
    const std::vector<std::vector<std::string>>& channels() const { return channels_; }
    const std::string& channel_of(const std::vector<std::string>& fields) const { return fields[channel_]; }
    /// Row of a channel; null if the image has none.
    const std::vector<std::string>* find(std::string_view channel) const {
        for (const auto& fields : channels_)
            if (fields[channel_] == channel) return &fields;
        return nullptr;
    }
    const io::CsvRows& table() const { return rows_; }

  private:
    io::CsvRows rows_;
    std::size_t path_, channel_;
    bool more_ = false;
    std::string image_;
    std::vector<std::vector<std::string>> channels_;
};

/// Images that are verified: all, or some that follow from the seed and their places.
class Choice {
  public:
    Choice(const ResultsThere& results, const VerifyOptions& options) {
        std::priority_queue<std::pair<std::uint64_t, std::uint64_t>> least;
        each_image(results, [&](std::uint64_t place, const std::string&) {
            ++images_;
            if (!options.sample) return;
            io::Checksum sum;
            for (const std::uint64_t number : {options.seed, place}) sum.add(&number, sizeof number);
            least.emplace(sum.value(), place);
            if (least.size() > *options.sample) least.pop();
        });
        sampled_ = options.sample.has_value();
        for (; !least.empty(); least.pop()) places_.insert(least.top().second);
    }
    bool has(std::uint64_t place) const { return !sampled_ || places_.count(place) > 0; }
    std::uint64_t images() const { return images_; }

    /// Visits the images of results in their order: visit(place, path).
    template <class Visit>
    static void each_image(const ResultsThere& results, const Visit& visit) {
        ImageRows rows(results.open(ColumnFile::stats));
        for (std::uint64_t place = 0; rows.next(); ++place) visit(place, rows.image());
    }

  private:
    bool sampled_ = false;
    std::uint64_t images_ = 0;
    std::set<std::uint64_t> places_;
};

/// File of an input, and whether it names a page of it.
std::pair<std::string, bool> file_of(const std::string& path) {
    std::error_code ignored;
    const std::size_t mark = path.rfind('#');
    if (fs::exists(path, ignored) || mark == path.npos || mark + 1 == path.size() ||
        path.find_first_not_of("0123456789", mark + 1) != path.npos)
        return {path, false};
    return {path.substr(0, mark), true};
}

class Verifier {
  public:
    Verifier(const VerifyOptions& options, Console& console)
        : options_(options),
          console_(console),
          results_(options.directories.front()),
          choice_(results_, options),
          sets_({options.run.engine, false, false}) {}

    int execute() {
        check_options();
        const fs::path list = sets_.next_directory().concat(".list");
        list_images(list);
        std::optional<ResultsThere> again;
        try {
            if (there_ > 0) again.emplace(measure(list));
        } catch (const RunEnded& end) {
            if (end.code() != inputs_failed) throw;
        }
        again ? compare(*again) : add_failed();
        if (again && bad_ == 0 && chosen_ == choice_.images()) compare_sets(*again);
        return finish();
    }

  private:
    /// Refuses options that are known to be others than those of the run.
    void check_options() {
        if (!results_.has(io::counts_file_name)) return;
        const io::Shard kept = io::read_counts(results_.directory());
        const std::string differences = differing_options(kept.options, fingerprint(options_.run));
        if (const auto version = kept.options.find("the version of gpuhist"); version != kept.options.end())
            version_ = version->second;
        if (!differences.empty())
            throw IoError(results_.directory().string() +
                          ": these results were made with other options: give verify the same " + differences);
    }

    /// Writes the list of images to be measured, and notes those that are gone.
    void list_images(const fs::path& to) {
        std::ofstream list(to, std::ios::binary);
        std::string last;
        Choice::each_image(results_, [&](std::uint64_t place, const std::string& path) {
            if (!choice_.has(place)) return;
            ++chosen_;
            if (path == "-" || path.rfind("-#", 0) == 0)
                throw IoError(results_.directory().string() + ": standard input can't be measured again");
            const auto [file, page] = file_of(path);
            std::error_code ignored;
            if (!fs::exists(file, ignored)) return add("gone", path, "");
            ++there_;
            pages_ = pages_ || page;
            if (page && file == last) return;
            last = file;
            list << file << '\0';
        });
        if (!list.flush()) throw OutputFailure(to.string() + ": cannot be written");
    }

    ResultsThere measure(const fs::path& list) {
        io::CsvRows rows = results_.open(ColumnFile::stats);
        return sets_.measure(results_.directory().string(), [&](Options& run) {
            run = options_.run;
            run.percentiles = percentiles_of(rows);
            run.robust = rows.find("mad").has_value();
            run.inputs.files_from = list.string();
            run.inputs.zero_separated = true;
            if (pages_) run.inputs.pages = PageSelection{{{1, PageSelection::end}}};
        });
    }

    /// Compares the rows of the images that were chosen with those of the new run. Both are in the order of the images.
    void compare(const ResultsThere& again) {
        ImageRows before(results_.open(ColumnFile::stats)), now(again.open(ColumnFile::stats));
        std::vector<std::pair<std::size_t, std::size_t>> columns;
        for (std::size_t i = 0; i < before.table().names().size(); ++i)
            if (const auto place = now.table().find(before.table().names()[i])) columns.emplace_back(i, *place);
        bool more = now.next();
        for (std::uint64_t place = 0; before.next(); ++place) {
            if (!choice_.has(place)) continue;
            const std::string file = file_of(before.image()).first;
            while (more && pages_ && now.image() != before.image() && file_of(now.image()).first == file)
                more = now.next();  // a page that was not chosen
            std::error_code ignored;
            if (!more || now.image() != before.image()) {
                if (fs::exists(file, ignored)) add("changed", before.image(), "fails now");
                continue;
            }
            if (const auto change = change_of(before, now, columns)) add("changed", before.image(), *change);
            more = now.next();
        }
    }

    /// Compares the numbers of the whole set, which follow from the images that were all measured again.
    void compare_sets(const ResultsThere& again) {
        if (!results_.has(ColumnFile::dataset) || !again.has(ColumnFile::dataset)) return;
        set_verified_ = true;
        io::CsvRows before = results_.open(ColumnFile::dataset), now = again.open(ColumnFile::dataset);
        const auto next = [](io::CsvRows& rows, std::size_t group) {
            while (rows.next())
                if (rows.text(group).empty()) return true;
            return false;
        };
        const std::size_t depth = before.column("depth"), channel = before.column("channel");
        const std::size_t old_group = before.column("group"), new_group = now.column("group");
        while (next(before, old_group)) {
            const std::string row = std::string(before.text(depth)) + ' ' + std::string(before.text(channel));
            if (!next(now, new_group)) return add_set(row + ": is missing now");
            for (std::size_t i = 0; i < before.names().size(); ++i)
                if (const auto place = now.find(before.names()[i]); place && before.text(i) != now.text(*place))
                    return add_set(row + ": " + before.names()[i] + " is " + shown_text(now.text(*place)) + ", was " +
                                   shown_text(before.text(i)));
        }
        if (next(now, new_group)) add_set("has more rows now");
    }
    void add_set(const std::string& why) {
        set_changed_ = true;
        lines_.push_back("changed  " + traits_of(ColumnFile::dataset).file_name() + "  " + why);
    }

    /// Files with numbers that were not compared.
    std::string not_verified() const {
        std::string names;
        for (const ColumnFile table : {ColumnFile::regions, ColumnFile::quality, ColumnFile::dataset})
            if (results_.has(table) && !(table == ColumnFile::dataset && (set_verified_ || bad_ > 0)))
                names += (names.empty() ? "" : " ") + traits_of(table).file_name();
        return names;
    }

    /// The first difference of the rows of an image, in words.
    static std::optional<std::string> change_of(const ImageRows& before, const ImageRows& now,
                                                const std::vector<std::pair<std::size_t, std::size_t>>& columns) {
        for (const auto& fields : before.channels()) {
            const std::string& channel = before.channel_of(fields);
            const auto* own = now.find(channel);
            if (!own) return "has no row " + channel + " now";
            for (const auto& [old_place, new_place] : columns)
                if (fields[old_place] != (*own)[new_place])
                    return channel + ": " + before.table().names()[old_place] + " is " + shown_text((*own)[new_place]) +
                           ", was " + shown_text(fields[old_place]);
        }
        for (const auto& fields : now.channels())
            if (!before.find(now.channel_of(fields))) return "has a row " + now.channel_of(fields) + " now";
        return std::nullopt;
    }
    /// Names the images that are there, all of which fail.
    void add_failed() {
        Choice::each_image(results_, [&](std::uint64_t place, const std::string& path) {
            std::error_code ignored;
            if (choice_.has(place) && fs::exists(file_of(path).first, ignored)) add("changed", path, "fails now");
        });
    }
    static std::string shown_text(std::string_view value) { return value.empty() ? "empty" : std::string(value); }

    void add(const std::string& kind, const std::string& path, const std::string& why) {
        ++bad_;
        if (lines_.size() < most_named) lines_.push_back(kind + "  " + path + (why.empty() ? "" : "  " + why));
    }

    int finish() {
        for (const std::string& line : lines_) console_.print(printable(line) + '\n');
        if (bad_ > lines_.size()) console_.print("and " + std::to_string(bad_ - lines_.size()) + " more\n");
        if (options_.notes) {
            std::string text = "verified  " + counted(chosen_, "image");
            if (chosen_ < choice_.images()) text += " of " + std::to_string(choice_.images());
            if (version_)
                text += ", of results by gpuhist " + printable(*version_) +
                        (*version_ == GPUHIST_VERSION ? "" : " (this is " GPUHIST_VERSION ")");
            text += ": ";
            if (set_changed_)
                text += "the images hold, but the set does not\n";
            else
                text += bad_ == 0 ? "all rows hold\n"
                                  : counted(bad_, "image") + (bad_ == 1 ? " does not hold\n" : " do not hold\n");
            if (const std::string names = not_verified(); !names.empty()) text += "not verified  " + names + '\n';
            console_.print(text);
        }
        if (console_.failed()) return output_failed;
        return bad_ == 0 && !set_changed_ ? all_done : policy_broken;
    }

    const VerifyOptions& options_;
    Console& console_;
    const ResultsThere results_;
    const Choice choice_;
    MeasuredSets sets_;
    std::optional<std::string> version_;
    bool pages_ = false, set_verified_ = false, set_changed_ = false;
    std::uint64_t chosen_ = 0, there_ = 0, bad_ = 0;
    std::vector<std::string> lines_;
};

}  // namespace

int verify(const VerifyOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] { return Verifier(options, console).execute(); });
}

}  // namespace gpuhist::app
