// The program for videos, against OpenCV.
#include <opencv2/videoio.hpp>

#include "example_run.hpp"
#include "support/codecs.hpp"

namespace {

using namespace examples;

/// Checks what the program prints of a video with these frames.
void expect_frames(const std::string& video, const std::vector<cv::Mat>& frames) {
    const Ran ran = run("video", {video});
    EXPECT_EQ(ran.code, 0) << ran.err;
    for (std::size_t i = 0; i < frames.size(); ++i)
        expect_close(number_after(ran.out, "frame " + std::to_string(i) + ": luma "), moments(luma_of(frames[i])).mean,
                     ran.out);
    const std::string all = "all " + std::to_string(frames.size()) + " frames: ";
    for (const auto& [channel, expected] : moments_of_colors(together(frames))) {
        ASSERT_NE(ran.out.find(all + channel + " "), std::string::npos) << ran.out;
        const std::string line = ran.out.substr(ran.out.find(all + channel + " "));
        expect_close(number_after(line, all + channel + " "), expected.mean, line);
        expect_close(number_after(line, ", std "), expected.std, line);
    }
}

TEST(VideoExample, MeasuresASequenceOfPictures) {
    const gpuhist::test::TemporaryDirectory directory;
    std::vector<cv::Mat> frames;
    for (int i = 0; i < 5; ++i) {
        frames.push_back(colors(64, 48, i));
        gpuhist::test::write_picture(directory.path() / ("frame" + std::to_string(i) + ".png"), frames.back());
    }
    expect_frames((directory.path() / "frame%d.png").string(), frames);
}

TEST(VideoExample, MeasuresAVideo) {
    const gpuhist::test::TemporaryDirectory directory;
    const std::string path = (directory.path() / "video.avi").string();
    {
        cv::VideoWriter writer(path, cv::CAP_OPENCV_MJPEG, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, {64, 48});
        if (!writer.isOpened()) GTEST_SKIP() << "this OpenCV writes no videos";
        for (int i = 0; i < 7; ++i) {
            cv::Mat frame(48, 64, CV_8UC3, cv::Scalar(30 * i, 200 - 20 * i, 10 + 5 * i));
            cv::circle(frame, {10 + 5 * i, 20}, 8, cv::Scalar::all(255), cv::FILLED);
            writer.write(frame);
        }
    }
    std::vector<cv::Mat> frames;
    cv::VideoCapture reader(path);
    for (cv::Mat frame; reader.read(frame);) frames.push_back(frame.clone());
    ASSERT_EQ(frames.size(), 7U);
    expect_frames(path, frames);
}

TEST(VideoExample, NamesAVideoThatCannotBeOpened) {
    const Ran ran = run("video", {"/nowhere/missing.avi"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("/nowhere/missing.avi: cannot be opened as a video\n"), std::string::npos) << ran.err;
}

}  // namespace
