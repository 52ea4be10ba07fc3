// Labels of plots, and where they have room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/contour.hpp"

namespace gpuhist::io {

/// Label in a row above the drawing.
struct Label {
    std::string name{}, value{};
    int x = 0;                    ///< what it belongs to
    double middle = 0, half = 0;  ///< of the label itself; half of its width
    bool important = false;       ///< stays where others have no room
};

/// Moves labels, which are in the order of their places, apart by as little as can be: those that would overlap become
/// a block around the mean of their places. Where there is no room for all, some go: the inner ones before the outer
/// ones, important ones last.
void spread(std::vector<Label>& labels, double left, double right);

/// Place of a label of that size beside a bar: right or left of it, as high in the area as is free. None where there is
/// no such place.
std::optional<Box> place_beside(const Box& bar, int width, int height, const Box& area,
                                const std::function<bool(const Box&)>& is_free);

}  // namespace gpuhist::io
