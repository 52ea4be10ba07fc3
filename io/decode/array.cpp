// Arrays of samples: .npy of NumPy, and files that are nothing else, whose layout the user tells.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "decode/formats.hpp"
#include "files/window.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

/// Place and kind of the samples of an image.
struct Layout {
    Depth depth = Depth::u8;
    unsigned stored_bytes = 1;  ///< of a sample; 8 of an integer whose values must fit into 32 bits
    Endian endian = Endian::little;
    bool truth = false;       ///< 0 and 1
    bool by_columns = false;  ///< the first index varies fastest
    std::uint64_t pages = 1, height = 0, width = 0, channels = 1;
    std::uint64_t data = 0;

    std::uint64_t row_bytes() const { return saturating_product(saturating_product(width, channels), stored_bytes); }
    std::uint64_t page_bytes() const { return saturating_product(row_bytes(), height); }
    bool bands() const { return channels == 2 || channels > 4; }
    bool wide() const { return stored_bytes > sample_bytes(depth); }
};

void describe(const Bytes& file, const Layout& layout, Probe& probe) {
    probe.set_size(layout.width, layout.height);
    probe.depth = layout.depth;
    probe.bands = layout.bands();
    probe.pixel_bytes = saturating_product(layout.channels, sample_bytes(layout.depth));
    if (!layout.by_columns) {
        probe.strip_rows = 1;
        probe.stored = true;
        probe.held_bytes = std::max(layout.row_bytes(), ReadAhead::bytes) + FileWindow::kept;
    } else {
        probe.held_bytes = file.size();
    }
    if (!file.has(layout.data, saturating_product(layout.page_bytes(), layout.pages)))
        probe.truncated =
            "the file holds fewer samples than " + std::string(probe.format ? "its header says" : "its sides need");
    if (layout.channels == 0 || layout.channels > most_channels)
        probe.unsupported = unsupported_channels(layout.channels);
}

/// Samples of a page, in the order of a matrix.
class SampleReader {
  public:
    SampleReader(const EncodedImage& file, const Layout& layout, Image& image)
        : file_(file),
          layout_(layout),
          image_(image),
          begin_(layout.data + file.probe.page.plane * layout.page_bytes()),
          ahead_(file.bytes) {}

    /// Puts a row of the page at `out`.
    void read(std::uint64_t y, unsigned char* out) {
        if (!layout_.by_columns && !layout_.wide() && !layout_.truth) {
            with_depth(layout_.depth, [&]<class Sample>(Sample) { copy<sizeof(Sample)>(y, out); });
            return;
        }
        const std::size_t bytes = sample_bytes(layout_.depth);
        for (std::uint64_t x = 0; x < layout_.width; ++x)
            for (std::uint64_t c = 0; c < layout_.channels; ++c) {
                const std::uint64_t place = (layout_.channels == 3 || layout_.channels == 4) && c < 3 ? 2 - c : c;
                put(at(y, x, c), y, out + (x * layout_.channels + place) * bytes);
            }
    }

  private:
    template <std::size_t Count>
    void copy(std::uint64_t y, unsigned char* out) {
        const unsigned char* in = at(y, 0, 0);
        const std::uint64_t count = layout_.width * layout_.channels;
        if (!in) return;
        std::memcpy(out, in, count * Count);
        if (layout_.endian == Endian::big && Count > 1)
            for (std::uint64_t i = 0; i < count; ++i) std::reverse(out + i * Count, out + (i + 1) * Count);
        if (layout_.channels != 3 && layout_.channels != 4) return;
        for (std::uint64_t x = 0; x < layout_.width; ++x, out += layout_.channels * Count)
            std::swap_ranges(out, out + Count, out + 2 * Count);
    }
    /// Bytes of a sample; null if the file ends before.
    const unsigned char* at(std::uint64_t y, std::uint64_t x, std::uint64_t c) {
        if (layout_.by_columns) {  // pages are the first index, which varies fastest
            const std::uint64_t index =
                file_.probe.page.plane + layout_.pages * (y + layout_.height * (x + layout_.width * c));
            const std::uint64_t place = layout_.data + index * layout_.stored_bytes;
            return file_.bytes.has(place, layout_.stored_bytes) ? file_.bytes.at(place) : nullptr;
        }
        const std::uint64_t row = begin_ + y * layout_.row_bytes();
        if (!file_.bytes.has(row, layout_.row_bytes())) return nullptr;
        return ahead_.at(row, layout_.row_bytes()) + (x * layout_.channels + c) * layout_.stored_bytes;
    }
    void put(const unsigned char* in, std::uint64_t y, unsigned char* out) {
        const unsigned count = layout_.stored_bytes;
        std::uint64_t value = 0;
        for (unsigned i = 0; in && i < count; ++i)
            value = value << 8 | in[layout_.endian == Endian::big ? i : count - 1 - i];
        if (layout_.truth && value > 1)
            file_.report(image_, std::to_string(value) + " in row " + std::to_string(y) + " is neither 0 nor 1");
        if (layout_.wide()) {
            const auto number = static_cast<std::int64_t>(value);
            const bool fits =
                layout_.depth == Depth::u32 ? value <= UINT32_MAX : number >= INT32_MIN && number <= INT32_MAX;
            if (!fits)
                file_.refuse(
                    unsupported_value(y, layout_.depth == Depth::u32 ? std::to_string(value) : std::to_string(number)));
        }
        switch (sample_bytes(layout_.depth)) {
            case 1:
                store<std::uint8_t>(value, out);
                break;
            case 2:
                store<std::uint16_t>(value, out);
                break;
            case 4:
                store<std::uint32_t>(value, out);
                break;
            default:
                store<std::uint64_t>(value, out);
        }
    }
    template <class Bits>
    static void store(std::uint64_t value, unsigned char* out) {
        const auto bits = static_cast<Bits>(value);
        std::memcpy(out, &bits, sizeof bits);
    }

    const EncodedImage& file_;
    const Layout& layout_;
    Image& image_;
    const std::uint64_t begin_;
    ReadAhead ahead_;
};

Image decode_layout(const EncodedImage& file, const Layout& layout) {
    Image image;
    image.depth = layout.depth;
    image.samples = layout.bands() ? Samples::bands : Samples::color;
    if (layout.channels == 4) image.alpha = Alpha::straight;
    image.white = layout.truth ? 1 : traits_of(layout.depth).highest;
    image.pages = layout.pages;
    const std::uint64_t at_once = file.rows_at_once();
    cv::Mat pixels = file.allocate(at_once, layout.width,
                                   CV_MAKETYPE(opencv_depth(layout.depth), static_cast<int>(layout.channels)));
    if (layout.by_columns) file.bytes.part(layout.data, file.bytes.size() - layout.data);  // all of a window
    SampleReader samples(file, layout, image);
    for (std::uint64_t y = 0; y < layout.height; ++y) {
        const auto line = static_cast<int>(y % at_once);
        samples.read(y, pixels.ptr(line));
        if (y % at_once + 1 == at_once || y + 1 == layout.height)
            file.give_rows(image, pixels, y - y % at_once, y % at_once + 1);
    }
    return image;
}

// ------------------------------------------------------------------------------------------------------ .npy

/// Header of a .npy file: a dictionary of Python's.
struct Header {
    Layout layout;
    bool ended = false;                ///< the file ends inside it
    std::string damaged, unsupported;  ///< what is wrong, or not read
};

/// Words of the dictionary.
class Dictionary {
  public:
    explicit Dictionary(std::string_view text) : rest_(text) {}

    /// Skips white space, and a character if it is the next one.
    bool take(char c) {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::optional<std::string_view> quoted() {
        const char quote = take('\'') ? '\'' : take('"') ? '"' : '\0';
        const std::size_t stop = rest_.find(quote);
        if (quote == '\0' || stop == rest_.npos) return std::nullopt;
        const std::string_view text = rest_.substr(0, stop);
        rest_.remove_prefix(stop + 1);
        return text;
    }
    std::optional<bool> truth() {
        for (const bool value : {true, false})
            if (const std::string_view word = value ? "True" : "False"; take(word[0])) {
                if (rest_.substr(0, word.size() - 1) != word.substr(1)) return std::nullopt;
                rest_.remove_prefix(word.size() - 1);
                return value;
            }
        return std::nullopt;
    }
    std::optional<std::uint64_t> number() {
        take(' ');
        std::uint64_t value = 0;
        const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc()) return std::nullopt;
        rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
        take('L');  // of Python 2
        return value;
    }
    bool at_end() { return !take(' ') && rest_.empty(); }

  private:
    std::string_view rest_;
};

/// Numbers of an array's sides; none if the text has others.
std::optional<std::vector<std::uint64_t>> read_shape(Dictionary& words) {
    if (!words.take('(')) return std::nullopt;
    std::vector<std::uint64_t> shape;
    while (!words.take(')')) {
        const auto side = words.number();
        if (!side || shape.size() == 32) return std::nullopt;
        shape.push_back(*side);
        if (words.take(',')) continue;
        if (!words.take(')')) return std::nullopt;
        break;
    }
    return shape;
}

/// Sets the type of the samples from NumPy's name, such as "<u2". Returns whether it is read.
bool set_type(std::string_view name, Layout& layout) {
    if (name.size() != 3 || std::string_view("<>|=").find(name[0]) == std::string_view::npos) return false;
    layout.endian = name[0] == '>' ? Endian::big : Endian::little;
    layout.stored_bytes = static_cast<unsigned>(name[2] - '0');
    layout.truth = name.substr(1) == "b1";
    if (layout.truth) return true;
    struct Type {
        std::string_view name;
        Depth depth;
    };
    constexpr Type types[] = {{"u1", Depth::u8},  {"i1", Depth::s8},  {"u2", Depth::u16}, {"i2", Depth::s16},
                              {"u4", Depth::u32}, {"i4", Depth::s32}, {"u8", Depth::u32}, {"i8", Depth::s32},
                              {"f2", Depth::f16}, {"f4", Depth::f32}, {"f8", Depth::f64}};
    for (const Type& type : types)
        if (name.substr(1) == type.name) {
            layout.depth = type.depth;
            return true;
        }
    return false;
}

Header read_header(const Bytes& file) {
    Header header;
    const auto version = file.number(6, 1, Endian::little);
    const unsigned count = version == 1U ? 2 : 4;
    const auto length = file.number(8, count, Endian::little);
    if (!version || !length || !file.has(8 + count, *length)) {
        header.ended = true;
        return header;
    }
    if (*version < 1 || *version > 3) {
        header.unsupported = "a .npy of the version " + std::to_string(*version) + " is not supported";
        return header;
    }
    constexpr std::uint64_t longest = 1 << 16;
    if (*length > longest) {
        header.unsupported = "a .npy with a header of " + std::to_string(*length) + " bytes is not supported";
        return header;
    }
    Dictionary words(file.text(8 + count, *length));
    std::optional<std::string_view> type;
    std::optional<bool> by_columns;
    std::optional<std::vector<std::uint64_t>> shape;
    bool sound = words.take('{'), records = false;
    while (sound && !words.take('}')) {
        const auto key = words.quoted();
        sound = key && words.take(':');
        if (!sound) break;
        if (*key == "descr") {
            records = words.take('[');
            if (records) break;
            type = words.quoted();
        } else if (*key == "fortran_order") {
            by_columns = words.truth();
        } else if (*key == "shape") {
            shape = read_shape(words);
        } else {
            sound = false;
        }
        sound = sound && (*key == "descr"   ? type.has_value()
                          : *key == "shape" ? shape.has_value()
                                            : by_columns.has_value());
        words.take(',');
    }
    if (records) {
        header.unsupported = "a .npy of records is not supported";
        return header;
    }
    if (!sound || !words.at_end() || !type || !by_columns || !shape) {
        header.damaged = "the header of the .npy is not a dictionary with descr, fortran_order and shape";
        return header;
    }
    Layout& layout = header.layout;
    layout.data = 8 + count + *length;
    layout.by_columns = *by_columns;
    if (!set_type(*type, layout)) {
        header.unsupported = "a .npy of the type " + std::string(*type) + " is not supported: gpuhist reads bool, " +
                             depth_names() + ", and integers of 64 bits with values of 32 bits";
        return header;
    }
    const std::size_t axes = shape->size();
    if (axes < 2 || axes > 4) {
        header.unsupported = "a .npy of " + std::to_string(axes) +
                             " axes is not supported: gpuhist reads (height, width), (height, width, channels) and "
                             "(pages, height, width, channels)";
        return header;
    }
    std::size_t axis = 0;
    if (axes == 4) layout.pages = (*shape)[axis++];
    layout.height = (*shape)[axis++];
    layout.width = (*shape)[axis++];
    if (axes >= 3) layout.channels = (*shape)[axis];
    if (layout.channels == 0 || layout.channels > most_channels)
        header.unsupported = unsupported_channels(layout.channels) +
                             (axes == 3 ? ", and a stack of images has the shape (pages, height, width, 1)" : "");
    return header;
}

bool matches(const Bytes& file) {
    return file.starts_with("\x93NUMPY");
}

void inspect(const Bytes& file, Probe& probe) {
    const Header header = read_header(file);
    probe.damaged = header.damaged;
    if (header.ended) probe.truncated = "the .npy ends inside its header";
    if (header.ended || !header.damaged.empty()) return;
    if (header.unsupported.empty() && header.layout.pages > 0) describe(file, header.layout, probe);
    probe.unsupported = header.unsupported;
}

void find_pages(const Bytes& file, PageList& list) {
    const Header header = read_header(file);
    if (header.ended || !header.damaged.empty() || !header.unsupported.empty()) return;
    const Layout& layout = header.layout;
    const std::uint64_t page_bytes = std::max<std::uint64_t>(1, layout.page_bytes());
    const std::uint64_t held = (file.size() - layout.data) / page_bytes + 1;  // one that is cut short, too
    for (std::uint64_t page = 0; page < std::min(layout.pages, held); ++page) {
        PageFacts facts{layout.width, layout.height};
        facts.depth = layout.depth;
        facts.samples = layout.channels;
        facts.place = layout.data;
        facts.plane = page;
        facts.planes = layout.pages;
        if (!list.add(facts)) return;
    }
    if (layout.pages > held) {
        list.rest = "the .npy ends in its page " + std::to_string(held);
        list.rest_kind = Kind::truncated;
    }
}

Image decode(const EncodedImage& file) {
    return decode_layout(file, read_header(file.bytes).layout);
}

// ------------------------------------------------------------------------------------------------- raw samples

Layout layout_of(const RawArray& array) {
    Layout layout;
    layout.depth = array.depth;
    layout.stored_bytes = static_cast<unsigned>(sample_bytes(array.depth));
    layout.endian = array.big_endian ? Endian::big : Endian::little;
    layout.width = array.width;
    layout.height = array.height;
    layout.channels = array.channels;
    layout.data = array.offset;
    return layout;
}

Image decode_raw(const EncodedImage& file) {
    return decode_layout(file, layout_of(*file.options.array));
}

}  // namespace

const ImageFormat raw_format{"raw samples", {}, 64 * sizeof(double), nullptr, nullptr, decode_raw, {}};

Probe probe_raw(const Bytes& file, const RawArray& array) {
    Probe probe;
    const Layout layout = layout_of(array);
    describe(file, layout, probe);
    probe.format = &raw_format;
    const std::uint64_t expected = saturating_product(layout.page_bytes(), 1);
    if (probe.truncated.empty() && file.size() - layout.data != expected)
        probe.unsupported = "the file has " + std::to_string(file.size()) + " bytes, and the raw samples end at " +
                            std::to_string(layout.data + expected);
    return probe;
}

const ImageFormat npy_format{
    "a .npy",
    {".npy"},
    64 * sizeof(double),
    matches,
    inspect,
    decode,
    {"NumPy .npy",
     {},
     "bool as u8, 0 and 1; signed and unsigned integers of 8, 16 and 32 bits, and of 64 bits whose values need 32; "
     "floats of 16, 32 and 64 bits",
     "the first of four axes",
     "2 axes: gray; 3 or 4: the last one has 1, 3 or 4 channels for gray, RGB and RGBA, or 2 to 64 for bands; both "
     "orders of bytes and axes",
     "other types, records, other numbers of axes"},
    find_pages,
    nullptr,
    true};

}  // namespace gpuhist::io
