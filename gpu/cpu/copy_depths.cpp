// Copies that an engine does not make itself: those of other depths than the modes write, and of images of some depths.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/validate.hpp"
#include "cpu/normalize.hpp"
#include "engines.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {
namespace {

bool has_other_depth(const Job& job) {
    return job.normalization && normalized_depth(job.image.depth, *job.normalization) !=
                                    normalized_depth(job.image.depth, job.normalization->mode);
}

std::size_t samples_of(const Job& job) {
    return static_cast<std::size_t>(job.image.pixels() * job.image.channels);
}

void validate(const Job& job) {
    core::validate(job.image, job.request);
    core::validate(*job.normalization);
    const Depth depth = normalized_depth(job.image.depth, *job.normalization);
    core::validate_output(job.image, depth, job.output);
    if (job.image.memory != Memory::host)
        throw InvalidArgument(std::string("copy of an image of ") + to_string(job.image.depth) + " in depth " +
                              to_string(depth) + ": it is made in host memory, and the image lies in device memory");
}

/// Strips of an image whose values are counted one by one or lie in bins, of which there are copies afterwards.
class CopiedStrips final : public StripAnalysis {
  public:
    CopiedStrips(cpu::Workers& workers, std::unique_ptr<StripAnalysis> analysis, const ImageView& image,
                 const AnalysisRequest& request, const Normalization& normalization, Analysis& result)
        : workers_(workers),
          analysis_(std::move(analysis)),
          depth_(normalized_depth(image.depth, normalization)),
          request_(request),
          normalization_(normalization),
          result_(result) {
        const Counting counting = traits_of(image.depth).counting;
        if (counting == Counting::sorted)
            throw InvalidArgument(std::string("copies of strips: none of ") + to_string(image.depth));
        if (counting == Counting::bins && traits_of(normalization.mode).needs == NormalizeNeeds::counts)
            throw InvalidArgument(std::string("copies of strips: of ") + to_string(image.depth) + " none by " +
                                  to_string(normalization.mode));
    }

    void take(const ImageView& strip) override { analysis_->take(strip); }
    bool end_pass() override {
        if (analysis_->end_pass()) return true;
        found_ = result_;
        if (traits_of(found_.depth).counting == Counting::values) cpu::leave_out_luma(request_, result_);
        return false;
    }
    void copy(const ImageView& strip, const MutableImageView& output) override {
        core::validate(strip, request_);
        core::validate_output(strip, depth_, output);
        if (traits_of(strip.depth).counting == Counting::values)
            return normalizer_.apply_counted(workers_, strip, found_, normalization_, output);
        MutableImageView floats = output;
        if (depth_ != Depth::f32) {
            floats_.resize(static_cast<std::size_t>(strip.pixels() * strip.channels));
            floats.data = floats_.data();
            floats.depth = Depth::f32;
            floats.row_bytes = floats.packed_row_bytes();
        }
        normalizer_.apply_floats(workers_, strip, strip, found_, normalization_, counter_, floats);
        if (depth_ != Depth::f32) cpu::convert_floats(workers_, floats, output);
    }

  private:
    cpu::Workers& workers_;
    const std::unique_ptr<StripAnalysis> analysis_;
    const Depth depth_;
    const AnalysisRequest request_;
    const Normalization normalization_;
    Analysis& result_;
    Analysis found_;  ///< as the engine names it
    cpu::Normalizer normalizer_;
    cpu::FloatAnalyzer counter_;  ///< that is not asked
    std::vector<float> floats_;   ///< copies in f32
};

class CopyDepths final : public Engine {
  public:
    CopyDepths(std::unique_ptr<Engine> engine, bool (*copies)(Depth), int threads)
        : engine_(std::move(engine)), copies_(copies), workers_(threads) {}

    std::string_view name() const override { return engine_->name(); }

    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        engine_->analyze(image, request, result);
    }

    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        Job job{image, request, normalization, output, &result, {}};
        if (!made_here(job)) return engine_->normalize(image, request, normalization, output, result);
        run_some(&job, 1);
        if (job.error) std::rethrow_exception(job.error);
    }

    void run(Job* jobs, std::size_t count) override {
        if (std::none_of(jobs, jobs + count, [&](const Job& job) { return made_here(job); }))
            return engine_->run(jobs, count);
        for (std::size_t end = 0, begin = 0; begin < count; begin = end) {
            for (std::size_t floats = 0; end < count && floats < most_floats; ++end)
                if (needs_floats(jobs[end])) floats += samples_of(jobs[end]);
            run_some(jobs + begin, end - begin);
        }
    }

    std::unique_ptr<StripAnalysis> analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                  Analysis& result, const Normalization* copies) override {
        if (!copies) return engine_->analyze_strips(image, request, result, nullptr);
        core::validate(*copies);
        AnalysisRequest needed = request;
        needed.luma_histogram = cpu::needs_luma(request, *copies);
        return std::make_unique<CopiedStrips>(workers_, engine_->analyze_strips(image, needed, result, copies), image,
                                              request, *copies, result);
    }

  private:
    /// Samples of copies in f32 beyond which no further job joins the others.
    static constexpr std::size_t most_floats = std::size_t{1} << 24;

    /// Has the engine do jobs that it can: of f32 the copy in f32, of others the analysis, from which all follows; and
    /// finishes them.
    void run_some(Job* jobs, std::size_t count) {
        std::vector<Job> able;
        std::vector<Job*> asked;
        std::size_t floats = 0;
        for (Job* job = jobs; job != jobs + count; ++job) {
            try {
                job->error = nullptr;
                if (made_here(*job)) validate(*job);
                able.push_back(made_here(*job) ? able_job(*job) : *job);
                asked.push_back(job);
                if (needs_floats(*job)) floats += samples_of(*job);
            } catch (const InvalidArgument&) {
                job->error = std::current_exception();
            }
        }
        if (floats > floats_capacity_) {
            floats_.reset();
            floats_capacity_ = 0;
            floats_.reset(new float[floats]);
            floats_capacity_ = floats;
        }
        float* copy = floats_.get();
        for (std::size_t i = 0; i < able.size(); ++i) {
            if (!needs_floats(*asked[i])) continue;
            able[i].output.data = copy;
            copy += samples_of(*asked[i]);
        }
        engine_->run(able.data(), able.size());
        for (std::size_t i = 0; i < able.size(); ++i) {
            Job& job = *asked[i];
            job.error = able[i].error;
            if (job.error || !made_here(job)) continue;
            try {
                if (needs_floats(job)) {
                    cpu::convert_floats(workers_, able[i].output, job.output);
                } else {
                    const bool sorted = traits_of(job.image.depth).counting == Counting::sorted;
                    const auto apply = sorted ? &cpu::Normalizer::apply_sorted : &cpu::Normalizer::apply_counted;
                    (normalizer_.*apply)(workers_, job.image, *job.result, *job.normalization, job.output);
                    cpu::leave_out_luma(job.request, *job.result);
                }
            } catch (...) {
                job.error = std::current_exception();
            }
        }
    }

    /// Verdict on a job: whether its copy is not the engine's to make.
    bool made_here(const Job& job) const {
        return has_other_depth(job) || (job.normalization && !copies_(job.image.depth));
    }
    bool needs_floats(const Job& job) const {
        return made_here(job) && traits_of(job.image.depth).counting == Counting::bins;
    }

    Job able_job(const Job& job) const {
        Job able = job;
        if (needs_floats(job)) {
            able.normalization->depth.reset();
            able.output.depth = job.image.depth;
            able.output.row_bytes = able.output.packed_row_bytes();
        } else {
            able.request.luma_histogram = cpu::needs_luma(job.request, *job.normalization);
            able.normalization.reset();
        }
        return able;
    }

    const std::unique_ptr<Engine> engine_;
    bool (*const copies_)(Depth);
    cpu::Workers workers_;
    cpu::Normalizer normalizer_;
    std::unique_ptr<float[]> floats_;  ///< copies in f32
    std::size_t floats_capacity_ = 0;
};

}  // namespace

std::unique_ptr<Engine> with_copy_depths(std::unique_ptr<Engine> engine, bool (*copies)(Depth),
                                         const EngineOptions& options) {
    return std::make_unique<CopyDepths>(std::move(engine), copies, cpu::threads_of(options));
}

}  // namespace gpuhist
