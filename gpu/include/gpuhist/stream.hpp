/// Analysis enqueued on a CUDA stream, for vision pipelines whose images already lie on the GPU: no allocation, no
/// synchronization, no copy; results stay on the GPU until somebody asks for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

struct CUstream_st;
typedef CUstream_st* cudaStream_t;  // as the CUDA toolkit names it, whose headers are not needed here

namespace gpuhist {

/// Batch of images of one size and type at equal distances: a tensor N × H × W × C. Owns nothing.
template <class Void>
struct BasicBatchView {
    BasicImageView<Void> first;
    std::int64_t images = 1;
    std::int64_t image_bytes = 0;  ///< from one image to the next, a multiple of a sample: they must not overlap
    std::int64_t mask_bytes = 0;   ///< from one image's mask to the next; 0: all have the same, or none

    template <class Other, class = std::enable_if_t<std::is_same_v<Other, const Void> && !std::is_same_v<Other, Void>>>
    operator BasicBatchView<Other>() const {
        return {first, images, image_bytes, mask_bytes};
    }
};
using BatchView = BasicBatchView<const void>;
using MutableBatchView = BasicBatchView<void>;

/// Channel in an ImageResult: plain data, for kernels to read. Where that is weighted, mean, std and the sums take each
/// sample as often as the alpha of its pixel says: their n is `weight`. The others are of samples.
struct ChannelResult {
    std::uint64_t samples = 0;        ///< valid ones, which the numbers below are of
    double minimum = 0, maximum = 0;  ///< 0 where there is no sample
    double mean = 0, std = 0;  ///< of the population, the same bits as in Statistics; 0 where there is no sample, of
                               ///< f16 NaN: they follow from the counts
    std::uint64_t sum = 0;     ///< of integers, exact: of a signed sample its distance from the lowest; else 0
    Int128 sum_squares;        ///< of the same numbers
    std::uint64_t nan = 0, infinite = 0, below = 0, above = 0;  ///< floats, as in ChannelAnalysis; else 0
    std::uint64_t nodata = 0;                                   ///< by the request's Validity
    std::uint64_t weight = 0;  ///< of all samples, where they have weights (AlphaRule::weight); else 0

    /// Samples by class, of an image or a region of so many pixels.
    SampleCounts by_class(std::uint64_t pixels) const {
        return {pixels, pixels - samples - nodata - nan - infinite, nodata, nan, infinite};
    }
};

/// Result that an analyzer leaves for each image, at the start of `ResultLayout::bytes` of memory. Rows, in `channels`
/// and in the counts, are gray; or red, green, blue, luma, and alpha where there is one that is no weight, whatever the
/// order in the pixel. Gray with alpha (Samples::gray_alpha) has one row, gray, where alpha is the weight and no copy
/// is made.
struct ImageResult {
    std::uint32_t ready;  ///< set to 1 after all of the result is written and visible to host and GPU: clear it to
                          ///< poll. Of a normalized copy it says nothing: that is complete when the stream's work is
    Depth depth;
    Detail detail;
    bool luma_counted;   ///< false: row luma of the counts means nothing
    bool upper_closed;   ///< f32, range found rather than given
    bool weighted;       ///< as Analysis::weighted: counts are sums of alpha, and there is no row of it
    std::int32_t rows;   ///< 1, 4 or 5
    std::uint32_t bins;  ///< counts in a row: 256, 65536, or those of the request
    std::uint64_t pixels;
    Range range;                   ///< that the counts cover
    std::uint64_t counts_offset;   ///< bytes from here to std::uint64_t[rows][bins]; of f16 NaN and ±Inf are among
                                   ///< them, at the ends
    std::uint64_t tables_offset;   ///< bytes from here to the lookup tables of a normalized u8 or u16 image, a value of
                                   ///< the output's type for each of the input's: one for all colors, or one each in
                                   ///< the order of the pixel's channels; else 0
    std::uint64_t details_offset;  ///< f32: bytes from here to what only read_result() needs; else 0
    ChannelResult channels[5];
};

/// Layout of the memory of one image's result.
struct ResultLayout {
    std::size_t bytes = 0;  ///< of one image; the next one's starts there. A multiple of 256
    std::size_t counts_offset = 0, tables_offset = 0, details_offset = 0;  ///< as in ImageResult
};

/// Findings in a result that was copied to, or written in, host memory. Needs no GPU.
/// Throws InvalidArgument where it is not `ready`.
Analysis read_result(const void* result);

/// Plan of what an analyzer must be ready for.
struct StreamPlan {
    Depth depth = Depth::u8;  ///< not u32, s32 or f64, whose samples are sorted: an engine measures them
    int channels = 1;
    std::uint32_t bins = 256;  ///< f32: the most that a request may ask for
    bool normalize = false;    ///< whether enqueue_normalized may be called: u8, u16 and f32
    int gpu = 0;
    /// Pixels of the largest image for which a request may have a Validity: there is memory for its mask, or of floats
    /// for a copy. Else 0. Weights take no memory per pixel: for AlphaRule::weight any number but 0 does.
    /// The caller says it, since no call allocates and only the caller knows the images to come.
    std::int64_t classified_pixels = 0;
};

/// Analyzer of images in device memory. Made once, with its kernels loaded; `enqueue` then only puts one kernel launch
/// on a stream (one for every `list_images` views of a list, and where their channel order changes; of f32 in full one
/// for every seven percentiles), so that it can be captured in a graph, which may be replayed on new pixels.
///
/// Pixels, results and the analyzer must stay until the work is done. The launches of one analyzer share its workspace:
/// they must follow each other, in one stream or by events. Different analyzers do not meet: each may run on a stream
/// of its own, from a thread of its own.
///
/// The GPU of the plan need not be the current one, and the current one is the same after every call. All members throw
/// InvalidArgument for views and requests that break their rules or the plan (rows of 2^30 samples and more must be
/// packed), CudaError where CUDA fails.
class StreamAnalyzer {
  public:
    /// Views that one launch takes where they are not a tensor.
    static constexpr int list_images = 256;

    /// Bytes of device memory that an analyzer needs, without making one.
    static std::size_t workspace_bytes(const StreamPlan& plan);

    /// Takes its workspace from CUDA, or uses `workspace`: workspace_bytes(plan) of device memory, aligned to 256
    /// bytes, the caller's, which must outlive the analyzer. Synchronizes. Throws EngineUnavailable where the GPU
    /// cannot be used, OutOfMemory.
    explicit StreamAnalyzer(const StreamPlan& plan, void* workspace = nullptr);
    ~StreamAnalyzer();
    StreamAnalyzer(StreamAnalyzer&&) noexcept;
    StreamAnalyzer& operator=(StreamAnalyzer&&) noexcept;

    const StreamPlan& plan() const;

    /// Layout of each image's result. With a normalization: of enqueue_normalized.
    ResultLayout layout(const AnalysisRequest& request = {}, const Normalization* normalization = nullptr) const;

    /// Analyzes images; `results` is memory that the GPU can write, aligned to 16 bytes: one result each, one after the
    /// other. What it held before does not matter. Images may have masks, in device memory as well; each of these is a
    /// launch of its own. Where the request has a Validity each image takes a few, and memory that the plan asks for
    /// (StreamPlan::classified_pixels): in one sweep more a mask is made, or of floats a copy in which NaN stands for
    /// excluded samples. By AlphaRule::weight samples are added up in a sweep of their own, of integers of 8 and
    /// 16 bits as by an engine; of 16 bits up to 2^30 pixels, for which the numbers of a ChannelResult are exact.
    void enqueue(const ImageView& image, const AnalysisRequest& request, void* results, cudaStream_t stream);
    void enqueue(const BatchView& batch, const AnalysisRequest& request, void* results, cudaStream_t stream);
    void enqueue(const ImageView* images, std::int64_t count, const AnalysisRequest& request, void* results,
                 cudaStream_t stream);

    /// Analyzes images and writes a normalized copy of each, by its own table: outputs as in Engine::normalize, of the
    /// mode's depth and no other. `results` should be device memory, since tables are read back from it. Where a mask
    /// or a Validity excludes samples, the table is made of the valid ones, and Normalization::valid_only says what
    /// becomes of the others; each such image takes several launches, of which the last writes the copy.
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

/// Results in host memory to which the GPU writes directly (pinned and mapped): they can be polled without a copy and
/// without a call to CUDA.
class PinnedResults {
  public:
    /// Takes memory for `images` results. Throws CudaError, OutOfMemory, EngineUnavailable without CUDA.
    PinnedResults(const ResultLayout& layout, std::int64_t images = 1);
    ~PinnedResults();
    PinnedResults(PinnedResults&&) noexcept;
    PinnedResults& operator=(PinnedResults&&) noexcept;

    void* device() const { return device_; }  ///< for enqueue
    /// Result of an image, in host memory.
    const ImageResult& operator[](std::int64_t image) const;
    /// Readiness: whether the image's result is complete; all of it may then be read.
    bool ready(std::int64_t image = 0) const;
    /// Clears `ready` of all, to be called before the results are asked for again.
    void clear();

  private:
    void* host_ = nullptr;
    void* device_ = nullptr;
    std::size_t bytes_ = 0;
    std::int64_t images_ = 0;
};

}  // namespace gpuhist
