// Metadata of copies: those of their image, adapted to other pixels.
#include "gpuhist/io/metadata.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "gpuhist/io/report.hpp"

namespace gpuhist::io {
namespace {

constexpr std::size_t matrix_size = 16;

bool is_point_raster(const std::vector<std::uint16_t>& keys) {
    constexpr std::size_t entry = 4;
    constexpr std::uint16_t raster_type = 1025, pixel_is_point = 2;
    for (std::size_t i = entry; i + entry <= keys.size(); i += entry)
        if (keys[i] == raster_type && keys[i + 1] == 0) return keys[i + 3] == pixel_is_point;
    return false;
}

/// The map for places that are those of the centers of pixels.
PixelMap for_centers(PixelMap map) {
    constexpr double half = 0.5;
    map.x += half * (map.xx + map.xy) - half;
    map.y += half * (map.yx + map.yy) - half;
    return map;
}

PixelMap inverse(const PixelMap& map) {
    const double scale = map.xx * map.yy - map.xy * map.yx;
    PixelMap back{map.yy / scale, -map.xy / scale, 0, -map.yx / scale, map.xx / scale, 0};
    back.x = -(back.xx * map.x + back.xy * map.y);
    back.y = -(back.yx * map.x + back.yy * map.y);
    return back;
}

std::string escaped(std::string_view text) {
    std::string xml;
    for (const char c : text) {
        constexpr std::pair<char, std::string_view> entities[]{
            {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
        const auto* const known = std::find_if(std::begin(entities), std::end(entities),
                                               [c](const auto& entity) { return entity.first == c; });
        if (known == std::end(entities))
            xml += c;
        else
            xml += known->second;
    }
    return xml;
}

/// Replaces the value of an attribute, if the tag has it.
void replace_attribute(std::string& tag, const std::string& name, const std::function<std::string(double)>& change) {
    const std::string begin = " " + name + "=\"";
    const std::size_t at = tag.find(begin);
    if (at == tag.npos) return;
    const std::size_t value = at + begin.size(), end = tag.find('"', value);
    if (end == tag.npos) return;
    double number = 0;
    std::from_chars(tag.data() + value, tag.data() + end, number);
    tag.replace(value, end - value, change(number));
}

/// Adapts the sides and the type of pixels in OME-XML to those of a copy; removes it where it has no such type.
void adapt_ome(std::string& xml, Depth depth, const PixelMap& map) {
    const std::string type = depth == Depth::f32   ? "float"
                             : depth == Depth::f64 ? "double"
                             : depth == Depth::u8  ? "uint8"
                             : depth == Depth::s8  ? "int8"
                             : depth == Depth::u16 ? "uint16"
                             : depth == Depth::s16 ? "int16"
                             : depth == Depth::u32 ? "uint32"
                             : depth == Depth::s32 ? "int32"
                                                   : "";
    const bool scales = map.xy == 0 && map.yx == 0 && map.xx > 0 && map.yy > 0;
    if (type.empty() || !scales) return xml.clear();
    for (std::size_t at = 0; (at = xml.find("Pixels ", at)) != xml.npos;) {
        const std::size_t end = xml.find('>', at);
        if (end == xml.npos) return;
        std::string tag = xml.substr(at, end - at);
        const auto side = [](double scale) {
            return [scale](double pixels) { return std::to_string(std::llround(pixels * scale)); };
        };
        const auto size = [](double scale) { return [scale](double unit) { return shortest(unit / scale); }; };
        replace_attribute(tag, "Type", [&](double) { return type; });
        replace_attribute(tag, "SignificantBits", [&](double) { return std::to_string(8 * traits_of(depth).bytes); });
        replace_attribute(tag, "BigEndian", [](double) { return "false"; });
        replace_attribute(tag, "SizeX", side(map.xx));
        replace_attribute(tag, "SizeY", side(map.yy));
        replace_attribute(tag, "PhysicalSizeX", size(map.xx));
        replace_attribute(tag, "PhysicalSizeY", size(map.yy));
        xml.replace(at, end - at, tag);
        at += tag.size();
    }
}

}  // namespace

PixelMap upright_map(std::uint64_t orientation, std::uint64_t width, std::uint64_t height) {
    const auto w = static_cast<double>(width), h = static_cast<double>(height);
    const std::array<PixelMap, 9> maps{{{},
                                        {},
                                        {-1, 0, w, 0, 1, 0},
                                        {-1, 0, w, 0, -1, h},
                                        {1, 0, 0, 0, -1, h},
                                        {0, 1, 0, 1, 0, 0},
                                        {0, -1, h, 1, 0, 0},
                                        {0, -1, h, -1, 0, w},
                                        {0, 1, 0, -1, 0, w}}};
    return orientation < maps.size() ? maps[orientation] : PixelMap{};
}

void Metadata::map_pixels(const PixelMap& of_areas) {
    mapped = {of_areas.xx * mapped.xx + of_areas.xy * mapped.yx, of_areas.xx * mapped.xy + of_areas.xy * mapped.yy, 0,
              of_areas.yx * mapped.xx + of_areas.yy * mapped.yx, of_areas.yx * mapped.xy + of_areas.yy * mapped.yy, 0};
    const PixelMap map = is_point_raster(geo_keys) ? for_centers(of_areas) : of_areas;
    const bool scales = map.xy == 0 && map.yx == 0 && map.xx > 0 && map.yy > 0;
    if (!scales && pixel_scale.size() >= 3 && tiepoints.size() == 6) {  // no scale has a rotation
        const double *at = tiepoints.data(), *scale = pixel_scale.data();
        transformation = {scale[0], 0, 0,        at[3] - at[0] * scale[0], 0, -scale[1], 0, at[4] + at[1] * scale[1],
                          0,        0, scale[2], at[5] - at[2] * scale[2], 0, 0,         0, 1};
        tiepoints.clear();
    }
    if (scales && pixel_scale.size() >= 2) {
        pixel_scale[0] /= map.xx;
        pixel_scale[1] /= map.yy;
    } else if (!scales) {
        pixel_scale.clear();
    }
    for (std::size_t i = 0; i + 6 <= tiepoints.size(); i += 6) {
        const double column = tiepoints[i], row = tiepoints[i + 1];
        tiepoints[i] = map.xx * column + map.xy * row + map.x;
        tiepoints[i + 1] = map.yx * column + map.yy * row + map.y;
    }
    if (transformation.size() == matrix_size) {
        const PixelMap back = inverse(map);
        for (std::size_t i = 0; i < matrix_size; i += 4) {
            double* const row = &transformation[i];
            const double column_step = row[0], row_step = row[1];
            row[0] = column_step * back.xx + row_step * back.yx;
            row[1] = column_step * back.xy + row_step * back.yy;
            row[3] += column_step * back.x + row_step * back.y;
        }
    }
    // Lines and samples of a rational model are those of the centers of pixels.
    if (enum
        : std::size_t{line_offset = 2, sample_offset, line_scale = 7, sample_scale, numbers = 92};
        rational_model.size() == numbers && scales) {
        const PixelMap centers = for_centers(of_areas);
        rational_model[line_offset] = centers.yy * rational_model[line_offset] + centers.y;
        rational_model[sample_offset] = centers.xx * rational_model[sample_offset] + centers.x;
        rational_model[line_scale] *= centers.yy;
        rational_model[sample_scale] *= centers.xx;
    } else {
        rational_model.clear();
    }
    if (resolution.size() == 2) {
        const bool turned = map.xx == 0;
        if (turned) std::swap(resolution[0], resolution[1]);
        if (scales) resolution = {resolution[0] * map.xx, resolution[1] * map.yy};
    }
}

void Metadata::drop_facts_about_values() {
    std::string kept;
    std::string_view rest = gdal;
    bool any = false;
    for (std::size_t at; (at = rest.find("<Item")) != rest.npos;) {
        const std::size_t head_end = rest.find('>', at);
        if (head_end == rest.npos) break;
        const std::string_view head = rest.substr(at, head_end - at);
        const bool empty = !head.empty() && head.back() == '/';
        const std::size_t close = empty ? head_end : rest.find("</Item>", head_end);
        if (close == rest.npos) break;
        const std::size_t end = empty ? head_end + 1 : close + std::string_view("</Item>").size();
        const auto has = [head](std::string_view text) { return head.find(text) != head.npos; };
        const bool about_values =
            has("name=\"STATISTICS_") || has("role=\"scale\"") || has("role=\"offset\"") || has("role=\"unittype\"");
        any = any || !about_values;
        if (!about_values)
            kept += rest.substr(0, end);
        else
            kept += rest.substr(0, rest.find_last_not_of(" \t\r\n", at == 0 ? 0 : at - 1) + 1);
        rest.remove_prefix(end);
    }
    gdal = any ? kept + std::string(rest) : std::string();
}

void Metadata::adapt_description(Depth depth, bool whole) {
    const bool shape = description.rfind("{\"shape\"", 0) == 0;
    const std::size_t ome = description.find("<OME");
    if (!whole && (imagej || shape || ome != description.npos)) description.clear();
    const bool same_sides = mapped.xx == 1 && mapped.yy == 1;
    if (shape) {
        constexpr std::string_view truncated = ", \"truncated\": true";
        if (const std::size_t at = description.find(truncated); at != description.npos)
            description.erase(at, truncated.size());
        if (!same_sides) description.clear();
    } else if (imagej) {
        for (const std::string_view key : {"\nmin=", "\nmax="})
            if (const std::size_t at = description.find(key); at != description.npos)
                description.erase(at, description.find('\n', at + 1) - at);
    } else if (ome != description.npos) {
        adapt_ome(description, depth, mapped);
    }
}

void Metadata::describe_bands(const std::vector<std::string>& names) {
    std::string items;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!names[i].empty())
            items += "  <Item name=\"DESCRIPTION\" sample=\"" + std::to_string(i) + "\" role=\"description\">" +
                     escaped(escaped(names[i])) + "</Item>\n";
    if (items.empty() || gdal.find("role=\"description\"") != gdal.npos) return;
    constexpr std::string_view end = "</GDALMetadata>";
    const std::size_t place = gdal.rfind(end);
    if (place == gdal.npos)
        gdal = "<GDALMetadata>\n" + items + std::string(end) + "\n";
    else
        gdal.insert(place, items);
}

}  // namespace gpuhist::io
