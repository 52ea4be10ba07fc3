// Other libraries that do the same work, on the same pixels: what gpuhist is measured against, and checked with.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "gpuhist/analysis.hpp"

struct CUstream_st;

namespace gpuhist::bench {

/// A peer's findings are not gpuhist's.
struct Mismatch : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws Mismatch unless the counts are equal. Samples of f32 whose bins the peer finds in single precision may fall
/// to the other side of an edge, which is not hidden: returns "agrees", or but for how many.
std::string compare_counts(const std::string& peer, const ChannelAnalysis& ours,
                           const std::vector<std::uint32_t>& theirs, bool floats);

/// The channel of an analysis for one in memory: blue first where there are colors.
const ChannelAnalysis& channel_in_memory_order(const Analysis& analysis, int channel);

/// Work on packed pixels in device memory, made for one size.
class GpuPeer {
  public:
    virtual ~GpuPeer() = default;
    /// Only puts work on the stream.
    virtual void enqueue(const void* pixels, CUstream_st* stream) = 0;
    /// Compares what the last work found, which must be done. Returns the remark, "agrees" mostly; throws Mismatch.
    virtual std::string compare(const Analysis& ours) const = 0;
};

struct PeerImage {
    Depth depth = Depth::u8;
    int channels = 1;
    std::int64_t width = 0, height = 0;
    int bins = 256;
    Range range;                ///< f32: as gpuhist found it, so that the peer need not wait for its own
    bool upper_closed = false;  ///< its upper end is in the last bin
    std::int64_t samples() const { return width * height * channels; }
};

/// HistogramEven or MultiHistogramEven; of f32 first the extremes in one pass, and where `sort` all samples are sorted,
/// from which every percentile can be read.
std::unique_ptr<GpuPeer> make_cub(const PeerImage& image, bool sort = false);

/// SortKeys of as many unsigned keys of 4 or 8 bytes, to `sorted` in device memory.
std::unique_ptr<GpuPeer> make_cub_sort(std::size_t key_bytes, std::int64_t keys, void* sorted);

enum class NppWork { histogram, mean_std, min_max };
/// Throws Unavailable where the toolkit had no NPP when this program was built.
std::unique_ptr<GpuPeer> make_npp(const PeerImage& image, NppWork work, int gpu);

/// OpenCV on the CPU: histograms of all channels and of the luma, and what else it finds beside them (mean and standard
/// deviation of the luma; of floats the extremes first; no percentiles).
class OpenCvPeer {
  public:
    explicit OpenCvPeer(const cv::Mat& image);
    void run();
    /// `ours`: of the same pixels, luma included where there are colors.
    std::string compare(const Analysis& ours) const;

  private:
    void histogram(const cv::Mat& image, int channel, cv::Mat& result);

    cv::Mat image_, luma_, mean_, deviation_;
    std::array<cv::Mat, 4> histograms_;  ///< in the order of the image's channels, then luma
    int bins_ = 256;
    float lower_ = 0, upper_ = 0;
};

}  // namespace gpuhist::bench
