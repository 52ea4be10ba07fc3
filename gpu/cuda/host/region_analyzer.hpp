// Analyzer of regions. It lays out its memory, and passes the request to the kernels. StreamRegionAnalyzer uses it, and
// validates arguments before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/host/device.hpp"
#include "cuda/sorted/regions.hpp"
#include "gpuhist/stream_regions.hpp"
#include "rules/classes.hpp"
#include "rules/rules.hpp"

namespace gpuhist::cuda {

/// Analyzer of regions by one plan, which is valid. The plan's GPU must be current in every call.
class RegionAnalyzer {
  public:
    static std::size_t workspace_bytes(const RegionPlan& plan);
    explicit RegionAnalyzer(const RegionPlan& plan, void* workspace = nullptr);

    const RegionPlan& plan() const { return plan_; }
    const RegionLayout& layout() const { return layout_; }
    /// Enqueues the analysis of valid views. See StreamRegionAnalyzer.
    void enqueue(const BatchView& images, const BatchView& labels, void* results, cudaStream_t stream);

  private:
    void classify(const LabeledImages& images, const ImageView& image, const rules::ImageRules& of, Channel channel,
                  std::uint8_t* mask_to, rules::ClassCounts* sums, const Launch& launch) const;
    template <class Enqueue>
    void for_channels(const BatchView& images, const BatchView& labels, void* results, std::size_t end,
                      cudaStream_t stream, const Enqueue& enqueue) const;

    const RegionPlan plan_;
    RegionLayout layout_;
    const LabelNumbers numbers_;
    const Launch launch_;
    const bool few_;  ///< labels are counted, not sorted
    DeviceBuffer owned_;
    char* workspace_;
};

}  // namespace gpuhist::cuda
