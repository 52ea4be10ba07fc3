// gpuhist as `gpuhist-bench kernels` measures it: views of pixels on the GPU, and an analyzer with memory for its
// results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/gpu_timing.hpp"
#include "gpuhist/gpuhist.hpp"
#include "gpuhist/stream.hpp"

namespace gpuhist::bench {

/// An image of packed pixels on the GPU.
inline ImageView view_of(void* data, Depth depth, int channels, std::int64_t width, std::int64_t height) {
    return {data,
            width,
            height,
            channels,
            depth,
            width * channels * static_cast<std::int64_t>(sample_bytes(depth)),
            ChannelOrder::bgr,
            Memory::device};
}
inline MutableImageView output_of(void* data, const ImageView& like, Depth depth) {
    return {data,          like.width, like.height,
            like.channels, depth,      like.width * like.channels * static_cast<std::int64_t>(sample_bytes(depth)),
            like.order,    like.memory};
}
inline ImageView at(ImageView view, const void* data) {
    view.data = data;
    return view;
}
inline std::size_t bytes_of(const ImageView& view) {
    return static_cast<std::size_t>(view.height * view.row_bytes);
}

/// gpuhist at work: an analyzer, and memory for its results.
class Ours {
  public:
    Ours(const StreamPlan& plan, const AnalysisRequest& request, std::int64_t images = 1,
         const std::optional<Normalization>& normalization = {})
        : analyzer_(plan),
          request_(request),
          normalization_(normalization),
          layout_(analyzer_.layout(request, normalization ? &*normalization : nullptr)),
          results_(layout_.bytes * static_cast<std::size_t>(images)) {}

    const ResultLayout& layout() const { return layout_; }
    void enqueue(const ImageView& image, cudaStream_t stream) {
        analyzer_.enqueue(image, request_, results_.get(), stream);
    }
    void enqueue(const BatchView& batch, cudaStream_t stream) {
        analyzer_.enqueue(batch, request_, results_.get(), stream);
    }
    void enqueue_to(void* results, const ImageView& image, cudaStream_t stream) {
        analyzer_.enqueue(image, request_, results, stream);
    }
    void enqueue(const ImageView& image, const MutableImageView& output, cudaStream_t stream) {
        analyzer_.enqueue_normalized(image, output, request_, *normalization_, results_.get(), stream);
    }

    /// What the last work found in image `index`.
    Analysis result(cudaStream_t stream, std::int64_t index = 0) const {
        BENCH_CUDA(cudaStreamSynchronize(stream));
        std::vector<std::uint64_t> copy(layout_.bytes / sizeof(std::uint64_t));  // aligned as an ImageResult must be
        BENCH_CUDA(cudaMemcpy(copy.data(), results_.as<char>() + layout_.bytes * static_cast<std::size_t>(index),
                              layout_.bytes, cudaMemcpyDeviceToHost));
        return read_result(copy.data());
    }

  private:
    StreamAnalyzer analyzer_;
    AnalysisRequest request_;
    std::optional<Normalization> normalization_;
    ResultLayout layout_;
    DeviceMemory results_;
};

}  // namespace gpuhist::bench
