// Hashes in the table of quality, and groups of duplicates from it.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <opencv2/imgproc.hpp>

#include "gpuhist/hashes.hpp"
#include "support/directory.hpp"

namespace {

using namespace command;

/// Picture of soft spots, another for each seed.
cv::Mat picture(int seed, int width = 96, int height = 64, int type = CV_8UC3) {
    cv::RNG random(static_cast<std::uint64_t>(seed) + 1);
    cv::Mat spots(8, 9, type), image;
    random.fill(spots, cv::RNG::UNIFORM, 20, type == CV_16UC3 ? 60000 : 236);
    cv::resize(spots, image, cv::Size(width, height), 0, 0, cv::INTER_CUBIC);
    return image;
}

class DuplicatesCommand : public Directory {
  protected:
    using Row = std::map<std::string, std::string>;

    void measure(const Names& inputs, const std::string& output) const {
        Names words{"-q", "--quality", "--write", "stats", "--engine", "cpu", "-o", output};
        words.insert(words.end(), inputs.begin(), inputs.end());
        ASSERT_EQ(run(words).code, all_done);
    }
    std::map<std::string, Row> hashes(const std::string& output) const {
        std::map<std::string, Row> rows;
        for (const Row& row : table(read_text(at(output + "/quality.csv")))) rows[row.at("path")] = row;
        return rows;
    }
    /// A table of quality made up.
    void write_quality(const std::string& name, const std::vector<std::array<std::string, 4>>& rows) const {
        std::string text = "path,noise,pixels_hash,dhash,phash\n";
        for (const auto& [path, pixels, dhash, phash] : rows)
            text += path + ",1.5," + std::string(32 - pixels.size(), '0') + pixels + "," + dhash + "," + phash + "\n";
        fs::create_directories(at(name));
        write_text(at(name + "/quality.csv"), text);
    }
    static std::string hash(std::uint64_t value) { return gpuhist::hash_text(value); }
    std::string groups(const std::string& output = "gpuhist-out") const {
        return read_text(at(output + "/groups.csv"));
    }
};

TEST_F(DuplicatesCommand, HashesAreTheSameFromEveryFormat) {
    const cv::Mat color = picture(1), gray = picture(2, 70, 50, CV_8UC1);
    save("set/color.png", color);
    save("set/color.ppm", color);
    save("set/gray.png", gray);
    gpuhist::io::write_image(at("set/color.tiff"), color);
    gpuhist::io::write_image(at("set/gray.tiff"), gray);
    std::string bmp("BM\0\0\0\0\0\0\0\0\66\0\0\0\50\0\0\0", 18);  // 24 bits, from the bottom
    for (const std::uint32_t number : {static_cast<std::uint32_t>(color.cols), static_cast<std::uint32_t>(color.rows),
                                       1u | 24u << 16, 0u, 0u, 0u, 0u, 0u, 0u})
        bmp.append(reinterpret_cast<const char*>(&number), 4);
    for (int y = color.rows - 1; y >= 0; --y)
        bmp.append(reinterpret_cast<const char*>(color.ptr(y)), static_cast<std::size_t>(color.cols) * 3);
    write_text(at("set/color.bmp"), bmp);
    measure({"set"}, "out");
    auto found = hashes("out");
    for (const char* name : {"set/color.ppm", "set/color.tiff", "set/color.bmp"})
        for (const char* column : {"pixels_hash", "dhash", "phash"})
            EXPECT_EQ(found[name][column], found["set/color.png"][column]) << name << ' ' << column;
    EXPECT_EQ(found["set/gray.tiff"]["pixels_hash"], found["set/gray.png"]["pixels_hash"]);
    EXPECT_NE(found["set/gray.png"]["pixels_hash"], found["set/color.png"]["pixels_hash"]);

    ASSERT_EQ(run({"duplicates", "out", "-o", "dup"}).code, all_done);
    EXPECT_EQ(groups("dup"),
              "group,path,distance,kept\n"
              "1,set/color.bmp,0,set/color.bmp\n"
              "1,set/color.png,0,set/color.bmp\n"
              "1,set/color.ppm,0,set/color.bmp\n"
              "1,set/color.tiff,0,set/color.bmp\n"
              "2,set/gray.png,0,set/gray.png\n"
              "2,set/gray.tiff,0,set/gray.png\n");
}

TEST_F(DuplicatesCommand, HashesOfStripsAreThoseOfTheWhole) {
    save("large.png", picture(1, 1300, 1500, CV_16UC3));
    measure({"large.png"}, "whole");
    ASSERT_EQ(run({"large.png", "-q", "--quality", "--write", "stats", "--memory", "8M", "-o", "strips"}).code,
              all_done);
    EXPECT_EQ(read_text(at("strips/quality.csv")), read_text(at("whole/quality.csv")));
}

TEST_F(DuplicatesCommand, AreFoundWhateverWasPlanted) {
    for (int i = 0; i < 12; ++i) save("set/" + std::to_string(10 + i) + ".png", picture(i));
    cv::Mat half, noisy = picture(4).clone();
    cv::resize(picture(3), half, cv::Size(48, 32), 0, 0, cv::INTER_AREA);
    save("set/half-of-13.png", half);
    cv::Mat noise(noisy.size(), noisy.type());
    cv::RNG(7).fill(noise, cv::RNG::UNIFORM, 0, 5);
    noisy += noise;
    save("set/noisy-14.png", noisy);
    save("set/copy-of-15.ppm", picture(5));
    save("set/black.png", cv::Mat(20, 20, CV_8UC3, cv::Scalar::all(0)));
    save("set/blacker.png", cv::Mat(30, 20, CV_8UC3, cv::Scalar::all(0)));
    save("set/white.png", cv::Mat(20, 20, CV_8UC3, cv::Scalar::all(255)));
    save("set/white2.png", cv::Mat(20, 20, CV_8UC3, cv::Scalar::all(255)));
    measure({"set"}, "out");
    for (const char* hash : {"dhash", "phash"}) {
        const Outcome done = run({"duplicates", "out", "--hash", hash, "-o", "dup"});
        EXPECT_EQ(done.code, all_done) << done.err;
        EXPECT_EQ(done.out, "compared  19 images by pixels and " + std::string(hash) +
                                ": 4 duplicates in 4 groups, 2 with equal pixels\nwrote  dup/groups.csv\n");
        std::map<std::string, std::string> kept;
        for (const Row& row : table(groups("dup"))) {
            kept[row.at("path")] = row.at("kept");
            EXPECT_LE(std::stoi(row.at("distance")), 4);
        }
        const std::map<std::string, std::string> expected{
            {"set/13.png", "set/13.png"},       {"set/half-of-13.png", "set/13.png"},
            {"set/14.png", "set/14.png"},       {"set/noisy-14.png", "set/14.png"},
            {"set/15.png", "set/15.png"},       {"set/copy-of-15.ppm", "set/15.png"},
            {"set/white.png", "set/white.png"}, {"set/white2.png", "set/white.png"}};
        EXPECT_EQ(kept, expected) << hash;
    }
}

TEST_F(DuplicatesCommand, AreConnectedAndHaveTheirDistanceToTheKeptOne) {
    write_quality("results", {{"a", "1", hash(0xff00), hash(1)},
                              {"b", "2", hash(0xffff), hash(2)},
                              {"c", "3", hash(0xfff0), hash(4)},
                              {"d", "4", hash(0), hash(8)},
                              {"e", "5", hash(0), hash(16)},
                              {"f", "4", hash(0), hash(32)},
                              {"g", "6", "", ""},
                              {"h", "6", "", ""},
                              {"\"i,\"\"1\"\"\"", "7", hash(0xff0000000000), hash(64)},
                              {"./=j", "7", hash(0xff0000000000), hash(64)}});
    ASSERT_EQ(run({"duplicates", "results"}).code, all_done);
    EXPECT_EQ(groups(),
              "group,path,distance,kept\n"
              "1,a,0,a\n1,b,8,a\n1,c,4,a\n"
              "2,d,0,d\n2,f,0,d\n"
              "3,g,0,g\n3,h,0,g\n"
              "4,\"i,\"\"1\"\"\",0,\"i,\"\"1\"\"\"\n4,./=j,0,\"i,\"\"1\"\"\"\n");
    ASSERT_EQ(run({"duplicates", "results", "--distance=3", "-q"}).code, all_done);
    EXPECT_FALSE(contains(groups(), ",a,")) << groups();
    const Outcome none = run({"duplicates", "results", "--distance", "0", "--hash", "phash", "-o", "none"});
    EXPECT_EQ(none.out,
              "compared  10 images by pixels and phash: 3 duplicates in 3 groups, 3 with equal pixels\n"
              "wrote  none/groups.csv\n");
}

TEST_F(DuplicatesCommand, OfSeveralResultsAreFoundTogether) {
    save("a/1.png", picture(1));
    save("b/1.png", picture(1));
    save("b/2.png", picture(2));
    measure({"a"}, "first");
    measure({"b"}, "second");
    ASSERT_EQ(run({"duplicates", "second", "first", "-o", "dup"}).code, all_done);
    EXPECT_EQ(groups("dup"), "group,path,distance,kept\n1,b/1.png,0,b/1.png\n1,a/1.png,0,b/1.png\n");
    const Outcome one = run({"duplicates", "second", "-o", "dup"});
    EXPECT_EQ(one.out, "compared  2 images by pixels and dhash: no duplicates\nwrote  dup/groups.csv\n");
    EXPECT_EQ(groups("dup"), "group,path,distance,kept\n");
}

TEST_F(DuplicatesCommand, BetweenSetsAreLeaks) {
    save("data/val/cat/1.png", picture(1));
    save("data/train/cat/1.png", picture(1));
    save("data/train/dog/2.png", picture(2));
    save("data/train/dog/copy.png", picture(2));
    cv::Mat half;
    cv::resize(picture(3), half, cv::Size(48, 32), 0, 0, cv::INTER_AREA);
    save("data/train/dog/3.png", picture(3));
    save("data/val/dog/half.png", half);
    save("data/val/dog/9.png", picture(9));
    save("data/constrain/1.png", picture(1));
    measure({"data"}, "out");
    const Outcome leaks = run({"duplicates", "out", "--between", "train", "val", "-o", "dup"});
    EXPECT_EQ(leaks.code, all_done) << leaks.err;
    const std::string distance = table(groups("dup")).at(3).at("distance");
    EXPECT_EQ(leaks.out,
              "compared  7 images by pixels and dhash: 2 images of val in train too, 1 with equal pixels\n"
              "leak  data/train/cat/1.png -> data/val/cat/1.png  equal pixels\n"
              "leak  data/train/dog/3.png -> data/val/dog/half.png  distance " +
                  distance +
                  "\n"
                  "wrote  dup/groups.csv\n");
    EXPECT_EQ(groups("dup"),
              "group,path,distance,kept\n"
              "1,data/train/cat/1.png,0,data/train/cat/1.png\n"
              "1,data/val/cat/1.png,0,data/train/cat/1.png\n"
              "2,data/train/dog/3.png,0,data/train/dog/3.png\n"
              "2,data/val/dog/half.png," +
                  distance + ",data/train/dog/3.png\n");
    const Outcome back = run({"duplicates", "out", "--between", "val/", "data/train", "-o", "dup"});
    EXPECT_TRUE(contains(back.out, "2 images of data/train in val too")) << back.out;
    EXPECT_TRUE(contains(back.out, "leak  data/val/cat/1.png -> data/train/cat/1.png  equal pixels")) << back.out;

    measure({"data/train"}, "a");
    measure({"data/val"}, "b");
    const std::string found = groups("dup");
    ASSERT_EQ(run({"duplicates", "a", "b/", "--between", "b", "a/", "-o", "dup"}).code, all_done);
    EXPECT_EQ(groups("dup"), found) << "results are sets too";
    EXPECT_TRUE(contains(run({"duplicates", "out", "--between", "dog", "cat", "-o", "dup"}).out, "no leaks"));
}

TEST_F(DuplicatesCommand, ThatMakeNoSenseAreRefused) {
    write_quality("ok", {{"x/train/val/a", "1", hash(1), hash(1)}, {"train/b", "1", hash(1), hash(1)}});
    fs::create_directories(at("foreign"));
    fs::create_directories(at("plain"));
    fs::create_directories(at("parts"));
    write_text(at("plain/stats.csv"), "path\n");
    write_text(at("parts/part-1-of-2.json"), "{}\n");
    for (const auto& [name, text] :
         {std::pair("old", "path,noise\na,1\n"),
          {"short", "path,pixels_hash,dhash,phash\na,1\n"},
          {"empty", ""},
          {"torn", "path,pixels_hash,dhash,phash\na,"},
          {"wrong", "path,pixels_hash,dhash,phash\na,00000000000000000000000000000001,xyz,\n"},
          {"wrong2", "path,pixels_hash,dhash,phash\na,1,0000000000000001,\n"}}) {
        fs::create_directories(at(name));
        write_text(at(std::string(name) + "/quality.csv"), text);
    }
    struct Case {
        Names words;
        int code;
        std::string message;
    };
    for (const Case& one : {
             Case{{}, usage_error, "duplicates: no results: name directories with quality.csv"},
             {{"ok", "ok"}, usage_error, "duplicates: ok is given twice"},
             {{""}, usage_error, "duplicates: the name of a directory is empty"},
             {{"ok", "--distance", "17"}, usage_error, "--distance"},
             {{"ok", "--distance", "-1"}, usage_error, "--distance"},
             {{"ok", "--hash", "md5"}, usage_error, "'md5' is not one of dhash, phash"},
             {{"ok", "--between", "train"}, usage_error, "--between needs"},
             {{"ok", "--between", "a", "a"}, usage_error, "--between: name two sets, not 'a' twice"},
             {{"missing"},
              data_refused,
              "missing: there is no directory of this name: name one with results of gpuhist"},
             {{"foreign"}, data_refused, "foreign: the directory has no results of gpuhist: quality.csv is missing"},
             {{"plain"},
              data_refused,
              "plain: the directory has results without hashes: measure the images with --quality"},
             {{"parts"}, data_refused, "parts: the directory has parts of a run: merge them first"},
             {{"old"},
              data_refused,
              "old/quality.csv: line 1: there is no column 'pixels_hash': measure the images again with --quality"},
             {{"short"}, data_refused, "short/quality.csv: line 2: 2 fields"},
             {{"empty"}, data_refused, "empty/quality.csv: "},
             {{"torn"}, data_refused, "torn/quality.csv: line 2: "},
             {{"wrong"}, data_refused, "wrong/quality.csv: line 2: 'xyz' in column 'dhash' is not a hash"},
             {{"wrong2"}, data_refused, "wrong2/quality.csv: line 2: '1' in column 'pixels_hash' is not a hash"},
             {{"ok", "--between", "train", "test"},
              data_refused,
              "--between: no image is in 'test': name one of the results, or a directory in the paths of images"},
             {{"ok", "--between", "train", "val"},
              data_refused,
              "x/train/val/a: is in 'train' and in 'val': name directories that do not contain each other"},
         }) {
        Names words{"duplicates"};
        words.insert(words.end(), one.words.begin(), one.words.end());
        const Outcome refused = run(words);
        EXPECT_EQ(refused.code, one.code) << one.message;
        EXPECT_TRUE(contains(refused.err, one.message)) << refused.err << "\nis not: " << one.message;
        EXPECT_EQ(refused.out, "");
    }
    EXPECT_FALSE(fs::exists(at("gpuhist-out")));
}

TEST_F(DuplicatesCommand, ReplaceTheirOwnFileAlone) {
    write_quality("results", {{"a", "1", hash(1), hash(1)}, {"b", "1", hash(1), hash(1)}});
    fs::create_directories(at("out"));
    write_text(at("out/groups.csv"), "mine\n");
    const Outcome refused = run({"duplicates", "results", "-o", "out"});
    EXPECT_EQ(refused.code, output_failed);
    EXPECT_TRUE(contains(refused.err, "groups.csv")) << refused.err;
    EXPECT_EQ(read_text(at("out/groups.csv")), "mine\n");
    ASSERT_EQ(run({"duplicates", "results", "-o", "out", "--force"}).code, all_done);
    ASSERT_EQ(run({"duplicates", "results", "-o", "out"}).code, all_done);
    EXPECT_EQ(groups("out"), "group,path,distance,kept\n1,a,0,a\n1,b,0,a\n");
    EXPECT_EQ(run({"duplicates", "results", "-o", "full"}, {.out = Out::full_device}).code, output_failed);

    save("set/1.png", picture(1));
    save("set/2.png", picture(1));
    measure({"set"}, "out");
    EXPECT_FALSE(fs::exists(at("out/groups.csv"))) << "of results that are no more";
    ASSERT_EQ(run({"duplicates", "out", "-o", "out"}).code, all_done);
    EXPECT_TRUE(fs::exists(at("out/quality.csv")));
    EXPECT_EQ(table(groups("out")).size(), 2U);
}

TEST_F(DuplicatesCommand, OfPartsAreThoseOfTheWhole) {
    make_tree("set", 30);
    const auto run_all = [&](Names more) {
        more.insert(more.end(), {"set", "-q", "--quality", "--engine", "cpu"});
        return run(more).code;
    };
    run_all({"-o", "whole"});
    for (const char* shard : {"1/3", "2/3", "3/3"}) run_all({"-o", "parts", "--shard", shard});
    run({"merge", "-q", "parts", "-o", "merged"});
    ASSERT_EQ(run({"duplicates", "whole", "-o", "a", "-q"}).code, all_done);
    ASSERT_EQ(run({"duplicates", "merged", "-o", "b", "-q"}).code, all_done);
    EXPECT_EQ(groups("a"), groups("b"));
}

}  // namespace
