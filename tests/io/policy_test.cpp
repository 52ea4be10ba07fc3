// Policies that users write: what is read from them, and what is refused.
#include "gpuhist/io/policy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "gpuhist/error.hpp"

namespace gpuhist::io {
namespace {

std::string refusal(const std::string& json) {
    try {
        static_cast<void>(parse_policy(json, "p.json"));
    } catch (const IoError& error) {
        return error.what();
    }
    return "";
}

TEST(Policy, KeysThatAreLeftOutHaveTheirDefaults) {
    for (const char* json : {"{}", R"({"flags": {}, "gate": {}})"}) {
        const Policy policy = parse_policy(json, "p.json");
        EXPECT_EQ(policy.flags, FlagThresholds());
        EXPECT_EQ(policy.gate.size(), 0u);
    }
    // CleanVision 0.3.7: get_default_params of its ImagePropertyIssueManager, light and low_information as below.
    const FlagThresholds flags;
    EXPECT_EQ(flags.of(Flag::dark), 0.32);
    EXPECT_EQ(flags.of(Flag::light), 1 - 0.05);
    EXPECT_DOUBLE_EQ(*flags.of(Flag::low_information), 0.3 / 0.1);
    EXPECT_EQ(flags.of(Flag::odd_aspect_ratio), 0.35);
    EXPECT_EQ(flags.of(Flag::odd_size), 3.0);
}

TEST(Policy, ThresholdsAndRulesAreRead) {
    const Policy policy = parse_policy(R"({
      "flags": {"dark": 0.25, "blurry": false, "grayscale": true, "constant": false, "near_duplicate": 7, "nan": 12},
      "gate": {"errors": 3, "flagged": {"dark": 0.01, "near_duplicate": 1},
               "dataset": {"mean_01": {"luma": [0.2, 0.8], "red": [null, 1]}, "p99.5": {"gray": [10, null]}},
               "quality": {"sharpness_laplacian": {"mean": [100, null], "min": [20, 1e4]}, "gray": {"max": [null, 0]}},
               "leaks": {"between": ["train", "a/val"]}}})",
                                       "p.json");
    EXPECT_EQ(policy.flags.of(Flag::dark), 0.25);
    EXPECT_EQ(policy.flags.of(Flag::blurry), std::nullopt);
    EXPECT_EQ(policy.flags.of(Flag::grayscale), 0.0);
    EXPECT_EQ(policy.flags.of(Flag::constant), std::nullopt);
    EXPECT_EQ(policy.flags.of(Flag::near_duplicate), 7.0);
    EXPECT_EQ(policy.flags.of(Flag::nan), 12.0);
    EXPECT_EQ(policy.gate.errors, 3u);
    EXPECT_EQ(policy.gate.share_of(Flag::dark), 0.01);
    EXPECT_EQ(policy.gate.share_of(Flag::light), std::nullopt);
    ASSERT_EQ(policy.gate.dataset.size(), 3u);
    EXPECT_EQ(policy.gate.dataset[0].column, "mean_01");
    EXPECT_EQ(policy.gate.dataset[1].of, "red");
    EXPECT_EQ(policy.gate.dataset[1].lowest, std::nullopt);
    EXPECT_EQ(policy.gate.dataset[1].highest, 1.0);
    ASSERT_EQ(policy.gate.quality.size(), 3u);  // in the order of their names
    EXPECT_EQ(policy.gate.quality[0].column, "gray");
    EXPECT_EQ(policy.gate.quality[0].of, "max");
    EXPECT_EQ(policy.gate.quality[0].lowest, std::nullopt);
    EXPECT_EQ(policy.gate.quality[0].highest, 0.0);
    EXPECT_EQ(policy.gate.quality[1].column, "sharpness_laplacian");
    EXPECT_EQ(policy.gate.quality[1].of, "mean");
    EXPECT_EQ(policy.gate.quality[1].lowest, 100.0);
    EXPECT_EQ(policy.gate.quality[2].of, "min");
    EXPECT_EQ(policy.gate.quality[2].highest, 10000.0);
    ASSERT_TRUE(policy.gate.leaks);
    EXPECT_EQ(policy.gate.leaks->between[1], "a/val");
    EXPECT_EQ(policy.gate.leaks->distance, 7u);
    EXPECT_EQ(policy.gate.size(), 10u);
    const auto distance_of = [](const std::string& json) { return parse_policy(json, "p.json").gate.leaks->distance; };
    EXPECT_EQ(distance_of(R"({"gate": {"leaks": {"between": ["a", "b"], "distance": 2}}})"), 2u);
    EXPECT_EQ(distance_of(R"({"gate": {"leaks": {"between": ["a", "b"], "distance": false}}})"), std::nullopt);
    EXPECT_EQ(distance_of(R"({"flags": {"near_duplicate": false}, "gate": {"leaks": {"between": ["a", "b"]}}})"),
              std::nullopt);
}

TEST(Policy, WhatIsWrittenIsReadAgain) {
    Policy policy = first_policy();
    policy.flags.set(Flag::dark, 0.1);
    policy.flags.set(Flag::grayscale, std::nullopt);
    policy.flags.set(Flag::odd_size, std::nullopt);
    policy.gate.dataset = {{"mean", "red", 1.5, std::nullopt}};
    policy.gate.quality = {{"noise", "max", std::nullopt, 12}, {"noise", "mean", 0.5, 8.25}};
    policy.gate.leaks = GateRules::Leaks{{"train", "val"}, std::nullopt};
    const std::string text = policy_json(policy);
    EXPECT_EQ(policy_json(parse_policy(text, "p.json")), text);
    EXPECT_NE(text.find("\"light\": 0.95,\n"), text.npos) << text;
    EXPECT_NE(text.find("\"low_information\": 3,\n"), text.npos) << text;
    EXPECT_NE(text.find("\"quality\": {\n      \"noise\": {\n        \"max\": [\n          null,\n          12\n"),
              text.npos)
        << text;
    const std::string flags = flags_json(policy.flags);
    EXPECT_EQ(flags.find('\n'), flags.npos);
    EXPECT_EQ(parse_policy(flags, "p.json").flags, policy.flags);
    EXPECT_NE(flags, flags_json({}));
}

TEST(Policy, AnythingElseIsRefusedWithItsPlace) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "p.json: not JSON: parse error at line 1, column 1: "},
        {"{\"flags\": {\"dark\": NaN}}", "p.json: not JSON: parse error at line 1, column 20: "},
        {"{\"flags\": {\"dark\": 1e999}}", "p.json: not JSON: "},
        {"[]", "p.json: expected an object"},
        {"{\"flag\": {}}", "p.json: unknown key 'flag': did you mean flags?"},
        {"{\"flags\": 3}", "p.json/flags: expected an object"},
        {"{\"flags\": {\"drak\": 0.3}}", "p.json/flags: unknown key 'drak': did you mean dark?"},
        {"{\"flags\": {\"mean\": 0.3}}", "p.json/flags: unknown key 'mean'"},
        {"{\"flags\": {\"dark\": 0.3, \"dark\": 0.4}}", "p.json: 'dark' is given twice"},
        {"{\"flags\": {\"dark\": \"0.3\"}}", "p.json/flags/dark: expected a threshold, or false"},
        {"{\"flags\": {\"dark\": null}}", "p.json/flags/dark: expected a threshold, or false"},
        {"{\"flags\": {\"dark\": true}}", "p.json/flags/dark: expected a threshold, or false"},
        {"{\"flags\": {\"dark\": 1.5}}", "p.json/flags/dark: 1.5 is not a number from 0 to 1"},
        {"{\"flags\": {\"dark\": -1}}", "p.json/flags/dark: -1 is not a number from 0 to 1"},
        {"{\"flags\": {\"grayscale\": 1}}", "p.json/flags/grayscale: expected true or false: the flag has no"},
        {"{\"flags\": {\"near_duplicate\": 2.5}}", "p.json/flags/near_duplicate: expected a whole number"},
        {"{\"flags\": {\"near_duplicate\": 17}}", "p.json/flags/near_duplicate: 17 is not a number from 0 to 16"},
        {"{\"gate\": {\"error\": 0}}", "p.json/gate: unknown key 'error': did you mean errors?"},
        {"{\"gate\": {\"errors\": -1}}", "p.json/gate/errors: expected a whole number"},
        {"{\"gate\": {\"errors\": 0.5}}", "p.json/gate/errors: expected a whole number"},
        {"{\"gate\": {\"flagged\": {\"darc\": 0}}}", "p.json/gate/flagged: unknown key 'darc': did you mean dark?"},
        {"{\"gate\": {\"flagged\": {\"dark\": 5}}}", "p.json/gate/flagged/dark: 5 is not a number from 0 to 1"},
        {"{\"flags\": {\"dark\": false}, \"gate\": {\"flagged\": {\"dark\": 0}}}",
         "p.json/gate/flagged/dark: this flag is switched off under 'flags'"},
        {"{\"gate\": {\"dataset\": {\"maen\": {\"red\": [0, 1]}}}}",
         "p.json/gate/dataset: dataset.csv has no column of numbers 'maen': did you mean mean?"},
        {"{\"gate\": {\"dataset\": {\"depth\": {\"red\": [0, 1]}}}}",
         "p.json/gate/dataset: dataset.csv has no column of numbers 'depth'"},
        {"{\"gate\": {\"dataset\": {\"mean\": {\"red\": [1, 0]}}}}",
         "p.json/gate/dataset/mean/red: expected the lower end first"},
        {"{\"gate\": {\"dataset\": {\"mean\": {\"red\": [1]}}}}",
         "p.json/gate/dataset/mean/red: expected two ends, [LOWEST, HIGHEST]; null leaves one open"},
        {"{\"gate\": {\"dataset\": {\"mean\": {\"red\": [null, null]}}}}",
         "p.json/gate/dataset/mean/red: one of the two ends must be a number"},
        {"{\"gate\": {\"qualty\": {}}}", "p.json/gate: unknown key 'qualty': did you mean quality?"},
        {"{\"gate\": {\"quality\": [1]}}", "p.json/gate/quality: expected an object"},
        {"{\"gate\": {\"quality\": {\"noize\": {\"mean\": [0, 1]}}}}",
         "p.json/gate/quality: quality.csv has no column of numbers 'noize': did you mean noise?"},
        {"{\"gate\": {\"quality\": {\"dhash\": {\"mean\": [0, 1]}}}}",
         "p.json/gate/quality: quality.csv has no column of numbers 'dhash'"},
        {"{\"gate\": {\"quality\": {\"path\": {\"mean\": [0, 1]}}}}",
         "p.json/gate/quality: quality.csv has no column of numbers 'path'"},
        {"{\"gate\": {\"quality\": {\"noise\": [0, 1]}}}", "p.json/gate/quality/noise: expected an object"},
        {"{\"gate\": {\"quality\": {\"noise\": {\"maen\": [0, 1]}}}}",
         "p.json/gate/quality/noise: unknown key 'maen': did you mean mean?"},
        {"{\"gate\": {\"quality\": {\"noise\": {\"max\": 3}}}}", "p.json/gate/quality/noise/max: expected a"},
        {"{\"gate\": {\"quality\": {\"noise\": {\"max\": [null, null]}}}}",
         "p.json/gate/quality/noise/max: one of the two ends must be a number"},
        {"{\"gate\": {\"quality\": {\"noise\": {\"mean\": [0, 1], \"mean\": [0, 2]}}}}",
         "p.json: 'mean' is given twice"},
        {"{\"gate\": {\"leaks\": {}}}", "p.json/gate/leaks: 'between' is missing"},
        {"{\"gate\": {\"leaks\": {\"between\": [\"train\"]}}}",
         "p.json/gate/leaks/between: expected the names of two or more directories"},
        {"{\"gate\": {\"leaks\": {\"between\": [\"train\", \"train\"]}}}",
         "p.json/gate/leaks/between/1: 'train' is given twice"},
        {"{\"gate\": {\"leaks\": {\"between\": [\"train/\", \"val\"]}}}",
         "p.json/gate/leaks/between/0: expected the name of a directory"},
        {"{\"gate\": {\"leaks\": {\"between\": [\"a\", \"b\"], \"distance\": 99}}}",
         "p.json/gate/leaks/distance: 99 is more than 16"},
        {"{\"gate\": {\"leaks\": {\"between\": [\"a\", \"b\"], \"distance\": true}}}",
         "p.json/gate/leaks/distance: expected a distance from 0 to 16, or false for equal pixels only"},
    };
    for (const auto& [json, expected] : cases) {
        const std::string message = refusal(json);
        EXPECT_EQ(message.substr(0, std::string(expected).size()), expected) << json;
    }
    EXPECT_THROW(static_cast<void>(read_policy("/nowhere/p.json")), IoError);
}

}  // namespace
}  // namespace gpuhist::io
