#include "images.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "fork.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/frequency_table.hpp"

namespace gpuhist::python {

AnalysisRequest Asked::request(Depth depth) const {
    if (histogram.bins == 0 && traits_of(depth).floating)
        throw InvalidArgument(std::string("bins=\"full\" is one bin per value, which ") + to_string(depth) +
                              " does not have: give a number of bins");
    AnalysisRequest request;
    if (histogram.bins != 0) request.bins = histogram.bins;
    request.range = histogram.range;
    request.percentiles = percentiles;
    request.detail = detail == AskedDetail::brief ? Detail::brief : Detail::full;
    return request;
}

void check_cuda_process() {
    static std::atomic<pid_t> first{0};
    pid_t none = 0;
    if (!first.compare_exchange_strong(none, getpid()) && none != getpid())
        throw CudaError(
            "CUDA does not work in a process that was forked from one that used it: start processes by the method "
            "\"spawn\" or \"forkserver\" of multiprocessing");
}

Engines& Engines::all() {
    static Engines* const engines = new Engines;  // GPUs may be gone before static objects are
    return *engines;
}

Engines::Lease::Lease(Engines& engines, std::string name, int gpu)
    : engines_(engines), name_(name == "auto" ? "cpu" : std::move(name)), gpu_(gpu) {
    if (name_ == "cuda") check_cuda_process();
    {
        const std::lock_guard lock(engines_.mutex_);
        auto& idle = engines_.idle_;
        const auto found = std::find_if(idle.begin(), idle.end(),
                                        [&](const Idle& one) { return one.name == name_ && one.gpu == gpu_; });
        if (found != idle.end()) {
            engine_ = std::move(found->engine);
            idle.erase(found);
            return;
        }
    }
    EngineOptions options;
    options.gpu = gpu_;
    engine_ = make_engine(name_, options);
}

Engines::Lease::~Lease() {
    if (!keep_) return;
    const std::lock_guard lock(engines_.mutex_);
    engines_.idle_.push_back({std::move(name_), gpu_, std::move(engine_)});
}

void Engines::forget_threads() {
    std::vector<Idle> gone;
    const std::lock_guard lock(mutex_);
    const auto on_gpu = std::partition(idle_.begin(), idle_.end(), [](const Idle& one) { return one.name != "cpu"; });
    std::move(on_gpu, idle_.end(), std::back_inserter(gone));
    idle_.erase(on_gpu, idle_.end());
}

std::shared_ptr<Measurement> measure(const ImageView& image, const Asked& asked, io::ImageInfo info) {
    auto result = std::make_shared<Measurement>();
    const AnalysisRequest request = asked.request(image.depth);
    const Work work;
    Engines::Lease engine(Engines::all(), asked.engine, asked.gpu);
    (*engine).analyze(image, request, result->analysis);
    engine.keep();
    name_channels(result->analysis, image.samples);
    if (asked.white) result->analysis.white = *asked.white;
    if (asked.detail == AskedDetail::values && traits_of(image.depth).counting == Counting::bins)
        result->values = count_frequencies(image, nullptr, request, image.samples);
    result->info = std::move(info);
    result->info.width = image.width;
    result->info.height = image.height;
    result->info.depth = image.depth;
    result->info.white = result->analysis.white;
    result->percentiles = asked.percentiles;
    result->histogram = asked.histogram;
    result->finish();
    return result;
}

std::shared_ptr<Measurement> measure(const io::Image& image, const std::string& path, const Asked& asked) {
    Asked with_white = asked;
    if (!asked.white) with_white.white = image.white;
    io::ImageInfo info;
    info.path = path;
    info.alpha = to_string(image.alpha);
    info.damage = to_string(image.damage);
    info.bands = image.bands;
    info.pages = image.pages;
    return measure(io::view(image), with_white, std::move(info));
}

void normalize(const ImageView& image, const MutableImageView& output, const Normalization& normalization,
               const std::string& engine, int gpu) {
    Normalization mode = normalization;
    if (image.samples == Samples::gray_alpha) mode.joint = false;  // gray is all that there is
    Analysis analysis;
    const Work work;
    Engines::Lease lease(Engines::all(), engine, gpu);
    (*lease).normalize(image, {}, mode, output, analysis);
    lease.keep();
}

}  // namespace gpuhist::python
