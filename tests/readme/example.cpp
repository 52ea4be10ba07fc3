#include <gpuhist/gpuhist.hpp>
#include <gpuhist/io/decode.hpp>
#include <gpuhist/io/opencv.hpp>
#include <iostream>

int main(int, char** arguments) {
    const cv::Mat image = gpuhist::io::read_image(arguments[1]);
    const auto engine = gpuhist::make_engine("auto");
    const gpuhist::Analysis analysis = engine->analyze(gpuhist::io::view(image));
    for (const gpuhist::Statistics& row : gpuhist::statistics(analysis))
        std::cout << to_string(row.channel) << ": mean " << *row.mean << ", std " << *row.std << '\n';
}
