// Canvas that plots are drawn on: pixels or SVG.
#pragma once

#include <memory>
#include <opencv2/core/mat.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/contour.hpp"
#include "report/text.hpp"

namespace gpuhist::io {

/// Ink: a color and its opacity, in (0, 1].
struct Ink {
    Color color;
    float opacity = 1;
};

/// Canvas. Drawings are clipped to it. Texts are one line; their size is that of Typesetter.
class Canvas {
  public:
    using Anchor = Typesetter::Anchor;

    virtual ~Canvas() = default;
    virtual void fill(const Box& box, const Ink& ink) = 0;
    /// Vertical line one pixel wide, of dashes and gaps of `dash` pixels; 0: solid.
    virtual void vertical(int x, int top, int bottom, const Ink& ink, int dash = 0) = 0;
    virtual void line(double x0, double y0, double x1, double y1, const Color& color) = 0;
    /// Fills below steps.
    virtual void fill_steps(const Box& box, const Steps& steps, const Ink& ink) = 0;
    /// Draws segments `width` pixels wide, which is 1 or 2. Corners are square.
    virtual void stroke(const std::vector<Segment>& segments, const Color& color, int width) = 0;
    virtual void text(std::string_view text, double x, double baseline, double size, const Color& color,
                      Anchor anchor = Anchor::left) = 0;
    /// Text upwards, centered on `middle`, along the vertical baseline x = `baseline`.
    virtual void text_upwards(std::string_view text, double baseline, double middle, double size,
                              const Color& color) = 0;

    double width(std::string_view text, double size) const { return type_.width(text, size); }

  protected:
    Typesetter type_;
};

/// Canvas of pixels: an 8-bit BGR image, which is drawn into.
std::unique_ptr<Canvas> raster_canvas(cv::Mat& image);
/// Canvas of SVG: its elements are appended to `elements`.
std::unique_ptr<Canvas> svg_canvas(std::string& elements);
/// SVG file of such elements.
std::string svg_document(const std::string& elements, const cv::Size& size, const std::string& title);

}  // namespace gpuhist::io
