// Answers of a build without CUDA.
#include <string>

#include "gpuhist/error.hpp"
#include "gpuhist/jpeg.hpp"
#include "gpuhist/stream.hpp"
#include "gpuhist/stream_regions.hpp"
#include "plan/executor.hpp"

namespace gpuhist {

namespace cuda {
EngineInfo info() {
    return {"cuda", false, "gpuhist was built without CUDA: build it on a machine with nvcc"};
}
std::vector<GpuInfo> gpus() {
    return {};
}
void* allocate_pinned(std::size_t, int) noexcept {
    return nullptr;
}
void free_pinned(void*) noexcept {}
std::unique_ptr<plan::Executor> make_executor(const EngineOptions&) {
    throw EngineUnavailable("engine cuda: " + info().description);
}
}  // namespace cuda

namespace {
[[noreturn]] void throw_without_cuda() {
    throw EngineUnavailable("stream analyzer: " + cuda::info().description);
}
}  // namespace

void enqueue_convert_colors(const ImageView&, const ColorEncoding&, ColorSpace, const MutableImageView&, int,
                            cudaStream_t) {
    throw_without_cuda();
}
class StreamAnalyzer::Implementation {};
std::size_t StreamAnalyzer::workspace_bytes(const StreamPlan&) {
    throw_without_cuda();
}
bool StreamAnalyzer::writes(Depth, const Normalization&, bool) {
    return false;
}
StreamAnalyzer::StreamAnalyzer(const StreamPlan&, void*) {
    throw_without_cuda();
}
StreamAnalyzer::~StreamAnalyzer() = default;
StreamAnalyzer::StreamAnalyzer(StreamAnalyzer&&) noexcept = default;
StreamAnalyzer& StreamAnalyzer::operator=(StreamAnalyzer&&) noexcept = default;
// Members that cannot be called without an analyzer.
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
void StreamAnalyzer::enqueue(const PlanarBatchView&, const AnalysisRequest&, void*, cudaStream_t) {
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

class JpegDecoder::Implementation {};
JpegDecoder::JpegDecoder(const JpegDecoderOptions&) {
    throw EngineUnavailable("JPEG decoder: " + cuda::info().description);
}
JpegDecoder::~JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;
void JpegDecoder::enqueue(const JpegFile*, std::int64_t, cudaStream_t) {
    throw_without_cuda();
}
std::int64_t JpegDecoder::size() const {
    throw_without_cuda();
}
const JpegImage& JpegDecoder::operator[](std::int64_t) const {
    throw_without_cuda();
}
void JpegDecoder::finish() {
    throw_without_cuda();
}
void JpegDecoder::decode(const JpegFile*, std::int64_t) {
    throw_without_cuda();
}
void JpegDecoder::copy(std::int64_t, const MutableImageView&) {
    throw_without_cuda();
}

}  // namespace gpuhist
