// Images with excluded samples, of every depth, by masks and rules of every sort.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "gpuhist/request.hpp"
#include "support/oracle.hpp"
#include "support/raster.hpp"

namespace gpuhist::test {

/// Image, what leaves samples out of it, and the classes of its samples.
struct ValidityCase {
    Raster image;
    std::vector<std::uint8_t> mask;
    std::int64_t mask_row = 0;
    Validity validity;

    ImageView view() const {
        ImageView view = image.view();
        if (mask.empty()) return view;
        view.mask = mask.data();
        view.mask_row_bytes = mask_row;
        return view;
    }
    AnalysisRequest request() const {
        AnalysisRequest request;
        request.range = Range{-20, 20};
        request.bins = 50;
        request.validity = std::make_shared<Validity>(validity);
        return request;
    }
    /// Channel of the samples at a place in the pixel.
    Channel channel(int c) const {
        const bool parts = image.channels == 2 || image.channels > 4;
        const bool bands = image.samples == Samples::bands || (parts && image.samples != Samples::color_bands);
        if (bands) return band(c);
        if (image.samples == Samples::color_bands && c > 2) return extra(c - 2);
        if (image.channels == 1) return Channel::gray;
        if (c == 3) return Channel::alpha;
        const Channel rgb[] = {Channel::red, Channel::green, Channel::blue};
        return rgb[image.order == ChannelOrder::bgr ? 2 - c : c];
    }
    bool masks(std::int64_t x, std::int64_t y) const {
        if (!mask.empty() && mask[static_cast<std::size_t>(y * mask_row + x)] == 0) return true;
        return validity.alpha == AlphaRule::mask && channel(3) == Channel::alpha && image.channels == 4 &&
               image.value(x, y, 3) == 0;
    }
    bool own_nodata(std::int64_t x, std::int64_t y, int c) const {
        const double v = image.value(x, y, c);
        for (const auto& [named, value] : validity.nodata)
            if (named ? *named == channel(c) : channel(c) != Channel::alpha)
                if (v == value || (std::isnan(v) && std::isnan(value))) return true;
        const Validity::Interval* interval = nullptr;
        for (const Validity::Interval& one : validity.valid) {
            if (!one.channel && channel(c) != Channel::alpha && !interval) interval = &one;
            if (one.channel == channel(c)) interval = &one;
        }
        return interval && (v < interval->lowest || v > interval->highest);
    }
    /// Verdict on a sample: whether it is nodata by its value, whatever mask and bounds say.
    bool names(std::int64_t x, std::int64_t y, int c) const {
        for (int other = validity.nodata_any ? 0 : c; other < (validity.nodata_any ? image.channels : c + 1); ++other) {
            const double v = image.value(x, y, other);
            for (const auto& [named, value] : validity.nodata)
                if (named ? *named == channel(other) : channel(other) != Channel::alpha)
                    if (v == value || (std::isnan(v) && std::isnan(value))) return true;
        }
        return false;
    }
    bool nodata(std::int64_t x, std::int64_t y, int c) const {
        if (!validity.nodata_any) return own_nodata(x, y, c);
        for (int other = 0; other < image.channels; ++other)
            if (own_nodata(x, y, other)) return true;
        return false;
    }
};

/// Case of every sort of rule that an image of this kind may have.
inline ValidityCase make_validity_case(Depth depth, int channels, int variant) {
    ValidityCase made{
        raster(depth, channels, Fill::few, 131, 23, variant % 3, 11 + static_cast<std::uint64_t>(variant)), {}, 0, {}};
    Raster& image = made.image;
    image.order = variant % 2 ? ChannelOrder::bgr : ChannelOrder::rgb;
    if (channels == 2 || channels > 4) image.samples = Samples::bands;
    if (channels == 5 && variant % 2 == 0) image.samples = Samples::color_bands;
    if (image.samples == Samples::bands) image.order = ChannelOrder::rgb;
    if (traits_of(depth).floating)
        for (std::int64_t y = 0; y < image.height; ++y)
            for (int c = 0; c < channels; ++c) {
                image.set(5 * y % image.width, y, c, std::numeric_limits<double>::quiet_NaN());
                image.set(7 * y % image.width, y, c, -std::numeric_limits<double>::infinity());
                image.set((3 * y + 1 + c) % image.width, y, c, std::numeric_limits<double>::infinity());
            }
    if (variant != 1) {
        made.mask_row = image.width + variant;
        made.mask.assign(static_cast<std::size_t>(made.mask_row * image.height), 1);
        std::uint64_t seed = 5;
        for (std::int64_t y = 0; y < image.height; ++y)
            for (std::int64_t x = 0; x < image.width; ++x)
                made.mask[static_cast<std::size_t>(y * made.mask_row + x)] = y < 3                       ? 0
                                                                             : y < 6                     ? 7
                                                                             : scramble(++seed) % 3 == 0 ? 0
                                                                                                         : 255;
    }
    switch (variant) {
        case 1:
            made.validity.nodata = {{{}, 3}};
            break;
        case 2:
            made.validity.nodata = {{{}, 2}, {made.channel(channels - 1), 4}};
            made.validity.valid = {{{}, 1, 8}};
            made.validity.alpha = AlphaRule::mask;
            break;
        case 3:
            made.validity.nodata = {{{}, std::numeric_limits<double>::quiet_NaN()}, {{}, 4}};
            made.validity.valid = {{{}, 0, 9}, {made.channel(0), 2, 5}};
            made.validity.nodata_any = true;
            break;
        case 4:
            made.validity.alpha = AlphaRule::ignore;
            made.validity.nodata = {{{}, 1e30}};
            break;
        default:
            break;
    }
    return made;
}
inline constexpr int validity_variants = 5;

}  // namespace gpuhist::test
