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
