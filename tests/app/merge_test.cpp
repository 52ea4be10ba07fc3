// gpuhist merge: the parts of a run become what a single run writes, or are refused by name.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "gpuhist/engine.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/shard.hpp"
#include "support/damage.hpp"
#include "support/repetitions.hpp"
#include "support/sealed.hpp"
#include "support/temporary_directory.hpp"
#include "support/text_files.hpp"

namespace {

namespace fs = std::filesystem;
using namespace gpuhist;
using test::read_text, test::write_text;

const std::string gray_among_colors = ": 4 gray images are treated as R = G = B in \"normalize\"\n";
const std::string several_whites =
    "u16: images have different values of white: white, mean_01, std_01 and clipped_high are empty; give --white V\n";
constexpr int all_done = 0, inputs_failed = 1, usage_error = 2, output_failed = 4, data_refused = 65;

struct Outcome {
    int code = -1;
    std::string out, err;
};

/// What a made input is: an image, of which files may not have been written, or a failure.
struct Measured {
    std::string path, group;
    std::vector<Analysis> images;  ///< none or one
    std::vector<FrequencyTable> values;
    std::vector<io::Failure> failures;
};

class Merge : public testing::Test {
  protected:
    fs::path at(const std::string& name) const { return directory_ / name; }

    /// Runs `gpuhist merge` in the test's directory.
    Outcome merge(const std::vector<std::string>& arguments, rlim_t largest_file = RLIM_INFINITY) const {
        const char* program = std::getenv("GPUHIST_PROGRAM");
        if (!program) throw std::runtime_error("GPUHIST_PROGRAM is not set");
        std::vector<std::string> words{program, "merge"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            const int flags = O_WRONLY | O_CREAT | O_TRUNC;
            dup2(open((directory_ / ".out").c_str(), flags, 0600), 1);
            dup2(open((directory_ / ".err").c_str(), flags, 0600), 2);
            const rlimit limit{largest_file, largest_file};
            if (chdir(directory_.c_str()) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(126);
            execv(argv[0], argv.data());
            _exit(127);
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(directory_ / ".out"),
                read_text(directory_ / ".err")};
    }

    /// Inputs of every kind: depths, colors, names that need quotes, and some that fail.
    static std::vector<Measured> made_inputs(std::size_t count) {
        const auto engine = make_engine("cpu", {.threads = 1});
        std::mt19937 random(static_cast<unsigned>(count));
        std::vector<Measured> inputs;
        for (std::size_t i = 0; i < count; ++i) {
            Measured input;
            input.group = i % 2 ? "odd" : "even\xff";
            input.path = input.group + "/" + std::to_string(i) + (i % 3 ? ".png" : ", \"x\"\n.png");
            std::vector<float> samples(4 * 12);
            for (float& sample : samples) sample = static_cast<float>(random() % 1000) / 1000;
            const ImageView image =
                packed_view(samples.data(), 4, 3,
                            i % 4 == 0   ? 1
                            : i % 4 == 1 ? 4
                                         : 3,
                            std::array{Depth::u8, Depth::u16, Depth::f32}[static_cast<std::size_t>(i % 3)]);
            if (i % 5 != 3) {
                input.images.push_back(engine->analyze(image));
                if (image.depth == Depth::f32) input.values = count_frequencies(image);
                if (i % 11 == 10) input.failures = {{input.path, "output", "1"}, {input.path, "output", "2"}};
            } else {
                input.failures = {{input.path, "damaged", "no image, but\r\n\"text\" and \xfe"}};
            }
            inputs.push_back(std::move(input));
        }
        return inputs;
    }

    static io::Shard empty_shard(std::size_t inputs, std::uint64_t number, std::uint64_t parts) {
        io::Shard part;
        part.id = {number, parts, {}};
        part.inputs = inputs;
        part.inputs_hash = "cafe";
        part.options = {{"decoder", "1"}, {"--bins", "64"}};
        part.histogram.bins = 64;
        return part;
    }

    static std::vector<Statistics> rows_of(const Measured& input) { return statistics(input.images[0]); }
    static io::ImageInfo info_of(const Measured& input) {
        return {input.path, 4, 3, input.images[0].depth, input.images[0].white};
    }

    /// Writes one part into a directory.
    void write_shard(const std::vector<Measured>& inputs, std::uint64_t number, std::uint64_t parts,
                     const std::string& directory) const {
        io::Shard part = empty_shard(inputs.size(), number, parts);
        const auto sink = io::make_shard_sink();
        std::string rows = sink->begin();
        std::map<std::string, Summary> pools{{"", {}}};
        for (std::size_t i = number - 1; i < inputs.size(); i += parts) {
            for (const io::Failure& failure : inputs[i].failures) rows += sink->format(io::record_of(i, failure));
            part.rows[ColumnFile::errors] += inputs[i].failures.size();
            if (inputs[i].images.empty()) continue;
            rows += sink->format(io::record_of({i, info_of(inputs[i]), rows_of(inputs[i])}));
            part.rows[ColumnFile::stats] += rows_of(inputs[i]).size();
            pools[""].add(inputs[i].images[0], inputs[i].values);
            pools[inputs[i].group].add(inputs[i].images[0], inputs[i].values);
        }
        for (auto& [name, pool] : pools) part.groups.push_back({name, pool});
        fs::create_directories(at(directory));
        write_text(at(directory) / io::shard_rows_file_name(part.id), rows);
        part.rows_file = test::checksums_of(rows);
        io::write_shard(at(directory), part);
    }

    /// What a single run writes, made from the inputs without any part.
    void expect_single_run(const std::vector<Measured>& inputs, const std::string& directory) const {
        const auto errors_csv = io::make_sink("csv", {io::Table(ColumnFile::errors)});
        std::string rows = io::stats_csv_header(), errors = errors_csv->begin();
        std::map<std::string, Summary> pools{{"", {}}};
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            for (const io::Failure& failure : inputs[i].failures)
                errors += errors_csv->format(io::record_of(i, failure));
            if (inputs[i].images.empty()) continue;
            rows += io::stats_csv_rows(info_of(inputs[i]), rows_of(inputs[i]));
            pools[""].add(inputs[i].images[0], inputs[i].values);
            pools[inputs[i].group].add(inputs[i].images[0], inputs[i].values);
        }
        std::vector<io::Group> groups;
        for (auto& [name, pool] : pools) groups.push_back({name, pool});
        fs::create_directories(at("single"));
        io::write_dataset(at("single"), groups, {}, {64, std::nullopt});
        write_text(at("single/stats.csv"), rows);
        write_text(at("single/errors.csv"), errors);
        const auto files_of = [](const fs::path& place) {
            std::vector<std::string> files;
            for (const auto& entry : fs::recursive_directory_iterator(place))
                if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(place));
            return files;
        };
        const std::vector<std::string> names = files_of(at("single"));
        for (const std::string& name : names)
            EXPECT_TRUE(read_text(at("single/" + name)) == read_text(at(directory + "/" + name))) << name;
        EXPECT_EQ(names.size() + 1, files_of(at(directory)).size());  // and .gpuhist
    }

    /// Three parts of seven inputs, one per directory.
    void write_three() const {
        const auto inputs = made_inputs(7);
        for (std::uint64_t part = 1; part <= 3; ++part) write_shard(inputs, part, 3, std::to_string(part));
    }

    void expect_refused(const std::vector<std::string>& arguments, const std::string& message) const {
        const Outcome outcome = merge(arguments);
        EXPECT_EQ(outcome.code, data_refused);
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(outcome.err, "gpuhist: " + message + "\n");
        EXPECT_FALSE(fs::exists(at("gpuhist-out")));
    }

    /// Changes a text in a part, and the checksums with it: what is refused then is refused for what it says.
    void change(const std::string& file, const std::string& from, const std::string& to) const {
        std::string text = read_text(at(file));
        const auto found = text.find(from);
        ASSERT_NE(found, text.npos) << from;
        text.replace(found, from.size(), to);
        if (file.ends_with(".json"))
            write_text(at(file), test::resealed(text));
        else
            write_rows(file, text);
    }

    /// Writes a file of rows, and its checksums into the part beside it.
    void write_rows(const std::string& file, const std::string& text) const {
        write_text(at(file), text);
        const std::string part = file.substr(0, file.size() - std::string(".stats.csv").size()) + ".json";
        std::string json = read_text(at(part));
        const auto start = json.find("\"rows_file\":"), end = json.find('}', start) + 1;
        const io::FileChecksums sums = test::checksums_of(text);
        json.replace(start, end - start,
                     "\"rows_file\":{\"bytes\":" + std::to_string(sums.bytes) + ",\"blocks\":\"" + sums.blocks + "\"}");
        write_text(at(part), test::resealed(json));
    }

    const test::TemporaryDirectory temporary_;
    const fs::path directory_ = temporary_.path();
};

TEST_F(Merge, HoweverTheSetWasCut) {
    auto inputs = made_inputs(60);
    for (std::size_t i = 4; i < inputs.size(); i += 12)  // one group has several whites, the other has one
        for (Analysis& image : inputs[i].images)
            if (image.depth == Depth::u16) image.white = 4095;
    for (std::uint64_t parts : {1, 2, 3, 7, 60, 71}) {
        SCOPED_TRACE(parts);
        std::vector<std::string> arguments{"-o", "out"};
        for (std::uint64_t part = 1; part <= parts; ++part) {
            const std::string directory = std::to_string(parts) + "/" + std::to_string(part % 4);
            write_shard(inputs, part, parts, directory);
            if (part <= 4) arguments.push_back(directory);
        }
        const Outcome outcome = merge(arguments);
        EXPECT_EQ(outcome.code, inputs_failed);
        EXPECT_EQ(outcome.err, "gpuhist: u8" + gray_among_colors + "gpuhist: " + several_whites + "gpuhist: u16" +
                                   gray_among_colors + "gpuhist: f32" + gray_among_colors +
                                   "gpuhist: 20 inputs failed when the parts ran: see out/errors.csv\n");
        EXPECT_EQ(outcome.out, "merged  " + std::to_string(parts) + (parts == 1 ? " shard" : " shards") +
                                   ", 60 inputs, 20 errors\nwrote  out/dataset.csv dataset.histogram.png dataset.json "
                                   "errors.csv stats.csv and 2 pictures of groups: DIR/dataset.histogram.png\n");
        expect_single_run(inputs, "out");
    }
    write_shard(inputs, 1, 1, "quiet");
    EXPECT_EQ(merge({"-q", "quiet"}).err, "gpuhist: 20 inputs failed when the parts ran: see gpuhist-out/errors.csv\n");
}

TEST_F(Merge, FilesOfOthersAreReplacedByForce) {
    write_three();
    fs::create_directories(at("out"));
    for (const char* name : {"stats.csv", "errors.csv", "dataset.csv", "dataset.f32.histogram.png"})
        write_text(at("out") / name, "old");
    EXPECT_EQ(merge({"-q", "-o", "out", "1", "2", "3"}).code, output_failed);
    EXPECT_EQ(merge({"-q", "-o", "out", "1", "2", "3", "--force"}).code, inputs_failed);
    expect_single_run(made_inputs(7), "out");
}

TEST_F(Merge, WithoutFailuresIsCode0) {
    write_shard(made_inputs(3), 1, 1, "parts");
    const Outcome outcome = merge({"parts"});
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.out,
              "merged  1 shard, 3 inputs, 0 errors\nwrote  gpuhist-out/dataset.csv dataset.histogram.png dataset.json "
              "stats.csv and 2 pictures of groups: DIR/dataset.histogram.png\n");
    EXPECT_FALSE(fs::exists(at("gpuhist-out/errors.csv")));
}

TEST_F(Merge, APartThatRanTwiceIsFine) {
    write_three();
    write_shard(made_inputs(7), 2, 3, "again");
    const Outcome outcome = merge({"1", "2", "3", "again", "2", "-q"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_EQ(outcome.err, "gpuhist: 1 input failed when the parts ran: see gpuhist-out/errors.csv\n");
    EXPECT_EQ(outcome.out, "");
    expect_single_run(made_inputs(7), "gpuhist-out");
}

TEST_F(Merge, TwiceAndDifferentIsRefused) {
    write_three();
    const auto with = [&](const std::string& part, const std::string& from, const std::string& to) {
        write_shard(made_inputs(7), std::stoul(part), 3, "again");
        change("again/part-" + part + "-of-3.stats.csv", from, to);
        const std::string name = "/part-" + part + "-of-3.json";
        expect_refused({"1", "2", "3", "again"}, part + name + " and again" + name +
                                                     " do not belong together: they are the same shard of the run and "
                                                     "differ");
        fs::remove_all(at("again"));
    };
    with("2", ",gray,", ",grey,");
    with("1", ",damaged,", ",missing,");
}

TEST_F(Merge, MissingPartsAreNamed) {
    write_three();
    expect_refused({"2"}, "of 3 shards, as 2/part-2-of-3.json says, these are missing: 1, 3");
    expect_refused({"."}, ".: no part-K-of-N.json");
    expect_refused({"nowhere"}, "nowhere: cannot be listed: No such file or directory");
    fs::remove(at("3/part-3-of-3.stats.csv"));
    expect_refused({"1", "2", "3"}, "3/part-3-of-3.stats.csv: cannot be read: No such file or directory");
}

TEST_F(Merge, PartsOfOtherRunsAreRefused) {
    write_three();
    write_shard(made_inputs(7), 2, 4, "four");
    expect_refused({"1", "four"},
                   "1/part-1-of-3.json and four/part-2-of-4.json do not belong together: one is of 3 shards, the other "
                   "of 4");
    const auto with = [&](const std::string& from, const std::string& to, const std::string& message) {
        write_three();
        change("2/part-2-of-3.json", from, to);
        expect_refused({"1", "2", "3"}, "1/part-1-of-3.json and 2/part-2-of-3.json do not belong together: " + message);
    };
    with("\"--bins\":\"64\"", "\"--bins\":\"65\"", "--bins is 64 in one and 65 in the other");
    with("\"--bins\":\"64\",", "", "--bins is 64 in one and not given in the other");
    with("\"bins\":64", "\"bins\":65", "their options differ");
    with("\"percentiles\":[1.0,", "\"percentiles\":[2.0,", "their options differ");
    with("\"inputs\":7", "\"inputs\":8", "one is of 7 inputs, the other of 8");
    with("cafe", "cafd", "the paths of their inputs differ");
}

TEST_F(Merge, DamagedPartsAreRefused) {
    write_three();
    change("2/part-2-of-3.json", "\"images\":1", "\"images\":0");
    expect_refused(
        {"1", "2", "3"},
        "2/part-2-of-3.json/groups/0/pool: summary: u16 gray: there is at least one image and sample, and at "
        "most 2^60 samples");
    write_three();
    fs::rename(at("2/part-2-of-3.json"), at("2/part-1-of-3.json"));
    expect_refused({"2"}, "2/part-1-of-3.json: this is part-2-of-3.json under another name");
    write_text(at("2/part-1-of-3.json"), "{");
    EXPECT_EQ(merge({"2"}).err.rfind("gpuhist: 2/part-1-of-3.json: not a part file: ", 0), 0U);
    fs::remove(at("2/part-1-of-3.json"));
    write_three();
    change("2/part-2-of-3.json", "gpuhist part 13", "gpuhist part 10");
    EXPECT_NE(merge({"1", "2", "3"}).err.find("'gpuhist part 10', which another version of gpuhist wrote"),
              std::string::npos);
}

/// Numbers of the pool and of the rows beside it are not the same: no checksum is needed to see that.
TEST_F(Merge, PoolsThatAreNotThoseOfTheRowsAreRefused) {
    const auto with = [&](const std::function<void(nlohmann::ordered_json&)>& damage, const std::string& message) {
        write_three();
        const std::string file = "1/part-1-of-3.json";
        auto json = nlohmann::ordered_json::parse(read_text(at(file)));
        damage(json);
        write_text(at(file), test::resealed(json.dump()));
        const Outcome outcome = merge({"1", "2", "3"});
        EXPECT_EQ(outcome.code, data_refused);
        EXPECT_EQ(outcome.err.rfind("gpuhist: " + file + ": " + message, 0), 0U) << outcome.err;
        EXPECT_FALSE(fs::exists(at("gpuhist-out")));
    };
    const std::string rows = "its numbers are not those of the rows beside it: ";
    const std::string groups = "its groups do not add up to the whole set: ";
    const auto first = [](auto& json, std::size_t group) -> auto& {
        return json["groups"][group]["pool"][0]["channels"][0];
    };
    const auto twice = [&](auto& json, std::size_t group) {
        auto& images = json["groups"][group]["pool"][0]["images"];
        images = images.template get<int>() + 1;
        first(json, group)["images"] = 2;
    };
    with([&](auto& json) { twice(json, 1); }, groups + "u8 gray: images 2 and 1");
    with(
        [&](auto& json) {
            json["options"]["--group-by"] = "dir";
            json["groups"].erase(1);
        },
        groups + "u8 blue: images 0 and 1");
    with(
        [&](auto& json) {
            json["groups"].erase(1);
            twice(json, 0);
        },
        rows + "u8 gray: images 1 and 2");
    with(
        [&](auto& json) {
            for (auto& group : json["groups"]) group["pool"] = nlohmann::ordered_json::array();
        },
        rows + "u8 blue: images 1 and 0");
    with(
        [&](auto& json) {
            for (auto& group : json["groups"]) group["pool"][0]["channels"][0]["counts"].back()[0] = 255;
        },
        rows + "u8 gray: max ");
    with(
        [&](auto& json) {
            for (auto& group : json["groups"]) {
                auto& channel = group["pool"][0]["channels"][0];
                channel["samples"] = channel["samples"].template get<int>() + 1;
                channel["counts"][0][1] = channel["counts"][0][1].template get<int>() + 1;
            }
        },
        rows + "u8 gray: samples 12 and 13");
}

TEST_F(Merge, DamageIsRefusedOrHarmless) {
    write_three();
    ASSERT_EQ(merge({"-q", "-o", "good", "1", "2", "3"}).code, inputs_failed);
    std::map<std::string, std::string> good;
    for (const auto& entry : fs::recursive_directory_iterator(at("good")))
        if (entry.is_regular_file()) good[fs::relative(entry.path(), at("good"))] = read_text(entry.path());
    std::mt19937 random(41);
    const std::size_t rounds = test::repetitions(60, 12);
    std::size_t refused = 0;
    for (const char* name : {"2/part-2-of-3.json", "3/part-3-of-3.stats.csv"}) {
        const std::string whole = read_text(at(name));
        for (std::size_t round = 0; round < rounds; ++round) {
            write_text(at(name), test::damaged(whole, random));
            const Outcome outcome = merge({"-q", "-o", "out", "1", "2", "3"});
            EXPECT_EQ(outcome.code, data_refused);
            refused += !fs::exists(at("out"));
            fs::remove_all(at("out"));
        }
        write_text(at(name), whole);
    }
    EXPECT_EQ(refused, 2 * rounds);
    ASSERT_EQ(merge({"-q", "-o", "out", "1", "2", "3"}).code, inputs_failed);
    for (const auto& [name, bytes] : good) EXPECT_TRUE(read_text(at("out/" + name)) == bytes) << name;

    // Earlier results stay, and are called so.
    fs::remove(at("2/part-2-of-3.json"));
    const Outcome outcome = merge({"-q", "-o", "out", "1", "2", "3"});
    EXPECT_EQ(outcome.code, data_refused);
    EXPECT_NE(outcome.err.find("gpuhist: out: nothing was written: the results there are from an earlier run\n"),
              std::string::npos)
        << outcome.err;
    for (const auto& [name, bytes] : good) EXPECT_TRUE(read_text(at("out/" + name)) == bytes) << name;
}

TEST_F(Merge, AFifoDoesNotMakeItWait) {
    for (const char* name : {"part-2-of-3.json", "part-2-of-3.stats.csv"}) {
        write_three();
        fs::remove(at("2") / name);
        ASSERT_EQ(mkfifo((at("2") / name).c_str(), 0600), 0);
        expect_refused({"1", "2", "3"}, std::string("2/") + name + ": a pipe, not a file");
        fs::remove(at("2") / name);
    }
}

TEST_F(Merge, RowsMustBeThePartsOwn) {
    const auto expect_line = [&](const std::string& part, const std::string& message) {
        expect_refused({"1", "2", "3"}, part + "/part-" + part + "-of-3.stats.csv: line " + message);
    };
    const auto with = [&](const std::string& part, const std::string& from, const std::string& to,
                          const std::string& message) {
        write_three();
        change(part + "/part-" + part + "-of-3.stats.csv", from, to);
        expect_line(part, message);
    };
    with("2", "\n1,", "\n2,", "2: input 2 is not one of this shard's");
    with("2", "\n1,", "\n7,", "2: input 7 is not one of this shard's");
    with("2", "\n1,", "\n4,", "2: input 1 has neither a row of stats nor one of errors");
    with("2", "\n1,", "\nx,",
         "2: the row does not start with the input's index and 'stats', 'regions', 'quality', 'image_counts' or "
         "'errors'");
    with("2", "index,", "", "1: this is not the header of a shard's rows");
    with("1", "\n3,", "\n2,", "4: input 2 is not one of this shard's");
    with("1", "\n3,", "\n0,", "7: input 3 has neither a row of stats nor one of errors");
    with("1", "\n3,", "\n6,", "4: input 3 has neither a row of stats nor one of errors");
    with("1", "\n3,errors,", "\n3,error,",
         "4: the row does not start with the input's index and 'stats', 'regions', 'quality', 'image_counts' or "
         "'errors'");
    with("1", "\n3,errors,", "\n3,stats,", "4: not a row of stats.csv");
    write_three();
    change("1/part-1-of-3.json", "\"errors\":1", "\"errors\":2");
    expect_line("1", "17: 1 rows of errors, but the shard file says 2");

    write_three();
    const std::string text = read_text(at("2/part-2-of-3.stats.csv"));
    const auto with_text = [&](const std::string& changed, const std::string& message) {
        write_rows("2/part-2-of-3.stats.csv", changed);
        expect_line("2", message);
    };
    with_text(text.substr(0, text.size() - 1), "8: the last row has no end: the file is truncated");
    const std::size_t second = text.find("\n1,", text.find("\n1,") + 1);
    const std::size_t third = text.find("\n1,", second + 1);
    with_text(text.substr(0, second) + text.substr(third), "8: 6 rows of stats, but the shard file says 7");
    with_text(text.substr(0, second) + "\n4" + text.substr(second + 2),
              "4: the rows are not in the order of the inputs");
    with_text(text.substr(0, text.find('\n') + 1), "2: input 1 has neither a row of stats nor one of errors");
}

TEST_F(Merge, ManyMorePartsThanFilesMayBeOpen) {
    const auto inputs = made_inputs(1100);
    for (std::uint64_t part = 1; part <= 1100; ++part) write_shard(inputs, part, 1100, "parts");
    const Outcome outcome = merge({"parts"});
    EXPECT_EQ(outcome.code, inputs_failed);
    expect_single_run(inputs, "gpuhist-out");
}

TEST_F(Merge, UsageIsExplained) {
    const auto usage = [&](const std::vector<std::string>& arguments, const std::string& message) {
        const Outcome outcome = merge(arguments);
        EXPECT_EQ(outcome.code, usage_error);
        EXPECT_EQ(outcome.err, "gpuhist: " + message + "\nSee gpuhist --help.\n");
    };
    usage({}, "merge: no directory: name the directories that hold the part files");
    usage({""}, "merge: the name of a directory is empty");
    usage({"-o", "", "x"}, "merge: the name of a directory is empty");
    usage({"x", "--bins", "3"}, "'merge' has no option '--bins'");
    const Outcome help = merge({"--help"});
    EXPECT_EQ(help.code, all_done);
    EXPECT_NE(help.out.find("Usage: gpuhist merge"), std::string::npos);
}

TEST_F(Merge, OutputThatCannotBeWrittenIsCode4) {
    write_three();
    write_text(at("file"), "in the way");
    Outcome outcome = merge({"-o", "file", "1", "2", "3"});
    EXPECT_EQ(outcome.code, output_failed);
    EXPECT_EQ(outcome.err, "gpuhist: file: cannot make this directory: Not a directory\n");
    outcome = merge({"-o", "out", "1", "2", "3"}, 1000);
    EXPECT_EQ(outcome.code, output_failed);
    EXPECT_EQ(outcome.err, "gpuhist: out/stats.csv: cannot be written: File too large\n");
    EXPECT_FALSE(fs::exists(at("out")));
}

}  // namespace
