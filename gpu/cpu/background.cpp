// background: the bilinear surface through the medians of tiles, subtracted.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/codes.hpp"
#include "core/levels.hpp"
#include "cpu/by_place.hpp"
#include "normalize/background.hpp"
#include "normalize/depths.hpp"

namespace gpuhist::cpu {
namespace {

/// Medians of the tiles of a channel.
std::vector<double> medians_of(Workers& workers, const NormalizedPixels& pixels, int channel, const core::Knots& across,
                               const core::Knots& down) {
    const ImageView& image = traits_of(pixels.image.depth).counting == Counting::bins ? pixels.counted : pixels.image;
    const std::int64_t tiles = across.tiles * down.tiles;
    std::vector<double> medians(static_cast<std::size_t>(tiles), std::numeric_limits<double>::quiet_NaN());
    with_depth(image.depth, [&](auto sample) {
        using Sample = decltype(sample);
        workers.sweep(
            tiles, 1, image.pixels() < serial_pixels ? std::numeric_limits<std::int64_t>::max() : 0, workers.threads(),
            [&](int, std::int64_t begin, std::int64_t end) {
                std::vector<double> values;
                for (std::int64_t tile = begin; tile < end; ++tile) {
                    values.clear();
                    const auto i = static_cast<std::size_t>(tile % across.tiles),
                               j = static_cast<std::size_t>(tile / across.tiles);
                    for (std::int64_t y = down.edges[j]; y < down.edges[j + 1]; ++y) {
                        const auto* row = reinterpret_cast<const Sample*>(static_cast<const std::byte*>(image.data) +
                                                                          y * image.row_bytes);
                        for (std::int64_t x = across.edges[i]; x < across.edges[i + 1]; ++x) {
                            if (image.mask && !image.mask[y * image.mask_row_bytes + x]) continue;
                            if (pixels.valid && !pixels.valid[(y * image.width + x) * image.channels + channel])
                                continue;
                            const double value = core::value_of(row[x * image.channels + channel]);
                            if (std::isfinite(value)) values.push_back(value);
                        }
                    }
                    if (!values.empty()) medians[static_cast<std::size_t>(tile)] = core::median_of(values);
                }
            });
    });
    core::complete_medians(medians);
    return medians;
}

}  // namespace

void apply_background(Workers& workers, const NormalizedPixels& pixels, const Normalization& normalization,
                      const MutableImageView& output) {
    const ImageView& image = pixels.image;
    const core::Knots across(image.width, normalization.tiles_x), down(image.height, normalization.tiles_y);
    const core::Levels levels = core::levels_of(output.depth, normalization.fill);
    const int colors = std::min(image.channels, 3);
    for (int channel = 0; channel < image.channels; ++channel) {
        std::vector<double> medians;
        if (channel < colors) medians = medians_of(workers, pixels, channel, across, down);
        with_depth(image.depth, [&](auto type) {
            using Sample = decltype(type);
            const auto settled = [&](Sample v) {
                if constexpr (core::is_real<Sample>)
                    return v;
                else
                    return channel < colors ? core::to_depth<Sample>(v, levels) : v;
            };
            workers.sweep_rows(image.height, image.width, [&](int, std::int64_t begin, std::int64_t end) {
                for (std::int64_t y = begin; y < end; ++y) {
                    const auto* in = reinterpret_cast<const Sample*>(static_cast<const std::byte*>(image.data) +
                                                                     y * image.row_bytes) +
                                     channel;
                    auto* out = reinterpret_cast<Sample*>(static_cast<std::byte*>(output.data) + y * output.row_bytes) +
                                channel;
                    const auto row = static_cast<std::size_t>(y);
                    const double lower = down.to_second[row], upper = 1 - lower;
                    const std::int64_t above = down.first[row], below = std::min(above + 1, down.tiles - 1);
                    for (std::int64_t x = 0; x < image.width; ++x, in += image.channels, out += image.channels) {
                        if (medians.empty()) {
                            *out = settled(*in);
                            continue;
                        }
                        const auto column = static_cast<std::size_t>(x);
                        const double right = across.to_second[column], left = 1 - right;
                        const std::int64_t x1 = across.first[column], x2 = std::min(x1 + 1, across.tiles - 1);
                        const auto at = [&](std::int64_t i, std::int64_t j) {
                            return medians[static_cast<std::size_t>(j * across.tiles + i)];
                        };
                        const double surface = (at(x1, above) * left + at(x2, above) * right) * upper +
                                               (at(x1, below) * left + at(x2, below) * right) * lower;
                        const double distance = core::value_of(*in) - surface;
                        if constexpr (core::is_real<Sample>) {
                            *out = core::rounded_to<Sample>(distance);
                        } else {
                            const double lowest = traits_of(image.depth).lowest,
                                         range = traits_of(image.depth).highest - lowest;
                            const double code = std::clamp(std::floor(distance + 0.5) - lowest, 0.0, range);
                            *out = core::at_level<Sample>(levels.clamp(static_cast<std::uint32_t>(code)));
                        }
                    }
                }
            });
        });
    }
}

}  // namespace gpuhist::cpu
