#include "cpu/weights.hpp"

#include <algorithm>
#include <type_traits>

#include "core/analysis.hpp"
#include "core/luma.hpp"
#include "cpu/classifier.hpp"
#include "dataset/frequency_table.hpp"

namespace gpuhist::cpu {
namespace {

constexpr int most_rows = 4;  ///< red, green, blue and luma

template <class Sample>
inline constexpr bool is_weighted = std::is_unsigned_v<Sample> && sizeof(Sample) <= 2;

}  // namespace

template <class Sample>
void WeightedAnalyzer::count(Workers& workers, const ImageView& image, const rules::ImageRules& rules,
                             std::size_t rows) {
    constexpr std::size_t values = traits_of(core::depth_of<Sample>()).values;
    const std::size_t colors = rows == 1 ? 1 : 3;
    const Positions at(image.order);
    const int position[3] = {rows == 1 ? 0 : at.red, at.green, at.blue};
    workers_.resize(static_cast<std::size_t>(workers.threads()));
    for (Sums& sums : workers_) {
        if (sums.weights.size() < rows * values) sums.weights.resize(rows * values);
        sums.lowest.assign(rows, values);
        sums.highest.assign(rows, 0);
        sums.classes = {};
    }
    workers.sweep_rows(image.height, image.width, [&](int worker, std::int64_t begin, std::int64_t end) {
        Sums& sums = workers_[static_cast<std::size_t>(worker)];
        BlockClasses classes;
        rules::ClassCounts own;
        std::uint32_t lowest[most_rows], highest[most_rows];
        std::copy_n(sums.lowest.begin(), rows, lowest);
        std::copy_n(sums.highest.begin(), rows, highest);
        const auto add = [&](std::size_t row, std::uint32_t code, std::uint64_t alpha) {
            sums.weights[row * values + code] += alpha;
            lowest[row] = std::min(lowest[row], code);
            highest[row] = std::max(highest[row], code);
        };
        for (std::int64_t y = begin; y < end; ++y)
            for (std::int64_t x = 0; x < image.width; x += block_pixels) {
                const int pixels = static_cast<int>(std::min(block_pixels, image.width - x));
                classify_block(image, rules, y, x, pixels, classes);
                const Sample* pixel = samples_at<Sample>(image, y, x);
                for (int i = 0; i < pixels; ++i, pixel += image.channels) {
                    if (!classes.unmasked[i]) continue;
                    ++own.unmasked;
                    const std::uint64_t alpha = pixel[3];
                    bool nodata = false;
                    for (std::size_t row = 0; row < colors; ++row) {
                        const int place = position[row];
                        if (classes.nodata[place][i]) {
                            nodata = true;
                            ++own.nodata[row];
                        } else {
                            add(row, pixel[place], alpha);
                        }
                    }
                    own.color_nodata += nodata;
                    if (rows > colors && !nodata)
                        add(colors, core::luma_code<Sample>(pixel[at.red], pixel[at.green], pixel[at.blue]), alpha);
                }
            }
        std::copy_n(lowest, rows, sums.lowest.begin());
        std::copy_n(highest, rows, sums.highest.begin());
        sums.classes += own;
    });
}

template <class Sample>
void WeightedAnalyzer::gather(const ImageView& image, bool sparse, Analysis& result) {
    constexpr std::size_t values = traits_of(core::depth_of<Sample>()).values;
    rules::ClassCounts classes;
    for (const Sums& sums : workers_) classes += sums.classes;
    for (std::size_t row = 0; row < result.channels.size(); ++row) {
        ChannelAnalysis& channel = result.channels[row];
        channel.pixels = static_cast<std::uint64_t>(image.pixels());
        channel.masked = channel.pixels - classes.unmasked;
        channel.nodata = channel.channel == Channel::luma ? classes.color_nodata : classes.nodata[row];
        std::uint32_t lowest = values, highest = 0;
        for (const Sums& sums : workers_) {
            lowest = std::min(lowest, sums.lowest[row]);
            highest = std::max(highest, sums.highest[row]);
        }
        if (lowest > highest) continue;  // no valid sample
        if (sparse) together_.assign(highest - lowest + 1, 0);
        std::uint64_t* const to = sparse ? together_.data() : channel.counts.data() + lowest;
        for (Sums& sums : workers_) {
            std::uint64_t* const from = sums.weights.data() + row * values;
            for (std::uint32_t code = sums.lowest[row]; code <= sums.highest[row] && code < values; ++code) {
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
