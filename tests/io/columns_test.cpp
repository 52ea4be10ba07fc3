// The table of columns, and that every file is made from it.
#include "gpuhist/columns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/shard.hpp"
#include "gpuhist/io/sink.hpp"

namespace {

using namespace gpuhist;
using Names = std::vector<std::string>;

Names names_of(const std::vector<Column>& list, bool of_channel_only = false) {
    Names names;
    for (const Column& column : list)
        if (column.of_channel || !of_channel_only) names.push_back(column.name);
    return names;
}

std::string joined(const Names& names, const char* between = ",") {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
    return text;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

Names keys(const nlohmann::ordered_json& object) {
    Names names;
    for (const auto& item : object.items()) names.push_back(item.key());
    return names;
}

Analysis analyze(const std::vector<std::uint8_t>& samples, int channels = 1) {
    const auto width = static_cast<std::int64_t>(samples.size()) / channels;
    return make_engine("cpu", {.threads = 1})->analyze(packed_view(samples.data(), width, 1, channels, Depth::u8));
}

TEST(Columns, AreToldInFull) {
    std::set<std::string> names;
    for (const Column& column : columns()) {
        EXPECT_TRUE(names.insert(column.name).second) << column.name << " is there twice";
        for (const std::string text : {column.unit, column.definition, column.source, column.images}) {
            EXPECT_FALSE(text.empty()) << column.name;
            EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '|'; }))
                << text;
        }
        EXPECT_EQ(column.definition[std::string(column.definition).size() - 1], '.') << column.name;
        EXPECT_NE(column.files, 0) << column.name;
    }
}

// Columns keep their places, for those who read by place: newer ones come after these.
TEST(Columns, KeepTheirPlaces) {
    const std::string numbers =
        "pixels,nan,inf,min,max,mean,std,std_sample,skewness,kurtosis,entropy,p01,p05,p25,median,p75,p95,p99,"
        "clipped_low,clipped_high,unique,effective_bits";
    const auto expect_first = [](ColumnFile file, const std::string& known) {
        EXPECT_EQ((joined(names_of(columns({}, file))) + ',').substr(0, known.size() + 1), known + ',');
    };
    expect_first(ColumnFile::stats, "path,width,height,depth,channel," + numbers + ",white,alpha,damage,pages");
    expect_first(ColumnFile::dataset, "group,depth,channel,images," + numbers + ",mean_01,std_01,white");
    expect_first(ColumnFile::regions, "path,region,x,y,width,height,area,depth,channel," + numbers);
    expect_first(ColumnFile::errors, "path,kind,message");
}

TEST(Columns, TablesAreToldApart) {
    std::set<std::string> names, all;
    for (const Column& column : columns()) all.insert(column.name);
    unsigned bits = 0;
    for (const TableTraits& traits : all_tables) {
        const auto bit = static_cast<unsigned>(traits.table);
        EXPECT_EQ(bits & bit, 0U) << traits.name;
        bits |= bit;
        EXPECT_TRUE(names.insert(traits.name).second) << traits.name;
        EXPECT_EQ(traits_of(traits.table).name, traits.name);
        bool of_channels = false;
        for (const Column& column : columns({}, traits.table)) {
            of_channels = of_channels || column.of_channel;
            EXPECT_TRUE(traits.subject == TableSubject::failure || all.count(column.name) == 1) << column.name;
        }
        EXPECT_EQ(traits.per_channel, of_channels) << traits.name;
    }
    EXPECT_EQ(all.count("kind"), 0U);
}

TEST(Columns, ShowEveryFieldOfStatistics) {
    const Names names = names_of(columns(Percentiles({12.5})));
    Statistics::for_each_field([&](const std::string& field, auto) {
        const std::string name = field == "percentiles"            ? "p12.5"
                                 : field == "weighted_percentiles" ? "wp12.5"
                                 : field == "name"                 ? "channel"
                                                                   : field;
        EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    });
}

TEST(Columns, OfPercentilesFollowTheList) {
    const Percentiles list({99.9, 50, 0.5});
    const std::string names = joined(names_of(columns(list)));
    EXPECT_NE(names.find("entropy,p99.9,median,p0.5,clipped_low"), names.npos) << names;
    EXPECT_EQ(names.find("p01"), names.npos);
    EXPECT_EQ(percentile_name(500'000), "p0.5");
    EXPECT_EQ(percentile_name(50'000'000), "median");
    // Ten samples 0 to 9: index q (n - 1), interpolated.
    const auto rows = statistics(analyze({3, 1, 0, 2, 9, 8, 4, 5, 7, 6}), list);
    const io::ImageInfo image{"x", 10, 1, Depth::u8};
    const std::string line = io::stats_csv_rows(image, rows, list);
    EXPECT_NE(line.find(",8.991,4.5,0.045,0.1,0,10,"), line.npos) << line;
    const auto json = nlohmann::ordered_json::parse(io::stats_json(image, rows, list));
    EXPECT_EQ(json["channels"][0]["p99.9"], 8.991);
    EXPECT_EQ(json["channels"][0]["median"], 4.5);
    EXPECT_FALSE(json["channels"][0].contains("p01"));
    // A row that was made for another list has no values for this one.
    const auto others = statistics(analyze({1, 2}));
    for (const Column& column : columns(list)) {
        ColumnRow row;
        row.statistics = &others.front();
        if (column.name == "p0.5") {
            EXPECT_TRUE(std::holds_alternative<std::monostate>(column.value(row)));
        }
        if (column.name == "median") {
            EXPECT_EQ(std::get<double>(column.value(row)), 1.5);
        }
    }
}

TEST(Columns, MakeEveryFile) {
    const Percentiles list({10, 50});
    const Analysis analysis = analyze({1, 2, 3, 4, 5, 6}, 3);
    const auto rows = statistics(analysis, list);
    io::Group group{"a", {}}, whole;
    group.summary.add(analysis);
    whole.summary.add(analysis);
    EXPECT_EQ(first_line(io::stats_csv_header(list)), joined(names_of(columns(list, ColumnFile::stats))));
    const auto line = nlohmann::ordered_json::parse(io::stats_json({"x", 2, 1, Depth::u8}, rows, list));
    EXPECT_EQ(joined(keys(line)),
              "schema,path,width,height,depth,white,alpha,damage,pages,pixel_width,pixel_height,"
              "pixel_unit,luma,channels");
    EXPECT_EQ(keys(line["channels"][0]), names_of(columns(list, ColumnFile::stats), true));
    EXPECT_EQ(first_line(io::dataset_csv({whole, group}, list)), joined(names_of(columns(list, ColumnFile::dataset))));
    const auto set = nlohmann::ordered_json::parse(io::dataset_json({whole, group}, {}, list));
    EXPECT_EQ(joined(keys(set[0])), "schema,group,depth,white,luma,normalize,channels,histogram,columns");
    for (const Column& column : columns(list, ColumnFile::dataset)) {
        EXPECT_EQ(set[0]["columns"][column.name]["definition"], column.definition);
        EXPECT_EQ(set[0]["columns"][column.name]["unit"], column.unit);
    }
    EXPECT_FALSE(set[1].contains("columns"));
    EXPECT_EQ(keys(set[0]["channels"][0]), names_of(columns(list, ColumnFile::dataset), true));
    EXPECT_EQ(set[1]["group"], "a");
    EXPECT_EQ(set[1]["channels"][0]["median"], 4.5);  // red, last of B, G, R: 3 and 6
}

TEST(Columns, LumaIsNamedWhereItIs) {
    const std::string integers = "(9798 R + 19235 G + 3735 B + 16384) >> 15", floats = "0.299 R + 0.587 G + 0.114 B";
    EXPECT_EQ(luma_formula(Depth::u8), integers);
    EXPECT_EQ(luma_formula(Depth::u16), integers);
    EXPECT_EQ(luma_formula(Depth::f32), floats);
    const auto json = [](Depth depth, Channel channel) {
        Statistics row;
        row.channel = channel;
        return nlohmann::json::parse(io::stats_json({"x", 1, 1, depth}, {row}));
    };
    EXPECT_EQ(json(Depth::u16, Channel::luma)["luma"], integers);
    EXPECT_EQ(json(Depth::f32, Channel::luma)["luma"], floats);
    EXPECT_FALSE(json(Depth::f32, Channel::gray).contains("luma"));
    EXPECT_EQ(json(Depth::u8, Channel::gray)["schema"], 1);
}

TEST(Columns, OnTheUnitScaleAreOverWhite) {
    EXPECT_EQ(unit_scale(255.0, 255.0), 1.0);
    EXPECT_EQ(unit_scale(1023.75, 4095.0), 0.25);
    EXPECT_EQ(unit_scale(7.5, 1.0), 7.5);
    EXPECT_EQ(unit_scale(std::nullopt, 255.0), std::nullopt);
    EXPECT_EQ(unit_scale(3.0, std::nullopt), std::nullopt);
}

TEST(Columns, OfAnImageTellWhiteAlphaDamagePagesAndTheSizeOfPixels) {
    Analysis analysis = analyze({1, 2, 3, 4, 5, 6, 7, 8}, 4);
    analysis.white = 6;
    io::ImageInfo image{"x", 2, 1, Depth::u8};
    const auto last = [&] {
        const std::string lines = io::stats_csv_rows(image, statistics(analysis));
        return lines.substr(lines.size() - 55);
    };
    EXPECT_TRUE(last().ends_with(",255,,,1,2,0,0,,,,,,,,,12,4,,,\n"))
        << last();  // where nothing is said, the depth's highest
    image.white = 6;
    image.alpha = "premultiplied";
    EXPECT_TRUE(last().ends_with(",6,premultiplied,,1,2,0,0,,,,,,,,,12,4,,,\n")) << last();
    image.alpha = "straight";
    image.damage = "truncated";
    image.pages = 7;
    image.pixel_width = 0.25;
    image.pixel_height = 0.5;
    image.pixel_unit = "mm";
    EXPECT_TRUE(last().ends_with(",6,straight,truncated,7,2,0,0,,,,,,,,,12,4,0.25,0.5,mm\n")) << last();
    const auto json = nlohmann::json::parse(io::stats_json(image, statistics(analysis)));
    EXPECT_EQ(json["white"], 6);
    EXPECT_EQ(json["alpha"], "straight");
    EXPECT_EQ(json["damage"], "truncated");
    EXPECT_EQ(json["pages"], 7);
    EXPECT_EQ(json["pixel_width"], 0.25);
    EXPECT_EQ(json["pixel_height"], 0.5);
    EXPECT_EQ(json["pixel_unit"], "mm");
    EXPECT_EQ(json["channels"][0]["clipped_high"], 0.5);  // red, 3 and 7
    EXPECT_EQ(json["channels"][5]["clipped_high"], 0.5);  // alpha, 4 and 8
    image.alpha = image.damage = "";
    const auto none = nlohmann::json::parse(io::stats_json(image, statistics(analysis)));
    EXPECT_TRUE(none["alpha"].is_null() && none["damage"].is_null());
}

TEST(Sinks, GiveTheLinesOfTheirFormats) {
    const Percentiles list({50});
    const io::Table stats(ColumnFile::stats, list), regions(ColumnFile::regions, list), errors(ColumnFile::errors);
    const io::ImageResult image{3, {"a,b", 2, 1, Depth::u8}, statistics(analyze({1, 2}), list)};
    const io::RegionInfo part{"left", 0, 0, 1, 1, 1};
    const io::Failure failure{"bad", "decode", "why"};
    const io::Record whole = io::record_of(image), region = io::record_of(image, part, image.rows),
                     failed = io::record_of(4, failure);
    const auto csv = io::make_sink("csv", {stats, regions}), json = io::make_sink("json", {stats, regions, errors}),
               shard = io::make_shard_sink(list);
    EXPECT_EQ(csv->begin(), io::stats_csv_header(list));
    EXPECT_EQ(csv->append(csv->format(whole)), io::stats_csv_rows(image.info, image.rows, list));
    EXPECT_EQ(csv->format(region) + csv->format(failed) + csv->end(), "");
    EXPECT_EQ(json->begin() + json->append(json->format(whole)) + json->end(),
              io::stats_json(image.info, image.rows, list));
    EXPECT_EQ(json->format(failed), "{\"schema\":1,\"path\":\"bad\",\"kind\":\"decode\",\"message\":\"why\"}\n");
    const auto object = nlohmann::ordered_json::parse(json->format(region));
    EXPECT_EQ(object["region"], "left");
    EXPECT_EQ(keys(object["channels"][0]), names_of(regions.columns, true));
    EXPECT_EQ(shard->begin(), "index,file," + io::stats_csv_header(list));
    EXPECT_EQ(shard->append(shard->format(whole)), "3,stats," + csv->format(whole));
    EXPECT_EQ(shard->format(region), "3,regions," + io::make_sink("csv", {regions})->format(region));
    EXPECT_EQ(shard->format(failed), "4,errors,bad,decode,why\n");
    for (const std::string& format : io::sink_formats()) EXPECT_TRUE(io::make_sink(format, {stats})) << format;
    try {
        io::make_sink("xml", {stats});
        ADD_FAILURE();
    } catch (const InvalidArgument& error) {
        EXPECT_EQ(error.what(), "format 'xml' is not one of " + joined(io::sink_formats(), ", "));
    }
}

}  // namespace
