// Files about a set of images: numbers, pictures, and those in which summaries and shards are kept.
//
// Environment: GPUHIST_GOLDEN, the folder of expected outputs.
#include "gpuhist/io/dataset.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/frequency_file.hpp"
#include "gpuhist/io/groups.hpp"
#include "gpuhist/io/report.hpp"
#include "support/damage.hpp"
#include "support/golden.hpp"
#include "support/summaries.hpp"
#include "support/temporary_directory.hpp"

namespace {

using namespace gpuhist;
using namespace gpuhist::io;
using test::add_counted, test::analyze, test::expect_golden, test::failure_of, test::read_text, test::small_pool,
    test::write_text;
namespace fs = std::filesystem;

/// Every depth, colors with and without alpha, floats counted in one range and in two.
std::vector<Group> mixed_groups() {
    Group cats{"cats", small_pool()}, dogs{"dogs, \"big\"", {}}, bytes{"\xff\n", {}};
    dogs.summary.add(analyze<std::uint16_t>({0, 65535, 4096, 7, 7, 7, 300, 301}, 4));
    dogs.summary.add(analyze<std::uint16_t>({513, 65535}));
    AnalysisRequest request;
    request.range = Range{-1, 1};
    request.bins = 4;
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
    add_counted(dogs.summary, {-0.5F, 0.25F, nan, infinite, 1e-30F}, request);
    add_counted(dogs.summary, {0.5F, -3.0F}, request);
    add_counted(bytes.summary, {1.5F, 2.5F, 2.5F, -infinite});
    add_counted(bytes.summary, {nan, nan});
    Group all;
    for (const Group* group : {&dogs, &cats, &bytes}) all.summary.merge(group->summary);
    return {dogs, all, bytes, cats};
}

// ---- numbers and pictures ---------------------------------------------------------------------------------------

TEST(Dataset, Golden) {
    expect_golden("dataset.csv", dataset_csv(mixed_groups()));
    HistogramOptions options;
    options.bins = 4;
    expect_golden("dataset.json", dataset_json(mixed_groups(), options));
}

TEST(Dataset, NumbersAreThoseOfAllPixelsTogether) {
    const auto json = nlohmann::json::parse(dataset_json({{"", small_pool()}}));
    ASSERT_EQ(json.size(), 1U);
    const auto& u8 = json[0];
    EXPECT_EQ(u8["group"], "");
    EXPECT_EQ(u8["depth"], "u8");
    const auto& gray = u8["channels"][0];
    EXPECT_EQ(gray["channel"], "gray");
    EXPECT_EQ(gray["images"], 2);
    EXPECT_EQ(gray["pixels"], 6);
    EXPECT_EQ(gray["mean"], 132.5);  // 0 255 10 20 255 255
    EXPECT_EQ(gray["mean_01"], 132.5 / 255);
    EXPECT_EQ(gray["median"], 137.5);
    EXPECT_EQ(gray["unique"], 4);
    EXPECT_EQ(u8["normalize_gray"]["mean"], nlohmann::json::array({132.5 / 255}));
    // Gray images are colors of which R = G = B: 6 samples of 795 and 255² + 100 + 400 + 255² + 255² in all; beside
    // them two of red, green and blue each, of which the deviations are 2, 3 and 5.
    for (std::size_t color = 0; color < 3; ++color) {
        const double mean = std::array{3.0, 5.0, 8.0}[color], deviation = std::array{2.0, 3.0, 5.0}[color];
        const double sum = 795 + 2 * mean, squares = 3 * 255.0 * 255 + 500 + 2 * (mean * mean + deviation * deviation);
        EXPECT_DOUBLE_EQ(u8["normalize"]["mean"][color].get<double>(), sum / 8 / 255);
        EXPECT_DOUBLE_EQ(u8["normalize"]["std"][color].get<double>(),
                         std::sqrt(squares / 8 - sum / 8 * (sum / 8)) / 255);
    }
    const auto& counts = u8["histogram"]["channels"][0]["counts"];
    ASSERT_EQ(counts.size(), 256U);
    EXPECT_EQ(counts[255], 3);
    EXPECT_EQ(counts[20], 1);
    EXPECT_EQ(u8["histogram"]["range"], nlohmann::json::array({0, 256}));
}

/// Images of 12 bits and of 16.
Summary two_whites() {
    Summary pool;
    Analysis image = analyze<std::uint16_t>({0, 4095, 1, 2});
    image.white = 4095;
    pool.add(image);
    pool.add(analyze<std::uint16_t>({7, 65535}));
    return pool;
}

TEST(Dataset, OfOneWhiteRefersToIt) {
    Summary pool;
    Analysis image = analyze<std::uint16_t>({0, 4095, 5000, 2});
    image.white = 4095;
    pool.add(image);
    const auto u16 = nlohmann::json::parse(dataset_json({{"", pool}}))[0];
    EXPECT_EQ(u16["white"], 4095);
    EXPECT_EQ(u16["channels"][0]["clipped_high"], 0.5);
    EXPECT_EQ(u16["channels"][0]["mean_01"], 2274.25 / 4095);
    EXPECT_EQ(u16["normalize"]["mean"], nlohmann::json::array({2274.25 / 4095}));
    const std::string csv = dataset_csv({{"", pool}});
    EXPECT_TRUE(csv.ends_with(",4095,4,0,0,,,,,,,,,9097,0\n")) << csv;
    EXPECT_TRUE(dataset_notes(pool).empty());
}

TEST(Dataset, OfSeveralWhitesHasNoNumbersThatReferToOne) {
    const Summary pool = two_whites();
    const auto u16 = nlohmann::json::parse(dataset_json({{"", pool}}))[0];
    const auto& gray = u16["channels"][0];
    for (const char* column : {"mean_01", "std_01", "clipped_high"}) EXPECT_TRUE(gray.at(column).is_null()) << column;
    EXPECT_TRUE(u16.at("white").is_null());
    EXPECT_TRUE(u16.at("normalize").is_null());
    EXPECT_EQ(gray["max"], 65535);
    EXPECT_EQ(gray["clipped_low"], 1.0 / 6);
    const std::string csv = dataset_csv({{"", pool}});
    EXPECT_TRUE(csv.ends_with(",,,,6,0,0,,,,,,,,,69640,0\n")) << csv;
    ASSERT_EQ(dataset_notes(pool).size(), 1U);
    EXPECT_EQ(dataset_notes(pool)[0],
              "u16: images have different values of white: white, mean_01, std_01 and clipped_high are empty; give "
              "--white V");
}

TEST(Dataset, OfBandsHasTheirChannels) {
    Analysis bands = analyze<std::uint8_t>({1, 2, 3, 4, 5, 6, 7, 8}, 4), colors = bands;
    name_channels(bands, Samples::bands);
    name_channels(colors, Samples::color_bands);
    Summary pool;
    pool.add(bands);
    pool.add(colors);
    EXPECT_TRUE(parse_summary(summary_json(pool), "p") == pool);
    const auto u8 = nlohmann::json::parse(dataset_json({{"", pool}}))[0];
    std::string rows, counted;
    for (const auto& row : u8["channels"]) rows += row["channel"].get<std::string>() + row["images"].dump() + " ";
    for (const auto& column : u8["histogram"]["channels"]) counted += column["channel"].get<std::string>() + " ";
    EXPECT_EQ(rows, "red1 green1 blue1 luma1 c01 c11 c21 c31 extra11 all2 ");
    EXPECT_EQ(counted, "red green blue luma c0 c1 c2 c3 extra1 ");
    EXPECT_EQ(u8["normalize"]["mean"], nlohmann::json::array({3.0 / 255, 4.0 / 255, 5.0 / 255}));
    EXPECT_EQ(histogram_csv(histogram(colors, {2, std::nullopt})),
              "bin,lower,upper,red,green,blue,luma,extra1\n0,0,128,2,2,2,2,2\n1,128,256,0,0,0,0,0\n");
    EXPECT_EQ(dataset_plot(pool, pool.statistics()).panels.size(), 2U);  // colors, and bands of two images
}

/// Bands with names pool by these, wherever they lie in their images; those that are called like ours, apart.
TEST(Dataset, OfBandsWithNamesPoolsByThese) {
    const auto named = [](std::vector<std::uint8_t> samples, const std::vector<std::string>& names, Samples meaning) {
        Analysis bands = analyze<std::uint8_t>(samples, static_cast<int>(names.size()));
        name_channels(bands, meaning, names);
        return bands;
    };
    const Analysis first = named({10, 1, 20, 1, 30, 1}, {"depth", "all", ""}, Samples::bands);
    Summary pool, other;
    pool.add(first);
    other.add(named({1, 2, 3, 5, 6, 7}, {"", "N", "depth"}, Samples::bands));
    other.add(named({1, 2, 3, 40, 5, 6, 7, 50}, {"", "", "", "depth"}, Samples::color_bands));
    pool.merge(other);
    std::string rows;
    for (const SummaryRow& row : pool.statistics())
        rows += std::string(channel_name(row.statistics)) + " " + std::to_string(row.images) + " " +
                shortest(*row.statistics.mean) + "\n";
    EXPECT_EQ(rows,
              "red 1 3\ngreen 1 4\nblue 1 5\nluma 1 4\nc0 1 3\nc2 1 10.5\nN 1 4\nband:all 1 15.5\ndepth 3 18.5\n"
              "all 3 10.05\n");
    EXPECT_EQ(pool.depths()[0].images, 3U);
    EXPECT_EQ(pool.depths()[0].images_of_bands(), 2U);
    EXPECT_EQ(pool.depths()[0].find("depth")->pixels, 6U);
    EXPECT_EQ(pool.depths()[0].find("all"), nullptr);
    EXPECT_TRUE(parse_summary(summary_json(pool), "p") == pool);
    Summary backwards = other;
    backwards.add(first);
    EXPECT_TRUE(backwards == pool);
    EXPECT_EQ(histogram_csv(histogram(first, {1, std::nullopt})), "bin,lower,upper,depth,band:all,c2\n0,0,256,2,2,2\n");
    const auto columns = pool.histogram(Depth::u8)->columns;
    EXPECT_EQ(channel_name(columns.back()), "depth");
    EXPECT_EQ(columns.back().counts[40], 1U);
    for (const char* name : {"a,b", "=1", "\xff\n"}) {
        Summary odd;
        odd.add(named({1, 2}, {name, "band:all"}, Samples::bands));
        EXPECT_TRUE(parse_summary(summary_json(odd), "p") == odd) << name;
        EXPECT_NE(odd.depths()[0].find("band:band:all"), nullptr);
    }
}

TEST(Dataset, RowsOfEachDepthKeepTheirOrder) {
    const std::string csv = dataset_csv(mixed_groups());
    std::vector<std::string> starts;
    bool quoted = false;
    std::string line;
    for (const char c : csv) {
        if (c == '"') quoted = !quoted;
        line += c;
        if (c != '\n' || quoted) continue;
        std::size_t comma = line.rfind('"') == line.npos ? 0 : line.rfind('"');
        for (int i = 0; i < 3; ++i) comma = line.find(',', comma + (i > 0));
        starts.push_back(line.substr(0, comma));
        line.clear();
    }
    const std::vector<std::string> expected{"group,depth,channel",
                                            ",u8,gray",
                                            ",u8,red",
                                            ",u8,green",
                                            ",u8,blue",
                                            ",u8,luma",
                                            ",u8,all",
                                            ",u16,gray",
                                            ",u16,red",
                                            ",u16,green",
                                            ",u16,blue",
                                            ",u16,luma",
                                            ",u16,all",
                                            ",u16,alpha",
                                            ",f32,gray",
                                            "cats,u8,gray",
                                            "cats,u8,red",
                                            "cats,u8,green",
                                            "cats,u8,blue",
                                            "cats,u8,luma",
                                            "cats,u8,all",
                                            "\"dogs, \"\"big\"\"\",u16,gray",
                                            "\"dogs, \"\"big\"\"\",u16,red",
                                            "\"dogs, \"\"big\"\"\",u16,green",
                                            "\"dogs, \"\"big\"\"\",u16,blue",
                                            "\"dogs, \"\"big\"\"\",u16,luma",
                                            "\"dogs, \"\"big\"\"\",u16,all",
                                            "\"dogs, \"\"big\"\"\",u16,alpha",
                                            "\"dogs, \"\"big\"\"\",f32,gray",
                                            "\"\xff\n\",f32,gray"};
    EXPECT_EQ(starts, expected);
}

TEST(Dataset, APictureHasAPanelForEachKind) {
    const auto headings = [](const Summary& pool) {
        const Plot plot = dataset_plot(pool, pool.statistics());
        std::vector<std::string> list{plot.title};
        for (const PlotPanel& panel : plot.panels) list.push_back(panel.heading);
        return list;
    };
    using Texts = std::vector<std::string>;
    Summary gray;
    gray.add(analyze<std::uint8_t>({1, 2}));
    EXPECT_EQ(headings(gray), (Texts{"1 image  u8, gray", ""}));
    EXPECT_EQ(headings(small_pool()), (Texts{"3 images", "2 images  u8, gray", "1 image  u8, color"}));
    Summary uncounted = gray;
    uncounted.add(analyze<float>({1, 2}));
    uncounted.add(analyze<float>({1, 3}));  // of two ranges, without counts of values
    EXPECT_EQ(headings(uncounted), (Texts{"1 image  u8, gray", ""}));
    EXPECT_EQ(headings({}), (Texts{"0 images"}));
}

TEST(Dataset, EachGroupHasItsPicture) {
    const test::TemporaryDirectory directory;
    Group whole{"", small_pool()}, here{".", small_pool()}, up{"../a\n", small_pool()}, same{"./up/a\n", small_pool()};
    PlotRequest plots;
    plots.formats = {PlotFormat::png, PlotFormat::svg};
    write_dataset(directory.path(), {whole, here, up, same}, {}, {}, plots);
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path()))
        if (entry.is_regular_file()) names.insert(entry.path().lexically_relative(directory.path()));
    EXPECT_EQ(names,
              (std::set<std::string>{"dataset.csv", "dataset.json", "dataset.histogram.png", "dataset.histogram.svg",
                                     "dataset.top.histogram.png", "dataset.top.histogram.svg",
                                     "up/a\n/dataset.histogram.png", "up/a\n/dataset.histogram.svg"}));
    EXPECT_TRUE(is_group_plot("up/a/dataset.histogram.png"));
    EXPECT_FALSE(is_group_plot("dataset.histogram.png"));
    EXPECT_FALSE(is_group_plot("a/mydataset.histogram.png"));
}

// ---- pools in files ---------------------------------------------------------------------------------------------

TEST(PoolFile, ReadsBackTheSamePool) {
    for (const Group& group : mixed_groups()) {
        const std::string text = summary_json(group.summary);
        EXPECT_TRUE(parse_summary(text, "p") == group.summary);
        EXPECT_EQ(summary_json(parse_summary(text, "p")), text);
        EXPECT_EQ(text.find('\n'), text.npos);
    }
    EXPECT_TRUE(parse_summary(summary_json(two_whites()), "p") == two_whites());
    EXPECT_EQ(summary_json({}), "[]");
    EXPECT_TRUE(parse_summary("[]", "p").empty());
}

TEST(PoolFile, LargeNumbersAreStringsAndCountsAreRuns) {
    DepthSummary depth;
    depth.range = Range{0, 256};
    ChannelSummary channel;
    channel.images = 2;
    channel.counts.resize(256);
    channel.counts[0] = 1;
    channel.counts[7] = (std::uint64_t{1} << 53) - 1;
    channel.counts[8] = std::uint64_t{1} << 53;
    channel.pixels = std::uint64_t{1} << 54;
    depth.channels = {channel};
    depth.images = 2;
    const std::string text = summary_json(Summary({depth}));
    EXPECT_EQ(
        text,
        R"([{"depth":"u8","images":2,"white":255.0,"channels":[{"channel":"gray","images":2,"samples":"18014398509481984",)"
        R"("counts":[[0,1],[7,9007199254740991,"9007199254740992"]]}]}])");
    EXPECT_TRUE(parse_summary(text, "p") == Summary({depth}));
}

TEST(PoolFile, IsReadStrictly) {
    const std::string good = R"([{"depth":"u8","images":1,"white":255.0,"channels":)"
                             R"([{"channel":"gray","images":1,"samples":3,"counts":[[4,2],[9,1]]}]}])";
    ASSERT_FALSE(parse_summary(good, "p").empty());
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        const auto at = text.find(from);
        EXPECT_NE(at, text.npos) << from;
        text.replace(at, from.size(), to);
        return failure_of([&] { parse_summary(text, "my.json"); });
    };
    EXPECT_EQ(changed("[{", "[{{").substr(0, 18), "my.json: not JSON:");
    EXPECT_EQ(changed("u8", "u9"), "my.json/0/depth: 'u9' is not known here");
    for (const auto& [start, place] :
         {std::pair("\"u8\",\"images\"", "my.json/0"), std::pair("\"gray\",\"images\"", "my.json/0/channels/0")}) {
        const std::string images = start, before = images.substr(0, images.size() - 8), at = place;
        EXPECT_EQ(changed(images, before + "\"image\""), at + ": 'images' is missing");
        EXPECT_EQ(changed(images + ":1", images + ":1,\"more\":2"), at + ": 'more' does not belong here");
        for (const char* none : {"-1", "1.0", "\"1\""})
            EXPECT_EQ(changed(images + ":1", images + ":" + none),
                      at + "/images: expected a whole number, in quotes from 2^53 on");
    }
    EXPECT_EQ(changed("\"gray\",\"images\":1", "\"gray\",\"images\":4"),
              "my.json: summary: u8 gray: there is at least one image and sample, and at most 2^60 samples");
    EXPECT_EQ(changed("\"u8\",\"images\":1", "\"u8\",\"images\":2"),
              "my.json: summary: u8: not the images of its channels");
    EXPECT_EQ(changed("\"samples\":3", "\"samples\":4"),
              "my.json: summary: u8 gray: the counts do not add up to the samples");
    EXPECT_EQ(changed("[9,1]", "[5,1]"), "my.json/0/channels/0/counts/1: a run of counts that does not fit there");
    EXPECT_EQ(changed("[9,1]", "[256,1]"), "my.json/0/channels/0/counts/1: a run of counts that does not fit there");
    EXPECT_EQ(changed("[9,1]", "[9,0]"), "my.json/0/channels/0/counts/1: a run holds no zero");
    EXPECT_EQ(changed("[9,1]", "[9]"), "my.json/0/channels/0/counts/1: a run of counts that does not fit there");
    EXPECT_EQ(changed("gray", "all"),
              "my.json: summary: u8: channels are in the order gray red green blue luma alpha, then bands, each once");
    EXPECT_EQ(changed("gray", "red"), "my.json: summary: u8: red, green and blue come together");
    EXPECT_EQ(changed("255.0", "0"), "my.json: summary: u8: white is a finite number over 0");
    EXPECT_EQ(changed("255.0", "\"255\""), "my.json/0/white: expected a number");
    EXPECT_EQ(changed("\"white\":255.0,", ""), "my.json/0: 'white' is missing");
}

TEST(PoolFile, CountsOfFloatsAreReadStrictly) {
    Summary pool;
    add_counted(pool, {-1, 0, 0, 1, 1.5F, std::numeric_limits<float>::infinity()});
    const std::string good = summary_json(pool);
    const auto value = good.find(R"("values":{"minus_infinite":0,"plus_infinite":1,"runs":[")");
    ASSERT_NE(value, good.npos) << good;
    const auto start = good.find("runs\":[\"") + 8, end = good.find('"', start);
    const std::string text = good.substr(start, end - start);
    EXPECT_EQ(text, "/v//hwiBgID4BwD+///3B/7//wM");
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string damaged = good;
        const auto at = damaged.find(from, value);
        EXPECT_NE(at, damaged.npos) << from;
        damaged.replace(at, from.size(), to);
        return failure_of([&] { parse_summary(damaged, "p"); });
    };
    const std::string place = "p/0/channels/0/values/runs/0: ";
    const std::string not_the_samples = "p: summary: f32 gray: the counts of values are not those of the samples";
    EXPECT_EQ(changed(text, text + "?"), place + "expected Base64");
    EXPECT_EQ(changed(text, text + "="), place + "expected Base64");
    EXPECT_EQ(changed(text, text.substr(0, text.size() - 1) + "N"), place + "expected Base64");
    EXPECT_EQ(changed(text, text.substr(0, text.size() - 2)), place + "expected Base64");
    EXPECT_EQ(changed(text, text.substr(0, text.size() - 3)), place + "counts of values: a number that does not end");
    EXPECT_EQ(changed(text, ""), place + "counts of values: a run without values");
    EXPECT_EQ(changed(text, text + "\",\"" + text), not_the_samples);
    EXPECT_EQ(changed("\"" + text + "\"", ""), not_the_samples);
    EXPECT_EQ(changed("\"" + text + "\"", "[0,20,\"0\"]"), place + "no such file of values belongs to this one");
    EXPECT_EQ(changed("\"plus_infinite\":1", "\"plus_infinite\":0"), not_the_samples);
    EXPECT_EQ(changed("\"minus_infinite\":0", "\"minus_infinite\":\"18446744073709551615\""), not_the_samples);
    EXPECT_EQ(changed("\"values\":{", "\"values\":null,\"more\":{"), "p/0/channels/0: 'more' does not belong here");
}

TEST(PoolFile, LongRunsLieInAFile) {
    const test::TemporaryDirectory directory;
    const auto file = FrequencyFile::named(directory.path() / "deep" / "values");
    std::vector<float> samples;
    for (int i = 0; i < 1'000'000; ++i) samples.push_back(static_cast<float>(i) * 0.37F - 1e5F);
    Summary pool;
    add_counted(pool, samples);
    const Summary there = pool.merged_values(file);
    EXPECT_TRUE(there == pool);
    const std::uint64_t bytes = file->sync();
    EXPECT_EQ(bytes, fs::file_size(directory.path() / "deep" / "values"));
    const std::string text = summary_json(there, file.get());
    EXPECT_LT(text.size(), 10'000U);
    EXPECT_TRUE(parse_summary(text, "p", {FrequencyFile::existing(directory.path() / "deep" / "values"), nullptr}) ==
                pool);
    EXPECT_EQ(failure_of([&] { parse_summary(text, "p"); }),
              "p/0/channels/0/values/runs/0: no such file of values belongs to this one");
    EXPECT_EQ(failure_of([&] {
                  parse_summary(text, "p", {FrequencyFile::existing("no/file"), nullptr});
              }),
              "p/0/channels/0/values/runs/0: no/file is missing, or shorter than the runs in it");
    fs::resize_file(directory.path() / "deep" / "values", bytes - 1);
    EXPECT_EQ(failure_of([&] {
                  parse_summary(text, "p", {FrequencyFile::existing(directory.path() / "deep" / "values"), nullptr});
              }),
              "p/0/channels/0/values/runs/0: " + (directory.path() / "deep" / "values").string() +
                  " is missing, or shorter than the runs in it");
}

TEST(PoolFile, DamageToTheFileOfValuesIsSeen) {
    const test::TemporaryDirectory directory;
    const fs::path path = directory.path() / "values";
    const auto file = FrequencyFile::named(path);
    std::vector<float> samples;
    for (int i = 0; i < 300'000; ++i) samples.push_back(static_cast<float>(i) * 0.37F - 1e5F);
    Summary pool;
    add_counted(pool, samples);
    const Summary there = pool.merged_values(file);  // has the room as long as it lives
    const std::string text = summary_json(there, file.get());
    file->sync();
    const std::string good = read_text(path);
    std::mt19937 random(4);
    for (int round = 0; round < 200; ++round) {
        write_text(path, test::damaged(good, random));
        try {
            EXPECT_TRUE(parse_summary(text, "p", {FrequencyFile::existing(path), nullptr}) == pool) << round;
        } catch (const IoError&) {
        }
    }
    write_text(path, good);
    EXPECT_TRUE(parse_summary(text, "p", {FrequencyFile::existing(path), nullptr}) == pool);
}

TEST(PoolFile, ATextStandsForNoMoreMemoryThanItsLengthMay) {
    const auto wide = [](std::size_t bins) {
        DepthSummary depth;
        depth.images = 1;
        depth.depth = Depth::f32;
        depth.white = 1;
        depth.range = Range{0, 1};
        ChannelSummary channel;
        channel.images = channel.pixels = 1;
        channel.counts.resize(bins);
        channel.counts[3] = 1;
        channel.minimum = channel.maximum = 0.25F;
        depth.channels = {channel};
        return depth;
    };
    const Summary small({wide(1U << 20)}), large({wide(1U << 24)});
    EXPECT_EQ(summary_json(small).find(' '), std::string::npos);
    const std::string text = summary_json(large);
    EXPECT_TRUE(parse_summary(text, "p") == large);
    EXPECT_EQ(failure_of([&] { parse_summary(text.substr(0, text.find(' ')), "p"); }),
              "p/0/channels/0/counts: more memory is asked for than a text so short may");
    // Runs that lie over each other would be read again and again.
    const test::TemporaryDirectory directory;
    const auto file = FrequencyFile::named(directory.path() / "values");
    std::vector<float> samples;
    for (int i = 0; i < 300'000; ++i) samples.push_back(static_cast<float>(i));
    Summary pool;
    add_counted(pool, samples);
    const Summary there = pool.merged_values(file);
    std::string twice = summary_json(there, file.get());
    file->sync();
    const std::size_t run = twice.find("[[", twice.find("\"runs\":")) + 1;
    const std::string one = twice.substr(run, twice.find(']', run) + 1 - run);
    EXPECT_EQ(failure_of([&] {
                  parse_summary(twice.insert(run, one + ","), "p",
                                {FrequencyFile::existing(directory.path() / "values"), nullptr});
              }),
              "p/0/channels/0/values/runs/1: " + (directory.path() / "values").string() +
                  " is missing, or shorter than the runs in it");
}

/// Whatever comes: an IoError, or a pool that reads back.
TEST(PoolFile, DamageIsSeenOrHarmless) {
    std::mt19937 random(3);
    const std::string good = summary_json(mixed_groups()[0].summary);
    for (int round = 0; round < 500; ++round) {
        std::string text = good;
        for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
            const std::size_t at = random() % text.size();
            switch (random() % 3) {
                case 0:
                    text[at] = "0123456789,[]{}\":-.ef"[random() % 21];
                    break;
                case 1:
                    text.erase(at, 1 + random() % 5);
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 30));
            }
        }
        try {
            const Summary pool = parse_summary(text, "p");
            EXPECT_TRUE(parse_summary(summary_json(pool), "p") == pool);
            dataset_csv({{"", pool}});
        } catch (const IoError&) {
        }
    }
}

// ---- files of values ---------------------------------------------------------------------------------------------

class ValuesFileTest : public testing::Test {
  protected:
    static constexpr std::uint64_t mega = std::uint64_t{1} << 20;

    static void put(FrequencyFile& file, std::uint64_t place, std::uint64_t bytes, int what) {
        const std::vector<std::byte> all(bytes, static_cast<std::byte>(what));
        file.write(place, all.data(), all.size());
    }
    static bool has(const FrequencyFile& file, std::uint64_t place, std::uint64_t bytes, int what) {
        std::vector<std::byte> all(bytes);
        file.read(place, all.data(), all.size());
        return std::count(all.begin(), all.end(), static_cast<std::byte>(what)) == static_cast<std::ptrdiff_t>(bytes);
    }
    /// Bytes that the file takes on its disk.
    std::uint64_t space() const {
        struct stat status {};
        EXPECT_EQ(stat(path.c_str(), &status), 0);
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    }

    test::TemporaryDirectory directory;
    const fs::path path = directory.path() / "made" / "values";
};

TEST_F(ValuesFileTest, IsThereWhenItIsWritten) {
    const auto file = FrequencyFile::named(path);
    EXPECT_EQ(file->sync(), 0U);
    file->discard();
    EXPECT_FALSE(fs::exists(directory.path() / "made"));
    const std::uint64_t a = file->take(1000), b = file->take(mega);
    put(*file, b, mega, 2);
    put(*file, a, 1000, 1);
    EXPECT_TRUE(has(*file, a, 1000, 1));
    EXPECT_TRUE(has(*file, b, mega, 2));
    EXPECT_GE(file->sync(), mega + 1000);
    EXPECT_TRUE(has(*FrequencyFile::existing(path), b, mega, 2));
    EXPECT_EQ(failure_of([&] { FrequencyFile::named(path)->take(1); }),
              path.string() + ": another run is writing it; name another --output");
    EXPECT_EQ(failure_of([&] { FrequencyFile::named(path)->discard(); }),
              path.string() + ": another run is writing it; name another --output");
    EXPECT_TRUE(has(*file, a, 1000, 1));
    file->discard();
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(ValuesFileTest, WhatIsGivenBackTakesNoSpace) {
    const auto file = FrequencyFile::named(path);
    std::vector<std::uint64_t> places;
    for (int i = 0; i < 8; ++i) put(*file, places.emplace_back(file->take(mega)), mega, i);
    const std::uint64_t end = file->sync();
    EXPECT_GE(space(), 8 * mega);
    for (const int i : {1, 3, 4, 7}) file->give_back(places[static_cast<std::size_t>(i)], mega);
    for (const int i : {1, 3, 4, 7}) EXPECT_TRUE(has(*file, places[static_cast<std::size_t>(i)], mega, i));
    const std::uint64_t behind = file->take(10);
    EXPECT_GE(behind, end);  // what was synced stays until it is released
    put(*file, behind, 10, 9);
    file->give_back(behind, 10);
    EXPECT_EQ(file->take(20), behind);  // but what came after is used again
    file->release();
    if (space() < 8 * mega) {  // not every file system can
        EXPECT_LE(space(), 4 * mega + 65536);
    }
    for (const int i : {0, 2, 5, 6}) EXPECT_TRUE(has(*file, places[static_cast<std::size_t>(i)], mega, i));
}

TEST_F(ValuesFileTest, GoesOnWhereItWas) {
    std::uint64_t kept = 0, lost = 0, end = 0;
    {
        const auto file = FrequencyFile::named(path);
        lost = file->take(mega);
        put(*file, lost, mega, 1);
        kept = file->take(mega);
        put(*file, kept, mega, 2);
        end = file->sync();
        put(*file, file->take(mega), mega, 3);
    }
    const auto file = FrequencyFile::named(path);
    file->resume(end);
    EXPECT_EQ(fs::file_size(path), end);
    file->keep_only({{kept, mega}});
    if (space() < 2 * mega) {
        EXPECT_LE(space(), mega + 65536);
    }
    EXPECT_TRUE(has(*file, kept, mega, 2));
    const std::uint64_t next = file->take(5);
    EXPECT_GE(next, end);
    put(*file, next, 5, 4);
    EXPECT_TRUE(has(*file, kept, mega, 2));
    EXPECT_TRUE(has(*file, next, 5, 4));
}

TEST_F(ValuesFileTest, WithoutANameLeavesNothing) {
    {
        const auto file = FrequencyFile::temporary(directory.path());
        const std::uint64_t place = file->take(mega);
        put(*file, place, mega, 1);
        EXPECT_TRUE(has(*file, place, mega, 1));
        EXPECT_TRUE(fs::is_empty(directory.path()));
    }
    EXPECT_EQ(failure_of([&] { FrequencyFile::temporary("no/directory")->take(1); }),
              "no/directory: no temporary file can be made there: No such file or directory");
}

}  // namespace
