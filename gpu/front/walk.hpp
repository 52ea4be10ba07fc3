// Walk: carries out a plan on an image, strip by strip. A whole image is one strip.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/classifier.hpp"
#include "cpu/float_analysis.hpp"
#include "cpu/normalize.hpp"
#include "cpu/parts.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/engine.hpp"
#include "plan/executor.hpp"
#include "plan/plan.hpp"

namespace gpuhist::front {

/// Executors of an engine (its own, and that of the CPU in its place), and the writer of copies. Walks share it.
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
    /// Writes the copy of some rows from the findings in their image. In device memory, its excluded samples are then
    /// written too, by the rules.
    void copy(cpu::NormalizedPixels pixels, const rules::ImageRules& rules, const Analysis& found,
              const Normalization& normalization, const MutableImageView& output);
    /// Converts a copy in f32 to the depth of the output. There, `fill` stands for nodata.
    void convert(const ImageView& floats, const std::optional<double>& fill, const MutableImageView& output) {
        cpu::convert_floats(workers_, floats, fill, output);
    }

  private:
    const std::unique_ptr<plan::Executor> own_;
    const EngineOptions options_;
    std::unique_ptr<plan::Executor> host_;  ///< replaces an executor that is not that of the CPU
    cpu::Workers workers_;
    cpu::HostClassifier classifier_;
    cpu::Normalizer normalizer_;
    cpu::FloatAnalyzer counter_;
};

/// Image before a copy is written in its place: a copy in `memory` if the image is needed afterwards, else the image
/// itself.
ImageView kept_from(const ImageView& image, const MutableImageView& output, const rules::ImageRules& rules,
                    const Normalization& copy, cpu::Part& memory);

/// Analysis of strips one by one. Their findings are merged.
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
    /// Begins a plan. `image` has the sides of the whole image. If `copy` is null, no copy of the strips is written.
    Walk(Workshop& workshop, plan::Plan plan, const ImageView& image, const Normalization* copy, plan::Rows rows,
         Analysis& result);

    void take(const ImageView& strip) override;
    bool end_pass() override;
    void copy(const ImageView& strip, const MutableImageView& output) override;

    const plan::Plan& plan() const { return plan_; }

  private:
    /// Pass in progress.
    struct Running {
        const plan::Pass* pass;
        std::unique_ptr<StripAnalysis> analysis{};
        bool done = false;
    };

    void begin(std::size_t first, std::size_t last);
    std::unique_ptr<StripAnalysis> begin_pass(const plan::Pass& pass, Analysis& result);
    ImageView pixels_of(const plan::Pass& pass, const ImageView& strip);
    bool reads_again(const plan::Pass& pass) const;
    void finish();

    Workshop& workshop_;
    plan::Plan plan_;
    const ImageView image_;
    const std::optional<Normalization> copy_;
    const plan::Rows rows_;
    Analysis& result_;

    std::vector<Running> running_;
    std::vector<Analysis> found_;  ///< by pass in progress; a single one writes to the result
    bool ranges_ = false;          ///< the passes find the range
    bool first_ = true;            ///< the image comes for the first time, and the classes of its samples are counted
    rules::ClassCounts counts_;
    /// View that the passes of a strip read, until one reads other pixels; and the strip in the form in which its parts
    /// are read fastest.
    std::optional<std::pair<plan::Pixels, rules::PixelsOf>> viewed_;
    ImageView view_, taken_;
    bool parts_taken_ = false;
    std::optional<ImageView> brought_;  ///< that view in the memory of the executor
    std::optional<Analysis> decides_;   ///< decides about the copy; absent: the result does
    cpu::Part kept_;                    ///< strip whose copy is written in its place
};

}  // namespace gpuhist::front
