#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "cpu/workers.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/pixel_stack.hpp"
#include "gpuhist/resources.hpp"

namespace gpuhist {
namespace {

constexpr double sigma_of_mad = 1.4826;

/// Median, the mean of the middle two of an even number. Sorts a part of the values; there is at least one.
double median(double* first, std::size_t count) {
    double* const middle = first + count / 2;
    std::nth_element(first, middle, first + count);
    if (count % 2 == 1) return *middle;
    return (*std::max_element(first, middle) + *middle) / 2;
}

/// Median of the means of the neighbors of a pixel; NaN without any.
double neighbors_of(const double* means, std::int64_t width, std::int64_t height, int channels, std::int64_t x,
                    std::int64_t y, int channel) {
    std::array<double, 8> values;
    std::size_t count = 0;
    for (std::int64_t row = std::max<std::int64_t>(y - 1, 0); row <= std::min(y + 1, height - 1); ++row)
        for (std::int64_t column = std::max<std::int64_t>(x - 1, 0); column <= std::min(x + 1, width - 1); ++column) {
            if (row == y && column == x) continue;
            const double value = means[(row * width + column) * channels + channel];
            if (!std::isnan(value)) values[count++] = value;
        }
    return count > 0 ? median(values.data(), count) : std::numeric_limits<double>::quiet_NaN();
}

/// Keeps the pixels with the largest scores; of equal ones the first.
void keep_most(std::vector<OddPixel>& pixels, std::uint64_t most) {
    if (pixels.size() <= most) return;
    std::stable_sort(pixels.begin(), pixels.end(),
                     [](const OddPixel& a, const OddPixel& b) { return std::abs(a.score) > std::abs(b.score); });
    pixels.resize(most);
}

}  // namespace

OddPixels odd_pixels(const std::vector<double>& means, const std::vector<std::uint8_t>& constant, std::int64_t width,
                     std::int64_t height, int channels, double sigmas, std::uint64_t most, int threads) {
    if (!(sigmas >= 0)) throw InvalidArgument("odd pixels: the number of sigmas must be 0 or more");
    cpu::Workers workers(threads > 0 ? threads : available_threads());
    const auto pixels = static_cast<std::size_t>(width * height);
    OddPixels found;
    std::vector<double> residuals(pixels), sorted;
    for (int c = 0; c < channels; ++c) {
        workers.sweep_rows(height, width, [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t y = begin; y < end; ++y)
                for (std::int64_t x = 0; x < width; ++x)
                    residuals[static_cast<std::size_t>(y * width + x)] =
                        means[static_cast<std::size_t>((y * width + x) * channels + c)] -
                        neighbors_of(means.data(), width, height, channels, x, y, c);
        });
        sorted.clear();
        std::copy_if(residuals.begin(), residuals.end(), std::back_inserter(sorted),
                     [](double value) { return !std::isnan(value); });
        double center = 0, scale = 0;
        if (!sorted.empty()) {
            center = median(sorted.data(), sorted.size());
            for (double& value : sorted) value = std::abs(value - center);
            scale = sigma_of_mad * median(sorted.data(), sorted.size());
        }
        std::vector<OddPixel> stuck, hot, cold;
        for (std::size_t i = 0; i < pixels; ++i) {
            const auto x = static_cast<std::int64_t>(i) % width, y = static_cast<std::int64_t>(i) / width;
            const std::size_t sample = i * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c);
            const double distance = residuals[i] - center;
            const bool stands_out = std::abs(distance) > sigmas * scale;
            if (!constant[sample] && !stands_out) continue;
            OddPixel pixel{x, y, c, "", means[sample], neighbors_of(means.data(), width, height, channels, x, y, c), 0};
            if (constant[sample]) {
                ++found.stuck;
                pixel.kind = "stuck";
                if (stuck.size() < most) stuck.push_back(pixel);
            }
            if (!stands_out) continue;
            pixel.kind = distance > 0 ? "hot" : "cold";
            pixel.score = distance / scale;
            ++(distance > 0 ? found.hot : found.cold);
            (distance > 0 ? hot : cold).push_back(pixel);
        }
        for (std::vector<OddPixel>* kind : {&stuck, &hot, &cold}) {
            keep_most(*kind, most);
            found.listed.insert(found.listed.end(), kind->begin(), kind->end());
        }
    }
    const auto place = [](const OddPixel& pixel) { return std::tuple(pixel.y, pixel.x, pixel.channel); };
    std::stable_sort(found.listed.begin(), found.listed.end(),
                     [&](const OddPixel& a, const OddPixel& b) { return place(a) < place(b); });
    return found;
}

}  // namespace gpuhist
