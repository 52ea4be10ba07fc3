// A folder of training data with planted faults: the command of the guide names each of them, and no other picture.
//
// Environment: GPUHIST_PROGRAM, the program.
#include "support/directory.hpp"
#include "support/planted.hpp"

namespace {

using namespace command;
using namespace gpuhist::test;

class TrainingFolder : public Directory {
  protected:
    /// Faults by their paths: a flag, or the kind of an error.
    std::map<std::string, std::string> planted;

    void write(const std::string& name, const std::vector<unsigned char>& bytes) const {
        write_text(at(name), std::string(bytes.begin(), bytes.end()));
    }
    void plant(const std::string& name, const std::string& fault, const cv::Mat& image) {
        save(name, image);
        planted[name] = fault;
    }

    void SetUp() override {
        Directory::SetUp();
        int seed = 1;
        for (const char* directory : {"train/cat", "train/dog", "val/cat", "val/dog"})
            for (int i = 0; i < 8; ++i, ++seed)
                save(std::string(directory) + "/" + std::to_string(i) + (i % 2 ? ".png" : ".jpg"),
                     plain_picture(160, 120, seed));
        const auto fresh = [&] { return plain_picture(160, 120, seed++); };
        plant("train/cat/dark.jpg", "dark", darkened(fresh()));
        plant("val/dog/dark.png", "dark", darkened(fresh()));
        plant("train/dog/overexposed.jpg", "light", overexposed(fresh()));
        plant("train/dog/blurred.jpg", "blurry", blurred(fresh()));
        plant("val/cat/blurred.png", "blurry", blurred(fresh()));
        plant("train/cat/noisy.png", "noisy", with_noise(fresh()));
        plant("train/cat/gray.png", "grayscale", grayed(fresh(), 1));
        plant("val/cat/gray.jpg", "grayscale", grayed(fresh(), 3));
        plant("val/cat/icon.png", "odd_size", plain_picture(100, 75, seed++));
        plant("val/dog/panorama.png", "odd_aspect_ratio", plain_picture(240, 80, seed++));
        // Copies sort behind the picture that they are of.
        write("train/dog/copy.png", encode_png(load("train/dog/3.png"), 1));
        planted["train/dog/copy.png"] = "duplicate";
        plant("val/cat/leaked.png", "duplicate", load("train/cat/1.png"));
        plant("val/dog/leaked.jpg", "near_duplicate", load("train/dog/5.png"));

        const std::string jpeg = read_text(at("train/cat/2.jpg")), png = read_text(at("train/dog/1.png"));
        write_text(at("train/cat/cut.jpg"), jpeg.substr(0, jpeg.size() / 2));
        planted["train/cat/cut.jpg"] = "truncated";
        std::string flipped = png;
        flipped[png.size() / 2] = static_cast<char>(flipped[png.size() / 2] ^ 0x40);
        write_text(at("val/dog/flipped.png"), flipped);
        planted["val/dog/flipped.png"] = "damaged";
        write_text(at("train/dog/page.jpg"), "<html>404</html>");
        planted["train/dog/page.jpg"] = "unsupported";
    }
};

TEST_F(TrainingFolder, EachPlantedFaultIsNamedAndNoOther) {
    const Outcome outcome = run({"train", "val", "--quality", "-o", "results"});
    EXPECT_EQ(outcome.code, inputs_failed);
    std::map<std::string, std::set<std::string>> found;
    for (auto& row : table(read_text(at("results/flags.csv")))) found[row["path"]].insert(row["flag"]);
    for (auto& row : table(read_text(at("results/errors.csv")))) found[row["path"]].insert(row["kind"]);
    // An overexposed picture has few values left, next to each other, and few edges.
    const std::set<std::string> white{"blurry", "clipped", "low_contrast", "low_information"};
    for (const auto& [path, fault] : planted) {
        EXPECT_EQ(found[path].count(fault), 1U) << path << ": " << fault;
        EXPECT_TRUE(contains(outcome.out + outcome.err, path)) << path;
        found[path].erase(fault);
        if (fault == "light")
            for (const std::string& other : white) found[path].erase(other);
    }
    for (const auto& [path, others] : found) EXPECT_EQ(others, std::set<std::string>()) << path;
}

TEST_F(TrainingFolder, AGateNamesTheLeaks) {
    run({"train", "val", "-q", "--quality", "-o", "results"});
    write_text(at("policy.json"), R"({"gate": {"errors": 0, "flagged": {"dark": 0.1, "duplicate": 0},
                                               "dataset": {"mean_01": {"red": [0.2, 0.8]}},
                                               "leaks": {"between": ["train", "val"]}}})");
    const Outcome outcome = run({"gate", "results", "--policy", "policy.json", "--github"});
    EXPECT_EQ(outcome.code, policy_broken) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "broken  3 inputs failed, at most 0: ")) << outcome.out;
    EXPECT_TRUE(contains(outcome.out,
                         "broken  duplicate: 2 of 45 images, 4.44 %, at most 0 %: train/dog/copy.png = "
                         "train/dog/3.png, val/cat/leaked.png = train/cat/1.png\n"))
        << outcome.out;
    EXPECT_TRUE(contains(outcome.out,
                         "broken  leaks between train, val: 2 images: val/cat/leaked.png = "
                         "train/cat/1.png, val/dog/leaked.jpg = train/dog/5.png\n"))
        << outcome.out;
    EXPECT_TRUE(contains(outcome.out, "gate  3 of 5 rules broken\n")) << outcome.out;
    EXPECT_TRUE(contains(outcome.out, "::error file=train/cat/cut.jpg::3 inputs failed")) << outcome.out;
}

}  // namespace
