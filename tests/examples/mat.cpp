#include <gpuhist/gpuhist.hpp>
#include <gpuhist/io/opencv.hpp>
#include <iostream>
#include <opencv2/imgcodecs.hpp>

int main(int, char** arguments) try {
    const cv::Mat image = cv::imread(arguments[1], cv::IMREAD_UNCHANGED);
    cv::Mat copy(image.size(), image.type());

    const auto engine = gpuhist::make_engine("auto");
    gpuhist::Normalization equalize;
    equalize.mode = gpuhist::NormalizeMode::equalize;
    gpuhist::Analysis analysis;
    engine->normalize(gpuhist::io::view(image), {}, equalize, gpuhist::io::mutable_view(copy), analysis);

    for (const gpuhist::Statistics& channel : gpuhist::statistics(analysis))
        std::cout << to_string(channel.channel) << ": mean " << *channel.mean << ", std " << *channel.std << '\n';
    return cv::imwrite(arguments[2], copy) ? 0 : 1;
} catch (const gpuhist::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
