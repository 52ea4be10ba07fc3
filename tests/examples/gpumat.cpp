#include <gpuhist/gpuhist.hpp>
#include <gpuhist/io/opencv.hpp>
#include <gpuhist/stream.hpp>
#include <iostream>
#include <opencv2/core/cuda.hpp>

int main() try {
    gpuhist::StreamPlan plan;
    plan.channels = 3;
    gpuhist::StreamAnalyzer analyzer(plan);  // once: it owns all the memory that it needs
    gpuhist::PinnedResults results(analyzer.layout());

    cv::cuda::Stream stream;
    const cv::cuda::GpuMat frame(1080, 1920, CV_8UC3, cv::Scalar(10, 20, 30));
    analyzer.enqueue(gpuhist::io::view(frame), {}, results.device(), static_cast<cudaStream_t>(stream.cudaPtr()));
    stream.waitForCompletion();

    for (const gpuhist::Statistics& channel : gpuhist::statistics(gpuhist::read_result(&results[0])))
        std::cout << to_string(channel.channel) << ": mean " << *channel.mean << '\n';
} catch (const gpuhist::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
