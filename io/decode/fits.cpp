// FITS: headers of text and samples in big endian. The images of all extensions are pages, and so are the planes of a
// cube.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "decode/formats.hpp"
#include "files/window.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

constexpr std::uint64_t block = 2880, card_bytes = 80;  ///< headers and data are whole blocks, headers are cards
constexpr std::uint64_t longest_header = 1 << 24;       ///< bytes
constexpr std::uint64_t most_axes = 999;
constexpr std::string_view fill("\0 ", 2);  ///< of a tape's last block

/// Header, and the place of the data behind it.
struct Header {
    std::uint64_t begin = 0, data = 0;  ///< places in the file
    std::string extension;              ///< value of XTENSION; empty for the first header
    std::int64_t bits = 0;              ///< BITPIX; negative for floats
    std::vector<std::uint64_t> sides;
    std::int64_t groups = 1, parameters = 0;  ///< GCOUNT, PCOUNT
    bool standard = true;                     ///< SIMPLE
    bool random_groups = false, compressed = false;
    double scale = 1, zero = 0;
    std::optional<std::int64_t> blank;
    std::optional<std::string> checksum, data_sum;
    std::string damaged, truncated;  ///< why it cannot be read

    bool sound() const { return damaged.empty() && truncated.empty(); }
    bool image() const {
        const bool samples = std::none_of(sides.begin(), sides.end(), [](std::uint64_t side) { return side == 0; });
        return compressed || ((extension.empty() || extension == "IMAGE") && !sides.empty() && samples);
    }
    std::uint64_t width() const { return compressed ? 1 : sides[0]; }
    std::uint64_t height() const { return compressed || sides.size() < 2 ? 1 : sides[1]; }
    std::uint64_t planes() const {
        std::uint64_t count = 1;
        for (std::size_t axis = 2; axis < sides.size() && !compressed; ++axis)
            count = saturating_product(count, sides[axis]);
        return count;
    }
    std::uint64_t sample_bytes() const { return static_cast<std::uint64_t>(bits < 0 ? -bits : bits) / 8; }
    std::uint64_t row_bytes() const { return saturating_product(width(), sample_bytes()); }
    std::uint64_t plane_bytes() const { return saturating_product(row_bytes(), height()); }
    std::uint64_t data_bytes() const {
        std::uint64_t count = sides.empty() ? 0 : 1;
        for (std::size_t axis = random_groups ? 1 : 0; axis < sides.size(); ++axis)
            count = saturating_product(count, sides[axis]);
        count = saturating_sum(count, static_cast<std::uint64_t>(parameters));
        return saturating_product(saturating_product(count, static_cast<std::uint64_t>(groups)), sample_bytes());
    }
    /// Place after the data and what fills their last block.
    std::uint64_t end() const {
        const std::uint64_t filled = saturating_sum(data_bytes(), block - 1);
        return saturating_sum(data, filled - filled % block);
    }
    std::string place() const { return "its header at byte " + std::to_string(begin); }
};

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::string printable(std::string_view text) {
    std::string copy(text);
    std::replace_if(
        copy.begin(), copy.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return copy;
}

/// Value of a card: a word, or the text between quotes; nothing if the card has no value.
std::optional<std::string_view> value_of(std::string_view card) {
    if (card.substr(8, 2) != "= ") return std::nullopt;
    std::string_view text = trimmed(card.substr(10));
    if (!text.empty() && text.front() == '\'') {
        text.remove_prefix(1);
        return trimmed(text.substr(0, text.find('\'')));
    }
    text = text.substr(0, text.find_first_of(" /"));
    return text.empty() ? std::nullopt : std::optional(text);
}

template <class Number>
std::optional<Number> number_in(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == 'D' || c == 'd'; }, 'E');  // Fortran's double
    Number value{};
    const char* const first = text.data() + (text.starts_with('+') ? 1 : 0);
    const char* const last = text.data() + text.size();
    const auto [stop, error] = std::from_chars(first, last, value);
    if (error != std::errc() || stop != last || text.starts_with("+-")) return std::nullopt;
    if constexpr (std::is_floating_point_v<Number>)
        if (value - value != 0) return std::nullopt;
    return value;
}

/// Takes the value of a card. Returns false if it is wrong.
bool take_card(Header& header, std::uint64_t index, std::string_view key, std::optional<std::string_view> value,
               std::vector<std::string>& taken) {
    const auto integer = [&]() -> std::optional<std::int64_t> {
        return value ? number_in<std::int64_t>(std::string(*value)) : std::nullopt;
    };
    const auto count = [&](std::int64_t& to) {
        const auto number = integer();
        if (number && *number >= 0) to = *number;
        return number && *number >= 0;
    };
    if (index == 0) {  // SIMPLE or XTENSION
        if (key == "SIMPLE") {
            header.standard = value == "T";
            return value == "T" || value == "F";
        }
        header.extension = printable(value.value_or(""));
        return key == "XTENSION" && !header.extension.empty();
    }
    if (index == 1) {
        header.bits = integer().value_or(0);
        constexpr std::int64_t known[] = {8, 16, 32, 64, -32, -64};
        return key == "BITPIX" && std::find(std::begin(known), std::end(known), header.bits) != std::end(known);
    }
    if (index == 2) {
        std::int64_t axes = 0;
        if (key != "NAXIS" || !count(axes) || axes > static_cast<std::int64_t>(most_axes)) return false;
        header.sides.resize(static_cast<std::size_t>(axes));
        return true;
    }
    if (index < 3 + header.sides.size()) {
        std::int64_t side = 0;
        if (key != "NAXIS" + std::to_string(index - 2) || !count(side)) return false;
        header.sides[index - 3] = static_cast<std::uint64_t>(side);
        return true;
    }
    constexpr std::string_view known[] = {"PCOUNT", "GCOUNT", "GROUPS",  "ZIMAGE",  "BSCALE",
                                          "BZERO",  "BLANK",  "DATASUM", "CHECKSUM"};
    if (!value || std::find(std::begin(known), std::end(known), key) == std::end(known)) return true;
    if (std::find(taken.begin(), taken.end(), key) != taken.end()) return true;  // the first one counts
    taken.emplace_back(key);
    if (key == "PCOUNT") return count(header.parameters);
    if (key == "GCOUNT") return count(header.groups);
    if (key == "GROUPS") header.random_groups = !header.sides.empty() && header.sides[0] == 0 && value == "T";
    if (key == "ZIMAGE") header.compressed = header.extension == "BINTABLE" && value == "T";
    if (key == "DATASUM" && !value->empty()) header.data_sum = *value;
    if (key == "CHECKSUM" && !value->empty()) header.checksum = *value;
    if (key != "BSCALE" && key != "BZERO" && key != "BLANK") return true;
    const auto number = number_in<double>(std::string(*value));
    if (number && key == "BSCALE") header.scale = *number;
    if (number && key == "BZERO") header.zero = *number;
    if (key == "BLANK") {
        header.blank = number_in<std::int64_t>(std::string(*value));
        constexpr double most = 0x1p63;
        if (!header.blank && number && *number >= -most && *number < most)
            header.blank = static_cast<std::int64_t>(*number);
    }
    return number.has_value();
}

Header read_header(const Bytes& file, std::uint64_t begin) {
    Header header;
    header.begin = begin;
    std::vector<std::string> taken;
    std::uint64_t place = begin;
    for (std::uint64_t index = 0;; ++index, place += card_bytes) {
        if (!file.has(place, card_bytes)) {
            header.truncated = "the FITS file ends in " + header.place();
            return header;
        }
        if (place - begin >= longest_header) {
            header.damaged = "the FITS file has no END in " + header.place();
            return header;
        }
        if (index % 36 == 0) file.let_go();
        const std::string_view card = file.text(place, card_bytes);
        const std::string_view key = trimmed(card.substr(0, 8));
        if (key == "END" && index >= 3 + header.sides.size()) break;
        if (!take_card(header, index, key, value_of(card), taken)) {
            header.damaged = "the FITS file has a wrong card " + std::to_string(index + 1) + " in " + header.place() +
                             ": \"" + printable(trimmed(card.substr(0, 30))) + '"';
            return header;
        }
    }
    header.data = begin + (place - begin) / block * block + block;
    return header;
}

/// Why a search for images ended early; no words if it did not.
struct Problem {
    std::string words;
    Kind kind = Kind::damaged;
};

/// Looks for the headers of a file, until `take` returns false.
template <class Take>
Problem search(const Bytes& file, const Take& take) {
    for (std::uint64_t begin = 0;;) {
        const Header header = read_header(file, begin);
        if (!header.truncated.empty()) return {header.truncated, Kind::truncated};
        if (!header.damaged.empty()) return {header.damaged, Kind::damaged};
        if (!take(header)) return {};
        if (!file.has(header.data, header.data_bytes()))
            return {"the FITS file ends in the data of " + header.place(), Kind::truncated};
        begin = header.end();
        if (!file.has(begin, 1)) return {};
        if (file.starts_with("XTENSION", begin)) continue;
        const std::string_view rest = file.text(begin, std::min(block, file.size() - begin));
        if (rest.find_first_not_of(fill) == rest.npos) return {};
        return {"the FITS file has neither an end nor an extension at byte " + std::to_string(begin), Kind::damaged};
    }
}

/// Pages are told by the blocks in which their headers begin, from 1: 0 stands for the first image.
std::uint64_t block_of(const Header& header) {
    return header.begin / block + 1;
}

/// Header of a page.
struct Found {
    std::optional<Header> header;
    Problem problem;         ///< why there is none
    std::string other = "";  ///< extension that is no image; empty: there is none
};

Found find(const Bytes& file, const PagePlace& page) {
    Found found;
    if (page.directory > 0) {
        Header header = read_header(file, saturating_product(page.directory - 1, block));
        if (header.sound() && header.image())
            found.header = std::move(header);
        else
            found.problem = header.truncated.empty() ? Problem{header.damaged, Kind::damaged}
                                                     : Problem{header.truncated, Kind::truncated};
        return found;
    }
    found.problem = search(file, [&](const Header& header) {
        if (header.image()) found.header = header;
        if (found.other.empty()) found.other = header.extension;
        if (header.random_groups) found.other = "random groups";
        return !found.header;
    });
    return found;
}

/// How stored samples become those of the image: value = stored · BSCALE + BZERO.
struct Scaling {
    Depth depth = Depth::u8;
    bool scaled = false;  ///< integers become floats
    bool whole = false;   ///< integers stay integers of other values
    bool high = false;    ///< unsigned integers of 64 bits
};

/// Integers stay integers if BSCALE and BZERO are whole numbers, of the smallest type for their range. Otherwise they
/// become floats that can hold them.
Scaling scaling_of(const Header& header) {
    constexpr double two31 = 2147483648.0, two32 = 2 * two31, two63 = two32 * two31;
    const bool same = header.scale == 1 && header.zero == 0;
    switch (header.bits) {
        case -32:
            return {Depth::f32};
        case -64:
            return {Depth::f64};
        case 8:
            if (same) return {Depth::u8};
            break;
        case 16:
            if (same) return {Depth::s16};
            break;
        case 32:
            if (same) return {Depth::s32};
            break;
        default:
            if (same) return {Depth::s32, false, true};
            if (header.scale == 1 && header.zero == two63) return {Depth::u32, false, true, true};
    }
    const Scaling floats{header.bits <= 16 ? Depth::f32 : Depth::f64, true};
    const auto whole = [](double v) { return v - static_cast<double>(static_cast<std::int64_t>(v)) == 0; };
    const auto small = [](double v) { return v >= -two63 && v < two63; };
    if (!small(header.scale) || !small(header.zero) || !whole(header.scale) || !whole(header.zero)) return floats;
    const double half = header.bits == 8 ? 0 : header.bits == 16 ? 32768 : header.bits == 32 ? two31 : two63;
    const double first = header.scale * (header.bits == 8 ? 0 : -half) + header.zero;
    const double last = header.scale * (header.bits == 8 ? 255 : half - 1) + header.zero;
    const double low = std::min(first, last), high = std::max(first, last);
    const auto within = [&](double lowest, double highest) { return low >= lowest && high <= highest; };
    for (const Depth depth : {Depth::s8, Depth::s16, Depth::u16, Depth::s32, Depth::u32})
        if (within(traits_of(depth).lowest, traits_of(depth).highest)) return {depth, false, true};
    return header.bits == 64 && within(-two63, two63) ? Scaling{Depth::s32, false, true} : floats;
}

/// Value of a stored integer; nothing if it needs more than 64 bits. Values of up to 53 bits are exact.
std::optional<double> whole_value(const Header& header, const Scaling& scaling, std::int64_t stored) {
    if (scaling.high) return static_cast<double>(static_cast<std::uint64_t>(stored) ^ std::uint64_t{1} << 63);
    std::int64_t value = 0;
    if (__builtin_mul_overflow(stored, static_cast<std::int64_t>(header.scale), &value) ||
        __builtin_add_overflow(value, static_cast<std::int64_t>(header.zero), &value))
        return std::nullopt;
    return static_cast<double>(value);
}

bool in_range(Depth depth, const std::optional<double>& value) {
    return value && *value >= traits_of(depth).lowest && *value <= traits_of(depth).highest;
}

/// Whether a value of 32 bits replaces BLANK, which needs more.
bool nodata_stands_in(const EncodedImage& file, const Header& header, const Scaling& scaling) {
    return file.options.nodata && header.bits == 64 && header.blank && !scaling.scaled &&
           !in_range(scaling.depth, whole_value(header, scaling, *header.blank));
}

std::string refusal_of(const Header& header) {
    if (header.compressed)
        return "a FITS image that is compressed is not supported: expand it with CFITSIO's funpack (Debian: "
               "libcfitsio-bin)";
    return header.standard ? "" : "a FITS file that does not conform to the standard (SIMPLE = F) is not supported";
}

// ------------------------------------------------------------------------------------------------------- samples

/// Unsigned integer of so many bytes.
template <std::size_t Count>
using Bits = std::conditional_t<
    Count == 1, std::uint8_t,
    std::conditional_t<Count == 2, std::uint16_t, std::conditional_t<Count == 4, std::uint32_t, std::uint64_t>>>;

template <class Stored>
Stored load(const unsigned char* in) {
    Bits<sizeof(Stored)> bits = 0;
    for (std::size_t i = 0; i < sizeof(Stored); ++i)
        bits = static_cast<decltype(bits)>(std::uint64_t{bits} << 8 | in[i]);
    return std::bit_cast<Stored>(bits);
}

/// Samples of a plane, in the order of a matrix.
class SampleReader {
  public:
    SampleReader(const EncodedImage& file, const Header& header, const Scaling& scaling)
        : file_(file),
          header_(header),
          scaling_(scaling),
          replaced_(nodata_stands_in(file, header, scaling)),
          begin_(header.data + file.probe.page.plane * header.plane_bytes()),
          ahead_(file.bytes) {}

    /// Puts a row at `out`, unless the file ends before.
    void read(std::uint64_t y, unsigned char* out) {
        const unsigned char* in = row(y);
        if (!in) return;
        switch (header_.bits) {
            case 8:
                return integers<std::uint8_t>(in, y, out);
            case 16:
                return integers<std::int16_t>(in, y, out);
            case 32:
                return integers<std::int32_t>(in, y, out);
            case 64:
                return integers<std::int64_t>(in, y, out);
            case -32:
                return floats<float, float>(in, out);
            default:
                return floats<double, double>(in, out);
        }
    }

  private:
    const unsigned char* row(std::uint64_t y) {
        const std::uint64_t at = begin_ + y * header_.row_bytes();
        return file_.bytes.has(at, header_.row_bytes()) ? ahead_.at(at, header_.row_bytes()) : nullptr;
    }
    template <class Stored, class Sample>
    void floats(const unsigned char* in, unsigned char* out) const {
        auto* const samples = reinterpret_cast<Sample*>(out);
        const bool same = header_.scale == 1 && header_.zero == 0;
        for (std::uint64_t x = 0; x < header_.width(); ++x, in += sizeof(Stored)) {
            const auto stored = load<Stored>(in);
            if constexpr (std::is_same_v<Stored, Sample>) {
                samples[x] = same ? stored : static_cast<Sample>(stored * header_.scale + header_.zero);
            } else {
                const bool missing = header_.blank && stored == *header_.blank;
                const double value = static_cast<double>(stored) * header_.scale + header_.zero;
                samples[x] = missing ? std::numeric_limits<Sample>::quiet_NaN() : static_cast<Sample>(value);
            }
        }
    }
    template <class Stored>
    void integers(const unsigned char* in, std::uint64_t y, unsigned char* out) const {
        if (scaling_.depth == Depth::f32) return floats<Stored, float>(in, out);
        if (scaling_.depth == Depth::f64) return floats<Stored, double>(in, out);
        with_depth(scaling_.depth, [&]<class Sample>(Sample) {
            if constexpr (std::is_integral_v<Sample>) {
                auto* const samples = reinterpret_cast<Sample*>(out);
                for (std::uint64_t x = 0; x < header_.width(); ++x, in += sizeof(Stored))
                    samples[x] =
                        scaling_.whole ? shifted<Sample>(load<Stored>(in), y) : static_cast<Sample>(load<Stored>(in));
            }
        });
    }
    /// Value of an integer. Throws IoError if it needs more than 32 bits, which no scaled integer of 32 bits does.
    template <class Sample, class Stored>
    Sample shifted(Stored stored, std::uint64_t y) const {
        if constexpr (sizeof(Stored) < sizeof(std::int64_t)) {
            return static_cast<Sample>(stored * static_cast<std::int64_t>(header_.scale) +
                                       static_cast<std::int64_t>(header_.zero));
        } else {
            const std::optional<double> value = whole_value(header_, scaling_, stored);
            if (replaced_ && stored == *header_.blank) return static_cast<Sample>(stand_in(scaling_.depth));
            if (!in_range(scaling_.depth, value)) file_.refuse(unsupported_value(y, std::to_string(stored), "stores"));
            if (replaced_ && *value == stand_in(scaling_.depth)) file_.refuse(unsupported_stand_in(scaling_.depth, y));
            return static_cast<Sample>(*value);
        }
    }

    const EncodedImage& file_;
    const Header& header_;
    const Scaling& scaling_;
    const bool replaced_;  ///< BLANK, by a value of 32 bits
    const std::uint64_t begin_;
    ReadAhead ahead_;
};

/// Sum of big-endian words of 32 bits, in ones' complement. The file may end before: other bytes count as 0.
std::uint32_t sum_of(const Bytes& file, std::uint64_t begin, std::uint64_t end, std::uint32_t sum = 0) {
    std::uint64_t total = sum;
    for (std::uint64_t at = begin; at < std::min<std::uint64_t>(end, file.size());) {
        const std::uint64_t count = std::min<std::uint64_t>({end - at, file.size() - at, ReadAhead::bytes});
        file.let_go();
        const unsigned char* in = file.part(at, count).at(0);
        std::uint64_t i = 0;
        for (; i + 4 <= count; i += 4) total += load<std::uint32_t>(in + i);
        for (unsigned shift = 24; i < count; ++i, shift -= 8) total += std::uint64_t{in[i]} << shift;
        at += count;
        while (total >> 32 != 0) total = (total & 0xFFFFFFFF) + (total >> 32);
    }
    return static_cast<std::uint32_t>(total);
}

/// Returns whether the header or the data have another checksum than the header says. Reads all of both.
bool wrong_checksum(const Bytes& file, const Header& header) {
    if (!header.checksum && !header.data_sum) return false;
    const std::uint32_t data = sum_of(file, header.data, header.end());
    if (header.data_sum && number_in<double>(*header.data_sum) != static_cast<double>(data)) return true;
    const std::uint32_t all = sum_of(file, header.begin, header.data, data);
    return header.checksum && all != 0 && all != std::numeric_limits<std::uint32_t>::max();
}

// --------------------------------------------------------------------------------------------------------- format

bool matches(const Bytes& file) {
    return file.starts_with("SIMPLE  =");
}

void inspect(const Bytes& file, Probe& probe) {
    const Found found = find(file, probe.page);
    if (!found.header) {
        if (found.problem.words.empty())
            probe.unsupported = "a FITS file without an image is not supported" +
                                (found.other.empty() ? "" : ": it has an extension " + found.other);
        else
            (found.problem.kind == Kind::truncated ? probe.truncated : probe.damaged) = found.problem.words;
        return;
    }
    const Header& header = *found.header;
    probe.set_size(header.width(), header.height());
    probe.unsupported = refusal_of(header);
    // A page needs the data up to the end of its plane.
    const std::uint64_t planes = probe.page.directory > 0 ? probe.page.plane + 1 : header.planes();
    if (!header.compressed && !file.has(header.data, saturating_product(planes, header.plane_bytes())))
        probe.truncated = "the FITS file ends in the data of " + header.place();
    // All of what fills the last block may be missing, but not a part.
    const std::uint64_t data_end = saturating_sum(header.data, header.data_bytes());
    if (probe.truncated.empty() && file.size() > data_end && file.size() < header.end())
        probe.truncated = "the FITS file ends in the last block of the data of " + header.place();
    probe.depth = scaling_of(header).depth;
    probe.pixel_bytes = sample_bytes(probe.depth);
    probe.strip_rows = 1;
    probe.stored = !header.compressed;
    probe.held_bytes = std::max(header.row_bytes(), ReadAhead::bytes) + FileWindow::kept;
}

void find_pages(const Bytes& file, PageList& list) {
    const Problem problem = search(file, [&](const Header& header) {
        if (!header.image()) return true;
        PageFacts page{header.width(), header.height()};
        page.depth = scaling_of(header).depth;
        page.samples = 1;
        page.problem = refusal_of(header);
        page.place = block_of(header);
        page.planes = header.planes();
        std::uint64_t held = page.planes;
        if (!header.compressed) {  // planes in the file, with the one that is cut short
            const std::uint64_t bytes = file.size() - std::min<std::uint64_t>(header.data, file.size());
            held = std::min(held, bytes / header.plane_bytes() + 1);
        }
        for (; page.plane < held; ++page.plane)
            if (!list.add(page)) return false;
        return true;
    });
    if (list.rest.empty() && list.count() > 0) {
        list.rest = problem.words;
        list.rest_kind = problem.kind;
    }
}

std::uint64_t count_pages(const EncodedImage& file) {
    if (file.options.page > 0) return 1;  // the list has their number
    std::uint64_t pages = 0;
    search(file.bytes, [&](const Header& header) {
        if (header.image()) pages = saturating_sum(pages, header.planes());
        return true;
    });
    return std::max<std::uint64_t>(1, pages);
}

Image decode(const EncodedImage& file) {
    const Found found = find(file.bytes, file.probe.page);
    if (!found.header) file.refuse("damaged: " + found.problem.words, Kind::damaged);  // the probe has said so
    const Header& header = *found.header;
    const Scaling scaling = scaling_of(header);
    Image image;
    image.depth = scaling.depth;
    image.white = traits_of(scaling.depth).highest;
    if (header.blank && header.bits > 0 && !scaling.scaled) image.nodata = whole_value(header, scaling, *header.blank);
    if (nodata_stands_in(file, header, scaling)) image.nodata = stand_in(scaling.depth);
    image.pages = count_pages(file);
    if (file.probe.truncated.empty() && wrong_checksum(file.bytes, header))
        file.report(image, "a checksum of the FITS file is wrong in " + header.place());
    const std::uint64_t at_once = file.rows_at_once();
    cv::Mat pixels = file.allocate(at_once, header.width(), CV_MAKETYPE(opencv_depth(scaling.depth), 1));
    SampleReader samples(file, header, scaling);
    for (std::uint64_t y = 0; y < header.height(); ++y) {
        const std::uint64_t line = y % at_once;
        samples.read(y, pixels.ptr(static_cast<int>(line)));
        if (line + 1 == at_once || y + 1 == header.height()) file.give_rows(image, pixels, y - line, line + 1);
    }
    return image;
}

}  // namespace

const ImageFormat fits_format{
    "a FITS file",
    {".fit", ".fits", ".fts"},
    sizeof(double),
    matches,
    inspect,
    decode,
    {"FITS",
     {},
     "signed and unsigned integers of 8, 16 and 32 bits, and of 64 bits whose values need 32; floats of 32 and 64 "
     "bits; integers with BSCALE as floats, unless BSCALE and BZERO are whole numbers",
     "images of all extensions, and the planes of cubes",
     "BZERO and BSCALE; BLANK as nodata, or NaN in floats; rows in the order in which they are stored; checksums",
     "compressed images, tables, random groups, SIMPLE = F"},
    find_pages,
    nullptr,
    true};

}  // namespace gpuhist::io
