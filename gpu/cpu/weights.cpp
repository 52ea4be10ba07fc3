#include "cpu/weights.hpp"

#include <algorithm>

#include "core/analysis.hpp"
#include "core/codes.hpp"
#include "core/luma.hpp"
#include "core/weights.hpp"
#include "cpu/classifier.hpp"
#include "dataset/frequency_table.hpp"

namespace gpuhist::cpu {
namespace {

constexpr int most_weighted = 4;  ///< channels: red, green, blue and luma

template <class Sample>
inline constexpr bool is_weighted = traits_of(core::depth_of<Sample>()).alpha_unit > 0;

/// Verdict on a code: whether its sample is a finite number.
template <class Sample>
bool is_finite(std::uint32_t code) {
    if constexpr (core::is_real<Sample>)
        return code > core::minus_infinity_code<Sample> && code < core::plus_infinity_code<Sample>;
    else
        return true;
}

}  // namespace

template <class Sample>
void WeightedAnalyzer::count(Workers& workers, const ImageView& image, const rules::ImageRules& rules,
                             std::size_t channels) {
    constexpr std::size_t values = traits_of(core::depth_of<Sample>()).values;
    const std::size_t colors = channels == 1 ? 1 : 3;
    const Positions at(image.order);
    const int position[3] = {channels == 1 ? 0 : at.red, at.green, at.blue};
    workers_.resize(static_cast<std::size_t>(workers.threads()));
    for (Sums& sums : workers_) {
        if (sums.weights.size() < channels * values) sums.weights.resize(channels * values);
        sums.lowest.assign(channels, values);
        sums.highest.assign(channels, 0);
        sums.not_finite.assign(channels, {});
        sums.classes = {};
    }
    workers.sweep_rows(image.height, image.width, [&](int worker, std::int64_t begin, std::int64_t end) {
        Sums& sums = workers_[static_cast<std::size_t>(worker)];
        BlockClasses classes;
        rules::ClassCounts own;
        std::uint32_t lowest[most_weighted], highest[most_weighted];
        std::copy_n(sums.lowest.begin(), channels, lowest);
        std::copy_n(sums.highest.begin(), channels, highest);
        const auto add = [&](std::size_t channel, std::uint32_t code, std::uint64_t alpha) {
            if (!is_finite<Sample>(code)) return sums.not_finite[channel].add<Sample>(code, alpha);
            sums.weights[channel * values + code] += alpha;
            lowest[channel] = std::min(lowest[channel], code);
            highest[channel] = std::max(highest[channel], code);
        };
        for (std::int64_t y = begin; y < end; ++y)
            for (std::int64_t x = 0; x < image.width; x += block_pixels) {
                const int pixels = static_cast<int>(std::min(block_pixels, image.width - x));
                classify_block(image, rules, y, x, pixels, classes);
                const Sample* pixel = samples_at<Sample>(image, y, x);
                for (int i = 0; i < pixels; ++i, pixel += image.channels) {
                    if (!classes.unmasked[i]) continue;
                    ++own.unmasked;
                    const std::uint64_t alpha = core::weight_of(pixel[3]);
                    bool nodata = false;
                    for (std::size_t c = 0; c < colors; ++c) {
                        const int place = position[c];
                        if (classes.nodata[place][i]) {
                            nodata = true;
                            ++own.nodata[c];
                        } else {
                            add(c, core::code_of(pixel[place]), alpha);
                        }
                    }
                    own.color_nodata += nodata;
                    if (channels > colors && !nodata)
                        add(colors,
                            core::luma_code<Sample>(core::code_of(pixel[at.red]), core::code_of(pixel[at.green]),
                                                    core::code_of(pixel[at.blue])),
                            alpha);
                }
            }
        std::copy_n(lowest, channels, sums.lowest.begin());
        std::copy_n(highest, channels, sums.highest.begin());
        sums.classes += own;
    });
}

template <class Sample>
void WeightedAnalyzer::gather(const ImageView& image, bool sparse, Analysis& result) {
    constexpr std::size_t values = traits_of(core::depth_of<Sample>()).values;
    rules::ClassCounts classes;
    for (const Sums& sums : workers_) classes += sums.classes;
    for (std::size_t c = 0; c < result.channels.size(); ++c) {
        ChannelAnalysis& channel = result.channels[c];
        channel.pixels = static_cast<std::uint64_t>(image.pixels());
        channel.masked = channel.pixels - classes.unmasked;
        channel.nodata = channel.channel == Channel::luma ? classes.color_nodata : classes.nodata[c];
        std::uint32_t lowest = values, highest = 0;
        for (const Sums& sums : workers_) {
            lowest = std::min(lowest, sums.lowest[c]);
            highest = std::max(highest, sums.highest[c]);
            sums.not_finite[c].add_to(channel);
        }
        if (lowest > highest) continue;  // no valid sample
        if (sparse) together_.assign(highest - lowest + 1, 0);
        std::uint64_t* const to = sparse ? together_.data() : channel.counts.data() + lowest;
        for (Sums& sums : workers_) {
            std::uint64_t* const from = sums.weights.data() + c * values;
            for (std::uint32_t code = sums.lowest[c]; code <= sums.highest[c] && code < values; ++code) {
                to[code - lowest] += from[code];
                from[code] = 0;
            }
        }
        if (sparse) channel.values.add(core::run_of_counts(image.depth, lowest, to, together_.size()));
    }
}

void WeightedAnalyzer::analyze(Workers& workers, const ImageView& image, const rules::ImageRules& rules,
                               const AnalysisRequest& request, bool sparse, Analysis& result) {
    ImageView alone = image;  // without alpha
    alone.channels = image.samples == Samples::gray_alpha ? 1 : 3;
    with_depth(image.depth, [&](auto type) {
        using Sample = decltype(type);
        if constexpr (is_weighted<Sample>) {
            const DepthTraits& traits = traits_of(image.depth);
            core::lay_out(result, alone, request.luma_histogram, sparse ? 0 : traits.values);
            result.range = counted_range(traits);
            result.weighted = true;
            count<Sample>(workers, image, rules, result.channels.size());
            gather<Sample>(image, sparse, result);
        }
    });
}

}  // namespace gpuhist::cpu
