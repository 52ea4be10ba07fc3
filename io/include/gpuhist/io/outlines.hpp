/// Regions of interest as outlines: those of ImageJ, and polygons of GeoJSON in pixels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gpuhist::io {

/// Outline of a region. Coordinates measure areas: the first pixel covers 0 to 1.
struct Outline {
    struct Point {
        double x = 0, y = 0;
    };
    std::string name;
    std::vector<std::vector<Point>> rings;  ///< polygons, and holes in them; empty for an oval
    Point center{}, radii{};                ///< of an oval
    std::uint64_t page = 0;                 ///< from 1, if it belongs to one page of a stack; else 0
};

/// Returns whether the name of a file is that of outlines: .roi or .zip of ImageJ, .geojson or .json.
bool is_outlines_name(const std::string& name);

/// Reads the outlines of a file, in its order. Equal names get `#2`, `#3` and so on behind them, and names of digits
/// alone get `roi ` before them, because labels are called so. Throws IoError, which names the file and the cause.
std::vector<Outline> read_outlines(const std::filesystem::path& path);

/// Pixels of an outline.
struct OutlinePixels {
    std::int64_t x = 0, y = 0, width = 0, height = 0;  ///< place of the mask in the image, and its sides
    std::vector<std::uint8_t> mask;                    ///< 1 inside, row after row; empty if no pixel is inside
    bool leaves = false;                               ///< the outline extends beyond the image
};

/// Finds the pixels of an image that an outline contains: those whose centers are inside. If a center is on the
/// outline of a polygon, it is inside where the outline is a right or an upper edge, as GDAL has it. Overlapping rings
/// exclude each other (the even-odd rule). A center on the outline of an oval is inside.
OutlinePixels pixels_of(const Outline& outline, std::int64_t width, std::int64_t height);

}  // namespace gpuhist::io
