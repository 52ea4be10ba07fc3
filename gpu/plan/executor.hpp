// Executors: run passes, one executor per backend. They own memory and reuse it. Of all rules they only know masks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gpuhist/engine.hpp"
#include "plan/plan.hpp"

namespace gpuhist {
namespace plan {

/// Classifier: makes the mask or the copy that a pass reads, and counts the classes of the samples. Its results are in
/// memory of its own, on the side of the image, until the next call.
class Classifier {
  public:
    virtual ~Classifier() = default;
    /// Makes a copy of an image of floats in which NaN stands for excluded samples. Alpha that is left out is not in
    /// it.
    virtual ImageView substitute(const ImageView& image, const rules::ImageRules& rules,
                                 rules::ClassCounts& counts) = 0;
    /// Returns the image with a mask that keeps some of its pixels.
    virtual ImageView mask(const ImageView& image, const rules::ImageRules& rules, rules::PixelsOf which,
                           rules::ClassCounts& counts) = 0;
};

/// Maker of the parts of an image: its colors, and each of its bands.
class PartMaker {
  public:
    virtual ~PartMaker() = default;
    /// Takes an image, whose pixels must stay. Returns it in the form that is read fastest, until another image is
    /// taken.
    virtual ImageView take(const ImageView& image) = 0;
    /// Returns the part of `channels` channels from `first` on. It stays until the next part or image.
    virtual ImageView part(int first, int channels) = 0;
};

/// Copy that a job asks for; null if it asks for none.
inline const Normalization* copy_of(const Job& job) {
    return job.normalization ? &*job.normalization : nullptr;
}

/// Executor of a backend.
class Executor {
  public:
    virtual ~Executor() = default;

    virtual const Abilities& abilities() const = 0;
    /// Analyzes pixels as a pass asks for it.
    virtual void analyze(const Pass& pass, const ImageView& pixels, Analysis& result) = 0;
    /// Returns pixels where passes read them: in the memory of the executor, or where they are. Passes over other
    /// pixels in host memory replace them.
    virtual ImageView bring(const ImageView& pixels) { return pixels; }
    /// Begins a pass over strips of an image. `image` has the sides of the whole image. Returns null if strips are
    /// analyzed one by one and merged.
    virtual std::unique_ptr<StripAnalysis> begin(const Pass& pass, const ImageView& image, Analysis& result) = 0;
    /// Does all valid jobs without an error, each in one pass, with their copies. The exception of a job becomes its
    /// `error`.
    virtual void run(Job* jobs, std::size_t count) = 0;
    virtual Classifier& classifier() = 0;
    virtual PartMaker& parts() = 0;
};

}  // namespace plan

// Backends, for gpu/front.

namespace cpu {
EngineInfo info();
/// Number of threads that an engine uses on the CPU, at least one.
int threads_of(const EngineOptions& options);
/// Makes the executor of the CPU. `abilities` are those of the CPU, or of the CPU for regions.
std::unique_ptr<plan::Executor> make_executor(const EngineOptions& options,
                                              const plan::Abilities& abilities = plan::cpu_abilities);
}  // namespace cpu

namespace cuda {
EngineInfo info();
std::vector<GpuInfo> gpus();
/// Makes the executor of a GPU. Throws EngineUnavailable.
std::unique_ptr<plan::Executor> make_executor(const EngineOptions& options);
/// Allocates pinned host memory. Returns null if there is none.
void* allocate_pinned(std::size_t bytes, int gpu) noexcept;
void free_pinned(void* memory) noexcept;
}  // namespace cuda

}  // namespace gpuhist
