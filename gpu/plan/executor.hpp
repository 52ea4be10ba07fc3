// Executors: run passes, one executor per backend. They own memory and reuse it. Of all rules they only know masks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpuhist/engine.hpp"
#include "gpuhist/frequency_table.hpp"
#include "normalize/curves/facts.hpp"
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

/// Tables of a copy by position in the pixel, of an image of 8- or 16-bit samples: a sample of the copy for each
/// sample, in the order of their bits.
struct SampleTables {
    std::array<const void*, 4> at{};
    std::size_t bytes = 0;  ///< of each table
};

/// Copy of an image in device memory, to be written from findings in its valid samples.
struct DeviceCopy {
    const ImageView& image;
    const rules::ImageRules& rules;
    const Normalization& normalization;
    const MutableImageView& output;  ///< which may be the image
};

/// Copier: writes copies of images in device memory from findings that the CPU has. Each call waits until it is done.
class Copier {
  public:
    virtual ~Copier() = default;
    /// Writes a copy by tables.
    virtual void write(const DeviceCopy& copy, const SampleTables& tables) = 0;
    /// Writes a copy of floats or of 32 bits by curves, given facts by position; null: samples stay as they are.
    virtual void write(const DeviceCopy& copy, const std::array<const core::CurveFacts*, 4>& facts) = 0;
    /// Writes a copy in which the new value of a sample depends on its place.
    virtual void write_by_place(const DeviceCopy& copy) = 0;
    /// Returns the values of every `stride`-th sample, `most` at most, of some positions of an image of integers: pixel
    /// by pixel, and of each pixel in the order of the positions.
    virtual std::vector<double> gather(const ImageView& image, const std::vector<int>& positions, std::int64_t stride,
                                       std::int64_t most) = 0;
    /// Returns the tables of `count_frequencies`.
    virtual std::vector<FrequencyTable> frequencies(const ImageView& image) = 0;
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
    /// Copier of an executor that reads device memory; null for others.
    virtual Copier* copier() { return nullptr; }
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
