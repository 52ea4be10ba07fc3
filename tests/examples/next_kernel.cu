// Statistics that stay on the GPU: the next kernel reads them there, and the host waits for nothing in between.
#include <cstdio>
#include <gpuhist/gpuhist.hpp>
#include <gpuhist/stream.hpp>

__global__ void make_ramp(float* pixels, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) pixels[i] = 3 + i % 5;
}

/// To mean 0 and std 1.
__global__ void standardize(float* pixels, int count, const gpuhist::ImageResult* found) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const gpuhist::ChannelResult& gray = found->channels[0];
    if (i < count) pixels[i] = static_cast<float>((pixels[i] - gray.mean) / gray.std);
}

int main() {
    if (gpuhist::gpus().empty()) return 77;  // ctest: skipped

    constexpr int width = 1280, height = 720, count = width * height, blocks = (count + 255) / 256;
    gpuhist::StreamAnalyzer analyzer({.depth = gpuhist::Depth::f32});
    cudaStream_t stream;
    float* pixels;
    gpuhist::ImageResult* result;
    cudaStreamCreate(&stream);
    cudaMalloc(&pixels, count * sizeof(float));
    cudaMalloc(&result, analyzer.layout().bytes);  // more than an ImageResult: its histograms follow it

    gpuhist::ImageView image = gpuhist::packed_view(pixels, width, height, 1, gpuhist::Depth::f32);
    image.memory = gpuhist::Memory::device;
    const gpuhist::AnalysisRequest request{.detail = gpuhist::Detail::brief};  // no percentiles, only mean and std

    make_ramp<<<blocks, 256, 0, stream>>>(pixels, count);
    analyzer.enqueue(image, request, result, stream);
    standardize<<<blocks, 256, 0, stream>>>(pixels, count, result);

    float first[5];
    cudaMemcpyAsync(first, pixels, sizeof first, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (float value : first) std::printf("%.4f ", value);
}
