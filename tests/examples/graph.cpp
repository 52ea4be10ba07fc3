// A pipeline in a CUDA graph: a frame is uploaded, measured and equalized. Each launch works on new pixels.
#include <cuda_runtime.h>

#include <cstdio>
#include <gpuhist/gpuhist.hpp>
#include <gpuhist/stream.hpp>
#include <vector>

int main() {
    if (gpuhist::gpus().empty()) return 77;  // ctest: skipped

    constexpr int width = 1920, height = 1080;
    std::vector<unsigned char> frame(width * height);
    void *pixels, *equalized;
    cudaStream_t stream;
    cudaMalloc(&pixels, frame.size());
    cudaMalloc(&equalized, frame.size());
    cudaStreamCreate(&stream);

    const gpuhist::MutableImageView image{
        .data = pixels, .width = width, .height = height, .row_bytes = width, .memory = gpuhist::Memory::device};
    gpuhist::MutableImageView output = image;
    output.data = equalized;

    const gpuhist::Normalization equalize{gpuhist::NormalizeMode::equalize};
    gpuhist::StreamAnalyzer analyzer({.normalize = true});
    gpuhist::PinnedResults results(analyzer.layout({}, &equalize));

    cudaGraph_t graph;
    cudaGraphExec_t pipeline;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMemcpyAsync(pixels, frame.data(), frame.size(), cudaMemcpyHostToDevice, stream);
    analyzer.enqueue_normalized(image, output, {}, equalize, results.device(), stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&pipeline, graph, 0);

    for (int shade : {50, 100, 150}) {
        for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<unsigned char>(shade + i % 11);
        cudaGraphLaunch(pipeline, stream);
        cudaStreamSynchronize(stream);
        std::printf("mean %.3f, std %.3f\n", results[0].channels[0].mean, results[0].channels[0].std);
    }
}
