// Manifests: listed once, and what is measured of them is what a run that lists measures.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <cstdint>
#include <memory>

#include "gpuhist/io/manifest.hpp"
#include "support/directory.hpp"
#include "support/sealed.hpp"

namespace {

using namespace command;
using namespace gpuhist;
namespace fs = std::filesystem;

class Manifests : public Directory {
  protected:
    /// Runs the shards of a manifest, the last one first, into the directory `parts`.
    void run_shards(int count, const Names& words) const {
        for (int shard = count; shard > 0; --shard) {
            Names all{"--manifest",
                      "m.jsonl",
                      "-q",
                      "-o",
                      "parts",
                      "--shard",
                      std::to_string(shard) + "/" + std::to_string(count)};
            all.insert(all.end(), words.begin(), words.end());
            const Outcome outcome = run(all);
            EXPECT_LE(outcome.code, inputs_failed) << outcome.err;
        }
    }

    /// Expects results over a manifest to be the same as others, but for the name of the manifest in dataset.json, and
    /// the length of that file in the list of files.
    void expect_same_results(const std::string& actual, const std::string& expected) const {
        auto found = contents(actual), wanted = contents(expected);
        if (const auto json = found.find("dataset.json"); json != found.end()) {
            const std::string key = ",\"manifest\":\"" + io::Manifest(at("m.jsonl")).checksum() + '"';
            EXPECT_TRUE(contains(json->second, key)) << actual;
            for (std::size_t place; (place = json->second.find(key)) != std::string::npos;)
                json->second.erase(place, key.size());
            EXPECT_EQ(found.erase(".gpuhist"), 1u);
            EXPECT_EQ(wanted.erase(".gpuhist"), 1u);
        }
        EXPECT_EQ(files_below(actual), files_below(expected));
        for (const auto& [name, bytes] : wanted)
            EXPECT_TRUE(found[name] == bytes) << actual << ": " << name << " differs";
    }

    void expect_refused(const Outcome& outcome, const std::string& what, int code = data_refused) const {
        EXPECT_EQ(outcome.code, code);
        EXPECT_TRUE(contains(outcome.err, what)) << outcome.err;
    }
};

TEST_F(Manifests, WhatIsMeasuredOfThemIsThatOfTheirDirectories) {
    make_tree("dir", 60);
    for (const char* name : {"dir/\xff.png", "dir/a, \"b\".png", "dir/a/line\nend.png"}) write_text(at(name), "no");
    fs::create_directory(at("empty"));
    const Names inputs{"dir", "empty", "missing.png"};
    const Names words{"--group-by", "dir", "--write", "stats"};
    const auto with = [&](Names all, const Names& more) {
        all.insert(all.end(), more.begin(), more.end());
        return run(all);
    };
    ASSERT_EQ(with(inputs, {"-q", "-o", "whole", "--group-by", "dir", "--write", "stats"}).code, inputs_failed);
    const Outcome made = with({"manifest", "-o", "m.jsonl"}, inputs);
    EXPECT_EQ(made.code, inputs_failed);
    EXPECT_TRUE(contains(made.err, "empty: the directory has no images")) << made.err;
    EXPECT_TRUE(contains(made.err, "m.jsonl: 65 inputs, ")) << made.err;
    save_gray("dir/later.png");  // is not listed again
    EXPECT_EQ(with({"--manifest", "m.jsonl", "-q", "-o", "one"}, words).code, inputs_failed);
    expect_same_results("one", "whole");
    run_shards(7, words);
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, inputs_failed);
    expect_same_results("merged", "whole");
    for (const char* part : {"3/3", "1/3", "2/3"}) {
        const Outcome joined = run({"merge", "-o", "joined", "--shard", part, "parts"});
        EXPECT_EQ(joined.code, all_done) << joined.err;
        EXPECT_TRUE(contains(joined.out, std::string("joined  ") + (*part == '1'   ? "2"
                                                                    : *part == '2' ? "2"
                                                                                   : "3")))
            << joined.out;
    }
    EXPECT_EQ(files_below("joined").size(), 9u);  // numbers, rows and groups of each
    EXPECT_EQ(run({"merge", "-q", "-o", "again", "joined"}).code, inputs_failed);
    expect_same_results("again", "whole");
    expect_refused(run({"merge", "-q", "--shard", "8/8", "-o", "more", "parts"}), "of 7 shards no 8 can be made");
    expect_refused(run({"merge", "-q", "--shard", "1/2", "-o", "parts", "parts"}),
                   "can't be in a directory of its parts");
    fs::remove(at("joined/part-2-of-3.json"));
    expect_refused(run({"merge", "-q", "joined"}), "these are missing: 2");
}

TEST_F(Manifests, PagesOfALineAreOfOneShard) {
    std::string pages;
    fs::create_directory(at("dir"));
    for (int i = 0; i < 5; ++i) pages += std::string("P5 1 1 255 ") + static_cast<char>('a' + i);
    for (int i = 0; i < 6; ++i) write_text(at("dir/" + std::to_string(i) + ".pgm"), pages);
    ASSERT_EQ(run({"dir", "-q", "-o", "whole", "--pages", "2-"}).code, all_done);
    ASSERT_EQ(run({"manifest", "dir", "-q", "-o", "m.jsonl"}).code, all_done);
    run_shards(4, {"--pages", "2-"});
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, all_done);
    expect_same_results("merged", "whole");
}

TEST_F(Manifests, ShardsWithoutLinesAreParts) {
    save_gray("dir/a.png");
    ASSERT_EQ(run({"dir", "-q", "-o", "whole"}).code, all_done);
    ASSERT_EQ(run({"manifest", "dir", "-q", "-o", "m.jsonl"}).code, all_done);
    run_shards(3, {});
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, all_done);
    expect_same_results("merged", "whole");
}

TEST_F(Manifests, LinesOfOthersNeedNoMoreThanAPath) {
    save_gray("dir/a.png");
    save_gray("dir/b/c.png", 2);
    ASSERT_EQ(run({"dir/a.png", "dir/b/c.png", "-q", "--write", "stats", "--group-by", "dir", "-o", "whole"}).code,
              all_done);
    write_text(at("lines"), "{\"path\":\"dir/a.png\"}\n{\"etag\":\"x\",\"path\":\"dir/b/c.png\",\"bytes\":" +
                                std::to_string(fs::file_size(at("dir/b/c.png"))) + "}");
    ASSERT_EQ(run({"manifest", "--lines", "lines", "-q", "-o", "m.jsonl"}).code, all_done);
    EXPECT_TRUE(contains(read_text(at("m.jsonl")), R"({"path":"dir/a.png","name":"dir/a.png","group":"dir"})"));
    run_shards(2, {"--group-by", "dir"});
    EXPECT_EQ(run({"merge", "-q", "-o", "merged", "parts"}).code, all_done);
    expect_same_results("merged", "whole");
    EXPECT_EQ(run({"manifest", "--lines", "m.jsonl", "-q", "-o", "again.jsonl"}).code, all_done);
    EXPECT_EQ(read_text(at("again.jsonl")), read_text(at("m.jsonl")));
    for (const auto& [line, what] : {std::pair("{\"path\":\"b.png\"", "lines: line 2: not JSON"),
                                     {"[]", "lines: line 2: 'path' is missing"},
                                     {"{\"path\":\"\"}", "lines: line 2/path: not a path"},
                                     {"{\"path\":\"b\",\"size\":1}", "lines: line 2: 'size' does not belong here"},
                                     {"{\"path\":\"b\",\"bytes\":-1}", "lines: line 2/bytes: expected a whole number"},
                                     {"{\"path\":\"b\",\"name\":\"../b\"}", "lines: line 2/name: a name is a path"}}) {
        write_text(at("lines"), "{\"path\":\"a.png\"}\n" + std::string(line) + "\n");
        expect_refused(run({"manifest", "--lines", "lines", "-o", "bad.jsonl"}), what);
        EXPECT_FALSE(fs::exists(at("bad.jsonl")));
    }
}

TEST_F(Manifests, MasksBesideInputsAreListed) {
    for (const char* name : {"dir/a.tif", "dir/b.tif", "mask.tif"}) save_gray(name);
    fs::copy_file(at("mask.tif"), at("dir/a.tif.msk"));
    ASSERT_EQ(run({"manifest", "dir", "-q", "-o", "m.jsonl"}).code, all_done);
    const std::string lines = read_text(at("m.jsonl")), bytes = std::to_string(fs::file_size(at("mask.tif")));
    EXPECT_TRUE(contains(lines, "\"mask_bytes\":" + bytes + ",\"mask_modified\":")) << lines;
    EXPECT_EQ(lines.find("mask_bytes"), lines.rfind("mask_bytes"));  // of the one that has a mask
    ASSERT_EQ(run({"--manifest", "m.jsonl", "-q", "--write", "stats", "-o", "out"}).code, all_done);
    write_text(at("dir/a.tif.msk"), read_text(at("dir/a.tif.msk")) + " ");
    for (const bool gone : {false, true}) {
        if (gone) fs::remove(at("dir/a.tif.msk"));
        EXPECT_EQ(run({"--manifest", "m.jsonl", "-q", "--write", "stats", "-o", "out"}).code, inputs_failed);
        EXPECT_TRUE(contains(read_text(at("out/errors.csv")), "was changed after it was listed: its mask has "));
        EXPECT_FALSE(contains(read_text(at("out/stats.csv")), "dir/a.tif"));
        EXPECT_TRUE(contains(read_text(at("out/stats.csv")), "dir/b.tif"));
    }
}

TEST_F(Manifests, FilesThatAreNotAsListedAreErrorsOfTheirOwn) {
    for (const char* name : {"dir/a.png", "dir/b.png", "dir/c.png"}) save_gray(name);
    ASSERT_EQ(run({"manifest", "dir", "-q", "-o", "m.jsonl"}).code, all_done);
    fs::remove(at("dir/a.png"));
    write_text(at("dir/b.png"), read_text(at("dir/b.png")) + " ");
    EXPECT_EQ(run({"--manifest", "m.jsonl", "-q", "-o", "out"}).code, inputs_failed);
    const std::string errors = read_text(at("out/errors.csv")), stats = read_text(at("out/stats.csv"));
    EXPECT_TRUE(contains(errors, "dir/a.png,missing,")) << errors;
    EXPECT_TRUE(contains(errors, "dir/b.png,unreadable,\"was changed after it was listed: it has ")) << errors;
    EXPECT_EQ(paths(stats), Names{"dir/c.png"});
}

TEST_F(Manifests, ChangedOnesAreRefused) {
    for (int i = 0; i < 9; ++i) save_gray("dir/" + std::to_string(i) + ".png", i);
    ASSERT_EQ(run({"manifest", "dir", "-q", "-o", "m.jsonl"}).code, all_done);
    const std::string text = read_text(at("m.jsonl"));
    run_shards(3, {});
    const auto measure = [&](const std::string& changed) {
        write_text(at("changed.jsonl"), changed);
        return run({"--manifest", "changed.jsonl", "-q", "-o", "changed", "--shard", "2/3"});
    };
    std::string other = text;
    other[other.find("dir/0") + 4] = 'x';
    expect_refused(measure(other), "changed.jsonl: it was changed after it was made: the checksum");
    expect_refused(measure(text.substr(text.find('\n') + 1)),
                   "changed.jsonl: it was changed after it was made: it has");
    expect_refused(measure(text.substr(0, text.rfind('\n', text.size() - 2) + 1)), "not a complete manifest");
    expect_refused(measure(text.substr(0, text.size() - 5)), "its checksum is missing");
    expect_refused(measure(""), "not a complete manifest");
    expect_refused(run({"--manifest", "none.jsonl"}), "none.jsonl: cannot be read");
    EXPECT_FALSE(fs::exists(at("changed")));

    // Lines are all there, each once.
    const std::string second = read_text(at("parts/part-2-of-3.json"));
    for (const auto& [lines, what] : {std::pair("[3,5]", "line 6 of their manifest should follow, but line 7 does"),
                                      {"[2,6]", "line 4 of their manifest should follow, but line 3 does"}}) {
        std::string forged = second;
        forged.replace(forged.find("\"lines\":[3,6]") + 8, 5, lines);
        write_text(at("parts/part-2-of-3.json"), test::resealed(forged));
        expect_refused(run({"merge", "-q", "parts"}), what);
    }
    write_text(at("parts/part-2-of-3.json"), second);
    EXPECT_EQ(run({"merge", "-q", "-o", "good", "parts"}).code, all_done);

    // A part of another manifest, or of other lines, does not go with these.
    ASSERT_EQ(run({"manifest", "dir", "-q", "--exclude", "8.png", "-o", "m2.jsonl"}).code, all_done);
    ASSERT_EQ(run({"--manifest", "m2.jsonl", "-q", "-o", "others", "--shard", "2/3"}).code, all_done);
    for (const char* end : {".json", ".stats.csv"})
        fs::rename(at("parts/part-2-of-3") += end, at("part-2-of-3") += end);
    expect_refused(run({"merge", "-q", "parts", "others"}), "do not belong together: the manifest is ");
    ASSERT_EQ(run({"--manifest", "m.jsonl", "-q", "-o", "four", "--shard", "2/4"}).code, all_done);
    expect_refused(run({"merge", "-q", "parts", "four"}), "one is of 4 shards, the other of 3");
    ASSERT_EQ(run({"dir", "-q", "-o", "listed", "--shard", "2/3"}).code, all_done);
    expect_refused(run({"merge", "-q", "parts", "listed"}), "do not belong together: ");
    expect_refused(run({"merge", "-q", "--shard", "1/1", "-o", "no", "listed"}), "only shards of a manifest");
}

TEST_F(Manifests, AnInterruptedShardGoesOnWithItsManifestAlone) {
    make_tree("dir", 600);
    ASSERT_LE(run({"manifest", "dir", "-q", "-o", "m.jsonl"}).code, inputs_failed);
    ASSERT_LE(run({"manifest", "dir", "-q", "--exclude", "image7.*", "-o", "m2.jsonl"}).code, inputs_failed);
    const auto words = [](const char* manifest, const char* output, const char* last) {
        return Names{"--manifest", manifest, "-q", "--write", "stats", "-o", output, "--shard", "2/2", last};
    };
    ASSERT_LE(run(words("m.jsonl", "whole", "--log")).code, inputs_failed);
    Setting setting;
    setting.signal = SIGTERM;
    setting.after_file = "out/part-2-of-2.stats.csv.partial";
    Names interrupted = words("m.jsonl", "out", "--log");
    interrupted.insert(interrupted.end(), {"--checkpoint", "0.01"});
    ASSERT_EQ(run(interrupted, setting).code, was_interrupted);
    interrupted.push_back("--resume");
    interrupted[1] = "m2.jsonl";
    expect_refused(run(interrupted), "differs in the manifest", usage_error);
    interrupted[1] = "m.jsonl";
    EXPECT_LE(run(interrupted).code, inputs_failed);
    expect_same_results("out", "whole");
}

TEST_F(Manifests, WordsThatDoNotGoTogetherAreRefused) {
    save_gray("dir/a.png");
    write_text(at("mine"), "my own");
    const auto refused = [&](const Names& words, const std::string& what) {
        expect_refused(run(words), what, usage_error);
    };
    refused({"dir", "--manifest", "m.jsonl"}, "--manifest already names the inputs: give no others");
    refused({"--files-from", "list", "--manifest", "m.jsonl"}, "--manifest already names the inputs: give no others");
    refused({"--manifest", "m.jsonl", "--exclude", "a"}, "--exclude applies to directories, but no input is one");
    refused({"manifest"}, "no input: name images");
    refused({"manifest", "dir", "--files-from", "list"}, "--files-from already names the inputs");
    refused({"manifest", "dir", "-0"}, "--null applies to names that --files-from reads");
    refused({"manifest", "dir", "--lines", "l"}, "--lines already names the inputs: give no others");
    refused({"manifest", "--lines", "l", "--exclude", "a"}, "--exclude has no effect with --lines");
    refused({"manifest", "-", "-o", "m.jsonl"}, "other processes can't read this standard input");
    expect_refused(run({"manifest", "dir", "-o", "mine"}), "mine: not written: gpuhist did not write", output_failed);
    EXPECT_EQ(run({"manifest", "dir", "-q", "-o", "mine", "--force"}).code, all_done);
    EXPECT_EQ(run({"manifest", "dir", "-q", "-o", "mine"}).code, all_done);
    EXPECT_EQ(run({"--manifest", "mine", "-q", "--dry-run"}).out, "dir/a.png\n");
    EXPECT_EQ(run({"--manifest", "mine", "-q"}).code, all_done);
}

TEST_F(Manifests, RangesWeighTheSameAndBlocksAreReadAlone) {
    std::mt19937 random(7);
    std::string text;
    io::ManifestWriter writer([&](const std::string& lines) { text += lines; });
    std::vector<std::uint64_t> weights;
    for (int i = 0; i < 25000; ++i) {
        io::ListedInput input{"some/directory/of/images/" + std::to_string(i), std::to_string(i), ".", {}, {}, {}, {}};
        if (i % 10) input.bytes = random() % (i < 5000 ? 50'000'000 : 500'000);
        weights.push_back(io::Manifest::own_weight + input.bytes.value_or(0));
        writer.add(input);
    }
    writer.finish();
    write_text(at("m.jsonl"), text);
    const auto manifest = std::make_shared<const io::Manifest>(at("m.jsonl"));
    ASSERT_EQ(manifest->inputs(), weights.size());
    ASSERT_GT(manifest->blocks().size(), 1u);
    std::uint64_t all = 0, most = 0;
    for (const std::uint64_t weight : weights) all += weight, most = std::max(most, weight);
    for (const std::uint64_t count : {1, 2, 7, 40, 40000}) {
        std::uint64_t next = 0;
        for (std::uint64_t shard = 1; shard <= count; shard += count > 40 && shard < count ? count - 1 : 1) {
            const io::LineRange lines = manifest->lines_of({shard, count, {}});
            if (count <= 40) {
                ASSERT_EQ(lines.first, next);
            }
            next = lines.end;
            std::uint64_t weight = 0;
            for (std::uint64_t i = lines.first; i < lines.end; ++i) weight += weights[i];
            EXPECT_LE(weight, all / count + most) << shard << '/' << count;
            EXPECT_GE(weight + most, all / count) << shard << '/' << count;
        }
        EXPECT_EQ(next, weights.size());
    }
    const std::uint64_t behind = manifest->blocks().front().inputs;
    text[10] = '!';  // of the first block, which is not looked at
    write_text(at("m.jsonl"), text);
    io::ManifestLines lines(manifest, {behind + 5, behind + 7});
    EXPECT_EQ(lines.next().value().name, std::to_string(behind + 5));
    EXPECT_EQ(lines.next().value().name, std::to_string(behind + 6));
    EXPECT_FALSE(lines.next());
    EXPECT_THROW(io::ManifestLines(manifest, {behind - 1, behind}), IoError);
}

TEST_F(Manifests, LinesReadBackAsTheyWere) {
    io::ListedInput input{"a\xff\"\n.png", "b\xff", "c", 5, 1'795'717'200'123'456'789, "e\"tag", std::nullopt, 7, 8};
    const auto back = [](const io::ListedInput& one) { return io::parse_manifest_line(io::manifest_line(one), "m"); };
    io::ListedInput same = back(input);
    EXPECT_EQ(same.path, input.path);
    EXPECT_EQ(same.name, input.name);
    EXPECT_EQ(same.group, input.group);
    EXPECT_EQ(same.bytes, input.bytes);
    EXPECT_EQ(same.modified, input.modified);
    EXPECT_EQ(same.etag, input.etag);
    EXPECT_EQ(same.mask_bytes, input.mask_bytes);
    EXPECT_EQ(same.mask_modified, input.mask_modified);
    EXPECT_FALSE(same.failure);
    for (int kind = 0; kind <= static_cast<int>(IoError::Kind::no_space); ++kind) {
        input.failure = IoError("a: why", static_cast<IoError::Kind>(kind));
        same = back(input);
        ASSERT_TRUE(same.failure);
        EXPECT_EQ(same.failure->kind(), input.failure->kind());
        EXPECT_STREQ(same.failure->what(), "a: why");
    }
}

}  // namespace
