/// Regions of images in device memory, enqueued on a CUDA stream: the numbers of the pixels of each label, without an
/// allocation, a synchronization or a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpuhist/request.hpp"
#include "gpuhist/stream.hpp"

namespace gpuhist {

/// Plan of what an analyzer of regions must be ready for.
struct RegionPlan {
    Depth depth = Depth::u8;          ///< of images
    int channels = 1;                 ///< 1, 3 or 4
    Depth labels = Depth::u16;        ///< u8, u16, u32, or s32 that is not negative
    std::uint64_t largest_label = 0;  ///< 0: the type's. The smaller, the faster
    bool label_zero = false;          ///< pixels of label 0 are a region too, not outside of all
    std::int64_t pixels = 0;          ///< the most in a call, those of all images of a batch: 1 to 2^30
    std::int64_t images = 1;          ///< the most in a batch
    std::int64_t regions = 0;         ///< the most whose results there is room for: 1 to 2^28
    bool masks = false;               ///< whether images may have masks
    /// Rules for samples, as in AnalysisRequest; null: all of unmasked pixels are valid. Alpha keeps its row, but where
    /// it is the weight (AlphaRule::weight).
    std::shared_ptr<const Validity> validity{};
    Percentiles percentiles{{50}};  ///< that are found for each region and channel
    int gpu = 0;
};

/// Beginning of the results: plain data, for kernels to read.
struct RegionsFound {
    std::uint64_t regions;         ///< all there are. Results are those of the first RegionPlan::regions
    std::uint64_t refused_pixels;  ///< of labels that are negative or over the largest: they are in no region
};

/// Result of a region, at the start of `RegionLayout::stride` bytes. Behind it lie, at `percentiles_offset`, the
/// percentiles: double[rows][percentiles], of rows as in ImageResult; NaN where no sample is valid. Channels are as in
/// ImageResult but that f16 has a mean and a std, u32 and s32 have sums, and that nothing lies `below` or `above`.
/// Where samples have weights the percentiles are weighted: see Statistics::weighted_percentiles.
struct RegionResult {
    std::uint64_t label;
    std::int64_t image;                ///< of a batch, from 0
    std::int64_t x, y, width, height;  ///< the smallest box that holds all of its pixels
    std::uint64_t area;                ///< pixels, excluded ones included
    ChannelResult channels[5];         ///< gray; or red, green, blue, luma, and alpha where it has a row
};

/// Layout of the memory of all results.
struct RegionLayout {
    std::size_t bytes = 0;               ///< of RegionsFound and the results
    std::size_t first = 0, stride = 0;   ///< of the first result from the start, and from one to the next
    std::size_t percentiles_offset = 0;  ///< from the start of a result
};

/// Analyzer of regions of images in device memory. Made once, with its workspace; `enqueue` then only puts kernels on a
/// stream, so that it can be captured in a graph and replayed on new pixels and labels. Keys of label and value are
/// sorted (CUB's radix sort), a row of the results after the other: so the number of labels does not matter. Two keys a
/// pixel need memory, of 4, 8 or 16 bytes as labels and values ask. Of 8 bits up to 64 labels, by the plan, are counted
/// in shared memory instead, in less time and memory. Results are in the order of image and label, and hold the bits
/// that `analyze_regions` and `statistics` find.
///
/// Calls of one analyzer take turns: on one stream, or on several where the second waits for the first. Throws
/// InvalidArgument for views that break their rules or the plan, UnsupportedDepth, CudaError where CUDA fails.
class StreamRegionAnalyzer {
  public:
    /// Bytes of device memory that an analyzer needs, without making one.
    static std::size_t workspace_bytes(const RegionPlan& plan);

    /// Takes its workspace from CUDA, or uses `workspace`: workspace_bytes(plan) of device memory, aligned to 256
    /// bytes, the caller's, which must outlive the analyzer. Synchronizes. Throws EngineUnavailable where the GPU
    /// cannot be used, OutOfMemory.
    explicit StreamRegionAnalyzer(const RegionPlan& plan, void* workspace = nullptr);
    ~StreamRegionAnalyzer();
    StreamRegionAnalyzer(StreamRegionAnalyzer&&) noexcept;
    StreamRegionAnalyzer& operator=(StreamRegionAnalyzer&&) noexcept;

    const RegionPlan& plan() const;
    RegionLayout layout() const;

    /// Measures the regions of an image, or of each image of a batch by the label map of its number. `labels` has one
    /// channel and the image's size; both lie in device memory, as masks do. `results` is memory that the GPU can
    /// write, layout().bytes aligned to 16; what it held before does not matter.
    void enqueue(const ImageView& image, const ImageView& labels, void* results, cudaStream_t stream);
    void enqueue(const BatchView& images, const BatchView& labels, void* results, cudaStream_t stream);

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace gpuhist
