// Metadata of a page of a TIFF.
#include <string>
#include <vector>

#include "decode/tiff_layout.hpp"
#include "gpuhist/io/metadata.hpp"

namespace gpuhist::io {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 24, most_numbers = most_bytes / 8;

/// Whether the file has smaller versions of a page: in its SubIFDs, or between it and the next page.
bool has_overviews(const Bytes& file, const TiffDirectory& page) {
    constexpr std::uint64_t most_looked_at = 64;
    const TiffDirectory::Values below = page.values(tag::sub_directories);
    for (std::uint64_t i = 0; i < std::min(below.count(), most_looked_at); ++i)
        if (const TiffDirectory one(file, below[i]); one.is_reduced() && !one.is_mask()) return true;
    TiffDirectory next = page.next();
    for (std::uint64_t i = 0; i < most_looked_at && next.complete() && !next.is_page(); ++i, next = next.next())
        if (!next.is_mask()) return true;
    return false;
}

}  // namespace

Metadata metadata_of(const Bytes& file, const TiffLayout& layout) {
    const TiffDirectory& directory = layout.directory;
    Metadata found;
    found.pixel_scale = directory.numbers(tag::pixel_scale, most_numbers);
    found.tiepoints = directory.numbers(tag::tiepoints, most_numbers);
    found.transformation = directory.numbers(tag::transformation, most_numbers);
    for (const double key : directory.numbers(tag::geo_keys, most_numbers))
        found.geo_keys.push_back(static_cast<std::uint16_t>(key));
    found.geo_numbers = directory.numbers(tag::geo_numbers, most_numbers);
    found.geo_text = directory.text(tag::geo_text, most_bytes);
    found.rational_model = directory.numbers(tag::rational_model, most_numbers);
    const std::uint64_t channels = layout.meaning == Samples::gray_alpha ? 2 : layout.channels;
    const bool samples_kept = layout.finish == TiffLayout::Finish::none && channels == layout.samples;
    if (samples_kept) found.gdal = directory.text(tag::gdal_metadata, most_bytes);
    std::string problem;
    found.nodata = layout.nodata(problem);
    const std::vector<double> across = directory.numbers(tag::x_resolution, 1),
                              down = directory.numbers(tag::y_resolution, 1);
    if (across.size() == 1 && down.size() == 1) found.resolution = {across[0], down[0]};
    found.resolution_unit = static_cast<std::uint16_t>(directory.value(tag::resolution_unit, found.resolution_unit));
    if (layout.finish != TiffLayout::Finish::cmyk) found.icc = directory.raw(tag::icc_profile, most_bytes);
    found.document = directory.text(tag::document_name, most_bytes);
    found.description = directory.text(tag::image_description, most_bytes);
    found.artist = directory.text(tag::artist, most_bytes);
    found.copyright = directory.text(tag::copyright, most_bytes);
    found.date_time = directory.text(tag::date_time, most_bytes);
    constexpr std::uint64_t longest_side = 1 << 16;
    if (layout.tiled && layout.piece_width < longest_side && layout.piece_height < longest_side) {
        found.tile_width = static_cast<std::uint32_t>(layout.piece_width);
        found.tile_height = static_cast<std::uint32_t>(layout.piece_height);
    }
    found.imagej = TiffDirectory(file).text(tag::image_description, most_bytes).rfind("ImageJ=", 0) == 0;
    found.overviews = has_overviews(file, directory);
    if (layout.orientation >= 2 && layout.orientation <= 8)
        found.map_pixels(upright_map(layout.orientation, layout.width, layout.height));
    return found;
}

}  // namespace gpuhist::io
