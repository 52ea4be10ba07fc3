// Host side of every launch: checks the views against the plan, describes them to the kernels. The engine and the
// stream-level API both stand on it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "cuda/host/device.hpp"
#include "cuda/host/parameters.hpp"
#include "gpuhist/stream.hpp"

namespace gpuhist::cuda {

/// Why a GPU cannot be used; empty where it can.
std::string why_unavailable(int gpu);

/// How this GPU is launched on, without a stream. Makes no context.
Launch launch_on(const StreamPlan& plan);

std::size_t workspace_bytes(const StreamPlan& plan, const Launch& launch);

ResultLayout layout_of(Depth depth, int channels, std::uint32_t bins, const Normalization* normalization);

/// Throws InvalidArgument.
void validate(const StreamPlan& plan);

/// Views of one type, with outputs or, where `outputs` is null, without.
struct Views {
    const ImageView* images;
    const MutableImageView* outputs;
    std::int64_t count;
};

/// One workspace, for images of one type. The GPU of the plan must be current in every call.
class Analyzer {
  public:
    explicit Analyzer(const StreamPlan& plan, void* workspace = nullptr);

    const StreamPlan& plan() const { return plan_; }
    ResultLayout layout(const AnalysisRequest& request, const Normalization* normalization) const;

    /// `normalization` null: no copies. See StreamAnalyzer.
    void enqueue(const Views& views, const AnalysisRequest& request, const Normalization* normalization, void* results,
                 cudaStream_t stream);
    void enqueue(const BatchView& batch, const MutableBatchView* output, const AnalysisRequest& request,
                 const Normalization* normalization, void* results, cudaStream_t stream);

  private:
    void check(const ImageView& image, const MutableImageView* output, const AnalysisRequest& request,
               const Normalization* normalization) const;
    static void check_results(const void* results, std::int64_t images);
    template <class Images>
    void launch(const Images& images, ChannelOrder order, const AnalysisRequest& request,
                const Normalization* normalization, char* results, cudaStream_t stream) const;

    StreamPlan plan_;
    Launch launch_;
    DeviceBuffer owned_;
    void* workspace_;
    std::unique_ptr<List> list_;  ///< where views are written down for a launch
};

}  // namespace gpuhist::cuda
