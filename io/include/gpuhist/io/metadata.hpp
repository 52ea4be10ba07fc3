/// Metadata of a TIFF that its copies keep: where its pixels lie on the Earth, and what its bands and colors are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/image.hpp"

namespace gpuhist::io {

/// Affine map from the places of pixels to their places in a copy: column' = column · xx + row · xy + x, and row'
/// likewise. Places are those of areas: the first pixel covers 0 to 1.
struct PixelMap {
    double xx = 1, xy = 0, x = 0;
    double yx = 0, yy = 1, y = 0;
};

/// Map of an image with these sides as it is stored, which is turned upright as an orientation of EXIF says, 1 to 8.
PixelMap upright_map(std::uint64_t orientation, std::uint64_t width, std::uint64_t height);

/// Metadata of a page of a TIFF. What a page lacks is empty.
struct Metadata {
    // GeoTIFF, with the names of its tags.
    std::vector<double> pixel_scale;      ///< ModelPixelScale
    std::vector<double> tiepoints;        ///< ModelTiepoint: six numbers each
    std::vector<double> transformation;   ///< ModelTransformation: 4 × 4, row after row
    std::vector<std::uint16_t> geo_keys;  ///< GeoKeyDirectory
    std::vector<double> geo_numbers;      ///< GeoDoubleParams
    std::string geo_text;                 ///< GeoAsciiParams
    std::vector<double> rational_model;   ///< RPCCoefficient: 92 numbers
    std::string gdal;                     ///< GDAL_METADATA, XML
    std::optional<double> nodata;         ///< GDAL_NODATA
    std::vector<double> resolution;       ///< XResolution, YResolution
    std::uint16_t resolution_unit = 2;    ///< 1: none, 2: inch, 3: centimeter
    std::vector<unsigned char> icc;       ///< profile of the colors
    std::string document, description, artist, copyright, date_time;
    PixelMap mapped{};                              ///< all that `map_pixels` was called with
    std::uint32_t tile_width = 0, tile_height = 0;  ///< sides of its tiles; 0: it has strips
    bool imagej = false;                            ///< whether ImageJ describes the file
    bool overviews = false;                         ///< whether the file has smaller versions of the page

    /// Whether its pixels have a place on the Earth, or in another coordinate system.
    bool georeferenced() const {
        return !pixel_scale.empty() || !tiepoints.empty() || !transformation.empty() || !geo_keys.empty() ||
               !rational_model.empty();
    }
    /// Adapts the coordinates and the resolution to a copy with other pixels.
    void map_pixels(const PixelMap& map);
    /// Removes what a copy with other values contradicts: statistics, scales, offsets and units of the samples.
    void drop_facts_about_values();
    /// Adapts a description of ImageJ, OME or tifffile to a copy of this type, after `map_pixels`. `whole`: the copy
    /// has all pages that it describes; else it is removed. What it says of the range of values is removed.
    void adapt_description(Depth depth, bool whole);
    /// Describes bands by their names, in the place of their samples. Without GDAL_METADATA, this makes it.
    void describe_bands(const std::vector<std::string>& names);
};

}  // namespace gpuhist::io
