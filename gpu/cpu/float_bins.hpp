// Equal bins of floats: where samples lie, and how often each is met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/bins.hpp"
#include "cpu/planes.hpp"
#include "cpu/simd/avx512.hpp"

namespace gpuhist::cpu {

/// Small tables are kept several times, taken in turn by neighboring samples, so that equal neighbors do not wait for
/// each other's store. Of few bins all copies fit the innermost cache.
inline constexpr int most_copies = 4;
inline constexpr std::uint32_t few_bins = 1024;

template <int copies, class Place>
void count_places(const Place* places, int samples, std::uint32_t* counts, std::size_t size) {
    int i = 0;
    for (; i + most_copies <= samples; i += most_copies)
        for (int k = 0; k < most_copies; ++k) ++counts[k % copies * size + places[i + k]];
    for (; i < samples; ++i) ++counts[places[i]];
}

/// Quicker bins for samples that are all in the range, in single precision. It is valid if no position is so close to
/// an edge that rounding may move it to the other bin.
struct QuickBins {
    bool usable;
    float lower, scale, least, most, sure;

    /// `within`: all samples lie in the range.
    QuickBins(const core::FloatBins& bins, bool within);
};

/// Counts of one worker, by bin, for the channels of an image. All zero between sweeps.
class BinCounter {
  public:
    /// Memory for one worker and channel.
    static std::size_t bytes(std::uint32_t bins) { return (std::size_t{bins} + 2) * copies_of(bins) * 4; }

    /// Begins a worker's first samples of a sweep, and again before others. `within`: all samples lie in the range.
    void begin(const core::FloatBins& bins, int channels, bool within);
    bool begun() const { return size_ != 0; }
    /// Counts at most `block_pixels` finite samples.
    void add(int channel, const float* values, int samples);
    /// Adds the counts of a channel to `counts`, and to the counts of samples below and above the range.
    void finish(int channel, std::uint64_t* counts, std::uint64_t& below, std::uint64_t& above);
    /// Ends a sweep, after every channel was finished.
    void end() { size_ = 0; }

  private:
    static int copies_of(std::uint32_t bins) { return bins <= few_bins ? most_copies : 1; }
    std::uint32_t* counts_of(int channel) { return counts_.data() + channel * copies_ * size_; }
    void count_gathered(int channel);

    core::FloatBins bins_;
    QuickBins quick_{bins_, false};
    bool by_bytes_ = false;  ///< bins as bytes, by avx512.hpp, when many are gathered
    int copies_ = 1;
    std::size_t size_ = 0;  ///< of one copy
    std::vector<std::uint32_t> counts_;
    std::unique_ptr<avx512::Scratch> gathered_;
    int filled_[plane_count] = {};
};

}  // namespace gpuhist::cpu
