// Stream analyzer: the stream-level API over the analyzer. It validates the arguments of callers.

#include "gpuhist/stream.hpp"

#include <string>
#include <utility>

#include "core/validate.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/host/device.hpp"
#include "cuda/pixels/color_space.hpp"
#include "gpuhist/error.hpp"
#include "plan/refusal.hpp"

namespace gpuhist {
namespace {

void require(const StreamPlan& plan) {
    plan::refuse_plan(plan.channels, plan.depth, plan.normalize, plan::stream_abilities);
    AnalysisRequest request;
    request.bins = plan.bins;
    core::validate(request);
    cuda::require_gpu(plan::stream_abilities.name, plan.gpu);
}

void validate(const cuda::Views& views, const AnalysisRequest& request, const Normalization* copy) {
    if (views.count < 0) throw InvalidArgument("a list of " + std::to_string(views.count) + " images");
    for (std::int64_t i = 0; i < views.count; ++i) {
        const ImageView& image = views.images[i];
        plan::refuse(image, request, copy, plan::Rows::whole, plan::stream_abilities);
        if (copy) core::validate_output(image, normalized_depth(image.depth, *copy), views.outputs[i]);
    }
}

}  // namespace

class StreamAnalyzer::Implementation : public cuda::Analyzer {
  public:
    using Analyzer::Analyzer;

    void enqueue(const BatchView& batch, const MutableBatchView* output, const AnalysisRequest& request,
                 const Normalization* normalization, void* results, cudaStream_t stream) {
        validate({&batch.first, output ? &output->first : nullptr, 1}, request, normalization);
        const cuda::CurrentDevice current(plan().gpu);
        Analyzer::enqueue(batch, output, request, normalization, results, stream);
    }
    void enqueue(const PlanarBatchView& batch, const AnalysisRequest& request, void* results, cudaStream_t stream) {
        ImageView packed = batch.first;  // as it is interleaved
        packed.row_bytes = packed.packed_row_bytes();
        validate({&packed, nullptr, 1}, request, nullptr);
        const cuda::CurrentDevice current(plan().gpu);
        Analyzer::enqueue(batch, request, results, stream);
    }
    void enqueue(const cuda::Views& views, const AnalysisRequest& request, const Normalization* normalization,
                 void* results, cudaStream_t stream) {
        validate(views, request, normalization);
        const cuda::CurrentDevice current(plan().gpu);
        Analyzer::enqueue(views, request, normalization, results, stream);
    }
};

bool StreamAnalyzer::writes(Depth image, const Normalization& normalization, bool excludes) {
    return plan::stream_abilities.writes(image, normalization) &&
           !(excludes && traits_of(normalization.mode).kind == NormalizeKind::place);
}

std::size_t StreamAnalyzer::workspace_bytes(const StreamPlan& plan) {
    require(plan);
    return cuda::workspace_bytes(plan, cuda::launch_on(plan.gpu));
}

StreamAnalyzer::StreamAnalyzer(const StreamPlan& plan, void* workspace) {
    require(plan);
    const cuda::CurrentDevice current(plan.gpu);
    implementation_ = std::make_unique<Implementation>(plan, workspace);
    implementation_->load_kernels();
}
StreamAnalyzer::~StreamAnalyzer() = default;
StreamAnalyzer::StreamAnalyzer(StreamAnalyzer&&) noexcept = default;
StreamAnalyzer& StreamAnalyzer::operator=(StreamAnalyzer&&) noexcept = default;

const StreamPlan& StreamAnalyzer::plan() const {
    return implementation_->plan();
}
ResultLayout StreamAnalyzer::layout(const AnalysisRequest& request, const Normalization* normalization) const {
    return implementation_->layout(request, normalization);
}

void StreamAnalyzer::enqueue(const ImageView& image, const AnalysisRequest& request, void* results,
                             cudaStream_t stream) {
    enqueue(&image, 1, request, results, stream);
}
void StreamAnalyzer::enqueue(const BatchView& batch, const AnalysisRequest& request, void* results,
                             cudaStream_t stream) {
    implementation_->enqueue(batch, nullptr, request, nullptr, results, stream);
}
void StreamAnalyzer::enqueue(const PlanarBatchView& batch, const AnalysisRequest& request, void* results,
                             cudaStream_t stream) {
    implementation_->enqueue(batch, request, results, stream);
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
PinnedResults::PinnedResults(PinnedResults&& other) noexcept {
    *this = std::move(other);
}
PinnedResults& PinnedResults::operator=(PinnedResults&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(device_, other.device_);
    std::swap(bytes_, other.bytes_);
    std::swap(images_, other.images_);
    return *this;
}

void enqueue_convert_colors(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                            const MutableImageView& output, int gpu, cudaStream_t stream) {
    core::validate_conversion(image, encoding, space, output, Memory::device);
    cuda::require_gpu("conversion of colors", gpu);
    const cuda::CurrentDevice current(gpu);
    const cuda::Launch launch{stream, gpu, cuda::attribute(cudaDevAttrMultiProcessorCount, gpu)};
    cuda::launch_color_space(image, encoding, space, output, launch);
}

}  // namespace gpuhist
