#include <algorithm>
#include <memory>
#include <string>

#include "cpu/classifier.hpp"
#include "cpu/counted_analysis.hpp"
#include "cpu/float_analysis.hpp"
#include "cpu/measures.hpp"
#include "cpu/normalize.hpp"
#include "cpu/parts.hpp"
#include "cpu/simd/avx2.hpp"
#include "cpu/simd/avx512.hpp"
#include "cpu/sorted_analysis.hpp"
#include "cpu/weights.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/resources.hpp"
#include "plan/executor.hpp"
#include "plan/finish.hpp"

namespace gpuhist::cpu {
namespace {

/// Strips of an image, counted by an analyzer of their own: an analyzer that was not completed cannot be used for
/// another image.
template <class Analyzer>
class CpuStrips final : public StripAnalysis {
  public:
    template <class... More>
    CpuStrips(Workers& workers, const plan::Pass& pass, const ImageView& image, Analysis& result, const More&... more)
        : workers_(workers) {
        analyzer_.begin(image, pass.request, result, more...);
    }

    void take(const ImageView& strip) override { analyzer_.take(workers_, strip); }
    bool end_pass() override { return analyzer_.end_pass(); }

  private:
    Workers& workers_;
    Analyzer analyzer_;
};

class CpuExecutor final : public plan::Executor {
  public:
    CpuExecutor(int threads, const plan::Abilities& abilities)
        : abilities_(abilities), workers_(threads), classifier_(workers_) {}

    const plan::Abilities& abilities() const override { return abilities_; }

    void analyze(const plan::Pass& pass, const ImageView& pixels, Analysis& result) override {
        switch (pass.accumulator) {
            case plan::Accumulator::values:
                return counted_.analyze(workers_, pixels, pass.request, result);
            case plan::Accumulator::bins:
                return analyze_floats(pass, pixels, result);
            case plan::Accumulator::sorted:
                return sorted_.analyze(workers_, pixels, pass.request, result);
            case plan::Accumulator::measures: {
                const auto strips = measure_strips(workers_, pass.request.measures, pixels, result);
                do strips->take(pixels);
                while (strips->end_pass());
                return;
            }
            case plan::Accumulator::weights:
                return weighted_.analyze(workers_, pixels, rules::ImageRules(pixels, pass.request.validity.get()),
                                         pass.request, abilities_.sorts_all, result);
        }
    }

    std::unique_ptr<StripAnalysis> begin(const plan::Pass& pass, const ImageView& image, Analysis& result) override {
        if (pass.accumulator == plan::Accumulator::values)
            return std::make_unique<CpuStrips<CountedAnalyzer>>(workers_, pass, image, result);
        if (pass.accumulator == plan::Accumulator::bins)
            return std::make_unique<CpuStrips<FloatAnalyzer>>(workers_, pass, image, result, pass.stretch);
        if (pass.accumulator == plan::Accumulator::measures)
            return measure_strips(workers_, pass.request.measures, image, result);
        return nullptr;
    }

    void run(Job* jobs, std::size_t count) override {
        for (Job* job = jobs; job != jobs + count; ++job) {
            if (job->error) continue;
            try {
                run(*job);
            } catch (...) {
                job->error = std::current_exception();
            }
        }
    }

    plan::Classifier& classifier() override { return classifier_; }
    plan::PartMaker& parts() override { return parts_; }

  private:
    void run(const Job& job) {
        const Normalization* const copy = plan::copy_of(job);
        plan::Pass pass;
        pass.accumulator = plan::accumulator_of(job.image.depth, abilities_);
        pass.request = job.request;
        if (!copy) return analyze(pass, job.image, *job.result);
        pass.request.luma_histogram = plan::needs_luma(job.request, *copy);
        if (needs_of(*copy) == NormalizeNeeds::ranks) pass.stretch = plan::Stretch{copy->low, copy->high};
        analyze(pass, job.image, *job.result);
        normalizer_.apply(workers_, {job.image, job.image}, *job.result, *copy, floats_.get(), job.output);
        if (pass.accumulator != plan::Accumulator::bins && !job.request.luma_histogram) plan::drop_luma(*job.result);
    }
    void analyze_floats(const plan::Pass& pass, const ImageView& pixels, Analysis& result) {
        if (!floats_) floats_ = std::make_unique<FloatAnalyzer>();
        try {
            floats_->analyze(workers_, pixels, pass.request, pass.stretch, result);
        } catch (...) {
            floats_.reset();  // out of memory between two sweeps leaves counters behind
            throw;
        }
    }

    const plan::Abilities& abilities_;
    Workers workers_;
    CountedAnalyzer counted_;
    SortedAnalyzer sorted_;
    WeightedAnalyzer weighted_;
    std::unique_ptr<FloatAnalyzer> floats_;
    Normalizer normalizer_;
    HostClassifier classifier_;
    HostParts parts_;
};

}  // namespace

std::unique_ptr<plan::Executor> make_executor(const EngineOptions& options, const plan::Abilities& abilities) {
    if (options.threads < 0)
        throw InvalidArgument("threads: " + std::to_string(options.threads) +
                              " is negative; 0 takes as many as the process may run on");
    return std::make_unique<CpuExecutor>(threads_of(options), abilities);
}

int threads_of(const EngineOptions& options) {
    if (options.threads == 0) return available_threads();
    // More threads than processors would only wait for each other.
    return std::min(options.threads, usable_processors());
}

EngineInfo info() {
    const int threads = available_threads();
    return {"cpu", true, std::to_string(threads) + (threads == 1 ? " thread" : " threads")};
}

}  // namespace gpuhist::cpu

namespace gpuhist {

std::string instruction_set() {
    std::string text = "x86-64";
    if (cpu::avx2::supported()) text += ", AVX2";
    if (cpu::avx512::supported()) text += ", AVX-512 (VBMI2, BITALG, GFNI)";
    return text;
}

}  // namespace gpuhist
