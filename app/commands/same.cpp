#include "commands/same.hpp"

#include <fcntl.h>
#include <oneapi/tbb/parallel_for.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "commands/merge.hpp"
#include "commands/output_failure.hpp"
#include "commands/set_parts.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/csv_rows.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/sink.hpp"
#include "gpuhist/io/walk.hpp"
#include "gpuhist/pixel_difference.hpp"
#include "gpuhist/resources.hpp"
#include "run/exit_code.hpp"
#include "run/memory_budget.hpp"
#include "run/output_directory.hpp"
#include "run/written.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t pairs_at_once = 64;
constexpr std::size_t most_named = 10;
constexpr PartFiles same_parts("same", ".csv", "comparison");
constexpr const char *run_name = "same", *only_a = "only_a", *only_b = "only_b", *failed = "failed";

std::string rows_name() {
    return traits_of(ColumnFile::same).file_name();
}

/// Images that belong together: their path without extension, and the files of each tree.
struct Pair {
    std::string path;
    std::array<std::vector<std::string>, 2> files;
};

/// Result of a pair.
struct Result {
    std::string relation, cause;
    std::optional<PixelDifference> difference;
};

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " and ") + name;
    return text;
}

/// Pairs of two trees, in byte order of their paths.
std::vector<Pair> pairs_of(const std::vector<std::string>& trees) {
    std::map<std::string, std::array<std::vector<std::string>, 2>> found;
    for (std::size_t i = 0; i < 2; ++i) {
        io::Walk walk(trees[i]);
        while (const auto image = walk.next()) {
            if (image->failure) throw IoError(*image->failure);
            found[fs::path(image->relative).replace_extension().string()][i].push_back(
                (fs::path(trees[i]) / image->relative).string());
        }
    }
    std::vector<Pair> pairs;
    for (auto& [path, files] : found) pairs.push_back({path, std::move(files)});
    return pairs;
}

/// Each image of a tree with itself.
std::vector<Pair> images_of(const std::string& tree) {
    std::vector<Pair> pairs;
    io::Walk walk(tree);
    while (const auto image = walk.next()) {
        if (image->failure) throw IoError(*image->failure);
        const std::string file = (fs::path(tree) / image->relative).string();
        pairs.push_back({image->relative, {{{file}, {file}}}});
    }
    return pairs;
}

/// Sizes and times of the files of a pair, by which a resumed run knows that they are as they were.
std::string stamp_of(const Pair& pair) {
    std::string text;
    for (const auto& files : pair.files)
        for (const std::string& file : files) {
            struct stat status {};
            if (stat(file.c_str(), &status) != 0) status = {};
            for (const std::int64_t number :
                 {static_cast<std::int64_t>(status.st_size), static_cast<std::int64_t>(status.st_mtim.tv_sec),
                  static_cast<std::int64_t>(status.st_mtim.tv_nsec), static_cast<std::int64_t>(status.st_ctim.tv_sec),
                  static_cast<std::int64_t>(status.st_ctim.tv_nsec)})
                text += (text.empty() ? "" : ":") + std::to_string(number);
        }
    return text;
}

/// Compares the pixels of two files, in memory that the budget grants.
Result compare_files(const std::string& a, const std::string& b, MemoryBudget& budget, bool by_opencv) {
    Result result;
    MemoryBudget::Share share(budget);
    std::array<io::Image, 2> images;
    try {
        for (std::size_t i = 0; i < 2; ++i) {
            io::DecodeOptions decode;
            decode.max_pipe_bytes = 0;
            const std::uint64_t held = i == 0 ? 0 : share.bytes();
            decode.admit = [&share, held](std::uint64_t file_bytes, std::uint64_t pixel_bytes) {
                share.require(held + file_bytes + pixel_bytes);
            };
            images[i] =
                by_opencv && i == 1 ? io::read_image_by_opencv(b, decode) : io::read_image(i == 0 ? a : b, decode);
        }
    } catch (const Error& error) {
        result.relation = failed;
        result.cause = error.what();
        return result;
    }
    const ImageView view_a = io::view(images[0]), view_b = io::view(images[1]);
    const auto differs = [&](const std::string& one, const std::string& other) {
        result.relation = to_string(SampleRelation::different);
        result.cause = one + " and " + other;
    };
    const auto sides = [](const ImageView& view) {
        return std::to_string(view.width) + " x " + std::to_string(view.height) + " pixels";
    };
    if (view_a.width != view_b.width || view_a.height != view_b.height) {
        differs(sides(view_a), sides(view_b));
    } else if (view_a.channels != view_b.channels) {
        differs(std::to_string(view_a.channels), counted(static_cast<std::uint64_t>(view_b.channels), "channel"));
    } else if (io::names_of_samples(images[0]) != io::names_of_samples(images[1])) {
        differs(joined(io::names_of_samples(images[0])), joined(io::names_of_samples(images[1])));
    } else {
        result.difference = pixel_difference(view_a, images[0].white, view_b, images[1].white);
        result.relation = to_string(result.difference->relation);
    }
    return result;
}

Result compare_pair(const Pair& pair, MemoryBudget& budget, bool by_opencv) {
    for (std::size_t i = 0; i < 2; ++i)
        if (pair.files[i].size() > 1)
            return {failed, "several files have this name: " + joined(pair.files[i]), std::nullopt};
    for (std::size_t i = 0; i < 2; ++i)
        if (pair.files[i].empty()) return {i == 0 ? only_b : only_a, "", std::nullopt};
    return compare_files(pair.files[0].front(), pair.files[1].front(), budget, by_opencv);
}

/// Rows of an interrupted run, and of this one: for each the length, the checksum, and the stamp of its pair in a line
/// of their own before it.
class Journal {
  public:
    explicit Journal(fs::path path) : path_(std::move(path)) {}
    ~Journal() {
        if (file_ >= 0) close(file_);
    }
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    /// Opens the file, and passes its rows, as far as they are whole, to `take`, until this refuses one. What follows
    /// is cut off.
    void begin(const std::function<bool(const std::string& stamp, const std::string& row)>& take) {
        file_ = io::open_locked(path_, io::Opened::may_exist);
        const std::string text = read();
        std::size_t good = 0;
        while (good < text.size()) {
            const std::size_t end = text.find('\n', good);
            if (end == text.npos) break;
            std::istringstream line(text.substr(good, end - good));
            std::size_t bytes = 0;
            std::string checksum, stamp;
            if (!(line >> bytes >> checksum >> stamp) || bytes > text.size() - end - 1) break;
            const std::string row = text.substr(end + 1, bytes);
            if (checksum_of(stamp + row) != checksum || !take(stamp, row)) break;
            good = end + 1 + bytes;
        }
        if (ftruncate(file_, static_cast<off_t>(good)) != 0 || lseek(file_, 0, SEEK_END) < 0)
            fail_to_write(path_, errno);
    }
    void add(const std::string& stamp, const std::string& row) {
        const std::string text = std::to_string(row.size()) + ' ' + checksum_of(stamp + row) + ' ' + stamp + '\n' + row;
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t part = write(file_, text.data() + done, text.size() - done);
            if (part < 0 && errno == EINTR) continue;
            if (part < 0) fail_to_write(path_, errno);
            done += static_cast<std::size_t>(part);
        }
    }
    /// Passes all rows on.
    void each(const std::function<void(const std::string& row)>& take) {
        const std::string text = read();
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at), bytes = std::stoull(text.substr(at, end - at));
            take(text.substr(end + 1, bytes));
            at = end + 1 + bytes;
        }
    }
    void discard() {
        if (file_ >= 0) close(std::exchange(file_, -1));
        std::error_code ignored;
        fs::remove(path_, ignored);
    }

  private:
    static std::string checksum_of(const std::string& text) {
        io::Checksum sum;
        sum.add(text.data(), text.size());
        return io::checksum_text(sum.value());
    }
    std::string read() const {
        std::string text;
        std::array<char, 1 << 16> piece{};
        for (ssize_t part; (part = pread(file_, piece.data(), piece.size(), static_cast<off_t>(text.size()))) != 0;) {
            if (part < 0 && errno == EINTR) continue;
            if (part < 0) throw IoError(path_.string() + ": cannot be read: " + std::strerror(errno));
            text.append(piece.data(), static_cast<std::size_t>(part));
        }
        return text;
    }

    const fs::path path_;
    int file_ = -1;
};

/// Names of the files: row j of part K of N is that of pair j N + K - 1.
std::vector<std::string> names_of(const std::optional<io::ShardId>& shard) {
    return shard ? same_parts.names(*shard) : std::vector{rows_name()};
}

std::string hash_of(const std::vector<Pair>& pairs) {
    io::Checksum sum;
    const auto add = [&](const std::string& text) { sum.add(text.c_str(), text.size() + 1); };
    for (const Pair& pair : pairs) {
        add(pair.path);
        for (const auto& files : pair.files) add(std::to_string(files.size()));
    }
    return io::checksum_text(sum.value());
}

/// Numbers of pairs by their relation, and the worst pairs.
class Tally {
  public:
    /// Counts the pair of the row that a reader of same.csv is at.
    void add(const io::CsvRows& rows, const std::string& path) {
        add(std::string(rows.text(rows.column("relation"))), path, rows.number(rows.column("max_distance")).value_or(0),
            std::string(rows.text(rows.column("cause"))), std::string(rows.text(rows.column("different"))),
            std::string(rows.text(rows.column("samples"))));
    }
    /// Counts a pair, and keeps those to be named: the worst of each relation but the good ones.
    void add(const std::string& relation, const std::string& path, double largest, const std::string& cause,
             const std::string& different, const std::string& samples) {
        ++counts_[relation];
        if (relation != to_string(SampleRelation::different) && relation != only_a && relation != only_b) return;
        std::string text = relation + "  " + printable(path);
        if (!cause.empty()) text += "  " + printable(cause);
        if (!samples.empty() && cause.empty())
            text +=
                "  " + different + " of " + samples + " samples, at most " + io::formatted("%.4g", largest) + " apart";
        const Named named{largest, text};
        const auto before = [](const Named& one, const Named& other) { return one.largest > other.largest; };
        named_.insert(std::upper_bound(named_.begin(), named_.end(), named, before), named);
        if (named_.size() > most_named) named_.pop_back();
    }
    /// Lines for a person.
    std::string text() const {
        std::uint64_t all = 0;
        for (const auto& [relation, count] : counts_) all += count;
        std::string text = "compared  " + counted(all, "pair") + ':', parts;
        for (const auto& [relation, words] : {std::pair("identical", " identical"),
                                              {"widened", " widened"},
                                              {"different", " different"},
                                              {only_a, " only in a"},
                                              {only_b, " only in b"},
                                              {failed, " failed"}})
            if (of(relation) > 0) parts += (parts.empty() ? " " : ", ") + std::to_string(of(relation)) + words;
        text += parts + '\n';
        for (const Named& named : named_) text += named.text + '\n';
        if (differing() > named_.size()) text += "and " + std::to_string(differing() - named_.size()) + " more\n";
        return text;
    }
    int exit_code() const { return differing() > 0 ? policy_broken : of(failed) > 0 ? inputs_failed : all_done; }

  private:
    struct Named {
        double largest;
        std::string text;
    };
    std::uint64_t of(const char* relation) const {
        const auto found = counts_.find(relation);
        return found == counts_.end() ? 0 : found->second;
    }
    std::uint64_t differing() const { return of("different") + of(only_a) + of(only_b); }

    std::map<std::string, std::uint64_t> counts_;
    std::vector<Named> named_;
};

class Comparer {
  public:
    Comparer(const SameOptions& options, Console& console)
        : options_(options),
          console_(console),
          names_(names_of(options.shard)),
          directory_(options.output, options.force, console),
          journal_(options.output / (names_.front() + ".partial")) {}

    int execute() {
        const bool trees = check_inputs();
        output([&] {
            const std::string run = options_.shard ? same_parts.stem(*options_.shard) : run_name;
            directory_.keep_track(run, {names_.front() + ".partial"});
            directory_.take();
            directory_.read_lists();
            std::vector<std::string> reserved{names_.front() + ".partial", run + ".written.partial"};
            reserved.insert(reserved.end(), names_.begin(), names_.end());
            directory_.reserve(reserved);
        });
        std::vector<Pair> pairs;
        if (trees)
            pairs = options_.by_opencv ? images_of(options_.trees[0]) : pairs_of(options_.trees);
        else
            pairs.push_back(
                {fs::path(options_.trees[1]).stem().string(), {{{options_.trees[0]}, {options_.trees[1]}}}});
        if (pairs.empty()) {
            output([&] { directory_.leave(); });
            throw IoError(options_.trees[0] + " and " + options_.trees[1] + ": have no images");
        }
        const std::string hash = hash_of(pairs);
        const std::size_t all = pairs.size();
        if (options_.shard) keep_own(pairs);
        output([&] {
            directory_.begin();
            begin(pairs);
        });
        if (options_.format != "table") printed_ = io::make_sink(options_.format, {io::Table(ColumnFile::same)});
        compare(pairs);
        output([&] {
            io::Checksum rows;
            directory_.stage(names_.front(), [&](const auto& take) {
                const auto give = [&](const std::string& text) {
                    rows.add(text.data(), text.size());
                    take(text.data(), text.size());
                };
                give(csv_->begin());
                journal_.each(give);
            });
            if (options_.shard) {  // with this file the part is there
                SetPart part(*options_.shard, all, hash);
                part.data_checksum = io::checksum_text(rows.value());
                directory_.stage(names_.back(), same_parts.facts_text(part, PartFiles::Json::object()));
            }
            directory_.commit();
            journal_.discard();
            directory_.end();
        });
        return finish();
    }

  private:
    /// Returns whether the inputs are trees.
    bool check_inputs() const {
        std::array<bool, 2> directories{};
        for (std::size_t i = 0; i < 2; ++i) {
            std::error_code ignored;
            if (!fs::exists(options_.trees[i], ignored))
                throw IoError(options_.trees[i] + ": does not exist: name two images, or two directories",
                              IoError::Kind::missing);
            directories[i] = fs::is_directory(options_.trees[i], ignored);
        }
        if (directories[0] != directories[1])
            throw IoError(options_.trees[directories[0] ? 0 : 1] + " is a directory, and " +
                          options_.trees[directories[0] ? 1 : 0] + " is an image: name two of a kind");
        return directories[0];
    }

    /// Keeps the pairs of the shard.
    void keep_own(std::vector<Pair>& pairs) const {
        std::vector<Pair> own;
        for (std::size_t i = 0; i < pairs.size(); ++i)
            if (options_.shard->has(i)) own.push_back(std::move(pairs[i]));
        pairs = std::move(own);
    }

    /// Takes the rows of an interrupted run, or removes them.
    void begin(const std::vector<Pair>& pairs) {
        journal_.begin([&](const std::string& stamp, const std::string& row) {
            if (!options_.resume || done_ == pairs.size() || stamp_of(pairs[done_]) != stamp) return false;
            io::CsvRows rows(std::make_unique<std::istringstream>(csv_->begin() + row), rows_name());
            if (!rows.next() || rows.text(rows.column("path")) != guarded(pairs[done_].path)) return false;
            tally_.add(rows, pairs[done_].path);
            ++done_;
            return true;
        });
    }

    /// Path as CSV has it: see io/report/csv.cpp.
    std::string guarded(const std::string& path) const {
        ColumnRow row;
        row.path = path;
        io::CsvRows rows(
            std::make_unique<std::istringstream>(csv_->begin() + csv_->format(io::Record{ColumnFile::same, row})),
            rows_name());
        rows.next();
        return std::string(rows.text(rows.column("path")));
    }

    void compare(const std::vector<Pair>& pairs) {
        MemoryBudget budget(available_memory() / 4);
        if (printed_) console_.print_rows(printed_->begin());
        for (std::size_t first = done_; first < pairs.size(); first += pairs_at_once) {
            const std::size_t count = std::min(pairs_at_once, pairs.size() - first);
            std::vector<Result> results(count);
            std::vector<std::string> stamps(count);
            tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
                stamps[i] = stamp_of(pairs[first + i]);
                results[i] = compare_pair(pairs[first + i], budget, options_.by_opencv);
            });
            for (std::size_t i = 0; i < count; ++i) add(pairs[first + i], results[i], stamps[i]);
        }
        if (printed_) console_.print_rows(printed_->end());
    }

    void add(const Pair& pair, const Result& result, const std::string& stamp) {
        const auto file = [](const std::vector<std::string>& files) {
            return files.empty() ? std::string_view() : std::string_view(files.front());
        };
        ColumnRow row;
        row.path = pair.path;
        row.a = file(pair.files[0]);
        row.b = file(pair.files[1]);
        row.relation = result.relation;
        row.cause = result.cause;
        row.difference = result.difference ? &*result.difference : nullptr;
        const io::Record record{ColumnFile::same, row};
        output([&] { journal_.add(stamp, csv_->format(record)); });
        if (printed_) console_.print_rows(printed_->append(printed_->format(record)));
        const auto& difference = result.difference;
        if (result.relation == failed) console_.say(result.cause);
        tally_.add(result.relation, pair.path, difference ? difference->max.value_or(0) : 0, result.cause,
                   difference ? std::to_string(difference->different) : "",
                   difference ? std::to_string(difference->samples) : "");
    }

    int finish() {
        if (options_.notes && options_.format == "table")
            console_.print(tally_.text() + written_text(options_.output, names_));
        return console_.failed() ? static_cast<int>(output_failed) : tally_.exit_code();
    }

    const SameOptions& options_;
    Console& console_;
    const std::vector<std::string> names_;  ///< of the files that are written
    OutputDirectory directory_;
    Journal journal_;
    const std::unique_ptr<io::Sink> csv_ = io::make_sink("csv", {io::Table(ColumnFile::same)});
    std::unique_ptr<io::Sink> printed_;
    std::size_t done_ = 0;  ///< pairs, by an interrupted run
    Tally tally_;
};

/// Next record of a CSV text, with its line end. Quoted fields may contain line ends.
std::string record_of(std::istream& text) {
    std::string record;
    bool quoted = false;
    for (int byte; (byte = text.get()) != std::istream::traits_type::eof();) {
        record += static_cast<char>(byte);
        if (byte == '"') quoted = !quoted;
        if (byte == '\n' && !quoted) break;
    }
    return record;
}

/// Passes the rows of all shards on, in the order of the pairs, and counts them.
void merge_rows(const PlacedParts<SetPart>& parts, Tally& tally, const std::function<void(const std::string&)>& take) {
    std::vector<std::unique_ptr<std::istream>> texts;
    std::vector<io::CsvRows> rows;
    for (const auto& placed : parts) {
        const auto& [directory, part] = placed;
        const auto open = [&placed] {
            return std::make_unique<std::ifstream>(same_parts.open_data(placed.first, placed.second));
        };
        texts.push_back(open());
        rows.emplace_back(open(), (directory / names_of(part.id).front()).string());
    }
    const std::unique_ptr<io::Sink> csv = io::make_sink("csv", {io::Table(ColumnFile::same)});
    std::string header = csv->begin();
    take(header);
    for (const auto& text : texts) {
        std::string own(header.size(), '\0');
        if (!text->read(own.data(), static_cast<std::streamsize>(own.size())) || own != header)
            throw IoError("the parts have other columns than same.csv: they were written by another version");
    }
    for (std::uint64_t pair = 0; pair < parts.front().second.members; ++pair) {
        const std::size_t part = pair % parts.size();
        if (!rows[part].next()) rows[part].refuse("a row is missing");
        tally.add(rows[part], std::string(rows[part].text(rows[part].column("path"))));
        take(record_of(*texts[part]));
    }
    for (io::CsvRows& more : rows)
        if (more.next()) more.refuse("there is a row too many");
}

}  // namespace

std::vector<fs::path> same_part_files(const fs::path& directory) {
    return same_parts.in(directory);
}

int merge_pixels(const MergeOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&]() -> int {
        const auto parts = same_parts.read<SetPart>(options.directories, [](const PartFiles::Json&, SetPart&) {});
        OutputDirectory directory(options.output, options.force, console);
        Tally tally;
        output([&] {
            directory.read_lists();
            directory.reserve({rows_name()});
            directory.make();
        });
        std::exception_ptr failure;
        try {
            output([&] {
                directory.stage(rows_name(), [&](const auto& take) {
                    try {
                        merge_rows(parts, tally,
                                   [&](const std::string& text) { output([&] { take(text.data(), text.size()); }); });
                    } catch (const OutputFailure&) {
                        throw;
                    } catch (...) {
                        failure = std::current_exception();
                        throw;
                    }
                });
                directory.commit();
            });
        } catch (...) {
            if (failure) std::rethrow_exception(failure);
            throw;
        }
        if (options.notes) console.print(tally.text() + written_text(options.output, {rows_name()}));
        return console.failed() ? static_cast<int>(output_failed) : tally.exit_code();
    });
}

int compare_pixels(const SameOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] { return Comparer(options, console).execute(); });
}

}  // namespace gpuhist::app
