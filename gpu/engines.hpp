// Engines as they offer themselves to `make_engine`. The CUDA one exists only where it was built in.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gpuhist/engine.hpp"

namespace gpuhist {

/// Maker of an image's parts: its colours, and each of its bands.
class PartMaker {
  public:
    virtual ~PartMaker() = default;
    /// Takes an image, whose pixels must stay. Returns it as it is read best, until another is taken.
    virtual ImageView take(const ImageView& image) = 0;
    /// Part of `channels` channels from `first` on, until the next part or image.
    virtual ImageView part(int first, int channels) = 0;
};

namespace cpu {
class Classifier;
std::unique_ptr<Engine> make(const EngineOptions& options);
EngineInfo info();
/// Maker of parts in host memory.
std::unique_ptr<PartMaker> make_parts();
/// Threads that an engine uses on the CPU, at least one.
int threads_of(const EngineOptions& options);
}  // namespace cpu

/// Engine that makes copies of any depth, with the findings of one that copies only images of the depths for which
/// `copies` is true, and to the mode's depth.
std::unique_ptr<Engine> with_copy_depths(std::unique_ptr<Engine> engine, bool (*copies)(Depth),
                                         const EngineOptions& options);

/// Engine that measures images of any number of channels, by one that measures 1, 3 and 4.
std::unique_ptr<Engine> with_parts(std::unique_ptr<Engine> engine, std::unique_ptr<PartMaker> maker);

/// What an engine knows of samples that do not count.
struct MasksKnown {
    bool (*masks)(Depth);  ///< it leaves out what the masks of images of a depth leave out
    bool sparse;           ///< AnalysisRequest::sparse
};
/// Engine that measures the samples that count, by one that knows no Validity; what it does not know the CPU measures
/// in its place. `device`: for images in device memory, null where there are none; of these the other engine knows
/// AlphaRule::weight.
std::unique_ptr<Engine> with_validity(std::unique_ptr<Engine> engine, const MasksKnown& known,
                                      std::unique_ptr<cpu::Classifier> device, const EngineOptions& options);

namespace cuda {
std::unique_ptr<Engine> make(const EngineOptions& options);
EngineInfo info();
std::vector<GpuInfo> gpus();
/// Maker of parts in device memory.
std::unique_ptr<PartMaker> make_parts(int gpu);
/// Classifier of images in device memory.
std::unique_ptr<cpu::Classifier> make_classifier(int gpu);
/// Verdict on a depth: whether kernels write normalised copies of its images; whether they know masks.
bool copies(Depth depth);
bool masks(Depth depth);
/// Pinned host memory, or null where there is none to be had.
void* allocate_pinned(std::size_t bytes, int gpu) noexcept;
void free_pinned(void* memory) noexcept;
}  // namespace cuda

}  // namespace gpuhist
