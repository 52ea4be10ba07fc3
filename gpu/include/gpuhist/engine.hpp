/// Engines: one interface for the CPU and the GPU. The name chooses the engine at run time.
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

/// Job for Engine::run: an image, the request for it, and its result. The job owns nothing. Views, request and result
/// follow the rules of Engine::analyze and Engine::normalize.
struct Job {
    ImageView image;
    AnalysisRequest request;
    std::optional<Normalization> normalization;  ///< if set, a normalized copy is written to `output`
    MutableImageView output;
    Analysis* result = nullptr;  ///< receives the findings; its storage is reused
    std::exception_ptr error;    ///< reason why there is no result; set by Engine::run
};

/// Analysis of an image in strips, in one or more passes over the image. An engine may have several of these at a time.
class StripAnalysis {
  public:
    virtual ~StripAnalysis() = default;
    StripAnalysis(const StripAnalysis&) = delete;
    StripAnalysis& operator=(const StripAnalysis&) = delete;

    /// Analyzes the next rows of a pass. Returns when it no longer reads their pixels. Throws as Engine::analyze.
    virtual void take(const ImageView& strip) = 0;
    /// Ends a pass. Returns true if the image must be given once more, from its top: the same pixels, but the strips
    /// may differ. Returns false if the result is complete.
    virtual bool end_pass() = 0;
    /// Writes the normalized copy of some rows, once the result is complete. The rows are in host memory, and the
    /// output follows the rules of Engine::normalize. Throws InvalidArgument if `analyze_strips` was not asked for
    /// copies.
    virtual void copy(const ImageView& strip, const MutableImageView& output);

  protected:
    StripAnalysis() = default;
};

/// Engine that analyzes and normalizes images. All engines give the same results, bit for bit. An engine owns its
/// workspace and reuses it: after the first image of a size, it only allocates the result. An engine serves one thread
/// at a time.
class Engine {
  public:
    virtual ~Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Name of the engine: `cpu` or `cuda`.
    virtual std::string_view name() const = 0;

    /// Analyzes an image. Returns when `result` is complete; its storage is reused, and no pixel is read afterwards.
    ///
    /// If the pixels are in device memory, the engine waits for earlier work on the legacy default stream. The caller
    /// must synchronize with other streams. Throws InvalidArgument for a view that breaks its rules or is in memory
    /// that the engine cannot read, and for a request out of bounds; UnsupportedDepth; CudaError; OutOfMemory. After an
    /// exception, `result` is unspecified but destructible.
    virtual void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) = 0;

    /// Analyzes an image and writes its normalized copy. Otherwise as `analyze`.
    ///
    /// `output` has the width, the height, the channels and the order of the input, and the depth
    /// `normalized_depth(...)`. It may be the input itself if they have the same depth. The bytes between its rows are
    /// not written.
    ///
    /// A GPU writes copies of images in its memory. It writes copies that StreamAnalyzer supports in launches behind
    /// the analysis, and other copies once the CPU has the findings. InvalidArgument is thrown for copies that need the
    /// pixels on the host: bands, stretches over zscale of floats or with excluded samples, gray with alpha and
    /// excluded samples, exact modes of u32, s32 and f64, and of f32 in another depth than u8, u16 and f32. If the
    /// pixels are in host memory, the CPU writes the copies that StreamAnalyzer does not support.
    virtual void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                           const MutableImageView& output, Analysis& result) = 0;

    /// Begins to analyze an image in strips; the result is that of `analyze`, bit for bit. `image` has null data, the
    /// width and the height of the whole image, and everything else as in the strips. If strips have masks, its mask is
    /// not null, but its bytes are not read. The engine must outlive the analysis. Meanwhile it may do other work, for
    /// one thread at a time. `result` is complete after the last pass. `copies` asks for normalized copies of the
    /// strips after the last pass. The CPU writes them; they are those of `normalize`, bit for bit. Throws as `analyze`
    /// and `normalize`. Also throws InvalidArgument for copies of sorted samples, of bands, and of f32 by equalize,
    /// whose pixels would have to be counted again; and UnsupportedDepth for f32 if the engine can only count it whole.
    virtual std::unique_ptr<StripAnalysis> analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                          Analysis& result, const Normalization* copies = nullptr);

    /// Size in bytes up to which images should be passed to `run` many at a time.
    static constexpr std::int64_t small_image_bytes = std::int64_t{1} << 18;

    /// Does `count` jobs, which may have any size, type and request. The results are those of one call of `analyze` or
    /// `normalize` per job, bit for bit. On a GPU, small images with the same request share an upload, a launch and a
    /// download.
    ///
    /// An exception of a single job becomes its `error` and does not disturb the others. If the GPU fails, all jobs
    /// that are not done get that error. The output of a job must not overlap the image or the output of another.
    /// Throws only std::bad_alloc.
    virtual void run(Job* jobs, std::size_t count);

    /// Analyzes an image and returns the result. Otherwise as the other `analyze`.
    Analysis analyze(const ImageView& image, const AnalysisRequest& request = {}) {
        Analysis result;
        analyze(image, request, result);
        return result;
    }

  protected:
    Engine() = default;
};

/// Options of engines. Each engine uses the options that name it.
struct EngineOptions {
    int threads = 0;  ///< cpu: number of threads; 0: as many as the process may run on
    int gpu = 0;      ///< cuda: number of the GPU, in the order of `gpus()`
};

/// Engine on this machine.
struct EngineInfo {
    std::string name;  ///< `cuda` or `cpu`
    bool available = false;
    std::string description;  ///< device of the engine, or the reason why it cannot run
};

/// GPU, as the CUDA driver describes it.
struct GpuInfo {
    int index = 0;
    std::string name;
    int compute_major = 0, compute_minor = 0;
    std::uint64_t memory_bytes = 0;
    int multiprocessors = 0;
    bool cooperative_launch = false;  ///< the `cuda` engine needs it
    std::string pci_address;          ///< such as 0000:3b:00.0
};

/// All engines, including those that were not built in, the best one first. Does not create a CUDA context.
std::vector<EngineInfo> engines();

/// All GPUs of the CUDA driver; empty without a driver. Does not create a CUDA context.
std::vector<GpuInfo> gpus();

/// Instruction sets that the `cpu` engine uses on this processor, such as `x86-64, AVX2`. No number depends on them.
std::string instruction_set();

/// Makes an engine: `cuda`, `cpu`, or `auto`, which is the first of `engines()` that is available. `cuda` creates a
/// context on the GPU, which takes about 0.4 s the first time; the current device stays the same. Throws
/// EngineUnavailable if the named engine cannot run here, InvalidArgument for an unknown name, and CudaError.
std::unique_ptr<Engine> make_engine(std::string_view name = "auto", const EngineOptions& options = {});

}  // namespace gpuhist
