// Engine: makes the plan of each job, and lets executors and walks carry it out.
#include "gpuhist/engine.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/channels.hpp"
#include "core/validate.hpp"
#include "cpu/parts.hpp"
#include "front/engine.hpp"
#include "front/walk.hpp"
#include "gpuhist/error.hpp"
#include "plan/finish.hpp"
#include "plan/refusal.hpp"

namespace gpuhist {
namespace front {
namespace {

std::size_t samples_of(const Job& job) {
    return static_cast<std::size_t>(job.image.pixels() * job.image.channels);
}

class PlannedEngine final : public Engine {
  public:
    PlannedEngine(std::string_view name, std::unique_ptr<plan::Executor> executor, const EngineOptions& options)
        : name_(name), workshop_(std::move(executor), options) {}

    std::string_view name() const override { return name_; }

    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        run_one({image, request, {}, {}, &result, {}});
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        run_one({image, request, normalization, output, &result, {}});
    }
    std::unique_ptr<StripAnalysis> analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                  Analysis& result, const Normalization* copies) override {
        return std::make_unique<Walk>(
            workshop_, plan::make_plan(image, request, copies, plan::Rows::strips, workshop_.abilities()), image,
            copies, plan::Rows::strips, result);
    }
    void run(Job* jobs, std::size_t count) override {
        for (std::size_t begin = 0, end; begin < count; begin = end) {
            const bool direct = is_direct(jobs[begin]);
            for (end = begin + 1; end < count && is_direct(jobs[end]) == direct;) ++end;
            if (direct)
                run_direct(jobs + begin, end - begin);
            else
                Engine::run(jobs + begin, end - begin);
        }
    }

  private:
    /// Number of samples of copies in f32 beyond which no further job joins.
    static constexpr std::size_t most_floats = std::size_t{1} << 24;

    static bool has_bins(const Job& job) { return traits_of(job.image.depth).counting == Counting::bins; }
    /// Returns whether the executor does a job in one pass. Ranks for a copy of f32 that it does not write are found by
    /// a walk.
    bool is_direct(const Job& job) const {
        const bool lacks_ranks = has_bins(job) && lacks_copy(job) && !needs_floats(job) &&
                                 needs_of(*job.normalization) == NormalizeNeeds::ranks;
        return !lacks_ranks && plan::is_direct(job.image, job.request, plan::copy_of(job));
    }

    void run_one(Job job) {
        is_direct(job) ? run_direct(&job, 1) : walk(job);
        if (job.error) std::rethrow_exception(job.error);
    }

    // ---- jobs with one pass -------------------------------------------------------------------------------------

    /// Lets the executor do jobs, many at a time, and writes the copies that it does not make.
    void run_direct(Job* jobs, std::size_t count) {
        for (Job* job = jobs; job != jobs + count; ++job) {
            try {
                job->error = nullptr;
                validate(*job);
            } catch (...) {
                job->error = std::current_exception();
            }
        }
        if (std::none_of(jobs, jobs + count, [&](const Job& job) { return lacks_copy(job); }))
            return workshop_.own().run(jobs, count);
        for (std::size_t end = 0, begin = 0; begin < count; begin = end) {
            for (std::size_t floats = 0; end < count && floats < most_floats; ++end)
                if (needs_floats(jobs[end])) floats += samples_of(jobs[end]);
            run_and_copy(jobs + begin, end - begin);
        }
    }

    /// Returns whether the executor does not write the copy of a job.
    bool lacks_copy(const Job& job) const {
        return job.normalization && !workshop_.abilities().writes(job.image.depth, *job.normalization);
    }
    bool needs_floats(const Job& job) const {
        return lacks_copy(job) && has_bins(job) && traits_of(job.normalization->mode).kind == NormalizeKind::exact &&
               workshop_.abilities().writes_own(job.image.depth, *job.normalization);
    }

    void validate(const Job& job) const {
        plan::refuse(job.image, job.request, plan::copy_of(job), plan::Rows::whole, workshop_.abilities());
        validate_output(job);
    }
    static void validate_output(const Job& job) {
        if (job.normalization)
            core::validate_output(job.image, normalized_depth(job.image.depth, *job.normalization), job.output);
    }

    /// Lets the executor do its part of the jobs (for f32 the copy in f32, for others the analysis), and finishes them.
    void run_and_copy(Job* jobs, std::size_t count) {
        std::vector<Job> able;
        std::vector<Job*> asked;
        std::size_t floats = 0;
        for (Job* job = jobs; job != jobs + count; ++job) {
            if (job->error) continue;
            able.push_back(lacks_copy(*job) ? able_job(*job) : *job);
            asked.push_back(job);
            if (needs_floats(*job)) floats += samples_of(*job);
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
        workshop_.own().run(able.data(), able.size());
        for (std::size_t i = 0; i < able.size(); ++i) {
            Job& job = *asked[i];
            job.error = able[i].error;
            if (job.error || !lacks_copy(job)) continue;
            try {
                if (needs_floats(job)) {
                    workshop_.convert(able[i].output, job.normalization->fill, job.output);
                } else {
                    const rules::ImageRules rules(job.image, nullptr);
                    workshop_.copy({job.image, job.image}, rules, *job.result, *job.normalization, job.output);
                    if (!job.request.luma_histogram && !has_bins(job)) plan::drop_luma(*job.result);
                }
            } catch (...) {
                job.error = std::current_exception();
            }
        }
    }

    Job able_job(const Job& job) const {
        Job able = job;
        if (needs_floats(job)) {
            able.normalization->depth.reset();
            able.normalization->fill.reset();
            able.output.depth = job.image.depth;
            able.output.row_bytes = able.output.packed_row_bytes();
        } else {
            able.request.luma_histogram = plan::needs_luma(job.request, *job.normalization);
            able.normalization.reset();
        }
        return able;
    }

    // ---- jobs of several passes, or with excluded samples -------------------------------------------------------

    void walk(Job& job) {
        const Normalization* const copy = plan::copy_of(job);
        plan::Plan plan = plan::make_plan(job.image, job.request, copy, plan::Rows::whole, workshop_.abilities());
        validate_output(job);
        if (plan.copy == plan::Copy::executor && !job.request.measures.empty()) return analyze_and_copy(job);
        if (plan.copy == plan::Copy::executor) return workshop_.own().run(&job, 1);
        const bool findings = plan.copy == plan::Copy::findings, bands = plan.copy == plan::Copy::bands;
        Walk walk(workshop_, std::move(plan), job.image, findings ? copy : nullptr, plan::Rows::whole, *job.result);
        do walk.take(job.image);
        while (walk.end_pass());
        if (findings) walk.copy(job.image, job.output);
        if (bands) copy_bands(walk.plan(), job.image, *copy, job.output);
    }

    /// Lets the executor write a copy after the analysis, which measures the pixels: the copy may replace them.
    void analyze_and_copy(Job& job) {
        Job analysis = job, copy = job;
        analysis.normalization.reset();
        run_one(analysis);
        copy.request.measures = {};
        copy.result = &of_copy_;
        run_one(copy);
    }

    /// Copies bands, each as a gray image, or all samples together as one.
    void copy_bands(const plan::Plan& plan, const ImageView& image, const Normalization& normalization,
                    const MutableImageView& output) {
        AnalysisRequest request = plan.request;
        request.validity.reset();
        const bool all_valid = rules::all_valid(image, plan.request);
        cpu::Part memory;
        const ImageView kept = all_valid ? image : kept_from(image, output, plan.rules, normalization, memory);
        std::vector<std::uint8_t> mask;
        ImageView valid = image;  // a byte per sample
        if (!all_valid) {
            mask = workshop_.host_classifier().sample_mask(image, plan.rules);
            valid.data = mask.data();
            valid.depth = Depth::u8;
            valid.row_bytes = valid.packed_row_bytes();
        }
        const auto with_mask = [&](ImageView view, const void* bytes) {
            view.mask = all_valid ? nullptr : static_cast<const std::uint8_t*>(bytes);
            view.mask_row_bytes = view.width;
            return view;
        };
        if (normalization.joint && !needs_places(normalization)) {
            run_one({with_mask(core::as_one_channel(image), valid.data),
                     request,
                     normalization,
                     core::as_one_channel(output),
                     &of_band_,
                     {}});
        } else {
            cpu::Part from, to, own_mask;
            for (int c = 0; c < image.channels; ++c) {
                const ImageView band = from.of(image, c, 1);
                const void* const bytes = all_valid ? nullptr : own_mask.of(valid, c, 1).data;
                run_one(
                    {with_mask(band, bytes), request, normalization, to.like(image, 1, output.depth), &of_band_, {}});
                to.put(output, c);
            }
        }
        if (!all_valid) cpu::settle(workshop_.workers(), kept, plan.rules, normalization, output);
    }

    const std::string_view name_;
    Workshop workshop_;
    std::unique_ptr<float[]> floats_;  ///< copies in f32
    std::size_t floats_capacity_ = 0;
    Analysis of_band_, of_copy_;
};

}  // namespace

std::unique_ptr<Engine> make_region_engine(const EngineOptions& options) {
    return std::make_unique<PlannedEngine>("cpu", cpu::make_executor(options, plan::region_abilities), options);
}

}  // namespace front

void StripAnalysis::copy(const ImageView&, const MutableImageView&) {
    throw InvalidArgument("copies of strips: none were asked for when the analysis was begun");
}

std::unique_ptr<StripAnalysis> Engine::analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                      Analysis& result, const Normalization*) {
    core::validate_sides(image);
    core::validate(request);
    return std::make_unique<front::MergedStrips>(
        [this, request](const ImageView& strip, Analysis& to) { analyze(strip, request, to); }, result);
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

void settle_copy(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                 const MutableImageView& output, int threads) {
    core::validate_fill(output.depth, normalization.fill);
    if (rules::all_valid(image, request)) return;
    core::validate(image, request);
    core::validate_output(image, output.depth, output);
    cpu::Workers workers(threads);
    cpu::settle(workers, image, rules::ImageRules(image, request.validity.get()), normalization, output);
}

void settle_copy(const ImageView& image, const AnalysisRequest& request, bool valid_only,
                 const MutableImageView& output, int threads) {
    Normalization normalization;
    normalization.valid_only = valid_only;
    settle_copy(image, request, normalization, output, threads);
}

std::shared_ptr<const NormalizeReference> reference_of(const ImageView& image, const AnalysisRequest& request) {
    AnalysisRequest asked;
    asked.validity = request.validity;
    asked.detail = Detail::brief;
    asked.luma_histogram = true;
    const auto analysis = std::make_shared<Analysis>();
    make_engine("cpu")->analyze(image, asked, *analysis);
    auto reference = std::make_shared<NormalizeReference>();
    if (traits_of(image.depth).counting == Counting::bins)
        reference->values = count_frequencies(image, nullptr, asked, image.samples);
    reference->analysis = analysis;
    return reference;
}

std::vector<EngineInfo> engines() {
    return {cuda::info(), cpu::info()};
}

std::vector<GpuInfo> gpus() {
    return cuda::gpus();
}

std::unique_ptr<Engine> make_engine(std::string_view name, const EngineOptions& options) {
    if (name != "cpu" && name != "cuda" && name != "auto")
        throw InvalidArgument("engine '" + std::string(name) + "': there are auto, cuda and cpu");
    if (name == "cuda" || (name == "auto" && cuda::info().available))
        return std::make_unique<front::PlannedEngine>("cuda", cuda::make_executor(options), options);
    return std::make_unique<front::PlannedEngine>("cpu", cpu::make_executor(options), options);
}

}  // namespace gpuhist
