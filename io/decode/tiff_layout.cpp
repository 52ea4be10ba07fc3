#include "decode/tiff_layout.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "decode/probe.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::io {
namespace {

namespace compression = tiff_compression;

enum Photometric : std::uint64_t {
    photometric_white_is_zero,
    photometric_black_is_zero,
    photometric_rgb,
    photometric_palette,
    photometric_mask,
    photometric_cmyk,
    photometric_ycbcr,
    photometric_cielab = 8,
    photometric_icclab = 9,
    photometric_itulab = 10,
    photometric_cfa = 32803,
    photometric_log_l = 32844,
    photometric_log_luv = 32845,
    photometric_linear_raw = 34892
};
enum SampleFormat : std::uint64_t { format_uint = 1, format_int, format_float, format_void, format_complex_int };
enum Predictor : std::uint64_t { predictor_none = 1, predictor_horizontal, predictor_float };
enum Extra : std::uint64_t { extra_premultiplied = 1, extra_straight = 2, extra_straight_of_corel = 999 };

struct Named {
    std::uint64_t number;
    const char* name;
};

constexpr Named photometric_names[]{
    {photometric_mask, "a transparency mask"},
    {photometric_cmyk, "CMYK"},
    {photometric_cielab, "CIE Lab"},
    {photometric_icclab, "ICC Lab"},
    {photometric_itulab, "ITU Lab"},
    {photometric_cfa, "a color filter array"},
    {photometric_log_l, "LogL"},
    {photometric_log_luv, "LogLuv"},
    {photometric_linear_raw, "linear raw"},
};

constexpr Named compression_names[]{
    {compression::none, "none"},
    {compression::ccitt_rle, "CCITT RLE"},
    {compression::ccitt_group3, "CCITT group 3"},
    {compression::ccitt_group4, "CCITT group 4"},
    {compression::lzw, "LZW"},
    {6, "old-style JPEG"},
    {compression::jpeg, "JPEG"},
    {compression::adobe_deflate, "deflate"},
    {9, "JBIG"},
    {10, "JBIG of colors"},
    {32766, "NeXT"},
    {32771, "CCITT RLE of words"},
    {compression::packbits, "PackBits"},
    {32809, "ThunderScan"},
    {32908, "PixarFilm"},
    {32909, "PixarLog"},
    {compression::deflate, "deflate"},
    {34661, "JBIG"},
    {compression::sgi_log, "SGILog"},
    {compression::sgi_log24, "SGILog24"},
    {34712, "JPEG 2000"},
    {compression::lerc, "LERC"},
    {34892, "lossy JPEG of DNG"},
    {compression::lzma, "LZMA"},
    {compression::zstd, "zstd"},
    {compression::webp, "WebP"},
    {50002, "JPEG XL"},
};

template <std::size_t Count>
std::string named(const Named (&names)[Count], std::uint64_t number) {
    for (const Named& known : names)
        if (known.number == number) return std::string(known.name) + " (" + std::to_string(number) + ")";
    return std::to_string(number);
}

bool is_ccitt(std::uint64_t number) {
    return number >= compression::ccitt_rle && number <= compression::ccitt_group4;
}

bool has_predictor(std::uint64_t number) {
    return number == compression::lzw || number == compression::adobe_deflate || number == compression::deflate ||
           number == compression::zstd || number == compression::lzma;
}

constexpr std::uint64_t ceiling(std::uint64_t value, std::uint64_t unit) {
    return value / unit + (value % unit != 0);
}

constexpr std::uint64_t longest_nodata = 64;

/// Number that a text begins with, as GDAL reads it: a comma before any point is one, words for NaN and infinity are
/// known, and whatever follows is not looked at. Nothing where the text begins with none, for which GDAL has 0.
std::optional<double> number_of_gdal(std::string text) {
    text.erase(0, std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::size_t separator = text.find_first_of(",.");
    if (separator != text.npos) text[separator] = '.';
    const bool negative = text.rfind('-', 0) == 0;
    const std::string_view digits = std::string_view(text).substr(negative || text.rfind('+', 0) == 0 ? 1 : 0);
    const auto begins = [&](std::string_view word) { return digits.substr(0, word.size()) == word; };
    const double sign = negative ? -1 : 1;
    if (begins("nan") || begins("1.#qnan") || begins("1.#snan") || begins("1.#ind"))
        return std::numeric_limits<double>::quiet_NaN();
    if (begins("inf") || begins("1.#inf")) return sign * std::numeric_limits<double>::infinity();
    const bool hexadecimal = begins("0x");
    double value = 0;
    const char* const begin = digits.data() + (hexadecimal ? 2 : 0);
    const auto [end, status] = std::from_chars(begin, digits.data() + digits.size(), value,
                                               hexadecimal ? std::chars_format::hex : std::chars_format::general);
    if (status == std::errc::invalid_argument || begin[0] == '-') return std::nullopt;
    if (status == std::errc::result_out_of_range) {  // which end of the range it passes, the exponent says
        const std::string_view passed(begin, static_cast<std::size_t>(end - begin));
        return passed.find("e-") == passed.npos ? sign * std::numeric_limits<double>::infinity() : 0;
    }
    return sign * value;
}

constexpr std::uint64_t longest_metadata = 256 << 10;

/// Descriptions of samples in GDAL's metadata, by place: <Item name="DESCRIPTION" sample="0" role="description">. A
/// description that is empty, very long or another sample's too is left out: it is no name. GDAL escapes texts twice.
std::vector<std::string> descriptions_of_gdal(std::string_view xml, std::uint64_t samples) {
    std::vector<std::string> found(samples);
    for (std::size_t at; (at = xml.find("<Item ")) != xml.npos;) {
        xml.remove_prefix(at);
        const std::size_t begin = xml.find('>'), end = xml.find("</Item>");
        if (begin == xml.npos || end == xml.npos) break;
        const std::string_view head = xml.substr(0, begin);
        constexpr std::string_view before_sample = "sample=\"";
        const std::size_t place = head.find(before_sample);
        std::uint64_t sample = samples;
        if (place != head.npos)
            std::from_chars(head.data() + place + before_sample.size(), head.data() + head.size(), sample);
        const std::string_view text = begin < end ? xml.substr(begin + 1, end - begin - 1) : std::string_view();
        if (head.find("role=\"description\"") != head.npos && sample < samples && text.find('<') == text.npos)
            found[sample] = unescape_xml(unescape_xml(text));
        xml.remove_prefix(end);
    }
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i].size() > longest_channel_name ||
            std::find(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(i), found[i]) !=
                found.begin() + static_cast<std::ptrdiff_t>(i))
            found[i].clear();
    return found;
}

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The most bytes that a byte of a compression becomes.
std::uint64_t expansion(std::uint64_t number, std::uint64_t row_bytes) {
    switch (number) {
        case compression::none:
            return 2;  // strips that are a little short are damaged, not a claim
        case compression::lzw:
            return 4096;
        case compression::adobe_deflate:
        case compression::deflate:
            return 1032;
        case compression::packbits:
            return 64;
        case compression::jpeg:
            return 1536;  // one bit per block of 64 samples, of which subsampling makes three times as many
        case compression::ccitt_rle:
        case compression::ccitt_group3:
        case compression::ccitt_group4:
            return saturating_product(8, row_bytes);  // one bit per row
        case compression::sgi_log:
        case compression::sgi_log24:
            return 256;
        default:
            return unlimited;
    }
}

}  // namespace

std::string unescape_xml(std::string_view xml) {
    constexpr std::pair<std::string_view, char> entities[]{
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    std::string text;
    while (!xml.empty()) {
        const auto* const known = std::find_if(std::begin(entities), std::end(entities), [&](const auto& entity) {
            return xml.substr(0, entity.first.size()) == entity.first;
        });
        text += known == std::end(entities) ? xml.front() : known->second;
        xml.remove_prefix(known == std::end(entities) ? 1 : known->first.size());
    }
    return text;
}

TiffLayout::TiffLayout(const Bytes& file, const PagePlace& page, Part part)
    : directory(file, page.directory), file_bytes_(file.size()) {
    if (!directory.complete()) {
        truncated = "the TIFF ends before its directory";
        return;
    }
    width = directory.value(tag::width, 0);
    height = directory.value(tag::height, 0);
    for (const unsigned number :
         {tag::width, tag::height, tag::bits, tag::compression, tag::photometric, tag::strip_offsets, tag::samples,
          tag::strip_lengths, tag::colormap, tag::tile_offsets, tag::tile_lengths, tag::extra_samples,
          tag::sample_format, tag::ycbcr_coefficients, tag::ycbcr_subsampling, tag::reference_black_white})
        if (directory.cut(number)) {
            truncated = "the TIFF ends before the values of its directory";
            return;
        }
    compression = directory.value(tag::compression, compression::none);
    read_samples();
    if (unsupported.empty()) read_type(part);
    if (unsupported.empty()) read_compression();
    for (const unsigned number : {tag::image_depth, tag::tile_depth})
        if (const std::uint64_t planes = directory.value(number, 1); planes > 1)
            unsupported = "a volume of " + std::to_string(planes) +
                          " planes behind one directory (ImageDepth, TileDepth) is not supported";
    if (page.plane > 0) before_ = saturating_product(page.plane, plane_bytes());
    if (part == Part::header || !unsupported.empty() || !damaged.empty()) return;
    read_pieces(file);
    if (part == Part::mask) leave_raw();
}

void TiffLayout::read_samples() {
    const TiffDirectory::Values all_bits = directory.values(tag::bits);
    samples = directory.value(tag::samples, std::max<std::uint64_t>(1, all_bits.count()));
    bits = directory.value(tag::bits, 1);
    orientation = directory.value(tag::orientation, 1);
    const TiffDirectory::Values formats = directory.values(tag::sample_format);
    const std::uint64_t arrangement = directory.value(tag::planar, 1);
    planar = arrangement == 2 && samples > 1;
    if (samples == 0) damaged = "the TIFF has no samples in a pixel";
    if (arrangement != 1 && arrangement != 2)
        damaged = "the TIFF has the planar configuration " + std::to_string(arrangement);
    if (directory.values(tag::photometric).count()) {
        photometric = directory.value(tag::photometric, 0);
    } else if (samples == 1 && !is_ccitt(compression)) {
        photometric = photometric_black_is_zero;
    } else {
        damaged = "the TIFF does not say what its samples are (no PhotometricInterpretation)";
    }

    if (photometric == photometric_log_luv) return;  // its samples are the codec's matter
    const auto differ = [&](const TiffDirectory::Values& values) {
        for (std::uint64_t i = 1; i < std::min(values.count(), samples); ++i)
            if (values[i] != values[0]) return true;
        return false;
    };
    const std::uint64_t format = directory.value(tag::sample_format, format_uint);
    const bool whole = format == format_uint || format == format_void;
    if (differ(all_bits)) {
        unsupported = "samples of different depths in a pixel are not supported";
    } else if (differ(formats) || format < format_uint || format > 6) {
        unsupported = "samples of the format " + std::to_string(format) + " or of several are not supported";
    } else if (!(whole && (bits <= 16 || bits == 32 || bits == 64)) &&
               !(format == format_int && (bits == 8 || bits == 16 || bits == 32 || bits == 64)) &&
               !(format == format_float && (bits == 16 || bits == 32 || bits == 64))) {
        const char* prefix = whole ? "u" : format == format_int ? "s" : format == format_float ? "f" : "complex ";
        unsupported = unsupported_depth(prefix + std::to_string(bits));
    } else if (samples > most_channels) {
        unsupported = unsupported_channels(samples);
    } else if (bits == 0) {
        damaged = "the TIFF has samples of 0 bits";
    }
    constexpr Depth wholes[]{Depth::u8, Depth::u16, Depth::u32}, integers[]{Depth::s8, Depth::s16, Depth::s32},
        floats[]{Depth::f16, Depth::f32, Depth::f64};
    const std::size_t size = bits <= 8 ? 0 : bits <= 16 ? 1 : 2;
    depth = format == format_float ? floats[bits <= 16   ? 0
                                            : bits <= 32 ? 1
                                                         : 2]
            : format == format_int ? integers[size]
                                   : wholes[size];
    white = traits_of(depth).highest;
    if (depth == Depth::u16) white = static_cast<double>((1U << bits) - 1);
}

void TiffLayout::read_type(Part part) {
    if (part == Part::mask) {
        if (samples != 1 || depth != Depth::u8 || photometric > photometric_mask)
            unsupported = "a mask of other than one whole number of up to 8 bits per pixel is not supported";
        zero_is_white = false;
        return;
    }
    const std::uint64_t extra = directory.value(tag::extra_samples, 0);
    const auto alpha_of = [](std::uint64_t kind) {
        if (kind == extra_premultiplied) return Alpha::premultiplied;
        return kind == extra_straight || kind == extra_straight_of_corel ? Alpha::straight : Alpha::none;
    };
    // Alpha beside bands is a band that is called so; others have the name that GDAL describes them by, or none.
    const auto name_bands = [&](std::uint64_t colors) {
        const TiffDirectory::Values kinds = directory.values(tag::extra_samples);
        const std::uint64_t before = samples - std::min(samples, kinds.count());
        bands = descriptions_of_gdal(directory.text(tag::gdal_metadata, longest_metadata), samples);
        for (std::uint64_t i = 0; i < samples; ++i) {
            const Alpha kind = i >= std::max(before, colors) ? alpha_of(kinds[i - before]) : Alpha::none;
            if (i < colors) bands[i].clear();
            if (kind == Alpha::none || alpha != Alpha::none) continue;
            alpha = kind;
            std::replace(bands.begin(), bands.end(), std::string("alpha"), std::string());
            bands[i] = "alpha";
        }
        if (std::all_of(bands.begin(), bands.end(), [](const std::string& name) { return name.empty(); }))
            bands.clear();
    };
    const auto counted = [&] { return std::to_string(samples) + " samples per pixel"; };
    channels = samples;
    switch (photometric) {
        case photometric_white_is_zero:
        case photometric_black_is_zero:
            zero_is_white = photometric == photometric_white_is_zero;
            if (samples == 2 && alpha_of(extra) != Alpha::none) {
                alpha = alpha_of(extra);
                meaning = Samples::gray_alpha;
                channels = 4;
            } else if (samples > 1) {
                meaning = Samples::bands;
                name_bands(0);
                if (zero_is_white) unsupported = "several bands whose zero is white are not supported";
            }
            if (zero_is_white && (traits_of(depth).floating || wide()))
                unsupported = (wide() ? "integers of 64 bits" : std::string(to_string(depth))) +
                              " whose zero is white is not supported";
            break;
        case photometric_rgb:
            if (samples == 4) {
                meaning = alpha_of(extra) == Alpha::none ? Samples::color_bands : Samples::color;
                if (meaning == Samples::color_bands)
                    name_bands(3);
                else
                    alpha = alpha_of(extra);
            } else if (samples > 4) {
                meaning = Samples::color_bands;
                name_bands(3);
            } else if (samples != 3) {
                damaged = "the TIFF has RGB of " + counted();
            }
            break;
        case photometric_palette:
            if (samples != 1) {
                unsupported = "a palette and further samples are not supported";
            } else if (depth != Depth::u8 && depth != Depth::u16) {
                damaged = std::string("the TIFF has a palette of indices that are ") + to_string(depth);
            } else {
                read_palette();
            }
            break;
        case photometric_cmyk:
            finish = Finish::cmyk;
            meaning = Samples::bands;
            if (samples != 4 || !((depth == Depth::u8 && bits == 8) || (depth == Depth::u16 && bits == 16)))
                unsupported = "CMYK of " + std::to_string(bits) + " bits and " + counted() + " is not supported";
            if (directory.value(tag::ink_set, 1) != 1) unsupported = "inks that are not CMYK are not supported";
            break;
        case photometric_ycbcr: {
            if (samples != 3 || depth != Depth::u8 || bits != 8) {
                unsupported = "YCbCr of " + std::to_string(bits) + " bits and " + counted() + " is not supported";
                break;
            }
            if (rgb_of_jpeg()) break;
            finish = Finish::ycbcr;
            meaning = Samples::bands;
            const TiffDirectory::Values shared = directory.values(tag::ycbcr_subsampling);
            chroma_across = shared.count() == 2 ? shared[0] : 2;
            chroma_down = shared.count() == 2 ? shared[1] : 2;
            const auto allowed = [](std::uint64_t count) { return count == 1 || count == 2 || count == 4; };
            if (!allowed(chroma_across) || !allowed(chroma_down)) {
                damaged = "the TIFF has a chroma subsampling of " + std::to_string(chroma_across) + " by " +
                          std::to_string(chroma_down);
                chroma_across = chroma_down = 1;
            }
            for (const float value : ycbcr_coefficients())
                if (!(value > 0 && value < 1)) damaged = "the TIFF has YCbCr of impossible coefficients";
            for (const float value : reference_black_white())
                if (!(std::abs(value) < 1e6F)) damaged = "the TIFF has YCbCr of an impossible black or white";
            if (planar && chroma_across * chroma_down != 1)
                unsupported = "YCbCr in separate planes of different sizes is not supported";
            break;
        }
        case photometric_log_luv:
            finish = Finish::log_luv;
            meaning = Samples::bands;
            depth = Depth::f32;
            white = 1.0;
            if (samples != 3 || (compression != compression::sgi_log && compression != compression::sgi_log24))
                unsupported = "LogLuv of " + counted() + " and the compression " +
                              named(compression_names, compression) + " is not supported";
            break;
        default:
            unsupported = "the photometric interpretation " + named(photometric_names, photometric) +
                          " is not supported: convert the TIFF to RGB or gray first";
    }
}

std::optional<double> TiffLayout::stored_nodata() const {
    return number_of_gdal(directory.text(tag::gdal_nodata, longest_nodata));
}

std::optional<std::uint64_t> TiffLayout::wide_nodata() const {
    std::string text = directory.text(tag::gdal_nodata, longest_nodata);
    text.erase(text.find_last_not_of(" \t\n\v\f\r") + 1);
    text.erase(0, std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
    const auto whole = [&](auto value) -> std::optional<std::uint64_t> {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
        return static_cast<std::uint64_t>(value);
    };
    if (!wide()) return std::nullopt;
    return traits_of(depth).lowest < 0 ? whole(std::int64_t{0}) : whole(std::uint64_t{0});
}

std::optional<std::uint64_t> TiffLayout::nodata_beyond() const {
    const auto bits_of_value = nodata_stands_in ? wide_nodata() : std::nullopt;
    if (!bits_of_value) return std::nullopt;
    const bool has_sign = traits_of(depth).lowest < 0;
    const bool fits = has_sign ? static_cast<std::int64_t>(*bits_of_value) == static_cast<std::int32_t>(*bits_of_value)
                               : *bits_of_value <= std::numeric_limits<std::uint32_t>::max();
    return fits ? std::nullopt : bits_of_value;
}

std::optional<double> TiffLayout::nodata(std::string& problem) const {
    const std::string text = directory.text(tag::gdal_nodata, longest_nodata);
    if (text.empty()) return std::nullopt;
    const auto value = number_of_gdal(text);
    if (!value)
        problem = "its nodata tag is not a number";
    else if (palette)
        problem = "its nodata tag names an index of its palette, but gpuhist measures colors";
    else if (finish != Finish::none)
        problem = "its nodata tag names a stored sample, but gpuhist measures colors";
    if (!problem.empty()) return std::nullopt;
    if (nodata_beyond()) return stand_in(depth);
    if (raw || traits_of(depth).floating) return value;
    double measured = *value;
    if (bits < 8) {  // fractions stay fractions, which no sample is
        const double most = static_cast<double>((std::uint64_t{1} << bits) - 1);
        if (!(measured >= 0 && measured <= most && measured == std::floor(measured))) return value;
        measured = std::floor((2 * 255 * measured + most) / (2 * most));
    }
    return zero_is_white ? white + traits_of(depth).lowest - measured : measured;
}

std::uint64_t TiffLayout::plane_bytes() const {
    return saturating_product(
        saturating_product(ceiling(saturating_product(width * (planar ? 1 : samples), bits), 8), height),
        planar ? samples : 1);
}

std::vector<float> TiffLayout::ycbcr_coefficients() const {
    return directory.fractions(tag::ycbcr_coefficients, {0.299F, 0.587F, 0.114F});
}

std::vector<float> TiffLayout::reference_black_white() const {
    return directory.fractions(tag::reference_black_white, {0, 255, 128, 255, 128, 255});
}

void TiffLayout::read_palette() {
    palette = true;
    channels = 3;
    colormap = directory.values(tag::colormap);
    const std::uint64_t entries = std::uint64_t{3} << bits;
    if (colormap.count() < entries) {
        damaged = "the TIFF has a color map of " + std::to_string(colormap.count()) + " values, not " +
                  std::to_string(entries);
        return;
    }
    // A map of 8 bits is one that old writers made, or one whose values are 8 bits in the upper byte, or in both.
    bool low = true, high = true;
    for (std::uint64_t i = 0; i < entries; ++i) {
        const std::uint64_t value = colormap[i];
        low = low && value <= 255;
        high = high && ((value & 255) == 0 || (value & 255) == value >> 8);
    }
    depth = low || high ? Depth::u8 : Depth::u16;
    palette_shift = low || !high ? 0 : 8;
    white = low || high ? 255 : 65535;
}

void TiffLayout::leave_raw() {
    raw = true;
    zero_is_white = false;
    if (!palette) return;
    palette = false;
    channels = 1;
    depth = bits > 8 ? Depth::u16 : Depth::u8;
    white = traits_of(depth).highest;
}

bool TiffLayout::shows_zero_white() const {
    if (!palette) return zero_is_white;
    for (std::uint64_t channel = 0; channel < 3; ++channel)
        if (color(0, channel) < static_cast<std::uint64_t>(white)) return false;
    return true;
}

bool TiffLayout::by_libtiff() const {
    return compression != compression::none && compression != compression::packbits &&
           (compression == compression::lzw || !has_predictor(compression));
}

bool TiffLayout::rgb_of_jpeg() const {
    return photometric == photometric_ycbcr && compression == compression::jpeg;
}

std::string TiffLayout::compression_name() const {
    return named(compression_names, compression);
}

void TiffLayout::read_compression() {
    const std::string name = compression_name();
    const bool lerc = compression == compression::lerc;
    const bool images = compression == compression::jpeg || compression == compression::webp;
    const bool known = compression == compression::none || compression == compression::packbits ||
                       has_predictor(compression) || is_ccitt(compression) || images || lerc ||
                       finish == Finish::log_luv;
    if (!known) {
        unsupported = "the compression " + name + " is not supported: convert the TIFF first";
    } else if (is_ccitt(compression) && (bits != 1 || samples != 1)) {
        damaged = "the TIFF has the compression " + name + ", which is for samples of one bit";
    } else if (lerc && (bits % 8 != 0 || depth == Depth::f16 || wide())) {
        unsupported = "the compression " + name + " of " + std::to_string(bits) + "-bit samples is not supported";
    } else if (lerc && bits > 8 && directory.endian() == Endian::big) {  // libtiff turns bytes that others don't
        unsupported =
            "the compression " + name + " in a big-endian TIFF is not supported: writers differ in its samples";
    } else if (images && (bits != 8 || depth == Depth::s8)) {
        unsupported = "the compression " + name + " of " + std::to_string(bits) + "-bit samples" +
                      (depth == Depth::s8 ? " with a sign" : "") + " is not supported";
    } else if (compression == compression::webp ? planar || photometric != photometric_rgb
                                                : images && (palette || (planar && rgb_of_jpeg()))) {
        unsupported = "the compression " + name + " of such samples is not supported";
    }

    reversed = directory.value(tag::fill_order, 1) == 2;
    predictor = directory.value(tag::predictor, predictor_none);
    if (predictor == predictor_none || !unsupported.empty()) return;
    const bool fits = predictor == predictor_horizontal ? bits == 8 || bits == 16 || bits == 32 || bits == 64
                                                        : predictor == predictor_float && traits_of(depth).floating;
    if (!has_predictor(compression)) {
        unsupported = "the predictor " + std::to_string(predictor) + " and the compression " + name +
                      " are not supported together";
    } else if (!fits || chroma_across * chroma_down != 1) {
        unsupported = "the predictor " + std::to_string(predictor) + " of such samples is not supported";
    }
}

void TiffLayout::read_pieces(const Bytes& file) {
    if (width == 0 || height == 0) return;
    if (width > INT_MAX || height > INT_MAX) {
        too_large = "its header claims " + std::to_string(width) + " x " + std::to_string(height) + " pixels";
        return;
    }
    tiled = directory.values(tag::tile_offsets).count() > 0 || directory.values(tag::tile_width).count() > 0;
    offsets = directory.values(tiled ? tag::tile_offsets : tag::strip_offsets);
    lengths = directory.values(tiled ? tag::tile_lengths : tag::strip_lengths);
    if (tiled && offsets.count() == 0) {  // some writers mix the names
        offsets = directory.values(tag::strip_offsets);
        lengths = directory.values(tag::strip_lengths);
    }
    piece_width = tiled ? directory.value(tag::tile_width, 0) : width;
    piece_height = tiled ? directory.value(tag::tile_height, 0) : directory.value(tag::rows_per_strip, height);
    if (!tiled) piece_height = std::min(piece_height, height);
    if (piece_width == 0 || piece_height == 0 || offsets.count() == 0) {
        damaged = "the TIFF has no strips or tiles of any size";
        return;
    }
    across = ceiling(width, piece_width);
    down = ceiling(height, piece_height);
    const std::uint64_t planes = planar ? samples : 1,
                        count = saturating_product(saturating_product(across, down), planes);
    const TiffPiece first = piece(0);
    const std::uint64_t total = saturating_product(saturating_product(first.row_bytes, height / chroma_down + 1),
                                                   saturating_product(across, planes));
    if (offsets.count() < count || (lengths.count() > 0 && lengths.count() < count)) {
        damaged = "the TIFF has " + std::to_string(offsets.count()) + (tiled ? " tiles" : " strips") + " and " +
                  std::to_string(lengths.count()) + " lengths of them, where its size needs " + std::to_string(count);
        if (count > saturating_product(1024, offsets.count()))
            too_large =
                cannot_hold("the TIFF's " + std::to_string(offsets.count()) + " strips or tiles", width, height);
        return;
    }
    decodable = true;
    constexpr std::uint64_t part_bytes = std::uint64_t{1} << 22;
    if (compression == compression::none && !tiled && chroma_across * chroma_down == 1)
        part_rows_ = std::max<std::uint64_t>(1, part_bytes / first.row_bytes);
    constexpr std::uint64_t most_left_out = std::uint64_t{1} << 26;  // of a strip or tile: it costs no bytes
    std::uint64_t held = 0, present = 0;
    bool sparse = false;
    bool looked = compression != compression::jpeg;
    for (std::uint64_t i = 0; i < count; ++i) {
        const TiffPiece here = piece(i);
        if (here.sparse) {
            if (finish != Finish::none) {
                unsupported = "a sparse TIFF of such samples is not supported: its " + name_of(i) + " has no bytes";
                return;
            }
            sparse = true;
            if (here.bytes > most_left_out)
                too_large = cannot_hold("the TIFF's " + name_of(i) + ", which is left out,", width, height);
            continue;
        }
        present = here.bytes > unlimited - present ? unlimited : present + here.bytes;
        if (damaged.empty() && here.length == 0 && here.offset < file.size())
            damaged = "the TIFF's " + name_of(i) + " has no bytes";
        if (!std::exchange(looked, true)) read_jpeg(file, here);
        const std::uint64_t most = part_rows_ > 0 ? part_rows_ * here.row_bytes : here.length;
        longest = std::max(longest, std::min<std::uint64_t>({most, here.length, file.size()}));
        held = here.length > unlimited - held ? unlimited : held + here.length;
        if (truncated.empty() && !file.has(here.offset, std::max<std::uint64_t>(1, here.length)))
            truncated = "the TIFF ends before its " + name_of(i);
    }
    // A file that was cut may contain only a small part of the claimed bytes of its strips.
    held = std::min(held, saturating_product(1024, file.size()));
    if ((sparse ? present : total) > saturating_product(held, expansion(compression, first.row_bytes)))
        too_large = cannot_hold("the TIFF's " + std::to_string(held) + " bytes of strips or tiles", width, height);
}

void TiffLayout::read_jpeg(const Bytes& file, const TiffPiece& piece) {
    constexpr std::uint64_t first_frame = 0xC0, last_frame = 0xCF, tables = 0xC4, reserved = 0xC8, conditions = 0xCC;
    constexpr std::uint64_t most_segments = 64;
    std::uint64_t at = piece.offset + 2;
    for (std::uint64_t i = 0; i < most_segments; ++i) {
        const std::uint64_t marker = file.number(at, 2, Endian::big).value_or(0), kind = marker & 0xFF;
        if (marker < 0xFF00) return;
        if (kind >= first_frame && kind <= last_frame && kind != tables && kind != reserved && kind != conditions) {
            if (kind % 4 == 3 || kind % 8 >= 5)
                unsupported =
                    std::string(kind % 4 == 3 ? "lossless" : "hierarchical") + " JPEG in a TIFF is not supported";
            return;
        }
        at += 2 + file.number(at + 2, 2, Endian::big).value_or(0);
    }
}

TiffPiece TiffLayout::piece(std::uint64_t index) const {
    TiffPiece piece{};
    const std::uint64_t in_plane = index % (across * down);
    piece.plane = index / (across * down);
    piece.x = in_plane % across * piece_width;
    piece.y = in_plane / across * piece_height;
    piece.columns = std::min(piece_width, width - piece.x);
    piece.rows = std::min(piece_height, height - piece.y);
    const std::uint64_t rows = tiled ? piece_height : piece.rows;
    const std::uint64_t pixel_bits = decoded_bits() * (planar ? 1 : samples);
    if (chroma_across * chroma_down == 1) {
        piece.row_bytes = ceiling(saturating_product(piece_width, pixel_bits), 8);
    } else {
        piece.row_bytes = saturating_product(ceiling(piece_width, chroma_across), chroma_across * chroma_down + 2);
    }
    piece.bytes = saturating_product(piece.row_bytes, ceiling(rows, chroma_down));
    // Some writers fill up the last of several strips.
    piece.most_bytes = down > 1 ? saturating_product(piece.row_bytes, ceiling(piece_height, chroma_down)) : piece.bytes;

    piece.offset = offsets[index];
    piece.sparse = piece.offset == 0 && index < lengths.count() && lengths[index] == 0;
    if (piece.offset != 0) piece.offset += std::min(before_, unlimited - piece.offset);
    const std::uint64_t rest = file_bytes_ - std::min(file_bytes_, piece.offset);
    // Some writers leave the lengths out, or, of the only strip, at 0; or round them up where nothing is compressed.
    const bool untold = lengths.count() == 0 || (lengths[index] == 0 && across * down == 1);
    piece.length = piece.offset == 0 ? 0 : untold ? rest : lengths[index];
    if (compression == compression::none && piece.offset != 0)
        piece.length = untold ? piece.bytes : std::min(piece.length, piece.bytes);
    return piece;
}

TiffPiece TiffLayout::part(const TiffPiece& strip, std::uint64_t first, std::uint64_t rows) const {
    TiffPiece part = strip;
    const std::uint64_t before = first * strip.row_bytes;
    part.y += first;
    part.rows = rows;
    part.bytes = part.most_bytes = rows * strip.row_bytes;
    part.offset += before;
    part.length = std::min(strip.length - std::min(strip.length, before), part.bytes);
    return part;
}

std::string TiffLayout::name_of(std::uint64_t index) const {
    return (tiled ? "tile " : "strip ") + std::to_string(index + 1) + " of " + std::to_string(pieces());
}

namespace {

/// Images that the only directory of a file says there are, one after the other; 1 where it says nothing of the kind.
std::uint64_t claimed_planes(const TiffDirectory& directory) {
    constexpr std::uint64_t longest_description = 4096;
    if (directory.value(tag::compression, compression::none) != compression::none ||
        directory.count(tag::tile_offsets) > 0)
        return 1;
    if (const std::uint64_t planes = directory.count(tag::planes_of_metamorph); planes > 1) return planes;
    const std::string text = directory.text(tag::image_description, longest_description);
    const auto number_after = [&](std::string_view word, std::size_t from) {
        std::uint64_t number = 0;
        const std::size_t at = text.find(word, from);
        if (at != text.npos) std::from_chars(text.data() + at + word.size(), text.data() + text.size(), number);
        return number;
    };
    if (text.rfind("ImageJ=", 0) == 0) return std::max<std::uint64_t>(1, number_after("\nimages=", 0));
    constexpr std::string_view shape = "{\"shape\": [";
    if (text.rfind(shape, 0) != 0 || text.find("\"truncated\": true") == text.npos) return 1;
    std::uint64_t values = 1;
    for (std::size_t at = shape.size() - 1; at < text.size() && text[at] != ']'; at = text.find_first_of(",]", at + 1))
        values = saturating_product(values, number_after("", text.find_first_of("0123456789]", at)));
    const std::uint64_t of_one =
        saturating_product(saturating_product(directory.width(), directory.height()), directory.value(tag::samples, 1));
    return of_one == 0 ? 1 : std::max<std::uint64_t>(1, values / of_one);
}

/// Adds the planes of a stack after the first one, as many as are requested. If a text promises more than the file has,
/// it is out of date.
void add_planes(const Bytes& file, TiffPages& found, std::uint64_t most_places) {
    std::vector<PagePlace>& places = found.places;
    const PagePlace first = places.front();
    const std::uint64_t claimed = claimed_planes(TiffDirectory(file, first.directory));
    if (claimed == 1) return;
    const TiffLayout layout(file, first, TiffLayout::Part::header);
    const std::uint64_t bytes = layout.plane_bytes();
    const TiffDirectory::Values offsets = layout.directory.values(tag::strip_offsets);
    const TiffDirectory::Values lengths = layout.directory.values(tag::strip_lengths);
    for (std::uint64_t i = 1; i < offsets.count(); ++i)
        if (offsets[i] != offsets[i - 1] + lengths[i - 1]) return;
    if (bytes == 0 || offsets.count() == 0 || offsets[0] == 0 || offsets[0] > file.size()) return;
    // Planes, however tiny, are at most as many as directories would fit into the file.
    const std::uint64_t most = std::max<std::uint64_t>(1 << 16, file.size() / 64);
    const std::uint64_t whole = (file.size() - offsets[0]) / bytes, there = std::min({claimed, whole, most});
    if (there < 2) return;
    found.count = there;
    for (std::uint64_t plane = 0; plane < std::min(there, most_places); ++plane) {
        if (plane > 0) places.push_back(first);
        places[plane].plane = plane;
        places[plane].planes = there;
    }
    if (there == claimed) return;
    found.kind = there == whole ? IoError::Kind::truncated : IoError::Kind::damaged;
    found.rest = (there == whole ? "the TIFF ends before image "
                                 : "the TIFF has too many tiny images: gpuhist does not look for image ") +
                 std::to_string(there + 1) + " of the " + std::to_string(claimed) + " behind its directory";
}

/// Number of different directories in a chain that comes back to `again`, one of them.
std::uint64_t directories_before_loop(const Bytes& file, const TiffDirectory& again) {
    std::uint64_t loop = 1, before = 0;
    for (TiffDirectory one = again.next(); one.place() != again.place(); one = one.next()) {
        ++loop;
        file.let_go();
    }
    TiffDirectory one(file), ahead(file);
    for (std::uint64_t i = 0; i < loop; ++i) ahead = ahead.next();
    for (; one.place() != ahead.place(); one = one.next(), ahead = ahead.next()) {
        ++before;
        file.let_go();
    }
    return before + loop;
}

/// Walk along the chain of directories of a TIFF.
class ChainWalk {
  public:
    /// `first`: the first page's place is wanted, and the number of all.
    ChainWalk(const Bytes& file, std::uint64_t most_places, bool first)
        : file_(file), most_places_(most_places), first_(first) {}

    TiffPages pages() {
        std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
        if (const auto again = walk(most)) {
            most = directories_before_loop(file_, *again);
            found_ = {};
            sides_.clear();
            fields_ = 0;
            like_first_ = chained_ = false;
            walk(most);
        }
        std::vector<PagePlace>& places = found_.places;
        if (places.empty() && head_ != 0) add(TiffDirectory(file_, head_));
        if (found_.count == 1 && found_.rest.empty()) add_planes(file_, found_, most_places_);
        return std::move(found_);
    }

  private:
    struct Sides {
        std::uint64_t width, height;
        bool operator==(const Sides&) const = default;
    };
    static Sides sides_of(const TiffDirectory& one) { return {one.width(), one.height()}; }

    bool full() const { return found_.places.size() >= most_places_; }

    void add(const TiffDirectory& one) {
        ++found_.count;
        const Sides sides = sides_of(one);
        if (full()) {
            like_first_ = like_first_ || sides == sides_.front();
            return;
        }
        found_.places.push_back({one.place()});
        sides_.push_back(sides);
    }

    /// Adds the pictures in the SubIFDs of a thumbnail. The thumbnail is a smaller version of one of them, whether its
    /// tags say so or not.
    bool add_pictures(const TiffDirectory& thumbnail) {
        const TiffDirectory::Values below = thumbnail.values(tag::sub_directories);
        const std::uint64_t before = found_.count;
        const std::uint64_t pixels = saturating_product(thumbnail.width(), thumbnail.height());
        for (std::uint64_t i = 0; i < below.count() && fields_ <= file_.size() / 6; ++i) {
            if (below[i] == 0) continue;
            const TiffDirectory one(file_, below[i]);
            fields_ += one.fields() + 1;
            const bool larger = saturating_product(one.width(), one.height()) > pixels;
            if (one.complete() ? one.is_picture() && larger : thumbnail.is_reduced()) add(one);
        }
        return found_.count > before;
    }

    /// Gives a mask to the page before it that has its sides.
    void add_mask(const TiffDirectory& mask) {
        if (mask.is_reduced()) return;
        const Sides sides = sides_of(mask);
        for (std::size_t i = sides_.size(); i-- > 0;) {
            if (!(sides_[i] == sides)) continue;
            if (i == 0 && like_first_) return;  // it is of one whose place is not kept
            if (found_.places[i].mask == 0) found_.places[i].mask = mask.place();
            return;
        }
    }

    /// Follows the chain for so many directories. Returns a directory that it reached twice, by Brent's algorithm: it
    /// compares one place with all later ones, and then takes one that is twice as far. So it need not keep places.
    std::optional<TiffDirectory> walk(std::uint64_t most) {
        TiffDirectory directory(file_);
        std::uint64_t done = 0, compared = directory.place(), compare_next = 1;
        std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
        head_ = directory.complete() ? directory.place() : 0;
        const auto loop = [&] {
            found_.rest = "the TIFF's directories form a loop, or overlap";
            found_.kind = IoError::Kind::damaged;
        };
        for (; directory.complete(); directory = directory.next(), ++done) {
            if (done == most || done > last) return loop(), std::nullopt;
            if (done > 0 && directory.place() == compared) return directory;
            if (done == compare_next) {
                compared = directory.place();
                compare_next *= 2;
            }
            file_.let_go();
            if (fields_ > file_.size() / 6) continue;
            fields_ += directory.fields() + 1;  // directories that do not overlap have no more than the file holds
            if (fields_ > file_.size() / 6) {
                last = 4 * done + 4;  // a loop of those so far is found by then
            } else if (directory.is_mask()) {
                add_mask(directory);
            } else if (chained_ ? directory.is_page() : !add_pictures(directory) && directory.is_page()) {
                add(directory);
                chained_ = true;
            }
            if (!first_ && found_.count > most_places_) return std::nullopt;
        }
        if (fields_ > file_.size() / 6) return loop(), std::nullopt;
        if (directory.place() != 0) {
            found_.rest = "the TIFF ends before its directory " + std::to_string(done + 1);
            found_.kind = IoError::Kind::truncated;
        }
        return std::nullopt;
    }

    const Bytes& file_;
    const std::uint64_t most_places_;
    const bool first_;
    TiffPages found_;
    std::vector<Sides> sides_;  ///< of the pages whose places are kept
    std::uint64_t head_ = 0;    ///< place of the first directory
    std::uint64_t fields_ = 0;
    bool like_first_ = false;  ///< a page whose place is not kept has the sides of the first
    bool chained_ = false;     ///< a directory of the chain is a page
};

}  // namespace

TiffPages tiff_pages(const Bytes& file, std::uint64_t most) {
    return ChainWalk(file, most, false).pages();
}

TiffPages first_tiff_page(const Bytes& file) {
    return ChainWalk(file, 1, true).pages();
}

}  // namespace gpuhist::io
