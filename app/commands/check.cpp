#include "commands/check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "cli/console.hpp"
#include "cli/layout.hpp"
#include "cli/table.hpp"
#include "commands/measured_sets.hpp"
#include "commands/output_failure.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/constants.hpp"
#include "gpuhist/io/report.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {
namespace {

constexpr double standard_errors = 3;
constexpr double smallest_tolerance = 1e-9;  ///< for rounding, where numbers are written in full

/// Sums over the images of a channel. Numbers are fractions of white.
class Sums {
  public:
    void add(double samples, double mean, double std) {
        ++images_;
        samples_ += samples;
        weighted_ += samples * mean;
        squares_ += samples * (std * std + mean * mean);
        for (auto& [of, value] : {std::pair(&means_, mean), {&stds_, std}}) {
            (*of)[0] += value;
            (*of)[1] += value * value;
        }
    }
    Sums& operator+=(const Sums& more) {
        images_ += more.images_;
        samples_ += more.samples_;
        weighted_ += more.weighted_;
        squares_ += more.squares_;
        for (std::size_t i = 0; i < 2; ++i) {
            means_[i] += more.means_[i];
            stds_[i] += more.stds_[i];
        }
        return *this;
    }
    std::uint64_t images() const { return images_; }
    double mean() const { return weighted_ / samples_; }
    double std() const { return std::sqrt(std::max(0.0, squares_ / samples_ - mean() * mean())); }
    double mean_of_stds() const { return stds_[0] / static_cast<double>(images_); }
    /// Standard errors: the std of the images' numbers over the root of their number; 0 for a single image.
    double error_of_mean() const { return error_of(means_); }
    double error_of_std() const { return error_of(stds_); }

  private:
    double error_of(const std::array<double, 2>& sums) const {
        const auto n = static_cast<double>(images_);
        if (images_ < 2) return 0;
        return std::sqrt(std::max(0.0, (sums[1] - sums[0] * sums[0] / n) / (n - 1)) / n);
    }
    std::uint64_t images_ = 0;
    double samples_ = 0, weighted_ = 0, squares_ = 0;
    std::array<double, 2> means_{}, stds_{};
};

/// Numbers of the channels of a set.
struct SetFacts {
    std::map<std::string, Sums> channels;
    std::vector<std::string> order;  ///< of their first rows
    std::uint64_t images = 0;
};

SetFacts facts_of(const ResultsThere& results) {
    io::CsvRows rows = results.open(ColumnFile::stats);
    const std::size_t path = rows.column("path"), channel = rows.column("channel"), valid = rows.column("valid"),
                      mean = rows.column("mean"), std = rows.column("std"), white = rows.column("white");
    SetFacts facts;
    std::string last;
    while (rows.next()) {
        if (rows.text(path) != last || facts.images == 0) {
            ++facts.images;
            last = rows.text(path);
        }
        const auto samples = rows.number(valid), average = rows.number(mean), spread = rows.number(std),
                   of = rows.number(white);
        if (!samples || !average || !spread || !of) continue;
        const std::string name(rows.text(channel));
        const auto [place, fresh] = facts.channels.try_emplace(name);
        if (fresh) facts.order.push_back(name);
        place->second.add(*samples, *average / *of, *spread / *of);
    }
    return facts;
}

/// Names and numbers of the channels that constants are for.
using NamedSums = std::vector<std::pair<std::string, Sums>>;

NamedSums channels_for(const SetFacts& facts, std::size_t count) {
    NamedSums found;
    const auto find = [&](const std::string& name) {
        const auto channel = facts.channels.find(name);
        return channel == facts.channels.end() ? std::nullopt : std::optional(channel->second);
    };
    const auto gray = find("gray"), red = find("red");
    if (count == 3 && (red || gray)) {  // gray images are treated as R = G = B
        for (const char* name : {"red", "green", "blue"}) {
            Sums sums = find(name).value_or(Sums());
            if (gray) sums += *gray;
            found.emplace_back(name, sums);
        }
        return found;
    }
    if (count == 1 && red) return {{"all", *find("all")}};
    for (const std::string& name : facts.order)
        if (name != "luma" && name != "all" && (count != 1 || name != "alpha")) found.emplace_back(name, *find(name));
    return found;
}

/// Constants that many people use, of other sets.
struct KnownSet {
    const char* name;
    std::vector<double> mean, std;
};
const std::vector<KnownSet>& known_sets() {
    static const std::vector<KnownSet> sets{
        {"ImageNet", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
        {"CLIP", {0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}},
        {"CIFAR-10", {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
        {"CIFAR-10", {0.4914, 0.4822, 0.4465}, {0.2023, 0.1994, 0.2010}},
        {"CIFAR-100", {0.5071, 0.4867, 0.4408}, {0.2675, 0.2565, 0.2761}},
        {"MNIST", {0.1307}, {0.3081}},
        {"no set: the scale from -1 to 1", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
        {"no set: the scale from -1 to 1", {0.5}, {0.5}}};
    return sets;
}

std::string shown(double value) {
    return io::formatted("%.5g", value);
}

class Checker {
  public:
    Checker(const io::Constants& constants, const SetFacts& facts, NamedSums channels)
        : facts_(facts), channels_(std::move(channels)) {
        for (std::size_t i = 0; i < channels_.size(); ++i) {
            mean_.push_back(constants.mean[i]);
            std_.push_back(constants.std[i]);
        }
    }

    /// What is wrong, in words; nothing if the constants are right.
    std::optional<std::string> fault() {
        if (fits({}, 1)) return std::nullopt;
        if (fits({}, 255)) return "on the scale from 0 to 255: divide them by 255";
        if (auto order = swapped_order(1)) return "channels are swapped: they are for " + *order;
        if (auto order = swapped_order(255))
            return "channels are swapped, they are for " + *order + ", on the scale from 0 to 255";
        for (const KnownSet& known : known_sets())
            if (are(known)) return std::string("the constants are from ") + known.name + far_off();
        if (equal_lists()) return "std equals mean" + far_off();
        if (are_of_luma()) return "the constants are from luma, not from the colors";
        for (const double scale : {1.0, 255.0}) {
            if (!means_fit({}, scale)) continue;
            const std::string also = scale == 1 ? "" : ", on the scale from 0 to 255";
            if (stds_are_means_of_stds(scale))
                return "std is the mean of the images' stds, not the std of all pixels" + also;
            if (stds_are_smaller(scale))
                return "mean is right, but std is smaller: perhaps of a resized or smoothed set" + also;
            return "mean is right, but std is not" + also + far_off();
        }
        return "they are of another set" + far_off();
    }

    /// Lines with the constants and the numbers of the set.
    std::string table() const {
        std::vector<std::vector<std::string>> lines{{"channel", "mean", "of the set", "std", "of the set"}};
        for (std::size_t i = 0; i < channels_.size(); ++i) {
            const Sums& sums = channels_[i].second;
            const auto with_error = [](double value, double error) {
                return shown(value) + (error > 0 ? " ± " + shown(error) : "");
            };
            lines.push_back({printable(channels_[i].first), shown(mean_[i].value),
                             with_error(sums.mean(), sums.error_of_mean()), shown(std_[i].value),
                             with_error(sums.std(), sums.error_of_std())});
        }
        return aligned(lines);
    }

  private:
    using Order = std::vector<std::size_t>;

    static bool near(const io::Constant& constant, double scale, double value, double error) {
        const double tolerance = std::max({standard_errors * error, constant.half_digit / scale, smallest_tolerance});
        return std::abs(constant.value / scale - value) <= tolerance * (1 + 1e-12);
    }
    const Sums& sums_at(const Order& order, std::size_t i) const {
        return channels_[order.empty() ? i : order[i]].second;
    }
    bool means_fit(const Order& order, double scale) const {
        for (std::size_t i = 0; i < mean_.size(); ++i) {
            const Sums& sums = sums_at(order, i);
            if (!near(mean_[i], scale, sums.mean(), sums.error_of_mean())) return false;
        }
        return true;
    }
    bool fits(const Order& order, double scale) const {
        for (std::size_t i = 0; i < std_.size(); ++i) {
            const Sums& sums = sums_at(order, i);
            if (!near(std_[i], scale, sums.std(), sums.error_of_std())) return false;
        }
        return means_fit(order, scale);
    }
    std::optional<std::string> swapped_order(double scale) const {
        if (channels_.size() != 3) return std::nullopt;
        Order order{2, 1, 0};  // the usual one first
        const auto words = [&]() -> std::optional<std::string> {
            if (!fits(order, scale)) return std::nullopt;
            return channels_[order[0]].first + ", " + channels_[order[1]].first + ", " + channels_[order[2]].first;
        };
        if (auto found = words()) return found;
        order = {0, 1, 2};
        while (std::next_permutation(order.begin(), order.end()))
            if (auto found = words()) return found;
        return std::nullopt;
    }
    bool are(const KnownSet& known) const {
        if (known.mean.size() != mean_.size()) return false;
        for (std::size_t i = 0; i < mean_.size(); ++i)
            if (std::abs(mean_[i].value - known.mean[i]) > std::max(mean_[i].half_digit, smallest_tolerance) ||
                std::abs(std_[i].value - known.std[i]) > std::max(std_[i].half_digit, smallest_tolerance))
                return false;
        return true;
    }
    bool equal_lists() const {
        for (std::size_t i = 0; i < mean_.size(); ++i)
            if (mean_[i].value != std_[i].value) return false;
        return true;
    }
    bool are_of_luma() const {
        const auto luma = facts_.channels.find("luma");
        if (luma == facts_.channels.end()) return false;
        const Sums& sums = luma->second;
        for (const double scale : {1.0, 255.0}) {
            bool all = true;
            for (std::size_t i = 0; i < mean_.size(); ++i)
                all = all && near(mean_[i], scale, sums.mean(), sums.error_of_mean()) &&
                      near(std_[i], scale, sums.std(), sums.error_of_std()) && mean_[i].value == mean_[0].value;
            if (all) return true;
        }
        return false;
    }
    bool stds_are_means_of_stds(double scale) const {
        for (std::size_t i = 0; i < std_.size(); ++i) {
            const Sums& sums = channels_[i].second;
            if (sums.images() < 2 || !near(std_[i], scale, sums.mean_of_stds(), sums.error_of_std())) return false;
        }
        return true;
    }
    /// Tells whether all stds are smaller, by about the same factor.
    bool stds_are_smaller(double scale) const {
        double lowest = 1, highest = 0;
        for (std::size_t i = 0; i < std_.size(); ++i) {
            const double ratio = std_[i].value / scale / channels_[i].second.std();
            lowest = std::min(lowest, ratio);
            highest = std::max(highest, ratio);
        }
        return highest < 1 && lowest > 0.5 && lowest > 0.9 * highest;
    }
    /// How far off they are, at most.
    std::string far_off() const {
        double most = 0, errors = 0;
        std::string channel;
        for (std::size_t i = 0; i < mean_.size(); ++i) {
            const Sums& sums = channels_[i].second;
            const double off = mean_[i].value - sums.mean();
            if (!channel.empty() && std::abs(off) <= std::abs(most)) continue;
            most = off;
            errors = sums.error_of_mean() > 0 ? std::abs(off) / sums.error_of_mean() : 0;
            channel = channels_[i].first;
        }
        std::array<char, 160> text{};
        std::snprintf(text.data(), text.size(), ": the mean of %s is off by %+.4g", channel.c_str(), most);
        return text.data() + (errors > 0 ? ", " + shown(errors) + " standard errors" : "");
    }

    const SetFacts& facts_;
    const NamedSums channels_;
    std::vector<io::Constant> mean_, std_;
};

int check(const CheckOptions& options, Console& console) {
    const std::string &config = options.inputs[0], &name = options.inputs[1];
    const io::Constants constants = io::read_constants(config);
    MeasuredSets sets({options.engine, false, false});
    const SetFacts facts = facts_of(sets.find_results(name));
    NamedSums channels = channels_for(facts, constants.mean.size());
    if (channels.size() != constants.mean.size())
        throw IoError(config + ": has constants for " +
                      counted(static_cast<std::uint64_t>(constants.mean.size()), "channel") + ", but the images of " +
                      name + " have " + std::to_string(channels.size()));
    for (const auto& [channel, sums] : channels)
        if (sums.images() == 0) throw IoError(name + ": channel " + channel + " has no valid samples");
    Checker checker(constants, facts, std::move(channels));
    const auto fault = checker.fault();
    if (options.notes) console.print(checker.table());
    if (fault)
        console.print("wrong  " + printable(config) + ": " + printable(*fault) + '\n');
    else if (options.notes)
        console.print("right  " + printable(config) + ": these are the constants of " + printable(name) + " (" +
                      counted(facts.images, "image") + ")\n");
    if (console.failed()) return output_failed;
    return fault ? policy_broken : sets.exit_code();
}

}  // namespace

int check_constants(const CheckOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] { return check(options, console); });
}

}  // namespace gpuhist::app
