#include "gpuhist/io/outlines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>

#include "dataset/json.hpp"
#include "files/failure.hpp"
#include "gpuhist/io/archive.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;
using Point = Outline::Point;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 26;  ///< of a region of ImageJ

bool ends_with(const std::string& name, std::string_view end) {
    if (name.size() < end.size()) return false;
    std::string tail = name.substr(name.size() - end.size());
    for (char& c : tail)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return tail == end;
}

/// Region in the format of ImageJ, whose numbers begin with their highest byte.
class ImageJRegion {
  public:
    ImageJRegion(const std::vector<unsigned char>& bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

    Outline outline() const {
        constexpr std::size_t header = 64;
        if (bytes_.size() < header || std::memcmp(bytes_.data(), "Iout", 4) != 0)
            fail(name_, "not a region of ImageJ", Kind::unsupported);
        enum : unsigned { polygon, rectangle, oval, line, freeline, polyline, none, freehand, traced, angle, point };
        constexpr std::array words{"a polygon",       "a rectangle",        "an oval", "a line",
                                   "a free line",     "a line of segments", "nothing", "a freehand region",
                                   "a traced region", "an angle",           "points"};
        const unsigned kind = bytes_[6];
        const bool subpixel = (word(50) & 128U) != 0 && word(4) >= 222;
        Outline found;
        found.page = static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer(56)));
        const auto refuse = [&](const std::string& what) {
            fail(name_, what + ": gpuhist measures rectangles, ovals, polygons, and freehand and traced regions",
                 Kind::unsupported);
        };
        if (integer(36) > 0) refuse("a composite region");
        double x = signed_word(10), y = signed_word(8), width = signed_word(14) - x, height = signed_word(12) - y;
        if (subpixel && (kind == rectangle || kind == oval) && word(4) >= 223) {
            x = real(18);
            y = real(22);
            width = real(26);
            height = real(30);
        }
        if (kind == rectangle && word(54) > 0) refuse("a rectangle with rounded corners");
        if (kind == rectangle) {
            found.rings = {{{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}}};
        } else if (kind == oval) {
            found.center = {x + width / 2, y + height / 2};
            found.radii = {width / 2, height / 2};
        } else if (kind == polygon || kind == freehand || kind == traced) {
            const std::size_t count = word(16);
            std::vector<Point> ring;
            for (std::size_t i = 0; i < count; ++i)
                if (subpixel)
                    ring.push_back({real(header + 4 * (count + i)), real(header + 4 * (2 * count + i))});
                else
                    ring.push_back({x + signed_word(header + 2 * i), y + signed_word(header + 2 * (count + i))});
            found.rings = {std::move(ring)};
        } else {
            refuse(kind < words.size() ? words[kind] : "a region of an unknown kind");
        }
        return found;
    }

  private:
    std::uint32_t number(std::size_t at, std::size_t count) const {
        if (at + count > bytes_.size()) fail(name_, "truncated: the region ends early", Kind::truncated);
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes_[at + i];
        return value;
    }
    unsigned word(std::size_t at) const { return number(at, 2); }
    double signed_word(std::size_t at) const { return static_cast<std::int16_t>(number(at, 2)); }
    std::int64_t integer(std::size_t at) const { return static_cast<std::int32_t>(number(at, 4)); }
    double real(std::size_t at) const {
        const std::uint32_t bits = number(at, 4);
        float value = 0;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }

    const std::vector<unsigned char>& bytes_;
    const std::string name_;
};

Outline outline_of_imagej(const std::vector<unsigned char>& bytes, const std::string& file, const std::string& member) {
    Outline outline = ImageJRegion(bytes, member.empty() ? file : file + "/" + member).outline();
    outline.name = std::filesystem::path(member.empty() ? file : member).stem().string();
    return outline;
}

/// Polygons in GeoJSON.
class GeoJson {
  public:
    explicit GeoJson(const std::string& file) : file_(file) {}

    std::vector<Outline> read() {
        const ReadJson root = JsonReader::parse(read_text(file_), file_);
        if (root.is_array())
            for (const ReadJson& one : root) add_feature(one);
        else if (root.is_object() && root.contains("features") && root["features"].is_array())
            for (const ReadJson& one : root["features"]) add_feature(one);
        else
            add_feature(root);
        if (outlines_.empty()) fail(file_, "GeoJSON without polygons", Kind::unsupported);
        return std::move(outlines_);
    }

  private:
    static const ReadJson& member(const ReadJson& object, const char* name) {
        static const ReadJson null;
        return object.is_object() && object.contains(name) ? object[name] : null;
    }
    static std::string text(const ReadJson& value) { return value.is_string() ? value.get<std::string>() : ""; }

    void add_feature(const ReadJson& feature) {
        ++features_;
        const ReadJson& geometry = member(feature, "geometry").is_object() ? member(feature, "geometry") : feature;
        const ReadJson& properties = member(feature, "properties");
        Outline outline;
        outline.name = text(member(properties, "name"));
        if (outline.name.empty()) outline.name = text(member(member(properties, "classification"), "name"));
        if (outline.name.empty()) outline.name = text(member(feature, "id"));
        if (outline.name.empty()) outline.name = "roi " + std::to_string(features_);
        const std::string type = text(member(geometry, "type"));
        const ReadJson& coordinates = member(geometry, "coordinates");
        if (type == "Polygon")
            add_rings(coordinates, outline);
        else if (type == "MultiPolygon" && coordinates.is_array())
            for (const ReadJson& polygon : coordinates) add_rings(polygon, outline);
        else
            refuse(type.empty() ? "is no polygon" : "is a " + type + ", not a Polygon or MultiPolygon");
        outlines_.push_back(std::move(outline));
    }

    void add_rings(const ReadJson& polygon, Outline& outline) const {
        if (!polygon.is_array()) refuse("has no coordinates");
        for (const ReadJson& ring : polygon) {
            if (!ring.is_array() || ring.size() < 3) refuse("has a ring of fewer than 3 points");
            std::vector<Point>& points = outline.rings.emplace_back();
            for (const ReadJson& point : ring) {
                if (!point.is_array() || point.size() < 2 || !point[0].is_number() || !point[1].is_number())
                    refuse("has a point that is not [x, y]");
                points.push_back({point[0].get<double>(), point[1].get<double>()});
            }
        }
    }
    [[noreturn]] void refuse(const std::string& what) const {
        fail(file_, "feature " + std::to_string(features_) + " " + what, Kind::unsupported);
    }

    const std::string& file_;
    std::vector<Outline> outlines_;
    std::uint64_t features_ = 0;
};

void give_unique_names(std::vector<Outline>& outlines) {
    std::map<std::string, std::uint64_t> counts;
    for (Outline& outline : outlines) {
        std::string& name = outline.name;
        if (name.empty() || name.find_first_not_of("0123456789") == name.npos) name.insert(0, "roi ");
        if (const std::uint64_t count = ++counts[name]; count > 1) name += "#" + std::to_string(count);
    }
}

std::int64_t within(double pixel, std::int64_t side) {
    return static_cast<std::int64_t>(std::clamp(pixel, 0.0, static_cast<double>(side)));
}
/// First pixel whose center is at a coordinate or behind it, and the first one whose center is behind it, within a side
/// of an image.
std::int64_t first_at(double coordinate, std::int64_t side) {
    return within(std::ceil(coordinate - 0.5), side);
}
std::int64_t first_behind(double coordinate, std::int64_t side) {
    return within(std::floor(coordinate + 0.5), side);
}

/// Marks the pixels of a row whose centers are inside of rings.
void fill_row(const std::vector<std::vector<Point>>& rings, double center, std::int64_t left, unsigned char* row,
              std::int64_t width, std::vector<double>& crossings) {
    crossings.clear();
    for (const std::vector<Point>& ring : rings)
        for (std::size_t i = 0; i < ring.size(); ++i) {
            Point a = ring[i], b = ring[(i + 1) % ring.size()];
            if (a.y > b.y) std::swap(a, b);
            if (a.y <= center && center < b.y) crossings.push_back(a.x + (center - a.y) * (b.x - a.x) / (b.y - a.y));
        }
    std::sort(crossings.begin(), crossings.end());
    for (std::size_t i = 0; i + 1 < crossings.size(); i += 2) {
        const std::int64_t begin = first_behind(crossings[i] - static_cast<double>(left), width),
                           end = first_behind(crossings[i + 1] - static_cast<double>(left), width);
        std::fill(row + begin, row + std::max(begin, end), static_cast<unsigned char>(1));
    }
}

}  // namespace

bool is_outlines_name(const std::string& name) {
    return ends_with(name, ".roi") || ends_with(name, ".zip") || ends_with(name, ".geojson") ||
           ends_with(name, ".json");
}

std::vector<Outline> read_outlines(const std::filesystem::path& path) {
    const std::string file = path.string();
    std::vector<Outline> found;
    if (ends_with(file, ".roi")) {
        found.push_back(outline_of_imagej(read_bytes(path), file, ""));
    } else if (ends_with(file, ".zip")) {
        Archive archive(path);
        while (const auto member = archive.next())
            if (ends_with(member->name, ".roi"))
                found.push_back(outline_of_imagej(archive.read(most_bytes), file, member->name));
        if (found.empty()) fail(file, "no regions of ImageJ are in it", Kind::unsupported);
    } else {
        found = GeoJson(file).read();
    }
    for (const Outline& outline : found)
        for (const std::vector<Point>& ring : outline.rings)
            for (const Point& point : ring)
                if (!std::isfinite(point.x) || !std::isfinite(point.y))
                    fail(file, outline.name + " has a coordinate that is not finite", Kind::unsupported);
    give_unique_names(found);
    return found;
}

OutlinePixels pixels_of(const Outline& outline, std::int64_t width, std::int64_t height) {
    Point low{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    Point high{-low.x, -low.y};
    const auto reach = [&](double x, double y) {
        low = {std::min(low.x, x), std::min(low.y, y)};
        high = {std::max(high.x, x), std::max(high.y, y)};
    };
    for (const std::vector<Point>& ring : outline.rings)
        for (const Point& point : ring) reach(point.x, point.y);
    const bool oval = outline.rings.empty();
    if (oval) {
        reach(outline.center.x - outline.radii.x, outline.center.y - outline.radii.y);
        reach(outline.center.x + outline.radii.x, outline.center.y + outline.radii.y);
    }
    OutlinePixels found;
    found.leaves =
        low.x < 0 || low.y < 0 || high.x > static_cast<double>(width) || high.y > static_cast<double>(height);
    found.x = first_at(low.x, width);
    found.y = first_at(low.y, height);
    const std::int64_t right = first_behind(high.x, width), bottom = first_behind(high.y, height);
    if (right <= found.x || bottom <= found.y) return found;
    found.width = right - found.x;
    found.height = bottom - found.y;
    found.mask.resize(static_cast<std::size_t>(found.width * found.height));
    std::vector<double> crossings;
    for (std::int64_t row = 0; row < found.height; ++row) {
        unsigned char* const to = found.mask.data() + row * found.width;
        const double y = static_cast<double>(found.y + row) + 0.5;
        if (!oval) {
            fill_row(outline.rings, y, found.x, to, found.width, crossings);
            continue;
        }
        for (std::int64_t column = 0; column < found.width; ++column) {
            const double x = static_cast<double>(found.x + column) + 0.5;
            const double across = (x - outline.center.x) / outline.radii.x,
                         down = (y - outline.center.y) / outline.radii.y;
            to[column] = across * across + down * down <= 1;
        }
    }
    if (std::find(found.mask.begin(), found.mask.end(), 1) == found.mask.end()) found.mask.clear();
    return found;
}

}  // namespace gpuhist::io
