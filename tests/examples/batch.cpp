// Measures a batch, a tensor N × H × W × C, in one launch, and fetches the numbers of all its images in one copy.
#include <cuda_runtime.h>

#include <cstdio>
#include <gpuhist/gpuhist.hpp>
#include <gpuhist/stream.hpp>
#include <vector>

int main() {
    if (gpuhist::gpus().empty()) return 77;  // ctest: skipped

    constexpr int images = 64, height = 224, width = 224, channels = 3, image_bytes = height * width * channels;
    char* tensor;
    cudaMalloc(&tensor, images * image_bytes);
    for (int i = 0; i < images; ++i) cudaMemset(tensor + i * image_bytes, 2 * i, image_bytes);

    const gpuhist::BatchView batch{.first = {.data = tensor,
                                             .width = width,
                                             .height = height,
                                             .channels = channels,
                                             .row_bytes = width * channels,
                                             .order = gpuhist::ChannelOrder::rgb,
                                             .memory = gpuhist::Memory::device},
                                   .images = images,
                                   .image_bytes = image_bytes};

    gpuhist::StreamAnalyzer analyzer({.channels = channels});
    const std::size_t bytes = analyzer.layout().bytes;  // of each result: they lie one behind the other
    void* results;
    cudaMalloc(&results, images * bytes);
    analyzer.enqueue(batch, {}, results, nullptr);

    // A result begins with its numbers; the histograms behind them stay on the GPU.
    std::vector<gpuhist::ImageResult> found(images);
    cudaMemcpy2D(found.data(), sizeof(gpuhist::ImageResult), results, bytes, sizeof(gpuhist::ImageResult), images,
                 cudaMemcpyDeviceToHost);
    for (std::size_t i = 0; i < images; i += 21) {
        const gpuhist::ChannelResult& luma = found[i].channels[3];
        std::printf("image %zu: luma from %g to %g, mean %g\n", i, luma.minimum, luma.maximum, luma.mean);
    }
}
