// Names that microscopes give to the channels of a TIFF's pages: in OME-XML, and in the labels of ImageJ.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "decode/tiff_layout.hpp"

namespace gpuhist::io {
namespace {

constexpr std::uint64_t most_text = std::uint64_t{1} << 26;
constexpr std::size_t longest_name = 64;

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

/// Name of the channel of a page, the first of which is 0.
std::string name_in_ome(std::string_view xml, std::uint64_t page) {
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
        const Planes planes = planes_of(pixels.tag, names.size());
        const auto name = [&](const std::array<std::uint64_t, 3>& from, std::uint64_t n) {
            const std::uint64_t channel = planes.channel(from, n);
            return channel < names.size() ? unescape_xml(names[channel]) : std::string();
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
                return name(from, page - begin);
            }
            data = after;
        }
        if (!any && first && page < planes.count()) return name({}, page);
        pixels = next;
    }
    return {};
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

std::string name_of_plane(const Bytes& file, std::uint64_t page) {
    const TiffDirectory directory(file);
    const std::string text = directory.text(tag::image_description, most_text);
    std::string name;
    if (text.rfind("ImageJ=", 0) == 0)
        name = name_in_imagej(directory, text, page);
    else if (text.find("OME") != text.npos && text.find("<") != text.npos)
        name = name_in_ome(text, page);
    if (name.size() > longest_name) name.clear();
    return name;
}

}  // namespace gpuhist::io
