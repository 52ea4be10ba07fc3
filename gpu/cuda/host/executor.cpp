// Executor on the GPU: moves the pixels there where they are not, has them analyzed, fetches the results.

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/channels.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/host/classifier.hpp"
#include "cuda/host/copier.hpp"
#include "cuda/host/measure_analyzer.hpp"
#include "cuda/host/sorted_analysis.hpp"
#include "cuda/pixels/parts.hpp"
#include "gpuhist/error.hpp"
#include "plan/executor.hpp"
#include "plan/result.hpp"
#include "rules/rules.hpp"

namespace gpuhist::cuda {
namespace {

bool is_sorted(const Job& job) {
    return traits_of(job.image.depth).counting == Counting::sorted;
}

/// View of an image of the same kind, without gaps between rows.
MutableImageView packed_at(void* data, Memory memory, const ImageView& like) {
    return {data, like.width, like.height, like.channels, like.depth, like.packed_row_bytes(), like.order, memory};
}

/// Copies rows: within the host's memory at once, else as work of a stream.
void copy(const MutableImageView& to, const ImageView& from, cudaStream_t stream) {
    const auto bytes = static_cast<std::size_t>(from.packed_row_bytes());
    if (to.memory == from.memory) {
        for (std::int64_t row = 0; row < from.height; ++row)
            std::memcpy(static_cast<char*>(to.data) + row * to.row_bytes,
                        static_cast<const char*>(from.data) + row * from.row_bytes, bytes);
        return;
    }
    const auto pitch = [&](const ImageView& view) {  // of a single row row_bytes says nothing
        return view.height == 1 ? bytes : static_cast<std::size_t>(view.row_bytes);
    };
    GPUHIST_CUDA(
        cudaMemcpy2DAsync(to.data, pitch(to), from.data, pitch(from), bytes, static_cast<std::size_t>(from.height),
                          to.memory == Memory::host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, stream));
}

/// Mask of an image, as an image of its own.
ImageView mask_of(const ImageView& image) {
    return {image.mask, image.width, image.height, 1, Depth::u8, image.mask_row_bytes, ChannelOrder::bgr, image.memory};
}

/// Image in the memory that kernels read: itself, or its copy in `memory`, with its mask, made by work on a stream.
ImageView on_device(const ImageView& image, DeviceBuffer& memory, cudaStream_t stream) {
    if (image.memory == Memory::device) return image;
    char* const pixels = memory.reserve(upload_bytes(image));
    ImageView view = packed_at(pixels, Memory::device, image);
    copy(packed_at(pixels, Memory::device, image), image, stream);
    if (!image.mask) return view;
    char* const mask = pixels + place_after(packed_bytes(image));
    copy(packed_at(mask, Memory::device, mask_of(image)), mask_of(image), stream);
    view.mask = reinterpret_cast<const std::uint8_t*>(mask);
    view.mask_row_bytes = image.width;
    return view;
}

/// Maker of parts in device memory: all of an image's at once.
class DeviceParts final : public plan::PartMaker {
  public:
    explicit DeviceParts(int gpu) : gpu_(gpu) {}

    ImageView take(const ImageView& image) override {
        const CurrentDevice current(gpu_);
        if (!stream_) stream_.emplace();
        image_ = on_device(image, pixels_, *stream_);
        image_.samples = image.samples;
        colors_ = core::first_band(image_);
        const std::size_t sample = sample_bytes(image.depth), pixels = static_cast<std::size_t>(image.pixels());
        plane_bytes_ = place_after(pixels * sample);
        planes_at_ = place_after(pixels * sample * static_cast<std::size_t>(colors_));
        parts_.reserve(planes_at_ + plane_bytes_ * static_cast<std::size_t>(image.channels - colors_));
        launch_parts(image_of(image_), image_.channels, static_cast<int>(sample), colors_, parts_.data(),
                     parts_.data() + planes_at_, static_cast<std::int64_t>(plane_bytes_), *stream_);
        GPUHIST_CUDA(cudaStreamSynchronize(*stream_));  // the engine has another stream
        return image_;
    }
    ImageView part(int first, int channels) override {
        ImageView view = image_;
        view.channels = channels;
        view.samples = Samples::color;
        view.data = first == 0 && colors_ > 0
                        ? parts_.data()
                        : parts_.data() + planes_at_ + static_cast<std::size_t>(first - colors_) * plane_bytes_;
        view.row_bytes = view.packed_row_bytes();
        return view;
    }

  private:
    const int gpu_;
    std::optional<Stream> stream_;
    DeviceBuffer pixels_, parts_;
    ImageView image_;
    int colors_ = 0;
    std::size_t planes_at_ = 0, plane_bytes_ = 0;
};

class CudaExecutor final : public plan::Executor {
  public:
    explicit CudaExecutor(int gpu)
        : gpu_(gpu), measures_(gpu), classifier_(make_classifier(gpu)), parts_(gpu), copier_(make_copier(gpu)) {}

    const plan::Abilities& abilities() const override { return plan::cuda_abilities; }

    void analyze(const plan::Pass& pass, const ImageView& pixels, Analysis& result) override {
        if (pass.accumulator == plan::Accumulator::measures) return measure(pixels, pass.request.measures, result);
        Job job{pixels, pass.request, {}, {}, &result, {}};
        if (is_sorted(job)) return sort(job);
        Job* const one = &job;
        Normalization ranks;
        ranks.mode = NormalizeMode::percentile;
        if (pass.stretch) {
            ranks.low = pass.stretch->low;
            ranks.high = pass.stretch->high;
        }
        launch({&one, 1}, pass.stretch ? &ranks : nullptr);
    }
    ImageView bring(const ImageView& pixels) override;
    std::unique_ptr<StripAnalysis> begin(const plan::Pass&, const ImageView&, Analysis&) override { return nullptr; }
    void run(Job* jobs, std::size_t count) override;
    plan::Classifier& classifier() override { return *classifier_; }
    plan::PartMaker& parts() override { return parts_; }
    plan::Copier* copier() override { return copier_.get(); }

  private:
    void sort(const Job& job);
    void measure(const ImageView& image, const Measures& measures, Analysis& result);
    void do_batch(std::span<Job* const> jobs);
    void launch(std::span<Job* const> jobs, const Normalization* ranks = nullptr);
    Analyzer& analyzer_for(const ImageView& image, const AnalysisRequest& request);

    const int gpu_;
    Stream stream_;
    std::map<std::pair<Depth, int>, Analyzer> analyzers_;  ///< one for each type of image met so far
    DeviceBuffer pixels_, results_;
    PinnedBuffer packed_, fetched_;
    SortedAnalyzer sorted_;
    MeasureAnalyzer measures_;
    const std::unique_ptr<plan::Classifier> classifier_;
    DeviceParts parts_;
    const std::unique_ptr<plan::Copier> copier_;
    std::vector<ImageView> sources_;
    std::vector<MutableImageView> targets_;
};

Analyzer& CudaExecutor::analyzer_for(const ImageView& image, const AnalysisRequest& request) {
    const std::pair type(image.depth, image.channels);
    StreamPlan plan{image.depth, image.channels, request.bins, true, gpu_};
    if (request.validity) plan.classified_pixels = rules::weighs(request) ? 1 : image.pixels();
    if (const auto at = analyzers_.find(type); at != analyzers_.end()) {
        const StreamPlan& had = at->second.plan();
        if (had.bins >= plan.bins && had.classified_pixels >= plan.classified_pixels) return at->second;
        plan.bins = std::max(plan.bins, had.bins);
        plan.classified_pixels = std::max(plan.classified_pixels, had.classified_pixels);
        analyzers_.erase(at);
    }
    return analyzers_.try_emplace(type, plan).first->second;
}

/// Does jobs that are asked the same. Pixels on the host go up, results and normalized copies come back: of one job
/// from and to the caller's memory, of several by way of pinned memory, in one piece. `ranks`: a normalization whose
/// ranks are found, though no copy of f32 is written. It is left, by an exception too, when no work is under way on
/// memory of the caller's.
void CudaExecutor::launch(std::span<Job* const> jobs, const Normalization* ranks) try {
    const Job& first = *jobs.front();
    const Normalization* normalization = plan::copy_of(first);
    const bool alone = jobs.size() == 1;
    const CurrentDevice current(gpu_);
    Analyzer& analyzer = analyzer_for(first.image, first.request);
    const ResultLayout layout = analyzer.layout(first.request, normalization);

    const std::size_t result_bytes = layout.bytes * jobs.size();
    std::size_t up = 0, down = result_bytes;
    for (const Job* job : jobs) {
        if (job->image.memory != Memory::host) continue;
        up += upload_bytes(job->image);
        if (normalization) down += place_after(packed_bytes(job->output));
    }
    // Room for more, so that batches somewhat larger than those before need no new memory.
    const auto room = [&](std::size_t bytes) {
        return alone ? bytes : std::bit_ceil(std::max(bytes, JobBatch::least_room));
    };
    const std::size_t fetched_bytes = !alone ? down : layout.tables_offset ? layout.tables_offset : layout.bytes;
    const bool fresh = results_.bytes() < room(down);
    char* results = results_.reserve(room(down));
    // Gaps between the parts of results are fetched with them, so they must have been written once.
    if (fresh) GPUHIST_CUDA(cudaMemsetAsync(results, 0, room(down), stream_));
    char* pixels = pixels_.reserve(room(up));
    char* packed = packed_.reserve(alone ? 0 : room(up));
    char* fetched = fetched_.reserve(room(fetched_bytes));

    sources_.clear();
    targets_.clear();
    up = 0;
    down = result_bytes;
    for (const Job* job : jobs) {
        sources_.push_back(job->image);
        targets_.push_back(job->output);
        if (job->image.memory != Memory::host) continue;
        const MutableImageView source = packed_at(pixels + up, Memory::device, job->image);
        copy(alone ? source : packed_at(packed + up, Memory::host, job->image), job->image, stream_);
        sources_.back() = source;
        if (job->image.mask) {
            const std::size_t mask = up + place_after(packed_bytes(source));
            const ImageView from = mask_of(job->image);
            copy(alone ? packed_at(pixels + mask, Memory::device, from) : packed_at(packed + mask, Memory::host, from),
                 from, stream_);
            sources_.back().mask = reinterpret_cast<const std::uint8_t*>(pixels + mask);
            sources_.back().mask_row_bytes = source.width;
        }
        up += upload_bytes(job->image);
        if (!normalization) continue;
        targets_.back() = packed_at(results + down, Memory::device, job->output);
        down += place_after(packed_bytes(job->output));
    }
    if (!alone && up > 0) GPUHIST_CUDA(cudaMemcpyAsync(pixels, packed, up, cudaMemcpyHostToDevice, stream_));
    analyzer.enqueue(
        Views{sources_.data(), normalization ? targets_.data() : nullptr, static_cast<std::int64_t>(jobs.size())},
        first.request, normalization ? normalization : ranks, results, stream_);
    GPUHIST_CUDA(cudaMemcpyAsync(fetched, results, fetched_bytes, cudaMemcpyDeviceToHost, stream_));
    const auto comes_back = [&](const Job& job) { return normalization && job.image.memory == Memory::host; };
    if (alone && comes_back(first)) copy(first.output, targets_.front(), stream_);
    GPUHIST_CUDA(cudaStreamSynchronize(stream_));

    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Job& job = *jobs[i];
        core::read(*reinterpret_cast<const ImageResult*>(fetched + i * layout.bytes), *job.result);
        if (alone || !comes_back(job)) continue;
        const std::ptrdiff_t place = static_cast<const char*>(targets_[i].data) - results;
        copy(job.output, packed_at(fetched + place, Memory::host, job.output), stream_);
    }
} catch (...) {
    ignore(cudaStreamSynchronize(stream_));
    throw;
}

/// Does a job whose samples are sorted; left as `launch` is.
void CudaExecutor::sort(const Job& job) try {
    const CurrentDevice current(gpu_);
    sorted_.analyze(on_device(job.image, pixels_, stream_), job.request, *job.result, stream_);
} catch (...) {
    ignore(cudaStreamSynchronize(stream_));
    throw;
}

/// Finds measures; left as `launch` is.
void CudaExecutor::measure(const ImageView& image, const Measures& measures, Analysis& result) try {
    const CurrentDevice current(gpu_);
    ImageView view = on_device(image, pixels_, stream_);
    view.samples = image.samples;
    measures_.analyze(view, measures, result, stream_);
} catch (...) {
    ignore(cudaStreamSynchronize(stream_));
    throw;
}

/// Brings pixels to the GPU; left as `launch` is.
ImageView CudaExecutor::bring(const ImageView& pixels) try {
    const CurrentDevice current(gpu_);
    ImageView view = on_device(pixels, pixels_, stream_);
    view.samples = pixels.samples;
    GPUHIST_CUDA(cudaStreamSynchronize(stream_));  // parts are made on another stream
    return view;
} catch (...) {
    ignore(cudaStreamSynchronize(stream_));
    throw;
}

void CudaExecutor::do_batch(std::span<Job* const> jobs) {
    try {
        if (is_sorted(*jobs.front()))
            sort(*jobs.front());
        else
            launch(jobs);
    } catch (const std::exception& error) {
        // Where memory is short, one may still fit; a GPU that failed does no other either.
        const bool failed = dynamic_cast<const CudaError*>(&error) && !dynamic_cast<const OutOfMemory*>(&error);
        for (Job* const& job : jobs)
            if (failed || jobs.size() == 1)
                job->error = std::current_exception();
            else
                do_batch({&job, 1});
    }
}

void CudaExecutor::run(Job* jobs, std::size_t count) {
    std::vector<JobBatch> open;
    for (Job* job = jobs; job != jobs + count; ++job) {
        if (job->error) continue;
        if (is_sorted(*job)) {
            do_batch({&job, 1});
            continue;
        }
        const ResultLayout layout = layout_of(job->image.depth, job->image.channels, job->request, plan::copy_of(*job));
        const std::size_t up = upload_bytes(job->image),
                          down = layout.bytes + (job->normalization ? place_after(packed_bytes(job->output)) : 0);
        if (up > static_cast<std::size_t>(Engine::small_image_bytes) || down > JobBatch::most_job_bytes) {
            do_batch({&job, 1});
            continue;
        }
        auto batch = std::find_if(open.begin(), open.end(), [&](const JobBatch& one) { return one.takes(*job); });
        if (batch == open.end()) batch = open.insert(open.end(), JobBatch{});
        batch->jobs.push_back(job);
        batch->up += up;
        batch->down += down;
        if (!batch->full()) continue;
        do_batch(batch->jobs);
        open.erase(batch);
    }
    for (const JobBatch& batch : open) do_batch(batch.jobs);
}

}  // namespace

std::unique_ptr<plan::Executor> make_executor(const EngineOptions& options) {
    require_gpu(plan::cuda_abilities.name, options.gpu);
    const CurrentDevice current(options.gpu);
    return std::make_unique<CudaExecutor>(options.gpu);
}

}  // namespace gpuhist::cuda
