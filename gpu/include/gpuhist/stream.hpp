/// Analysis on a CUDA stream, for vision pipelines whose images are already on the GPU. It never allocates,
/// synchronizes or copies. The results stay on the GPU until the caller fetches them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpuhist/analysis.hpp"
#include "gpuhist/color_space.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

struct CUstream_st;
typedef CUstream_st* cudaStream_t;  // the name of the CUDA toolkit, whose headers are not needed here

namespace gpuhist {

/// Batch of images of one size and type at equal distances: a tensor N × H × W × C. It owns nothing.
template <class Void>
struct BasicBatchView {
    BasicImageView<Void> first;
    std::int64_t images = 1;
    std::int64_t image_bytes = 0;  ///< bytes from one image to the next, a multiple of a sample, without overlap
    std::int64_t mask_bytes = 0;   ///< bytes from one mask to the next; 0: all images have the same mask, or none

    template <class Other, class = std::enable_if_t<std::is_same_v<Other, const Void> && !std::is_same_v<Other, Void>>>
    operator BasicBatchView<Other>() const {
        return {first, images, image_bytes, mask_bytes};
    }
};
using BatchView = BasicBatchView<const void>;
using MutableBatchView = BasicBatchView<void>;

/// Batch of images of one size and type whose channels lie in planes of their own: a tensor N × C × H × W. It owns
/// nothing.
struct PlanarBatchView {
    ImageView first;               ///< the first image; `data` and `row_bytes` are those of its first plane
    std::int64_t plane_bytes = 0;  ///< bytes from one plane of an image to the next, a multiple of a sample
    std::int64_t images = 1;
    std::int64_t image_bytes = 0;  ///< bytes from one image to the next, a multiple of a sample
    std::int64_t mask_bytes = 0;   ///< as in BasicBatchView
};

/// Channel in an ImageResult: plain data, for kernels to read. In a weighted result, mean, std and the sums weight each
/// sample with the alpha of its pixel, and `weight` takes the place of n. The other numbers are not weighted.
struct ChannelResult {
    std::uint64_t samples = 0;        ///< number of valid samples, from which the numbers below are computed
    double minimum = 0, maximum = 0;  ///< 0 without samples
    /// Mean and std of the population, bit for bit those of Statistics. 0 without samples. f16: NaN, because they are
    /// computed from the counts later.
    double mean = 0, std = 0;
    /// Exact sum of integers; of signed samples, their distances from the lowest value. Floats: 0.
    std::uint64_t sum = 0;
    Int128 sum_squares;                                         ///< exact sum of the squares of the same numbers
    std::uint64_t nan = 0, infinite = 0, below = 0, above = 0;  ///< floats, as in ChannelAnalysis; else 0
    std::uint64_t nodata = 0;  ///< number of samples that Validity of the request excludes
    std::uint64_t weight = 0;  ///< sum of the weights of all samples, with AlphaRule::weight; else 0

    /// Samples by class, in an image or a region with this number of pixels.
    SampleCounts by_class(std::uint64_t pixels) const {
        return {pixels, pixels - samples - nodata - nan - infinite, nodata, nan, infinite};
    }
};

/// Result of an image, at the start of `ResultLayout::bytes` of memory. `channels` and the counts have the channels
/// gray; or red, green, blue, luma, and alpha if there is one that is not the weight, whatever the order in the pixel.
/// Gray with alpha (Samples::gray_alpha) has only the channel gray, if alpha is the weight and no copy is made.
struct ImageResult {
    /// Set to 1 after all of the result is written and visible to host and GPU. Clear it to poll. It does not cover a
    /// normalized copy, which is complete when the work on the stream is complete.
    std::uint32_t ready;
    Depth depth;
    Detail detail;
    bool luma_counted;           ///< false: the counts of luma have no meaning
    bool upper_closed;           ///< f32 with a range that was found: `upper` itself is in the last bin
    bool weighted;               ///< as Analysis::weighted: counts are sums of alpha, which is not a channel
    std::int32_t channel_count;  ///< number of measured channels: 1, 4 or 5
    std::uint32_t bins;          ///< number of counts per channel: 256, 65536, or the bins of the request
    std::uint64_t pixels;
    Range range;  ///< range of the counts
    /// Bytes from here to std::uint64_t[channel_count][bins]. f16: NaN and ±Inf are among the counts, at the ends.
    std::uint64_t counts_offset;
    /// Bytes from here to the lookup tables of a normalized u8 or u16 image; else 0. A table has one value of the
    /// output type per value of the input type. There is one table for all colors, or one per channel in the order of
    /// the pixel.
    std::uint64_t tables_offset;
    std::uint64_t details_offset;  ///< f32: bytes from here to data that only read_result() needs; else 0
    ChannelResult channels[5];
};

/// Layout of the memory for the result of an image.
struct ResultLayout {
    std::size_t bytes = 0;  ///< bytes per image, a multiple of 256; the result of the next image follows
    std::size_t counts_offset = 0, tables_offset = 0, details_offset = 0;  ///< as in ImageResult
};

/// Findings in a result in host memory, to which it was copied or written. Needs no GPU. Throws InvalidArgument if the
/// result is not `ready`.
Analysis read_result(const void* result);

/// Plan of an analyzer: the work that it must be ready for.
struct StreamPlan {
    Depth depth = Depth::u8;  ///< not u32, s32 or f64: an engine measures these, because their samples are sorted
    int channels = 1;
    std::uint32_t bins = 256;  ///< f32: largest number of bins that a request may ask for
    bool normalize = false;    ///< whether enqueue_normalized may be called; for u8, u16 and f32
    int gpu = 0;
    /// Number of pixels in the largest image whose request has a Validity; 0: no request has one. It reserves memory
    /// for a mask, or for a copy if the samples are floats. Weights take no memory per pixel: for AlphaRule::weight,
    /// any number but 0 is enough. It must be given in advance because calls do not allocate.
    std::int64_t classified_pixels = 0;
    /// Number of pixels in the largest image of a PlanarBatchView, or in several images that are taken at once; 0:
    /// there are no such batches. It reserves memory in which the samples of these pixels are interleaved.
    std::int64_t planar_pixels = 0;
};

/// Analyzer of images in device memory. Make it once: the constructor loads the kernels. Then `enqueue` only puts one
/// kernel launch on a stream. A list has one launch per `list_images` views, and one more where the channel order
/// changes; f32 in full has one launch per seven percentiles. You can capture the work in a graph and replay it on new
/// pixels. Keep the pixels, the results and the analyzer alive until the work is done. The launches of one analyzer
/// share its workspace, so they must run one after the other, in one stream or ordered by events. Different analyzers
/// are independent: each may run on its own stream, from its own thread.
///
/// The GPU of the plan need not be the current one. Every call leaves the current GPU as it was. All members throw
/// InvalidArgument for views and requests that break their rules or the plan (rows of 2^30 samples and more must be
/// packed), and CudaError if CUDA fails.
class StreamAnalyzer {
  public:
    /// Largest number of images per launch of a list.
    static constexpr int list_images = 256;

    /// Bytes of device memory that an analyzer with this plan needs. Does not make one.
    static std::size_t workspace_bytes(const StreamPlan& plan);

    /// Returns whether enqueue_normalized writes such copies of a depth. `excludes`: samples may be excluded, by a mask
    /// or a Validity. An engine writes more of them, also in device memory.
    static bool writes(Depth image, const Normalization& normalization, bool excludes = false);

    /// Makes an analyzer. It allocates its workspace with CUDA, or uses `workspace`: workspace_bytes(plan) of device
    /// memory, aligned to 256 bytes. The caller owns that memory, which must outlive the analyzer. Synchronizes. Throws
    /// EngineUnavailable if the GPU cannot be used, and OutOfMemory.
    explicit StreamAnalyzer(const StreamPlan& plan, void* workspace = nullptr);
    ~StreamAnalyzer();
    StreamAnalyzer(StreamAnalyzer&&) noexcept;
    StreamAnalyzer& operator=(StreamAnalyzer&&) noexcept;

    const StreamPlan& plan() const;

    /// Layout of the result of each image. With a normalization, it is that of enqueue_normalized.
    ResultLayout layout(const AnalysisRequest& request = {}, const Normalization* normalization = nullptr) const;

    /// Enqueues the analysis of images. `results` is memory that the GPU can write, aligned to 16 bytes. It receives
    /// one result per image, one after the other; its old contents do not matter.
    ///
    /// Images may have masks in device memory; each image with a mask is a launch of its own. If the request has a
    /// Validity, each image takes a few launches, and the memory of StreamPlan::classified_pixels: one more sweep makes
    /// a mask, or for floats a copy in which NaN stands for excluded samples. With AlphaRule::weight, a sweep of its
    /// own sums the samples of 8- and 16-bit integers, as an engine does. Images of 16 bits may then have up to 2^30
    /// pixels, for which the numbers of ChannelResult are exact.
    void enqueue(const ImageView& image, const AnalysisRequest& request, void* results, cudaStream_t stream);
    void enqueue(const BatchView& batch, const AnalysisRequest& request, void* results, cudaStream_t stream);
    void enqueue(const ImageView* images, std::int64_t count, const AnalysisRequest& request, void* results,
                 cudaStream_t stream);

    /// Enqueues the analysis of images whose channels lie in planes. Their samples are interleaved first, in the memory
    /// of StreamPlan::planar_pixels; as many images as it holds are measured together.
    void enqueue(const PlanarBatchView& batch, const AnalysisRequest& request, void* results, cudaStream_t stream);

    /// Enqueues the analysis of images and a normalized copy of each, by its own table. The outputs follow the rules of
    /// Engine::normalize, and are u8, u16 or f32. Exact modes and the curves that need no counts are supported, except
    /// stretches over zscale; and clahe of u8 without excluded samples, in up to 256 tiles. `results` should be device
    /// memory, because the kernels read the tables back from it.
    ///
    /// If a mask or a Validity excludes samples, the table is made from the valid samples, and Normalization decides
    /// about the others. Each such image takes several launches, the last of which writes the copy. So does each image
    /// by a curve, or whose copy has another depth than that of its mode (except u8 of u16), and each image of integers
    /// whose copy reserves a level for nodata (Normalization::fill).
    void enqueue_normalized(const ImageView& image, const MutableImageView& output, const AnalysisRequest& request,
                            const Normalization& normalization, void* results, cudaStream_t stream);
    void enqueue_normalized(const BatchView& batch, const MutableBatchView& output, const AnalysisRequest& request,
                            const Normalization& normalization, void* results, cudaStream_t stream);
    void enqueue_normalized(const ImageView* images, const MutableImageView* outputs, std::int64_t count,
                            const AnalysisRequest& request, const Normalization& normalization, void* results,
                            cudaStream_t stream);

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

/// Enqueues the conversion of an image in device memory to a color space: `convert_colors` on the GPU, with the same
/// bits. It launches one kernel, and takes no memory. Keep both images alive until the work is done. Throws
/// InvalidArgument as `convert_colors` does, also for images in host memory; EngineUnavailable if the GPU cannot be
/// used, and CudaError.
void enqueue_convert_colors(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                            const MutableImageView& output, int gpu, cudaStream_t stream);

/// Results in host memory to which the GPU writes directly (pinned and mapped memory). You can poll them without a copy
/// and without a call to CUDA.
class PinnedResults {
  public:
    /// Allocates memory for `images` results. Throws CudaError, OutOfMemory, and EngineUnavailable without CUDA.
    PinnedResults(const ResultLayout& layout, std::int64_t images = 1);
    ~PinnedResults();
    PinnedResults(PinnedResults&&) noexcept;
    PinnedResults& operator=(PinnedResults&&) noexcept;

    void* device() const { return device_; }  ///< address of the results on the GPU, for enqueue
    /// Result of an image, in host memory.
    const ImageResult& operator[](std::int64_t image) const;
    /// Returns whether the result of the image is complete. Then all of it may be read.
    bool ready(std::int64_t image = 0) const;
    /// Clears `ready` of all results. Call it before you enqueue work for them again.
    void clear();

  private:
    void* host_ = nullptr;
    void* device_ = nullptr;
    std::size_t bytes_ = 0;
    std::int64_t images_ = 0;
};

}  // namespace gpuhist
