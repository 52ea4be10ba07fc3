#include "engines.hpp"

#include <string>

#include "core/validate.hpp"
#include "cpu/validity.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/stream.hpp"
#include "gpuhist/stream_regions.hpp"

namespace gpuhist {

#ifndef GPUHIST_HAS_CUDA
namespace cuda {
EngineInfo info() {
    return {"cuda", false, "gpuhist was built without CUDA: build it where nvcc is found"};
}
std::vector<GpuInfo> gpus() {
    return {};
}
void* allocate_pinned(std::size_t, int) noexcept {
    return nullptr;
}
void free_pinned(void*) noexcept {}
std::unique_ptr<Engine> make(const EngineOptions&) {
    throw EngineUnavailable("engine cuda: " + info().description);
}
std::unique_ptr<PartMaker> make_parts(int) {
    return nullptr;
}
std::unique_ptr<cpu::Classifier> make_classifier(int) {
    return nullptr;
}
bool copies(Depth) {
    return false;
}
bool masks(Depth) {
    return false;
}
}  // namespace cuda

namespace {
[[noreturn]] void throw_without_cuda() {
    throw EngineUnavailable("stream analyser: " + cuda::info().description);
}
}  // namespace

class StreamAnalyzer::Implementation {};
std::size_t StreamAnalyzer::workspace_bytes(const StreamPlan&) {
    throw_without_cuda();
}
StreamAnalyzer::StreamAnalyzer(const StreamPlan&, void*) {
    throw_without_cuda();
}
StreamAnalyzer::~StreamAnalyzer() = default;
StreamAnalyzer::StreamAnalyzer(StreamAnalyzer&&) noexcept = default;
StreamAnalyzer& StreamAnalyzer::operator=(StreamAnalyzer&&) noexcept = default;
// Members that cannot be called without an analyser.
const StreamPlan& StreamAnalyzer::plan() const {
    throw_without_cuda();
}
ResultLayout StreamAnalyzer::layout(const AnalysisRequest&, const Normalization*) const {
    throw_without_cuda();
}
void StreamAnalyzer::enqueue(const ImageView&, const AnalysisRequest&, void*, cudaStream_t) {
    throw_without_cuda();
}
void StreamAnalyzer::enqueue(const BatchView&, const AnalysisRequest&, void*, cudaStream_t) {
    throw_without_cuda();
}
void StreamAnalyzer::enqueue(const ImageView*, std::int64_t, const AnalysisRequest&, void*, cudaStream_t) {
    throw_without_cuda();
}
void StreamAnalyzer::enqueue_normalized(const ImageView&, const MutableImageView&, const AnalysisRequest&,
                                        const Normalization&, void*, cudaStream_t) {
    throw_without_cuda();
}
void StreamAnalyzer::enqueue_normalized(const BatchView&, const MutableBatchView&, const AnalysisRequest&,
                                        const Normalization&, void*, cudaStream_t) {
    throw_without_cuda();
}
void StreamAnalyzer::enqueue_normalized(const ImageView*, const MutableImageView*, std::int64_t, const AnalysisRequest&,
                                        const Normalization&, void*, cudaStream_t) {
    throw_without_cuda();
}

class StreamRegionAnalyzer::Implementation {};
std::size_t StreamRegionAnalyzer::workspace_bytes(const RegionPlan&) {
    throw_without_cuda();
}
StreamRegionAnalyzer::StreamRegionAnalyzer(const RegionPlan&, void*) {
    throw_without_cuda();
}
StreamRegionAnalyzer::~StreamRegionAnalyzer() = default;
StreamRegionAnalyzer::StreamRegionAnalyzer(StreamRegionAnalyzer&&) noexcept = default;
StreamRegionAnalyzer& StreamRegionAnalyzer::operator=(StreamRegionAnalyzer&&) noexcept = default;
const RegionPlan& StreamRegionAnalyzer::plan() const {
    throw_without_cuda();
}
RegionLayout StreamRegionAnalyzer::layout() const {
    throw_without_cuda();
}
void StreamRegionAnalyzer::enqueue(const ImageView&, const ImageView&, void*, cudaStream_t) {
    throw_without_cuda();
}
void StreamRegionAnalyzer::enqueue(const BatchView&, const BatchView&, void*, cudaStream_t) {
    throw_without_cuda();
}

PinnedResults::PinnedResults(const ResultLayout&, std::int64_t) {
    throw_without_cuda();
}
PinnedResults::~PinnedResults() = default;
PinnedResults::PinnedResults(PinnedResults&&) noexcept = default;
PinnedResults& PinnedResults::operator=(PinnedResults&&) noexcept = default;
#endif

namespace {

/// Strips that are analysed one by one, and their findings merged.
class MergedStrips final : public StripAnalysis {
  public:
    MergedStrips(Engine& engine, const AnalysisRequest& request, Analysis& result)
        : engine_(engine), request_(request), result_(result) {}

    void take(const ImageView& strip) override {
        engine_.analyze(strip, request_, first_ ? result_ : strip_);
        if (!first_) result_ += strip_;
        first_ = false;
    }
    bool end_pass() override { return false; }

  private:
    Engine& engine_;
    const AnalysisRequest request_;
    Analysis& result_;
    Analysis strip_;
    bool first_ = true;
};

}  // namespace

void StripAnalysis::copy(const ImageView&, const MutableImageView&) {
    throw InvalidArgument("copies of strips: none were asked for when the analysis was begun");
}

std::unique_ptr<StripAnalysis> Engine::analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                      Analysis& result, const Normalization*) {
    core::validate_sides(image);
    core::validate(request);
    if (traits_of(image.depth).counting == Counting::bins)
        throw UnsupportedDepth("engine " + std::string(name()) + ": images of " + to_string(image.depth) +
                               " in strips; engine cpu measures them");
    return std::make_unique<MergedStrips>(*this, request, result);
}

void Engine::run(Job* jobs, std::size_t count) {
    for (Job* job = jobs; job != jobs + count; ++job) {
        job->error = nullptr;
        try {
            if (job->normalization)
                normalize(job->image, job->request, *job->normalization, job->output, *job->result);
            else
                analyze(job->image, job->request, *job->result);
        } catch (...) {
            job->error = std::current_exception();
        }
    }
}

std::vector<EngineInfo> engines() {
    return {cuda::info(), cpu::info()};
}

std::vector<GpuInfo> gpus() {
    return cuda::gpus();
}

std::unique_ptr<Engine> make_engine(std::string_view name, const EngineOptions& options) {
    if (name == "cpu" || (name == "auto" && !cuda::info().available)) {
        const auto all = [](Depth) { return true; };
        auto engine = with_copy_depths(cpu::make(options), all, options);
        return with_validity(with_parts(std::move(engine), cpu::make_parts()), {all, true}, nullptr, options);
    }
    if (name == "cuda" || name == "auto") {
        auto engine = with_copy_depths(cuda::make(options), cuda::copies, options);
        return with_validity(with_parts(std::move(engine), cuda::make_parts(options.gpu)), {cuda::masks, false},
                             cuda::make_classifier(options.gpu), options);
    }
    throw InvalidArgument("engine '" + std::string(name) + "': there are auto, cuda and cpu");
}

}  // namespace gpuhist
