/// Images in memory: read, measured and normalized by engines that are kept for the next call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/engine.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/regions.hpp"
#include "measurement.hpp"
#include "run/image_request.hpp"

namespace gpuhist::python {

struct Picture;

/// Detail of a measurement, as Python names it: `values` keeps the counts of the values of f32 images, too.
enum class AskedDetail : std::uint8_t { brief, full, values };

/// What Python asks of a measurement.
struct Asked : app::ImageRequest {
    AskedDetail detail = AskedDetail::full;
    std::string engine = "auto";
    int gpu = 0;
    int threads = 0;  ///< 0: as many as the process may run on

    /// Request for an engine; `picture` is that of the image, where there is one, and says what its file does. Throws
    /// InvalidArgument for bins, and values that stand for no data, that a depth does not have, and for alpha that is
    /// no weight.
    AnalysisRequest request(Depth depth, const Picture* picture = nullptr) const;
};

/// Color space of this name. Throws InvalidArgument.
ColorSpace color_space_of(const std::string& name);

/// Threads of an arena: as many as asked for (0: as are available), but no more than there are processors for: the
/// thread library prints a warning if it has fewer threads than it is asked for.
int threads_of_arena(int asked);

/// Throws CudaError in a process that was forked from one that used CUDA, which cannot go on there.
void check_cuda_process();

/// Engines that nobody uses at present, by name, GPU and number of threads. Safe to use from several threads.
class Engines {
  public:
    /// Engine that is the holder's until this goes out of scope; with an error it is not used again.
    class Lease {
      public:
        Lease(Engines& engines, const Asked& asked);
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Engine& operator*() const { return *engine_; }
        /// Keeps the engine for the next call: its work went well.
        void keep() { keep_ = true; }

      private:
        Engines& engines_;
        std::string name_;
        EngineOptions options_;
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
        EngineOptions options;
        std::unique_ptr<Engine> engine;
    };
    std::mutex mutex_;
    std::vector<Idle> idle_;
};

/// Picture: an image that was read from a file, or from its bytes.
struct Picture {
    io::Image image;
    std::string path;
    std::uint64_t page = 0;  ///< that was asked for, from 1; 0: none

    /// Reads a file. Throws IoError.
    static Picture read(const std::string& path, const io::DecodeOptions& options);
    /// Reads the bytes of one; `name` stands for its path. Throws IoError.
    static Picture decode(const std::vector<unsigned char>& bytes, const std::string& name,
                          const io::DecodeOptions& options);
    /// Makes it one whose alpha is a weight: colors that are premultiplied are divided by it. Throws InvalidArgument
    /// for others.
    void weigh();
    /// Reads the mask or the label image of this picture, as the command does; the label image is
    /// not a JPEG. Throws IoError.
    enum class Role : std::uint8_t { mask, labels };
    Picture companion(const std::string& companion_path, Role role, const io::DecodeOptions& options) const;
};

/// Measures an image in host memory, of a picture where there is one.
std::shared_ptr<Measurement> measure(const ImageView& image, const Asked& asked, const Picture* picture);
/// Measures images of one size in host memory: the first one, and those that follow it, with their masks, at these
/// distances in bytes. Small images share the threads, one each.
std::vector<std::shared_ptr<Measurement>> measure_batch(const ImageView& first, std::int64_t images,
                                                        std::int64_t image_bytes, std::int64_t mask_bytes,
                                                        const Asked& asked);

/// Measurement of an image that comes in strips of its rows, from the top to the bottom, once or more.
class StripMeasurement {
  public:
    /// `image` has the size of the whole image, and a mask if strips have masks; its data are not read. Throws
    /// InvalidArgument for requests that need the whole image.
    StripMeasurement(const ImageView& image, const Asked& asked);
    void take(const ImageView& strip);
    /// Ends a pass. Returns true if all strips must come once more.
    bool end_pass();
    /// The measurement, once no more passes are needed.
    std::shared_ptr<Measurement> result();

  private:
    const ImageView image_;
    const Asked asked_;
    AnalysisRequest request_;
    std::unique_ptr<Engine> engine_;
    Analysis analysis_;
    std::unique_ptr<StripAnalysis> strips_;
};

/// Writes the normalized copy of an image in host memory; of `asked` the valid samples, and the engine.
void normalize(const ImageView& image, const MutableImageView& output, const Normalization& normalization,
               const Asked& asked);

/// Regions of an image, in ascending order of their labels.
struct Regions {
    std::vector<Region> found;
    io::ImageInfo info;                  ///< of the image
    Percentiles percentiles;             ///< that have a column
    std::optional<double> clip_sigma{};  ///< as in StatisticsRequest
    HistogramOptions histogram;          ///< as asked for

    /// Measurement of a region; its sides are those of its box.
    std::shared_ptr<Measurement> measurement(std::size_t place) const;
    /// Calls read(row) with the row of each channel of a region.
    void for_each_row(std::size_t place, const std::function<void(const ColumnRow&)>& read) const;
};

std::string packed(const Regions& regions);
Regions unpacked_regions(const std::string& bytes);

/// Measures the pixels of each label of an image in host memory, of a picture where there is one. Throws as
/// `analyze_regions`.
Regions measure_regions(const ImageView& image, const ImageView& labels, bool label_zero, const Asked& asked,
                        const Picture* picture);

}  // namespace gpuhist::python
