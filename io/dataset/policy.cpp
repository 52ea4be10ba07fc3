#include "gpuhist/io/policy.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "dataset/json.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/duplicates.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/suggestion.hpp"
#include "gpuhist/measures.hpp"

namespace gpuhist::io {
namespace {

using Names = std::vector<std::string>;

/// Numbers of a measure over the images of a set: columns of dataset.quality.csv, without `measure_`.
const Names numbers_of_measures{"mean", "min", "max"};

constexpr std::uint64_t most_errors = std::uint64_t{1} << 53;

std::string quoted(const std::string& word) {
    return "'" + word + "'";
}

/// Parses JSON in which no object has a key twice: one of the two values would be ignored.
ReadJson parse_once(std::string_view json, const std::string& name) {
    std::vector<std::set<std::string>> keys;
    const auto look = [&](int, ReadJson::parse_event_t event, ReadJson& parsed) {
        if (event == ReadJson::parse_event_t::object_start) keys.emplace_back();
        if (event == ReadJson::parse_event_t::object_end) keys.pop_back();
        if (event == ReadJson::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
            throw IoError(name + ": " + quoted(parsed.get<std::string>()) + " is given twice");
        return true;
    };
    static_cast<void>(JsonReader::parse(json, name));  // refuses other text
    return ReadJson::parse(json.begin(), json.end(), look);
}

/// Refuses members of an object that have other names than these.
void check_keys(const JsonReader& object, const Names& known) {
    object.each([&](const std::string& key, const JsonReader&) {
        if (std::find(known.begin(), known.end(), key) == known.end())
            object.refuse("unknown key " + quoted(key) + suggestion(key, known));
    });
}

double number_within(const JsonReader& value, double least, double most) {
    const double number = value.number();
    if (number < least || number > most)
        value.refuse(shortest(number) + " is not a number from " + shortest(least) + " to " + shortest(most));
    return number;
}

Names flag_names() {
    Names names;
    for (const FlagTraits& traits : all_flags) names.emplace_back(traits.name);
    return names;
}

void read_threshold(const JsonReader& value, const FlagTraits& traits, FlagThresholds& flags) {
    if (value.is_truth()) {
        if (!value.truth())
            flags.set(traits.flag, std::nullopt);
        else if (traits.has_threshold())
            value.refuse("expected a threshold, or false");
        return;
    }
    if (!traits.has_threshold()) value.refuse("expected true or false: the flag has no threshold");
    if (!value.is_number()) value.refuse("expected a threshold, or false");
    const double threshold = number_within(value, traits.least, traits.most);
    if (traits.whole && threshold != std::floor(threshold)) value.refuse("expected a whole number");
    flags.set(traits.flag, threshold);
}

FlagThresholds read_flags(const JsonReader& object) {
    FlagThresholds flags;
    check_keys(object, flag_names());
    for (const FlagTraits& traits : all_flags)
        if (object.has(traits.name)) read_threshold(object[traits.name], traits, flags);
    return flags;
}

/// Columns of dataset.csv that are numbers of a channel. Percentiles may be any.
bool is_number_of_sets(const std::string& name, Names& known) {
    bool found = false;
    for (const Column& column : columns({}, ColumnFile::dataset)) {
        if (column.type == ColumnType::text) continue;
        known.push_back(column.name);
        found = found || column.name == name;
    }
    const bool percentile = name.size() > 1 && name[0] == 'p' && name.find_first_not_of("0123456789.", 1) == name.npos;
    return found || percentile;
}

std::optional<double> read_end(const JsonReader& value) {
    return value.is_null() ? std::nullopt : std::optional(value.number());
}

GateRules::Interval read_interval(const std::string& column, const std::string& of, const JsonReader& ends) {
    if (ends.size() != 2) ends.refuse("expected two ends, [LOWEST, HIGHEST]; null leaves one open");
    GateRules::Interval one{column, of, read_end(ends[std::size_t{0}]), read_end(ends[1])};
    if (!one.lowest && !one.highest) ends.refuse("one of the two ends must be a number");
    if (one.lowest && one.highest && *one.lowest > *one.highest) ends.refuse("expected the lower end first");
    return one;
}

std::vector<GateRules::Interval> read_dataset(const JsonReader& columns) {
    std::vector<GateRules::Interval> intervals;
    columns.each([&](const std::string& column, const JsonReader& channels) {
        Names known;
        if (!is_number_of_sets(column, known))
            columns.refuse("dataset.csv has no column of numbers " + quoted(column) + suggestion(column, known));
        channels.each([&](const std::string& channel, const JsonReader& ends) {
            intervals.push_back(read_interval(column, channel, ends));
        });
    });
    return intervals;
}

/// Columns of quality.csv that have a mean, a minimum and a maximum.
Names measured_numbers() {
    Names names;
    for (const MeasureColumn& column : measure_columns())
        if (column.type != ColumnType::text) names.emplace_back(column.name);
    return names;
}

std::vector<GateRules::Interval> read_quality(const JsonReader& columns) {
    const Names known = measured_numbers();
    std::vector<GateRules::Interval> intervals;
    columns.each([&](const std::string& column, const JsonReader& numbers) {
        if (std::find(known.begin(), known.end(), column) == known.end())
            columns.refuse("quality.csv has no column of numbers " + quoted(column) + suggestion(column, known));
        check_keys(numbers, numbers_of_measures);
        numbers.each([&](const std::string& number, const JsonReader& ends) {
            intervals.push_back(read_interval(column, number, ends));
        });
    });
    return intervals;
}

GateRules::Leaks read_leaks(const JsonReader& object, const FlagThresholds& flags) {
    check_keys(object, {"between", "distance"});
    GateRules::Leaks leaks;
    const JsonReader names = object["between"];
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string& name = names[i].text();
        if (name.empty() || name.front() == '/' || name.back() == '/')
            names[i].refuse("expected the name of a directory, without a slash at its beginning or end");
        if (std::find(leaks.between.begin(), leaks.between.end(), name) != leaks.between.end())
            names[i].refuse(quoted(name) + " is given twice");
        leaks.between.push_back(name);
    }
    if (leaks.between.size() < 2) names.refuse("expected the names of two or more directories");
    if (const auto& near = flags.of(Flag::near_duplicate)) leaks.distance = static_cast<std::uint64_t>(*near);
    if (!object.has("distance")) return leaks;
    const JsonReader distance = object["distance"];
    if (distance.is_truth() && !distance.truth())
        leaks.distance.reset();
    else if (distance.is_number())
        leaks.distance = distance.whole(most_distance);
    else
        distance.refuse("expected a distance from 0 to " + std::to_string(most_distance) +
                        ", or false for equal pixels only");
    return leaks;
}

GateRules read_gate(const JsonReader& object, const FlagThresholds& flags) {
    check_keys(object, {"errors", "flagged", "dataset", "quality", "leaks"});
    GateRules rules;
    if (object.has("errors")) {
        if (!object["errors"].is_number()) object["errors"].refuse("expected a whole number");
        rules.errors = object["errors"].whole(most_errors);
    }
    if (object.has("flagged")) {
        const JsonReader shares = object["flagged"];
        check_keys(shares, flag_names());
        for (const FlagTraits& traits : all_flags) {
            if (!shares.has(traits.name)) continue;
            const JsonReader share = shares[traits.name];
            rules.flagged[static_cast<std::size_t>(traits.flag)] = number_within(share, 0, 1);
            if (!flags.of(traits.flag)) share.refuse("this flag is switched off under 'flags'");
        }
    }
    if (object.has("dataset")) rules.dataset = read_dataset(object["dataset"]);
    if (object.has("quality")) rules.quality = read_quality(object["quality"]);
    if (object.has("leaks")) rules.leaks = read_leaks(object["leaks"], flags);
    return rules;
}

ComparisonRules read_compare(const JsonReader& columns) {
    Names known;
    for (const Column& column : gpuhist::columns({}, ColumnFile::comparison))
        if (column.type != ColumnType::text) known.push_back(column.name);
    ComparisonRules rules;
    columns.each([&](const std::string& column, const JsonReader& limits) {
        if (std::find(known.begin(), known.end(), column) == known.end())
            columns.refuse("comparison.csv has no column of numbers " + quoted(column) + suggestion(column, known));
        if (limits.is_list()) return rules.push_back(read_interval(column, "", limits));
        limits.each([&](const std::string& channel, const JsonReader& ends) {
            if (channel.empty()) limits.refuse("expected the name of a channel");
            rules.push_back(read_interval(column, channel, ends));
        });
    });
    return rules;
}

/// Number as people write it: whole ones without a point.
Json number_value(double value) {
    if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
    return value;
}

Json flags_value(const FlagThresholds& flags) {
    Json object = Json::object();
    for (const FlagTraits& traits : all_flags) {
        const auto& threshold = flags.of(traits.flag);
        object[traits.name] = !threshold ? Json(false) : traits.has_threshold() ? number_value(*threshold) : Json(true);
    }
    return object;
}

Json end_value(const std::optional<double>& end) {
    return end ? number_value(*end) : Json(nullptr);
}

Json gate_value(const GateRules& rules) {
    Json object = Json::object();
    if (rules.errors) object["errors"] = *rules.errors;
    for (const FlagTraits& traits : all_flags)
        if (const auto& share = rules.share_of(traits.flag)) object["flagged"][traits.name] = number_value(*share);
    const auto add = [&](const char* table, const std::vector<GateRules::Interval>& intervals) {
        for (const GateRules::Interval& one : intervals)
            object[table][one.column][one.of] = Json::array({end_value(one.lowest), end_value(one.highest)});
    };
    add("dataset", rules.dataset);
    add("quality", rules.quality);
    if (rules.leaks)
        object["leaks"] = {{"between", rules.leaks->between},
                           {"distance", rules.leaks->distance ? Json(*rules.leaks->distance) : Json(false)}};
    return object;
}

Json compare_value(const ComparisonRules& rules) {
    Json object = Json::object();
    for (const GateRules::Interval& one : rules) {
        const Json ends = Json::array({end_value(one.lowest), end_value(one.highest)});
        if (one.of.empty())
            object[one.column] = ends;
        else
            object[one.column][one.of] = ends;
    }
    return object;
}

}  // namespace

std::size_t GateRules::size() const {
    const auto shares = std::count_if(flagged.begin(), flagged.end(), [](const auto& share) { return !!share; });
    return static_cast<std::size_t>(shares) + dataset.size() + quality.size() + (errors ? 1 : 0) + (leaks ? 1 : 0);
}

Policy parse_policy(std::string_view json, const std::string& name) {
    const ReadJson root = parse_once(json, name);
    const JsonReader value(root, name);
    check_keys(value, {"flags", "gate", "compare"});
    Policy policy;
    if (value.has("flags")) policy.flags = read_flags(value["flags"]);
    if (value.has("gate")) policy.gate = read_gate(value["gate"], policy.flags);
    if (value.has("compare")) policy.compare = read_compare(value["compare"]);
    return policy;
}

Policy read_policy(const std::filesystem::path& path) {
    return parse_policy(read_text(path), path.string());
}

Policy first_policy() {
    Policy policy;
    policy.gate.errors = 0;
    for (const Flag flag : {Flag::nan, Flag::duplicate}) policy.gate.flagged[static_cast<std::size_t>(flag)] = 0;
    return policy;
}

ComparisonRules usual_comparison_rules() {
    return {{"psi", "", std::nullopt, 0.1}, {"smd", "", -0.1, 0.1}, {"std_ratio", "", 0.9, 1.1}};
}

std::string policy_json(const Policy& policy) {
    return Json{{"flags", flags_value(policy.flags)},
                {"gate", gate_value(policy.gate)},
                {"compare", compare_value(policy.compare)}}
               .dump(2) +
           '\n';
}

std::string flags_json(const FlagThresholds& flags) {
    return Json{{"flags", flags_value(flags)}}.dump();
}

}  // namespace gpuhist::io
