#include "commands/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "cli/console.hpp"
#include "cli/layout.hpp"
#include "cli/table.hpp"
#include "commands/gate_report.hpp"
#include "commands/measured_sets.hpp"
#include "commands/output_failure.hpp"
#include "gpuhist/compare.hpp"
#include "gpuhist/io/comparison.hpp"
#include "gpuhist/io/policy.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/sink.hpp"
#include "run/exit_code.hpp"
#include "run/output_directory.hpp"
#include "run/written.hpp"

namespace gpuhist::app {
namespace {

/// Bytes after which rows are written.
constexpr std::size_t many = std::size_t{1} << 18;
/// Memory for images that are compared with others, which are read again for each such lot.
constexpr std::uint64_t most_image_bytes = std::uint64_t{256} << 20;
constexpr std::size_t most_named = 10;
constexpr const char* plot_name = "comparison.svg";

// Limits of the words on the terminal: as those of usual_comparison_rules().
constexpr double least_shift = 0.1, least_widening = 1.1, least_other_shape = 0.1;

std::string rows_name() {
    return traits_of(ColumnFile::comparison).file_name();
}

/// What happened to a channel, in words.
std::string words_of(const ChannelComparison& channel) {
    if (channel.valid_a == 0 || channel.valid_b == 0) return "no valid samples to compare";
    if (channel.same()) return "same";
    std::string words;
    const auto add = [&](const std::string& more) { words += (words.empty() ? "" : ", ") + more; };
    if (channel.smd && std::abs(*channel.smd) >= least_shift)
        add("shifted by " + io::formatted("%+.4g", *channel.mean_difference) + (channel.of_white ? " of white" : ""));
    if (!channel.smd && *channel.mean_difference != 0)
        add("shifted by " + io::formatted("%+.4g", *channel.mean_difference));
    if (channel.std_ratio && *channel.std_ratio > least_widening)
        add("wider by " + io::formatted("%.3g", (*channel.std_ratio - 1) * 100) + " %");
    if (channel.std_ratio && *channel.std_ratio < 1 / least_widening)
        add("narrower by " + io::formatted("%.3g", (1 - *channel.std_ratio) * 100) + " %");
    if (!channel.std_ratio && *channel.std_b > 0) add("wider: std 0 became " + io::formatted("%.4g", *channel.std_b));
    if (words.empty()) add(*channel.psi >= least_other_shape ? "same mean and width, other shape" : "nearly the same");
    return words;
}

std::string numbers_of(const ChannelComparison& channel) {
    std::string text;
    for (const auto& [name, value] : {std::pair("smd", channel.smd),
                                      {"wasserstein", channel.wasserstein},
                                      {"ks", channel.ks},
                                      {"psi", channel.psi}})
        if (value) text += (text.empty() ? "" : "  ") + std::string(name) + ' ' + io::formatted("%.4g", *value);
    return text;
}

/// Lines about comparisons, aligned.
class Lines {
  public:
    void add(const std::string& group, const Comparison& found) {
        for (const ChannelComparison& channel : found.channels) {
            const std::string depth = channel.depth_a == channel.depth_b
                                          ? to_string(channel.depth_a)
                                          : std::string(to_string(channel.depth_a)) + "-" + to_string(channel.depth_b);
            lines_.push_back({printable((group.empty() ? "" : group + "  ") + depth), printable(channel_name(channel)),
                              words_of(channel), numbers_of(channel)});
        }
    }
    std::string text() const { return aligned(lines_); }

  private:
    std::vector<std::vector<std::string>> lines_;
};

/// Value in a column of a comparison.
std::optional<double> number_in(const Column& column, const ChannelComparison& channel) {
    ColumnRow row;
    row.comparison = &channel;
    const ColumnValue value = column.value(row);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* whole = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*whole);
    return std::nullopt;
}

Column column_named(const std::string& name) {
    for (Column& column : columns({}, ColumnFile::comparison))
        if (column.name == name) return column;
    throw InvalidArgument("comparison.csv has no column '" + name + "'");
}

/// Checker of a policy: a result per rule.
class Limits {
  public:
    explicit Limits(const io::ComparisonRules& rules) {
        for (const io::GateRules::Interval& rule : rules) {
            const std::string of = rule.of.empty() ? "" : " of " + rule.of;
            limits_.push_back({rule, column_named(rule.column), {}, false});
            limits_.back().result.rule = rule.column + of + ": " + range_text(rule);
        }
    }
    bool any() const { return !limits_.empty(); }
    /// Checks the numbers of a comparison. `what` names it.
    void check(const std::string& what, const Comparison& found) {
        for (Limit& limit : limits_)
            for (const ChannelComparison& channel : found.channels) {
                if (!limit.rule.of.empty() && limit.rule.of != channel_name(channel)) continue;
                limit.seen = true;
                const auto value = number_in(limit.column, channel);
                if (!value || limit.rule.contains(*value)) continue;
                const std::string name = (what.empty() ? "" : what + " ") + std::string(channel_name(channel));
                limit.result.add(name, shown(*value), "");
            }
    }
    /// Returns the lines of the broken rules.
    std::vector<std::string> broken() {
        std::vector<std::string> lines;
        for (Limit& limit : limits_) {
            GateResult& result = limit.result;
            if (!limit.seen)
                result.broken = result.rule + ": the sets have no such channel in common";
            else if (result.count > 0)
                result.broken = limit.rule.column + " is not " + range_text(limit.rule);
            if (result.broken) lines.push_back(result.line());
        }
        return lines;
    }
    std::size_t size() const { return limits_.size(); }

  private:
    struct Limit {
        io::GateRules::Interval rule;
        Column column;
        GateResult result;
        bool seen;
    };
    std::vector<Limit> limits_;
};

/// Writer of the rows into comparison.csv and, if another format is asked for, to standard output.
class Rows {
  public:
    using Take = std::function<void(const void*, std::size_t)>;

    Rows(const CompareOptions& options, Console& console, const Take& take) : console_(console), take_(take) {
        if (options.format != "table") printed_ = io::make_sink(options.format, {io::Table(ColumnFile::comparison)});
        rows_ = file_->begin();
        if (printed_) console_.print_rows(printed_->begin());
    }
    void add(const io::ComparedNames& names, const Comparison& found) {
        const io::Record record = io::record_of(names, found);
        rows_ += file_->append(file_->format(record));
        if (printed_) console_.print_rows(printed_->append(printed_->format(record)));
        if (rows_.size() > many) flush();
    }
    void end() {
        rows_ += file_->end();
        flush();
        if (printed_) console_.print_rows(printed_->end());
    }

  private:
    void flush() {
        take_(rows_.data(), rows_.size());
        rows_.clear();
    }
    Console& console_;
    const Take& take_;
    const std::unique_ptr<io::Sink> file_ = io::make_sink("csv", {io::Table(ColumnFile::comparison)});
    std::unique_ptr<io::Sink> printed_;
    std::string rows_;
};

class Comparer {
  public:
    Comparer(const CompareOptions& options, Console& console)
        : options_(options),
          console_(console),
          sets_({options.engine, options.by_directory, options.each}),
          limits_(options.policy.empty() ? io::ComparisonRules() : io::read_policy(options.policy).compare),
          directory_(options.output, options.force, console) {
        if (!options.policy.empty() && !limits_.any())
            throw IoError(options.policy + ": has no limits under 'compare', so all sets would pass");
    }

    int execute() {
        std::vector<std::string> names{rows_name()};
        if (!options_.each) names.emplace_back(plot_name);
        output([&] {
            directory_.read_lists();
            directory_.reserve(names);
        });
        for (const std::string& name : options_.sets) found_.push_back(sets_.find(name));
        if (const std::string options = differing_options(found_[0].counts.options, found_.back().counts.options);
            !options.empty())
            notes_.push_back(names_of_sets() + " were measured with different options: " + options);
        std::string text;
        stage_rows([&](Rows& rows) { text = options_.each ? compare_images(rows) : compare_sets(rows); });
        output([&] {
            if (plot_) {
                const std::string svg = io::draw_plot_svg(*plot_, {1200, 420, false, io::PlotTheme::light});
                directory_.stage(plot_name, [&](const auto& take) { take(svg.data(), svg.size()); });
            } else {
                directory_.remove(plot_name);
                names.resize(1);
            }
            directory_.commit();
        });
        return finish(text, names);
    }

  private:
    /// Stages comparison.csv. Failures of the comparison are not those of the output.
    template <class Fill>
    void stage_rows(const Fill& fill) {
        std::exception_ptr failure;
        try {
            output([&] {
                directory_.make();
                directory_.stage(rows_name(), [&](const auto& take) {
                    const Rows::Take write = [&](const void* data, std::size_t bytes) {
                        output([&] { take(data, bytes); });
                    };
                    Rows rows(options_, console_, write);
                    try {
                        fill(rows);
                    } catch (const OutputFailure&) {
                        throw;
                    } catch (...) {
                        failure = std::current_exception();
                        throw;
                    }
                    rows.end();
                });
            });
        } catch (...) {
            if (failure) std::rethrow_exception(failure);
            throw;
        }
    }

    /// Comparison of two sets, whose failure is that of the inputs.
    Comparison compared(const std::string& what, const ComparedSet& a, const ComparedSet& b,
                        ComparedChannels channels = ComparedChannels::every) const {
        try {
            return gpuhist::compare(a, b, channels);
        } catch (const InvalidArgument& error) {
            throw IoError(what + ": " + error.what());
        }
    }

    std::string names_of_sets() const { return found_[0].name + " and " + found_.back().name; }

    std::string compare_sets(Rows& rows) {
        const ComparedSet a(found_[0].whole()), b(found_[1].whole());
        const io::ComparedNames names{found_[0].name, found_[1].name, {}};
        const Comparison found = compared(names_of_sets(), a, b);
        if (found.channels.empty())
            throw IoError(names_of_sets() + ": have no channel in common: " + listed(found.only_a) + " and " +
                          listed(found.only_b));
        rows.add(names, found);
        limits_.check("", found);
        Lines lines;
        lines.add("", found);
        plot_ = io::comparison_plot(names, a, b, found);
        for (const auto& [only, name] : {std::pair(&found.only_a, names.a), {&found.only_b, names.b}})
            if (!only->empty()) notes_.push_back("only " + std::string(name) + " has " + listed(*only));
        if (options_.by_directory) compare_directories(rows, lines);
        return "compared  " + printable(names.a) + " (" + counted(found_[0].images(), "image") + ") and " +
               printable(names.b) + " (" + counted(found_[1].images(), "image") + ")\n" + lines.text();
    }

    void compare_directories(Rows& rows, Lines& lines) {
        std::vector<std::string> only_a, only_b;
        found_[0].each_directory([&](const io::Group& group) {
            const auto other = found_[1].find(group.name);
            if (!other) return only_a.push_back(group.name);
            const Comparison found = compared(group.name, group.summary, *other);
            rows.add({found_[0].name, found_[1].name, group.name}, found);
            limits_.check(group.name, found);
            lines.add(group.name, found);
        });
        found_[1].each_directory([&](const io::Group& group) {
            if (!found_[0].find(group.name)) only_b.push_back(group.name);
        });
        for (const auto& [only, set] : {std::pair(&only_a, 0), {&only_b, 1}})
            if (!only->empty())
                notes_.push_back("only " + found_[static_cast<std::size_t>(set)].name + " has " + listed(*only));
    }

    struct Pair {
        double distance;
        std::string a, b;
    };

    /// Compares two images, or an image with a set, and keeps what is near enough.
    void compare_pair(Rows& rows, std::string_view name_a, const ComparedSet& a, std::string_view name_b,
                      const ComparedSet& b) {
        const Comparison found =
            compared(std::string(name_a) + " and " + std::string(name_b), a, b, ComparedChannels::whole);
        Comparison kept;
        for (const ChannelComparison& channel : found.channels) {
            const auto distance = number_in(metric_, channel);
            if (!distance || (options_.at_most && *distance > *options_.at_most)) continue;
            keep(*distance, name_a, name_b);
            kept.channels.push_back(channel);
        }
        if (kept.channels.empty()) return;
        ++kept_;
        rows.add({name_a, name_b, {}}, kept);
        limits_.check(std::string(name_b), kept);
    }

    /// Keeps the pairs to be named: of a reference the farthest, else the nearest.
    void keep(double distance, std::string_view a, std::string_view b) {
        const auto before = [this](const Pair& one, const Pair& other) {
            return to_reference() ? one.distance > other.distance : one.distance < other.distance;
        };
        const Pair pair{distance, std::string(a), std::string(b)};
        if (named_.size() == most_named && !before(pair, named_.back())) return;
        named_.insert(std::upper_bound(named_.begin(), named_.end(), pair, before), pair);
        if (named_.size() > most_named) named_.pop_back();
    }
    bool to_reference() const { return found_.size() == 2; }

    std::string compare_images(Rows& rows) {
        std::uint64_t images = 0;
        if (to_reference()) {
            const ComparedSet reference(found_[0].whole());
            found_[1].each_image([&](std::string_view path, const Summary& image) {
                ++images;
                compare_pair(rows, found_[0].name, reference, path, image);
            });
        } else {
            images = compare_each_other(rows);
        }
        std::string text = "compared  " + counted(images, "image") +
                           (to_reference() ? " with " + printable(found_[0].name) : " with each other") + ": " +
                           counted(kept_, "pair");
        if (options_.at_most)
            text += " at most " + io::formatted("%.6g", *options_.at_most) + " apart by " + options_.metric;
        text += '\n';
        for (const Pair& pair : named_)
            text += std::string(to_reference() ? "farthest  " : "nearest  ") +
                    (to_reference() ? "" : printable(pair.a) + "  ") + printable(pair.b) + "  " + options_.metric +
                    ' ' + io::formatted("%.4g", pair.distance) + '\n';
        return text;
    }

    /// Compares lots of images, as many as memory holds, with all that follow. Returns the number of images.
    std::uint64_t compare_each_other(Rows& rows) {
        std::uint64_t begin = 0, all = 0;
        do {
            std::vector<std::pair<std::string, ComparedSet>> lot;
            std::uint64_t bytes = 0, place = 0;
            bool full = false;
            found_[0].each_image([&](std::string_view path, const Summary& image) {
                if (place++ < begin) return;
                const ComparedSet own(image);
                for (const auto& [other, counts] : lot) compare_pair(rows, other, counts, path, own);
                full = full || bytes > most_image_bytes;
                if (full) return;
                bytes += image.memory_bytes() + path.size();
                lot.emplace_back(path, own);
            });
            all = place;
            begin += lot.size();
        } while (begin < all);
        return all;
    }

    static std::string listed(const std::vector<std::string>& names) {
        std::string text;
        for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i) text += (i == 0 ? "" : ", ") + names[i];
        if (names.size() > most_named) text += " and " + std::to_string(names.size() - most_named) + " more";
        return text.empty() ? "no channel" : text;
    }

    int finish(const std::string& text, const std::vector<std::string>& names) {
        for (const std::string& note : notes_) console_.note(note);
        const std::vector<std::string> broken = limits_.broken();
        if (options_.format == "table") {
            if (options_.notes) console_.print(text);
            for (const std::string& line : broken) console_.print("broken  " + printable(line) + '\n');
            if (options_.notes && limits_.any())
                console_.print("policy  " + (broken.empty() ? counted(limits_.size(), "limit") + " kept\n"
                                                            : std::to_string(broken.size()) + " of " +
                                                                  counted(limits_.size(), "limit") + " broken\n"));
            if (options_.notes) console_.print(written_text(options_.output, names));
        } else {
            for (const std::string& line : broken) console_.say("broken  " + line);
        }
        if (console_.failed()) return output_failed;
        return broken.empty() ? sets_.exit_code() : policy_broken;
    }

    const CompareOptions& options_;
    Console& console_;
    MeasuredSets sets_;
    Limits limits_;
    OutputDirectory directory_;
    const Column metric_ = column_named(options_.metric);
    std::vector<MeasuredSet> found_;
    std::optional<io::Plot> plot_;
    std::vector<std::string> notes_;
    std::vector<Pair> named_;
    std::uint64_t kept_ = 0;
};

int print_policy(const CompareOptions& options, Console& console) {
    console.print(io::policy_json(options.policy.empty() ? io::first_policy() : io::read_policy(options.policy)));
    return console.failed() ? output_failed : all_done;
}

}  // namespace

int compare(const CompareOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] {
        if (options.print_policy) return print_policy(options, console);
        return Comparer(options, console).execute();
    });
}

}  // namespace gpuhist::app
