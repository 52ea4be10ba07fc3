// Labels of plots, and where they have room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/canvas.hpp"
#include "report/contour.hpp"

namespace gpuhist::io {

/// Cuts the middle out of a text that is too wide.
std::string shorten(const std::string& text, double width, double size, const Canvas& canvas);

/// Label in a row above the drawing.
struct Label {
    std::string name{}, value{};
    int x = 0;                    ///< what it belongs to
    double middle = 0, half = 0;  ///< of the label itself; half of its width
    bool important = false;       ///< stays where others have no room
};

/// Moves labels apart by as little as possible. They are in the order of their places; labels that would overlap become
/// a block around the mean of their places. If there is no room for all, some are dropped: inner ones before outer
/// ones, and important ones last.
void spread(std::vector<Label>& labels, double left, double right);

/// Place for a label of that size beside a bar: right or left of it, as high as there is room. None if there is no
/// room.
std::optional<Box> place_beside(const Box& bar, int width, int height, const Box& area,
                                const std::function<bool(const Box&)>& is_free);

}  // namespace gpuhist::io
