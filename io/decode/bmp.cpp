// BMP, of Windows and of OS/2.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "decode/formats.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

enum Compression : std::uint64_t { none, rle8, rle4, bit_fields, jpeg, png, alpha_bit_fields };

constexpr std::uint64_t file_header = 14;

struct Header {
    std::uint64_t size = 0;  ///< bytes of the header that follows the file's; it tells the kind
    std::uint64_t width = 0, height = 0, bits = 0, compression = none;
    std::uint64_t data = 0;  ///< where the samples begin
    bool top_down = false;
    std::uint64_t palette = 0, palette_entry = 0, colors = 0;  ///< where it lies, bytes of a color, and their number
    std::array<std::uint64_t, 4> masks{};                      ///< red, green, blue, alpha; all 0 where there are none

    bool run_lengths() const { return compression == rle8 || compression == rle4; }
    std::uint64_t used_row_bytes() const { return (width * bits + 7) / 8; }
    std::uint64_t row_bytes() const { return (used_row_bytes() + 3) / 4 * 4; }
    std::uint64_t bytes() const { return saturating_product(row_bytes(), height); }
};

bool matches(const Bytes& file) {
    if (!file.starts_with("BM")) return false;
    const auto size = file.number(file_header, 4, Endian::little);
    return !size || *size == 12 || (*size >= 16 && *size <= 124);
}

/// The header of a file that matches; nothing where the file ends inside it.
std::optional<Header> read_header(const Bytes& file) {
    const auto number = [&](std::uint64_t at, unsigned count) {
        return file.number(at, count, Endian::little).value_or(0);
    };
    Header header;
    header.size = number(file_header, 4);
    header.data = number(10, 4);
    std::uint64_t end = file_header + header.size;
    if (header.size == 0 || !file.has(0, end)) return std::nullopt;
    const unsigned bytes = header.size == 12 ? 2 : 4;
    header.width = number(18, bytes);
    header.height = number(18 + bytes, bytes);
    header.bits = number(20 + 2 * bytes, 2);
    // Rows from the top down are told by a negative height.
    header.top_down = bytes == 4 && header.height > 0x7FFFFFFF;
    if (header.top_down) header.height = (std::uint64_t{1} << 32) - header.height;
    std::uint64_t colors = 0;
    if (header.size >= 40) {
        header.compression = number(30, 4);
        colors = number(46, 4);
    }
    if (header.compression == bit_fields || header.compression == alpha_bit_fields) {
        // Masks follow the header of 40 bytes, and lie in longer ones, from 56 bytes on with alpha's.
        const bool with_alpha = header.size >= 56 || (header.size == 40 && header.compression == alpha_bit_fields);
        if (header.size == 40) end += with_alpha ? 16 : 12;
        if (!file.has(0, end)) return std::nullopt;
        for (unsigned i = 0; i < (with_alpha ? 4 : 3); ++i) header.masks[i] = number(54 + 4 * i, 4);
    } else if (header.bits == 16) {
        header.masks = {0x7C00, 0x03E0, 0x001F, 0};
    }
    if (header.bits <= 8) {
        const std::uint64_t most = std::uint64_t{1} << header.bits;
        header.palette = end;
        header.palette_entry = header.size == 12 ? 3 : 4;
        header.colors = colors == 0 ? most : std::min(colors, most);
        // Palettes may be shorter than they say: then the samples begin earlier.
        if (header.data >= end) header.colors = std::min(header.colors, (header.data - end) / header.palette_entry);
    }
    return header;
}

/// The variant's name, where it is not read.
std::string unsupported(const Header& header) {
    constexpr std::array known{12, 16, 40, 52, 56, 64, 108, 124};
    const auto with = [](const std::string& what) { return "a BMP " + what + " is not supported"; };
    if (std::find(known.begin(), known.end(), header.size) == known.end())
        return with("with a header of " + std::to_string(header.size) + " bytes");
    const bool os2 = header.size == 64;
    if (header.compression == jpeg && !os2) return with("that holds a JPEG");
    if (header.compression == png && !os2) return with("that holds a PNG");
    if (header.compression > alpha_bit_fields || (os2 && header.compression > rle4))
        return with("of compression " + std::to_string(header.compression) + (os2 ? " of OS/2" : ""));
    constexpr std::array depths{1, 2, 4, 8, 16, 24, 32};
    if (std::find(depths.begin(), depths.end(), header.bits) == depths.end())
        return with("of " + std::to_string(header.bits) + " bits per pixel");
    if (header.run_lengths() && header.top_down) return with("of run lengths with rows from the top down");
    if (header.run_lengths() && header.bits != (header.compression == rle8 ? 8 : 4))
        return with("of run lengths and " + std::to_string(header.bits) + " bits per pixel");
    const bool fields = header.compression == bit_fields || header.compression == alpha_bit_fields;
    if (!fields) return {};
    if (header.bits != 16 && header.bits != 32)
        return with("of bit fields and " + std::to_string(header.bits) + " bits per pixel");
    std::uint64_t taken = header.bits == 16 ? ~std::uint64_t{0xFFFF} : 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const std::uint64_t mask = header.masks[i];
        if (i == 3 && mask == 0) continue;
        const int bits = std::popcount(mask);
        const bool joined = mask != 0 && mask >> std::countr_zero(mask) == (std::uint64_t{1} << bits) - 1;
        if (!joined || (mask & taken) != 0) return with("of bit fields that are empty, in pieces or on each other");
        if (bits > 8) return with("of " + std::to_string(bits) + " bits per color");
        taken |= mask;
    }
    return {};
}

void inspect(const Bytes& file, Probe& probe) {
    const auto header = read_header(file);
    if (!header) {
        probe.truncated = "the BMP ends inside its header";
        return;
    }
    probe.unsupported = unsupported(*header);
    probe.set_size(header->width, header->height);
    if (!probe.unsupported.empty() || header->width == 0 || header->height == 0) return;
    if (header->data < (header->palette_entry == 0 ? file_header + header->size : header->palette))
        probe.damaged = "the BMP's samples begin inside its header, at byte " + std::to_string(header->data);
    // Two bytes of run lengths say at most 255 pixels.
    const std::uint64_t bytes = file.size() - std::min<std::uint64_t>(file.size(), header->data);
    if (bytes == 0) {
        probe.truncated = "the BMP ends before its samples";
    } else if (header->run_lengths()) {
        if (saturating_product(header->width, header->height) > 128 * bytes)
            probe.too_large = cannot_hold("the BMP's run lengths", header->width, header->height);
    } else if (!file.has(header->data, header->bytes())) {
        probe.truncated = "the BMP ends before its last row";
    }
}

/// Palette in OpenCV's order; gray where every color of it is.
struct Palette {
    std::vector<std::array<unsigned char, 3>> colors;
    bool gray = true;

    Palette(const Bytes& file, const Header& header) {
        for (std::uint64_t i = 0; i < header.colors; ++i) {
            const std::uint64_t at = header.palette + i * header.palette_entry;
            if (!file.has(at, 3)) break;
            const auto* c = file.at(at);
            colors.push_back({c[0], c[1], c[2]});
            gray = gray && c[0] == c[1] && c[1] == c[2];
        }
        gray = gray && !colors.empty();
    }
};

/// Paints a file of palette indices, row by row of the file.
class Painter {
  public:
    Painter(const EncodedImage& file, const Header& header, Image& image)
        : file_(file), header_(header), image_(image), palette_(file.bytes, header) {
        image.pixels = file.allocate(header.height, header.width, gray() ? CV_8UC1 : CV_8UC3);
        image.zero_is_white = file.options.raw && !palette_.colors.empty() &&
                              palette_.colors[0] == std::array<unsigned char, 3>{255, 255, 255};
    }

    void paint(std::uint64_t row, const unsigned char* indices) {
        const std::uint64_t y = header_.top_down ? row : header_.height - 1 - row;
        auto* out = image_.pixels.ptr(static_cast<int>(y));
        if (file_.options.raw) {
            std::copy_n(indices, header_.width, out);
            return;
        }
        const std::size_t channels = gray() ? 1 : 3;
        for (std::uint64_t x = 0; x < header_.width; ++x, out += channels) {
            if (indices[x] < palette_.colors.size()) {
                std::copy_n(palette_.colors[indices[x]].begin(), channels, out);
            } else {
                file_.report(image_, "index " + std::to_string(indices[x]) + " in row " + std::to_string(y) +
                                         " is outside the palette of " + std::to_string(palette_.colors.size()));
            }
        }
    }

  private:
    bool gray() const { return palette_.gray || file_.options.raw; }

    const EncodedImage& file_;
    const Header& header_;
    Image& image_;
    const Palette palette_;
};

void decode_indices(const EncodedImage& file, const Header& header, Image& image) {
    Painter painter(file, header, image);
    std::vector<unsigned char> indices(header.width);
    const std::uint64_t in_byte = 8 / header.bits;
    for (std::uint64_t row = 0; row < header.height; ++row) {
        const std::uint64_t at = header.data + row * header.row_bytes();
        if (!file.bytes.has(at, header.used_row_bytes())) break;
        const auto* in = file.bytes.at(at);
        for (std::uint64_t x = 0; x < header.width; ++x)
            indices[x] = static_cast<unsigned char>(in[x / in_byte] >> (8 - header.bits - x % in_byte * header.bits) &
                                                    ((1U << header.bits) - 1));
        painter.paint(row, indices.data());
    }
}

/// Run lengths: pixels that they go over are of index 0.
class RunLengths {
  public:
    RunLengths(const EncodedImage& file, const Header& header, Image& image)
        : file_(file), header_(header), image_(image), indices_(header.width * header.height), at_(header.data) {}

    /// Indices, row by row of the file.
    const std::vector<unsigned char>& decode() {
        for (;;) {
            const auto count = byte(), value = byte();
            if (!value) {
                if (y_ + (x_ == header_.width) < header_.height)
                    file_.report(image_, "the BMP's run lengths end in " + place(), Kind::truncated);
                return indices_;
            }
            if (*count != 0) {
                if (!pixels(*count, [&](unsigned i) { return nibble(*value, i); })) return indices_;
            } else if (*value == 0) {
                x_ = 0;
                ++y_;
            } else if (*value == 1) {
                return indices_;
            } else if (*value == 2) {
                const auto right = byte(), up = byte();
                if (!up) continue;  // the end is met again
                x_ += *right;
                y_ += *up;
                if (x_ > header_.width || y_ >= header_.height) {
                    file_.report(image_,
                                 "the BMP's run lengths step out of the picture before byte " + std::to_string(at_));
                    return indices_;
                }
            } else if (!literal(*value)) {
                return indices_;
            }
        }
    }

  private:
    bool four_bits() const { return header_.compression == rle4; }
    unsigned char nibble(unsigned value, unsigned i) const {
        return static_cast<unsigned char>(!four_bits() ? value : i % 2 == 0 ? value >> 4 : value & 15);
    }
    std::optional<unsigned> byte() {
        if (!file_.bytes.has(at_, 1)) return std::nullopt;
        return *file_.bytes.at(at_++);
    }
    std::string place() const { return "row " + std::to_string(header_.height - 1 - std::min(y_, header_.height - 1)); }

    /// Sets the next pixels of the row. Decoders do not agree on those past its end.
    template <class Index>
    bool pixels(unsigned count, Index index) {
        if (y_ >= header_.height) {
            file_.report(image_, "the BMP's run lengths go on after the last row, before byte " + std::to_string(at_));
            return false;
        }
        if (count > header_.width - x_) {
            if (file_.options.on_damaged == OnDamaged::error)
                file_.refuse("a BMP whose run lengths pass the width is not supported: they do in " + place());
            file_.report(image_, "the BMP's run lengths pass the width in " + place());
            count = static_cast<unsigned>(header_.width - x_);
        }
        for (unsigned i = 0; i < count; ++i) indices_[y_ * header_.width + x_++] = index(i);
        return true;
    }
    /// Pixels one by one, filled up to 16 bits.
    bool literal(unsigned count) {
        const std::uint64_t begin = at_, bytes = four_bits() ? (count + 1) / 2 : count;
        if (!file_.bytes.has(begin, bytes)) {
            at_ = file_.bytes.size();
            return true;  // the end is met next
        }
        at_ += (bytes + 1) / 2 * 2;
        return pixels(count, [&](unsigned i) { return nibble(*file_.bytes.at(begin + (four_bits() ? i / 2 : i)), i); });
    }

    const EncodedImage& file_;
    const Header& header_;
    Image& image_;
    std::vector<unsigned char> indices_;
    std::uint64_t at_, x_ = 0, y_ = 0;
};

/// Colors of pixels of 16, 24 or 32 bits; a fourth byte without a mask is no alpha.
void decode_colors(const EncodedImage& file, const Header& header, Image& image) {
    const bool alpha = header.masks[3] != 0;
    const unsigned channels = alpha ? 4 : 3;
    if (alpha) image.alpha = Alpha::straight;
    image.pixels = file.allocate(header.height, header.width, alpha ? CV_8UC4 : CV_8UC3);
    // Values of each field as 0 … 255, rounded; OpenCV's order.
    struct Field {
        std::uint64_t mask;
        int shift;
        std::array<unsigned char, 256> values;
    };
    std::vector<Field> fields;
    if (header.masks[0] != 0)
        for (const unsigned i : {2U, 1U, 0U, 3U}) {
            if (header.masks[i] == 0) continue;
            Field field{header.masks[i], std::countr_zero(header.masks[i]), {}};
            const auto highest = static_cast<unsigned>(field.mask >> field.shift);
            for (unsigned v = 0; v <= highest; ++v)
                field.values[v] = static_cast<unsigned char>((v * 510 + highest) / (2 * highest));
            fields.push_back(field);
        }
    const unsigned bytes = static_cast<unsigned>(header.bits / 8);
    for (std::uint64_t row = 0; row < header.height; ++row) {
        const std::uint64_t at = header.data + row * header.row_bytes();
        if (!file.bytes.has(at, header.used_row_bytes())) break;
        const auto* in = file.bytes.at(at);
        auto* out = image.pixels.ptr(static_cast<int>(header.top_down ? row : header.height - 1 - row));
        if (bytes == 3) {
            std::copy_n(in, header.used_row_bytes(), out);
            continue;
        }
        for (std::uint64_t x = 0; x < header.width; ++x, in += bytes, out += channels) {
            if (fields.empty()) {
                std::copy_n(in, 3, out);
                continue;
            }
            std::uint64_t pixel = 0;
            for (unsigned i = 0; i < bytes; ++i) pixel |= std::uint64_t{in[i]} << 8 * i;
            for (unsigned c = 0; c < channels; ++c)
                out[c] = fields[c].values[(pixel & fields[c].mask) >> fields[c].shift];
        }
    }
}

Image decode(const EncodedImage& file) {
    const Header header = *read_header(file.bytes);
    Image image;
    if (header.bits > 8) {
        decode_colors(file, header, image);
    } else if (header.run_lengths()) {
        Painter painter(file, header, image);
        RunLengths runs(file, header, image);
        const auto& indices = runs.decode();
        for (std::uint64_t row = 0; row < header.height; ++row) painter.paint(row, indices.data() + row * header.width);
    } else {
        decode_indices(file, header, image);
    }
    return image;
}

}  // namespace

const ImageFormat bmp_format{
    "a BMP",
    {".bmp", ".dib"},
    4,
    matches,
    inspect,
    decode,
    {"BMP",
     {},
     "u8; fewer bits as 0 to 255",
     "",
     "headers of 12, 16, 40, 52, 56, 64, 108, 124 bytes; palettes (gray if all colors are); run lengths; 555, 565 and "
     "any masks of up to 8 bits; alpha if a mask defines it",
     "JPEG or PNG inside, other headers, masks over 8 bits or in pieces, runs past the width"}};

}  // namespace gpuhist::io
