/// Work for an image, from its file to its results, on one thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/io/pinned.hpp"
#include "gpuhist/lut.hpp"
#include "gpuhist/pinned_memory.hpp"
#include "run/companions.hpp"
#include "run/engine_pool.hpp"
#include "run/file_memory.hpp"
#include "run/image_files.hpp"
#include "run/jpeg_pool.hpp"
#include "run/memory_budget.hpp"
#include "run/options.hpp"
#include "run/outcome.hpp"
#include "run/rectangles.hpp"
#include "run/run_state.hpp"
#include "run/stages.hpp"

namespace gpuhist::app {

/// Memory of an analysis beside pixels and counts: of samples that are sorted, and of parts of an image, up to three
/// channels and their copy, where it has other than 1, 3 or 4; and of which samples are valid.
std::uint64_t analysis_bytes(const ImageView& view, const io::Image& file, const Options& options);

/// Bytes of small images that wait, and of sums of groups in memory.
inline constexpr std::uint64_t most_held = std::uint64_t{1} << 22;
/// Bytes of JPEGs, and of their pixels, that wait for a GPU.
inline constexpr std::uint64_t most_decoded = std::uint64_t{1} << 26;

/// Findings in a region that wait for their group of the set.
struct PooledRegion {
    std::string name;
    Analysis analysis;
    std::vector<FrequencyTable> values;

    std::uint64_t memory_bytes() const {
        std::uint64_t bytes = sizeof *this;
        for (const ChannelAnalysis& one : analysis.channels)
            bytes += sizeof one + one.counts.capacity() * sizeof one.counts[0] + one.values.memory_bytes();
        for (const FrequencyTable& one : values) bytes += sizeof one + one.memory_bytes();
        return bytes;
    }
};

/// Measurer of images.
class Measurer {
  public:
    Measurer(const Options& options, OutputDirectory& output, EnginePool& engines, JpegPool& jpegs,
             MemoryBudget& budget, const Sinks& sinks, StageTimes& times, bool single, int threads);

    /// From now on, pixels are in memory that is reused, and `bytes` of it are kept. It is pinned if a GPU works. Files
    /// for a GPU are in other memory, which is reused too; a quarter of `bytes` is kept.
    void reuse_memory(std::size_t bytes);
    /// Counts of values of floats lie there.
    void keep_values(std::shared_ptr<io::FrequencyFile> values) { values_ = std::move(values); }
    /// Images are added up from now on, by groups too if these are wanted.
    void sum_images() { summed_ = true; }
    /// Outcomes have the analysis of their image from now on, of f32 as `detail` says, and those of its labels, in
    /// place of rows; `values`: with the counts of its values.
    void keep_analyses(Detail detail, bool values) {
        kept_ = true;
        detail_ = detail;
        values_kept_ = values;
    }
    /// Images are normalized by these LUTs from now on.
    void use_luts(std::vector<LutSet> luts) { luts_ = std::move(luts); }
    /// Stamp of an input now, with those of its own mask and label image.
    Stamp stamp_of(const Input& input) const;
    /// Rectangles of the images that have their own, by the path of these.
    const std::map<std::string, std::vector<Rectangle>>& rectangles() const { return rectangles_; }
    /// Each image is worked on by so many threads from now on. Safe to call while images are measured.
    void use_threads(int threads) { threads_of_image_ = threads; }
    /// Images are normalized from now on, and nothing else is done.
    void begin_second_pass() { pass_ = 2; }
    /// Images are measured again from now on, without the LUTs of a second pass.
    void begin_first_pass() {
        if (std::exchange(pass_, 1) == 2) luts_.reset();
    }

    /// Reads and analyzes each input and writes the files about it, up to one that ends the run. Throws nothing. Safe
    /// to call from several threads.
    void measure(Batch& batch);

  private:
    struct Image;    // below
    class Images;    // run/image_batch.hpp
    class InStrips;  // run/image_strips.hpp
    class Regions;   // run/image_regions.cpp

    int threads_of_image() const { return threads_of_image_; }
    /// Options for reading an image, its mask or its label images.
    io::DecodeOptions decoding() const {
        io::DecodeOptions options = options_.decode;
        // A GPU does not read masks and label images from memory that is pinned.
        if (!engines_.on_gpu()) options.allocator = allocator_.get();
        options.threads_now = [this] { return threads_of_image(); };
        return options;
    }
    void take_memory_from(std::unique_ptr<PinnedPool> pool);
    void read(Image& image, std::uint64_t held, MemoryBudget::Share& share, StageClock& clock);
    void decode_left(Image& image, std::uint64_t held, MemoryBudget::Share& share) const;
    /// Returns whether the pixels of an image are needed on the host, for more than an analysis.
    bool needs_pixels(const Image& image) const;
    std::uint64_t whole_bytes(const io::StripFacts& facts) const;
    /// Bytes of a strip, about: of a single image no more than its threads need, so that less of it leaves the cache.
    std::uint64_t strip_bytes() const {
        const std::uint64_t most = 1 << 24, needed = static_cast<std::uint64_t>(threads_of_image()) << 22;
        return std::clamp<std::uint64_t>(budget_.limit() / 16, 1 << 20, single_ ? std::min(most, needed) : most);
    }
    std::string no_strips(const io::StripFacts& facts, bool copied) const;
    void name(Image& image, const io::Image& file) const;
    bool needs_values(const Image& image) const;
    void prepare(Image& image) const;
    io::ImageInfo info_of(const Image& image) const;
    void measure_regions(Image& image, MemoryBudget::Share& share, StageClock& clock);
    void read_mask(Image& image, MemoryBudget::Share& share) const;
    /// Rules by which samples of an image count; null: all do. What a value finds nothing in is a remark.
    std::shared_ptr<const Validity> validity_of(Image& image) const;
    void count_excluded_by_file(Image& image) const;
    Writes writes_of(Outcome& outcome) const;
    Task task_of(Image& image) const;
    std::string no_copy(const io::Image& file, Depth depth) const;
    void leave_out_copy(Image& image, const std::string& why) const;
    void ask_for_copy(Image& image, Job& job) const;
    const LutSet& luts_for(Depth depth) const;
    void apply_luts(Image& image) const;
    void apply_luts(const ImageView& view, Samples samples, const AnalysisRequest& request,
                    const MutableImageView& output) const;
    Normalization normalization_of(const io::Image& file) const;
    /// Value that stands for nodata in the copies of images of a depth.
    std::optional<double> fill_of(Depth depth) const;
    /// Memory for a copy.
    cv::Mat copy_of(const io::Image& file, Depth depth) const;
    /// Replaces a copy in a color space by its colors. Lightness comes from the copy, other channels from the image.
    void restore_colors(Image& image) const;
    /// Makes a normalized copy as small as it is wanted.
    void reduce(Image& image) const;
    /// Gives a copy its form as a TIFF: the metadata of its image, adapted.
    void form_copy(Image& image) const;
    std::optional<double> nodata_of_copy(const Image& image) const;
    std::uint64_t most_copies() const;
    void write_results(Image& image, StageClock& clock) const;

    const Options& options_;
    const ImageFiles files_;
    struct Labels {
        explicit Labels(const LabelMap& map) : name(map.name), images(map.path, "label image") {}
        std::string name;
        Companions images;
    };
    const Companions masks_;
    std::deque<Labels> labels_;
    const Companions outlines_;
    mutable CompanionStamps companion_stamps_;
    const std::map<std::string, std::vector<Rectangle>> rectangles_;  ///< of images by their path
    EnginePool& engines_;
    JpegPool& jpegs_;
    MemoryBudget& budget_;
    const Sinks& sinks_;
    StageTimes& times_;
    const bool single_;  ///< there is one input
    std::atomic<int> threads_of_image_;
    int pass_ = 1;
    bool summed_ = false;
    bool kept_ = false, values_kept_ = false;  ///< analyses, and with them values
    Detail detail_ = Detail::full;
    std::shared_ptr<io::FrequencyFile> values_;
    std::optional<std::vector<LutSet>> luts_;
    std::unique_ptr<PinnedPool> pixel_memory_;
    std::unique_ptr<io::PinnedAllocator> allocator_;
    bool reuses_memory_ = false;     ///< in a run over many images
    FileMemory file_memory_;         ///< of JPEGs for a GPU
    std::atomic<int> in_flight_{0};  ///< batches being measured
};

/// An image from reading to writing.
struct Measurer::Image {
    Outcome* outcome;
    Writes writes;
    io::Image file{};  ///< what was read
    ImageView view{};  ///< of its pixels
    Copy copy{};
    AnalysisRequest request{};
    Analysis analysis{};
    std::vector<FrequencyTable> values{};  ///< for a summary, of f32 for a picture too
    std::vector<std::uint8_t> mask{};      ///< that was given, of its pixels, where there is one
    std::vector<PooledRegion> regions{};   ///< for a set by regions: those that are in memory
    std::vector<std::pair<std::string, io::StoredSummary>> stored_regions{};  ///< and the others
    bool masked_by_file = false;
    bool in_strips = false;  ///< it came so: all that is done with pixels is done
    bool measured = false;   ///< on the GPU that decoded it
    double decode_seconds = 0;

    bool left_encoded() const { return !file.encoded.empty(); }
    /// Bytes of its pixels and counts: those of a small image of 16 bits are the larger part. An image that was left
    /// encoded has the bytes of its file besides.
    std::uint64_t bytes(const Options& options) const {
        const std::uint32_t bins = options.histogram.bins;
        const DepthTraits& depth = traits_of(view.depth);
        const std::uint64_t counts = depth.counting == Counting::bins ? bins : depth.values;
        const auto channels = static_cast<std::uint64_t>(view.channels == 1 ? 1 : view.channels + 1);
        return static_cast<std::uint64_t>(view.packed_row_bytes() * view.height) + channels * counts * 8 +
               analysis_bytes(view, file, options) + mask.size() + file.encoded.size();
    }
};

}  // namespace gpuhist::app
