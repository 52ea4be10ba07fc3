#include "commands/verify.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <queue>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "commands/measured_sets.hpp"
#include "commands/output_failure.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/version.hpp"
#include "run/companions.hpp"
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

/// Table of images, and the columns that tell the rows of an image apart.
struct VerifiedTable {
    ColumnFile table;
    std::vector<const char*> key;
};
const VerifiedTable image_table{ColumnFile::stats, {"channel"}};
const VerifiedTable further_tables[] = {{ColumnFile::quality, {}}, {ColumnFile::regions, {"region", "channel"}}};
/// Tables of the whole set.
const VerifiedTable set_tables[] = {{ColumnFile::dataset, {"group", "depth", "channel"}},
                                    {ColumnFile::set_quality, {"group", "depth", "measure"}}};

/// Rows of a table, image by image.
class ImageRows {
  public:
    using Row = std::vector<std::string>;
    ImageRows(const ResultsThere& results, const VerifiedTable& of)
        : rows_(results.open(of.table)), path_(rows_.column("path")) {
        for (const char* column : of.key) key_.push_back(rows_.column(column));
        more_ = rows_.next();
    }
    /// Moves to the first image, or to the next. Returns false if there is none. A list may name an image twice.
    bool next() {
        clear();
        if (!more_) return false;
        image_ = rows_.text(path_);
        while (more_ && rows_.text(path_) == image_) {
            Row row;
            for (std::size_t i = 0; i < rows_.names().size(); ++i) row.emplace_back(rows_.text(i));
            if (!places_.emplace(key_of(row), image_rows_.size()).second) break;
            image_rows_.push_back(std::move(row));
            more_ = rows_.next();
        }
        return true;
    }
    /// Moves to the rows of an image, which may have none. Call it for each image, in their order.
    void follow(const std::string& image) {
        clear();
        if (more_ && rows_.text(path_) == image) next();
    }
    const std::string& image() const { return image_; }
    const std::vector<Row>& rows() const { return image_rows_; }
    const io::CsvRows& table() const { return rows_; }
    std::string key_of(const Row& row) const {
        std::string key;
        for (const std::size_t column : key_) key += (key.empty() ? "" : " ") + row[column];
        return key;
    }
    /// Row with a key; null if the image has none.
    const Row* find(const std::string& key) const {
        const auto place = places_.find(key);
        return place == places_.end() ? nullptr : &image_rows_[place->second];
    }

  private:
    void clear() {
        image_rows_.clear();
        places_.clear();
    }

    io::CsvRows rows_;
    std::size_t path_;
    std::vector<std::size_t> key_;
    bool more_ = false;
    std::string image_;
    std::vector<Row> image_rows_;
    std::unordered_map<std::string, std::size_t> places_;  ///< of these rows, by their keys
};

std::string shown_text(std::string_view value) {
    return value.empty() ? "empty" : std::string(value);
}

/// Columns that two tables share, by their places in both.
std::vector<std::pair<std::size_t, std::size_t>> shared_columns(const io::CsvRows& before, const io::CsvRows& now) {
    std::vector<std::pair<std::size_t, std::size_t>> columns;
    for (std::size_t i = 0; i < before.names().size(); ++i)
        if (const auto place = now.find(before.names()[i])) columns.emplace_back(i, *place);
    return columns;
}

/// Table as the results and the new run have it, image by image.
class TwoTables {
  public:
    TwoTables(const ResultsThere& results, const ResultsThere& again, const VerifiedTable& of)
        : before(results, of),
          now(again, of),
          columns_(shared_columns(before.table(), now.table())),
          name_(of.table == ColumnFile::stats ? "" : traits_of(of.table).file_name() + ": ") {}

    ImageRows before, now;

    /// The first difference of the rows of an image, in words.
    std::optional<std::string> change() const {
        for (const ImageRows::Row& row : before.rows()) {
            const std::string key = before.key_of(row);
            const ImageRows::Row* const own = now.find(key);
            if (!own) return name_ + "has no row " + key + " now";
            for (const auto& [old_place, new_place] : columns_)
                if (row[old_place] != (*own)[new_place])
                    return name_ + (key.empty() ? "" : key + ": ") + before.table().names()[old_place] + " is " +
                           shown_text((*own)[new_place]) + ", was " + shown_text(row[old_place]);
        }
        for (const ImageRows::Row& row : now.rows())
            if (const std::string key = now.key_of(row); !before.find(key)) return name_ + "has a row " + key + " now";
        return std::nullopt;
    }

  private:
    std::vector<std::pair<std::size_t, std::size_t>> columns_;
    std::string name_;
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
        ImageRows rows(results, image_table);
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
        if (again && bad_ == 0 && chosen_ == choice_.images())
            for (const VerifiedTable& table : set_tables) compare_sets(*again, table);
        return finish();
    }

  private:
    /// Refuses options that are known to be others than those of the run.
    void check_options() {
        if (!results_.has(io::counts_file_name)) return;
        const io::Shard kept = io::read_counts(results_.directory());
        const std::string differences =
            differing_options(kept.options, fingerprint(options_.run),
                              {"--labels", "--roi, --rois or --clip-rois", "--group-by", "--quality-scale"});
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

    /// Directory that was the argument of the run, as far as it matters: the first one above an image for which the
    /// image has masks and label images, and is in a group of the results. Empty if none has.
    std::string root() const {
        ImageRows rows(results_, image_table);
        if (!rows.next()) return {};
        const std::string file = file_of(rows.image()).first;
        const Options& run = options_.run;
        std::vector<std::string> paths{run.masks};
        for (const LabelMap& map : parse_label_maps(run.labels)) paths.push_back(map.path);
        std::set<std::string> groups;
        if (run.group_by == GroupBy::directory && results_.has(ColumnFile::dataset)) {
            io::CsvRows sets = results_.open(ColumnFile::dataset);
            const std::size_t group = sets.column("group");
            while (sets.next()) groups.emplace(sets.text(group));
        }
        const auto fits = [&](const std::string& rest) {
            Input input;
            input.path = file;
            input.output_name = io::name_below(rest);
            for (const std::string& path : paths) {
                std::error_code ignored;
                if (fs::is_directory(path, ignored) && !Companions(path, "mask").own_path_of(input)) return false;
            }
            const std::string parent = fs::path(rest).parent_path().string();
            return groups.empty() || groups.count(parent.empty() ? "." : parent) > 0;
        };
        for (std::size_t end = 0; end != file.npos; end = file.find('/', end + 1))
            if (const std::string root = file.substr(0, end + (end == 0 && file[0] == '/' ? 1 : 0));
                fits(root.empty() ? file : file.substr(root.back() == '/' ? root.size() : root.size() + 1)))
                return root;
        return {};
    }

    ResultsThere measure(const fs::path& list) {
        io::CsvRows rows = results_.open(ColumnFile::stats);
        return sets_.measure(results_.directory().string(), [&](Options& run) {
            run = options_.run;
            run.percentiles = percentiles_of(rows);
            run.robust = rows.find("mad").has_value();
            if (results_.has(ColumnFile::quality)) run.measures = Measures::quality();
            run.inputs.files_from = list.string();
            run.inputs.zero_separated = true;
            run.inputs.list_root = root();
            if (pages_) run.inputs.pages = PageSelection{{{1, PageSelection::end}}};
        });
    }

    /// Compares the rows of the images that were chosen with those of the new run. Both are in the order of the images.
    void compare(const ResultsThere& again) {
        TwoTables images(results_, again, image_table);
        std::deque<TwoTables> further;
        for (const VerifiedTable& table : further_tables) {
            if (!results_.has(table.table)) continue;
            if (again.has(table.table))
                further.emplace_back(results_, again, table);
            else
                not_verified_.push_back(traits_of(table.table).file_name());
        }
        ImageRows &before = images.before, &now = images.now;
        const auto next_now = [&] {
            const bool more = now.next();
            if (more)
                for (TwoTables& tables : further) tables.now.follow(now.image());
            return more;
        };
        bool more = next_now();
        for (std::uint64_t place = 0; before.next(); ++place) {
            for (TwoTables& tables : further) tables.before.follow(before.image());
            if (!choice_.has(place)) continue;
            const std::string file = file_of(before.image()).first;
            while (more && pages_ && now.image() != before.image() && file_of(now.image()).first == file)
                more = next_now();  // a page that was not chosen
            std::error_code ignored;
            if (!more || now.image() != before.image()) {
                if (fs::exists(file, ignored)) add("changed", before.image(), "fails now");
                continue;
            }
            auto change = images.change();
            for (auto tables = further.begin(); !change && tables != further.end(); ++tables) change = tables->change();
            if (change) add("changed", before.image(), *change);
            more = next_now();
        }
    }

    /// Compares the numbers of the whole set, and of its groups if the new run has them. They follow from the images,
    /// which were all measured again.
    void compare_sets(const ResultsThere& again, const VerifiedTable& of) {
        if (!results_.has(of.table)) return;
        const std::string file = traits_of(of.table).file_name();
        if (!again.has(of.table)) return not_verified_.push_back(file);
        io::CsvRows before = results_.open(of.table), now = again.open(of.table);
        const auto columns = shared_columns(before, now);
        std::vector<std::size_t> key;
        for (const char* column : of.key) key.push_back(before.column(column));
        const bool grouped = options_.run.group_by != GroupBy::none;
        const std::size_t old_group = before.column("group"), new_group = now.column("group");
        bool left_out = false;
        const auto next = [&](io::CsvRows& rows, std::size_t group) {
            while (rows.next()) {
                if (grouped || rows.text(group).empty()) return true;
                left_out = true;
            }
            return false;
        };
        while (next(before, old_group)) {
            std::string row;
            for (const std::size_t column : key)
                if (const std::string_view text = before.text(column); !text.empty())
                    row.append(row.empty() ? "" : " ").append(text);
            row.append(row.empty() ? "" : ": ");
            if (!next(now, new_group)) return add_set(file, row + "is missing now");
            for (const auto& [old_place, new_place] : columns)
                if (before.text(old_place) != now.text(new_place))
                    return add_set(file, row + before.names()[old_place] + " is " + shown_text(now.text(new_place)) +
                                             ", was " + shown_text(before.text(old_place)));
        }
        if (next(now, new_group)) add_set(file, "has more rows now");
        if (left_out) not_verified_.push_back("groups in " + file);
    }
    void add_set(const std::string& file, const std::string& why) {
        set_changed_ = true;
        lines_.push_back("changed  " + file + "  " + why);
    }

    /// Files with numbers that were not compared.
    std::string not_verified() const {
        std::string names;
        for (const std::string& name : not_verified_) names += (names.empty() ? "" : ", ") + name;
        if (bad_ == 0 && chosen_ < choice_.images())
            for (const VerifiedTable& table : set_tables)
                if (results_.has(table.table))
                    names += (names.empty() ? "" : ", ") + traits_of(table.table).file_name();
        return names;
    }

    /// Names the images that are there, all of which fail.
    void add_failed() {
        Choice::each_image(results_, [&](std::uint64_t place, const std::string& path) {
            std::error_code ignored;
            if (choice_.has(place) && fs::exists(file_of(path).first, ignored)) add("changed", path, "fails now");
        });
    }

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
    bool pages_ = false, set_changed_ = false;
    std::uint64_t chosen_ = 0, there_ = 0, bad_ = 0;
    std::vector<std::string> lines_, not_verified_;
};

}  // namespace

int verify(const VerifyOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] { return Verifier(options, console).execute(); });
}

}  // namespace gpuhist::app
