// Comparisons of sets, from kept counts or by measuring, held to OpenCV and to sums over all samples.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <nlohmann/json.hpp>
#include <numeric>
#include <opencv2/imgproc.hpp>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

/// Picture of noise around a brightness.
cv::Mat noise(int seed, double mean, double spread, int type = CV_8UC3) {
    cv::Mat image(40, 50, type);
    cv::RNG random(static_cast<std::uint64_t>(seed) + 1);
    random.fill(image, cv::RNG::NORMAL, mean, spread);
    return image;
}

using Row = std::map<std::string, std::string>;

class CompareCommand : public Directory {
  protected:
    void make_sets() const {
        for (int i = 0; i < 3; ++i) {
            save("a/one/" + std::to_string(i) + ".png", noise(i, 100, 20));
            save("b/one/" + std::to_string(i) + ".png", noise(10 + i, 130, 40));
            save("a/two/" + std::to_string(i) + ".png", noise(20 + i, 60, 10));
            save("b/two/" + std::to_string(i) + ".png", noise(20 + i, 60, 10));
        }
    }
    void measure(Names words) const {
        words.insert(words.end(), {"-q", "--engine", "cpu"});
        const Outcome done = run(words);
        ASSERT_EQ(done.code, all_done) << done.err;
    }
    Outcome compare(Names words, const std::string& output = "out") const {
        words.insert(words.begin(), "compare");
        words.insert(words.end(), {"-o", output});
        return run(words);
    }
    /// Rows of comparison.csv without the names of the sets.
    std::string numbers(const std::string& output = "out") const {
        std::string text;
        for (const Row& row : table(read_text(at(output + "/comparison.csv"))))
            for (const auto& [column, value] : row)
                if (column != "a" && column != "b") text += column + '=' + value + ' ';
        return text;
    }
    /// Samples of a channel of all images of a set, in the order of OpenCV.
    std::vector<int> samples(const std::string& set, int channel) const {
        std::vector<int> all;
        for (const auto& entry : fs::recursive_directory_iterator(at(set))) {
            if (!entry.is_regular_file()) continue;
            const cv::Mat image = load(fs::relative(entry.path(), at("")).string());
            for (int y = 0; y < image.rows; ++y)
                for (int x = 0; x < image.cols; ++x) all.push_back(image.at<cv::Vec3b>(y, x)[channel]);
        }
        std::sort(all.begin(), all.end());
        return all;
    }
    static cv::Mat shares(const std::vector<int>& samples) {
        cv::Mat histogram(256, 1, CV_64F, cv::Scalar(0)), floats;
        for (const int sample : samples) histogram.at<double>(sample) += 1.0 / static_cast<double>(samples.size());
        histogram.convertTo(floats, CV_32F);
        return floats;
    }
};

TEST_F(CompareCommand, NumbersAreThoseOfOpenCV) {
    make_sets();
    const Outcome done = compare({"a", "b"});
    EXPECT_EQ(done.code, all_done) << done.err;
    const auto rows = table(read_text(at("out/comparison.csv")));
    ASSERT_EQ(rows.size(), 5U);
    for (int channel = 0; channel < 3; ++channel) {
        auto row = rows[static_cast<std::size_t>(2 - channel)];
        EXPECT_EQ(row["channel"], (std::array{"blue", "green", "red"}[static_cast<std::size_t>(channel)]));
        const std::vector<int> a = samples("a", channel), b = samples("b", channel);
        const cv::Mat p = shares(a), q = shares(b);
        for (const auto& [column, method] : {std::pair("correlation", cv::HISTCMP_CORREL),
                                             {"chi_square", cv::HISTCMP_CHISQR},
                                             {"intersection", cv::HISTCMP_INTERSECT},
                                             {"bhattacharyya", cv::HISTCMP_BHATTACHARYYA}}) {
            const double expected = cv::compareHist(p, q, method);
            EXPECT_NEAR(std::stod(row[column]), expected, 1e-6 * std::max(1.0, expected)) << column;
        }
        // Sets of equal size: the earth mover moves the sorted samples.
        ASSERT_EQ(a.size(), b.size());
        double moved = 0;
        for (std::size_t i = 0; i < a.size(); ++i) moved += std::abs(a[i] - b[i]);
        EXPECT_NEAR(std::stod(row["wasserstein"]), moved / static_cast<double>(a.size()), 1e-12 * moved);
        const double difference =
            static_cast<double>(std::accumulate(b.begin(), b.end(), 0) - std::accumulate(a.begin(), a.end(), 0)) /
            static_cast<double>(a.size());
        EXPECT_NEAR(std::stod(row["mean_difference"]), difference, 1e-12 * std::abs(difference));
        EXPECT_EQ(row["valid_a"], std::to_string(a.size()));
    }
    EXPECT_EQ(files_below("out"), (Names{"comparison.csv", "comparison.svg"}));
    const std::string svg = read_text(at("out/comparison.svg"));
    for (const char* text : {">red<", ">green<", ">blue<", ">luma<", ">a<", ">b<"}) EXPECT_TRUE(contains(svg, text));
}

TEST_F(CompareCommand, WordsSayWhatChanged) {
    save("a.png", noise(1, 100, 20, CV_8UC1));
    const cv::Mat image = load("a.png");
    save("same.png", image);
    save("shifted.png", image + cv::Scalar(10));
    cv::Mat wide;
    image.convertTo(wide, CV_8U, 1.5, -50);
    save("wide.png", wide);
    cv::Mat words;
    image.convertTo(words, CV_16U, 257);
    save("deep.png", words);
    const auto line = [&](const std::string& b) { return compare({"a.png", b}).out; };
    EXPECT_TRUE(contains(line("same.png"), "u8  gray  same  smd 0")) << line("same.png");
    EXPECT_TRUE(contains(line("shifted.png"), "u8  gray  shifted by +10  smd")) << line("shifted.png");
    EXPECT_TRUE(contains(line("wide.png"), "wider by ")) << line("wide.png");
    EXPECT_TRUE(contains(line("deep.png"), "u8-u16  gray  same  smd 0")) << line("deep.png");
    EXPECT_TRUE(contains(compare({"wide.png", "a.png"}).out, "narrower by "));
    EXPECT_EQ(table(read_text(at("out/comparison.csv")))[0].at("scale"), "value");
}

TEST_F(CompareCommand, KeptCountsGiveTheSameNumbers) {
    make_sets();
    const std::vector<cv::Mat> floats = save_floats("a", 9, CV_32FC1), more = save_floats("b", 7, CV_32FC1);
    const Outcome compared = compare({"a", "b", "--group-by", "dir"});
    ASSERT_EQ(compared.code, all_done) << compared.err;
    const std::string expected = numbers();
    EXPECT_TRUE(contains(expected, "group=one"));
    EXPECT_TRUE(contains(expected, "depth_a=f32"));
    for (const char* set : {"a", "b"})
        measure({set, "--keep-counts", "--group-by", "dir", "-o", std::string("results-") + set});
    EXPECT_TRUE(fs::exists(at("results-a/counts.values")));
    EXPECT_FALSE(fs::exists(at("results-a/image_counts.csv")));
    ASSERT_EQ(compare({"results-a", "results-b", "--group-by", "dir"}).code, all_done);
    EXPECT_EQ(numbers(), expected);
    // The counts of shards are those of one run, byte for byte.
    for (const char* part : {"1/3", "2/3", "3/3"})
        measure({"a", "--keep-counts", "--group-by", "dir", "--shard", part, "-o", "parts"});
    ASSERT_EQ(run({"merge", "parts", "-q", "-o", "merged"}).code, all_done);
    EXPECT_EQ(files_below("merged"), files_below("results-a"));
    for (const char* name : {"counts.json", "counts.values"})
        EXPECT_EQ(read_text(at(std::string("merged/") + name)), read_text(at(std::string("results-a/") + name)));
    // A run that keeps none takes the counts of the run before it away.
    measure({"a", "-o", "merged"});
    EXPECT_FALSE(fs::exists(at("merged/counts.json")) || fs::exists(at("merged/counts.values")));
}

TEST_F(CompareCommand, ResultsWithoutCountsAreMeasuredAgain) {
    make_sets();
    ASSERT_EQ(compare({"a", "b"}).code, all_done);
    const std::string expected = numbers();
    measure({"a", "-o", "results"});
    ASSERT_EQ(compare({"results", "b"}).code, all_done);
    EXPECT_EQ(numbers(), expected);
    save("a/one/0.png", noise(99, 10, 5));
    const Outcome changed = compare({"results", "b"}, "other");
    EXPECT_EQ(changed.code, data_refused);
    EXPECT_TRUE(contains(changed.err, "results: has no counts, and a/one/0.png now gives other numbers"))
        << changed.err;
    EXPECT_FALSE(fs::exists(at("other/comparison.csv")));
    fs::remove(at("a/one/0.png"));
    EXPECT_EQ(compare({"results", "b"}, "other").code, data_refused);
    measure({"a/one/1.png", "-o", "single"});
    EXPECT_EQ(compare({"single", "b"}).code, all_done);
    measure({"a/one/1.png", "--keep-counts", "-o", "single"});
    fs::remove(at("a/one/1.png"));
    EXPECT_EQ(compare({"single", "b"}).code, all_done);
}

TEST_F(CompareCommand, DifferentOptionsAreSaid) {
    make_sets();
    measure({"a", "--keep-counts", "--nodata", "100", "-o", "results"});
    const Outcome done = compare({"results", "a"});
    EXPECT_EQ(done.code, all_done);
    EXPECT_TRUE(
        contains(done.err, "results and a were measured with different options: --nodata, --valid or --nodata-any"))
        << done.err;
    EXPECT_EQ(compare({"a", "b"}).err, "");
}

TEST_F(CompareCommand, PoliciesLimitNumbers) {
    make_sets();
    const Outcome usual = run({"compare", "--print-policy"});
    EXPECT_EQ(usual.code, all_done);
    write_text(at("p.json"), usual.out);
    const Outcome broken = compare({"a", "b", "--policy", "p.json"});
    EXPECT_EQ(broken.code, policy_broken);
    EXPECT_TRUE(contains(broken.out, "broken  smd is not -0.1 to 0.1: ")) << broken.out;
    EXPECT_TRUE(contains(broken.out, "policy  3 of 3 limits broken\n"));
    EXPECT_TRUE(fs::exists(at("out/comparison.csv")));
    EXPECT_EQ(compare({"a", "a", "--policy", "p.json"}).code, all_done);
    write_text(at("p.json"), R"({"compare": {"psi": {"red": [null, 9]}, "mean_difference": [0, null]}})");
    EXPECT_EQ(compare({"a", "b", "--policy", "p.json", "-q"}).out, "");
    EXPECT_EQ(compare({"a", "b", "--policy", "p.json", "--format", "csv"}).out, read_text(at("out/comparison.csv")));
    write_text(at("p.json"), R"({"compare": {"psi": {"gray": [null, 9]}}})");
    const Outcome absent = compare({"a", "b", "--policy", "p.json", "-q"});
    EXPECT_EQ(absent.code, policy_broken);
    EXPECT_EQ(absent.out, "broken  psi of gray: 9 or less: the sets have no such channel in common\n");
    for (const auto& [text, fault] : {std::pair(R"({"compare": {"pis": [0, 1]}})", "did you mean psi?"),
                                      {R"({"compare": {"channel": [0, 1]}})", "no column of numbers 'channel'"},
                                      {R"({"compare": {"psi": 3}})", "psi"},
                                      {R"({"compare": {"psi": [1, 0]}})", "expected the lower end first"},
                                      {R"({"compare": {}})", "has no limits under 'compare'"}}) {
        write_text(at("p.json"), text);
        const Outcome refused = compare({"a", "b", "--policy", "p.json"}, "none");
        EXPECT_EQ(refused.code, data_refused) << text;
        EXPECT_TRUE(contains(refused.err, "p.json") && contains(refused.err, fault)) << refused.err;
    }
    EXPECT_FALSE(fs::exists(at("none")));
}

TEST_F(CompareCommand, EachImageIsComparedWithTheReference) {
    make_sets();
    const Outcome done = compare({"a", "b", "--each"});
    EXPECT_EQ(done.code, all_done) << done.err;
    const auto rows = table(read_text(at("out/comparison.csv")));
    ASSERT_EQ(rows.size(), 6U);
    for (const Row& row : rows) {
        EXPECT_EQ(row.at("channel"), "all");
        ASSERT_EQ(compare({"a", row.at("b")}, "one").code, all_done);
        const auto one = table(read_text(at("one/comparison.csv")));
        ASSERT_EQ(one.back().at("channel"), "all");
        for (const char* column : {"wasserstein", "psi", "jensen_shannon", "smd"})
            EXPECT_EQ(row.at(column), one.back().at(column));
    }
    EXPECT_FALSE(fs::exists(at("out/comparison.svg")));
    measure({"b", "--keep-image-counts", "-o", "results"});
    fs::rename(at("b"), at("gone"));
    ASSERT_EQ(compare({"a", "results", "--each"}, "kept").code, all_done);
    EXPECT_EQ(numbers("kept"), numbers("out"));
}

TEST_F(CompareCommand, ImagesAreComparedWithEachOther) {
    make_sets();
    ASSERT_EQ(compare({"a", "--each"}).code, all_done);
    const auto rows = table(read_text(at("out/comparison.csv")));
    EXPECT_EQ(rows.size(), 15U);
    std::set<std::pair<std::string, std::string>> pairs;
    std::size_t near = 0;
    for (const Row& row : rows) {
        EXPECT_LT(row.at("a"), row.at("b"));
        EXPECT_TRUE(pairs.insert({row.at("a"), row.at("b")}).second);
        near += std::stod(row.at("ks")) <= 0.1;
    }
    EXPECT_GT(near, 0U);
    EXPECT_LT(near, 15U);
    const Outcome few = compare({"a", "--each", "--at-most", "0.1", "--metric", "ks"});
    EXPECT_EQ(few.code, all_done);
    EXPECT_EQ(table(read_text(at("out/comparison.csv"))).size(), near);
    EXPECT_TRUE(contains(few.out, "compared  6 images with each other: " + std::to_string(near) +
                                      " pairs at most 0.1 apart by ks\nnearest  "))
        << few.out;
}

TEST_F(CompareCommand, ChannelsWithoutCounterpartAreNamed) {
    save("a/1.png", noise(1, 100, 20));
    save("a/2.png", noise(2, 100, 20, CV_8UC1));
    save("b/1.png", noise(3, 100, 20, CV_8UC1));
    const Outcome done = compare({"a", "b"});
    EXPECT_EQ(done.code, all_done);
    EXPECT_TRUE(contains(done.err, "only a has u8 red, u8 green, u8 blue, u8 luma, u8 all")) << done.err;
    const Outcome none = compare({"a/1.png", "b"}, "none");
    EXPECT_EQ(none.code, data_refused);
    EXPECT_TRUE(contains(none.err, "have no channel in common")) << none.err;
    EXPECT_FALSE(fs::exists(at("none/comparison.csv")));
}

TEST_F(CompareCommand, RefusesBrokenResults) {
    make_sets();
    save_floats("a", 9, CV_32FC1);
    measure({"a", "--keep-image-counts", "--group-by", "dir", "-o", "good"});
    const auto expect = [&](const std::string& fault, const Names& more = {}) {
        Names words{"bad", "b"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome refused = compare(words, "none");
        EXPECT_EQ(refused.code, data_refused) << fault;
        EXPECT_TRUE(contains(refused.err, "bad") && contains(refused.err, fault)) << refused.err;
        EXPECT_FALSE(fs::exists(at("none/comparison.csv")));
    };
    const auto renew = [&] {
        fs::remove_all(at("bad"));
        fs::copy(at("good"), at("bad"), fs::copy_options::recursive);
    };
    renew();
    std::string text = read_text(at("bad/counts.json"));
    const std::string whole = text;
    text[text.find("\"images\":") + 9] = '7';
    write_text(at("bad/counts.json"), text);
    expect("counts.json: ");
    write_text(at("bad/counts.json"), whole.substr(0, whole.size() / 2));
    expect("counts.json: ");
    text = whole;
    write_text(at("bad/counts.json"), text.replace(0, 28, R"({"format":"gpuhist counts 1)"));
    expect("which another version of gpuhist wrote");
    write_text(at("bad/counts.json"), "{}");
    expect("not a file of kept counts");
    renew();
    fs::remove(at("bad/counts.values"));
    expect("counts.values");
    renew();
    text = read_text(at("bad/counts.values"));
    text[text.size() / 2] ^= 1;
    write_text(at("bad/counts.values"), text);
    expect("counts.values is damaged");
    renew();
    write_text(at("bad/gpuhist.journal"), "");
    expect("from an interrupted run");
    fs::remove(at("bad/gpuhist.journal"));
    fs::remove(at("bad/stats.csv"));
    write_text(at("bad/part-1-of-2.json"), "");
    expect("merge them first");
    renew();
    fs::remove(at("bad/counts.json"));
    expect("run gpuhist with --group-by dir --keep-counts", {"--group-by", "dir"});
    const Outcome each = compare({"a", "good", "--each"}, "none");
    EXPECT_TRUE(contains(each.err, "has too many different values")) << each.err;
}

TEST_F(CompareCommand, RefusesWrongWords) {
    save("a.png", noise(1, 100, 20));
    for (const Names& words : {Names{"a.png"},
                               {"a.png", "a.png", "a.png"},
                               {},
                               {"a.png", "a.png", "--at-most", "1"},
                               {"a.png", "a.png", "--metric", "ks"},
                               {"a.png", "a.png", "--each", "--group-by", "dir"},
                               {"a.png", "--print-policy"},
                               {"a.png", ""},
                               {"a.png", "a.png", "--metric", "mean_a", "--each"},
                               {"a.png", "a.png", "--at-most", "-1", "--each"}})
        EXPECT_EQ(compare(words).code, usage_error) << ::testing::PrintToString(words);
    EXPECT_EQ(run({"a.png", "--keep-counts", "--write", "plot"}).code, usage_error);
    const Outcome missing = compare({"a.png", "nobody.png"});
    EXPECT_EQ(missing.code, data_refused);
    EXPECT_TRUE(contains(missing.err, "nobody.png: does not exist")) << missing.err;
    fs::create_directory(at("empty"));
    EXPECT_NE(compare({"a.png", "empty"}).code, all_done);
    fs::create_directories(at("out"));
    write_text(at("out/comparison.csv"), "mine\n");
    const Outcome foreign = compare({"a.png", "a.png"});
    EXPECT_EQ(foreign.code, output_failed);
    EXPECT_EQ(read_text(at("out/comparison.csv")), "mine\n");
    EXPECT_EQ(compare({"a.png", "a.png", "--force", "-q"}).code, all_done);
}

TEST_F(CompareCommand, FailedImagesAreLeftOut) {
    make_sets();
    ASSERT_EQ(compare({"a", "b"}).code, all_done);
    const std::string expected = numbers();
    write_text(at("b/one/bad.png"), "no");
    const Outcome done = compare({"a", "b"});
    EXPECT_EQ(done.code, inputs_failed);
    EXPECT_TRUE(contains(done.err, "b/one/bad.png")) << done.err;
    EXPECT_EQ(numbers(), expected);
    fs::create_directory(at("c"));
    write_text(at("c/bad.png"), "no");
    EXPECT_EQ(compare({"a", "c"}, "none").code, inputs_failed);
    EXPECT_FALSE(fs::exists(at("none/comparison.csv")));
}

TEST_F(CompareCommand, HostileNamesAreHarmless) {
    const std::string name = "b/=\x1b[31m,\"\n<x>&.png";
    save("a/1.png", noise(1, 100, 20));
    save("b/1.png", noise(2, 100, 20));
    fs::rename(at("b/1.png"), at(name));
    const Outcome done = compare({"a", name});
    EXPECT_EQ(done.code, all_done) << done.err;
    EXPECT_FALSE(contains(done.out, "\x1b"));
    const std::string svg = read_text(at("out/comparison.svg"));
    EXPECT_FALSE(contains(svg, "<x>") || contains(svg, "\x1b"));
    const Outcome json = compare({"a", "b", "--each", "--format", "json"});
    EXPECT_EQ(nlohmann::json::parse(json.out)["b"], name);
    std::string quoted;
    for (const char c : name) quoted += std::string(c == '"' ? 2 : 1, c);
    EXPECT_TRUE(contains(read_text(at("out/comparison.csv")), ",a,\"" + quoted + "\","));
}

}  // namespace
