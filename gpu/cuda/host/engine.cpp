// Engine on the GPU: moves the pixels there where they are not, has them analysed, fetches the results.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/host/batcher.hpp"
#include "cuda/host/device.hpp"
#include "engines.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::cuda {

namespace {

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

class CudaEngine final : public Engine {
  public:
    explicit CudaEngine(int gpu) : gpu_(gpu) {}
    std::string_view name() const override { return "cuda"; }

    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        validate(image, request, nullptr, nullptr);
        do_one(image, request, nullptr, nullptr, result);
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        validate(image, request, &normalization, &output);
        do_one(image, request, &normalization, &output, result);
    }
    void run(Job* jobs, std::size_t count) override;

  private:
    void do_one(const ImageView& image, const AnalysisRequest& request, const Normalization* normalization,
                const MutableImageView* output, Analysis& result);
    void do_one(const Job& job);
    void do_batch(const JobBatch& batch);
    void launch(const JobBatch& batch);
    void* reserve_results(std::size_t bytes);
    Analyzer& analyzer_for(const ImageView& image, const AnalysisRequest& request);

    const int gpu_;
    Stream stream_;
    std::array<std::optional<Analyzer>, 3 * std::size(all_depths)>
        analyzers_;  ///< one for each type of image met so far
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
        plan.gpu = gpu_;
        analyzer.reset();
        analyzer.emplace(plan);
    }
    return *analyzer;
}

/// Room for results. What lies between their parts is fetched with them, and must have been written once.
void* CudaEngine::reserve_results(std::size_t bytes) {
    const bool fresh = device_result_.bytes() < bytes;
    void* results = device_result_.reserve(bytes);
    if (fresh) GPUHIST_CUDA(cudaMemsetAsync(results, 0, bytes, stream_));
    return results;
}

void CudaEngine::do_one(const ImageView& image, const AnalysisRequest& request, const Normalization* normalization,
                        const MutableImageView* output, Analysis& result) {
    const CurrentDevice current(gpu_);
    Analyzer& analyzer = analyzer_for(image, request);
    StreamWork work(stream_);
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
    work.wait();
    core::read(*static_cast<const ImageResult*>(host_result), result);
}

void CudaEngine::do_one(const Job& job) {
    const Normalization* normalization = normalization_of(job);
    do_one(job.image, job.request, normalization, normalization ? &job.output : nullptr, *job.result);
}

void CudaEngine::run(Job* jobs, std::size_t count) {
    for (Job* job = jobs; job != jobs + count; ++job) {
        job->error = nullptr;
        try {
            validate(job->image, job->request, normalization_of(*job), &job->output);
        } catch (const InvalidArgument&) {
            job->error = std::current_exception();
        }
    }
    batch_jobs(
        jobs, count,
        [](const Job& job) {
            return layout_of(job.image.depth, job.image.channels, job.request, normalization_of(job)).bytes;
        },
        [this](const JobBatch& batch) { do_batch(batch); });
}

void CudaEngine::do_batch(const JobBatch& batch) {
    try {
        if (batch.jobs.size() > 1) return launch(batch);
    } catch (const OutOfMemory&) {  // one may still fit
    } catch (const CudaError&) {
        for (Job* job : batch.jobs) job->error = std::current_exception();
        return;
    } catch (const std::exception&) {  // one of them will say it again
    }
    for (Job* job : batch.jobs) {
        try {
            do_one(*job);
        } catch (...) {
            job->error = std::current_exception();
        }
    }
}

/// Pixels go up in one piece; results come back in one, with the normalised images behind them.
void CudaEngine::launch(const JobBatch& batch) {
    const Job& first = *batch.jobs.front();
    const Normalization* normalization = normalization_of(first);
    const CurrentDevice current(gpu_);
    Analyzer& analyzer = analyzer_for(first.image, first.request);
    StreamWork work(stream_);
    const std::size_t result_bytes = analyzer.layout(first.request, normalization).bytes;

    // Room for more, so that batches somewhat larger than those before need no new memory.
    const auto room = [](std::size_t bytes) { return std::bit_ceil(std::max(bytes, JobBatch::least_room)); };
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
    work.wait();

    for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
        const Job& job = *batch.jobs[i];
        core::read(*reinterpret_cast<const ImageResult*>(fetched + i * result_bytes), *job.result);
        if (!normalization || job.image.memory != Memory::host) continue;
        const std::ptrdiff_t place = static_cast<const char*>(targets[i].data) - results;
        copy_rows(job.output.data, job.output.row_bytes, fetched + place, targets[i].row_bytes, job.output);
    }
}

}  // namespace

std::unique_ptr<Engine> make(const EngineOptions& options) {
    const std::string why = why_unavailable(options.gpu);
    if (!why.empty()) throw EngineUnavailable("engine cuda: " + why);
    const CurrentDevice current(options.gpu);
    return std::make_unique<CudaEngine>(options.gpu);
}

}  // namespace gpuhist::cuda
