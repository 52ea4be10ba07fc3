// Executors: what runs passes, one per backend. They own memory and reuse it, and know no rule but masks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gpuhist/engine.hpp"
#include "plan/plan.hpp"

namespace gpuhist {
namespace plan {

/// Classifier makes what a pass reads in place of an image, and counts the classes of its samples. What it makes lies
/// in memory of its own, where the image does, until the next call.
class Classifier {
  public:
    virtual ~Classifier() = default;
    /// Copy of an image of floats in which NaN stands for excluded samples. Alpha that is left out has no place in it.
    virtual ImageView substitute(const ImageView& image, const rules::ImageRules& rules,
                                 rules::ClassCounts& counts) = 0;
    /// The image with a mask that keeps some of its pixels.
    virtual ImageView mask(const ImageView& image, const rules::ImageRules& rules, rules::PixelsOf which,
                           rules::ClassCounts& counts) = 0;
};

/// Maker of an image's parts: its colors, and each of its bands.
class PartMaker {
  public:
    virtual ~PartMaker() = default;
    /// Takes an image, whose pixels must stay. Returns it as it is read best, until another is taken.
    virtual ImageView take(const ImageView& image) = 0;
    /// Part of `channels` channels from `first` on, until the next part or image.
    virtual ImageView part(int first, int channels) = 0;
};

/// Copy that a job asks for, or null.
inline const Normalization* copy_of(const Job& job) {
    return job.normalization ? &*job.normalization : nullptr;
}

/// Executor of a backend.
class Executor {
  public:
    virtual ~Executor() = default;

    virtual const Abilities& abilities() const = 0;
    /// Analyzes pixels as a pass wants it.
    virtual void analyze(const Pass& pass, const ImageView& pixels, Analysis& result) = 0;
    /// Begins a pass over strips of an image, of which `image` has the sides; null where strips are analyzed one by one
    /// and merged.
    virtual std::unique_ptr<StripAnalysis> begin(const Pass& pass, const ImageView& image, Analysis& result) = 0;
    /// Does those of valid jobs that have no error, each in one pass, with their copies. What a job throws is its
    /// `error`.
    virtual void run(Job* jobs, std::size_t count) = 0;
    virtual Classifier& classifier() = 0;
    virtual PartMaker& parts() = 0;
};

}  // namespace plan

// The backends, as gpu/front finds them.

namespace cpu {
EngineInfo info();
/// Threads that an engine uses on the CPU, at least one.
int threads_of(const EngineOptions& options);
/// `abilities`: those of the CPU, or of the CPU for regions.
std::unique_ptr<plan::Executor> make_executor(const EngineOptions& options,
                                              const plan::Abilities& abilities = plan::cpu_abilities);
}  // namespace cpu

namespace cuda {
EngineInfo info();
std::vector<GpuInfo> gpus();
/// Throws EngineUnavailable.
std::unique_ptr<plan::Executor> make_executor(const EngineOptions& options);
/// Pinned host memory, or null where there is none to be had.
void* allocate_pinned(std::size_t bytes, int gpu) noexcept;
void free_pinned(void* memory) noexcept;
}  // namespace cuda

}  // namespace gpuhist
