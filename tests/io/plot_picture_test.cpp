// Pictures as a reader sees them: whole ones, held to those in tests/golden that were looked at, and in SVG, which says
// what is drawn, their texts and places.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <opencv2/core.hpp>
#include <regex>
#include <set>

#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/joint.hpp"
#include "gpuhist/io/plot.hpp"
#include "support/codecs.hpp"
#include "support/picture.hpp"
#include "support/summaries.hpp"
#include "support/text_files.hpp"

namespace {

using namespace gpuhist;
using namespace gpuhist::io;
using test::analyze;

/// About normal, around `center`: the sum of four pseudo-random numbers.
double bell(std::uint64_t seed, double center, double width) {
    double sum = 0;
    for (std::uint64_t i = 0; i < 4; ++i)
        sum += static_cast<double>(test::scramble(4 * seed + i) % 65536) / 65536 - 0.5;
    return center + sum * width;
}

template <class Sample>
std::vector<Sample> bells(std::size_t pixels, const std::vector<std::pair<double, double>>& channels,
                          double scale = 1) {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < pixels; ++i)
        for (std::size_t c = 0; c < channels.size(); ++c) {
            const double value = bell(channels.size() * i + c, channels[c].first, channels[c].second);
            const double most = std::is_floating_point_v<Sample> ? 1e300 : sizeof(Sample) == 1 ? 255 : 65535;
            samples.push_back(static_cast<Sample>(
                std::is_floating_point_v<Sample> ? value : std::clamp(std::floor(value) * scale, 0.0, most)));
        }
    return samples;
}

std::vector<FrequencyTable> values_of(const std::vector<float>& samples, int channels = 1) {
    const auto width = static_cast<std::int64_t>(samples.size()) / channels;
    return count_frequencies(packed_view(samples.data(), width, 1, channels, Depth::f32, ChannelOrder::rgb));
}

template <class Sample>
PlotPanel panel_of(const std::vector<Sample>& samples, int channels = 1, const PlotRange& range = {}) {
    const Analysis analysis = analyze(samples, channels);
    std::vector<FrequencyTable> values;
    if constexpr (std::is_same_v<Sample, float>) values = values_of(samples, channels);
    return plot_panel(analysis, statistics(analysis), range, values);
}

std::vector<std::uint16_t> twelve_bits(int shift) {
    return bells<std::uint16_t>(60000, {{1500, 1200}}, 1 << shift);
}

std::vector<float> with_outlier() {
    auto samples = bells<float>(60000, {{0.5, 1.1}});
    samples[17] = 1e9F;
    samples[18] = std::numeric_limits<float>::infinity();
    samples[19] = samples[20] = std::numeric_limits<float>::quiet_NaN();
    return samples;
}

/// Gray as most programs store it, as three equal channels, clipped at both ends.
std::vector<std::uint8_t> gray_as_color() {
    std::vector<std::uint8_t> samples;
    for (const std::uint8_t value : bells<std::uint8_t>(60000, {{100, 200}})) samples.insert(samples.end(), 3, value);
    return samples;
}

Plot set_of_all_kinds() {
    Summary set;
    for (int i = 0; i < 3; ++i) {
        set.add(analyze(bells<std::uint8_t>(20000, {{90 + 30.0 * i, 60}, {120, 80}, {160, 50}}), 3));
        set.add(analyze(bells<std::uint8_t>(20000, {{100, 70}})));
    }
    set.add(analyze(twelve_bits(0)));
    return dataset_plot(set, set.statistics(), "cats");
}

Plot make(const std::string& kind) {
    if (kind == "gray") {
        auto samples = bells<std::uint8_t>(60000, {{120, 180}});
        std::fill(samples.begin(), samples.begin() + 20000, 0);
        std::fill(samples.begin() + 20000, samples.begin() + 26000, 255);
        return {"camera.png  300 \u00d7 200  u8, 1 channel", {panel_of(samples)}};
    }
    if (kind == "color" || kind == "log" || kind == "dark")
        return {"photo.jpg  300 \u00d7 200  u8, 3 channels",
                {panel_of(bells<std::uint8_t>(60000, {{90, 120}, {125, 150}, {190, 130}}), 3)}};
    if (kind == "twelve_bits") return {"slice.tiff  300 \u00d7 200  u16, 1 channel", {panel_of(twelve_bits(0))}};
    if (kind == "outlier") return {"height.tiff  300 \u00d7 200  f32, 1 channel", {panel_of(with_outlier())}};
    if (kind == "nan")
        return {"empty.tiff  100 \u00d7 100  f32, 1 channel",
                {panel_of(std::vector<float>(10000, std::numeric_limits<float>::quiet_NaN()))}};
    if (kind == "constant")
        return {"flat.png  100 \u00d7 100  u8, 1 channel", {panel_of(std::vector<std::uint8_t>(10000, 128))}};
    if (kind == "gray_as_color") return {"scan.jpg  300 \u00d7 200  u8, 3 channels", {panel_of(gray_as_color(), 3)}};
    if (kind == "alpha") {
        auto samples = bells<std::uint8_t>(60000, {{230, 90}, {120, 120}, {60, 80}, {255, 0}}, 1);
        for (std::size_t i = 3; i < samples.size() / 4; i += 4) samples[i] = static_cast<std::uint8_t>(i / 240);
        return {"logo.png  300 \u00d7 200  u8, 4 channels", {panel_of(samples, 4)}};
    }
    return set_of_all_kinds();
}

PlotOptions options_of(const std::string& kind) {
    PlotOptions options;
    options.width = 1000;
    options.height = 500;
    options.log_counts = kind == "log";
    if (kind == "dark") options.theme = PlotTheme::dark;
    return options;
}

class Picture : public testing::TestWithParam<const char*> {};

TEST_P(Picture, LooksAsItDid) {
    const std::string kind = GetParam();
    const auto bytes = encode_plot(make(kind), PlotFormat::png, options_of(kind));
    const std::string path = std::filesystem::path(std::getenv("GPUHIST_GOLDEN")) / ("plot." + kind + ".png");
    if (const char* update = std::getenv("GPUHIST_UPDATE_GOLDEN"); update && std::string(update) == "1") {
        test::write_text(path, {bytes.begin(), bytes.end()});
        return;
    }
    const cv::Mat drawn = test::decode(bytes), expected = test::read_picture(path);
    ASSERT_EQ(drawn.size(), expected.size()) << path;
    EXPECT_EQ(cv::norm(drawn, expected, cv::NORM_INF), 0) << path;
}

/// Without a palette files are three times as large: at most 256 colors, which zlib packs in half the time.
TEST_P(Picture, IsASmallFile) {
    const std::string kind = GetParam();
    const auto bytes = encode_plot(make(kind), PlotFormat::png, options_of(kind));
    EXPECT_LT(bytes.size(), 40000U);
    constexpr std::size_t color_type = 25;
    EXPECT_EQ(bytes.at(color_type), 3) << "no palette";
    EXPECT_EQ(cv::norm(test::decode(bytes), draw_plot(make(kind), options_of(kind)), cv::NORM_INF), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Picture,
                         testing::Values("gray", "gray_as_color", "color", "log", "dark", "twelve_bits", "outlier",
                                         "nan", "constant", "alpha", "set"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(JointPicture, LooksAsItDid) {
    const Image image = read_image(std::filesystem::path(std::getenv("GPUHIST_DATA")) / "chelsea.png");
    const JointChannel red{view(image), 2}, green{view(image), 1};
    JointHistogram histogram(256, joint_axis(red), joint_axis(green));
    histogram.add(red, green);
    const JointPlot texts{"data/chelsea.png  red,green", "red", "green"};
    const auto bytes = encode_joint(histogram, texts);
    const std::string path = std::filesystem::path(std::getenv("GPUHIST_GOLDEN")) / "plot.joint.png";
    if (const char* update = std::getenv("GPUHIST_UPDATE_GOLDEN"); update && std::string(update) == "1")
        return test::write_text(path, {bytes.begin(), bytes.end()});
    const cv::Mat drawn = test::decode(bytes), expected = test::read_picture(path);
    ASSERT_EQ(drawn.size(), expected.size()) << path;
    EXPECT_EQ(cv::norm(drawn, expected, cv::NORM_INF), 0) << path;
    EXPECT_LT(bytes.size(), 60000U);
    // One pixel, and more bins than the picture has pixels: it is not lost.
    const std::uint16_t sample = 4000;
    const JointChannel one{packed_view(&sample, 1, 1, 1, Depth::u16), 0};
    JointHistogram fine(4096, joint_axis(one, Range{0, 4096}), joint_axis(one, Range{0, 4096}));
    const cv::Mat without = draw_joint(fine, texts, PlotTheme::dark);
    fine.add(one, one);
    EXPECT_GT(cv::norm(draw_joint(fine, texts, PlotTheme::dark), without, cv::NORM_INF), 0);
}

// --- Ranges and bins ---------------------------------------------------------------------------------------------

std::vector<std::uint16_t> each_once(std::size_t values, std::size_t step) {
    std::vector<std::uint16_t> samples;
    for (std::size_t i = 0; i < values; ++i) samples.push_back(static_cast<std::uint16_t>(i * step));
    return samples;
}

TEST(PlotRange, FewerBitsThanTheTypeFillThePicture) {
    const PlotPanel low = panel_of(each_once(4096, 1));
    EXPECT_EQ(low.histogram.range, (Range{0, 4096}));
    EXPECT_EQ(low.values, "value (12 of 16 bits)");
    EXPECT_EQ(low.histogram.columns[0].counts, std::vector<std::uint64_t>(512, 8));
    // Shifted left, and copied into both bytes: every bin has as many possible values.
    const PlotPanel shifted = panel_of(each_once(4096, 16));
    EXPECT_EQ(shifted.histogram.range, (Range{0, 65536}));
    EXPECT_EQ(shifted.values, "value (12 of 16 bits, in steps of 16)");
    EXPECT_EQ(shifted.histogram.columns[0].counts, std::vector<std::uint64_t>(512, 8));
    EXPECT_EQ(panel_of(each_once(256, 257)).histogram.columns[0].counts, std::vector<std::uint64_t>(256, 1));
    EXPECT_EQ(panel_of(each_once(128, 512)).histogram.columns[0].counts, std::vector<std::uint64_t>(128, 1));
    // A whole type, one value, and what the file says of white.
    EXPECT_EQ(panel_of(each_once(65536, 1)).values, "value");
    EXPECT_EQ(panel_of(std::vector<std::uint16_t>(9, 100)).histogram.range, (Range{0, 65536}));
    Analysis dim = analyze(each_once(300, 1));
    dim.white = 4095;
    EXPECT_EQ(plot_panel(dim, statistics(dim)).histogram.range, (Range{0, 4096}));
}

TEST(PlotRange, FullAndGiven) {
    const auto samples = each_once(1000, 1);
    EXPECT_EQ(panel_of(samples, 1, {PlotRange::Kind::full, {}}).histogram.range, (Range{0, 65536}));
    const PlotPanel given = panel_of(samples, 1, {PlotRange::Kind::given, {99.5, 200}});
    EXPECT_EQ(given.histogram.range, (Range{99, 200}));
    EXPECT_EQ(given.histogram.columns[0].counts, std::vector<std::uint64_t>(101, 1));
    EXPECT_EQ(given.histogram.columns[0].below, 99U);
    EXPECT_EQ(given.histogram.columns[0].above, 800U);
    EXPECT_THROW(panel_of(samples, 1, {PlotRange::Kind::given, {5, 5}}), InvalidArgument);
    // 65,521 is prime: the last of equal bins reaches beyond.
    const PlotPanel prime = panel_of(samples, 1, {PlotRange::Kind::given, {0, 65521}});
    EXPECT_EQ(prime.histogram.range, (Range{0, 65536}));
}

TEST(PlotRange, OneOutlierDoesNotHideTheFloats) {
    const auto samples = with_outlier();
    EXPECT_TRUE(plot_needs_values(analyze(samples)));
    EXPECT_FALSE(plot_needs_values(analyze(bells<float>(60000, {{0.5, 1.1}}))));
    EXPECT_FALSE(plot_needs_values(analyze(samples), {PlotRange::Kind::full, {}}));
    const PlotPanel panel = panel_of(samples);
    EXPECT_EQ(panel.values, "value (p0.1 to p99.9)");
    // 59,997 finite values: 59.997 of a thousandth are outside on either side, rounded up; the infinite one is not
    // there.
    EXPECT_EQ(panel.histogram.columns[0].below, 60U);
    EXPECT_EQ(panel.histogram.columns[0].above, 60U);
    EXPECT_GT(panel.histogram.range.lower, -1.6);
    EXPECT_LT(panel.histogram.range.upper, 2.6);
    const PlotPanel full = panel_of(samples, 1, {PlotRange::Kind::full, {}});
    EXPECT_EQ(full.histogram.columns[0].above, 0U);
    EXPECT_EQ(full.histogram.range.upper, 1e9);
    const PlotPanel given = panel_of(samples, 1, {PlotRange::Kind::given, {-5, 5}});
    EXPECT_EQ(given.histogram.range, (Range{-5, 5}));
    EXPECT_EQ(given.histogram.columns[0].above, 1U);
    // A set shows the same.
    Summary set;
    set.add(analyze(samples), values_of(samples));
    const auto panels = plot_panels(set, Depth::f32, {});
    ASSERT_EQ(panels.size(), 1U);
    EXPECT_EQ(panels[0].histogram.range, panel.histogram.range);
    EXPECT_EQ(panels[0].histogram.columns[0].counts, panel.histogram.columns[0].counts);
    EXPECT_EQ(panels[0].histogram.columns[0].above, 60U);
}

TEST(PlotRange, AllButOneFloatAreOneValue) {
    std::vector<float> samples(5000, 0.0F);
    samples[9] = 1e9F;
    const PlotPanel panel = panel_of(samples);
    EXPECT_EQ(panel.histogram.range, (Range{-0.5, 0.5}));
    EXPECT_EQ(panel.histogram.columns[0].above, 1U);
}

/// Signed integers have no bits in use that begin at 0: they are shown from the lowest to the highest.
TEST(PlotRange, SignedIntegersSpanTheirValues) {
    const auto shown = [](const std::vector<std::int16_t>& samples, const PlotRange& range = {}) {
        const Analysis analysis = make_engine("cpu")->analyze(
            packed_view(samples.data(), static_cast<std::int64_t>(samples.size()), 1, 1, Depth::s16));
        const PlotPanel panel = plot_panel(analysis, statistics(analysis), range);
        Summary set;
        set.add(analysis);
        EXPECT_EQ(plot_panels(set, Depth::s16, {}, range).at(0).histogram.range, panel.histogram.range);
        return panel;
    };
    const PlotPanel heights = shown({-37, 12, 500, 986});
    EXPECT_EQ(heights.histogram.range, (Range{-37, 987}));
    EXPECT_EQ(heights.histogram.columns[0].counts.size(), 512u);
    EXPECT_EQ(heights.histogram.columns[0].counts.front(), 1u);
    EXPECT_EQ(heights.histogram.columns[0].counts.back(), 1u);
    EXPECT_EQ(heights.values, "value");
    EXPECT_EQ(shown({-32768, 32767}).histogram.range, (Range{-32768, 32768}));
    EXPECT_EQ(shown({-9, -5}).histogram.range, (Range{-9, -4}));
    EXPECT_EQ(shown({7, 7}).histogram.range, (Range{7, 8}));
    EXPECT_EQ(shown({-37, 986}, {PlotRange::Kind::full, {}}).histogram.range, (Range{-32768, 32768}));
    // The axis of 1024 values from -37 on has round numbers.
    const std::string svg = draw_plot_svg({"", {heights}});
    EXPECT_NE(svg.find(">200<"), svg.npos);
    EXPECT_NE(svg.find(">986<"), svg.npos);
    EXPECT_FALSE(draw_plot({"", {shown({7, 7})}}).empty());

    // Excluded samples do not widen it, and where nothing is left it is the type's.
    const std::vector<std::int16_t> samples{-9999, -37, 12, 986};
    AnalysisRequest request;
    Validity validity;
    validity.nodata.push_back({std::nullopt, -9999});
    request.validity = std::make_shared<Validity>(validity);
    const auto range_of = [&](std::int64_t width) {
        const Analysis found =
            make_engine("cpu")->analyze(packed_view(samples.data(), width, 1, 1, Depth::s16), request);
        return plot_panel(found, statistics(found)).histogram.range;
    };
    EXPECT_EQ(range_of(4), (Range{-37, 987}));
    EXPECT_EQ(range_of(1), (Range{-32768, 32768}));
}

TEST(Excluded, IsCountedForPeople) {
    Statistics gray;
    gray.channel = Channel::gray;
    gray.pixels = 490000;
    EXPECT_EQ(excluded_text({gray}), "");
    gray.masked = 15840;
    EXPECT_EQ(excluded_text({gray}), "15,840 masked");
    gray.nodata = 102000;
    EXPECT_EQ(excluded_text({gray}), "102,000 nodata (20.8 %), 15,840 masked");
    Statistics alpha = gray, luma = gray, all = gray, band = gray;
    alpha.channel = Channel::alpha;
    luma.channel = Channel::luma;
    all.channel = Channel::all;
    EXPECT_EQ(excluded_text({gray, alpha, luma, all}), excluded_text({gray}));
    band.nodata = 1;
    band.masked = 0;
    EXPECT_EQ(excluded_text({band}), "1 nodata (<0.1 %)");
    EXPECT_EQ(excluded_text({gray, band}), "102,001 nodata (10.4 %), 15,840 masked");

    PlotPanel panel = panel_of(std::vector<std::uint8_t>{1, 2, 3});
    EXPECT_EQ(draw_plot_svg({"", {panel}}).find("excluded"), std::string::npos);
    panel.rows = {gray};
    EXPECT_NE(draw_plot_svg({"", {panel}}).find("excluded 102,000 nodata (20.8 %), 15,840 masked<"), std::string::npos);
    EXPECT_FALSE(draw_plot({"", {panel}}, {320, 240}).empty());
}

TEST(PlotRange, KindsOfASetArePanels) {
    const Plot plot = set_of_all_kinds();
    ASSERT_EQ(plot.panels.size(), 3U);
    EXPECT_EQ(plot.title, "cats  7 images");
    EXPECT_EQ(plot.panels[0].heading, "3 images  u8, gray");
    EXPECT_EQ(plot.panels[1].heading, "3 images  u8, color");
    EXPECT_EQ(plot.panels[1].histogram.columns.size(), 4U);
    EXPECT_EQ(plot.panels[2].heading, "1 image  u16, gray");
    EXPECT_EQ(plot.panels[2].histogram.range, (Range{0, 4096}));
}

// --- What SVG says -----------------------------------------------------------------------------------------------

/// Texts of a picture, in the order in which they are drawn.
std::vector<std::string> texts_of(const std::string& svg) {
    std::vector<std::string> texts;
    const std::regex text("<text[^>]*>([^<]*)</text>");
    for (std::sregex_iterator at(svg.begin(), svg.end(), text), end; at != end; ++at) texts.push_back((*at)[1]);
    return texts;
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
}

TEST(Svg, SaysWhatIsDrawn) {
    const auto texts = texts_of(draw_plot_svg(make("color")));
    for (const char* text : {"photo.jpg  300 \u00d7 200  u8, 3 channels", "red", "green", "blue", "luma",
                             "mean \u00b1 std", "0", "128", "255", "value", "pixels", "median "})
        EXPECT_TRUE(has(texts, text)) << text;
    EXPECT_TRUE(has(texts_of(draw_plot_svg(make("nan"))), "nothing to draw: all 10,000 samples are NaN"));
    const auto outlier = texts_of(draw_plot_svg(make("outlier")));
    EXPECT_TRUE(has(outlier, "60 above"));
    EXPECT_TRUE(has(outlier, "60 below"));
    EXPECT_TRUE(has(outlier, "2 NaN \u00b7 1 Inf"));
    EXPECT_TRUE(has(outlier, "value (p0.1 to p99.9)"));
}

TEST(Svg, PercentilesAreOfTheLuma) {
    const auto texts = texts_of(draw_plot_svg(make("color")));
    EXPECT_EQ(std::count(texts.begin(), texts.end(), "luma"), 2);  // in the legend, and before the percentiles
    const auto gray = texts_of(draw_plot_svg(make("constant")));
    EXPECT_TRUE(has(gray, "p01\u2013p99 "));  // all of one value are one label
}

/// Box on a picture.
struct Place {
    double left, top, right, bottom;
};

bool meet(const Place& a, const Place& b) {
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

std::vector<double> numbers_of(const std::string& tag, std::initializer_list<const char*> attributes) {
    std::vector<double> numbers;
    for (const char* name : attributes) {
        std::smatch found;
        const bool any = std::regex_search(tag, found, std::regex(std::string(" ") + name + "=\"([^\"]*)\""));
        numbers.push_back(any ? std::stod(found[1]) : std::nan(""));
    }
    return numbers;
}

/// Counts of bars that run off the top, and where they stand, from left to right.
std::vector<std::pair<std::string, Place>> cut_bars(const std::string& svg) {
    std::vector<std::pair<std::string, Place>> bars;
    const std::regex text("<text[^>]*>\u2191 ([^<]*)</text>");
    for (std::sregex_iterator at(svg.begin(), svg.end(), text), end; at != end; ++at) {
        const auto n = numbers_of((*at)[0], {"x", "y", "textLength"});
        bars.push_back({(*at)[1], {n[0], n[1] - 11, n[0] + n[2], n[1] + 3}});
    }
    std::sort(bars.begin(), bars.end(), [](const auto& a, const auto& b) { return a.second.left < b.second.left; });
    return bars;
}

Place area_of(const std::string& svg) {
    std::smatch axis;  // the first filled shape below steps spans the values that occur: here all
    EXPECT_TRUE(std::regex_search(svg, axis, std::regex("<path d=\"M([0-9]+) ([0-9]+)[^\"]*H([0-9]+)V[0-9]+\" fill=")));
    return {std::stod(axis[1]), 100, std::stod(axis[3]), std::stod(axis[2])};
}

PlotPanel panel_of_counts(const std::vector<std::pair<Channel, std::vector<std::uint64_t>>>& channels) {
    PlotPanel panel;
    panel.histogram.range = {0, 256};
    panel.whole = true;
    for (const auto& [channel, counts] : channels) panel.histogram.columns.push_back({{}, channel, counts});
    return panel;
}

/// Pictures of channels, each of which has a bar of its own, and their lines: color, and pieces of each.
struct Lines {
    std::vector<std::string> texts;
    std::vector<std::pair<std::string, std::size_t>> strokes;
};
Lines lines_of(const std::vector<Channel>& channels, PlotTheme theme = PlotTheme::light) {
    std::vector<std::pair<Channel, std::vector<std::uint64_t>>> counts;
    for (std::size_t i = 0; i < channels.size(); ++i) {
        counts.emplace_back(channels[i], std::vector<std::uint64_t>(256));
        counts.back().second[3 * i + 1] = 1000;
    }
    PlotOptions options;
    options.theme = theme;
    const std::string svg = draw_plot_svg({"", {panel_of_counts(counts)}}, options);
    Lines found{texts_of(svg), {}};
    const std::regex stroke("<path d=\"([^\"]*)\" fill=\"none\" stroke=\"([^\"]*)\"");
    for (std::sregex_iterator at(svg.begin(), svg.end(), stroke), end; at != end; ++at) {
        const std::string path = (*at)[1];
        found.strokes.emplace_back((*at)[2], static_cast<std::size_t>(std::count(path.begin(), path.end(), 'M')));
    }
    return found;
}
std::vector<Channel> bands(int count, std::vector<Channel> before = {}) {
    for (int i = 0; i < count; ++i) before.push_back(static_cast<Channel>(static_cast<int>(Channel::c0) + i));
    return before;
}

TEST(Svg, NoTwoBandsHaveTheSameLine) {
    // Okabe and Ito, black as plots have it.
    const std::set<std::string> all{"#e69f00", "#56b4e9", "#009e73", "#f0e442",
                                    "#0072b2", "#d55e00", "#cc79a7", "#33383d"};
    for (const int count : {1, 4, 8, 9, 16}) {
        SCOPED_TRACE(count);
        const Lines found = lines_of(bands(count));
        ASSERT_EQ(found.strokes.size(), static_cast<std::size_t>(count));
        std::set<std::string> solid, dashed;
        for (const auto& [color, pieces] : found.strokes) {
            EXPECT_TRUE((pieces == 1 ? solid : dashed).insert(color).second) << color;
            EXPECT_EQ(all.count(color), 1U) << color;
        }
        EXPECT_EQ(solid.size(), static_cast<std::size_t>(std::min(count, 8)));
    }
    for (const auto& [color, pieces] : lines_of(bands(6, {Channel::alpha})).strokes)
        EXPECT_TRUE(all.count(color) || color == "#8c959f") << color;
    // Beside colors bands have the colors that these leave.
    for (const PlotTheme theme : {PlotTheme::light, PlotTheme::dark})
        for (const bool alpha : {false, true}) {
            std::vector<Channel> channels{Channel::red, Channel::green, Channel::blue, Channel::luma};
            if (alpha) channels.push_back(Channel::alpha);
            const std::size_t others = channels.size();
            const Lines found = lines_of(bands(alpha ? 4 : 6, channels), theme);
            std::set<std::pair<std::string, bool>> different;
            for (const auto& [color, pieces] : found.strokes) different.emplace(color, pieces > 1);
            EXPECT_EQ(different.size(), others + (alpha ? 4 : 6));
            EXPECT_EQ(found.strokes.size(), different.size());
        }
}

TEST(Svg, MoreBandsThanLinesAreSmallMultiples) {
    for (const int count : {17, 64}) {
        SCOPED_TRACE(count);
        const Lines found = lines_of(bands(count));
        ASSERT_EQ(found.strokes.size(), static_cast<std::size_t>(count));
        for (const auto& [color, pieces] : found.strokes) EXPECT_EQ(color, "#33383d");
        for (int i = 0; i < count; ++i) EXPECT_TRUE(has(found.texts, "c" + std::to_string(i))) << i;
        EXPECT_TRUE(has(found.texts, "1,000"));
        EXPECT_TRUE(has(found.texts, "value"));
        EXPECT_FALSE(has(found.texts, "coinciding"));
    }
    // Whatever their size, and however little is in them.
    std::vector<std::pair<Channel, std::vector<std::uint64_t>>> counts;
    for (const Channel one : bands(64)) counts.emplace_back(one, std::vector<std::uint64_t>(2));
    PlotPanel panel = panel_of_counts(counts);
    for (const int side : {320, 600, 2000}) {
        PlotOptions options;
        options.width = side;
        options.height = std::max(240, side / 2);
        for (const bool log : {false, true}) {
            options.log_counts = log;
            EXPECT_EQ(draw_plot({"", {panel}}, options).cols, side);
        }
    }
    panel.histogram.columns[3].below = 5;
    panel.histogram.columns[9].nan = 7;
    EXPECT_TRUE(has(texts_of(draw_plot_svg({"", {panel}})), "5 below \u00b7 7 NaN"));
}

TEST(Svg, ABarThatRunsOffTheTopHasItsOwnCount) {
    std::vector<std::uint64_t> counts(256, 100);
    counts[3] = 1773000;
    counts[4] = 900000;  // its neighbor runs off as well
    counts[100] = 5000;
    counts[255] = 31415;
    const std::string svg = draw_plot_svg({"", {panel_of_counts({{Channel::gray, counts}})}});
    const auto bars = cut_bars(svg);
    ASSERT_EQ(bars.size(), 3U);
    const Place area = area_of(svg);
    const double bin = (area.right - area.left) / 256;
    // Right of its bar, or left of it where the picture ends.
    EXPECT_EQ(bars[0].first, "1,773,000");
    EXPECT_NEAR(bars[0].second.left, area.left + 5 * bin + 5, 1.5);
    EXPECT_EQ(bars[1].first, "5,000");
    EXPECT_NEAR(bars[1].second.left, area.left + 101 * bin + 5, 1.5);
    EXPECT_EQ(bars[2].first, "31,415");
    EXPECT_NEAR(bars[2].second.right, area.left + 255 * bin - 5, 1.5);
}

/// Counts of many bars at one edge stand below each other; of those that have no room it is said how many there are.
TEST(Svg, CountsOfBarsKeepClearOfEachOther) {
    std::vector<std::pair<Channel, std::vector<std::uint64_t>>> channels;
    for (const Channel channel : {Channel::red, Channel::green, Channel::blue, Channel::luma, Channel::alpha})
        channels.push_back({channel, std::vector<std::uint64_t>(256, 100)});
    std::uint64_t count = 700000;
    for (auto& [channel, counts] : channels) counts[0] = counts[255] = ++count;
    std::string svg = draw_plot_svg({"", {panel_of_counts(channels)}});
    EXPECT_EQ(cut_bars(svg).size(), 10U);
    for (auto& [channel, counts] : channels)
        for (const std::size_t bin : {2, 4, 40}) counts[bin] = ++count;
    for (const int height : {600, 300}) {
        PlotOptions options;
        options.height = height;
        svg = draw_plot_svg({"", {panel_of_counts(channels)}}, options);
        const auto bars = cut_bars(svg);
        const Place area = area_of(svg);
        const double bin = (area.right - area.left) / 256;
        EXPECT_GE(bars.size(), 5U);
        for (std::size_t i = 0; i < bars.size(); ++i) {
            EXPECT_GE(bars[i].second.left, area.left);
            EXPECT_LE(bars[i].second.right, area.right);
            EXPECT_LE(bars[i].second.bottom, area.bottom);
            for (std::size_t j = 0; j < i; ++j)
                EXPECT_FALSE(meet(bars[i].second, bars[j].second)) << bars[i].first << ' ' << bars[j].first;
            for (const int cut : {0, 2, 4, 40, 255}) {
                const double left = area.left + cut * bin;
                EXPECT_FALSE(meet(bars[i].second, {left, 0, left + bin, area.bottom})) << bars[i].first << ' ' << cut;
            }
        }
        const auto texts = texts_of(svg);
        const auto note = std::find_if(texts.begin(), texts.end(), [](const std::string& text) {
            return text.find(" more bars run off the top, to ") != text.npos;
        });
        ASSERT_NE(note, texts.end());
        EXPECT_EQ(std::stoul(*note), 25 - bars.size()) << *note;
    }
}

TEST(Svg, PercentilesHaveRoomOrAreLinesAlone) {
    for (const int width : {320, 400, 600, 1200}) {
        PlotOptions options = options_of("outlier");
        options.width = width;
        const std::string svg = draw_plot_svg(make("outlier"), options);
        std::vector<Place> places;
        const std::regex text("<text[^>]*>(p[0-9]{2} |median )</text>\\n(<text[^>]*>)");
        for (std::sregex_iterator at(svg.begin(), svg.end(), text), end; at != end; ++at) {
            const auto name = numbers_of((*at)[0], {"x", "y", "textLength"}),
                       value = numbers_of((*at)[2], {"x", "y", "textLength"});
            places.push_back({name[0], name[1] - 11, value[0] + value[2], name[1] + 3});
        }
        EXPECT_GE(places.size(), width < 1200 ? 1U : 5U) << width;
        EXPECT_NE(svg.find("median "), std::string::npos);
        for (std::size_t i = 0; i < places.size(); ++i) {
            EXPECT_GE(places[i].left, 0) << width;
            EXPECT_LE(places[i].right, width) << width;
            for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(meet(places[i], places[j])) << width;
        }
    }
}

/// Lines on each other are dashes of all their colors, and the legend says so.
TEST(Svg, ChannelsOnEachOtherAreDashes) {
    const std::string svg = draw_plot_svg(make("gray_as_color"));
    EXPECT_TRUE(has(texts_of(svg), "coinciding"));
    for (const char* color : {"#d55e00", "#009e73", "#0072b2", "#33383d"}) {
        const std::regex stroke(std::string("<path d=\"([^\"]*)\" fill=\"none\" stroke=\"") + color + '"');
        std::vector<std::size_t> pieces;
        for (std::sregex_iterator at(svg.begin(), svg.end(), stroke), end; at != end; ++at) {
            const std::string path = (*at)[1];
            pieces.push_back(static_cast<std::size_t>(std::count(path.begin(), path.end(), 'M')));
        }
        ASSERT_GE(pieces.size(), 1U) << color;
        if (std::string(color) != "#0072b2") {  // which is drawn last
            ASSERT_EQ(pieces.size(), 2U) << color;
            EXPECT_GT(pieces[1], 100U) << color;
        }
    }
    PlotPanel apart = panel_of_counts({{Channel::red, std::vector<std::uint64_t>(256)}});
    apart.histogram.columns.push_back(apart.histogram.columns[0]);
    apart.histogram.columns[1].channel = Channel::green;
    apart.histogram.columns[0].counts[9] = apart.histogram.columns[1].counts[200] = 5;
    EXPECT_FALSE(has(texts_of(draw_plot_svg({"", {apart}})), "coinciding"));
}

TEST(Svg, NamesAreEscaped) {
    PlotPanel panel = panel_of(std::vector<std::uint8_t>{1, 2, 3});
    const std::string svg = draw_plot_svg({"<b>&\"\x01\xFF\xC0\xBC gr\u00fc\u00df", {panel}});
    EXPECT_NE(svg.find("<title>&lt;b&gt;&amp;\"????"), std::string::npos) << svg.substr(0, 400);
    EXPECT_NE(svg.find("gr\u00fc\u00df</text>"), std::string::npos);
    for (const char c : svg) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(Svg, ThemesAndFormats) {
    const Plot plot = make("gray");
    PlotOptions dark;
    dark.theme = PlotTheme::dark;
    EXPECT_NE(draw_plot_svg(plot, dark).find("height=\"600\" fill=\"#0d1117\""), std::string::npos);
    EXPECT_EQ(draw_plot(plot, dark).at<cv::Vec3b>(599, 0), cv::Vec3b(0x17, 0x11, 0x0d));
    const auto svg = encode_plot(plot, PlotFormat::svg, dark);
    EXPECT_EQ(std::string(svg.begin(), svg.end()), draw_plot_svg(plot, dark));
    const auto png = encode_plot(plot, PlotFormat::png, dark);
    EXPECT_EQ(cv::norm(test::decode(png), draw_plot(plot, dark), cv::NORM_INF), 0);
}

}  // namespace
