/// Engines: one interface, picked at run time by name.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist {

/// Job for Engine::run: one image of a list, what is asked of it, and what came of that. Views, result and request as
/// in Engine::analyze and Engine::normalize; nothing here is owned.
struct Job {
    ImageView image;
    AnalysisRequest request;
    std::optional<Normalization> normalization;  ///< set: a normalized copy is written to `output`
    MutableImageView output;
    Analysis* result = nullptr;  ///< its storage is reused
    std::exception_ptr error;    ///< set by Engine::run: why there is no result
};

/// Analysis of an image that comes in strips: in one pass over it, or in several. An engine may have several of these.
class StripAnalysis {
  public:
    virtual ~StripAnalysis() = default;
    StripAnalysis(const StripAnalysis&) = delete;
    StripAnalysis& operator=(const StripAnalysis&) = delete;

    /// Counts the next rows of a pass. Returns when no pixel of them is read any more. Throws as Engine::analyze.
    virtual void take(const ImageView& strip) = 0;
    /// Ends a pass. Returns whether the image must come once more, from its top on: the same pixels, the strips need
    /// not be the same. Else the result is complete.
    virtual bool end_pass() = 0;
    /// Writes the normalized copy of some rows, which are in host memory, once the result is complete; the output as
    /// for Engine::normalize. Throws InvalidArgument where no copies were asked for.
    virtual void copy(const ImageView& strip, const MutableImageView& output);

  protected:
    StripAnalysis() = default;
};

/// Engine that analyzes and normalizes images. Every one gives the same bits. An engine owns its workspace and reuses
/// it: after the first image of a size there is no allocation beyond the result's. One engine serves one thread at a
/// time.
class Engine {
  public:
    virtual ~Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Name: `cpu` or `cuda`.
    virtual std::string_view name() const = 0;

    /// Counts an image. Returns when `result`, whose storage is reused, is complete; no pixel is read after that.
    /// Pixels in device memory: what the legacy default stream was given before is waited for; of other streams' work
    /// the caller makes sure. Throws InvalidArgument (a view that breaks its own rules or lies in memory the engine
    /// cannot read; a request out of bounds), UnsupportedDepth, CudaError, OutOfMemory; `result` is then unspecified
    /// but destructible.
    virtual void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) = 0;

    /// Counts an image and writes its normalized copy: `output` has the input's width, height, channels and order, and
    /// depth `normalized_depth(...)`; it may be the input itself where the depth stays. Otherwise as `analyze`; bytes
    /// between rows are left alone. A copy of another depth than the mode's is made on the CPU, of pixels in host
    /// memory only: others are an InvalidArgument.
    virtual void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                           const MutableImageView& output, Analysis& result) = 0;

    /// Begins to count an image that comes in strips, with the bits of `analyze`. `image` has its sides and what a
    /// strip has too; its data are null. The engine must outlive the analysis, and may be asked for others meanwhile,
    /// by the same thread at a time; `result` is complete after the last pass. `copies`: normalized copies of the
    /// strips are wanted afterwards, on the CPU, with the bits of `normalize`. Throws InvalidArgument as `analyze` and
    /// `normalize`, for copies of what is sorted or of bands, and of f32 by equalize, whose pixels are counted again;
    /// and UnsupportedDepth for f32 where the engine counts it whole alone.
    virtual std::unique_ptr<StripAnalysis> analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                          Analysis& result, const Normalization* copies = nullptr);

    /// Bytes of pixels up to which images gain by being handed over many at a time.
    static constexpr std::int64_t small_image_bytes = std::int64_t{1} << 18;

    /// Does `count` jobs, which may be of any size, type and request: the same bits as one call of `analyze` or
    /// `normalize` for each. On a GPU small images that are asked the same share an upload, a launch and a download.
    /// What one of the calls would throw is the `error` of its job, and does not disturb the others; a GPU that fails
    /// is the error of all that it had not done. No output may lie in another job's image or output. Throws nothing
    /// else than std::bad_alloc.
    virtual void run(Job* jobs, std::size_t count);

    /// Counts an image into a new result; otherwise as the other `analyze`.
    Analysis analyze(const ImageView& image, const AnalysisRequest& request = {}) {
        Analysis result;
        analyze(image, request, result);
        return result;
    }

  protected:
    Engine() = default;
};

/// Options of engines, each for the one that it names.
struct EngineOptions {
    int threads = 0;  ///< cpu: threads to use; 0: as many as the process may run on
    int gpu = 0;      ///< cuda: which GPU, in the order of `gpus()`
};

/// Engine as it is on this machine.
struct EngineInfo {
    std::string name;  ///< `cuda` or `cpu`
    bool available = false;
    std::string description;  ///< what it runs on, or why it cannot
};

/// GPU as the CUDA driver shows it.
struct GpuInfo {
    int index = 0;
    std::string name;
    int compute_major = 0, compute_minor = 0;
    std::uint64_t memory_bytes = 0;
    int multiprocessors = 0;
    bool cooperative_launch = false;  ///< without it the `cuda` engine cannot use the GPU
};

/// Engines that were built in or could be, best first. Does not create a CUDA context.
std::vector<EngineInfo> engines();

/// GPUs that the CUDA driver shows; empty without one. Does not create a CUDA context.
std::vector<GpuInfo> gpus();

/// Instruction sets that the `cpu` engine uses on this processor, as `x86-64, AVX2`. No number depends on them.
std::string instruction_set();

/// Makes an engine: `cuda`, `cpu`, or `auto`, the first of `engines()` that is available.
/// `cuda` creates a context on the GPU (about 0.4 s the first time); the device current before is current after.
/// Throws EngineUnavailable when the named one cannot run here, InvalidArgument for an unknown name, CudaError.
std::unique_ptr<Engine> make_engine(std::string_view name = "auto", const EngineOptions& options = {});

}  // namespace gpuhist
