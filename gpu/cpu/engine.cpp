#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "core/validate.hpp"
#include "cpu/counted_analysis.hpp"
#include "cpu/float_analysis.hpp"
#include "cpu/normalize.hpp"
#include "cpu/simd/avx2.hpp"
#include "cpu/simd/avx512.hpp"
#include "cpu/sorted_analysis.hpp"
#include "cpu/workers.hpp"
#include "engines.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::cpu {
namespace {

/// Number of threads that the process may run on.
int allowed_threads() {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void validate_request(const ImageView& image, const AnalysisRequest& request) {
    core::validate(image, request);
    core::validate_swept(image);
    if (image.memory != Memory::host)
        throw InvalidArgument("engine cpu: the image lies in device memory; copy it to the host or use engine cuda");
}

/// Strips of an image, counted by an analyser of their own: one that does not come to the end serves no other image.
template <class Analyzer>
class CpuStrips final : public StripAnalysis {
  public:
    template <class... More>
    CpuStrips(Workers& workers, const ImageView& image, const AnalysisRequest& request, Analysis& result,
              const More&... more)
        : workers_(workers), request_(request) {
        analyzer_.begin(image, request, result, more...);
    }

    void take(const ImageView& strip) override {
        validate_request(strip, request_);
        analyzer_.take(workers_, strip);
    }
    bool end_pass() override { return analyzer_.end_pass(); }

  private:
    Workers& workers_;
    const AnalysisRequest request_;
    Analyzer analyzer_;
};

class CpuEngine final : public Engine {
  public:
    explicit CpuEngine(int threads) : workers_(threads) {}

    std::string_view name() const override { return "cpu"; }

    using Engine::analyze;

    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        validate_request(image, request);
        if (traits_of(image.depth).counting == Counting::bins)
            analyze_floats(image, request, std::nullopt, result);
        else
            count(image, request, result);
    }

    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        validate_request(image, request);
        core::validate(normalization);
        core::validate_output(image, normalization, output);
        if (request.sparse) throw InvalidArgument("normalised copies of a sparse analysis: there are none");
        if (traits_of(image.depth).counting == Counting::bins) {
            analyze_floats(image, request, stretch_of(normalization), result);
            normalizer_.apply_floats(workers_, image, image, result, normalization, *floats_, output);
            return;
        }
        AnalysisRequest needed = request;
        needed.luma_histogram = needs_luma(request, normalization);
        count(image, needed, result);
        if (traits_of(image.depth).counting == Counting::sorted)
            normalizer_.apply_sorted(workers_, image, result, normalization, output);
        else
            normalizer_.apply_counted(workers_, image, result, normalization, output);
        leave_out_luma(request, result);
    }

    std::unique_ptr<StripAnalysis> analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                  Analysis& result, const Normalization* copies) override {
        core::validate_sides(image);
        core::validate_swept(image);
        core::validate(request);
        switch (traits_of(image.depth).counting) {
            case Counting::values:
                if (request.sparse) break;
                return std::make_unique<CpuStrips<CountedAnalyzer>>(workers_, image, request, result);
            case Counting::bins:
                return std::make_unique<CpuStrips<FloatAnalyzer>>(workers_, image, request, result,
                                                                  copies ? stretch_of(*copies) : std::nullopt);
            case Counting::sorted:
                break;
        }
        return Engine::analyze_strips(image, request, result, copies);
    }

  private:
    static std::optional<Stretch> stretch_of(const Normalization& normalization) {
        if (traits_of(normalization.mode).needs != NormalizeNeeds::ranks) return std::nullopt;
        return Stretch{normalization.low, normalization.high};
    }
    /// Counts by value.
    void count(const ImageView& image, const AnalysisRequest& request, Analysis& result) {
        if (traits_of(image.depth).counting == Counting::sorted || request.sparse)
            sorted_.analyze(workers_, image, request, result);
        else
            counted_.analyze(workers_, image, request, result);
    }
    void analyze_floats(const ImageView& image, const AnalysisRequest& request, const std::optional<Stretch>& stretch,
                        Analysis& result) {
        if (!floats_) floats_ = std::make_unique<FloatAnalyzer>();
        try {
            floats_->analyze(workers_, image, request, stretch, result);
        } catch (...) {
            floats_.reset();  // out of memory between two sweeps leaves counters behind
            throw;
        }
    }

    Workers workers_;
    CountedAnalyzer counted_;
    SortedAnalyzer sorted_;
    std::unique_ptr<FloatAnalyzer> floats_;
    Normalizer normalizer_;
};

}  // namespace

std::unique_ptr<Engine> make(const EngineOptions& options) {
    if (options.threads < 0)
        throw InvalidArgument("threads: " + std::to_string(options.threads) +
                              " is negative; 0 takes as many as the process may run on");
    return std::make_unique<CpuEngine>(threads_of(options));
}

int threads_of(const EngineOptions& options) {
    // More threads than processors would only wait for each other.
    const int allowed = allowed_threads();
    return options.threads > 0 ? std::min(options.threads, allowed) : allowed;
}

EngineInfo info() {
    const int threads = allowed_threads();
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
