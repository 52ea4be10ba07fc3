// Pages about results: what is in them, that names can't break out, their size, and what is refused. A browser opens
// pages in tests/browser.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <cstdio>
#include <memory>
#include <regex>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

/// Text between two marks, the first of which must be there.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
    const std::size_t from = text.find(begin);
    if (from == text.npos) return "no " + begin;
    const std::size_t start = from + begin.size();
    return text.substr(start, text.find(end, start) - start);
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
}

/// SHA-256 in hexadecimal digits, by a program of the system.
std::string sha256_of(const fs::path& file) {
    const std::string command = "sha256sum '" + file.string() + "'";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::array<char, 300> text{};
    const char* const line = std::fgets(text.data(), static_cast<int>(text.size()), pipe.get());
    return line ? std::string(line).substr(0, 64) : "";
}

/// Hexadecimal digits of the bytes that base64 stands for.
std::string digits_of(const std::string& base64) {
    const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bits, digits;
    for (const char character : base64)
        for (int bit = 5; bit >= 0 && character != '='; --bit)
            bits += (alphabet.find(character) >> bit & 1) ? '1' : '0';
    for (std::size_t i = 0; i + 8 <= bits.size(); i += 8)
        for (std::size_t half = 0; half < 8; half += 4)
            digits += "0123456789abcdef"[std::stoi(bits.substr(i + half, 4), nullptr, 2)];
    return digits;
}

cv::Mat noise(int rows, int columns, std::uint64_t seed) {
    cv::Mat image(rows, columns, CV_8UC3);
    cv::RNG(seed).fill(image, cv::RNG::UNIFORM, 0, 256);
    return image;
}

class ReportCommand : public Directory {
  protected:
    /// A set of two classes, with two copies, a dark image and an error.
    void make_set() const {
        for (int i = 0; i < 8; ++i)
            save("set/" + std::string(i % 2 ? "a" : "b") + "/" + std::to_string(i) + ".png",
                 noise(40, 50, static_cast<std::uint64_t>(i) + 1));
        fs::copy_file(at("set/a/1.png"), at("set/b/copy.png"));
        fs::copy_file(at("set/a/1.png"), at("set/b/copy2.png"));
        save("set/a/dark.png", noise(40, 50, 99) / 16);
        write_text(at("set/a/bad.png"), "no image");
    }
    std::string page(const std::string& name = "page.html") const { return read_text(at(name)); }
    Outcome report(Names more = {}) const {
        more.insert(more.begin(), {"report", "results", "-o", "page.html"});
        return run(more);
    }
};

TEST_F(ReportCommand, IsWrittenByARunAndFromItsResults) {
    make_set();
    const Outcome done = run({"set", "--group-by", "dir", "-o", "results", "--report", "page.html"});
    EXPECT_EQ(done.code, inputs_failed) << done.err;
    EXPECT_TRUE(contains(done.out, "\nwrote  page.html\n")) << done.out;
    const std::string first = page();
    fs::remove(at("page.html"));
    const Outcome again = report();
    EXPECT_EQ(again.code, all_done) << again.err;
    EXPECT_EQ(again.out, "wrote  page.html\n");
    EXPECT_EQ(page(), first);
    for (const char* part :
         {"<h1><bdi>set</bdi></h1>", "<dt>images</dt><dd>11</dd>", "id=\"classes\"", "id=\"gallery\"",
          "<h3 id=\"flag-dark\">", "id=\"duplicates\"", "2 copies in 1 group, 2 with equal pixels", "id=\"errors\"",
          "<b>unsupported</b>", "id=\"images\"", "id=\"definitions\""})
        EXPECT_TRUE(contains(first, part)) << part;
    EXPECT_FALSE(contains(first, "id=\"changes\""));
    // A page is replaced, other files are not.
    EXPECT_EQ(report().code, all_done);
    write_text(at("page.html"), "mine");
    EXPECT_EQ(report().code, output_failed);
    EXPECT_EQ(page(), "mine");
    EXPECT_EQ(run({"set", "-q", "-o", "results", "--report", "page.html"}).code, output_failed);
    EXPECT_EQ(report({"--force"}).code, all_done);
}

TEST_F(ReportCommand, LoadsNothingAndKnowsItsScriptAndStyle) {
    make_set();
    run({"set", "-q", "-o", "results", "--report", "page.html"});
    const std::string html = page();
    const std::string policy = between(html, "Content-Security-Policy\" content=\"", "\"");
    EXPECT_EQ(policy.rfind("default-src 'none'; ", 0), 0U) << policy;
    EXPECT_TRUE(contains(policy, "; img-src data:;")) << policy;
    EXPECT_FALSE(contains(policy, "unsafe")) << policy;
    write_text(at("style"), between(html, "<style>", "</style>"));
    write_text(at("script"), between(html, "<script>", "</script>"));
    EXPECT_EQ(digits_of(between(policy, "style-src 'sha256-", "'")), sha256_of(at("style")));
    EXPECT_EQ(digits_of(between(policy, "script-src 'sha256-", "'")), sha256_of(at("script")));
    EXPECT_EQ(count_of(html, "<style"), 1U);
    EXPECT_EQ(count_of(html, "<script"), 2U);  // the other one has data
    EXPECT_TRUE(std::regex_search(
        html, std::regex("<script type=\"application/octet-stream\" id=\"rows\">[A-Za-z0-9+/=]+</script>")));
    EXPECT_FALSE(std::regex_search(html, std::regex("(src|href)=\"(?!data:image/jpeg;base64,|#)")));
    EXPECT_FALSE(std::regex_search(html, std::regex("<[^>]* (style|on[a-z]+)=")));
    EXPECT_GT(count_of(html, "src=\"data:image/jpeg;base64,/9j/"), 4U);
}

TEST_F(ReportCommand, HostileNamesAreText) {
    const Names hostile{"<script>alert(1)</script>.png",
                        "\"onload=\"x.png",
                        "a&amp;b'c.png",
                        "\x1b[31mred.png",
                        "line\nend.png",
                        "\xff\xfe.png",
                        "\xe2\x80\xaegnp.exe.png",
                        "--><!--.png"};
    for (std::size_t i = 0; i < hostile.size(); ++i)
        save("set/x" + std::to_string(i) + ".png", cv::Mat(9, 9, CV_8UC1, cv::Scalar(3)));
    for (std::size_t i = 0; i < hostile.size(); ++i)
        if (!contains(hostile[i], "/")) fs::rename(at("set/x" + std::to_string(i) + ".png"), at("set") / hostile[i]);
    fs::create_directories(at("set/<b>class"));
    save("set/<b>class/1.png", cv::Mat(9, 9, CV_8UC1, cv::Scalar(3)));
    write_text(at("set/<i>bad.png"), "no image");
    run({"set", "-q", "--group-by", "dir", "-o", "results", "--report", "page.html"});
    const std::string html = page();
    for (const char* forbidden :
         {"<script>alert", "<b>class", "<i>bad", "\"onload=\"", "\x1b", "\xff", "\xe2\x80\xae", "--><!--"})
        EXPECT_FALSE(contains(html, forbidden)) << forbidden;
    EXPECT_TRUE(contains(html, "&lt;b&gt;class"));
    EXPECT_TRUE(contains(html, "a&amp;amp;b&#39;c.png"));
    EXPECT_TRUE(contains(html, "\xef\xbf\xbdgnp.exe.png"));
}

TEST_F(ReportCommand, TitleComesFromTheDirectoryOfTheImages) {
    make_set();
    run({"set/a", "-q", "-o", "results"});
    EXPECT_EQ(report().code, all_done);
    EXPECT_EQ(between(page(), "<h1><bdi>", "<"), "a");
    EXPECT_EQ(report({"--title", "A & B"}).code, all_done);
    EXPECT_EQ(between(page(), "<title>", "<"), "A &amp; B - gpuhist");
}

TEST_F(ReportCommand, ComparesWithAnEarlierRun) {
    make_set();
    run({"set", "-q", "--quality", "--keep-counts", "-o", "earlier"});
    fs::remove(at("set/b/copy2.png"));
    save("set/a/1.png", noise(40, 50, 1234) / 2);
    save("set/a/new.png", noise(40, 50, 4321));
    save("set/a/new2.png", noise(40, 50, 4322));
    run({"set", "-q", "--keep-counts", "-o", "results", "--quality"});
    ASSERT_EQ(report({"--against", "earlier"}).code, all_done);
    std::string html = page();
    EXPECT_TRUE(contains(html, "2 images were added, 1 removed, and the pixels of 1 changed."))
        << between(html, "id=\"changes\"", "</section>");
    EXPECT_TRUE(contains(html, "<th scope=\"col\" class=\"n\">wasserstein</th>"));
    // The numbers are those of compare.
    run({"compare", "earlier", "results", "-q", "-o", "compared"});
    const std::string rows = read_text(at("compared/comparison.csv"));
    EXPECT_TRUE(contains(rows, "red"));
    // Without counts, mean and std are compared.
    fs::remove(at("results/counts.json"));
    ASSERT_EQ(report({"--against", "earlier"}).code, all_done);
    html = page();
    EXPECT_TRUE(contains(html, "mean before")) << html.size();
    EXPECT_TRUE(contains(html, "run gpuhist with --keep-counts"));
}

TEST_F(ReportCommand, LacksWhatResultsLack) {
    make_set();
    run({"set", "-q", "-o", "results"});
    ASSERT_EQ(report().code, all_done);
    std::string html = page();
    EXPECT_TRUE(contains(html, "quality.csv is missing")) << html.size();
    for (const char* section : {"id=\"flags\"", "id=\"gallery\"", "id=\"measures\"", "id=\"duplicates\""})
        EXPECT_FALSE(contains(html, section)) << section;
    EXPECT_TRUE(contains(html, "id=\"set\""));
    run({"set/a/1.png", "-q", "-o", "single", "--report", "single.html"});
    EXPECT_TRUE(contains(page("single.html"), "dataset.json is missing"));
    // Without the images there are no pictures.
    run({"set", "-q", "--quality", "-o", "results"});
    fs::remove_all(at("set"));
    ASSERT_EQ(report().code, all_done);
    EXPECT_TRUE(contains(page(), "No picture: "));
    EXPECT_EQ(count_of(page(), "src=\"data:"), 0U);
}

TEST_F(ReportCommand, RefusesBrokenResults) {
    make_set();
    run({"set", "-q", "--quality", "-o", "results"});
    const auto refused = [&](const std::string& file, const std::string& from, const std::string& to,
                             const std::string& why) {
        const std::string text = read_text(at("results/" + file));
        ASSERT_NE(text.find(from), text.npos) << file << ": " << from;
        std::string broken = text;
        broken.replace(broken.find(from), from.size(), to);
        write_text(at("results/" + file), broken);
        const Outcome done = report();
        EXPECT_EQ(done.code, data_refused) << why;
        EXPECT_TRUE(contains(done.err, why)) << done.err;
        EXPECT_FALSE(fs::exists(at("page.html"))) << why;
        write_text(at("results/" + file), text);
    };
    refused("stats.csv", ",entropy,", ",entropie,", "stats.csv: has no column 'entropy'");
    refused("quality.csv", "path,", "file,", "quality.csv: has no column 'path'");
    refused("flags.csv", ",value,", ",number,", "flags.csv: has no column 'value'");
    refused("flags.csv", ",dark,", ",darkish,", "'darkish' is no flag of this version of gpuhist");
    refused("flags.csv", "set/b/copy.png", "set/b/other.png", "stats.csv has no rows for this image");
    refused("dataset.json", "\"schema\":1", "\"schema\":2",
            "dataset.json: line 2: has schema 2, but this gpuhist reads schema 1");
    refused("dataset.json", "\"channels\"", "\"canals\"", "dataset.json: line 2: is damaged: ");
    refused("dataset.json", "\"depth\":\"u8\"", "\"depth\":", "dataset.json: line 2: is damaged: ");
    EXPECT_EQ(run({"report", "nowhere"}).code, data_refused);
    EXPECT_EQ(run({"report", "set"}).code, data_refused);
    EXPECT_EQ(report({"--against", "set"}).code, data_refused);
}

TEST_F(ReportCommand, RefusesContradictions) {
    save("set/1.png", cv::Mat(4, 5, CV_8UC1, cv::Scalar(9)));
    EXPECT_EQ(run({"report"}).code, usage_error);
    EXPECT_EQ(run({"report", "a", "b"}).code, usage_error);
    EXPECT_EQ(run({"set", "--report", "x.html", "--write", "none"}).code, usage_error);
    const Outcome shard = run({"set", "--report", "x.html", "--shard", "1/2"});
    EXPECT_EQ(shard.code, usage_error);
    EXPECT_TRUE(contains(shard.err, "run 'gpuhist report' after 'gpuhist merge'")) << shard.err;
}

TEST_F(ReportCommand, MergedShardsGiveTheSamePage) {
    make_set();
    run({"set", "-q", "--quality", "--group-by", "dir", "-o", "results"});
    ASSERT_EQ(report().code, all_done);
    const std::string whole = page();
    for (const char* shard : {"1/3", "2/3", "3/3"})
        run({"set", "-q", "--quality", "--group-by", "dir", "-o", "parts", "--shard", shard});
    fs::remove_all(at("results"));
    run({"merge", "parts", "-q", "-o", "results"});
    ASSERT_EQ(report().code, all_done);
    EXPECT_EQ(page(), whole);
}

TEST_F(ReportCommand, KeptThumbnailsServeWhereTheImagesAreNot) {
    make_set();
    const Outcome done = run({"set", "--quality", "--keep-thumbnails", "-o", "results"});
    EXPECT_TRUE(contains(done.out, "thumbnails.json")) << done.out;
    fs::rename(at("set"), at("elsewhere"));
    ASSERT_EQ(report().code, all_done);
    const std::string kept = page();
    EXPECT_GE(count_of(kept, "src=\"data:"), 4U);
    EXPECT_FALSE(contains(kept, "No picture: "));
    fs::rename(at("elsewhere"), at("set"));
    const std::string thumbnails = read_text(at("results/thumbnails.json"));
    fs::remove(at("results/thumbnails.json"));
    ASSERT_EQ(report().code, all_done);
    EXPECT_EQ(page(), kept);  // as the images themselves look
    // A run that keeps no thumbnails removes those of an earlier one.
    write_text(at("results/thumbnails.json"), thumbnails);
    run({"set", "-q", "--quality", "-o", "results"});
    EXPECT_FALSE(fs::exists(at("results/thumbnails.json")));
    std::string broken = thumbnails;
    broken[broken.size() / 2] = broken[broken.size() / 2] == 'A' ? 'B' : 'A';
    write_text(at("results/thumbnails.json"), broken);
    const Outcome refused = report();
    EXPECT_EQ(refused.code, data_refused);
    EXPECT_TRUE(contains(refused.err, "results/thumbnails.json: ")) << refused.err;
    EXPECT_EQ(run({"set", "--keep-thumbnails", "-o", "other"}).code, usage_error);
    EXPECT_EQ(run({"set", "--quality", "--keep-thumbnails", "--write", "none", "-o", "other"}).code, usage_error);
}

TEST_F(ReportCommand, PartsKeepThumbnailsOfTheWholeSet) {
    for (int i = 0; i < 40; ++i) {  // other sizes and brightness, the least usual ones all in one part
        const int side = i % 4 == 0 ? 30 + i : 40;
        save("set/" + std::to_string(10 + i) + ".png",
             noise(side, 50, static_cast<std::uint64_t>(i)) / (2 + i % 7 * 6));
    }
    run({"set", "-q", "--quality", "--keep-thumbnails", "-o", "results"});
    ASSERT_EQ(report().code, all_done);
    const std::string whole = page();
    EXPECT_GE(count_of(whole, "src=\"data:"), 12U);
    for (const char* shard : {"1/4", "2/4", "3/4", "4/4"})
        run({"set", "-q", "--quality", "--keep-thumbnails", "-o", "parts", "--shard", shard});
    ASSERT_EQ(run({"manifest", "set", "-q", "-o", "set.manifest"}).code, all_done);
    for (const char* shard : {"1/4", "2/4", "3/4", "4/4"})
        run({"--manifest", "set.manifest", "-q", "--quality", "--keep-thumbnails", "-o", "lines", "--shard", shard});
    for (const char* half : {"1/2", "2/2"})
        ASSERT_EQ(run({"merge", "lines", "-q", "--shard", half, "-o", "halves"}).code, all_done);
    fs::remove_all(at("set"));
    for (const char* parts : {"parts", "lines", "halves"}) {
        fs::remove_all(at("results"));
        ASSERT_EQ(run({"merge", parts, "-q", "-o", "results"}).code, all_done);
        ASSERT_EQ(report().code, all_done);
        EXPECT_EQ(page(), whole) << parts;
    }
    // A part that keeps no thumbnails removes those of an earlier run.
    save("set/10.png", noise(30, 50, 1));
    run({"set", "-q", "--quality", "--keep-thumbnails", "-o", "part", "--shard", "1/1"});
    EXPECT_TRUE(fs::exists(at("part/part-1-of-1.thumbnails.json")));
    run({"set", "-q", "--quality", "-o", "part", "--shard", "1/1"});
    EXPECT_FALSE(fs::exists(at("part/part-1-of-1.thumbnails.json")));
}

/// Results with many images, made from the rows of one.
void multiply(const fs::path& from, const fs::path& to, int images, const std::string& end, int flagged_every) {
    fs::create_directories(to);
    std::string flags = "path,flag,value,threshold\n";
    for (const char* table : {"stats.csv", "quality.csv"}) {
        const std::string text = read_text(from / table);
        const std::size_t first = text.find('\n') + 1;
        std::string made = text.substr(0, first);
        for (int image = 0; image < images; ++image) {
            const std::string path = "photos/" + std::to_string(image) + end;
            for (std::size_t at = first; at < text.size();) {
                const std::size_t line = text.find('\n', at) + 1;
                made += path + text.substr(text.find(',', at), line - text.find(',', at));
                at = line;
            }
            if (std::string(table) == "stats.csv" && image % flagged_every == 0) flags += path + ",dark,0.1,0.32\n";
        }
        write_text(to / table, made);
    }
    write_text(to / "flags.csv", flags);
}

TEST_F(ReportCommand, HasAtMostFiveMegabytes) {
    save("1.png", cv::Mat(9, 9, CV_8UC1, cv::Scalar(3)));
    run({"1.png", "--quality", "-q", "--write", "stats", "-o", "one"});
    multiply(at("one"), at("results"), 3000, std::string(4000, 'x') + ".png", 10);  // long paths
    ASSERT_EQ(report().code, all_done);
    EXPECT_LE(fs::file_size(at("page.html")), 5'000'000U);
    EXPECT_TRUE(contains(page(), "All 3,000 images."));
}

TEST_F(ReportCommand, ManyImagesAreChosen) {
    save("1.png", cv::Mat(9, 9, CV_8UC1, cv::Scalar(3)));
    run({"1.png", "--quality", "-q", "--write", "stats", "-o", "one"});
    multiply(at("one"), at("results"), 50'001, ".png", 1000);
    ASSERT_EQ(report().code, all_done);
    EXPECT_LE(fs::file_size(at("page.html")), 5'000'000U);
    const std::string lead = between(page(), "<h2>Images</h2>\n<p class=\"lead\">", "</p>");
    EXPECT_TRUE(contains(lead, " of 50,001 images: the flagged, and those at the ends of each measure.")) << lead;
    const int rows = std::stoi(lead);
    EXPECT_GE(rows, 51);
    EXPECT_LT(rows, 500);
}

}  // namespace
