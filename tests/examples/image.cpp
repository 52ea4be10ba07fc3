// Measures an image that already lies on the GPU, on the caller's own stream, and polls for the result.
#include <cuda_runtime.h>

#include <cstdio>
#include <gpuhist/gpuhist.hpp>
#include <gpuhist/stream.hpp>
#include <thread>

int main() {
    if (gpuhist::gpus().empty()) return 77;  // ctest: skipped

    // A pipeline has a stream, and pixels that something on that stream makes.
    constexpr int width = 1920, height = 1080;
    cudaStream_t stream;
    void* pixels;
    std::size_t row_bytes;
    cudaStreamCreate(&stream);
    cudaMallocPitch(&pixels, &row_bytes, 3 * width, height);
    cudaMemset2DAsync(pixels, row_bytes, 100, 3 * width, height, stream);

    // Made once: the analyzer owns what it needs; the GPU writes the results to the host's memory.
    gpuhist::StreamAnalyzer analyzer({.channels = 3});
    gpuhist::PinnedResults results(analyzer.layout());

    const gpuhist::ImageView image{.data = pixels,
                                   .width = width,
                                   .height = height,
                                   .channels = 3,
                                   .row_bytes = static_cast<std::int64_t>(row_bytes),
                                   .memory = gpuhist::Memory::device};
    analyzer.enqueue(image, {}, results.device(), stream);  // returns at once

    while (!results.ready()) std::this_thread::yield();  // no call to CUDA; or cudaStreamSynchronize(stream)
    for (const gpuhist::Statistics& row : gpuhist::statistics(gpuhist::read_result(&results[0])))
        std::printf("%s: mean %g, median %g\n", to_string(row.channel), *row.mean, *row.percentile(50));
}
