// The command as a user meets it: exit codes, messages, files, standard output.
//
// Environment: GPUHIST_PROGRAM, the program; GPUHIST_GOLDEN, the folder of expected outputs.
#include "support/command.hpp"

#include <sched.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>
#include <sstream>

#include "gpuhist/io/sink.hpp"
#include "support/golden.hpp"
#include "support/modes.hpp"

namespace {

using namespace command;
using gpuhist::test::expect_golden;
namespace fs = std::filesystem;

// ---------------------------------------------------------------------------------------------------------- usage

/// Expects a text of at most so many lines of 80 characters.
void expect_fits(const std::string& text, std::size_t most) {
    std::istringstream lines(text);
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line); ++number) EXPECT_LE(line.size(), 80u) << line;
    EXPECT_LE(number, most) << text;
}

constexpr std::size_t screen = 24;

TEST_F(Command, WithoutArgumentsShowsOneScreenOnStandardError) {
    const Outcome outcome = run({});
    EXPECT_EQ(outcome.code, usage_error);
    EXPECT_EQ(outcome.out, "");
    for (const char* part : {"Usage: gpuhist", "gpuhist photo.jpg", "gpuhist --help", "gpuhist help TOPIC"})
        EXPECT_TRUE(contains(outcome.err, part)) << part;
    expect_fits(outcome.err, screen);
}

TEST_F(Command, HelpFitsInSixScreens) {
    const Outcome outcome = run({"--help"});
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_EQ(outcome.err, "");
    for (const char* part : {"[gpuhist-out]", "devices", "(gpuhist help regions)", "\n  -o, --output DIR "})
        EXPECT_TRUE(contains(outcome.out, part)) << part;
    EXPECT_FALSE(contains(outcome.out, "--on-truncated"));
    expect_fits(outcome.out, 6 * screen);
    for (const std::vector<std::string>& same : {std::vector<std::string>{"-h"}, {"help"}, {"x.png", "--help"}})
        EXPECT_EQ(run(same).out, outcome.out);
}

TEST_F(Command, HelpExplainsTopicsAndCommands) {
    const std::string overview = run({"--help"}).out;
    std::size_t topics = 0;
    for (std::size_t at = 0; (at = overview.find("(gpuhist help ", at)) != overview.npos; ++topics) {
        at += 14;
        const std::string topic = overview.substr(at, overview.find(')', at) - at);
        const Outcome help = run({"help", topic});
        EXPECT_EQ(help.code, all_done) << help.err;
        EXPECT_TRUE(contains(help.out, "\n  --")) << topic;  // its options
        expect_fits(help.out, topic == "statistics" ? 11 * screen : 2 * screen);
        EXPECT_TRUE(contains(run({}).err, topic)) << topic;
    }
    EXPECT_EQ(topics, 14u);
    for (const char* part : {"(9798 R + 19235 G + 3735 B + 16384) >> 15", "population", "numpy.percentile",
                             "sum p log2 p", "effective_bits", "\n  wp01, wp05"})
        EXPECT_TRUE(contains(run({"help", "statistics"}).out, part)) << part;
    EXPECT_TRUE(contains(run({"help", "regions"}).out, "\n  --roi NAME=X,Y,W,H "));
    EXPECT_TRUE(contains(run({"help", "errors"}).out, "\n  130  the run was interrupted"));
    for (const char* command : {"manifest", "merge", "columns", "formats", "devices", "completion", "help"}) {
        const std::string help = run({"help", command}).out;
        EXPECT_EQ(help, run({command, "--help"}).out);
        EXPECT_EQ(help.rfind(std::string("Usage: gpuhist ") + command, 0), 0u) << help;
        expect_fits(help, 2 * screen);
    }
    const Outcome unknown = run({"help", "regoins"});
    EXPECT_EQ(unknown.code, usage_error);
    EXPECT_EQ(unknown.err,
              "gpuhist: help: no topic or command 'regoins': did you mean regions?\nSee gpuhist --help.\n");
    save("x.png", make_image(4, 4, CV_8UC1));
    fs::rename(at("x.png"), at("help"));
    EXPECT_EQ(run({"./help", "--dry-run", "-q"}).out, "./help\n");
}

TEST_F(Command, HelpThatCannotBePrintedIsAnOutputFailure) {
    EXPECT_EQ(run({"--help"}, {Out::full_device}).code, output_failed);
}

TEST_F(Command, WrongUsageIsSaidAndNothingIsDone) {
    save("x.png", make_image(16, 16, CV_8UC3));
    fs::create_directory(at("dir"));
    save("dir/y.png", make_image(16, 16, CV_8UC1));
    std::string formats = "table";
    for (const std::string& format : gpuhist::io::sink_formats()) formats += ", " + format;
    const struct {
        std::vector<std::string> arguments;
        std::string message;
    } cases[] = {
        {{"--frobnicate", "x.png"}, "--frobnicate"},
        {{"-q"}, "no input"},
        {{""}, "empty"},
        {{"x.png", "--output", ""}, "--output"},
        {{"x.png", "--output"}, "--output"},
        {{"x.png", "--write", "stats,frob"}, "'frob' is not one of stats,histogram,plot,normalized,parquet,none"},
        {{"x.png", "--write", "parquet"}, "--write parquet: the Python package writes it"},
        {{"x.png", "--write", "parquet", "--shard", "1/2"}, "--write parquet applies to results"},
        {{"x.png", "--write", "stats,none"}, "'none' can't be combined with others"},
        {{"x.png", "--write", ""}, "--write"},
        {{"x.png", "--normalize", "zcore"}, "'zcore' is not one of " + gpuhist::test::mode_names()},
        {{"x.png", "--normalize", "zscore", "--write", "stats"}, "which --write leaves out"},
        {{"dir", "--normalize", "zscore", "--write", "stats"}, "which --write leaves out"},
        {{"x.png", "--percentiles", "2,98"}, "--percentiles applies only to --normalize percentile"},
        {{"x.png", "--percentiles", "2,98", "--normalize", "minmax"}, "--percentiles applies only to"},
        {{"x.png", "--percentiles", "98,2", "--normalize", "percentile"}, "0 <= LO < HI <= 100"},
        {{"x.png", "--percentiles", "-1,50", "--normalize", "percentile"}, "0 <= LO < HI <= 100"},
        {{"x.png", "--percentiles", "1,101", "--normalize", "percentile"}, "0 <= LO < HI <= 100"},
        {{"x.png", "--percentiles", "1", "--normalize", "percentile"}, "not two numbers"},
        {{"x.png", "--percentiles", "nan,5", "--normalize", "percentile"}, "not two numbers"},
        {{"x.png", "--channels", "apart"}, "'apart' is not one of joint, separate"},
        {{"x.png", "--channels", "joint", "--write", "plot"}, "--channels"},
        {{"x.png", "--bins", "0"}, "--bins"},
        {{"x.png", "--bins", "12.5"}, "--bins"},
        {{"x.png", "--bins", "16777217"}, "--bins"},
        {{"x.png", "--bins", "full", "--range", "0,128"}, "--bins full"},
        {{"x.png", "--bins", "16", "--write", "stats", "--format", "csv"}, "--bins applies to"},
        {{"x.png", "--range", "0,9", "--write", "plot"}, "--range applies to the histogram file"},
        {{"x.png", "--plot-range", "some"}, "'some' is not one of auto, full and LO,HI"},
        {{"x.png", "--plot-range", "9,5"}, "'9,5' is not LO,HI with LO < HI"},
        {{"x.png", "--plot-range", "0,many"}, "not two numbers"},
        {{"x.png", "--plot-range", "full", "--write", "stats", "--format", "csv"}, "--plot-range applies to the plot"},
        {{"x.png", "--plot-format", "png,pdf"}, "'pdf' is not one of png,svg"},
        {{"x.png", "--plot-format", "svg", "--write", "histogram"}, "--plot-format applies to the plot"},
        {{"x.png", "--plot-theme", "blue"}, "'blue' is not one of light, dark"},
        {{"x.png", "--plot-theme", "dark", "--write", "none"}, "--plot-theme applies to the plot"},
        {{"x.png", "--range", "5,5"}, "LO < HI"},
        {{"x.png", "--range", "9,5"}, "LO < HI"},
        {{"x.png", "--range", "0,inf"}, "not two numbers"},
        {{"x.png", "--range", "0,1,2"}, "not two numbers"},
        {{"x.png", "--log", "--write", "stats", "--format", "json"}, "--log applies to"},
        {{"x.png", "--write", "none", "--output", "there"}, "--write none"},
        {{"x.png", "--engine", "gpu"}, "'gpu' is not one of auto, cuda, cpu"},
        {{"x.png", "--engine", "cpu", "--gpu", "0"}, "--gpu can't be combined with --engine cpu"},
        {{"x.png", "--gpu", "-1"}, "--gpu"},
        {{"x.png", "--engine", "cpu", "--gpus", "all"}, "--gpus can't be combined with --engine cpu"},
        {{"x.png", "--gpu", "0", "--gpus", "0,1"}, "give one of them"},
        {{"x.png", "--gpus", "0,0"}, "GPU 0 is given twice"},
        {{"x.png", "--gpus", "0,many"}, "'many' is not a whole number"},
        {{"x.png", "--jpeg-on", "tpu"}, "'tpu' is not one of auto, cpu, gpu"},
        {{"x.png", "--threads", "0"}, "--threads"},
        {{"x.png", "--threads", "many"}, "--threads"},
        {{"x.png", "--format", "xml"}, "'xml' is not one of " + formats},
        {{"x.png", "--max-pixels", "0"}, "--max-pixels"},
        {{"x.png", "--max-pixels", "-5"}, "--max-pixels"},
        {{"x.png", "--on-damaged", "ignore"}, "'ignore' is not one of error, accept"},
        {{"x.png", "--on-truncated", "ignore"}, "'ignore' is not one of error, accept"},
        {{"x.png", "--on-truncated", "accept", "--on-damaged", "accept"},
         "--on-truncated is the old name of --on-damaged: give one of them"},
        {{"x.png", "--white", "0"}, "'0' is not a number above 0, such as 4095"},
        {{"x.png", "--white", "-1"}, "'-1' is not a number above 0"},
        {{"x.png", "--white", "nan"}, "'nan' is not a number above 0"},
        {{"x.png", "--white", "inf"}, "'inf' is not a number above 0"},
        {{"x.png", "--white", "12bits"}, "'12bits' is not a number above 0"},
        {{"x.png", "--white", ""}, "'' is not a number above 0"},
        {{"x.png", "--white", "4095", "--write", "plot", "-q"}, "--white applies to stats"},
        {{"x.png", "--color", "sometimes"}, "'sometimes' is not one of auto, always, never"},
        {{"x.png", "--engine", "cpu", "--engine", "cpu"}, "--engine"},
        {{"x.png", "--percentile-columns", ""}, "'' is not a number"},
        {{"x.png", "--percentile-columns", "1,,2"}, "'' is not a number"},
        {{"x.png", "--percentile-columns", "1,many"}, "'many' is not a number: list percentiles as in 1,50,99.9"},
        {{"x.png", "--percentile-columns", "nan"}, "'nan' is not a number"},
        {{"x.png", "--percentile-columns", "1,101"}, "percentile 101.000000: 0 to 100 are supported"},
        {{"x.png", "--percentile-columns", "-1"}, "0 to 100 are supported"},
        {{"x.png", "--percentile-columns", "1,50,1"}, "percentile p01 is given twice"},
        {{"x.png", "--percentile-columns",
          "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,"
          "28,29,30,31,32"},
         "33 percentiles: 1 to 32 are supported"},
        {{"x.png", "--percentile-columns", "1", "--write", "histogram", "-q"}, "--percentile-columns applies to stats"},
        {{"columns", "x.png"}, "x.png"},
        {{"columns", "--format", "csv"}, "'csv' is not one of table, json, markdown"},
        {{"columns", "--percentile-columns", "1,1"}, "percentile p01 is given twice"},
        {{"devices", "x.png"}, "'devices' takes no images"},
        {{"-q", "devices"}, "'devices' has no option '-q'"},
    };
    for (const auto& [arguments, message] : cases) {
        const Outcome outcome = run(arguments);
        const std::string shown = testing::PrintToString(arguments) + "\n" + outcome.err;
        EXPECT_EQ(outcome.code, usage_error) << shown;
        EXPECT_EQ(outcome.out, "") << shown;
        EXPECT_EQ(outcome.err.rfind("gpuhist: ", 0), 0u) << shown;
        EXPECT_TRUE(contains(outcome.err, message)) << shown;
        EXPECT_FALSE(fs::exists(at("gpuhist-out"))) << shown;
    }
}

// -------------------------------------------------------------------------------------------------------- engines

TEST_F(Command, DevicesSaysWhichEngineAutoTakesWhen) {
    const Outcome devices = run({"devices"});
    EXPECT_EQ(devices.code, all_done);
    for (const char* part : {"engines\n", "\n  cuda  ", "\n  cpu   available", "\nGPUs\n", "\nauto "})
        EXPECT_TRUE(contains(devices.out, part)) << part << "\n" << devices.out;
    const bool gpu = contains(devices.out, "\n  cuda  available");
    EXPECT_TRUE(contains(devices.out, gpu ? "\nauto begins on the CPU, and measures a single image there. "
                                          : "\nauto uses the CPU, because cuda is not available\n"));
}

// A context costs more than a few images: none is made for them, which the processor's time would show; and what
// measured an image is in the summary alone.
TEST_F(Command, AFewImagesAreMeasuredByTheCpu) {
    save("x.png", make_image(8, 8, CV_8UC1));
    save("y.png", make_image(8, 8, CV_8UC3));
    const Outcome outcome = run({"x.png", "y.png"});
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "; 2 images on cpu; the limit: ")) << outcome.err;
    for (const std::string& name : files_below("gpuhist-out"))
        EXPECT_FALSE(contains(read_text(at("gpuhist-out/" + name)), "cpu")) << name;
}

TEST_F(Command, AnEngineThatIsNotThereIsAnError) {
    save("x.png", make_image(8, 8, CV_8UC1));
    std::vector<std::vector<std::string>> impossible{{"x.png", "--gpu", "1023"}};
    if (!contains(run({"devices"}).out, "\n  cuda  available")) {
        impossible.push_back({"x.png", "--engine", "cuda"});
        impossible.push_back({"x.png", "missing.png", "--gpu", "0"});
    }
    for (const auto& arguments : impossible) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.code, engine_failed) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_TRUE(contains(outcome.err, "gpuhist: ") && contains(outcome.err, "cuda")) << outcome.err;
        EXPECT_FALSE(fs::exists(at("gpuhist-out")));
    }
}

TEST_F(Command, ThreadsDoNotChangeTheResult) {
    save("x.png", make_image(301, 200, CV_8UC3));
    const auto one = run({"x.png", "--engine", "cpu", "--threads", "1", "--write", "none", "--format", "csv"});
    const auto four = run({"x.png", "--engine", "cpu", "--threads", "4", "--write", "none", "--format", "csv"});
    EXPECT_EQ(one.code, all_done) << one.err;
    EXPECT_EQ(one.out, four.out);
    EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 6);
}

// -------------------------------------------------------------------------------------------------------- columns

TEST_F(Command, ColumnsSayWhatTheyMean) {
    const Outcome table = run({"columns"});
    EXPECT_EQ(table.code, all_done);
    EXPECT_EQ(table.err, "");
    EXPECT_EQ(table.out.rfind("name                 unit", 0), 0u) << table.out;
    const auto json = nlohmann::ordered_json::parse(run({"columns", "--format", "json"}).out);
    std::string names;
    std::istringstream lines(table.out);
    std::string line;
    std::getline(lines, line);
    for (const auto& column : json) {
        std::vector<std::string> keys;
        for (const auto& item : column.items()) keys.push_back(item.key());
        EXPECT_EQ(keys, (std::vector<std::string>{"name", "unit", "type", "definition", "source", "for"}));
        ASSERT_TRUE(std::getline(lines, line));
        EXPECT_EQ(line.rfind(column["name"].get<std::string>() + ' ', 0), 0u) << line;
        for (const char* key : {"unit", "type", "definition", "source", "for"})
            EXPECT_TRUE(contains(line, column[key].get<std::string>())) << line;
        names.append(",").append(column["name"].get<std::string>());
    }
    EXPECT_FALSE(std::getline(lines, line)) << line;
    EXPECT_TRUE(contains(names, ",entropy,p01,p05,p25,median,p75,p95,p99,clipped_low")) << names;
    EXPECT_TRUE(contains(names, ",effective_bits,mean_01,std_01")) << names;
    EXPECT_TRUE(contains(run({"columns", "--format", "markdown"}).out, "| `p01`, `p05`, `p25`, `median`,"));
    const Outcome other = run({"columns", "--percentile-columns", "0.5,99.9"});
    EXPECT_TRUE(contains(other.out, "\np0.5 ") && contains(other.out, "\np99.9 ")) << other.out;
    EXPECT_FALSE(contains(other.out, "\nmedian ")) << other.out;
    EXPECT_EQ(run({"columns"}, {Out::full_device}).code, output_failed);
    EXPECT_TRUE(contains(run({"columns", "--help"}).out, "--percentile-columns"));
}

TEST_F(Command, PercentileColumnsFollowTheList) {
    cv::Mat image(1, 101, CV_8UC1), floats(1, 11, CV_32FC1);
    for (int i = 0; i < image.cols; ++i) image.at<std::uint8_t>(0, i) = static_cast<std::uint8_t>(2 * i);
    for (int i = 0; i < floats.cols; ++i) floats.at<float>(0, (i * 7) % 11) = static_cast<float>(i) / 2;
    save("x.png", image);
    save("y.tiff", floats);
    using Fields = std::vector<std::string>;
    const auto fields_of = [](const std::string& line) {
        Fields fields{""};
        for (const char c : line) c == ',' ? fields.emplace_back() : fields.back() += c;
        return fields;
    };
    const auto between = [&](const std::string& csv) {  // after entropy, before clipped_low: names, and a row's values
        const std::size_t end = csv.find('\n');
        const Fields names = fields_of(csv.substr(0, end));
        const Fields values = fields_of(csv.substr(end + 1, csv.find('\n', end + 1) - end - 1));
        const auto first = std::find(names.begin(), names.end(), "entropy") + 1 - names.begin();
        const auto last = std::find(names.begin(), names.end(), "clipped_low") - names.begin();
        return std::pair(Fields(names.begin() + first, names.begin() + last),
                         Fields(values.begin() + first, values.begin() + last));
    };
    const std::string list = "99.9,50,0.25,100,0";
    const Outcome csv = run({"x.png", "--write", "none", "--format", "csv", "--percentile-columns", list});
    ASSERT_EQ(csv.code, all_done) << csv.err;
    EXPECT_EQ(between(csv.out).first, (Fields{"p99.9", "median", "p0.25", "p100", "p00"}));
    EXPECT_EQ(between(csv.out).second, (Fields{"199.8", "100", "0.5", "200", "0"}));
    const Outcome json = run({"x.png", "--write", "none", "--format", "json", "--percentile-columns", list});
    EXPECT_TRUE(contains(json.out, R"("p99.9":199.8,"median":100.0,"p0.25":0.5,"p100":200.0,"p00":0.0)")) << json.out;

    const Outcome seven = run({"y.tiff", "--write", "none", "--format", "csv", "--engine", "cpu",
                               "--percentile-columns", "0,2.5,10,50,97.5,99,100"});
    ASSERT_EQ(seven.code, all_done) << seven.err;
    EXPECT_EQ(between(seven.out).second, (Fields{"0", "0.125", "0.5", "2.5", "4.875", "4.95", "5"}));
    // The table shows the lowest and the highest where the 1st and the 99th were not asked for.
    const Outcome table = run({"x.png", "--write", "none", "--percentile-columns", "10,50,90"});
    EXPECT_TRUE(contains(table.out, " min  p10  median  p90  max ")) << table.out;
    const Outcome one = run({"x.png", "--write", "plot", "--percentile-columns", "75"});
    EXPECT_TRUE(contains(one.out, " min  p75  max ")) << one.out;
}

TEST_F(Command, PercentileColumnsOfFloatsMayBeMany) {
    cv::Mat floats(1, 101, CV_32FC3);
    for (int i = 0; i < 3 * floats.cols; ++i) floats.ptr<float>(0)[i] = static_cast<float>((i * 37) % 101);
    save("y.pfm", floats);
    const Outcome outcome = run({"y.pfm", "--write", "none", "--format", "csv", "--engine", "cpu",
                                 "--percentile-columns", "0.5,1,2,5,10,25,50,75,90,95,99,99.5"});
    ASSERT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "entropy,p0.5,p01,p02,p05,p10,p25,median,p75,p90,p95,p99,p99.5,clipped_low"))
        << outcome.out;
    EXPECT_TRUE(contains(outcome.out, ",0.5,1,2,5,10,25,50,75,90,95,99,99.5,,")) << outcome.out;
}

// ------------------------------------------------------------------------------------------------- golden outputs

class Golden : public Command, public testing::WithParamInterface<const char*> {};

TEST_P(Golden, EveryText) {
    const std::string kind = GetParam();
    cv::Mat image;
    std::string file = kind + ".png";
    if (kind == "gray8") image = make_image(61, 40, CV_8UC1);
    if (kind == "bgr8") image = make_image(61, 40, CV_8UC3);
    if (kind == "bgra8") image = make_image(33, 20, CV_8UC4);
    if (kind == "gray16") image = make_image(61, 40, CV_16UC1);
    if (kind == "bgr16") image = make_image(61, 40, CV_16UC3);
    if (kind == "constant8") image = cv::Mat(7, 9, CV_8UC1, cv::Scalar(255));
    if (kind == "gray32") {
        file = kind + ".tiff";
        image = make_image(61, 40, CV_32FC1);
        image.at<float>(0, 0) = image.at<float>(3, 4) = std::numeric_limits<float>::quiet_NaN();
        image.at<float>(5, 6) = -std::numeric_limits<float>::infinity();
    }
    ASSERT_FALSE(image.empty());
    save(file, image);

    const Outcome table = run({file, "--engine", "cpu"});
    EXPECT_EQ(table.code, all_done) << table.err;
    EXPECT_EQ(table.err, kind == "constant8"
                             ? "gpuhist: constant8.png: its normalized copy is unchanged: it has one value\n"
                             : "");
    expect_golden(kind + ".table.txt", table.out);
    expect_golden(kind + ".stats.csv", read_text(at("gpuhist-out/stats.csv")));
    expect_golden(kind + ".histogram.csv", read_text(at("gpuhist-out/" + file + ".histogram.csv")));
    const cv::Mat plot = load("gpuhist-out/" + file + ".histogram.png");
    EXPECT_EQ(plot.size(), cv::Size(1200, 600));

    const Outcome json = run({file, "--engine", "cpu", "--format", "json", "--write", "none"});
    EXPECT_EQ(json.code, all_done) << json.err;
    expect_golden(kind + ".json", json.out);

    const Outcome csv = run({file, "--engine", "cpu", "--format", "csv", "--write", "none"});
    EXPECT_EQ(csv.out, read_text(at("gpuhist-out/stats.csv")));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Golden,
                         testing::Values("gray8", "bgr8", "bgra8", "gray16", "bgr16", "gray32", "constant8"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_F(Command, TableInAscii) {
    save("x.png", make_image(61, 40, CV_8UC3));
    const Outcome outcome =
        run({"x.png", "--engine", "cpu", "--write", "none"}, {Out::file, "/dev/null", {"LC_ALL=C"}});
    EXPECT_TRUE(std::all_of(outcome.out.begin(), outcome.out.end(), [](char c) { return c > 0; })) << outcome.out;
    expect_golden("ascii.table.txt", outcome.out);
}

TEST_F(Command, TableWithRangeAndLogarithm) {
    save("x.png", make_image(61, 40, CV_8UC3));
    const Outcome outcome = run({"x.png", "--engine", "cpu", "--write", "histogram", "--bins", "10", "--range",
                                 "-10,190", "--plot-range", "-10,190", "--log"});
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    expect_golden("range.table.txt", outcome.out);
    expect_golden("range.histogram.csv", read_text(at("gpuhist-out/x.png.histogram.csv")));
}

TEST_F(Command, PicturesHaveARangeOfTheirOwn) {
    cv::Mat twelve(64, 64, CV_16UC1);
    for (int i = 0; i < 4096; ++i) twelve.ptr<std::uint16_t>(0)[i] = static_cast<std::uint16_t>(i);
    save("x.png", twelve);
    const Outcome table = run({"x.png", "--write", "none"});
    EXPECT_TRUE(contains(table.out, "(12 of 16 bits)")) << table.out;
    EXPECT_TRUE(contains(table.out, "2048")) << table.out;
    EXPECT_FALSE(contains(table.out, "65536")) << table.out;
    EXPECT_FALSE(contains(run({"x.png", "--write", "none", "--plot-range", "full"}).out, "of 16 bits"));
    const Outcome given = run({"x.png", "--write", "none", "--plot-range", "0,100", "--format", "table"});
    EXPECT_TRUE(contains(given.out, "3996 above")) << given.out;

    // One outlier of 1e9; the written histogram keeps its range, and neither range moves the other.
    cv::Mat floats(64, 64, CV_32FC1);
    for (int i = 0; i < 4096; ++i) floats.ptr<float>(0)[i] = static_cast<float>(i % 100);
    floats.at<float>(9, 9) = 1e9F;
    save("y.tiff", floats);
    const Outcome outlier =
        run({"y.tiff", "--write", "histogram,plot", "--plot-format", "png,svg", "--plot-theme", "dark"});
    ASSERT_EQ(outlier.code, all_done) << outlier.err;
    EXPECT_TRUE(contains(outlier.out, "(p0.1 to p99.9)")) << outlier.out;
    EXPECT_TRUE(contains(outlier.out, " 1 above")) << outlier.out;
    const std::string svg = read_text(at("gpuhist-out/y.tiff.histogram.svg"));
    EXPECT_TRUE(contains(svg, ">y.tiff  64 \u00d7 64  f32, 1 channel</text>")) << svg.substr(0, 1000);
    EXPECT_TRUE(contains(svg, ">1 above</text>"));
    EXPECT_TRUE(contains(read_text(at("gpuhist-out/y.tiff.histogram.csv")), ",1e+09,1\n"));
    const std::string written = read_text(at("gpuhist-out/y.tiff.histogram.csv"));
    ASSERT_EQ(run({"y.tiff", "-q", "--write", "histogram,plot", "--plot-range", "3,9"}).code, all_done);
    EXPECT_EQ(read_text(at("gpuhist-out/y.tiff.histogram.csv")), written);
    const std::string plot = read_text(at("gpuhist-out/y.tiff.histogram.png"));
    ASSERT_EQ(run({"y.tiff", "-q", "--write", "histogram,plot", "--plot-range", "3,9", "--range", "0,1"}).code,
              all_done);
    EXPECT_TRUE(read_text(at("gpuhist-out/y.tiff.histogram.png")) == plot);
    EXPECT_FALSE(read_text(at("gpuhist-out/y.tiff.histogram.csv")) == written);
}

TEST_F(Command, ADirectoryThatCannotBeMadeIsToldOnce) {
    save("x.png", make_image(5, 4, CV_8UC3));
    const Outcome outcome =
        run({"x.png", "-q", "--write", "stats,histogram,plot,normalized", "--normalize", "minmax", "-o", "/proc/none"});
    EXPECT_EQ(outcome.code, output_failed);
    EXPECT_EQ(outcome.err, "gpuhist: /proc/none: cannot make this directory: No such file or directory\n");
}

/// Nobody asked for the range of a histogram, and any that is asked for is shown.
TEST_F(Command, EndsMayLieFurtherApartThanTheLargestDouble) {
    save("x.tiff", cv::Mat(6, 9, CV_64FC1, cv::Scalar(std::numeric_limits<double>::max())));
    for (const char* write : {"stats", "stats,histogram,plot"}) {
        const Outcome all = run({"x.tiff", "--write", write, "--format", "table"});
        EXPECT_EQ(all.code, all_done) << all.err;
        EXPECT_TRUE(contains(all.out, "1.79769e+308")) << all.out;
    }
    const std::string counts = read_text(at("gpuhist-out/x.tiff.histogram.csv"));
    EXPECT_TRUE(contains(counts, ",1.7976931348623157e+308,54\n")) << counts;

    cv::Mat ends(1, 4, CV_64FC1);
    for (int i = 0; i < 4; ++i) ends.at<double>(0, i) = std::array{-1.5e308, 0.0, 5.0, 1.5e308}[i];
    save("y.tiff", ends);
    save("z.png", make_image(5, 4, CV_8UC1));
    const std::vector<std::string> shown{
        "--plot-range=-1e308,1e308", "--write", "plot", "--format", "table", "--plot-format", "svg"};
    const auto with = [&](const char* file) {
        std::vector<std::string> arguments{file};
        arguments.insert(arguments.end(), shown.begin(), shown.end());
        return run(arguments);
    };
    const Outcome outside = with("y.tiff");
    EXPECT_EQ(outside.code, all_done) << outside.err;
    EXPECT_TRUE(contains(outside.out, "1 below  1 above")) << outside.out;
    EXPECT_TRUE(contains(outside.out, "-1e+308      -5e+307            0            5e+307       1e+308"))
        << outside.out;
    EXPECT_TRUE(contains(read_text(at("gpuhist-out/y.tiff.histogram.svg")), ">\u22122e307</text>"));
    EXPECT_EQ(with("z.png").code, all_done);
    const Outcome whole = run({"z.png", "--write", "histogram", "--range=-1e308,1e308"});
    EXPECT_TRUE(contains(whole.err, "the bounds must be whole numbers from -2^53 to 2^53")) << whole.err;
}

TEST_F(Command, FullBinsAreOnePerValue) {
    save("x.png", make_image(61, 40, CV_16UC1));
    ASSERT_EQ(run({"x.png", "--write", "histogram", "--bins", "full"}).code, all_done);
    const std::string csv = read_text(at("gpuhist-out/x.png.histogram.csv"));
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 65537);
}

TEST_F(Command, JsonIsAnObjectALine) {
    save("a.png", make_image(16, 16, CV_8UC1));
    save("b.png", make_image(16, 16, CV_8UC3));
    const Outcome outcome = run({"a.png", "b.png", "--write", "none", "--format", "json"});
    ASSERT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2) << outcome.out;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_EQ(line.front(), '{');
        EXPECT_EQ(line.back(), '}');
        EXPECT_FALSE(contains(line, "engine") || contains(line, "\"cpu\"")) << line;
    }
}

// ---------------------------------------------------------------------------------------------- colors, streams

TEST_F(Command, ColorsFollowTerminalEnvironmentAndOption) {
    save("x.png", make_image(16, 16, CV_8UC3));
    const auto colored = [&](std::vector<std::string> extra, const Setting& setting) {
        std::vector<std::string> arguments{"x.png", "--write", "none"};
        arguments.insert(arguments.end(), extra.begin(), extra.end());
        const Outcome outcome = run(arguments, setting);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        EXPECT_TRUE(contains(outcome.out, "green")) << outcome.out;
        return contains(outcome.out, "\033[");
    };
    const Setting file, terminal{Out::terminal};
    Setting no_color = terminal, empty_no_color = terminal, dumb = terminal;
    no_color.environment = {"NO_COLOR=1"};
    empty_no_color.environment = {"NO_COLOR="};
    dumb.environment = {"TERM=dumb"};
    EXPECT_FALSE(colored({}, file));
    EXPECT_TRUE(colored({"--color", "always"}, file));
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0) GTEST_SKIP() << "this system has no pseudo-terminals: /dev/pts is not mounted";
    close(master);
    EXPECT_TRUE(colored({}, terminal));
    EXPECT_FALSE(colored({"--color", "never"}, terminal));
    EXPECT_FALSE(colored({}, no_color));
    EXPECT_TRUE(colored({}, empty_no_color));
    EXPECT_TRUE(colored({"--color", "always"}, no_color));
    EXPECT_FALSE(colored({}, dumb));
}

TEST_F(Command, ControlCharactersInNamesDoNotReachTheTerminal) {
    save("x.png", make_image(8, 8, CV_8UC1));
    fs::rename(at("x.png"), at("a\033[31mb.png"));
    const Outcome outcome = run({"a\033[31mb.png", "missing\033[31m.png"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_FALSE(contains(outcome.out + outcome.err, "\033"));
    EXPECT_TRUE(contains(outcome.out, "a?[31mb.png")) << outcome.out;
    EXPECT_TRUE(contains(outcome.err, "missing?[31m.png")) << outcome.err;
}

TEST_F(Command, QuietPrintsOnlyWhatIsAskedFor) {
    save("x.png", make_image(16, 16, CV_8UC1));
    const Outcome quiet = run({"x.png", "./x.png", "-q"});
    EXPECT_EQ(quiet.code, all_done);
    EXPECT_EQ(quiet.out + quiet.err, "");
    EXPECT_TRUE(fs::exists(at("gpuhist-out/stats.csv")));
    const Outcome csv = run({"x.png", "-q", "--format", "csv"});
    EXPECT_EQ(csv.out, read_text(at("gpuhist-out/stats.csv")));
    const Outcome error = run({"missing.png", "-q"});
    EXPECT_EQ(error.code, inputs_failed);
    EXPECT_TRUE(contains(error.err, "missing.png")) << error.err;
}

TEST_F(Command, IsQuietWhereItMayRunOnOneProcessor) {
    save("d/x.png", make_image(16, 16, CV_8UC1));
    save("d/y.pfm", make_image(16, 16, CV_32FC1));
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int processor = 0; CPU_COUNT(&one) == 0; ++processor)
        if (CPU_ISSET(processor, &before)) CPU_SET(processor, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    std::vector<Outcome> outcomes;
    for (const char* threads : {"", "--threads=1", "--threads=2", "--threads=9"})
        for (const char* input : {"d", "d/y.pfm"}) {
            std::vector<std::string> words{input, "-q", "--force"};
            if (*threads) words.emplace_back(threads);
            outcomes.push_back(run(words));
        }
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    for (const Outcome& outcome : outcomes) {
        EXPECT_EQ(outcome.code, all_done);
        EXPECT_EQ(outcome.out + outcome.err, "");
    }
}

TEST_F(Command, StandardInput) {
    save("x.png", make_image(16, 16, CV_8UC1));
    Setting setting;
    setting.input = at("x.png").string();
    const Outcome outcome = run({"-"}, setting);
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_EQ(files_below("gpuhist-out"), (std::vector<std::string>{"stats.csv", "stdin.histogram.csv",
                                                                    "stdin.histogram.png", "stdin.normalized.png"}));
    EXPECT_TRUE(contains(read_text(at("gpuhist-out/stats.csv")), "\n-,16,16,u8,gray,256,"));

    const Outcome empty = run({"-"});
    EXPECT_EQ(empty.code, inputs_failed);
    EXPECT_EQ(empty.err.rfind("gpuhist: ", 0), 0u);
    EXPECT_TRUE(contains(empty.err, "empty")) << empty.err;
}

TEST_F(Command, AReaderThatLeavesLosesNoFile) {
    save("a.png", make_image(16, 16, CV_8UC1));
    save("b.png", make_image(16, 16, CV_8UC1));
    const Outcome outcome = run({"a.png", "b.png"}, {Out::broken_pipe});
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;  // the summary
    EXPECT_EQ(files_below("gpuhist-out").size(), 10u);
    const std::string stats = read_text(at("gpuhist-out/stats.csv"));
    EXPECT_EQ(std::count(stats.begin(), stats.end(), '\n'), 3);
}

TEST_F(Command, StandardOutputThatCannotBeWrittenIsAnErrorAndLosesNoFile) {
    save("x.png", make_image(16, 16, CV_8UC1));
    for (const Out out : {Out::full_device, Out::closed}) {
        const Outcome outcome = run({"x.png"}, {out});
        EXPECT_EQ(outcome.code, output_failed) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, "standard output: ")) << outcome.err;
        const auto files = files_below("gpuhist-out");
        EXPECT_EQ(files.size(), 4u);
        for (const std::string& file : files)
            EXPECT_FALSE(contains(read_text(at("gpuhist-out/" + file)), "16 × 16  u8")) << file;
        fs::remove_all(at("gpuhist-out"));
    }
}

// ---------------------------------------------------------------------------------------------- inputs and names

TEST_F(Command, ADirectoryWritesStatsOfItsImagesInOrder) {
    save("dir/b.png", make_image(16, 16, CV_8UC1));
    save("dir/a.PNG", make_image(16, 16, CV_8UC1));
    save("dir/sub/c.png", make_image(16, 16, CV_8UC1));
    write_text(at("dir/notes.txt"), "no image");
    const Outcome outcome = run({"dir", "--format", "csv"});
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_EQ(files_below("gpuhist-out"),
              (std::vector<std::string>{"dataset.csv", "dataset.histogram.png", "dataset.json", "stats.csv"}));
    EXPECT_EQ(outcome.out, read_text(at("gpuhist-out/stats.csv")));
    const auto a = outcome.out.find("\ndir/a.PNG,"), b = outcome.out.find("\ndir/b.png,"),
               c = outcome.out.find("\ndir/sub/c.png,");
    EXPECT_TRUE(a < b && b < c && c != std::string::npos) << outcome.out;
}

TEST_F(Command, ADirectoryWritesWhatIsAskedFor) {
    save("dir/a.png", make_image(16, 16, CV_8UC1));
    EXPECT_EQ(run({"dir", "--write", "normalized", "--normalize", "equalize"}).code, all_done);
    EXPECT_EQ(files_below("gpuhist-out"), std::vector<std::string>{"a.png.normalized.png"});
}

TEST_F(Command, ADirectoryAndAFileKeepTheirOwnDefaults) {
    save("dir/a.png", make_image(16, 16, CV_8UC1));
    save("b.png", make_image(16, 16, CV_8UC1));
    EXPECT_EQ(run({"dir", "b.png"}).code, all_done);
    EXPECT_EQ(files_below("gpuhist-out"),
              (std::vector<std::string>{"b.png.histogram.csv", "b.png.histogram.png", "b.png.normalized.png",
                                        "dataset.csv", "dataset.histogram.png", "dataset.json", "stats.csv"}));
}

TEST_F(Command, ResultsOfAnEarlierRunAreNotMeasured) {
    save("a.png", make_image(16, 16, CV_8UC1));
    EXPECT_EQ(run({"a.png"}).code, all_done);
    const Outcome outcome = run({".", "--format", "csv"});
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2) << outcome.out;
    const Outcome results = run({"gpuhist-out", "-o", "again"});
    EXPECT_EQ(results.code, inputs_failed);
    EXPECT_TRUE(contains(results.err, "results of gpuhist, which it measures only if you name them as files"));
    EXPECT_EQ(run({"gpuhist-out/a.png.normalized.png", "-o", "again"}).code, all_done);
    EXPECT_TRUE(contains(read_text(at("again/stats.csv")), "a.png.normalized.png"));
}

TEST_F(Command, InputsThatShareANameKeepTheirPaths) {
    save("a/x.png", cv::Mat(4, 4, CV_8UC1, cv::Scalar(1)));
    save("b/x.png", cv::Mat(4, 4, CV_8UC1, cv::Scalar(2)));
    save("b/a/x.png", cv::Mat(4, 4, CV_8UC1, cv::Scalar(3)));
    save("b/y.png", cv::Mat(4, 4, CV_8UC1, cv::Scalar(4)));
    const Outcome outcome =
        run({"a/x.png", "b/x.png", "./b/a/x.png", "b/y.png", "--write", "histogram", "--bins", "full"});
    EXPECT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_EQ(files_below("gpuhist-out"),
              (std::vector<std::string>{"b/a/x.png.histogram.csv", "b/x.png.histogram.csv",
                                        "folder/a/x.png.histogram.csv", "y.png.histogram.csv"}));
    EXPECT_TRUE(contains(read_text(at("gpuhist-out/folder/a/x.png.histogram.csv")), "\n1,1,2,16\n"));
    EXPECT_TRUE(contains(read_text(at("gpuhist-out/b/x.png.histogram.csv")), "\n2,2,3,16\n"));
    EXPECT_TRUE(contains(read_text(at("gpuhist-out/b/a/x.png.histogram.csv")), "\n3,3,4,16\n"));
    EXPECT_TRUE(contains(read_text(at("gpuhist-out/y.png.histogram.csv")), "\n4,4,5,16\n"));
}

TEST_F(Command, AnInputGivenTwiceIsMeasuredOnce) {
    save("dir/x.png", make_image(4, 4, CV_8UC1));
    const Outcome outcome = run({"dir/x.png", "dir/../dir/x.png", "dir", "--format", "csv", "--write", "stats"});
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2) << outcome.out;
    EXPECT_TRUE(contains(outcome.err, "dir/../dir/x.png: given more than once")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "dir: 1 of its 1 image given more than once")) << outcome.err;
}

TEST_F(Command, AnInputIsNeverOverwritten) {
    save("x.png", make_image(4, 4, CV_8UC1));
    save("x.png.normalized.png", make_image(5, 5, CV_8UC1));
    const std::string before = read_text(at("x.png.normalized.png"));
    const Outcome outcome = run({"x.png", "x.png.normalized.png", "-o", "."});
    EXPECT_EQ(outcome.code, output_failed);
    EXPECT_TRUE(contains(outcome.err, "x.png.normalized.png: not written: it is one of the inputs")) << outcome.err;
    EXPECT_EQ(read_text(at("x.png.normalized.png")), before);
    EXPECT_TRUE(fs::exists(at("x.png.normalized.png.histogram.csv")));
}

// --------------------------------------------------------------------------------------------------------- output

TEST_F(Command, OutputDirectoryThatCannotBeWrittenIsFoundOutFirst) {
    save("x.png", make_image(16, 16, CV_8UC1));
    write_text(at("file"), "in the way");
    for (const char* directory : {"file", "file/below"}) {
        const Outcome outcome = run({"x.png", "-o", directory});
        EXPECT_EQ(outcome.code, output_failed);
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(outcome.err.rfind(std::string("gpuhist: ") + directory + ": ", 0), 0u) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, "--output")) << outcome.err;
        EXPECT_EQ(run({"x.png", "-o", directory, "--write", "stats"}).code, output_failed);
    }
    EXPECT_EQ(read_text(at("file")), "in the way");
}

TEST_F(Command, OutputThatFillsUpLeavesNoHalfFile) {
    save("x.png", make_image(256, 256, CV_8UC3));
    Setting setting;
    setting.largest_file = 2000;  // stats.csv fits, the others do not
    const Outcome outcome = run({"x.png", "-q"}, setting);
    EXPECT_EQ(outcome.code, output_failed) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "x.png.normalized.png: ")) << outcome.err;
    EXPECT_EQ(files_below("gpuhist-out"), std::vector<std::string>{"stats.csv"});
    const std::string stats = read_text(at("gpuhist-out/stats.csv"));
    EXPECT_EQ(std::count(stats.begin(), stats.end(), '\n'), 6);
}

TEST_F(Command, ResultsReplaceThoseOfAnEarlierRun) {
    save("x.png", make_image(16, 16, CV_8UC1));
    EXPECT_EQ(run({"x.png", "-o", "deep/er"}).code, all_done);
    const std::string before = read_text(at("deep/er/stats.csv"));
    save("x.png", make_image(17, 16, CV_8UC1));
    EXPECT_EQ(run({"x.png", "-o", "deep/er"}).code, all_done);
    EXPECT_NE(read_text(at("deep/er/stats.csv")), before);
    EXPECT_EQ(files_below("deep/er").size(), 4u);
}

}  // namespace
