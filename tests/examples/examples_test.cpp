// The programs to copy, against OpenCV.
#include "example_run.hpp"
#include "support/codecs.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace examples;
using gpuhist::test::read_picture, gpuhist::test::write_picture, gpuhist::test::write_text;

class Example : public testing::Test {
  protected:
    std::string at(const std::string& name) const {
        const auto path = directory_.path() / name;
        std::filesystem::create_directories(path.parent_path());
        return path.string();
    }

  private:
    gpuhist::test::TemporaryDirectory directory_;
};

/// Checks the lines "BEFORE CHANNEL: mean M, std S" of a color picture.
void expect_channels(const std::string& printed, const std::string& before, const cv::Mat& picture) {
    for (const auto& [channel, expected] : moments_of_colors(picture)) {
        const std::size_t at = ("\n" + printed).find("\n" + before + channel + ": mean ");
        ASSERT_NE(at, std::string::npos) << before << channel << " is not in\n" << printed;
        const std::string line = printed.substr(at, printed.find('\n', at) - at);
        expect_close(number_after(line, ": mean "), expected.mean, line);
        expect_close(number_after(line, ", std "), expected.std, line);
    }
}

TEST_F(Example, MatMeasuresAndEqualizesAPicture) {
    if (!std::filesystem::exists(program("mat"))) GTEST_SKIP() << "without imgcodecs of OpenCV";
    const cv::Mat picture = colors(53, 37, 1);
    write_picture(at("in.png"), picture);
    const Ran ran = run("mat", {at("in.png"), at("out.png")});
    EXPECT_EQ(ran.code, 0) << ran.err;
    expect_channels(ran.out, "", picture);

    // OpenCV equalizes luma. Every gray occurs, so that this tells the new value of each.
    const cv::Mat luma = luma_of(picture);
    cv::Mat equalized, table(1, 256, CV_8U), expected;
    cv::equalizeHist(luma, equalized);
    for (int y = 0; y < luma.rows; ++y)
        for (int x = 0; x < luma.cols; ++x) table.at<uchar>(luma.at<uchar>(y, x)) = equalized.at<uchar>(y, x);
    cv::LUT(picture, table, expected);
    EXPECT_EQ(cv::norm(read_picture(at("out.png")), expected, cv::NORM_INF), 0);

    EXPECT_EQ(run("mat", {at("missing.png"), at("out.png")}).code, 1);
}

TEST_F(Example, FilesGoesOnAfterAFileThatCannotBeRead) {
    const cv::Mat picture = colors(41, 29, 2), heights(9, 11, CV_16U, cv::Scalar(300));
    cv::Mat with_holes = heights.clone();
    with_holes.row(0) = 400;
    with_holes.row(8) = 9999;  // no data
    write_picture(at("color.png"), picture);
    tiff_files::Spec spec;
    spec.fields = [](TIFF* tiff) { tiff_files::set_nodata(tiff, "9999"); };
    const tiff_files::Bytes file = tiff_files::write(with_holes, spec);
    write_text(at("heights.tif"), {file.begin(), file.end()});
    const Ran ran = run("files", {at("color.png"), at("missing.png"), at("heights.tif")});
    EXPECT_EQ(ran.code, 1);
    expect_channels(ran.out, at("color.png") + " ", picture);
    EXPECT_EQ(ran.err, at("missing.png") + ": cannot be opened: No such file or directory\n");
    const Moments expected = moments(with_holes.rowRange(0, 8));
    expect_close(number_after(ran.out, "heights.tif gray: mean "), expected.mean, ran.out);
    expect_close(number_after(ran.out.substr(ran.out.find("heights.tif")), ", std "), expected.std, ran.out);
}

TEST_F(Example, SetMeasuresADirectoryAsOneImage) {
    const std::vector<cv::Mat> pictures{colors(41, 29, 3), colors(17, 30, 4), colors(64, 64, 5)};
    write_picture(at("set/a.png"), pictures[0]);
    write_picture(at("set/below/b.png"), pictures[1]);
    write_picture(at("set/below/deeper/c.bmp"), pictures[2]);
    write_text(at("set/broken.png"), "no image");
    write_text(at("set/notes.txt"), "no image either");
    const Ran ran = run("set", {at("set")});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err.rfind(at("set/broken.png") + ": ", 0), 0U) << ran.err;
    for (const auto& [channel, expected] : moments_of_colors(together(pictures))) {
        const std::string before = "u8 " + channel + ": 3 images, mean ";
        ASSERT_NE(ran.out.find(before), std::string::npos) << ran.out;
        const std::string line = ran.out.substr(ran.out.find(before), ran.out.find('\n', ran.out.find(before)));
        expect_close(number_after(line, before), expected.mean, line);
        expect_close(number_after(line, ", std "), expected.std, line);
    }
    EXPECT_EQ(run("set", {at("nowhere")}).code, 1);
}

}  // namespace
