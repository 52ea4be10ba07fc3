/// Rectangles: regions of images that have a name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gpuhist::app {

/// Rectangle of an image as it is shown, in pixels from the upper left.
struct Rectangle {
    std::string name;  ///< not of digits alone, which labels are
    std::int64_t x = 0, y = 0, width = 0, height = 0;
};

/// Rectangle from a text NAME=X,Y,W,H. Throws InvalidArgument with the fault.
Rectangle parse_rectangle(const std::string& text);

/// Rectangles of a CSV file of the columns path,name,x,y,w,h, by the path of their image, in the order of the file.
/// A byte-order mark is no part of it. Throws IoError, with the line.
std::map<std::string, std::vector<Rectangle>> read_rectangles(const std::filesystem::path& path);

/// Part of a rectangle that is in an image. Throws InvalidArgument if the rectangle extends beyond the image, or, with
/// `clip`, if no part of it is in the image.
Rectangle within(const Rectangle& rectangle, std::int64_t width, std::int64_t height, bool clip);

}  // namespace gpuhist::app
