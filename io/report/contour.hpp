// Contours of histograms on the lattice of pixels.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuhist::io {

/// Box of whole pixels: [left, right) × [top, bottom).
struct Box {
    int left = 0, top = 0, right = 0, bottom = 0;
    int width() const { return right - left; }
    int height() const { return bottom - top; }
};

/// Verdict on boxes: whether they have a pixel in common.
inline bool overlap(const Box& a, const Box& b) {
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/// Segment between corners of pixels: level from left to right, or upright either way.
struct Segment {
    int x0, y0, x1, y1;
};

/// Steps have the height of a histogram in each pixel column from `box.left` on, as a y; `box.bottom` if it is empty.
using Steps = std::vector<int>;

/// Largest count that falls on each of `width` pixel columns: of many bins to a pixel, none vanishes.
std::vector<std::uint64_t> column_maxima(const std::vector<std::uint64_t>& counts, int width);

/// Isolated steps of at most `most` pixels: their contours leave nothing to fill between them.
Steps narrow_bars(const Box& box, const Steps& steps, int most);

/// Contour of steps, from left to right. Columns that reach `box.top` stay open there.
std::vector<Segment> contour(const Box& box, const Steps& steps);

/// Dashes of a contour: parts of it, from each place on where it begins.
std::vector<Segment> dashed(const std::vector<Segment>& contour);

/// Length of a dash where contours lie on each other, in pixels.
constexpr int shared_dash = 8;

/// Dashes of contours that later ones would hide: where k lie on each other, each has one of k dashes. They are drawn
/// after all contours.
struct SharedDashes {
    std::vector<std::vector<Segment>> of;  ///< each contour; none of the one that is drawn last
    std::vector<bool> shares;              ///< whether a contour lies on another anywhere
};
/// Dashes of contours that are drawn in this order, `width` pixels wide.
SharedDashes shared_dashes(const Box& box, const std::vector<Steps>& all, int width);

}  // namespace gpuhist::io
