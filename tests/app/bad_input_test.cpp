// Inputs that cannot be measured: what the command says, and that it measures the others.
//
// Environment: GPUHIST_PROGRAM, the program.
#include "support/command.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
}

/// A PNG that ends after its header.
std::string png_header(std::uint32_t width, std::uint32_t height) {
    const std::string body =
        std::string("IHDR") + big_endian(width) + big_endian(height) + std::string("\x08\0\0\0\0", 5);
    std::uint32_t crc = 0xFFFFFFFFu;
    for (const char byte : body) {
        crc ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return "\x89PNG\r\n\x1a\n" + big_endian(13) + body + big_endian(~crc);
}

class BadInput : public Command {
  protected:
    /// Measures a good image, the bad one, and another good one: the good ones must be done.
    void expect_refused(const std::string& bad, const std::vector<std::string>& causes,
                        const std::vector<std::string>& extra = {}) {
        save("good1.png", make_image(16, 16, CV_8UC1));
        save("good2.png", make_image(16, 16, CV_8UC1));
        std::vector<std::string> arguments{"good1.png", bad, "good2.png"};
        arguments.insert(arguments.end(), extra.begin(), extra.end());
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.code, inputs_failed) << outcome.err;
        EXPECT_EQ(outcome.err.rfind("gpuhist: " + bad + ": ", 0), 0u) << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;  // and the summary
        EXPECT_TRUE(contains(outcome.err, "\ngpuhist: 3 inputs, 1 error (1 ")) << outcome.err;
        for (const std::string& cause : causes)
            EXPECT_TRUE(contains(outcome.err, cause)) << cause << "\n" << outcome.err;
        const std::string stats = read_text(at("gpuhist-out/stats.csv"));
        EXPECT_EQ(std::count(stats.begin(), stats.end(), '\n'), 3) << stats;
        EXPECT_TRUE(contains(stats, "\ngood1.png,") && contains(stats, "\ngood2.png,")) << stats;
        EXPECT_EQ(files_below("gpuhist-out").size(), 11u);
        const std::string errors = read_text(at("gpuhist-out/errors.csv"));
        EXPECT_EQ(errors.rfind("path,kind,message\n" + bad + ",", 0), 0u) << errors;
        EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 2) << errors;
        fs::remove_all(at("gpuhist-out"));
    }

    std::string first_half(const std::string& name, const cv::Mat& image) {
        save(name, image);
        const std::string whole = read_text(at(name));
        write_text(at(name), whole.substr(0, whole.size() / 2));
        return name;
    }
};

TEST_F(BadInput, MissingFile) {
    expect_refused("missing.png", {"o such file"});
}

TEST_F(BadInput, DirectoryWithoutImages) {
    fs::create_directory(at("empty"));
    write_text(at("empty/notes.txt"), "text");
    expect_refused("empty", {"the directory has no images"});
}

TEST_F(BadInput, EmptyFile) {
    write_text(at("empty.png"), "");
    expect_refused("empty.png", {"empty"});
}

TEST_F(BadInput, TextNamedPng) {
    write_text(at("text.png"), "This is not an image.\n");
    expect_refused("text.png", {"text"});
}

TEST_F(BadInput, UnreadableFile) {  // a loop of links, which nobody can read, whatever rights the tests run with
    fs::create_symlink("loop.png", at("loop.png"));
    expect_refused("loop.png", {"ymbolic link"});
}

TEST_F(BadInput, TruncatedJpeg) {
    expect_refused(first_half("half.jpg", make_image(200, 150, CV_8UC3)), {"runcated"});
}
TEST_F(BadInput, TruncatedPng) {
    expect_refused(first_half("half.png", make_image(200, 150, CV_8UC3)), {"runcated"});
}
TEST_F(BadInput, TruncatedTiff) {
    expect_refused(first_half("half.tiff", make_image(200, 150, CV_8UC3)), {"runcated"});
}

TEST_F(BadInput, TruncatedIsAcceptedWhereAsked) {
    first_half("half.jpg", make_image(200, 150, CV_8UC3));
    for (const char* option : {"--on-damaged", "--on-truncated"}) {
        const Outcome outcome = run({"half.jpg", option, "accept"});
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        EXPECT_TRUE(contains(read_text(at("gpuhist-out/stats.csv")), "half.jpg,200,150,u8,red,30000,"));
        fs::remove_all(at("gpuhist-out"));
    }
}

TEST_F(BadInput, HeaderThatClaimsTooMuch) {
    write_text(at("huge.png"), png_header(300000, 300000));
    expect_refused("huge.png", {"300000", "more than the 68719476736 allowed"});
    write_text(at("huge.pgm"), "P5\n300000 300000\n255\n");
    expect_refused("huge.pgm", {"300000", "more than the 68719476736 allowed"});
    // A copy that is made smaller is made of the whole image.
    write_text(at("huge.png"), png_header(60000, 60000));
    expect_refused("huge.png", {"60000", "more than the 1073741824 allowed in one piece"}, {"--size", "100"});
}

TEST_F(BadInput, TilesThatAreNotThereTakeNoMemory) {
    const auto file = gpuhist::test::encode(".jp2", cv::Mat(8, 8, CV_8UC1, cv::Scalar(9)));
    const std::string text(file.begin(), file.end());
    std::string stream = text.substr(text.find("\xff\x4f\xff\x51"));
    std::size_t at_side = 8;  // of SIZ: width and height
    for (const unsigned side : {5U * 8, 3989U * 8}) {
        for (int i = 0; i < 4; ++i)
            stream[at_side + static_cast<std::size_t>(i)] = static_cast<char>(side >> 8 * (3 - i));
        at_side += 4;
    }
    write_text(at("tiles.j2k"), stream);
    const auto idle = run({"--version"}).most_memory;
    for (const char* damage : {"error", "accept"}) {
        const Outcome outcome = run({"tiles.j2k", "--memory", "64M", "--on-damaged", damage});
        EXPECT_EQ(outcome.code, inputs_failed);
        EXPECT_TRUE(contains(outcome.err, "lacks 19944 of its 19945 tiles")) << outcome.err;
        EXPECT_LT(outcome.most_memory, idle + (40 << 20));  // OpenJPEG takes 448 MB
    }
}

TEST_F(BadInput, MorePixelsThanAllowed) {
    save("large.png", make_image(17, 16, CV_8UC1));
    expect_refused("large.png", {"17 x 16", "more than the 256 allowed"}, {"--max-pixels", "256"});
}

TEST_F(BadInput, FormatThatIsNotRead) {
    write_text(at("fits.tiff"), "SIMPLE  =                    T");
    expect_refused("fits.tiff", {"FITS"});
}

TEST_F(BadInput, FullBinsOfFloats) {
    save("float.tiff", make_image(8, 8, CV_32FC1));
    expect_refused("float.tiff", {"--bins full", "f32"}, {"--bins", "full"});
}

TEST_F(BadInput, RangeThatIntegersCannotHave) {
    save("x.png", make_image(8, 8, CV_8UC1));
    const Outcome outcome = run({"x.png", "--range", "0.5,9"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "x.png: ") && contains(outcome.err, "whole numbers")) << outcome.err;
    EXPECT_FALSE(fs::exists(at("gpuhist-out")));
}

TEST_F(BadInput, NothingMeasuredLeavesNoDirectory) {
    EXPECT_EQ(run({"missing.png"}).code, inputs_failed);
    EXPECT_FALSE(fs::exists(at("gpuhist-out")));
}

}  // namespace
