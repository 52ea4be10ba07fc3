#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

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
                blend(row[x], ink.color, ink.opacity);
        }
    }

    void vertical(int x, int top, int bottom, const Ink& ink, int dash) override {
        for (int y = top; y<bottom; y += dash> 0 ? 2 * dash : bottom - top)
            fill({x, y, x + 1, dash > 0 ? std::min(y + dash, bottom) : bottom}, ink);
    }

    void line(double x0, double y0, double x1, double y1, const Color& color) override {
        const auto point = [](double x, double y) {
            return cv::Point(static_cast<int>(std::lround(x)), static_cast<int>(std::lround(y)));
        };
        cv::line(image_, point(x0, y0), point(x1, y1), cv::Scalar(color), 1, cv::LINE_AA);
    }

    void fill_steps(const Box& box, const std::vector<float>& tops, const Ink& ink) override {
        if (tops.empty()) return;
        const Blended blended(ink);
        const float highest = *std::min_element(tops.begin(), tops.end());
        for (int y = std::max(box.top, static_cast<int>(highest)); y < box.bottom; ++y) {
            Color* row = image_.ptr<Color>(y) + box.left;
            const float line = static_cast<float>(y) + 0.5F;
            for (std::size_t x = 0; x < tops.size(); ++x)
                if (line >= tops[x]) blended(row[x]);
        }
    }

    /// Level pieces are soft to a fraction of a pixel, risers one pixel wide.
    void outline_steps(const Box& box, const std::vector<float>& tops, const Color& color, float width) override {
        const auto floor = static_cast<float>(box.bottom), ceiling = static_cast<float>(box.top);
        for (std::size_t x = 0; x < tops.size(); ++x) {
            const float top = tops[x];
            if (top >= floor) continue;
            const float left = x > 0 ? tops[x - 1] : floor, right = x + 1 < tops.size() ? tops[x + 1] : floor;
            const float from = std::max(top - width / 2, ceiling);
            const float level = top > ceiling ? top + width / 2 : top;
            const float to = std::min(std::max({level, left, right}), floor);
            for (int y = static_cast<int>(from); y < static_cast<int>(std::ceil(to)); ++y) {
                const float coverage = std::min(to, static_cast<float>(y + 1)) - std::max(from, static_cast<float>(y));
                if (y < box.bottom) blend(image_.at<Color>(y, box.left + static_cast<int>(x)), color, coverage);
            }
        }
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
