// Bands: by which names they are known in all that a run writes, and in rules for valid samples.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <nlohmann/json.hpp>

#include "support/directory.hpp"
#include "support/exr_files.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace command;
using exr_files::exr;

class Bands : public Directory {
  protected:
    using Row = std::map<std::string, std::string>;

    /// Writes a file, with the directories that it is in.
    void put(const std::string& name, const std::string& bytes) const {
        std::filesystem::create_directories(at(name).parent_path());
        write_text(at(name), bytes);
    }
    /// Rows of a table, by the channel; of a group of a set.
    std::map<std::string, Row> rows_of(const std::string& file, const std::string& group = "") const {
        std::map<std::string, Row> found;
        for (const Row& row : table(read_text(at(file))))
            if (row.count("group") == 0 || row.at("group") == group) found[row.at("channel")] = row;
        return found;
    }
    static std::string names(const std::map<std::string, Row>& rows) {
        std::string all;
        for (const auto& [name, row] : rows) all += name + " ";
        return all;
    }
    /// Runs that must end well; returns standard error.
    std::string done(std::vector<std::string> words) const {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        return outcome.err;
    }
    /// TIFF of RGB with further samples.
    void save_tiff(const std::string& name, int channels, std::vector<std::uint16_t> extra) const {
        cv::Mat samples(2, 3, CV_MAKETYPE(CV_8U, channels));
        for (std::size_t i = 0; i < samples.total() * samples.elemSize(); ++i)
            samples.data[i] = static_cast<unsigned char>(10 * (i % samples.elemSize() + 1));
        tiff_files::Spec spec;
        spec.extra = std::move(extra);
        const tiff_files::Bytes file = tiff_files::write(samples, spec);
        put(name, std::string(file.begin(), file.end()));
    }
};

/// Bands of one name are together, wherever they lie in their files: in the set's table, its histograms, its groups,
/// its parts.
TEST_F(Bands, OfASetComeTogetherByTheirNames) {
    put("d/a/1.exr", exr({{"depth", 1000}, {"mask", 1}}));
    put("d/b/2.exr", exr({{"N", 0.5F}, {"depth", 3000}}));
    put("d/b/3.exr", exr({{"B", 1}, {"G", 2}, {"R", 3}, {"depth", 5000}}));
    const Names words{"d", "-q", "--group-by", "dir", "--write", "stats,histogram,plot", "--plot-format", "svg"};
    const auto with = [&](Names more) {
        more.insert(more.begin(), words.begin(), words.end());
        return done(more);
    };
    with({"-o", "whole"});
    auto rows = rows_of("whole/dataset.csv");
    EXPECT_EQ(names(rows), "N all blue depth green luma mask red ");
    EXPECT_EQ(rows["depth"]["mean"], "3000");
    EXPECT_EQ(rows["depth"]["images"], "3");
    EXPECT_EQ(rows["mask"]["images"], "1");
    EXPECT_EQ(rows["all"]["images"], "3");
    EXPECT_EQ(rows["N"]["mean"], "0.5");
    rows = rows_of("whole/dataset.csv", "b");
    EXPECT_EQ(rows["depth"]["mean"], "4000");
    EXPECT_EQ(rows["all"]["images"], "2");
    EXPECT_EQ(rows.count("mask"), 0U);
    rows = rows_of("whole/stats.csv");
    EXPECT_EQ(names(rows), "N all blue depth green luma mask red ");
    const std::string header = read_text(at("whole/b/2.exr.histogram.csv"));
    EXPECT_EQ(header.substr(0, header.find('\n')), "bin,lower,upper,N,depth");
    const auto json = nlohmann::json::parse(read_text(at("whole/dataset.json")));
    std::string columns;
    for (const auto& column : json[0]["histogram"]["channels"]) columns += column["channel"].get<std::string>() + " ";
    EXPECT_EQ(columns, "red green blue luma N depth mask ");
    const std::string picture = read_text(at("whole/dataset.histogram.svg"));
    EXPECT_TRUE(contains(picture, ">depth<") && contains(picture, ">mask<")) << picture;

    for (const char* part : {"1/2", "2/2"}) with({"-o", "parts", "--shard", part});
    done({"merge", "-q", "parts", "-o", "merged"});
    for (const char* file : {"stats.csv", "dataset.csv", "dataset.json", "dataset.histogram.svg"})
        EXPECT_EQ(read_text(at("merged") / file), read_text(at("whole") / file)) << file;
}

TEST_F(Bands, CalledLikeOursAreMarked) {
    put("d/a.exr", exr({{"all", 1}, {"luma", 2}, {"c0", 3}, {"band:x", 4}, {"a\"b", 5}, {"=1", 6}}));
    put("d/b.exr", exr({{"Y", 7}}));
    done({"d", "-q", "--write", "stats", "-o", "out"});
    auto rows = rows_of("out/dataset.csv");
    EXPECT_EQ(names(rows), "\"a\"\"b\" '=1 all band:all band:band:x band:c0 band:luma gray ");
    EXPECT_EQ(rows["band:all"]["mean"], "1");
    EXPECT_EQ(rows["all"]["mean"], "3.5");
    EXPECT_EQ(rows["\"a\"\"b\""]["mean"], "5");
    for (const char* part : {"1/2", "2/2"}) done({"d", "-q", "--write", "stats", "-o", "parts", "--shard", part});
    done({"merge", "-q", "parts", "-o", "merged"});
    EXPECT_EQ(read_text(at("merged/dataset.csv")), read_text(at("out/dataset.csv")));
}

TEST_F(Bands, BesideColorsAreExtra) {
    save_tiff("d/a.tif", 5, {EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_UNSPECIFIED});
    save_tiff("d/b.tif", 5, {EXTRASAMPLE_UNASSALPHA, EXTRASAMPLE_UNSPECIFIED});
    put("d/c.pam", "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nTUPLTYPE X\nENDHDR\n\1\2\3\4\5");
    done({"d", "-q", "--write", "stats", "-o", "out"});
    auto rows = rows_of("out/dataset.csv");
    EXPECT_EQ(names(rows), "all band:alpha blue c0 c1 c2 c3 c4 extra1 extra2 green luma red ");
    EXPECT_EQ(rows["extra1"]["mean"], "45");  // 40 of a, 50 of b, whose fourth sample is alpha
    EXPECT_EQ(rows["extra2"]["mean"], "50");
    EXPECT_EQ(rows["band:alpha"]["mean"], "40");
    EXPECT_EQ(rows["c3"]["mean"], "4");
}

/// A description is a name; one that is empty, very long, of another band too or damaged is none.
TEST_F(Bands, OfTiffHaveTheNamesThatGdalDescribesThemBy) {
    const auto file = [&](const std::string& name, int channels, int photometric, std::vector<std::uint16_t> extra,
                          const std::vector<std::string>& escaped) {
        cv::Mat samples(2, 3, CV_MAKETYPE(CV_8U, channels));
        for (std::size_t i = 0; i < samples.total() * samples.elemSize(); ++i)
            samples.data[i] = static_cast<unsigned char>(10 * (i % samples.elemSize() + 1));
        tiff_files::Spec spec;
        spec.photometric = photometric;
        spec.extra = std::move(extra);
        spec.fields = [&](TIFF* tiff) { tiff_files::set_descriptions(tiff, escaped); };
        const tiff_files::Bytes bytes = tiff_files::write(samples, spec);
        put(name, std::string(bytes.begin(), bytes.end()));
    };
    constexpr std::uint16_t unspecified = EXTRASAMPLE_UNSPECIFIED, straight = EXTRASAMPLE_UNASSALPHA;
    const auto names_in = [&](const std::string& name) {
        done({name, "-q", "--write", "stats", "-o", name + ".out"});
        return names(rows_of(name + ".out/stats.csv"));
    };
    file("a.tif", 3, PHOTOMETRIC_MINISBLACK, {unspecified, unspecified},
         {"NDVI", "B04 &amp;lt;1&amp;gt; &amp;amp;", "red"});
    EXPECT_EQ(names_in("a.tif"), "B04 <1> & NDVI all band:red ");
    EXPECT_EQ(rows_of("a.tif.out/stats.csv")["B04 <1> &"]["mean"], "20");
    file("b.tif", 5, PHOTOMETRIC_MINISBLACK, {unspecified, unspecified, unspecified, unspecified},
         {"same", "same", "", std::string(65, 'x'), "&#65; &amp;amp;lt;"});
    EXPECT_EQ(names_in("b.tif"), "&#65; &lt; all c1 c2 c3 same ");
    file("c.tif", 4, PHOTOMETRIC_RGB, {unspecified}, {"not this", "nor this", "nor this one", "infrared"});
    EXPECT_EQ(names_in("c.tif"), "all blue green infrared luma red ");
    file("d.tif", 3, PHOTOMETRIC_MINISBLACK, {unspecified, straight}, {"alpha", "height", "opacity"});
    EXPECT_EQ(names_in("d.tif"), "all band:alpha c0 height ");
    file("e.tif", 2, PHOTOMETRIC_MINISBLACK, {unspecified},
         {"first</Item", "<Item sample=\"1\" role=\"description\">"});
    EXPECT_EQ(names_in("e.tif"), "all c0 c1 ");
    // Bands of a set come together by these names.
    file("set/1.tif", 2, PHOTOMETRIC_MINISBLACK, {unspecified}, {"height", "slope"});
    file("set/2.tif", 2, PHOTOMETRIC_MINISBLACK, {unspecified}, {"slope", "height"});
    done({"set", "-q", "--write", "stats", "-o", "set.out"});
    EXPECT_EQ(rows_of("set.out/dataset.csv")["height"]["mean"], "15");
}

TEST_F(Bands, OfOpenExrWithColorsAndAlpha) {
    put("x.exr", exr({{"A", 0.5F}, {"B", 1}, {"G", 2}, {"R", 3}, {"Z", 100}}));
    done({"x.exr", "-q", "--write", "stats", "-o", "out"});
    auto rows = rows_of("out/stats.csv");
    EXPECT_EQ(names(rows), "Z all band:alpha blue green luma red ");
    EXPECT_EQ(rows["red"]["mean"], "3");
    EXPECT_EQ(rows["band:alpha"]["mean"], "0.5");
    EXPECT_EQ(rows["Z"]["mean"], "100");
    EXPECT_EQ(rows["Z"]["alpha"], "premultiplied");
}

/// Rules find bands by their names, and a note says how many images lack a channel that a rule names.
TEST_F(Bands, RulesNameThem) {
    put("d/1.exr", exr({{"all", 1000}, {"mask", 1}}));
    put("d/2.exr", exr({{"N", 1000}, {"depth:x", 1000}}));
    const auto rows = [&](Names rules) {
        rules.insert(rules.begin(), {"d", "--write", "stats", "-o", "out"});
        done(rules);
        return rows_of("out/stats.csv");
    };
    EXPECT_EQ(rows({"--nodata", "band:all:1000"})["band:all"]["nodata"], "6");
    EXPECT_EQ(rows({"--nodata", "depth:x:1000"})["depth:x"]["nodata"], "6");
    EXPECT_EQ(rows({"--nodata", "depth:x:1000"})["N"]["nodata"], "0");
    EXPECT_EQ(rows({"--valid", "mask:2,"})["mask"]["nodata"], "6");
    EXPECT_EQ(rows({"--valid", "mask:2,"})["band:all"]["nodata"], "0");
    EXPECT_EQ(rows({"--nodata", "c0:1000"})["band:all"]["nodata"], "0");
    for (const char* none : {"luma:1", "all:1", ":1"})
        EXPECT_EQ(run({"d", "--nodata", none}).code, usage_error) << none;

    save_gray("d/3.png");
    save("d/4.png", cv::Mat(2, 2, CV_8UC3, cv::Scalar(1, 2, 3)));
    const auto said = [&](Names rules) {
        rules.insert(rules.begin(), {"d", "--write", "none"});
        return done(rules);
    };
    EXPECT_TRUE(contains(said({"--nodata", "red:0"}),
                         "3 of 4 images lack the channel red of --nodata red:0 (the first: d/1.exr)"));
    EXPECT_TRUE(contains(said({"--valid", "gray:,2.5"}),
                         "3 of 4 images lack the channel gray of --valid gray:,2.5 (the first: d/1.exr)"));
    EXPECT_TRUE(contains(said({"--nodata", "depth:0"}), "4 of 4 images lack the channel depth of --nodata depth:0"));
    EXPECT_FALSE(contains(said({"--nodata", "0"}), " lack"));
    EXPECT_TRUE(contains(done({"d/3.png", "--write", "none", "--nodata", "red:0"}),
                         "d/3.png: lacks the channel red of --nodata red:0"));
    for (const char* part : {"1/2", "2/2"})
        done({"d", "-q", "--write", "stats", "-o", "parts", "--shard", part, "--nodata", "red:0"});
    EXPECT_TRUE(contains(done({"merge", "parts", "-o", "merged"}), "3 of 4 images lack the channel red"));
}

}  // namespace
