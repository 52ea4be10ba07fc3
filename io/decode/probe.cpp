#include "decode/probe.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace gpuhist::io {
namespace {

using std::uint32_t;
using std::uint64_t;

enum class Endian { little, big };

/// Bytes with a length: every read is checked, and what lies outside reads as absent.
class Bytes {
  public:
    Bytes(const unsigned char* data, std::size_t size) : data_(data), size_(size) {}

    std::size_t size() const { return size_; }
    const unsigned char* at(uint64_t offset) const { return data_ + offset; }
    bool has(uint64_t offset, uint64_t count) const { return offset <= size_ && count <= size_ - offset; }

    bool starts_with(std::string_view text, uint64_t offset = 0) const {
        return has(offset, text.size()) && std::memcmp(data_ + offset, text.data(), text.size()) == 0;
    }

    std::optional<uint64_t> number(uint64_t offset, unsigned count, Endian endian) const {
        if (!has(offset, count)) return std::nullopt;
        uint64_t value = 0;
        for (unsigned i = 0; i < count; ++i)
            value = value << 8 | data_[offset + (endian == Endian::big ? i : count - 1 - i)];
        return value;
    }

    std::string_view text(uint64_t offset, uint64_t count) const {
        return {reinterpret_cast<const char*>(data_ + offset), static_cast<std::size_t>(count)};
    }

  private:
    const unsigned char* data_;
    std::size_t size_;
};

void set_size(Container& container, std::optional<uint64_t> width, std::optional<uint64_t> height) {
    container.width = width.value_or(0);
    container.height = height.value_or(0);
}

/// a · b, or the largest number where the product passes it: then no file is long enough, which is what is asked.
uint64_t saturating_product(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<uint64_t>::max() : product;
}

// --- JPEG --------------------------------------------------------------------------------------------------------

/// Walks the markers and, by memchr, the entropy-coded data between them, up to the end-of-image marker. An EOI inside
/// a segment (that of an EXIF thumbnail) is stepped over with it.
void inspect_jpeg(const Bytes& file, Container& container) {
    constexpr unsigned char sos = 0xDA, eoi = 0xD9, dht = 0xC4, jpg = 0xC8, dac = 0xCC;
    bool scan_seen = false;
    std::size_t position = 2;
    while (position < file.size()) {
        // To the next marker: 0xFF and neither stuffing (00), nor fill (FF), nor restart (D0 to D7), nor TEM (01).
        const auto* found =
            static_cast<const unsigned char*>(std::memchr(file.at(position), 0xFF, file.size() - position));
        if (!found) break;
        position = static_cast<std::size_t>(found - file.at(0)) + 1;
        if (position >= file.size()) break;
        const unsigned char marker = *file.at(position);
        if (marker == 0xFF) continue;
        ++position;
        if (marker <= 0x01 || (marker >= 0xD0 && marker <= 0xD8)) continue;
        if (marker == eoi) {
            if (!scan_seen) container.damaged = "the JPEG has an end-of-image marker but no image data";
            return;
        }
        const auto length = file.number(position, 2, Endian::big);
        if (!length) break;
        if (marker >= 0xC0 && marker <= 0xCF && marker != dht && marker != jpg && marker != dac) {
            set_size(container, file.number(position + 5, 2, Endian::big), file.number(position + 3, 2, Endian::big));
            const auto precision = file.number(position + 2, 1, Endian::big);
            if (precision && *precision != 8)
                container.unsupported = std::to_string(*precision) + "-bit JPEG is not supported: OpenCV reads 8 bits";
        }
        if (marker == sos) scan_seen = true;
        position += std::max<std::size_t>(2, *length);
    }
    container.truncated =
        scan_seen ? "the JPEG ends before its end-of-image marker" : "the JPEG ends inside its header";
}

// --- PNG ---------------------------------------------------------------------------------------------------------

constexpr std::string_view png_signature("\x89PNG\r\n\x1a\n", 8);

struct PngChunk {
    uint64_t length;  ///< of the data; the chunk is 12 bytes longer
    std::string_view type;
    bool critical() const { return type[0] < 'a'; }
};

std::optional<PngChunk> png_chunk(const Bytes& file, uint64_t position) {
    const auto length = file.number(position, 4, Endian::big);
    if (!length || !file.has(position, 12) || !file.has(position, 12 + *length)) return std::nullopt;
    return PngChunk{*length, file.text(position + 4, 4)};
}

void inspect_png(const Bytes& file, Container& container) {
    if (!file.has(0, png_signature.size() + 8)) {
        container.truncated = "the PNG ends inside its header";
        return;
    }
    if (!file.starts_with("IHDR", 12)) {
        container.damaged = "the PNG does not begin with its IHDR chunk";
        return;
    }
    set_size(container, file.number(16, 4, Endian::big), file.number(20, 4, Endian::big));
    uint64_t position = png_signature.size();
    while (const auto chunk = png_chunk(file, position)) {
        // A wrong checksum of the others is only a wrong text or profile.
        if (chunk->critical()) {
            const auto checksum = crc32_z(0, file.at(position + 4), static_cast<z_size_t>(chunk->length + 4));
            if (file.number(position + 8 + chunk->length, 4, Endian::big) != checksum) {
                container.damaged = "the checksum of the PNG's " + std::string(chunk->type) + " chunk at byte " +
                                    std::to_string(position) + " is wrong";
                return;
            }
        }
        if (chunk->type == "IEND") return;
        position += 12 + chunk->length;
    }
    container.truncated = file.has(position, 8)
                              ? "the PNG ends inside a chunk (at byte " + std::to_string(position) + ")"
                              : "the PNG ends before its IEND chunk";
}

// --- TIFF --------------------------------------------------------------------------------------------------------

/// The first directory of a classic or Big TIFF.
class TiffDirectory {
  public:
    explicit TiffDirectory(const Bytes& file) : file_(file) {
        endian_ = file.starts_with("II") ? Endian::little : Endian::big;
        big_ = file.number(2, 2, endian_) == 43u;
        word_ = big_ ? 8 : 4;
        const auto start = file.number(big_ ? 8 : 4, word_, endian_);
        const unsigned count_bytes = big_ ? 8 : 2;
        const auto count = start ? file.number(*start, count_bytes, endian_) : std::nullopt;
        if (!count) return;
        start_ = *start + count_bytes;
        count_ = *count;
        // The entries and, after them, where the next directory is.
        complete_ = count_ <= file.size() && file.has(start_, saturating_product(count_, entry_bytes()) + word_);
    }

    bool complete() const { return complete_; }

    /// Whether the values kept outside the directory are inside the file.
    bool values_complete() const {
        for (uint64_t i = 0; i < count_; ++i) {
            const auto entry = read_entry(i);
            if (entry.type_bytes && !file_.has(entry.offset, saturating_product(entry.count, entry.type_bytes)))
                return false;
        }
        return true;
    }

    /// A field of whole numbers, read in place.
    class Values {
      public:
        uint64_t count() const { return count_; }
        uint64_t operator[](uint64_t index) const {
            return file_->number(offset_ + index * bytes_, bytes_, endian_).value_or(0);
        }

      private:
        friend class TiffDirectory;
        const Bytes* file_ = nullptr;
        Endian endian_ = Endian::little;
        uint64_t offset_ = 0, count_ = 0;
        unsigned bytes_ = 0;
    };

    Values values(unsigned tag) const {
        Values values;
        for (uint64_t i = 0; i < count_; ++i) {
            const auto entry = read_entry(i);
            if (entry.tag != tag) continue;
            const bool whole = entry.type == 1 || entry.type == 3 || entry.type == 4 || entry.type == 16;
            if (whole && file_.has(entry.offset, saturating_product(entry.count, entry.type_bytes))) {
                values.file_ = &file_;
                values.endian_ = endian_;
                values.offset_ = entry.offset;
                values.count_ = entry.count;
                values.bytes_ = entry.type_bytes;
            }
            break;
        }
        return values;
    }

    uint64_t value(unsigned tag, uint64_t otherwise) const {
        const auto all = values(tag);
        return all.count() ? all[0] : otherwise;
    }

  private:
    struct Entry {
        uint64_t tag, type, count, offset;  ///< offset: where the values are, in the entry itself if they fit
        unsigned type_bytes;                ///< 0 for a type that is not known
    };

    uint64_t entry_bytes() const { return big_ ? 20 : 12; }

    Entry read_entry(uint64_t index) const {
        constexpr std::array<unsigned char, 19> sizes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
        const uint64_t at = start_ + index * entry_bytes();
        Entry entry{};
        entry.tag = file_.number(at, 2, endian_).value_or(0);
        entry.type = file_.number(at + 2, 2, endian_).value_or(0);
        entry.count = file_.number(at + 4, word_, endian_).value_or(0);
        entry.type_bytes = entry.type < sizes.size() ? sizes[entry.type] : 0;
        entry.offset = at + 4 + word_;
        if (saturating_product(entry.count, entry.type_bytes) > word_)
            entry.offset = file_.number(entry.offset, word_, endian_).value_or(0);
        return entry;
    }

    const Bytes& file_;
    Endian endian_ = Endian::little;
    bool big_ = false;
    unsigned word_ = 4;
    uint64_t start_ = 0, count_ = 0;
    bool complete_ = false;
};

/// Names what OpenCV would refuse in riddles or, worse, read wrong without a word (16-bit with two channels).
std::string unsupported_tiff(const TiffDirectory& directory, uint64_t bits, uint64_t samples) {
    enum { format_uint = 1, format_int = 2, format_float = 3, format_void = 4, format_complex_int = 5 };
    const uint64_t format = directory.value(339, format_uint);
    const bool whole = format == format_uint || format == format_void;
    if (!(whole && bits <= 16) && !(format == format_float && bits == 32)) {
        const char* prefix = whole ? "u" : format == format_int ? "s" : format == format_float ? "f" : "complex ";
        return "depth " + (prefix + std::to_string(bits)) + " is not supported: gpuhist reads u8, u16 and f32";
    }
    if (samples != 1 && samples != 3 && samples != 4)
        return std::to_string(samples) + " channels are not supported: gpuhist reads 1, 3 or 4";
    return {};
}

void inspect_tiff(const Bytes& file, Container& container) {
    enum { no_compression = 1, separate_planes = 2 };
    const TiffDirectory directory(file);
    if (!directory.complete()) {
        container.truncated = "the TIFF ends before its directory";
        return;
    }
    const uint64_t width = directory.value(256, 0), height = directory.value(257, 0);
    const uint64_t bits = directory.value(258, 1), samples = directory.value(277, 1);
    set_size(container, width, height);
    container.unsupported = unsupported_tiff(directory, bits, samples);
    if (!directory.values_complete()) {
        container.truncated = "the TIFF ends before the values of its directory";
        return;
    }

    const bool tiled = directory.values(324).count() > 0;
    const auto offsets = directory.values(tiled ? 324 : 273);
    const auto lengths = directory.values(tiled ? 325 : 279);
    const bool compressed = directory.value(259, no_compression) != no_compression;
    const uint64_t pixel_bits = saturating_product(bits, directory.value(284, 1) == separate_planes ? 1 : samples);
    const uint64_t piece_width = tiled ? directory.value(322, 0) : width;
    const uint64_t piece_height = tiled ? directory.value(323, 0) : std::min(directory.value(278, height), height);
    const uint64_t row_bits = saturating_product(piece_width, pixel_bits);
    const uint64_t row_bytes = row_bits / 8 + (row_bits % 8 != 0);
    const uint64_t pieces_per_plane = tiled || piece_height == 0 ? 0 : (height + piece_height - 1) / piece_height;
    for (uint64_t i = 0; i < offsets.count(); ++i) {
        uint64_t rows = piece_height;
        if (pieces_per_plane && (i + 1) % pieces_per_plane == 0) rows = height - (pieces_per_plane - 1) * piece_height;
        const uint64_t pixel_bytes = saturating_product(row_bytes, rows);
        // Some writers leave the lengths out, or round them up beyond the end of the file, where nothing is compressed.
        uint64_t length = i < lengths.count() ? lengths[i] : compressed ? 0 : pixel_bytes;
        if (!compressed) length = std::min(length, pixel_bytes);
        if (length != 0 && !file.has(offsets[i], length)) {
            container.truncated = std::string("the TIFF ends before its ") + (tiled ? "tile " : "strip ") +
                                  std::to_string(i + 1) + " of " + std::to_string(offsets.count());
            return;
        }
    }
}

// --- BMP, WebP, Sun raster, JPEG 2000, OpenEXR -------------------------------------------------------------------

bool is_bmp(const Bytes& file) {
    if (!file.starts_with("BM")) return false;
    const auto header = file.number(14, 4, Endian::little);
    return !header || *header == 12 || (*header >= 40 && *header <= 124);
}

void inspect_bmp(const Bytes& file, Container& container) {
    const bool old = file.number(14, 4, Endian::little) == 12u;
    const unsigned bytes = old ? 2 : 4;
    const auto width = file.number(18, bytes, Endian::little), height = file.number(18 + bytes, bytes, Endian::little);
    const auto bits = file.number(old ? 24 : 28, 2, Endian::little);
    const auto compression = old ? 0 : file.number(30, 4, Endian::little);
    const auto offset = file.number(10, 4, Endian::little);
    if (!width || !height || !bits || !compression || !offset) {
        container.truncated = "the BMP ends inside its header";
        return;
    }
    // Rows from the top down are told by a negative height.
    const bool negative = !old && *height > 0x7FFFFFFF;
    set_size(container, *width, negative ? (uint64_t{1} << 32) - *height : *height);
    const bool run_lengths = *compression == 1 || *compression == 2;
    const uint64_t row_bytes = (*width * *bits + 31) / 32 * 4;
    if (!run_lengths && !file.has(*offset, saturating_product(row_bytes, container.height)))
        container.truncated = "the BMP ends before its last row";
}

void inspect_webp(const Bytes& file, Container& container) {
    const auto size = file.number(4, 4, Endian::little);
    if (file.starts_with("VP8X", 12)) {
        const auto width = file.number(24, 3, Endian::little), height = file.number(27, 3, Endian::little);
        if (width && height) set_size(container, *width + 1, *height + 1);
        if (file.number(20, 1, Endian::little).value_or(0) & 2)
            container.unsupported = "an animated WebP is not supported: OpenCV reads single pictures";
    } else if (file.starts_with("VP8L", 12)) {
        if (const auto word = file.number(21, 4, Endian::little))
            set_size(container, (*word & 0x3FFF) + 1, (*word >> 14 & 0x3FFF) + 1);
    } else if (file.starts_with("VP8 ", 12)) {
        const auto width = file.number(26, 2, Endian::little), height = file.number(28, 2, Endian::little);
        if (width && height) set_size(container, *width & 0x3FFF, *height & 0x3FFF);
    }
    if (!file.has(8, *size)) container.truncated = "the WebP is shorter than its header says";
}

void inspect_sun(const Bytes& file, Container& container) {
    set_size(container, file.number(4, 4, Endian::big), file.number(8, 4, Endian::big));
    const auto length = file.number(16, 4, Endian::big), map = file.number(28, 4, Endian::big);
    if (!map || !file.has(32, *map + *length))
        container.truncated = "the Sun raster file is shorter than its header says";
}

void inspect_jpeg2000(const Bytes& file, Container& container) {
    uint64_t codestream = 0;
    if (!file.starts_with("\xFF\x4F")) {
        // Boxes: a length, a type; the codestream is in jp2c. Length 0: to the end; 1: a longer one follows.
        uint64_t position = 0;
        for (;;) {
            const auto length = file.number(position, 4, Endian::big);
            if (!length || !file.has(position, 8)) break;
            const bool extended = *length == 1;
            if (file.starts_with("jp2c", position + 4)) codestream = position + (extended ? 16 : 8);
            const uint64_t step = extended ? file.number(position + 8, 8, Endian::big).value_or(0) : *length;
            if (codestream || step < 8 || !file.has(position, step)) break;
            position += step;
        }
        if (!codestream) {
            container.truncated = "the JPEG 2000 file ends before its codestream";
            return;
        }
    }
    const auto right = file.number(codestream + 8, 4, Endian::big),
               bottom = file.number(codestream + 12, 4, Endian::big);
    const auto left = file.number(codestream + 16, 4, Endian::big), top = file.number(codestream + 20, 4, Endian::big);
    if (!top) {
        container.truncated = "the JPEG 2000 file ends inside its header";
    } else if (*right > *left && *bottom > *top) {
        set_size(container, *right - *left, *bottom - *top);
    }
}

void inspect_openexr(const Bytes& file, Container& container) {
    // Attributes: name, type, length, value; an empty name ends the header.
    uint64_t position = 8;
    const auto string_at = [&](uint64_t at) -> std::optional<std::string_view> {
        if (at >= file.size()) return std::nullopt;
        const void* end = std::memchr(file.at(at), 0, file.size() - at);
        if (!end) return std::nullopt;
        return file.text(at, static_cast<uint64_t>(static_cast<const unsigned char*>(end) - file.at(at)));
    };
    for (;;) {
        const auto name = string_at(position);
        if (!name) break;
        if (name->empty()) return;
        const auto type = string_at(position + name->size() + 1);
        if (!type) break;
        position += name->size() + type->size() + 2;
        const auto length = file.number(position, 4, Endian::little);
        position += 4;
        if (!length || !file.has(position, *length)) break;
        if (*name == "dataWindow" && *length == 16) {
            const auto coordinate = [&](unsigned index) {
                return std::int64_t{static_cast<std::int32_t>(
                    static_cast<uint32_t>(file.number(position + 4 * index, 4, Endian::little).value_or(0)))};
            };
            const auto width = coordinate(2) - coordinate(0) + 1, height = coordinate(3) - coordinate(1) + 1;
            if (width > 0 && height > 0)
                set_size(container, static_cast<uint64_t>(width), static_cast<uint64_t>(height));
        }
        position += *length;
    }
    container.truncated = "the OpenEXR file ends inside its header";
}

// --- The netpbm family and Radiance: headers of words --------------------------------------------------------------

/// Reads words parted by white space; `#` begins a comment to the end of the line.
class Words {
  public:
    Words(const Bytes& file, std::size_t position) : file_(file), position_(position) {}

    /// The next word; empty at the end of the file.
    std::string_view next() {
        while (position_ < file_.size()) {
            const unsigned char c = *file_.at(position_);
            if (c == '#') {
                skip_line();
            } else if (std::isspace(c)) {
                ++position_;
            } else {
                break;
            }
        }
        const std::size_t start = position_;
        while (position_ < file_.size() && !std::isspace(*file_.at(position_))) ++position_;
        return file_.text(start, position_ - start);
    }

    /// The next word as a number; nothing where it is not one.
    std::optional<uint64_t> number() {
        const auto word = next();
        if (word.empty() || word.size() > 18) return std::nullopt;
        uint64_t value = 0;
        for (const char c : word) {
            if (c < '0' || c > '9') return std::nullopt;
            value = value * 10 + static_cast<uint64_t>(c - '0');
        }
        return value;
    }

    void skip_line() {
        while (position_ < file_.size() && *file_.at(position_) != '\n') ++position_;
        if (position_ < file_.size()) ++position_;
    }

    bool at_end() const { return position_ >= file_.size(); }
    std::size_t position() const { return position_; }

  private:
    const Bytes& file_;
    std::size_t position_;
};

/// False where the file is no netpbm file after all, only a text that begins like one.
bool inspect_pnm(const Bytes& file, Container& container) {
    const char kind = static_cast<char>(*file.at(1));
    const bool bitmap = kind == '1' || kind == '4', ascii = kind <= '3', color = kind == '3' || kind == '6';
    Words words(file, 2);
    std::array<std::optional<uint64_t>, 3> fields{words.number(), words.number(), bitmap ? 1 : words.number()};
    for (const auto& field : fields)
        if (!field) {
            container.truncated = "the file ends inside its header";
            return words.at_end();
        }
    const uint64_t width = *fields[0], height = *fields[1];
    set_size(container, width, height);
    const uint64_t samples = saturating_product(saturating_product(width, height), color ? 3 : 1);
    bool complete = true;
    if (!ascii) {
        const uint64_t bytes = bitmap ? saturating_product((width + 7) / 8, height)
                                      : saturating_product(samples, *fields[2] > 255 ? 2 : 1);
        complete = file.has(words.position() + 1, bytes);
    } else {
        // Digits of a bitmap need no white space between them.
        uint64_t found = 0;
        while (found < samples) {
            const auto word = words.next();
            if (word.empty()) break;
            found += bitmap ? word.size() : 1;
        }
        complete = found >= samples;
    }
    if (!complete) container.truncated = "the file holds fewer samples than its header says";
    return true;
}

void inspect_pam(const Bytes& file, Container& container) {
    Words words(file, 2);
    uint64_t channels = 0, top = 0;
    for (;;) {
        const auto word = words.next();
        if (word.empty()) {
            container.truncated = "the file ends inside its header";
            return;
        }
        if (word == "ENDHDR") break;
        if (word == "WIDTH") {
            container.width = words.number().value_or(0);
        } else if (word == "HEIGHT") {
            container.height = words.number().value_or(0);
        } else if (word == "DEPTH") {
            channels = words.number().value_or(0);
        } else if (word == "MAXVAL") {
            top = words.number().value_or(0);
        }
    }
    const uint64_t samples = saturating_product(saturating_product(container.width, container.height), channels);
    if (!file.has(words.position() + 1, saturating_product(samples, top > 255 ? 2 : 1)))
        container.truncated = "the file holds fewer samples than its header says";
}

bool inspect_pfm(const Bytes& file, Container& container) {
    Words words(file, 2);
    const auto width = words.number(), height = words.number();
    const bool scale = !words.next().empty();
    if (!width || !height || !scale) {
        container.truncated = "the file ends inside its header";
        return words.at_end();
    }
    set_size(container, width, height);
    const uint64_t sample_bytes = *file.at(1) == 'F' ? 12 : 4;
    if (!file.has(words.position() + 1, saturating_product(saturating_product(*width, *height), sample_bytes)))
        container.truncated = "the file holds fewer samples than its header says";
    return true;
}

void inspect_radiance(const Bytes& file, Container& container) {
    // Lines, an empty one, then for instance "-Y 480 +X 640".
    const auto text = file.text(0, std::min<uint64_t>(file.size(), 65536));
    const auto blank = text.find("\n\n");
    Words words(file, blank == text.npos ? file.size() : blank + 2);
    for (int axis = 0; axis < 2; ++axis) {
        const auto name = words.next();
        const auto length = words.number();
        if (name.size() == 2 && length) (name[1] == 'X' ? container.width : container.height) = *length;
    }
    if (container.width == 0 || container.height == 0)
        container.truncated = "the Radiance file ends before it says its size";
}

}  // namespace

const char* with_article(Format format) {
    switch (format) {
        case Format::jpeg:
            return "a JPEG";
        case Format::png:
            return "a PNG";
        case Format::tiff:
            return "a TIFF";
        case Format::bmp:
            return "a BMP";
        case Format::webp:
            return "a WebP";
        case Format::pnm:
        case Format::pam:
            return "a netpbm file";
        case Format::pfm:
            return "a PFM";
        case Format::radiance:
            return "a Radiance file";
        case Format::openexr:
            return "an OpenEXR file";
        case Format::jpeg2000:
            return "a JPEG 2000 file";
        case Format::sun:
            return "a Sun raster file";
        case Format::unknown:
            break;
    }
    return "a file of unknown format";
}

Container inspect(const unsigned char* data, std::size_t bytes) {
    using namespace std::string_view_literals;
    const Bytes file(data, bytes);
    Container container;
    const auto is = [&](Format format) {
        container.format = format;
        return true;
    };
    if (file.starts_with("\xFF\xD8\xFF") && is(Format::jpeg)) {
        inspect_jpeg(file, container);
    } else if (file.starts_with(png_signature) && is(Format::png)) {
        inspect_png(file, container);
    } else if ((file.starts_with("II\x2A\0"sv) || file.starts_with("MM\0\x2A"sv) || file.starts_with("II\x2B\0"sv) ||
                file.starts_with("MM\0\x2B"sv)) &&
               is(Format::tiff)) {
        inspect_tiff(file, container);
    } else if (is_bmp(file) && is(Format::bmp)) {
        inspect_bmp(file, container);
    } else if (file.starts_with("RIFF") && file.starts_with("WEBP", 8) && is(Format::webp)) {
        inspect_webp(file, container);
    } else if (file.starts_with("\x59\xA6\x6A\x95") && is(Format::sun)) {
        inspect_sun(file, container);
    } else if ((file.starts_with("\0\0\0\x0CjP  "sv) || file.starts_with("\xFF\x4F\xFF\x51")) && is(Format::jpeg2000)) {
        inspect_jpeg2000(file, container);
    } else if (file.starts_with("\x76\x2F\x31\x01") && is(Format::openexr)) {
        inspect_openexr(file, container);
    } else if ((file.starts_with("#?RADIANCE") || file.starts_with("#?RGBE")) && is(Format::radiance)) {
        inspect_radiance(file, container);
    } else if (file.starts_with("P7\n") && is(Format::pam)) {
        inspect_pam(file, container);
    } else if (bytes >= 3 && data[0] == 'P' && std::isspace(data[2])) {
        const bool pnm = data[1] >= '1' && data[1] <= '6';
        const bool pfm = data[1] == 'F' || data[1] == 'f';
        container.format = pnm ? Format::pnm : pfm ? Format::pfm : Format::unknown;
        if ((pnm && !inspect_pnm(file, container)) || (pfm && !inspect_pfm(file, container))) container = Container{};
    }
    return container;
}

std::string describe_unknown(const unsigned char* data, std::size_t bytes) {
    using namespace std::string_view_literals;
    struct Known {
        std::size_t offset;
        std::string_view signature;
        const char* name;
    };
    constexpr std::array known{
        Known{0, "GIF8"sv, "a GIF"},
        Known{4, "ftypavif"sv, "an AVIF"},
        Known{4, "ftyphei"sv, "a HEIC image"},
        Known{4, "ftypmif1"sv, "a HEIC image"},
        Known{0, "\xFF\x0A"sv, "a JPEG XL"},
        Known{0, "\0\0\0\x0CJXL "sv, "a JPEG XL"},
        Known{0, "8BPS"sv, "a Photoshop file"},
        Known{0, "%PDF"sv, "a PDF"},
        Known{0, "SIMPLE  ="sv, "a FITS file"},
        Known{0, "\0\0\x01\0"sv, "an icon"},
    };
    const Bytes file(data, bytes);
    for (const auto& [offset, signature, name] : known)
        if (file.starts_with(signature, offset))
            return std::string(name) + " is not a format that gpuhist reads: convert it to PNG or TIFF first";

    const auto beginning = file.text(0, std::min<std::size_t>(bytes, 512));
    const auto control = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte == 0x7F || (byte < 0x20 && !(byte >= '\t' && byte <= '\r'));
    };
    if (std::none_of(beginning.begin(), beginning.end(), control)) return "not an image: the file begins with text";
    constexpr char digits[] = "0123456789abcdef";
    std::string text = "not an image of a known format: the file begins with the bytes";
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes, 8); ++i)
        text += {' ', digits[data[i] >> 4], digits[data[i] & 15]};
    return text;
}

std::string essential_png(const unsigned char* data, std::size_t bytes) {
    const Bytes file(data, bytes);
    std::string kept(png_signature);
    kept.reserve(bytes);
    bool all = true;
    uint64_t position = png_signature.size();
    while (const auto chunk = png_chunk(file, position)) {
        if (chunk->critical() || chunk->type == "tRNS") {
            kept += file.text(position, 12 + chunk->length);
        } else {
            all = false;
        }
        position += 12 + chunk->length;
        if (chunk->type == "IEND") return all ? std::string() : kept;
    }
    kept += file.text(position, file.size() - position);  // of a truncated file: what is there of its last chunk
    return all ? std::string() : kept;
}

}  // namespace gpuhist::io
