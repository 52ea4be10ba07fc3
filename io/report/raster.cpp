#include <algorithm>
#include <cmath>

#include "report/canvas.hpp"

namespace gpuhist::io {
namespace {

/// Colors under an ink, sample by sample.
class Blended {
  public:
    explicit Blended(const Ink& ink) {
        for (int value = 0; value < 256; ++value) {
            const auto sample = static_cast<unsigned char>(value);
            blend(table_[value] = Color(sample, sample, sample), ink.color, ink.opacity);
        }
    }
    void operator()(Color& pixel) const {
        for (int c = 0; c < 3; ++c) pixel[c] = table_[pixel[c]][c];
    }

  private:
    Color table_[256];
};

class RasterCanvas : public Canvas {
  public:
    explicit RasterCanvas(cv::Mat& image) : image_(image) {}

    void fill(const Box& box, const Ink& ink) override {
        for (int y = std::max(0, box.top); y < std::min(box.bottom, image_.rows); ++y) {
            Color* row = image_.ptr<Color>(y);
            for (int x = std::max(0, box.left); x < std::min(box.right, image_.cols); ++x)
                ink.opacity < 1 ? blend(row[x], ink.color, ink.opacity) : void(row[x] = ink.color);
        }
    }

    void vertical(int x, int top, int bottom, const Ink& ink, int dash) override {
        for (int y = top; y<bottom; y += dash> 0 ? 2 * dash : bottom - top)
            fill({x, y, x + 1, dash > 0 ? std::min(y + dash, bottom) : bottom}, ink);
    }

    void line(double x0, double y0, double x1, double y1, const Color& color) override {
        const double across = x1 - x0, down = y1 - y0, length = std::max(std::hypot(across, down), 1e-9);
        const auto first = [](double a, double b) { return std::max(0, static_cast<int>(std::floor(std::min(a, b)))); };
        const auto last = [](double a, double b, int end) {
            return std::min(end - 1, static_cast<int>(std::ceil(std::max(a, b))));
        };
        for (int y = first(y0, y1); y <= last(y0, y1, image_.rows); ++y)
            for (int x = first(x0, x1); x <= last(x0, x1, image_.cols); ++x) {
                const double along = ((x - x0) * across + (y - y0) * down) / length,
                             off = std::abs((x - x0) * down - (y - y0) * across) / length,
                             over = std::max({0.0, -along, along - length});  // either end
                const double coverage = std::max(0.0, 1 - std::hypot(off, over));
                blend(image_.at<Color>(y, x), color,
                      static_cast<float>(coarse(static_cast<unsigned char>(std::lround(255 * coverage)))) / 255);
            }
    }

    void fill_steps(const Box& box, const Steps& steps, const Ink& ink) override {
        if (steps.empty()) return;
        const Blended blended(ink);
        for (int y = std::max(box.top, *std::min_element(steps.begin(), steps.end())); y < box.bottom; ++y) {
            Color* row = image_.ptr<Color>(y) + box.left;
            for (std::size_t x = 0; x < steps.size(); ++x)
                if (y >= steps[x]) blended(row[x]);
        }
    }

    void stroke(const std::vector<Segment>& segments, const Color& color, int width) override {
        const int before = width / 2, after = width - before;
        for (const auto& [x0, y0, x1, y1] : segments)
            fill({x0 - before, std::min(y0, y1) - before, x1 + after, std::max(y0, y1) + after}, {color, 1});
    }

    void text(std::string_view text, double x, double baseline, double size, const Color& color,
              Anchor anchor) override {
        type_.draw(image_, text, x, baseline, size, color, anchor);
    }

    void text_upwards(std::string_view text, double baseline, double middle, double size, const Color& color) override {
        type_.draw_upwards(image_, text, baseline, middle, size, color);
    }

  private:
    cv::Mat& image_;
};

}  // namespace

std::unique_ptr<Canvas> raster_canvas(cv::Mat& image) {
    return std::make_unique<RasterCanvas>(image);
}

}  // namespace gpuhist::io
