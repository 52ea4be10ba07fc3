#include "gpuhist/io/joint.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <opencv2/core.hpp>

#include "encode/encode.hpp"
#include "gpuhist/io/report.hpp"
#include "report/axis.hpp"
#include "report/canvas.hpp"
#include "report/labels.hpp"
#include "report/look.hpp"

namespace gpuhist::io {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays of NumPy are written as they are in memory");

/// Sizes in pixels: the drawing is a square.
constexpr int drawing_side = 640, heading_height = 76, axis_width = 96, scale_width = 22, scale_room = 150,
              axis_height = 78;

/// Viridis, which also readers with deficient color vision see as evenly brighter.
constexpr std::array<std::uint32_t, 17> viridis{0x440154, 0x48186A, 0x472D7B, 0x424086, 0x3B528B, 0x33638D,
                                                0x2C728E, 0x26828E, 0x21918C, 0x1FA088, 0x28AE80, 0x3FBC73,
                                                0x5EC962, 0x84D44B, 0xADDC30, 0xD8E219, 0xFDE725};

/// Color of a place from 0 to 1, in steps that the eye does not tell apart: a drawing has few colors then.
Color viridis_at(double place) {
    constexpr double steps = 128;
    const double at = std::round(std::clamp(place, 0.0, 1.0) * steps) / steps * (viridis.size() - 1);
    const auto first = std::min(static_cast<std::size_t>(at), viridis.size() - 2);
    Color mixed;
    for (int c = 0; c < 3; ++c) {
        const double low = viridis[first] >> (8 * c) & 0xFF, high = viridis[first + 1] >> (8 * c) & 0xFF;
        mixed[c] = static_cast<unsigned char>(std::lround(low + (high - low) * (at - static_cast<double>(first))));
    }
    return mixed;
}

/// Bins that a pixel shows, of those of a side: [first, end), at least one.
std::pair<std::uint32_t, std::uint32_t> bins_of_pixel(int pixel, std::uint32_t bins) {
    const auto at = [&](int place) {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(place) * bins / drawing_side);
    };
    const std::uint32_t first = at(pixel);
    return {first, std::max(first + 1, at(pixel + 1))};
}

class JointDrawing {
  public:
    JointDrawing(const JointHistogram& histogram, const JointPlot& plot, PlotTheme theme)
        : histogram_(histogram),
          plot_(plot),
          look_(look_of(theme)),
          image_(heading_height + drawing_side + axis_height, axis_width + drawing_side + scale_room, CV_8UC3,
                 cv::Scalar(look_.paper)),
          canvas_(raster_canvas(image_)),
          axis_(static_cast<double>(*std::max_element(histogram.counts().begin(), histogram.counts().end())), true,
                drawing_side) {}

    cv::Mat draw() {
        canvas_->text(shorten(plot_.title, image_.cols - 2 * margin, title_size, *canvas_), margin, 34, title_size,
                      look_.ink);
        canvas_->text(numbers(), margin, 58, text_size, look_.faint);
        draw_bins();
        draw_axes();
        draw_scale();
        return image_;
    }

  private:
    std::string numbers() const {
        std::string text = count_text(static_cast<double>(histogram_.pixels())) + " pixels";
        if (const auto r = histogram_.pearson()) text += "  \u00b7  correlation " + brief(r);
        if (const auto shared = histogram_.mutual_information())
            text += "  \u00b7  mutual information " + brief(shared) + " bits";
        if (histogram_.outside() > 0)
            text += "  \u00b7  " + count_text(static_cast<double>(histogram_.outside())) + " outside";
        return text;
    }

    void draw_bins() {
        const std::uint32_t bins = histogram_.bins();
        for (int y = 0; y < drawing_side; ++y)
            for (int x = 0; x < drawing_side; ++x) {
                const auto [first, first_end] = bins_of_pixel(x, bins);
                const auto [second, second_end] = bins_of_pixel(drawing_side - 1 - y, bins);
                std::uint64_t most = 0;
                for (std::uint32_t i = first; i < first_end; ++i)
                    for (std::uint32_t j = second; j < second_end; ++j)
                        most = std::max(most, histogram_.counts()[std::size_t{i} * bins + j]);
                if (most > 0)
                    image_.at<Color>(heading_height + y, axis_width + x) =
                        viridis_at(axis_.height(static_cast<double>(most)));
            }
    }

    void draw_axes() {
        const int bottom = heading_height + drawing_side, right = axis_width + drawing_side;
        canvas_->fill({axis_width - 1, bottom, right, bottom + 1}, {look_.axis, 1});
        canvas_->fill({axis_width - 1, heading_height, axis_width, bottom}, {look_.axis, 1});
        const auto width = [this](const std::string& text) { return canvas_->width(text, small_size); };
        for (int which = 0; which < 2; ++which) {
            const JointAxis& axis = histogram_.axis(which);
            const bool whole = !traits_of(axis.depth).floating && axis.range.lower == std::floor(axis.range.lower);
            for (const Tick& tick : value_ticks(axis.range, whole, drawing_side, width)) {
                const double place = place_in(axis.range, whole ? tick.value + 0.5 : tick.value);
                const int at = static_cast<int>(std::lround(place * drawing_side));
                if (at < 0 || at > drawing_side) continue;
                if (which == 0) {
                    canvas_->vertical(axis_width + at, bottom, bottom + 6, {look_.axis, 1});
                    canvas_->text(tick.label, axis_width + at, bottom + 22, small_size, look_.faint,
                                  Canvas::Anchor::middle);
                } else {
                    canvas_->fill({axis_width - 7, bottom - at, axis_width - 1, bottom - at + 1}, {look_.axis, 1});
                    canvas_->text(tick.label, axis_width - 11, bottom - at + 5, small_size, look_.faint,
                                  Canvas::Anchor::right);
                }
            }
        }
        canvas_->text(plot_.first, axis_width + drawing_side / 2.0, bottom + 56, text_size, look_.ink,
                      Canvas::Anchor::middle);
        canvas_->text_upwards(plot_.second, 24, heading_height + drawing_side / 2.0, text_size, look_.ink);
    }

    void draw_scale() {
        const int left = axis_width + drawing_side + 26, bottom = heading_height + drawing_side;
        for (int y = 0; y < drawing_side; ++y)
            canvas_->fill({left, bottom - y - 1, left + scale_width, bottom - y},
                          {viridis_at(static_cast<double>(y) / (drawing_side - 1)), 1});
        for (const Tick& tick : axis_.ticks()) {
            const int at = bottom - static_cast<int>(std::lround(axis_.height(tick.value) * drawing_side));
            if (at < heading_height || at > bottom) continue;
            canvas_->fill({left + scale_width, at, left + scale_width + 6, at + 1}, {look_.axis, 1});
            canvas_->text(tick.label, left + scale_width + 10, at + 5, small_size, look_.faint);
        }
        canvas_->text("pixels (log)", left - 8, bottom + 56, text_size, look_.ink);
    }

    const JointHistogram& histogram_;
    const JointPlot& plot_;
    const Look& look_;
    cv::Mat image_;
    std::unique_ptr<Canvas> canvas_;
    CountAxis axis_;
};

}  // namespace

std::string joint_csv(const JointHistogram& histogram) {
    const std::uint32_t bins = histogram.bins();
    std::array<std::vector<std::string>, 2> edges;
    for (int which = 0; which < 2; ++which)
        for (std::uint32_t bin = 0; bin < bins; ++bin)
            edges[static_cast<std::size_t>(which)].push_back(shortest(histogram.edge(which, bin)));
    std::string text = "first,second,count\n";
    for (std::uint32_t i = 0; i < bins; ++i)
        for (std::uint32_t j = 0; j < bins; ++j)
            if (const std::uint64_t count = histogram.counts()[std::size_t{i} * bins + j])
                text.append(edges[0][i])
                    .append(1, ',')
                    .append(edges[1][j])
                    .append(1, ',')
                    .append(std::to_string(count))
                    .append(1, '\n');
    return text;
}

std::vector<unsigned char> joint_npy(const JointHistogram& histogram) {
    const std::string bins = std::to_string(histogram.bins());
    std::string header = "{'descr': '<u8', 'fortran_order': False, 'shape': (" + bins + ", " + bins + "), }";
    constexpr std::size_t begin = 10, alignment = 64;
    header.append((alignment - (begin + header.size() + 1) % alignment) % alignment, ' ').append(1, '\n');
    std::vector<unsigned char> bytes{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    bytes.push_back(static_cast<unsigned char>(header.size() & 0xFF));
    bytes.push_back(static_cast<unsigned char>(header.size() >> 8));
    bytes.insert(bytes.end(), header.begin(), header.end());
    const std::vector<std::uint64_t>& counts = histogram.counts();
    const std::size_t first = bytes.size();
    bytes.resize(first + counts.size() * sizeof counts[0]);
    std::memcpy(bytes.data() + first, counts.data(), counts.size() * sizeof counts[0]);
    return bytes;
}

cv::Mat draw_joint(const JointHistogram& histogram, const JointPlot& plot, PlotTheme theme) {
    return JointDrawing(histogram, plot, theme).draw();
}

std::vector<unsigned char> encode_joint(const JointHistogram& histogram, const JointPlot& plot, PlotTheme theme) {
    return encode_drawing(draw_joint(histogram, plot, theme), "joint.png");
}

}  // namespace gpuhist::io
