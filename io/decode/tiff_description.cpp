// Facts that microscopes and maps give about a TIFF's pages: names of channels and sizes of pixels, in OME-XML, in the
// description and the labels of ImageJ, and in GeoTIFF's tags.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/tiff_layout.hpp"

namespace gpuhist::io {
namespace {

constexpr std::uint64_t most_text = std::uint64_t{1} << 26;
constexpr std::string_view micrometer = "\u00b5m";

/// Element of XML that begins at or after a place: its start tag, without the brackets; and where it ends.
struct Element {
    std::string_view tag;
    std::size_t end = std::string_view::npos;
    bool found() const { return end != std::string_view::npos; }
};

Element next_element(std::string_view xml, std::string_view name, std::size_t from) {
    for (std::size_t at = from; (at = xml.find(name, at)) != xml.npos; at += name.size()) {
        const std::size_t open = xml.find_last_of("<>", at);
        const std::size_t after = at + name.size();
        if (open == xml.npos || xml[open] != '<' || after >= xml.size()) continue;
        const std::string_view prefix = xml.substr(open + 1, at - open - 1);  // of a namespace, with its colon
        const bool whole = prefix.empty() || prefix.find_first_of(" /\"'=") == prefix.npos;
        if (!whole || (!prefix.empty() && prefix.back() != ':')) continue;
        if (std::string_view(" \t\r\n/>").find(xml[after]) == std::string_view::npos) continue;
        const std::size_t close = xml.find('>', after);
        if (close == xml.npos) return {};
        return {xml.substr(open + 1, close - open - 1), close + 1};
    }
    return {};
}

/// Text of an attribute; empty if the tag has none.
std::string_view attribute(std::string_view tag, std::string_view name) {
    for (std::size_t at = 0; (at = tag.find(name, at)) != tag.npos; at += name.size()) {
        const std::size_t equals = at + name.size();
        const bool begins = at > 0 && std::string_view(" \t\r\n").find(tag[at - 1]) != std::string_view::npos;
        if (!begins || equals + 1 >= tag.size() || tag[equals] != '=') continue;
        const char quote = tag[equals + 1];
        const std::size_t end = quote == '"' || quote == '\'' ? tag.find(quote, equals + 2) : tag.npos;
        return end == tag.npos ? std::string_view() : tag.substr(equals + 2, end - equals - 2);
    }
    return {};
}

std::uint64_t number(std::string_view text, std::uint64_t otherwise) {
    std::uint64_t value = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Planes of an image in OME-XML, in the order in which the file has them.
struct Planes {
    std::array<char, 3> order{'C', 'Z', 'T'};
    std::array<std::uint64_t, 3> sizes{1, 1, 1};  ///< in that order

    std::uint64_t count() const { return saturating_product(saturating_product(sizes[0], sizes[1]), sizes[2]); }
    /// Channel of the plane that is `n` planes after one.
    std::uint64_t channel(std::array<std::uint64_t, 3> place, std::uint64_t n) const {
        for (std::size_t i = 0; i < place.size(); ++i) {
            place[i] += n;
            n = place[i] / sizes[i];
            place[i] %= sizes[i];
        }
        return place[static_cast<std::size_t>(std::find(order.begin(), order.end(), 'C') - order.begin())];
    }
};

Planes planes_of(std::string_view tag, std::uint64_t channels) {
    Planes planes;
    if (const std::string_view order = attribute(tag, "DimensionOrder"); order.size() == 5) {
        std::array<char, 3> own{order[2], order[3], order[4]};
        std::array<char, 3> sorted = own;
        std::sort(sorted.begin(), sorted.end());
        if (sorted == std::array{'C', 'T', 'Z'}) planes.order = own;
    }
    for (std::size_t i = 0; i < planes.order.size(); ++i) {
        const char axis = planes.order[i];
        const std::uint64_t size = axis == 'C'   ? channels
                                   : axis == 'Z' ? number(attribute(tag, "SizeZ"), 1)
                                                 : number(attribute(tag, "SizeT"), 1);
        planes.sizes[i] = std::max<std::uint64_t>(1, size);
    }
    return planes;
}

/// Page of an image in OME-XML.
struct PageInOme {
    std::string_view pixels;                  ///< start tag of the image's Pixels
    std::optional<std::string_view> channel;  ///< name of its channel, as XML writes it
};

/// Finds a page, the first of which is 0.
std::optional<PageInOme> page_in_ome(std::string_view xml, std::uint64_t page) {
    const std::string_view own_uuid = attribute(next_element(xml, "OME", 0).tag, "UUID");
    bool first = true;
    for (Element pixels = next_element(xml, "Pixels", 0); pixels.found(); first = false) {
        const Element next = next_element(xml, "Pixels", pixels.end);
        const std::size_t length = next.found() ? next.end - pixels.end : xml.npos;
        const std::string_view inside = xml.substr(pixels.end, length);
        std::vector<std::string_view> names;
        for (Element one = next_element(inside, "Channel", 0); one.found();
             one = next_element(inside, "Channel", one.end))
            names.push_back(attribute(one.tag, "Name"));
        const Planes planes =
            planes_of(pixels.tag, names.empty() ? number(attribute(pixels.tag, "SizeC"), 1) : names.size());
        const auto found = [&](const std::array<std::uint64_t, 3>& from, std::uint64_t n) {
            const std::uint64_t channel = planes.channel(from, n);
            return PageInOme{pixels.tag, channel < names.size() ? std::optional(names[channel]) : std::nullopt};
        };
        bool any = false;
        for (Element data = next_element(inside, "TiffData", 0); data.found();) {
            any = true;
            const Element after = next_element(inside, "TiffData", data.end);
            const std::string_view content =
                inside.substr(data.end, after.found() ? after.end - data.end : inside.npos);
            const Element uuid = data.tag.back() == '/' ? Element() : next_element(content, "UUID", 0);
            const bool elsewhere =
                uuid.found() && !own_uuid.empty() && content.substr(uuid.end, own_uuid.size()) != own_uuid;
            const bool placed = !attribute(data.tag, "IFD").empty();
            const std::uint64_t begin = number(attribute(data.tag, "IFD"), 0);
            const std::uint64_t count = number(attribute(data.tag, "PlaneCount"), placed ? 1 : planes.count());
            if (!elsewhere && page >= begin && page - begin < count) {
                std::array<std::uint64_t, 3> from{};
                for (std::size_t i = 0; i < from.size(); ++i)
                    from[i] = number(attribute(data.tag, std::string("First") + planes.order[i]), 0);
                return found(from, page - begin);
            }
            data = after;
        }
        if (!any && first && page < planes.count()) return found({}, page);
        pixels = next;
    }
    return std::nullopt;
}

/// Number that a text is, with white space around it; 0 for any other text.
double length_in(std::string_view text) {
    constexpr std::string_view space = " \t\r\n";
    text.remove_prefix(std::min(text.find_first_not_of(space), text.size()));
    text = text.substr(0, text.find_last_not_of(space) + 1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

/// Name of a unit. Programs write micrometers in several ways.
std::string unit_of(std::string_view text) {
    constexpr std::string_view micrometers[]{"micron",  "microns", "micrometer", "um",
                                             "\u03bcm", "\xb5m",   "\\u00B5m",   "\\u00b5m"};
    if (std::find(std::begin(micrometers), std::end(micrometers), text) != std::end(micrometers))
        return std::string(micrometer);
    const bool printed =
        std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
    return printed && text.size() <= longest_channel_name ? std::string(text) : std::string();
}

/// Size of a pixel, unless a side is not a positive number.
std::optional<PixelSize> pixel_size(double width, double height, std::string unit) {
    if (!(width > 0 && height > 0 && std::isfinite(width) && std::isfinite(height))) return std::nullopt;
    return PixelSize{width, height, std::move(unit)};
}

/// Micrometers in a unit of lengths in OME-XML; 0 for other units.
double micrometers_in(std::string_view unit) {
    constexpr std::pair<std::string_view, double> units[]{{micrometer, 1}, {"nm", 1e-3}, {"pm", 1e-6},
                                                          {"mm", 1e3},     {"cm", 1e4},  {"m", 1e6}};
    for (const auto& [name, micrometers] : units)
        if (name == unit) return micrometers;
    return 0;
}

std::optional<PixelSize> size_in_ome(std::string_view pixels) {
    const auto unit = [&](std::string_view name) {
        const std::string_view text = attribute(pixels, name);
        return text.empty() ? std::string(micrometer) : unit_of(unescape_xml(text));
    };
    const std::string across = unit("PhysicalSizeXUnit"), down = unit("PhysicalSizeYUnit");
    double height = length_in(attribute(pixels, "PhysicalSizeY"));
    if (across != down) height *= micrometers_in(across) > 0 ? micrometers_in(down) / micrometers_in(across) : 0;
    if (across == "pixel" || across == "reference frame") return std::nullopt;
    return pixel_size(length_in(attribute(pixels, "PhysicalSizeX")), height, across);
}

std::string utf8_of_utf16(const std::vector<unsigned char>& bytes, std::size_t begin, std::size_t end, bool little) {
    std::string text;
    const auto unit = [&](std::size_t at) {
        return static_cast<std::uint32_t>(little ? bytes[at] | bytes[at + 1] << 8 : bytes[at] << 8 | bytes[at + 1]);
    };
    for (std::size_t at = begin; at + 2 <= end; at += 2) {
        std::uint32_t code = unit(at);
        if (code >= 0xD800 && code < 0xDC00 && at + 4 <= end) {
            code = 0x10000 + ((code - 0xD800) << 10) + ((unit(at + 2) - 0xDC00) & 0x3FF);
            at += 2;
        }
        if (code < 0x80) {
            text += static_cast<char>(code);
        } else if (code < 0x800) {
            text += static_cast<char>(0xC0 | code >> 6);
            text += static_cast<char>(0x80 | (code & 0x3F));
        } else if (code < 0x10000) {
            text += static_cast<char>(0xE0 | code >> 12);
            text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
            text += static_cast<char>(0x80 | (code & 0x3F));
        } else {
            text += static_cast<char>(0xF0 | code >> 18);
            text += static_cast<char>(0x80 | (code >> 12 & 0x3F));
            text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
            text += static_cast<char>(0x80 | (code & 0x3F));
        }
    }
    return text;
}

/// Labels of the planes of a stack of ImageJ.
std::vector<std::string> labels_of_imagej(const TiffDirectory& directory) {
    const TiffDirectory::Values lengths = directory.values(tag::imagej_lengths);
    const std::vector<unsigned char> bytes = directory.raw(tag::imagej_metadata, most_text);
    std::vector<std::string> labels;
    constexpr std::size_t word = 4;
    if (lengths.count() == 0 || lengths[0] > bytes.size() || lengths[0] < word) return labels;
    const auto text = [&](std::size_t at) { return std::string_view(reinterpret_cast<const char*>(&bytes[at]), word); };
    const bool little = text(0) == "JIJI";
    if (!little && text(0) != "IJIJ") return labels;
    std::uint64_t part = 1, place = lengths[0];
    for (std::size_t at = word; at + 2 * word <= lengths[0]; at += 2 * word) {
        const bool of_labels = text(at) == (little ? "lbal" : "labl");
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < word; ++i) count = count << 8 | bytes[at + word + (little ? word - 1 - i : i)];
        for (; count > 0 && part < lengths.count(); --count, ++part) {
            if (lengths[part] > bytes.size() - place) return labels;
            if (of_labels) labels.push_back(utf8_of_utf16(bytes, place, place + lengths[part], little));
            place += lengths[part];
        }
    }
    return labels;
}

/// Value of a line KEY=VALUE in a description of ImageJ; empty if there is none.
std::string_view value_in_imagej(std::string_view text, std::string_view key) {
    for (std::size_t at = 0; (at = text.find(key, at)) != text.npos; at += key.size()) {
        if (at == 0 || text[at - 1] != '\n' || text.substr(at + key.size(), 1) != "=") continue;
        const std::string_view rest = text.substr(at + key.size() + 1);
        return rest.substr(0, rest.find_first_of("\r\n"));
    }
    return {};
}

/// Size of a pixel: the resolution is in pixels per unit of the description.
std::optional<PixelSize> size_in_imagej(const TiffDirectory& page, std::string_view text) {
    const std::string_view unit = value_in_imagej(text, "unit"), other = value_in_imagej(text, "yunit");
    const bool of_pixels = unit.empty() || unit == "pixel" || unit == "pixels";
    if (of_pixels || (!other.empty() && other != unit)) return std::nullopt;
    const std::vector<double> across = page.numbers(tag::x_resolution, 1), down = page.numbers(tag::y_resolution, 1);
    if (across.size() != 1 || down.size() != 1) return std::nullopt;
    return pixel_size(1 / across[0], 1 / down[0], unit_of(unit));
}

/// Size of a pixel of a map, in the units of its coordinates.
std::optional<PixelSize> size_in_geotiff(const TiffDirectory& page) {
    constexpr std::uint64_t most_numbers = 1 << 16;
    const std::vector<double> keys = page.numbers(tag::geo_keys, most_numbers);
    enum : unsigned { projected = 1, geographic = 2, model = 1024, angles = 2054, lengths = 3076 };
    const auto key = [&](double id) {
        for (std::size_t i = 4; i + 4 <= keys.size(); i += 4)
            if (keys[i] == id && keys[i + 1] == 0 && keys[i + 3] >= 0 && keys[i + 3] <= 65535)
                return static_cast<unsigned>(keys[i + 3]);
        return 0U;
    };
    constexpr std::pair<unsigned, const char*> units[]{{9001, "m"},  {9002, "foot"},   {9003, "US survey foot"},
                                                       {9036, "km"}, {9101, "radian"}, {9102, "degree"}};
    unsigned number = 0;
    if (key(model) == projected) number = key(lengths);
    if (key(model) == geographic) number = key(angles) > 0 ? key(angles) : 9102;
    std::string unit;
    for (const auto& [known, name] : units)
        if (known == number) unit = name;
    if (const std::vector<double> scale = page.numbers(tag::pixel_scale, most_numbers); scale.size() >= 2)
        return pixel_size(scale[0], scale[1], unit);
    const std::vector<double> matrix = page.numbers(tag::transformation, most_numbers);
    if (matrix.size() != 16) return std::nullopt;
    return pixel_size(std::hypot(matrix[0], matrix[4]), std::hypot(matrix[1], matrix[5]), unit);
}

/// Name of the channel of a page: the label that all planes of the channel have.
std::string name_in_imagej(const TiffDirectory& directory, std::string_view text, std::uint64_t page) {
    const auto value = [&](std::string_view key) {
        const std::size_t at = text.find(key);
        return at == text.npos ? std::uint64_t{1} : number(text.substr(at + key.size()), 1);
    };
    const std::uint64_t channels = value("\nchannels=");
    if (channels < 2) return {};
    const std::vector<std::string> labels = labels_of_imagej(directory);
    if (page >= labels.size()) return {};
    for (std::uint64_t i = page % channels; i < labels.size(); i += channels)
        if (labels[i] != labels[page]) return {};
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(channels, labels.size()); ++i)
        if (i != page % channels && labels[i] == labels[page]) return {};
    return labels[page];
}

}  // namespace

PageDescription describe_page(const Bytes& file, const TiffLayout& layout, std::uint64_t page) {
    const TiffDirectory first(file);
    const std::string text = first.text(tag::image_description, most_text);
    PageDescription found;
    if (text.rfind("ImageJ=", 0) == 0) {
        found.channel = name_in_imagej(first, text, page);
        found.pixel_size = size_in_imagej(layout.directory, text);
    } else if (text.find("OME") != text.npos && text.find('<') != text.npos) {
        if (const auto there = page_in_ome(text, page)) {
            found.channel = unescape_xml(there->channel.value_or(""));
            found.pixel_size = size_in_ome(there->pixels);
        }
    }
    if (found.channel.size() > longest_channel_name) found.channel.clear();
    if (!found.pixel_size) found.pixel_size = size_in_geotiff(layout.directory);
    if (found.pixel_size && layout.orientation >= 5 && layout.orientation <= 8)
        std::swap(found.pixel_size->width, found.pixel_size->height);
    return found;
}

}  // namespace gpuhist::io
