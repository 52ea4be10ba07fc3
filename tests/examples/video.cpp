#include <gpuhist/gpuhist.hpp>
#include <gpuhist/io/opencv.hpp>
#include <iostream>
#include <opencv2/videoio.hpp>

int main(int, char** arguments) try {
    cv::VideoCapture video(arguments[1]);
    if (!video.isOpened()) {
        std::cerr << arguments[1] << ": cannot be opened as a video\n";
        return 1;
    }
    const auto engine = gpuhist::make_engine("auto");
    gpuhist::Analysis analysis;  // each frame uses its memory again
    gpuhist::Summary all;
    cv::Mat frame;
    for (int number = 0; video.read(frame); ++number) {
        engine->analyze(gpuhist::io::view(frame), {}, analysis);
        all.add(analysis);
        for (const gpuhist::Statistics& channel : gpuhist::statistics(analysis))
            if (channel.channel == gpuhist::Channel::luma)
                std::cout << "frame " << number << ": luma " << *channel.mean << '\n';
    }
    for (const gpuhist::SummaryRow& row : all.statistics())
        std::cout << "all " << row.images << " frames: " << to_string(row.statistics.channel) << ' '
                  << *row.statistics.mean << ", std " << *row.statistics.std << '\n';
} catch (const gpuhist::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
