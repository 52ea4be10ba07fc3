#include "cuda/host/sorted_analysis.hpp"

#include <algorithm>
#include <cstddef>

#include "core/analysis.hpp"
#include "core/channels.hpp"
#include "cuda/host/batcher.hpp"
#include "dataset/frequency_table.hpp"

namespace gpuhist::cuda {

SortedChannel sorted_channel(const ImageView& image, Channel channel) {
    const core::Positions at(image.order);
    const bool luma = channel == Channel::luma;
    const int first = luma ? at.red : core::position_of(image, channel);
    return {image_of(image), {image.mask, image.mask_row_bytes}, image.channels, first, at.green, at.blue, luma};
}

namespace {

/// Adds n ascending values to the findings of a channel. Each has the number of samples before it; the number of all
/// samples follows. Non-finite values are at the ends.
template <class Sample>
void add(const core::Code<Sample>* codes, const std::uint32_t* starts, std::size_t n, ChannelAnalysis& channel) {
    constexpr Depth depth = core::depth_of<Sample>();
    const core::CodeRange finite = core::finite_codes(depth);
    const auto first = static_cast<std::size_t>(std::lower_bound(codes, codes + n, finite.first) - codes),
               last = static_cast<std::size_t>(std::upper_bound(codes, codes + n, finite.last) - codes);
    if constexpr (core::is_real<Sample>) {
        const auto set_apart = [&](std::size_t i) {
            const std::uint32_t count = starts[i + 1] - starts[i];
            if (codes[i] == core::minus_infinity_code<Sample>)
                channel.below += count;
            else if (codes[i] == core::plus_infinity_code<Sample>)
                channel.above += count;
            else
                channel.nan += count;
        };
        for (std::size_t i = 0; i < first; ++i) set_apart(i);
        for (std::size_t i = last; i < n; ++i) set_apart(i);
        channel.infinite = channel.below + channel.above;
    }
    if (first == last) return;
    channel.values.add(core::counted_run(depth, codes + first, starts + first, last - first));
    channel.values.settle();
}

/// Memory of a sort, laid out from `base` on. Returns its bytes in `end`.
SortMemory lay_out(Depth depth, std::int64_t most, char* base, std::size_t& end) {
    const auto n = static_cast<std::size_t>(most);
    SortMemory memory{};
    Placing place{base};
    place(memory.codes, n * sample_bytes(depth));
    place(memory.sorted, n * sample_bytes(depth));
    place(memory.starts, n * sizeof(std::uint32_t));
    place(memory.chunks, (static_cast<std::size_t>(chunks_of(most)) + 2) * sizeof(std::uint32_t));
    memory.masked = memory.chunks + chunks_of(most) + 1;
    memory.temporary_bytes = sort_temporary(depth, most);
    place(memory.temporary, memory.temporary_bytes);
    end = place.end;
    return memory;
}

}  // namespace

template <class Sample>
std::uint64_t SortedAnalyzer::run(const ImageView& image, Analysis& result, cudaStream_t stream) {
    using Code = core::Code<Sample>;
    const std::int64_t most = std::min(part_pixels<Code>, image.pixels());
    std::size_t bytes = 0;
    lay_out(image.depth, most, nullptr, bytes);
    const SortMemory memory = lay_out(image.depth, most, memory_.reserve(bytes), bytes);
    std::uint64_t all_masked = 0;
    for (std::int64_t begin = 0; begin < image.pixels(); begin += most) {
        const std::int64_t count = std::min(most, image.pixels() - begin);
        std::uint32_t values = 0, masked = 0;
        for (ChannelAnalysis& channel : result.channels) {
            launch_sort(image.depth, sorted_channel(image, channel.channel), begin, count, memory, stream);
            GPUHIST_CUDA(cudaMemcpyAsync(&values, memory.chunks + chunks_of(count), sizeof values,
                                         cudaMemcpyDeviceToHost, stream));
            GPUHIST_CUDA(cudaMemcpyAsync(&masked, memory.masked, sizeof masked, cudaMemcpyDeviceToHost, stream));
            GPUHIST_CUDA(cudaStreamSynchronize(stream));
            const std::size_t code_bytes = values * sizeof(Code), start_bytes = values * sizeof(std::uint32_t);
            char* fetched = fetched_.reserve(code_bytes + start_bytes + sizeof(std::uint32_t));
            auto* starts = reinterpret_cast<std::uint32_t*>(fetched + code_bytes);
            GPUHIST_CUDA(cudaMemcpyAsync(fetched, memory.codes, code_bytes, cudaMemcpyDeviceToHost, stream));
            GPUHIST_CUDA(cudaMemcpyAsync(starts, memory.starts, start_bytes, cudaMemcpyDeviceToHost, stream));
            GPUHIST_CUDA(cudaStreamSynchronize(stream));
            // Masked samples come after all others, together with those of the highest code.
            starts[values] = static_cast<std::uint32_t>(count) - masked;
            if (values > 0 && starts[values - 1] == starts[values]) --values;
            add<Sample>(reinterpret_cast<const Code*>(fetched), starts, values, channel);
        }
        all_masked += masked;
    }
    return all_masked;
}

void SortedAnalyzer::analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result,
                             cudaStream_t stream) {
    core::lay_out(result, image, request.luma_histogram, 0);
    const auto pixels = static_cast<std::uint64_t>(image.pixels());
    std::uint64_t masked = 0;
    with_sortable(image.depth, [&](auto sample) { masked = run<decltype(sample)>(image, result, stream); });
    core::set_pixels(result, pixels, pixels - masked);
}

}  // namespace gpuhist::cuda
