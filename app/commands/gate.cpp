#include "commands/gate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "commands/gate_report.hpp"
#include "commands/output_failure.hpp"
#include "commands/results_there.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/duplicates.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/csv_rows.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/policy.hpp"
#include "gpuhist/io/report.hpp"
#include "run/exit_code.hpp"
#include "run/image_flags.hpp"
#include "run/output_directory.hpp"

namespace gpuhist::app {
namespace {

std::string percent(double share) {
    return io::formatted("%.3g %%", share * 100);
}

/// Checker of the rules of a policy. Each rule becomes a result.
class Gate {
  public:
    Gate(const io::Policy& policy, const ResultsThere& there) : policy_(policy), there_(there) {}

    std::vector<GateResult> check() {
        if (policy_.gate.errors) check_errors();
        if (std::any_of(policy_.gate.flagged.begin(), policy_.gate.flagged.end(),
                        [](const auto& share) { return !!share; }))
            check_flags();
        for (const io::GateRules::Interval& one : policy_.gate.dataset) check_dataset(one);
        for (const io::GateRules::Interval& one : policy_.gate.quality) check_quality(one);
        if (policy_.gate.leaks) check_leaks();
        return std::move(results_);
    }

  private:
    void check_errors() {
        GateResult& result = add("errors at most " + std::to_string(*policy_.gate.errors));
        if (!there_.has(ColumnFile::errors)) return;
        io::CsvRows errors = there_.open(ColumnFile::errors);
        const std::size_t path = errors.column("path"), kind = errors.column("kind"),
                          message = errors.column("message");
        std::uint64_t failed = 0;
        while (errors.next()) {
            if (errors.text(kind) == "output") continue;  // the input was measured
            ++failed;
            result.add(std::string(errors.text(path)), std::string(errors.text(kind)),
                       std::string(errors.text(message)));
        }
        if (failed > *policy_.gate.errors)
            result.broken = counted(failed, "input") + " failed, at most " + std::to_string(*policy_.gate.errors);
    }

    void check_flags() {
        need_columns();
        const FlagFinder flags(there_.images(), policy_.flags);
        std::array<GateResult, flag_count> found;
        flags.each([&](const ImageFlag& flag) {
            GateResult& result = found[static_cast<std::size_t>(flag.flag)];
            if (!policy_.gate.share_of(flag.flag)) return;
            const std::string where = flag.first ? std::to_string(*flag.first) : "";
            result.add(std::string(flag.path), value_text(flag, where), threshold_text(flag));
        });
        for (const FlagTraits& traits : all_flags) {
            const auto& share = policy_.gate.share_of(traits.flag);
            if (!share) continue;
            GateResult& result = add(std::string(traits.name) + " at most " + percent(*share));
            GateResult& of = found[static_cast<std::size_t>(traits.flag)];
            const double images = static_cast<double>(flags.images());
            result.take_items(of);
            if (flags.images() > 0 && static_cast<double>(result.count) > *share * images)
                result.broken = std::string(traits.name) + ": " + std::to_string(result.count) + " of " +
                                counted(flags.images(), "image") + ", " +
                                percent(static_cast<double>(result.count) / images) + ", at most " + percent(*share);
            if (traits.flag == Flag::duplicate || traits.flag == Flag::near_duplicate) name_firsts(flags, result);
        }
    }

    /// Puts the paths of the first images of groups in the place of their numbers, and says so in the reasons.
    void name_firsts(const FlagFinder& flags, GateResult& result) const {
        std::vector<std::uint64_t> firsts;
        for (const GateItem& item : result.items) firsts.push_back(std::stoull(item.value.substr(2)));
        const auto paths = flags.paths_of(firsts);
        for (GateItem& item : result.items) {
            const std::string& first = paths.at(std::stoull(item.value.substr(2)));
            item.value = "= " + first;
            item.why = item.why.empty() ? "the same pixels as " + first : "similar to " + first + ": " + item.why;
        }
    }

    static std::string threshold_text(const ImageFlag& flag) {
        const FlagTraits& traits = traits_of(flag.flag);
        if (!flag.threshold) return flag.first ? "" : "the image has no colors";
        const std::string value = traits.value;
        return (value.back() == '.' ? "the value" : value) + " is " + shown(flag.value) + ", the threshold " +
               shown(*flag.threshold);
    }

    /// Throws IoError where a rule needs a column that quality.csv lacks: no image would bear the flag.
    void need_columns() const {
        const io::CsvRows quality = there_.open(ColumnFile::quality);
        for (const FlagTraits& traits : all_flags) {
            if (!policy_.gate.share_of(traits.flag)) continue;
            std::string column;
            for (const char* at = traits.columns;; ++at) {
                if (*at != ' ' && *at != 0) {
                    column += *at;
                    continue;
                }
                if (!column.empty()) static_cast<void>(quality.column(column));
                column.clear();
                if (*at == 0) break;
            }
        }
    }

    /// Checks the numbers that a rule is about: one per depth of the images.
    class Numbers {
      public:
        explicit Numbers(const io::GateRules::Interval& rule) : rule_(rule) {}

        void add(const std::optional<double>& value, std::string_view depth) {
            any_ = true;
            if (value && rule_.contains(*value)) return;
            outside_ += (outside_.empty() ? "" : ", ") + (value ? shown(*value) : "undefined") + " in " +
                        std::string(depth) + " images";
        }
        /// Breaks the rule if a number is outside, or if there is none. `what` names the number, `none` says why there
        /// is none.
        void end(const std::string& what, const char* none, const std::string& table, GateResult& result) const {
            if (any_ && outside_.empty()) return;
            result.broken = what + (any_ ? " is " + outside_ + ", not " + range_text(rule_) : none);
            result.add(table, "", *result.broken);
        }

      private:
        const io::GateRules::Interval& rule_;
        bool any_ = false;
        std::string outside_;
    };

    void check_dataset(const io::GateRules::Interval& rule) {
        const std::string what = rule.column + " of " + rule.of;
        GateResult& result = add(what + ": " + range_text(rule));
        io::CsvRows rows = there_.open(ColumnFile::dataset);
        const std::size_t group = rows.column("group"), channel = rows.column("channel"), depth = rows.column("depth"),
                          column = rows.column(rule.column);
        Numbers numbers(rule);
        while (rows.next())
            if (rows.text(group).empty() && rows.text(channel) == rule.of)
                numbers.add(rows.number(column), rows.text(depth));
        numbers.end(what, ": the set has no such channel", there_.path_of(ColumnFile::dataset), result);
    }

    void check_quality(const io::GateRules::Interval& rule) {
        const std::string what = rule.of + " of " + rule.column;
        GateResult& result = add(what + ": " + range_text(rule));
        static_cast<void>(there_.open(ColumnFile::quality));  // says what is missing
        static_cast<void>(there_.open(ColumnFile::dataset));
        Numbers numbers(rule);
        if (there_.has(ColumnFile::set_quality)) {  // else no image has any number
            io::CsvRows rows = there_.open(ColumnFile::set_quality);
            const std::size_t group = rows.column("group"), depth = rows.column("depth"),
                              measure = rows.column("measure"), column = rows.column("measure_" + rule.of);
            while (rows.next())
                if (rows.text(group).empty() && rows.text(measure) == rule.column)
                    numbers.add(rows.number(column), rows.text(depth));
        }
        numbers.end(what, ": no image has this number", there_.path_of(ColumnFile::set_quality), result);
    }

    /// The set that an image is in: the first directory of its path that has the name of one.
    std::optional<std::size_t> set_of(std::string_view path) const {
        std::optional<std::size_t> set;
        std::size_t place = path.npos;
        const std::string padded = '/' + std::string(path);
        for (std::size_t i = 0; i < policy_.gate.leaks->between.size(); ++i)
            if (const std::size_t at = padded.find('/' + policy_.gate.leaks->between[i] + '/'); at < place) {
                place = at;
                set = i;
            }
        return set;
    }

    void check_leaks() {
        const io::GateRules::Leaks& rule = *policy_.gate.leaks;
        std::string names;
        for (const std::string& name : rule.between) names += (names.empty() ? "" : ", ") + name;
        GateResult& result = add("no leaks between " + names);
        io::CsvRows quality = there_.open(ColumnFile::quality);
        const std::size_t path = quality.column("path");
        static_cast<void>(quality.column("pixels_hash"));
        if (rule.distance) static_cast<void>(quality.column("dhash"));
        const HashColumns columns(quality);
        ImageHashes hashes;
        std::vector<std::size_t> sets;
        std::vector<std::uint64_t> images_of(rule.between.size());
        while (quality.next())
            if (const auto set = set_of(quality.text(path))) {
                sets.push_back(*set);
                ++images_of[*set];
                columns.add(quality, hashes);
            }
        for (std::size_t i = 0; i < rule.between.size(); ++i)
            if (images_of[i] == 0)
                throw IoError(quality_path() + ": no image is below a directory '" + rule.between[i] +
                              "', which the policy names under 'leaks'");
        if (!rule.distance) hashes.similar.clear();
        const std::vector<std::uint32_t> firsts =
            group_duplicates(hashes.pixels, hashes.similar, static_cast<int>(rule.distance.value_or(0)));
        // Leaks: images of a group outside the set of its first image.
        std::vector<std::pair<std::uint64_t, std::uint64_t>> leaks;
        for (std::uint64_t i = 0; i < firsts.size(); ++i)
            if (sets[i] != sets[firsts[i]]) leaks.emplace_back(i, firsts[i]);
        result.count = leaks.size();
        if (leaks.empty()) return;
        result.broken = "leaks between " + names + ": " + counted(leaks.size(), "image");
        name_leaks(leaks, result);
    }

    void name_leaks(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& leaks, GateResult& result) const {
        std::map<std::uint64_t, std::string> paths;
        for (std::size_t i = 0; i < std::min(leaks.size(), GateResult::most_items); ++i) {
            paths[leaks[i].first];
            paths[leaks[i].second];
        }
        io::CsvRows quality = there_.open(ColumnFile::quality);
        const std::size_t path = quality.column("path");
        std::uint64_t image = 0;
        while (quality.next()) {
            if (!set_of(quality.text(path))) continue;
            if (const auto found = paths.find(image++); found != paths.end()) found->second = quality.text(path);
        }
        for (std::size_t i = 0; i < std::min(leaks.size(), GateResult::most_items); ++i) {
            const std::string &leaked = paths[leaks[i].first], &first = paths[leaks[i].second];
            result.items.push_back({leaked, "= " + first, "the same picture as " + first});
        }
    }

    std::string quality_path() const { return there_.path_of(ColumnFile::quality); }

    GateResult& add(std::string rule) {
        results_.emplace_back().rule = std::move(rule);
        return results_.back();
    }

    const io::Policy& policy_;
    const ResultsThere& there_;
    std::vector<GateResult> results_;
};

void write_junit(const GateOptions& options, const std::vector<GateResult>& results, Console& console) {
    output([&] {
        OutputDirectory(".", options.force, console).reserve_elsewhere(options.junit, {"<?xml "});
        make_directories(options.junit.parent_path());
        io::write_file(options.junit, junit_xml(options.directories.front(), results));
    });
}

int check(const GateOptions& options, Console& console) {
    const io::Policy policy = options.policy.empty() ? io::first_policy() : io::read_policy(options.policy);
    if (options.print_policy) {
        console.print(io::policy_json(policy));
        return console.failed() ? output_failed : all_done;
    }
    if (policy.gate.size() == 0) throw IoError(options.policy + ": has no rules under 'gate', so every set would pass");
    const ResultsThere there(options.directories.front());
    const std::vector<GateResult> results = Gate(policy, there).check();
    if (!options.junit.empty()) write_junit(options, results, console);
    const auto broken = static_cast<std::uint64_t>(
        std::count_if(results.begin(), results.end(), [](const GateResult& result) { return !!result.broken; }));
    for (const GateResult& result : results)
        if (result.broken) console.print("broken  " + printable(result.line()) + '\n');
    if (options.github) console.print_rows(github_annotations(results));
    if (options.notes)
        console.print("gate  " +
                      (broken == 0 ? counted(results.size(), "rule") + " kept\n"
                                   : std::to_string(broken) + " of " + counted(results.size(), "rule") + " broken\n"));
    if (console.failed()) return output_failed;
    return broken == 0 ? all_done : policy_broken;
}

}  // namespace

int gate(const GateOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] { return check(options, console); });
}

}  // namespace gpuhist::app
