#include "gpuhist/flags.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpuhist {
namespace {

using Channel = FlagNumbers::Channel;

/// Whether a channel has samples of its own that are no alpha.
bool is_color_or_band(const Channel& channel) {
    return channel.name != "luma" && channel.name != "all" && channel.name != "alpha";
}

/// Entropy of the histograms of all colors or bands, joined: each value of each channel has a bin of its own.
std::optional<double> joined_entropy(const FlagNumbers& image) {
    double sum = 0;
    std::size_t count = 0;
    for (const Channel& channel : image.channels) {
        if (!is_color_or_band(channel)) continue;
        if (!channel.entropy) return std::nullopt;
        sum += *channel.entropy;
        ++count;
    }
    if (count == 0) return std::nullopt;
    return sum / static_cast<double>(count) + std::log2(static_cast<double>(count));
}

/// Standard deviation, in pixels, of the Gaussian that would blur a sharp edge to the width of the image's edges.
/// Rounding to integers adds a Laplacian of its own: each sample has an error of variance 1/12, and the squares of the
/// kernel's weights add up to 20.
std::optional<double> edge_width(const FlagNumbers& image) {
    if (!image.sharpness_laplacian || !image.sharpness_tenengrad) return std::nullopt;
    if (!(*image.sharpness_tenengrad > 0)) return std::nullopt;  // no edges
    constexpr double widest = 1e6;
    const double laplacian = *image.sharpness_laplacian - (image.integers ? 5.0 / 3 : 0);
    if (!(laplacian > 0)) return widest;
    return std::min(widest, std::sqrt(*image.sharpness_tenengrad / (128 * laplacian)));
}

std::optional<double> spread(const FlagNumbers& image) {
    std::optional<double> widest;
    for (const Channel& channel : image.channels)
        if (is_color_or_band(channel) && channel.min && channel.max)
            widest = std::max(widest.value_or(0), *channel.max - *channel.min);
    return widest;
}

std::optional<double> clipped(const FlagNumbers& image) {
    for (const char* name : {"luma", "gray", "all"})
        for (const Channel& channel : image.channels)
            if (channel.name == name)
                return channel.clipped_low || channel.clipped_high
                           ? std::optional(std::max(channel.clipped_low.value_or(0), channel.clipped_high.value_or(0)))
                           : std::nullopt;
    return std::nullopt;
}

double not_finite(const FlagNumbers& image) {
    double sum = 0;
    for (const Channel& channel : image.channels)
        if (channel.name != "luma" && channel.name != "all") sum += channel.nan + channel.inf;
    return sum;
}

std::optional<double> gray(const FlagNumbers& image) {
    for (const Channel& channel : image.channels)
        if (channel.name == "gray") return 1;
    return image.gray.value_or(0) > 0 ? std::optional(1.0) : std::nullopt;
}

}  // namespace

std::optional<double> flag_value(Flag flag, const FlagNumbers& image) {
    switch (flag) {
        case Flag::dark:
            return image.brightness_p99;
        case Flag::light:
            return image.brightness_p5;
        case Flag::low_information:
            return joined_entropy(image);
        case Flag::low_contrast:
            return image.contrast_rms;
        case Flag::blurry:
            return edge_width(image);
        case Flag::noisy:
            return image.noise && image.white > 0 ? std::optional(*image.noise / image.white) : std::nullopt;
        case Flag::odd_aspect_ratio:
            return std::min(image.width / image.height, image.height / image.width);
        case Flag::odd_size:
            return std::sqrt(image.width) * std::sqrt(image.height);
        case Flag::grayscale:
            return gray(image);
        case Flag::constant:
            return spread(image);
        case Flag::clipped:
            return clipped(image);
        case Flag::nan:
            return not_finite(image);
        case Flag::duplicate:
        case Flag::near_duplicate:
            break;
    }
    return std::nullopt;
}

bool is_flagged(Flag flag, double value, double threshold) {
    switch (traits_of(flag).side) {
        case FlagSide::below:
            return value < threshold;
        case FlagSide::above:
            return value > threshold;
        case FlagSide::at_most:
            return value <= threshold;
        case FlagSide::present:
            return true;
        case FlagSide::outside:
            break;
    }
    return false;
}

UsualSizes usual_sizes(std::vector<double> sizes, double factor) {
    const auto quartile = [&](double q) {
        const double place = q * static_cast<double>(sizes.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(below);
        std::nth_element(sizes.begin(), at, sizes.end());
        const double low = *at;
        if (below + 1 == sizes.size()) return low;
        const double high = *std::min_element(at + 1, sizes.end());
        const double part = place - static_cast<double>(below);
        return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);  // as NumPy rounds
    };
    const double q1 = quartile(0.25), q3 = quartile(0.75);
    return {q1 - factor * (q3 - q1), q3 + factor * (q3 - q1)};
}

}  // namespace gpuhist
