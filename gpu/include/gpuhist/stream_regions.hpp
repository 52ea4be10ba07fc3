/// Regions of images in device memory, on a CUDA stream: the numbers of the pixels of each label. It never allocates,
/// synchronizes or copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpuhist/request.hpp"
#include "gpuhist/stream.hpp"

namespace gpuhist {

/// Plan of an analyzer of regions: the work that it must be ready for.
struct RegionPlan {
    Depth depth = Depth::u8;          ///< depth of the images
    int channels = 1;                 ///< 1, 3 or 4
    Depth labels = Depth::u16;        ///< type of the labels: u8, u16, u32, or s32 without negative values
    std::uint64_t largest_label = 0;  ///< 0: the largest of the type. The smaller it is, the faster the analysis
    bool label_zero = false;   ///< whether the pixels of label 0 are a region; else they are outside of all regions
    std::int64_t pixels = 0;   ///< largest number of pixels in a call, over all images of a batch: 1 to 2^30
    std::int64_t images = 1;   ///< largest number of images in a batch
    std::int64_t regions = 0;  ///< largest number of regions for whose results there is room: 1 to 2^28
    bool masks = false;        ///< whether images may have masks
    /// Rules for samples, as in AnalysisRequest. Null: all samples of unmasked pixels are valid. Alpha is a channel
    /// unless it is the weight (AlphaRule::weight).
    std::shared_ptr<const Validity> validity{};
    Percentiles percentiles{{50}};  ///< percentiles of each region and channel
    int gpu = 0;
};

/// Header of the results: plain data, for kernels to read.
struct RegionsFound {
    std::uint64_t regions;  ///< number of all regions. The first RegionPlan::regions of them have results
    std::uint64_t
        refused_pixels;  ///< number of pixels in no region, because their label is negative or over the largest
};

/// Result of a region, at the start of `RegionLayout::stride` bytes. The percentiles follow at `percentiles_offset`, as
/// double[channels][percentiles] with the channels of ImageResult; they are NaN without valid samples. With weights,
/// they are weighted: see Statistics::weighted_percentiles. The channels are as in ImageResult, except that f16 has a
/// mean and a std, u32 and s32 have sums, and `below` and `above` are 0.
struct RegionResult {
    std::uint64_t label;
    std::int64_t image;                ///< number of the image in a batch, from 0
    std::int64_t x, y, width, height;  ///< smallest box that holds all pixels of the region
    std::uint64_t area;                ///< number of pixels, excluded pixels included
    ChannelResult channels[5];         ///< gray; or red, green, blue, luma, and alpha if it is measured
};

/// Layout of the memory for all results, in bytes.
struct RegionLayout {
    std::size_t bytes = 0;               ///< size of RegionsFound and all results
    std::size_t first = 0, stride = 0;   ///< offset of the first result, and distance from one to the next
    std::size_t percentiles_offset = 0;  ///< offset from the start of a result
};

/// Analyzer of regions of images in device memory. Make it once, with its workspace. Then `enqueue` only puts kernels
/// on a stream, so you can capture the work in a graph and replay it on new pixels and labels.
///
/// Keys of label and value are sorted by CUB's radix sort, one channel of the results at a time, so the number of
/// labels does not matter. The workspace has two keys per pixel, of 4, 8 or 16 bytes, depending on labels and values.
/// Images of 8 bits with up to 64 labels by the plan are counted in shared memory instead, in less time and memory. The
/// results are in the order of image and label, and are those of `analyze_regions` and `statistics`, bit for bit. The
/// work of one analyzer must run one call after the other: on one stream, or on several if each call waits for the one
/// before. Throws InvalidArgument for views that break their rules or the plan, UnsupportedDepth, and CudaError if CUDA
/// fails.
class StreamRegionAnalyzer {
  public:
    /// Bytes of device memory that an analyzer with this plan needs. Does not make one.
    static std::size_t workspace_bytes(const RegionPlan& plan);

    /// Makes an analyzer. It allocates its workspace with CUDA, or uses `workspace`: workspace_bytes(plan) of device
    /// memory, aligned to 256 bytes. The caller owns that memory, which must outlive the analyzer. Synchronizes. Throws
    /// EngineUnavailable if the GPU cannot be used, and OutOfMemory.
    explicit StreamRegionAnalyzer(const RegionPlan& plan, void* workspace = nullptr);
    ~StreamRegionAnalyzer();
    StreamRegionAnalyzer(StreamRegionAnalyzer&&) noexcept;
    StreamRegionAnalyzer& operator=(StreamRegionAnalyzer&&) noexcept;

    const RegionPlan& plan() const;
    RegionLayout layout() const;

    /// Enqueues the analysis of the regions of an image, or of each image of a batch with its own label image. `labels`
    /// has one channel and the size of the image. Images, labels and masks are in device memory. `results` is memory
    /// that the GPU can write, layout().bytes aligned to 16 bytes; its old contents do not matter.
    void enqueue(const ImageView& image, const ImageView& labels, void* results, cudaStream_t stream);
    void enqueue(const BatchView& images, const BatchView& labels, void* results, cudaStream_t stream);

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace gpuhist
