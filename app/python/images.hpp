/// Images in memory: read, measured and normalised by engines that are kept for the next call.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/engine.hpp"
#include "gpuhist/io/image.hpp"
#include "measurement.hpp"

namespace gpuhist::python {

/// Detail of a measurement, as Python names it: `values` keeps the counts of the values of f32 images, too.
enum class AskedDetail : std::uint8_t { brief, full, values };

/// What Python asks of a measurement.
struct Asked {
    HistogramOptions histogram;
    Percentiles percentiles;
    AskedDetail detail = AskedDetail::full;
    std::optional<double> white;
    std::string engine = "auto";
    int gpu = 0;

    /// Request for an engine. Throws InvalidArgument for bins that a depth does not have.
    AnalysisRequest request(Depth depth) const;
};

/// Throws CudaError in a process that was forked from one that used CUDA, which cannot go on there.
void check_cuda_process();

/// Engines that nobody uses at present, by name and GPU. Safe to use from several threads.
class Engines {
  public:
    /// Engine that is the holder's until this goes out of scope; with an error it is not used again.
    class Lease {
      public:
        Lease(Engines& engines, std::string name, int gpu);
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Engine& operator*() const { return *engine_; }
        /// Keeps the engine for the next call: its work went well.
        void keep() { keep_ = true; }

      private:
        Engines& engines_;
        std::string name_;
        int gpu_;
        std::unique_ptr<Engine> engine_;
        bool keep_ = false;
    };

    /// The engines of the process.
    static Engines& all();
    /// Lets go of those on the CPU, with their threads.
    void forget_threads();

  private:
    struct Idle {
        std::string name;
        int gpu;
        std::unique_ptr<Engine> engine;
    };
    std::mutex mutex_;
    std::vector<Idle> idle_;
};

/// Measures an image in host memory. `info` says what is known of it; sides and depth are the view's.
std::shared_ptr<Measurement> measure(const ImageView& image, const Asked& asked, io::ImageInfo info = {});
/// Measures an image that was read.
std::shared_ptr<Measurement> measure(const io::Image& image, const std::string& path, const Asked& asked);
/// Writes the normalised copy of an image in host memory.
void normalize(const ImageView& image, const MutableImageView& output, const Normalization& normalization,
               const std::string& engine, int gpu);

}  // namespace gpuhist::python
