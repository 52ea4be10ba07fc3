// The engine on the GPU: moves the pixels there where they are not, analyses, fetches the result.

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "core/validate.hpp"
#include "cuda/analyzer.hpp"
#include "cuda/runtime.hpp"
#include "engines.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::cuda {

void check(cudaError_t status, const char* call, const char* file, int line) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    const std::string what = std::string("CUDA: ") + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) +
                             ") in " + call + " at " + std::filesystem::path(file).filename().string() + ":" +
                             std::to_string(line);
    if (status == cudaErrorMemoryAllocation) throw OutOfMemory(what + ": use a smaller image or the cpu engine");
    throw CudaError(what);
}

namespace {

class CudaEngine final : public Engine {
  public:
    explicit CudaEngine(const EngineOptions& options) : gpu_(options.gpu), cooperative_(options.cooperative) {}
    std::string_view name() const override { return "cuda"; }

    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        run(image, request, nullptr, nullptr, result);
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        run(image, request, &normalization, &output, result);
    }

  private:
    void run(const ImageView& image, const AnalysisRequest& request, const Normalization* normalization,
             const MutableImageView* output, Analysis& result);
    Analyzer& analyzer_for(const ImageView& image, const AnalysisRequest& request);

    int gpu_;
    bool cooperative_;
    Stream stream_;
    std::array<std::optional<Analyzer>, 9> analyzers_;  ///< one for each type of image met so far
    DeviceBuffer input_, output_, device_result_;
    PinnedBuffer result_;
};

Analyzer& CudaEngine::analyzer_for(const ImageView& image, const AnalysisRequest& request) {
    const int kind = image.channels == 1 ? 0 : image.channels - 2;
    auto& analyzer = analyzers_[static_cast<std::size_t>(static_cast<int>(image.depth) * 3 + kind)];
    if (!analyzer || analyzer->plan().bins < request.bins) {
        StreamPlan plan;
        plan.depth = image.depth;
        plan.channels = image.channels;
        plan.bins = request.bins;
        plan.normalize = true;
        plan.gpu = gpu_;
        plan.cooperative = cooperative_;
        analyzer.reset();
        analyzer.emplace(plan);
    }
    return *analyzer;
}

void CudaEngine::run(const ImageView& image, const AnalysisRequest& request, const Normalization* normalization,
                     const MutableImageView* output, Analysis& result) {
    core::validate(image);
    core::validate(request);
    if (normalization) {
        core::validate(*normalization);
        core::validate_output(image, *normalization, *output);
    }
    const CurrentDevice current(gpu_);
    Analyzer& analyzer = analyzer_for(image, request);
    const auto rows = static_cast<std::size_t>(image.height);
    const bool upload = image.memory == Memory::host;

    // Uploaded pixels lie packed on the GPU.
    ImageView source = image;
    MutableImageView target = output ? *output : MutableImageView{};
    if (upload) {
        const auto row_bytes = static_cast<std::size_t>(image.packed_row_bytes());
        void* pixels = input_.reserve(row_bytes * rows);
        GPUHIST_CUDA(cudaMemcpy2DAsync(pixels, row_bytes, image.data,
                                       image.height == 1 ? row_bytes : static_cast<std::size_t>(image.row_bytes),
                                       row_bytes, rows, cudaMemcpyHostToDevice, stream_));
        source.data = pixels;
        source.row_bytes = image.packed_row_bytes();
        source.memory = Memory::device;
        if (output) {
            target.row_bytes = output->packed_row_bytes();
            target.data = output_.reserve(static_cast<std::size_t>(target.row_bytes) * rows);
            target.memory = Memory::device;
        }
    }

    const ResultLayout layout = analyzer.layout(request, normalization);
    const bool fresh = device_result_.bytes() < layout.bytes;
    void* device_result = device_result_.reserve(layout.bytes);
    if (fresh) GPUHIST_CUDA(cudaMemsetAsync(device_result, 0, layout.bytes, stream_));  // the gaps are fetched too
    analyzer.enqueue(Views{&source, output ? &target : nullptr, 1}, request, normalization, device_result, stream_);
    const std::size_t fetched = layout.tables_offset ? layout.tables_offset : layout.bytes;
    void* host_result = result_.reserve(fetched);
    GPUHIST_CUDA(cudaMemcpyAsync(host_result, device_result, fetched, cudaMemcpyDeviceToHost, stream_));
    if (output && upload) {
        const auto row_bytes = static_cast<std::size_t>(output->packed_row_bytes());
        GPUHIST_CUDA(cudaMemcpy2DAsync(output->data,
                                       output->height == 1 ? row_bytes : static_cast<std::size_t>(output->row_bytes),
                                       target.data, row_bytes, row_bytes, rows, cudaMemcpyDeviceToHost, stream_));
    }
    GPUHIST_CUDA(cudaStreamSynchronize(stream_));
    core::read(*static_cast<const ImageResult*>(host_result), result);
}

}  // namespace

std::vector<GpuInfo> gpus() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return {};
    }
    std::vector<GpuInfo> result;
    for (int gpu = 0; gpu < count; ++gpu) {
        cudaDeviceProp properties;
        GPUHIST_CUDA(cudaGetDeviceProperties(&properties, gpu));
        result.push_back({gpu, properties.name, properties.major, properties.minor, properties.totalGlobalMem,
                          properties.multiProcessorCount, properties.cooperativeLaunch != 0});
    }
    return result;
}

EngineInfo info() {
    const std::string why = why_unavailable(0);
    if (!why.empty()) return {"cuda", false, why};
    return {"cuda", true, gpus().front().name};
}

void* allocate_pinned(std::size_t bytes, int gpu) noexcept {
    try {
        const CurrentDevice current(gpu);
        void* memory = nullptr;
        if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) == cudaSuccess) return memory;
        (void)cudaGetLastError();
    } catch (const CudaError&) {
    }
    return nullptr;
}
void free_pinned(void* memory) noexcept {
    ignore(cudaFreeHost(memory));
}

std::unique_ptr<Engine> make(const EngineOptions& options) {
    const std::string why = why_unavailable(options.gpu);
    if (!why.empty()) throw EngineUnavailable("engine cuda: " + why);
    const CurrentDevice current(options.gpu);
    return std::make_unique<CudaEngine>(options);
}

}  // namespace gpuhist::cuda
