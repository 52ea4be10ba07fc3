// Stream analyser: the stream-level API over the analyser; validates what callers hand over.

#include "gpuhist/stream.hpp"

#include <string>
#include <utility>

#include "cuda/host/analyzer.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {

using cuda::CurrentDevice;

class StreamAnalyzer::Implementation {
  public:
    Implementation(const StreamPlan& plan, void* workspace) : gpu_(plan.gpu), analyzer_(plan, workspace) {
        analyzer_.load_kernels();
    }
    static std::unique_ptr<Implementation> make(const StreamPlan& plan, void* workspace) {
        cuda::validate(plan);
        const std::string why = cuda::why_unavailable(plan.gpu);
        if (!why.empty()) throw EngineUnavailable("stream analyser: " + why);
        const CurrentDevice current(plan.gpu);
        return std::make_unique<Implementation>(plan, workspace);
    }
    const cuda::Analyzer& get() const { return analyzer_; }
    void enqueue(const BatchView& batch, const MutableBatchView* output, const AnalysisRequest& request,
                 const Normalization* normalization, void* results, cudaStream_t stream) {
        cuda::validate(batch.first, request, normalization, output ? &output->first : nullptr);
        const CurrentDevice current(gpu_);
        analyzer_.enqueue(batch, output, request, normalization, results, stream);
    }
    void enqueue(const cuda::Views& views, const AnalysisRequest& request, const Normalization* normalization,
                 void* results, cudaStream_t stream) {
        if (views.count < 0) throw InvalidArgument("a list of " + std::to_string(views.count) + " images");
        for (std::int64_t i = 0; i < views.count; ++i)
            cuda::validate(views.images[i], request, normalization, views.output(i));
        const CurrentDevice current(gpu_);
        analyzer_.enqueue(views, request, normalization, results, stream);
    }

  private:
    int gpu_;
    cuda::Analyzer analyzer_;
};

std::size_t StreamAnalyzer::workspace_bytes(const StreamPlan& plan) {
    cuda::validate(plan);
    const std::string why = cuda::why_unavailable(plan.gpu);
    if (!why.empty()) throw EngineUnavailable("stream analyser: " + why);
    return cuda::workspace_bytes(plan, cuda::launch_on(plan));
}

StreamAnalyzer::StreamAnalyzer(const StreamPlan& plan, void* workspace)
    : implementation_(Implementation::make(plan, workspace)) {}
StreamAnalyzer::~StreamAnalyzer() = default;
StreamAnalyzer::StreamAnalyzer(StreamAnalyzer&&) noexcept = default;
StreamAnalyzer& StreamAnalyzer::operator=(StreamAnalyzer&&) noexcept = default;

const StreamPlan& StreamAnalyzer::plan() const {
    return implementation_->get().plan();
}
ResultLayout StreamAnalyzer::layout(const AnalysisRequest& request, const Normalization* normalization) const {
    return implementation_->get().layout(request, normalization);
}

void StreamAnalyzer::enqueue(const ImageView& image, const AnalysisRequest& request, void* results,
                             cudaStream_t stream) {
    enqueue(&image, 1, request, results, stream);
}
void StreamAnalyzer::enqueue(const BatchView& batch, const AnalysisRequest& request, void* results,
                             cudaStream_t stream) {
    implementation_->enqueue(batch, nullptr, request, nullptr, results, stream);
}
void StreamAnalyzer::enqueue(const ImageView* images, std::int64_t count, const AnalysisRequest& request, void* results,
                             cudaStream_t stream) {
    implementation_->enqueue(cuda::Views{images, nullptr, count}, request, nullptr, results, stream);
}
void StreamAnalyzer::enqueue_normalized(const ImageView& image, const MutableImageView& output,
                                        const AnalysisRequest& request, const Normalization& normalization,
                                        void* results, cudaStream_t stream) {
    enqueue_normalized(&image, &output, 1, request, normalization, results, stream);
}
void StreamAnalyzer::enqueue_normalized(const BatchView& batch, const MutableBatchView& output,
                                        const AnalysisRequest& request, const Normalization& normalization,
                                        void* results, cudaStream_t stream) {
    implementation_->enqueue(batch, &output, request, &normalization, results, stream);
}
void StreamAnalyzer::enqueue_normalized(const ImageView* images, const MutableImageView* outputs, std::int64_t count,
                                        const AnalysisRequest& request, const Normalization& normalization,
                                        void* results, cudaStream_t stream) {
    implementation_->enqueue(cuda::Views{images, outputs, count}, request, &normalization, results, stream);
}

PinnedResults::PinnedResults(const ResultLayout& layout, std::int64_t images) : bytes_(layout.bytes), images_(images) {
    if (images < 1) throw InvalidArgument("results of " + std::to_string(images) + " images");
    GPUHIST_CUDA(
        cudaHostAlloc(&host_, bytes_ * static_cast<std::size_t>(images), cudaHostAllocMapped | cudaHostAllocPortable));
    try {
        GPUHIST_CUDA(cudaHostGetDevicePointer(&device_, host_, 0));
    } catch (...) {
        cuda::ignore(cudaFreeHost(host_));
        throw;
    }
    clear();
}
PinnedResults::~PinnedResults() {
    if (host_) cuda::ignore(cudaFreeHost(host_));
}
PinnedResults::PinnedResults(PinnedResults&& other) noexcept
    : host_(std::exchange(other.host_, nullptr)),
      device_(std::exchange(other.device_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      images_(std::exchange(other.images_, 0)) {}
PinnedResults& PinnedResults::operator=(PinnedResults&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(device_, other.device_);
    std::swap(bytes_, other.bytes_);
    std::swap(images_, other.images_);
    return *this;
}

}  // namespace gpuhist
