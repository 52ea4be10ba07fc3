#include <gpuhist/gpuhist.hpp>
#include <gpuhist/io/imread.hpp>
#include <gpuhist/io/matrices.hpp>
#include <iostream>
#include <opencv2/imgproc.hpp>

int main(int, char** arguments) try {
    const auto engine = gpuhist::make_engine("auto");
    cv::Mat histograms[2];
    for (int i = 0; i < 2; ++i) {
        const cv::Mat image = gpuhist::io::imread(arguments[1 + i]);  // cv::imread, or an error
        const gpuhist::Analysis analysis = engine->analyze(gpuhist::io::view(image));
        histograms[i] = gpuhist::io::histogram_matrix(gpuhist::histogram(analysis), gpuhist::Channel::green);
    }
    std::cout << "correlation " << cv::compareHist(histograms[0], histograms[1], cv::HISTCMP_CORREL) << '\n';
} catch (const gpuhist::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
