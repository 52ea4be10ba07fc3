// Results of requests with rules: put together of those of the counting kernels, one block per channel.

#include <algorithm>

#include "core/codes.hpp"
#include "cuda/host/launcher.cuh"
#include "cuda/results.cuh"
#include "cuda/rules/channel.cuh"
#include "cuda/rules/classes.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int threads = channel_threads;

/// Kernel of one image's result. Launch: one block per channel, and as many more as the counts of floats are worth;
/// blocks of a channel copy a part of these. The last to end publishes the result, but for tables that it lacks.
__global__ void __launch_bounds__(threads)
    valid_result_kernel(const __grid_constant__ ValidParameters p, int channels, int parts) {
    __shared__ bool last;
    const Common& common = p.common;
    const int c = static_cast<int>(blockIdx.x) / parts, part = static_cast<int>(blockIdx.x) % parts,
              position = position_of(c, p.channels, common.rgb);
    const char* found = position < 0 && p.found_luma ? p.found_luma : p.found;
    const auto& from = *reinterpret_cast<const ImageResult*>(found);
    ImageResult& to = *result_of(common, 0);
    const std::uint64_t channel_bytes = std::uint64_t{common.bins} * sizeof(Word);
    const auto* counts = reinterpret_cast<const Word*>(found + from.counts_offset + c * channel_bytes);
    Word* counts_to = counts_of(common, 0, c);
    // Counts of luma may decide a copy, reported or not.
    const bool counted = position >= 0 || common.report_luma || common.normalize;
    const auto& all = *reinterpret_cast<const ImageResult*>(p.found);
    const auto looked_at = [](const ChannelResult& channel) {
        return channel.samples + channel.nan + channel.infinite;
    };
    const Word pixels = all.pixels, not_masked = p.sums ? p.sums->unmasked : looked_at(all.channels[0]);

    if (!p.substituted && position >= 0 && p.rules.any && !p.rules.nodata_any) {
        const int lowest = common.depth == Depth::s8 ? -128 : common.depth == Depth::s16 ? -32768 : 0;
        copy_channel(common, counts, counts_to, to.channels[c],
                     [&](std::uint32_t code) { return p.rules.is_nodata(position, static_cast<int>(code) + lowest); });
    } else {
        for (std::uint32_t bin = part * threads + threadIdx.x; counted && bin < common.bins; bin += parts * threads)
            counts_to[bin] = counts[bin];
        if (part == 0 && threadIdx.x == 0) to.channels[c] = from.channels[c];
    }
    if (part == 0 && threadIdx.x == 0) {
        ChannelResult& channel = to.channels[c];
        if (p.substituted) {
            const rules::Excluded excluded = rules::excluded(*p.sums, pixels, position);
            channel.nodata = excluded.nodata;
            channel.nan -= excluded.masked + excluded.nodata;
        } else {
            channel.nodata = not_masked - looked_at(channel);
        }
    }
    if (c == 0 && part == 0) {
        if (threadIdx.x == 0) {
            write_header(common, 0, static_cast<std::int64_t>(pixels), p.without_alpha ? channels - 1 : channels);
            to.detail = all.detail;
            to.upper_closed = all.upper_closed;
            to.range = all.range;
        }
        if (common.layout.details_offset != 0)
            for (std::size_t at = common.layout.details_offset + threadIdx.x * sizeof(Word);
                 at < common.layout.counts_offset; at += threads * sizeof(Word))
                *reinterpret_cast<Word*>(common.results + at) = *reinterpret_cast<const Word*>(p.found + at);
    }
    // Counts of f16 have NaN among them.
    if (p.substituted && common.depth == Depth::f16) {
        __syncthreads();  // the counts, for the thread that changes one
        if (threadIdx.x == 0 && part == 0) {
            const std::uint32_t code = core::nan_code<Half>;
            counts_to[code] -= pixels - not_masked + to.channels[c].nodata;
        }
    }
    const bool complete = common.layout.tables_offset == 0;
    if (arrive_last(p.arrived, gridDim.x, &last) && threadIdx.x == 0 && complete) publish(&to);
}

}  // namespace

void launch_valid_result(const ValidParameters& parameters, const Launch& launch) {
    const int channels = measured_channels(parameters.channels),
              parts = static_cast<int>(
                  parameters.substituted && parameters.common.depth == Depth::f32
                      ? std::clamp<std::uint32_t>(parameters.common.bins / 65536, 1, launch.multiprocessors / channels)
                      : 1);
    const LaunchConfiguration configuration{std::int64_t{channels} * parts, threads, 0, 1};
    launch_kernel(launch, valid_result_kernel, false, configuration, parameters, channels, parts);
}

}  // namespace gpuhist::cuda
