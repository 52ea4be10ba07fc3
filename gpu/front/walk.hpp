// Walk: a plan that is carried out on an image, strip after strip. A whole image is one strip.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/classifier.hpp"
#include "cpu/float_analysis.hpp"
#include "cpu/normalize.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/engine.hpp"
#include "plan/executor.hpp"
#include "plan/plan.hpp"

namespace gpuhist::front {

/// Executors of an engine, its own and that of the CPU in its place, and the writer of copies. Walks share it.
class Workshop {
  public:
    Workshop(std::unique_ptr<plan::Executor> own, const EngineOptions& options)
        : own_(std::move(own)), options_(options), workers_(cpu::threads_of(options)), classifier_(workers_) {}

    const plan::Abilities& abilities() const { return own_->abilities(); }
    plan::Executor& own() { return *own_; }
    plan::Executor& executor(const plan::Pass& pass);
    plan::Classifier& classifier(Memory memory);
    cpu::HostClassifier& host_classifier() { return classifier_; }
    cpu::Workers& workers() { return workers_; }
    /// Writes the copy of some rows from the findings in their image. `counted`: the same rows, excluded samples being
    /// NaN; they matter where f32 is counted once more.
    void copy(const ImageView& rows, const ImageView& counted, const Analysis& found,
              const Normalization& normalization, const MutableImageView& output);
    /// Brings a copy in f32 to the output's depth.
    void convert(const ImageView& floats, const MutableImageView& output) {
        cpu::convert_floats(workers_, floats, output);
    }

  private:
    const std::unique_ptr<plan::Executor> own_;
    const EngineOptions options_;
    std::unique_ptr<plan::Executor> host_;  ///< in place of an executor that is not the CPU's
    cpu::Workers workers_;
    cpu::HostClassifier classifier_;
    cpu::Normalizer normalizer_;
    cpu::FloatAnalyzer counter_;
};

/// Strips that are analyzed one by one, and their findings merged.
class MergedStrips final : public StripAnalysis {
  public:
    using Analyze = std::function<void(const ImageView& strip, Analysis& result)>;
    MergedStrips(Analyze analyze, Analysis& result) : analyze_(std::move(analyze)), result_(result) {}

    void take(const ImageView& strip) override;
    bool end_pass() override { return false; }

  private:
    const Analyze analyze_;
    Analysis& result_;
    Analysis strip_;
    bool first_ = true;
};

class Walk final : public StripAnalysis {
  public:
    /// Begins a plan for an image, of which `image` has the sides. `copy` null: no copy of its strips is written.
    Walk(Workshop& workshop, plan::Plan plan, const ImageView& image, const Normalization* copy, plan::Rows rows,
         Analysis& result);

    void take(const ImageView& strip) override;
    bool end_pass() override;
    void copy(const ImageView& strip, const MutableImageView& output) override;

    const plan::Plan& plan() const { return plan_; }

  private:
    /// Pass that is under way.
    struct Running {
        const plan::Pass* pass;
        std::unique_ptr<StripAnalysis> analysis{};
        bool done = false;
    };

    void begin(std::size_t first, std::size_t last);
    std::unique_ptr<StripAnalysis> begin_pass(const plan::Pass& pass, Analysis& result);
    ImageView pixels_of(const plan::Pass& pass, const ImageView& strip);
    void finish();

    Workshop& workshop_;
    plan::Plan plan_;
    const ImageView image_;
    const std::optional<Normalization> copy_;
    const plan::Rows rows_;
    Analysis& result_;

    std::vector<Running> running_;
    std::vector<Analysis> found_;  ///< by the passes under way; one alone writes to the result
    bool ranges_ = false;          ///< they find the range
    bool first_ = true;            ///< the image comes for the first time, and the classes of its samples are counted
    rules::ClassCounts counts_;
    /// View that the passes of a strip read, until one reads other pixels; and the strip as its parts are read best.
    std::optional<std::pair<plan::Pixels, rules::PixelsOf>> viewed_;
    ImageView view_, taken_;
    bool parts_taken_ = false;
    std::optional<Analysis> decides_;  ///< about the copy; absent: the result does
};

}  // namespace gpuhist::front
