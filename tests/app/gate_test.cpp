// Gates: which results keep to a policy, what is said of those that do not, and reports for other programs.
//
// Environment: GPUHIST_PROGRAM, the program.
#include "support/directory.hpp"
#include "support/exr_files.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

class Gate : public Directory {
  protected:
    /// Results of a set, written by hand: images of 10 x 10 pixels, with these measures and hashes.
    struct Image {
        std::string path, brightness = "0.5", pixels{}, hash = "0123456789abcdef";
    };
    void results(const std::string& directory, const std::vector<Image>& images) const {
        std::string stats =
            "path,width,height,depth,channel,pixels,nan,inf,min,max,mean,entropy,clipped_low,clipped_high,white\n";
        std::string quality =
            "path,sharpness_laplacian,sharpness_tenengrad,noise,contrast_rms,brightness_p5,brightness_p99,gray,"
            "pixels_hash,dhash\n";
        for (std::size_t i = 0; i < images.size(); ++i) {
            const Image& image = images[i];
            const std::string path = contains(image.path, ",") ? '"' + image.path + '"' : image.path;
            for (const char* channel : {"red", "green", "blue", "luma", "all"})
                stats += path + ",10,10,u8," + channel + ",100,0,0,0,255,100,7,0,0,255\n";
            std::string pixels = std::to_string(i);
            pixels.insert(0, 32 - pixels.size(), '0');
            quality += path + ",1000,1000,1,0.2,0.1," + image.brightness + ",0," +
                       (image.pixels.empty() ? pixels : image.pixels) + ',' + image.hash + '\n';
        }
        fs::create_directories(at(directory));
        write_text(at(directory + "/stats.csv"), stats);
        write_text(at(directory + "/quality.csv"), quality);
    }
    void policy(const std::string& text) const { write_text(at("p.json"), text); }
    Outcome gate(std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"gate", "out", "--policy", "p.json"});
        return run(more);
    }
};

TEST_F(Gate, SharesOfFlaggedImagesAreBounded) {
    results("out", {{"a.png"}, {"b.png", "0.2"}, {"c.png", "0.1"}, {"d.png"}});
    policy(R"({"gate": {"flagged": {"dark": 0.5, "light": 0, "blurry": 0, "odd_size": 0}}})");
    const Outcome kept = gate();
    EXPECT_EQ(kept.code, all_done) << kept.err;
    EXPECT_EQ(kept.out, "gate  4 rules kept\n");
    policy(R"({"gate": {"flagged": {"dark": 0.4, "light": 0}}})");
    const Outcome broken = gate();
    EXPECT_EQ(broken.code, policy_broken);
    EXPECT_EQ(broken.out,
              "broken  dark: 2 of 4 images, 50 %, at most 40 %: b.png 0.2, c.png 0.1\n"
              "gate  1 of 2 rules broken\n");
    EXPECT_EQ(broken.err, "");
    EXPECT_EQ(gate({"-q"}).out, "broken  dark: 2 of 4 images, 50 %, at most 40 %: b.png 0.2, c.png 0.1\n");
    // The thresholds are those of this policy.
    policy(R"({"flags": {"dark": 0.15}, "gate": {"flagged": {"dark": 0.4}}})");
    EXPECT_EQ(gate().code, all_done);
}

TEST_F(Gate, CopiesAndLeaksAreNamedWithTheirFirst) {
    const std::string same(32, 'e');
    results("out", {{"d/train/a.png", "0.5", same, "ffffffffffffffff"},
                    {"d/train/b.png", "0.5", "", "00ff00ff00ff00ff"},
                    {"d/train/c.png", "0.5", "", "0ff00ff00ff00ff0"},
                    {"d/val/d.png", "0.5", same, "ffffffffffffffff"},
                    {"d/val/e.png", "0.5", "", "00ff00ff00ff00fc"},
                    {"d/val/f.png", "0.5", "", "0000000000000000"},
                    {"d/val/g.png", "0.5", "", "0000000000000000"},
                    {"d/other/h.png", "0.5", same, "ffffffffffffffff"}});
    policy(R"({"gate": {"flagged": {"duplicate": 0, "near_duplicate": 0}, "leaks": {"between": ["train", "val"]}}})");
    const Outcome broken = gate();
    EXPECT_EQ(broken.code, policy_broken) << broken.err;
    EXPECT_EQ(broken.out,
              "broken  duplicate: 2 of 8 images, 25 %, at most 0 %: d/val/d.png = d/train/a.png, d/other/h.png = "
              "d/train/a.png\n"
              "broken  near_duplicate: 1 of 8 images, 12.5 %, at most 0 %: d/val/e.png = d/train/b.png\n"
              "broken  leaks between train, val: 2 images: d/val/d.png = d/train/a.png, d/val/e.png = d/train/b.png\n"
              "gate  3 of 3 rules broken\n");
    const std::string annotations = gate({"--github"}).out;
    EXPECT_TRUE(contains(annotations,
                         "\n::error file=d/val/d.png::duplicate: 2 of 8 images, 25 %25, at most 0 %25: "
                         "the same pixels as d/train/a.png\n"))
        << annotations;
    EXPECT_TRUE(
        contains(annotations,
                 "\n::error file=d/val/e.png::near_duplicate: 1 of 8 images, 12.5 %25, at most 0 %25: similar to "
                 "d/train/b.png: the value is 2, the threshold 4\n"))
        << annotations;
    policy(R"({"gate": {"leaks": {"between": ["train", "val"], "distance": false}}})");
    EXPECT_TRUE(contains(gate().out, "broken  leaks between train, val: 1 image: d/val/d.png = d/train/a.png\n"));
    policy(R"({"gate": {"leaks": {"between": ["train", "other"], "distance": 1}}})");
    EXPECT_TRUE(contains(gate().out, "1 image: d/other/h.png = d/train/a.png\n"));
    policy(R"({"gate": {"leaks": {"between": ["val", "d/other"], "distance": false}}})");
    EXPECT_EQ(gate().code, policy_broken);
    policy(R"({"gate": {"leaks": {"between": ["train", "test"]}}})");
    const Outcome lost = gate();
    EXPECT_EQ(lost.code, data_refused);
    EXPECT_EQ(lost.err,
              "gpuhist: out/quality.csv: no image is below a directory 'test', which the policy names under 'leaks'\n");
}

TEST_F(Gate, FailedInputsAndNumbersOfTheSetAreBounded) {
    for (int i = 0; i < 3; ++i) save("set/" + std::to_string(i) + ".png", cv::Mat(5, 5, CV_8UC1, cv::Scalar(51 * i)));
    write_text(at("set/bad.png"), "none");
    ASSERT_EQ(run({"set", "-q", "-o", "out"}).code, inputs_failed);
    policy(R"({"gate": {"errors": 1, "dataset": {"mean": {"gray": [51, 51]}, "mean_01": {"gray": [null, 0.5]}}}})");
    EXPECT_EQ(gate().out, "gate  3 rules kept\n");
    policy(R"({"gate": {"errors": 0, "dataset": {"mean": {"gray": [60, null], "red": [0, 255]}}}})");
    const Outcome broken = gate();
    EXPECT_EQ(broken.code, policy_broken);
    EXPECT_EQ(broken.out,
              "broken  1 input failed, at most 0: set/bad.png unsupported\n"
              "broken  mean of gray is 51 in u8 images, not 60 or more\n"
              "broken  mean of red: the set has no such channel\n"
              "gate  3 of 3 rules broken\n");
    policy(R"({"gate": {"dataset": {"p17": {"gray": [0, 255]}}}})");
    const Outcome column = gate();
    EXPECT_EQ(column.code, data_refused);
    EXPECT_EQ(column.err, "gpuhist: out/dataset.csv: has no column 'p17'\n");
}

TEST_F(Gate, MeasuresOfTheSetAreBounded) {
    for (int i = 0; i < 3; ++i) save("set/" + std::to_string(i) + ".png", cv::Mat(5, 5, CV_8UC1, cv::Scalar(51 * i)));
    save("set/16/a.png", cv::Mat(5, 5, CV_16UC1, cv::Scalar(13107 * 3)));
    ASSERT_EQ(run({"set", "-q", "--quality", "--group-by", "dir", "-o", "out"}).code, all_done);
    // Plain gray images: no neighborhoods differ, and their brightness is their value by white.
    policy(R"({"gate": {"quality": {"brightness_p10": {"mean": [0.2, 0.6], "min": [0, null], "max": [null, 0.6]},
                                    "sharpness_laplacian": {"mean": [0, 0]}}}})");
    EXPECT_EQ(gate().out, "gate  4 rules kept\n");
    policy(R"({"gate": {"quality": {"brightness_p10": {"mean": [0.3, 0.5], "min": [0.1, null], "max": [null, 0.5]},
                                    "colorfulness": {"min": [1, null]}}}})");
    const Outcome broken = gate({"--junit", "gate.xml"});
    EXPECT_EQ(broken.code, policy_broken) << broken.err;
    EXPECT_EQ(broken.out,
              "broken  max of brightness_p10 is 0.6 in u16 images, not 0.5 or less\n"
              "broken  mean of brightness_p10 is 0.2 in u8 images, 0.6 in u16 images, not 0.3 to 0.5\n"
              "broken  min of brightness_p10 is 0 in u8 images, not 0.1 or more\n"
              "broken  min of colorfulness: no image has this number\n"
              "gate  4 of 4 rules broken\n");
    EXPECT_TRUE(contains(read_text(at("gate.xml")),
                         "<testcase classname=\"gpuhist.gate\" name=\"mean of brightness_p10: 0.3 to 0.5\">\n"));
    ASSERT_EQ(run({"set", "-q", "-o", "out"}).code, all_done);
    const Outcome unmeasured = gate();
    EXPECT_EQ(unmeasured.code, data_refused);
    EXPECT_EQ(unmeasured.err, "gpuhist: out/quality.csv: is missing: run gpuhist with --quality\n");
    ASSERT_EQ(run({"set/1.png", "-q", "--quality", "--write", "stats", "-o", "one"}).code, all_done);
    const Outcome single = run({"gate", "one", "--policy", "p.json"});
    EXPECT_EQ(single.code, data_refused);
    EXPECT_EQ(single.err, "gpuhist: one/dataset.csv: is missing: a run over one image writes no numbers of a set\n");
    // Bands have no measure that is a number.
    fs::create_directory(at("bands"));
    for (const char* name : {"bands/a.exr", "bands/b.exr"})
        write_text(at(name), exr_files::exr({{"depth", 1000}, {"mask", 1}}));
    ASSERT_EQ(run({"bands", "-q", "--quality", "-o", "out", "--force"}).code, all_done);
    policy(R"({"gate": {"quality": {"noise": {"max": [null, 3]}}}})");
    EXPECT_EQ(gate().out, "broken  max of noise: no image has this number\ngate  1 of 1 rule broken\n");
}

TEST_F(Gate, ReportsAreForOtherPrograms) {
    results("out", {{"a.png"}, {"b:<&>,%.png", "0.2"}});
    policy(R"({"gate": {"errors": 0, "flagged": {"dark": 0}}})");
    const Outcome broken = gate({"--github", "--junit", "reports/gate.xml", "-q"});
    EXPECT_EQ(broken.code, policy_broken);
    EXPECT_TRUE(contains(broken.out,
                         "\n::error file=b%3A<&>%2C%25.png::dark: 1 of 2 images, 50 %25, at most 0 %25: "
                         "brightness_p99 is 0.2, the threshold 0.32\n"))
        << broken.out;
    EXPECT_EQ(read_text(at("reports/gate.xml")),
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
              "<testsuites tests=\"2\" failures=\"1\" errors=\"0\">\n"
              "  <testsuite name=\"gpuhist gate out\" tests=\"2\" failures=\"1\" errors=\"0\">\n"
              "    <testcase classname=\"gpuhist.gate\" name=\"errors at most 0\"/>\n"
              "    <testcase classname=\"gpuhist.gate\" name=\"dark at most 0 %\">\n"
              "      <failure message=\"dark: 1 of 2 images, 50 %, at most 0 %\">\n"
              "b:&lt;&amp;&gt;,%.png: brightness_p99 is 0.2, the threshold 0.32\n"
              "      </failure>\n    </testcase>\n  </testsuite>\n</testsuites>\n");
    EXPECT_EQ(gate({"--junit", "reports/gate.xml"}).code, policy_broken) << "its own file is replaced";
    write_text(at("mine.txt"), "mine");
    const Outcome refused = gate({"--junit", "mine.txt"});
    EXPECT_EQ(refused.code, output_failed);
    EXPECT_EQ(read_text(at("mine.txt")), "mine");
    EXPECT_EQ(gate({"--junit", "mine.txt", "--force"}).code, policy_broken);
    EXPECT_EQ(gate({"--junit", "/proc/gate.xml"}).code, output_failed);
}

TEST_F(Gate, ThePolicyToBeginWithIsPrinted) {
    const Outcome printed = run({"gate", "--print-policy"});
    EXPECT_EQ(printed.code, all_done);
    write_text(at("p.json"), printed.out);
    EXPECT_EQ(run({"gate", "--print-policy", "--policy", "p.json"}).out, printed.out);
    EXPECT_TRUE(contains(printed.out, "\"dark\": 0.32,\n"));
    results("out", {{"a.png"}});
    EXPECT_EQ(gate().code, all_done);
}

TEST_F(Gate, ForeignDirectoriesAndPoliciesAreRefused) {
    policy(R"({"gate": {"flagged": {"dark": 0}}})");
    const auto refused = [&](const std::string& why) {
        const Outcome outcome = gate();
        EXPECT_EQ(outcome.code, data_refused);
        EXPECT_EQ(outcome.err, "gpuhist: " + why + "\n");
        EXPECT_EQ(outcome.out, "");
    };
    refused("out: there is no directory of this name: name one with results of gpuhist");
    fs::create_directory(at("out"));
    refused("out: has no results of gpuhist: stats.csv is missing");
    write_text(at("out/part-1-of-2.json"), "");
    refused("out: has parts of a run: merge them first");
    write_text(at("out/stats.csv"), "path,width\n");
    refused("out/quality.csv: is missing: run gpuhist with --quality");
    write_text(at("out/quality.csv"), "path,noise\n");
    refused("out/quality.csv: has no column 'brightness_p99'");
    write_text(at("out/quality.csv"), "path,brightness_p99\n");
    refused("out/stats.csv: has no column 'height'");
    results("out", {{"a.png", "bright"}});
    refused("out/quality.csv: line 2: 'bright' in column 'brightness_p99' is not a number");
    results("out", {{"a.png"}, {"b.png"}});
    results("others", {{"a.png"}, {"c.png"}});
    fs::copy_file(at("others/stats.csv"), at("out/stats.csv"), fs::copy_options::overwrite_existing);
    refused("out/quality.csv: line 3: stats.csv has no rows for this image");
    results("others", {{"a.png"}, {"b.png"}, {"c.png"}});
    fs::copy_file(at("others/stats.csv"), at("out/stats.csv"), fs::copy_options::overwrite_existing);
    refused("out/stats.csv: line 12: quality.csv has no row for this image");
    results("out", {{"a.png", "0.5", "xyz"}});
    policy(R"({"gate": {"flagged": {"duplicate": 0}}})");
    refused("out/quality.csv: line 2: 'xyz' is not a hash");
    results("out", {{"a.png"}});
    write_text(at("out/gpuhist.journal"), "");
    refused("out: these results are from an interrupted run: finish it with --resume");
    fs::remove(at("out/gpuhist.journal"));
    policy("{}");
    refused("p.json: has no rules under 'gate', so every set would pass");
    policy("{\"gate\": {\"flagged\": {\"dark\": 2}}}");
    refused("p.json/gate/flagged/dark: 2 is not a number from 0 to 1");
    fs::remove(at("p.json"));
    EXPECT_EQ(gate().code, data_refused);
    for (const Names& words : {Names{"gate"},
                               {"gate", "out"},
                               {"gate", "a", "b", "--policy", "p.json"},
                               {"gate", "out", "--print-policy"}}) {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, usage_error) << testing::PrintToString(words);
        EXPECT_TRUE(contains(outcome.err, "gate: ")) << outcome.err;
    }
}

}  // namespace
