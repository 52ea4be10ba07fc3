// Analyzer: the host side of every launch. It checks views against the plan and passes the request to the kernels. The
// engine and the stream-level API use it, and validate their arguments before.
#pragma once

#include <cstddef>
#include <memory>

#include "cuda/host/batcher.hpp"
#include "cuda/host/device.hpp"

namespace gpuhist::cuda {

/// Launch on a GPU, without a stream. Makes no context.
Launch launch_on(int gpu);

/// Bytes of an analyzer's workspace, for a depth that stream analyzers measure.
std::size_t workspace_bytes(const StreamPlan& plan, const Launch& launch);

ResultLayout layout_of(Depth depth, int channels, const AnalysisRequest& request, const Normalization* normalization);

/// Check that an image fits the plan of an analyzer, and where results go. Throw InvalidArgument.
void require_planned(const ImageView& image, int channels, Depth depth);
void require_results(const void* results);

/// Checks the distances between the images of a batch, whose first image is valid. Throws InvalidArgument, which names
/// the batch by `what`.
void validate(const BatchView& batch, const char* what);

/// Analyzer of images of one type, with one workspace. The plan's GPU must be current in every call.
class Analyzer {
  public:
    explicit Analyzer(const StreamPlan& plan, void* workspace = nullptr);

    const StreamPlan& plan() const { return plan_; }
    ResultLayout layout(const AnalysisRequest& request, const Normalization* normalization) const {
        return layout_of(plan_.depth, plan_.channels, request, normalization);
    }

    /// Loads all kernels that calls may launch: when one is first needed, CUDA may wait for the GPU to do so.
    void load_kernels();

    /// Enqueues the analysis of valid views; `normalization` null: no copies. See StreamAnalyzer.
    void enqueue(const Views& views, const AnalysisRequest& request, const Normalization* normalization, void* results,
                 cudaStream_t stream);
    void enqueue(const BatchView& batch, const MutableBatchView* output, const AnalysisRequest& request,
                 const Normalization* normalization, void* results, cudaStream_t stream);
    void enqueue(const PlanarBatchView& batch, const AnalysisRequest& request, void* results, cudaStream_t stream);

  private:
    /// Enqueues the work on one valid view that takes several launches: its analysis by a request with a Validity, or
    /// also a copy if that or a mask excludes samples. Null: no copy.
    void enqueue_in_steps(const ImageView& image, const MutableImageView* output, const AnalysisRequest& request,
                          const Normalization* normalization, char* results, cudaStream_t stream) const;
    /// Enqueues the analysis of a valid view whose samples are all valid, and its copy by clahe.
    void enqueue_clahe(const ImageView& image, const MutableImageView* output, const AnalysisRequest& request,
                       const Normalization& normalization, char* results, cudaStream_t stream) const;
    /// Enqueues the same by a request that weighs samples.
    void enqueue_weighted(const ImageView& image, const MutableImageView* output, const AnalysisRequest& request,
                          const Normalization* normalization, char* results, cudaStream_t stream) const;
    bool has_steps(const Normalization* normalization) const;
    void check(const Views& views, const AnalysisRequest& request, const void* results) const;
    /// Parameters that launches have in common, for images as `like`.
    Common common(const ImageView& like, const AnalysisRequest& request, const Normalization* normalization,
                  char* results) const;
    /// Launches the analysis of `images`, which differ from `like` only in size and place, and have its mask.
    template <class Images>
    void launch(const Images& images, const ImageView& like, const AnalysisRequest& request, const Common& common,
                cudaStream_t stream) const;

    StreamPlan plan_;
    Launch launch_;
    DeviceBuffer owned_;
    void* workspace_;
    std::unique_ptr<List> list_;  ///< room for the images of a launch
};

}  // namespace gpuhist::cuda
