// The engine on the GPU: moves the pixels there where they are not, analyses, fetches the result.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/result.hpp"
#include "core/validate.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/host/device.hpp"
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

/// Where an image starts in memory that several share.
constexpr std::size_t place_after(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

template <class View>
std::size_t packed_bytes(const View& image) {
    return static_cast<std::size_t>(image.packed_row_bytes() * image.height);
}

void copy_rows(void* to, std::int64_t to_row_bytes, const void* from, std::int64_t from_row_bytes,
               const ImageView& image) {
    const auto bytes = static_cast<std::size_t>(image.packed_row_bytes());
    for (std::int64_t row = 0; row < image.height; ++row)
        std::memcpy(static_cast<char*>(to) + row * to_row_bytes, static_cast<const char*>(from) + row * from_row_bytes,
                    bytes);
}

template <class View>
View packed_on_gpu(View view, void* data) {
    view.data = data;
    view.row_bytes = view.packed_row_bytes();
    view.memory = Memory::device;
    return view;
}

void validate(const ImageView& image, const AnalysisRequest& request, const Normalization* normalization,
              const MutableImageView* output) {
    core::validate(image);
    core::validate(request);
    if (!normalization) return;
    core::validate(*normalization);
    core::validate_output(image, *normalization, *output);
}
void validate(const Job& job) {
    validate(job.image, job.request, job.normalization ? &*job.normalization : nullptr, &job.output);
}

/// Of its result, and of the normalised image.
std::size_t bytes_back(const Job& job) {
    const Normalization* normalization = job.normalization ? &*job.normalization : nullptr;
    return layout_of(job.image.depth, job.image.channels, job.request.bins, normalization).bytes +
           (normalization ? place_after(packed_bytes(job.output)) : 0);
}

/// Small jobs that one launch does: of one type, and asked the same.
struct Batch {
    // Bounds for the memory of an engine; most batches stay far below.
    static constexpr std::size_t most_bytes = std::size_t{1} << 24, most_job_bytes = most_bytes / 4;
    static constexpr std::size_t least_room = most_bytes / 16;

    std::vector<Job*> jobs;
    std::size_t up = 0, down = 0;  ///< bytes to the GPU and back

    bool takes(const Job& job) const {
        const Job& first = *jobs.front();
        const auto wants = [](const Job& one) {
            const AnalysisRequest& request = one.request;
            return std::tuple(one.image.depth, one.image.channels, request.luma_histogram, request.bins,
                              request.range.has_value(), request.range.value_or(Range{}), request.detail,
                              one.normalization.has_value());
        };
        const auto how = [](const Job& one) {
            const Normalization normalization = one.normalization.value_or(Normalization{});
            return std::tuple(normalization.mode, normalization.low, normalization.high, normalization.joint);
        };
        return wants(first) == wants(job) && how(first) == how(job);
    }
    bool full() const {
        return jobs.size() == static_cast<std::size_t>(StreamAnalyzer::list_images) || up >= most_bytes ||
               down >= most_bytes;
    }
};

class CudaEngine final : public Engine {
  public:
    explicit CudaEngine(const EngineOptions& options) : options_(options) {}
    std::string_view name() const override { return "cuda"; }

    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        do_one(image, request, nullptr, nullptr, result);
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        do_one(image, request, &normalization, &output, result);
    }
    void run(Job* jobs, std::size_t count) override;

  private:
    void do_one(const ImageView& image, const AnalysisRequest& request, const Normalization* normalization,
                const MutableImageView* output, Analysis& result);
    void do_batch(const Batch& batch);
    void launch(const Batch& batch);
    void* reserve_results(std::size_t bytes);
    Analyzer& analyzer_for(const ImageView& image, const AnalysisRequest& request);

    const EngineOptions options_;
    Stream stream_;
    std::array<std::optional<Analyzer>, 9> analyzers_;  ///< one for each type of image met so far
    DeviceBuffer input_, output_, device_result_;
    PinnedBuffer result_, packed_;
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
        plan.gpu = options_.gpu;
        plan.cooperative = options_.cooperative;
        plan.shared_bytes = options_.shared_bytes;
        analyzer.reset();
        analyzer.emplace(plan);
    }
    return *analyzer;
}

/// What lies between the parts of a result is fetched with them, and must have been written once.
void* CudaEngine::reserve_results(std::size_t bytes) {
    const bool fresh = device_result_.bytes() < bytes;
    void* results = device_result_.reserve(bytes);
    if (fresh) GPUHIST_CUDA(cudaMemsetAsync(results, 0, bytes, stream_));
    return results;
}

void CudaEngine::do_one(const ImageView& image, const AnalysisRequest& request, const Normalization* normalization,
                        const MutableImageView* output, Analysis& result) {
    validate(image, request, normalization, output);
    const CurrentDevice current(options_.gpu);
    Analyzer& analyzer = analyzer_for(image, request);
    const auto rows = static_cast<std::size_t>(image.height);
    const bool upload = image.memory == Memory::host;

    // Uploaded pixels lie packed on the GPU.
    ImageView source = image;
    MutableImageView target = output ? *output : MutableImageView{};
    if (upload) {
        const auto row_bytes = static_cast<std::size_t>(image.packed_row_bytes());
        source = packed_on_gpu(image, input_.reserve(row_bytes * rows));
        GPUHIST_CUDA(cudaMemcpy2DAsync(const_cast<void*>(source.data), row_bytes, image.data,
                                       image.height == 1 ? row_bytes : static_cast<std::size_t>(image.row_bytes),
                                       row_bytes, rows, cudaMemcpyHostToDevice, stream_));
        if (output) target = packed_on_gpu(*output, output_.reserve(packed_bytes(*output)));
    }

    const ResultLayout layout = analyzer.layout(request, normalization);
    void* device_result = reserve_results(layout.bytes);
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

void CudaEngine::run(Job* jobs, std::size_t count) {
    std::vector<Batch> open;
    for (Job* job = jobs; job != jobs + count; ++job) {
        job->error = nullptr;
        try {
            validate(*job);
        } catch (const InvalidArgument&) {
            job->error = std::current_exception();
            continue;
        }
        const std::size_t up = place_after(packed_bytes(job->image)), down = bytes_back(*job);
        if (up > static_cast<std::size_t>(small_image_bytes) || down > Batch::most_job_bytes) {
            Engine::run(job, 1);
            continue;
        }
        auto batch = std::find_if(open.begin(), open.end(), [&](const Batch& one) { return one.takes(*job); });
        if (batch == open.end()) batch = open.insert(open.end(), Batch{});
        batch->jobs.push_back(job);
        batch->up += up;
        batch->down += down;
        if (!batch->full()) continue;
        do_batch(*batch);
        open.erase(batch);
    }
    for (const Batch& batch : open) do_batch(batch);
}

void CudaEngine::do_batch(const Batch& batch) {
    try {
        if (batch.jobs.size() > 1) return launch(batch);
    } catch (const OutOfMemory&) {  // one may still fit
    } catch (const CudaError&) {
        for (Job* job : batch.jobs) job->error = std::current_exception();
        return;
    } catch (const std::exception&) {  // one of them will say it again
    }
    for (Job* job : batch.jobs) Engine::run(job, 1);
}

/// Pixels go up in one piece; results come back in one, with the normalised images behind them.
void CudaEngine::launch(const Batch& batch) {
    const Job& first = *batch.jobs.front();
    const Normalization* normalization = first.normalization ? &*first.normalization : nullptr;
    const CurrentDevice current(options_.gpu);
    Analyzer& analyzer = analyzer_for(first.image, first.request);
    const std::size_t result_bytes = analyzer.layout(first.request, normalization).bytes;

    // Room for more, so that batches somewhat larger than those before need no new memory.
    const auto room = [](std::size_t bytes) { return std::bit_ceil(std::max(bytes, Batch::least_room)); };
    char* packed = static_cast<char*>(packed_.reserve(room(batch.up)));
    char* pixels = static_cast<char*>(input_.reserve(room(batch.up)));
    char* results = static_cast<char*>(reserve_results(room(batch.down)));
    char* fetched = static_cast<char*>(result_.reserve(room(batch.down)));

    std::vector<ImageView> sources;
    std::vector<MutableImageView> targets;
    std::size_t up = 0, down = result_bytes * batch.jobs.size();
    for (const Job* job : batch.jobs) {
        const bool upload = job->image.memory == Memory::host;
        sources.push_back(upload ? packed_on_gpu(job->image, pixels + up) : job->image);
        if (upload) {
            copy_rows(packed + up, sources.back().row_bytes, job->image.data, job->image.row_bytes, job->image);
            up += place_after(packed_bytes(job->image));
        }
        if (!normalization) continue;
        targets.push_back(upload ? packed_on_gpu(job->output, results + down) : job->output);
        if (upload) down += place_after(packed_bytes(job->output));
    }
    if (up > 0) GPUHIST_CUDA(cudaMemcpyAsync(pixels, packed, up, cudaMemcpyHostToDevice, stream_));
    analyzer.enqueue(
        Views{sources.data(), normalization ? targets.data() : nullptr, static_cast<std::int64_t>(sources.size())},
        first.request, normalization, results, stream_);
    GPUHIST_CUDA(cudaMemcpyAsync(fetched, results, down, cudaMemcpyDeviceToHost, stream_));
    GPUHIST_CUDA(cudaStreamSynchronize(stream_));

    for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
        const Job& job = *batch.jobs[i];
        core::read(*reinterpret_cast<const ImageResult*>(fetched + i * result_bytes), *job.result);
        if (!normalization || job.image.memory != Memory::host) continue;
        const std::ptrdiff_t place = static_cast<const char*>(targets[i].data) - results;
        copy_rows(job.output.data, job.output.row_bytes, fetched + place, targets[i].row_bytes, job.output);
    }
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
