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

/// Rectangle of words NAME=X,Y,W,H. Throws InvalidArgument, which says what is wrong.
Rectangle parse_rectangle(const std::string& text);

/// Rectangles of a CSV file of the columns path,name,x,y,w,h, by the path of their image, in the order of the file.
/// Throws IoError, with the line.
std::map<std::string, std::vector<Rectangle>> read_rectangles(const std::filesystem::path& path);

/// Rectangle as far as it lies in an image. Throws InvalidArgument where it leaves it: where that is allowed (`clip`),
/// only when nothing of it lies in the image.
Rectangle within(const Rectangle& rectangle, std::int64_t width, std::int64_t height, bool clip);

}  // namespace gpuhist::app
