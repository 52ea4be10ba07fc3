// The netpbm family: PBM, PGM and PPM, PAM, and PFM. Samples are returned as they are stored, except those of a PBM, in
// which 1 is black.
#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "decode/formats.hpp"
#include "decode/words.hpp"
#include "files/window.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

/// Header of one image, and where its samples begin.
struct Header {
    std::uint64_t width = 0, height = 0, channels = 1, highest = 1;
    std::uint64_t data = 0;
    bool text = false, bitmap = false;
    Samples samples = Samples::color;
    Alpha alpha = Alpha::none;
    bool complete = false;             ///< nothing of it is missing
    bool ended = false;                ///< the file ends inside it
    std::string damaged, unsupported;  ///< what is wrong, or not read

    Depth depth() const { return highest > 255 ? Depth::u16 : Depth::u8; }
    /// Channels of the image: of gray with alpha it is as for colors.
    std::uint64_t image_channels() const { return samples == Samples::gray_alpha ? 4 : channels; }
    std::uint64_t pixel_bytes() const { return saturating_product(image_channels(), sample_bytes()); }
    bool sound() const { return complete && damaged.empty() && unsupported.empty() && width != 0 && height != 0; }
    unsigned sample_bytes() const { return highest > 255 ? 2 : 1; }
    std::uint64_t row_bytes() const {
        return bitmap ? (width + 7) / 8 : saturating_product(saturating_product(width, channels), sample_bytes());
    }
    /// Smallest number of bytes that the samples take: in text, each has a digit and, except in bitmaps, a space.
    std::uint64_t bytes() const {
        if (!text) return saturating_product(row_bytes(), height);
        const std::uint64_t count = saturating_product(saturating_product(width, channels), height);
        return bitmap ? count : saturating_product(count, 2) - 1;
    }
    void check_highest() {
        if (highest == 0 || highest > 65535)
            damaged = "its maximum of " + std::to_string(highest) + " is outside 1 to 65535";
    }
};

/// A letter after the P and white space, with which texts begin too.
bool begins(const Bytes& file, std::string_view kinds) {
    if (!file.has(0, 3)) return false;
    const std::string_view start = file.text(0, 3);
    return start[0] == 'P' && kinds.find(start[1]) != kinds.npos &&
           (std::isspace(static_cast<unsigned char>(start[2])) || start[2] == '#');
}

Header pnm_header(const Bytes& file) {
    Header header;
    const unsigned char kind = file.byte(1);
    header.text = kind <= '3';
    header.bitmap = kind == '1' || kind == '4';
    header.channels = kind == '3' || kind == '6' ? 3 : 1;
    Words numbers(file, 2);
    const auto width = numbers.number(), height = numbers.number(), highest = header.bitmap ? 1 : numbers.number();
    header.complete = width && height && highest;
    header.ended = !header.complete && numbers.at_end();
    header.width = width.value_or(0);
    header.height = height.value_or(0);
    header.highest = highest.value_or(1);
    header.check_highest();
    numbers.skip_separator();
    header.data = numbers.position();
    return header;
}

struct TupleType {
    std::string_view name;
    std::uint64_t channels;
    Samples samples;
    Alpha alpha;
};

constexpr TupleType tuple_types[]{
    {"BLACKANDWHITE", 1, Samples::color, Alpha::none},
    {"GRAYSCALE", 1, Samples::color, Alpha::none},
    {"RGB", 3, Samples::color, Alpha::none},
    {"BLACKANDWHITE_ALPHA", 2, Samples::gray_alpha, Alpha::straight},
    {"GRAYSCALE_ALPHA", 2, Samples::gray_alpha, Alpha::straight},
    {"RGB_ALPHA", 4, Samples::color, Alpha::straight},
};

/// Meaning of the samples of a PAM. Samples of an unknown type are not colors.
void interpret(Header& header, std::string_view type) {
    const auto* known = std::find_if(std::begin(tuple_types), std::end(tuple_types),
                                     [&](const TupleType& tuple) { return tuple.name == type; });
    if (known == std::end(tuple_types)) {
        if (header.channels < 1 || header.channels > most_channels)
            header.unsupported = unsupported_channels(header.channels);
        header.samples = header.channels == 1 ? Samples::color : Samples::bands;
    } else if (known->channels != header.channels) {
        header.unsupported = "a PAM of tuple type " + std::string(type) + " and " + std::to_string(header.channels) +
                             " channels is not supported: that type has " + std::to_string(known->channels);
    } else {
        header.samples = known->samples;
        header.alpha = known->alpha;
    }
}

/// Lines of a name and a value each, in any order.
Header pam_header(const Bytes& file) {
    Header header;
    std::string type;
    std::optional<std::uint64_t> width, height, channels, highest;
    std::uint64_t position = 3;
    for (;;) {
        const auto rest = file.text(position, file.size() - position);
        const auto end = rest.find('\n');
        if (end == rest.npos) {
            header.ended = true;
            return header;
        }
        auto line = rest.substr(0, end);
        position += end + 1;
        const auto trim = [](std::string_view& text) {
            while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
            while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
        };
        trim(line);
        if (line.empty() || line.front() == '#') continue;
        const auto name = line.substr(0, line.find_first_of(" \t"));
        line.remove_prefix(name.size());
        trim(line);
        if (name == "ENDHDR") break;
        if (name == "TUPLTYPE") (type += type.empty() ? "" : " ") += line;
        std::uint64_t value = 0;
        const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), value);
        const bool number = error == std::errc() && stop == line.data() + line.size();
        const auto field = number ? std::optional(value) : std::nullopt;
        if (name == "WIDTH") width = field;
        if (name == "HEIGHT") height = field;
        if (name == "DEPTH") channels = field;
        if (name == "MAXVAL") highest = field;
    }
    header.width = width.value_or(0);
    header.height = height.value_or(0);
    header.channels = channels.value_or(0);
    header.highest = highest.value_or(0);
    header.complete = true;
    header.data = position;
    header.check_highest();
    if (header.channels == 0) header.damaged = "its header says no depth";
    if (header.damaged.empty()) interpret(header, type);
    return header;
}

void inspect(const Bytes& file, const Header& header, Probe& probe) {
    if (header.damaged.empty()) probe.set_size(header.width, header.height);  // else there is nothing to accept
    probe.damaged = header.damaged;
    probe.unsupported = header.unsupported;
    probe.depth = header.depth();
    probe.pixel_bytes = header.pixel_bytes();
    if (!header.text) {
        probe.strip_rows = 1;
        probe.stored = true;
        probe.bands = header.samples == Samples::bands || header.samples == Samples::color_bands;
        probe.held_bytes = std::max(header.row_bytes(), ReadAhead::bytes) + FileWindow::kept;
    }
    if (header.ended)
        probe.truncated = "the file ends inside its header";
    else if (header.sound() && !file.has(header.data, header.bytes()))
        probe.truncated = "the file holds fewer samples than its header says";
}

/// Part of the bytes in which a header ends: a window reads no more for it.
Bytes beginning(const Bytes& file, std::uint64_t at = 0) {
    constexpr std::uint64_t longest = 1 << 16;
    return file.part(at, std::min<std::uint64_t>(longest, file.size() - at));
}

/// Header of the image at a place.
Header header_at(const Bytes& file, std::uint64_t at) {
    const Bytes part = beginning(file, at);
    Header header = part.starts_with("P7\n") ? pam_header(part) : pnm_header(part);
    header.data += at;
    return header;
}

/// Place of the image after one with this header; 0 if there is none.
std::uint64_t next_page(const Bytes& file, const Header& header) {
    if (header.text || !file.has(header.data, header.bytes())) return 0;
    const std::uint64_t next = header.data + header.bytes();
    file.let_go();
    if (!file.has(next, 3)) return 0;
    const Bytes start = file.part(next, 3);
    return begins(start, "456") || start.starts_with("P7\n") ? next : 0;
}

/// Images in the file: binary ones may follow each other.
void find_pages(const Bytes& file, PageList& list) {
    for (std::uint64_t at = 0;;) {
        const Header header = header_at(file, at);
        const bool last = !header.complete || header.width == 0 || header.height == 0;  // nothing can follow it
        if (at > 0 && last) return;
        const std::uint64_t next = last ? 0 : next_page(file, header);
        PageFacts page;
        page.width = header.width;
        page.height = header.height;
        page.samples = header.channels;
        page.place = at;
        page.problem = header.damaged.empty() ? header.unsupported : header.damaged;
        page.length = (next > 0 ? next : file.size()) - at;
        if (!list.add(std::move(page)) || next == 0) return;
        at = next;
    }
}

std::uint64_t count_pages(const EncodedImage& file) {
    if (file.options.page > 0) return 1;  // of which only one is here
    PageList list;
    find_pages(file.bytes, list);
    return list.count();
}

/// Samples of the file in its order, row by row. They are wider than those of the image, so that samples that are too
/// large are noticed.
class Reader {
  public:
    Reader(const EncodedImage& file, const Header& header, Image& image)
        : file_(file), header_(header), image_(image), numbers_(file.bytes, header.data) {}

    /// Reads the next row; false where the file ends in it, or is wrong: then the rest of the row is zeros.
    bool read(std::uint64_t y, std::vector<std::uint32_t>& row) {
        std::fill(row.begin(), row.end(), 0);
        const bool whole = header_.text ? read_text(y, row) : read_binary(y, row);
        const auto highest = *std::max_element(row.begin(), row.end());
        if (!header_.bitmap && highest > header_.highest)
            file_.report(image_, std::to_string(highest) + " in row " + std::to_string(y) +
                                     " is more than the maximum of " + std::to_string(header_.highest));
        return whole;
    }

  private:
    bool read_text(std::uint64_t y, std::vector<std::uint32_t>& row) {
        file_.bytes.let_go();
        for (auto& sample : row) {
            const auto number = header_.bitmap ? numbers_.bit() : numbers_.number();
            if (!number) {
                if (numbers_.at_end())
                    file_.report(image_, "the file ends in row " + std::to_string(y), Kind::truncated);
                else
                    file_.report(image_, "no number at byte " + std::to_string(numbers_.position()) + ", in row " +
                                             std::to_string(y));
                return false;
            }
            sample = header_.bitmap ? of_bit(*number != 0) : static_cast<std::uint32_t>(*number);
        }
        return true;
    }
    bool read_binary(std::uint64_t y, std::vector<std::uint32_t>& row) {
        const std::uint64_t at = header_.data + y * header_.row_bytes();
        if (!file_.bytes.has(at, header_.row_bytes())) return false;  // the probe has said so
        const unsigned char* in = ahead_.at(at, header_.row_bytes());
        if (header_.bitmap)
            for (std::size_t i = 0; i < row.size(); ++i) row[i] = of_bit((in[i / 8] >> (7 - i % 8) & 1) != 0);
        else if (header_.sample_bytes() == 2)
            for (std::size_t i = 0; i < row.size(); ++i)
                row[i] = static_cast<std::uint32_t>(in[2 * i] << 8 | in[2 * i + 1]);
        else
            std::copy(in, in + row.size(), row.begin());
        return true;
    }

    /// Sample of a bitmap, in which 1 is black.
    std::uint32_t of_bit(bool set) const { return file_.options.raw ? set : set ? 0 : 255; }

    const EncodedImage& file_;
    const Header& header_;
    Image& image_;
    Words numbers_;
    ReadAhead ahead_{file_.bytes};
};

/// Stores a row of the file's samples in the order of a matrix.
template <class Sample>
void store(const std::vector<std::uint32_t>& row, const Header& header, Sample* out) {
    const std::uint64_t channels = header.channels;
    for (std::uint64_t x = 0; x < header.width; ++x) {
        const std::uint32_t* in = row.data() + x * channels;
        const auto put = [&](unsigned place, unsigned channel) {
            out[place] = static_cast<Sample>(std::min<std::uint32_t>(in[channel], std::numeric_limits<Sample>::max()));
        };
        if (header.samples == Samples::gray_alpha) {
            for (unsigned i = 0; i < 4; ++i) put(i, i / 3);
            out += 4;
            continue;
        }
        const bool exchanged = header.samples == Samples::color && channels >= 3;
        for (unsigned i = 0; i < channels; ++i) put(i, exchanged && i < 3 ? 2 - i : i);
        out += channels;
    }
}

Image decode(const EncodedImage& file, const Header& header) {
    Image image;
    image.depth = header.depth();
    image.samples = header.samples;
    image.alpha = header.alpha;
    image.white = header.bitmap ? 255 : static_cast<double>(header.highest);
    image.zero_is_white = file.options.raw && header.bitmap;
    image.pages = count_pages(file);
    const auto channels = static_cast<int>(header.image_channels());
    const std::uint64_t at_once = file.rows_at_once();
    cv::Mat pixels = file.allocate(at_once, header.width, CV_MAKETYPE(opencv_depth(image.depth), channels));
    std::vector<std::uint32_t> row(header.width * header.channels);
    Reader reader(file, header, image);
    bool more = true;
    for (std::uint64_t y = 0; y < header.height; ++y) {
        if (more)
            more = reader.read(y, row);
        else
            std::fill(row.begin(), row.end(), 0);
        const int line = static_cast<int>(y % at_once);
        if (image.depth == Depth::u8)
            store(row, header, pixels.ptr<std::uint8_t>(line));
        else
            store(row, header, pixels.ptr<std::uint16_t>(line));
        const bool full = y % at_once + 1 == at_once || y + 1 == header.height;
        const auto before = static_cast<std::uint64_t>(line);
        if (full) file.give_rows(image, pixels, y - before, before + 1);
    }
    return image;
}

// ------------------------------------------------------------------------------------ PBM, PGM and PPM, and PAM

/// Where a header is wrong before the file ends, the file is only a text that begins like one.
bool matches_pnm(const Bytes& file) {
    if (!begins(file, "123456")) return false;
    const Header header = pnm_header(beginning(file));
    return header.complete || header.ended;
}

void inspect_pnm(const Bytes& file, Probe& probe) {
    inspect(file, pnm_header(beginning(file)), probe);
}

Image decode_pnm(const EncodedImage& file) {
    return decode(file, pnm_header(beginning(file.bytes)));
}

bool matches_pam(const Bytes& file) {
    return file.starts_with("P7\n");
}

void inspect_pam(const Bytes& file, Probe& probe) {
    inspect(file, pam_header(beginning(file)), probe);
}

Image decode_pam(const EncodedImage& file) {
    return decode(file, pam_header(beginning(file.bytes)));
}

// ------------------------------------------------------------------------------------------------------- PFM

struct PfmHeader {
    std::optional<std::uint64_t> width, height;
    std::optional<double> scale;  ///< its sign is the byte order
    std::uint64_t data = 0;
    bool ended = false;

    bool complete() const { return width && height && scale; }
};

PfmHeader pfm_header(const Bytes& file) {
    Words words(file, 2);
    PfmHeader header;
    header.width = words.number();
    header.height = words.number();
    auto scale = words.word();
    header.ended = words.at_end();
    if (!scale.empty() && scale.front() == '+') scale.remove_prefix(1);
    double value = 0;
    const auto [stop, error] = std::from_chars(scale.data(), scale.data() + scale.size(), value);
    if (error == std::errc() && stop == scale.data() + scale.size()) header.scale = value;
    words.skip_separator();
    header.data = words.position();
    return header;
}

bool is_pf4(const Bytes& file) {
    return file.starts_with("PF4") && file.has(3, 1) && std::isspace(*file.at(3));
}

bool matches_pfm(const Bytes& file) {
    if (is_pf4(file)) return true;
    if (!begins(file, "Ff")) return false;
    const PfmHeader header = pfm_header(file);
    return header.complete() || header.ended;
}

void inspect_pfm(const Bytes& file, Probe& probe) {
    if (is_pf4(file)) {
        probe.unsupported = "a PF4, which is a PFM of four channels, is not supported: gpuhist reads PF and Pf";
        return;
    }
    const PfmHeader header = pfm_header(file);
    if (!header.complete()) {
        probe.truncated = "the file ends inside its header";
        return;
    }
    if (*header.scale == 0 || !std::isfinite(*header.scale)) {
        probe.damaged = "its scale is 0 or not finite";
        return;
    }
    probe.set_size(header.width, header.height);
    const std::uint64_t row_bytes = saturating_product(*header.width, *file.at(1) == 'F' ? 12 : 4);
    if (!file.has(header.data, saturating_product(row_bytes, *header.height)))
        probe.truncated = "the file holds fewer samples than its header says";
}

/// Rows are stored from the bottom up.
Image decode_pfm(const EncodedImage& file) {
    const PfmHeader header = pfm_header(file.bytes);
    const Endian endian = *header.scale < 0 ? Endian::little : Endian::big;
    const unsigned channels = *file.bytes.at(1) == 'F' ? 3 : 1;
    Image image;
    image.depth = Depth::f32;
    image.white = 1;
    image.pixels = file.allocate(*header.height, *header.width, CV_MAKETYPE(CV_32F, static_cast<int>(channels)));
    std::uint64_t at = header.data;
    for (int y = image.pixels.rows - 1; y >= 0; --y) {
        auto* out = image.pixels.ptr<float>(y);
        for (int x = 0; x < image.pixels.cols; ++x, out += channels)
            for (unsigned c = 0; c < channels; ++c, at += 4)
                out[channels - 1 - c] =
                    std::bit_cast<float>(static_cast<std::uint32_t>(file.bytes.number(at, 4, endian).value_or(0)));
    }
    return image;
}

}  // namespace

const ImageFormat pnm_format{"a netpbm file",
                             {".pbm", ".pgm", ".pnm", ".ppm", ".pxm"},
                             6,
                             matches_pnm,
                             inspect_pnm,
                             decode_pnm,
                             {"PBM, PGM, PPM",
                              {},
                              "u8, u16; unscaled; white is the maximum, 1 to 65535; PBM as 0 and 255",
                              "consecutive binary images",
                              "text and binary",
                              ""},
                             find_pages,
                             nullptr,
                             true};
const ImageFormat pam_format{"a netpbm file",
                             {".pam"},
                             8,
                             matches_pam,
                             inspect_pam,
                             decode_pam,
                             {"PAM",
                              {},
                              "u8, u16; unscaled; white is the maximum, 1 to 65535",
                              "consecutive images",
                              "BLACKANDWHITE (0 and 1), GRAYSCALE, RGB, each with alpha too; another type is gray with "
                              "1 sample, and bands with 2 to 64",
                              "more samples"},
                             find_pages,
                             nullptr,
                             true};
const ImageFormat pfm_format{"a PFM",
                             {".pfm"},
                             12,
                             matches_pfm,
                             inspect_pfm,
                             decode_pfm,
                             {"PFM", {}, "f32", "", "both byte orders; not multiplied by the scale", "PF4"}};

}  // namespace gpuhist::io
