#include "stream.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#ifdef GPUHIST_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

#include "fork.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::python {
namespace {

/// Analyzer, and memory for one result, that serve one call at a time.
struct Lane {
    StreamPlan plan;
    StreamAnalyzer analyzer;
    std::optional<PinnedResults> result;
    std::size_t bytes = 0;  ///< of it
};

/// Verdict on a plan: whether an analyzer that was planned as `made` serves it.
bool serves(const StreamPlan& made, const StreamPlan& plan) {
    return std::tie(made.depth, made.channels, made.bins, made.normalize, made.gpu) ==
               std::tie(plan.depth, plan.channels, plan.bins, plan.normalize, plan.gpu) &&
           made.classified_pixels >= plan.classified_pixels && made.planar_pixels >= plan.planar_pixels;
}

/// Lanes that nobody uses at present. An analyzer loads kernels and takes memory, so that it is kept.
class Lanes {
  public:
    static Lanes& all() {
        static Lanes* const lanes = new Lanes;  // GPUs may be gone before static objects are
        return *lanes;
    }
    std::unique_ptr<Lane> take(const StreamPlan& plan) {
        {
            const std::lock_guard lock(mutex_);
            const auto found =
                std::find_if(idle_.begin(), idle_.end(), [&](const auto& lane) { return serves(lane->plan, plan); });
            if (found != idle_.end()) {
                std::unique_ptr<Lane> lane = std::move(*found);
                idle_.erase(found);
                return lane;
            }
        }
        return std::make_unique<Lane>(Lane{plan, StreamAnalyzer(plan), std::nullopt, 0});
    }
    void give_back(std::unique_ptr<Lane> lane) {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(lane));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Lane>> idle_;
};

#ifdef GPUHIST_HAS_CUDA
void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) throw CudaError(std::string(what) + ": " + cudaGetErrorString(status));
}

/// Waits for the stream's work alone. The legacy default stream is that of the current GPU, which is the same after it.
void wait_for(int gpu, std::uintptr_t stream) {
    int before = 0;
    check(cudaGetDevice(&before), "cudaGetDevice");
    check(cudaSetDevice(gpu), "cudaSetDevice");
    const cudaError_t status = cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(stream));
    check(cudaSetDevice(before), "cudaSetDevice");
    check(status, "cudaStreamSynchronize");
}
#else
void wait_for(int, std::uintptr_t) {}  // there is no analyzer without CUDA
#endif

std::shared_ptr<Measurement> measurement_of(Analysis analysis, const Asked& asked, std::int64_t width,
                                            std::int64_t height) {
    auto result = std::make_shared<Measurement>();
    result->analysis = std::move(analysis);
    if (asked.white) result->analysis.white = *asked.white;
    result->info.width = width;
    result->info.height = height;
    result->info.depth = result->analysis.depth;
    result->info.white = result->analysis.white;
    result->percentiles = asked.percentiles;
    result->clip_sigma = asked.statistics().clip_sigma;
    result->histogram = asked.histogram;
    result->finish();
    return result;
}

}  // namespace

std::shared_ptr<Measurement> measure_on_stream(const ImageView& image, std::int64_t plane_bytes, const Asked& asked,
                                               std::uintptr_t stream) {
    if (asked.detail == AskedDetail::values)
        throw InvalidArgument(
            "detail=\"values\" counts the values of floats on the host: copy the image there, as x.cpu() does");
    if (asked.robust && traits_of(image.depth).counting == Counting::bins)
        throw InvalidArgument(std::string("robust: the values of ") + to_string(image.depth) +
                              " are counted on the host: copy the image there, as x.cpu() does");
    check_cuda_process();
    const Work work;
    const AnalysisRequest request = asked.request(image.depth);
    StreamPlan plan;
    plan.depth = image.depth;
    plan.channels = image.channels;
    plan.bins = traits_of(image.depth).counting == Counting::bins ? request.bins : StreamPlan{}.bins;
    plan.gpu = asked.gpu;
    if (request.validity) plan.classified_pixels = image.pixels();
    if (plane_bytes > 0) plan.planar_pixels = image.pixels();
    std::unique_ptr<Lane> lane = Lanes::all().take(plan);
    const ResultLayout layout = lane->analyzer.layout(request);
    if (!lane->result || lane->bytes < layout.bytes) {
        lane->result.emplace(layout);
        lane->bytes = layout.bytes;
    }
    lane->result->clear();
    const auto on_stream = reinterpret_cast<cudaStream_t>(stream);
    if (plane_bytes > 0)
        lane->analyzer.enqueue(PlanarBatchView{image, plane_bytes}, request, lane->result->device(), on_stream);
    else
        lane->analyzer.enqueue(image, request, lane->result->device(), on_stream);
    wait_for(asked.gpu, stream);
    auto measurement = measurement_of(read_result(&(*lane->result)[0]), asked, image.width, image.height);
    Lanes::all().give_back(std::move(lane));
    return measurement;
}

void normalize_behind_stream(const ImageView& image, const MutableImageView& output, const Normalization& normalization,
                             const Asked& asked, std::uintptr_t stream) {
    check_cuda_process();
    wait_for(asked.gpu, stream);
    normalize(image, output, normalization, asked);
}

std::shared_ptr<Measurement> measurement_of(const std::string& result, const Asked& asked, std::int64_t width,
                                            std::int64_t height) {
    ImageResult head;
    if (result.size() < sizeof head)
        throw InvalidArgument("a result has at least " + std::to_string(sizeof head) + " bytes");
    std::vector<std::uint64_t> aligned((result.size() + 7) / 8);
    std::copy(result.begin(), result.end(), reinterpret_cast<char*>(aligned.data()));
    return measurement_of(read_result(aligned.data()), asked, width, height);
}

}  // namespace gpuhist::python
