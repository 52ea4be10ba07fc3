/// Several engines as one, such as all GPUs of a machine.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "gpuhist/engine.hpp"

namespace gpuhist {

/// Engine that deals jobs to several engines, each on a thread of its own. The results are those of a single engine,
/// bit for bit. If an engine fails with a CudaError, its jobs go to the others.
class MultiEngine final : public Engine {
  public:
    /// Makes a `cuda` engine on each of these GPUs, with numbers in the order of `gpus()`. Throws as `make_engine`, and
    /// InvalidArgument for no GPU or one that is named twice.
    explicit MultiEngine(const std::vector<int>& gpus, const EngineOptions& options = {});
    /// Takes engines. Throws InvalidArgument if there are none.
    explicit MultiEngine(std::vector<std::unique_ptr<Engine>> engines);
    ~MultiEngine() override;

    /// Name of the first engine.
    std::string_view name() const override;
    /// Number of the engines that have not failed.
    std::size_t working() const;

    /// Does jobs on all engines. Every engine takes small images by the hundred, and others one by one, as soon as it
    /// is idle. Pixels and outputs must be in host memory: in device memory, they belong to one GPU, and the job gets
    /// InvalidArgument as its error. Otherwise as Engine::run.
    void run(Job* jobs, std::size_t count) override;
    using Engine::analyze;
    /// Does one image, on the first engine that works.
    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override;
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override;
    /// Begins an analysis in strips, on the first engine that works. If that engine fails, the analysis fails.
    std::unique_ptr<StripAnalysis> analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                  Analysis& result, const Normalization* copies = nullptr) override;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace gpuhist
