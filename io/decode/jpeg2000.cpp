// JPEG 2000, in boxes or a bare codestream, by OpenJPEG, which applies palettes and definitions of channels.
#include <openjpeg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "decode/formats.hpp"

namespace gpuhist::io {
namespace {

using namespace std::string_view_literals;

bool matches(const Bytes& file) {
    return file.starts_with("\0\0\0\x0CjP  "sv) || file.starts_with("\xFF\x4F\xFF\x51");
}

/// Facts in the boxes and in the header of the codestream.
struct Header {
    std::uint64_t codestream = 0;  ///< where it begins; 0 where boxes end before one
    std::string unsupported;
    bool truncated = false, palette = false, sycc = false;
};

std::string with(const std::string& what) {
    return "a JPEG 2000 file " + what + " is not supported";
}

/// Boxes: a length, a type, contents. Length 0: to the end; 1: a longer one follows. Those of the header are boxes
/// again.
void read_boxes(const Bytes& file, std::uint64_t position, std::uint64_t end, bool inner, Header& header) {
    bool colors_said = false;
    while (header.codestream == 0 && position < end) {
        const auto length = file.number(position, 4, Endian::big);
        if (!length || !file.has(position, 8)) break;
        const bool extended = *length == 1;
        const std::uint64_t contents = position + (extended ? 16 : 8);
        std::uint64_t step = extended ? file.number(position + 8, 8, Endian::big).value_or(0) : *length;
        if (step == 0) step = end - position;
        const auto is = [&](std::string_view type) { return file.starts_with(type, position + 4); };
        header.truncated = !file.has(position, step);
        if (is("jp2c")) {
            header.codestream = contents;
        } else if (header.truncated || step < contents - position) {
            break;
        } else if (is("jp2h") && !inner) {
            read_boxes(file, contents, position + step, true, header);
        } else if (is("pclr")) {
            header.palette = true;
        } else if (is("colr") && !colors_said) {
            // Spaces by number: sRGB, gray and sYCC; profiles say nothing of samples.
            const auto space = file.number(contents + 3, 4, Endian::big).value_or(0);
            const bool by_number = file.number(contents, 1, Endian::big) == 1U;
            header.sycc = by_number && space == 18;
            if (by_number && (space < 16 || space > 18))
                header.unsupported = with("of the color space " + std::to_string(space));
            colors_said = true;
        }
        position += step;
    }
}

/// Horizontal and vertical distances of a component's samples, in pixels.
std::array<std::uint64_t, 2> distances(const Bytes& file, std::uint64_t codestream, std::uint64_t component) {
    const std::uint64_t at = codestream + 43 + 3 * component;
    return {file.number(at, 1, Endian::big).value_or(0), file.number(at + 1, 1, Endian::big).value_or(0)};
}

/// Components of the codestream: a palette makes others of them. Color differences of sYCC may be subsampled.
std::string unsupported_components(const Bytes& file, const Header& header) {
    const std::uint64_t codestream = header.codestream;
    const bool palette = header.palette;
    const auto count = file.number(codestream + 40, 2, Endian::big).value_or(0);
    if (count == 0 || count > 4)
        return std::to_string(count) + " channels are not supported: gpuhist reads 1 to 4 of JPEG 2000";
    const auto first = file.number(codestream + 42, 1, Endian::big).value_or(0);
    const std::uint64_t bits = (first & 127) + 1;
    if (!palette && (bits < 8 || bits > 16)) return with("of " + std::to_string(bits) + " bits per sample");
    for (std::uint64_t i = 0; i < count; ++i) {
        if (file.number(codestream + 42 + 3 * i, 1, Endian::big) != first)
            return with("whose samples are of several depths");
        const auto [across, down] = distances(file, codestream, i);
        const bool shared = header.sycc && !palette && count >= 3 && (i == 1 || i == 2) && across == 2 && down <= 2 &&
                            distances(file, codestream, 3 - i) == distances(file, codestream, i);
        if (!(across == 1 && down == 1) && !(shared && down >= 1)) return with("of subsampled channels");
        const auto odd = [&](std::uint64_t at) { return file.number(codestream + at, 4, Endian::big).value_or(0) % 2; };
        if (shared && (odd(16) != 0 || (down == 2 && odd(20) != 0)))
            return with("of subsampled channels, at an odd place of its grid,");
    }
    return header.sycc && (first & 128) != 0 ? with("of sYCC with a sign") : std::string();
}

/// Coding of a component: its resolutions, and how they are cut into precincts.
struct Coding {
    std::array<std::uint64_t, 2> distance{1, 1};  ///< of samples, in pixels
    std::uint64_t levels = 0;
    std::array<unsigned char, 33> precincts{};  ///< of each resolution the exponents of the sides

    /// Precincts of a component in pixels from `left` to `right` and from `top` to `bottom`.
    std::uint64_t count(std::uint64_t left, std::uint64_t right, std::uint64_t top, std::uint64_t bottom) const {
        std::uint64_t sum = 0;
        const auto samples = [](std::uint64_t pixels, std::uint64_t by) {
            return (pixels + std::max<std::uint64_t>(by, 1) - 1) / std::max<std::uint64_t>(by, 1);
        };
        left = samples(left, distance[0]), right = samples(right, distance[0]);
        top = samples(top, distance[1]), bottom = samples(bottom, distance[1]);
        for (std::uint64_t r = 0; r <= levels; ++r) {
            const std::uint64_t reduced = levels - r;
            const auto along = [&](std::uint64_t begin, std::uint64_t end, unsigned side) {
                const auto up = [](std::uint64_t value, std::uint64_t by) { return (value + (1ULL << by) - 1) >> by; };
                begin = up(begin, reduced), end = up(end, reduced);
                return begin < end ? up(end, side) - (begin >> side) : 0;
            };
            sum += saturating_product(along(left, right, precincts[r] & 15), along(top, bottom, precincts[r] >> 4));
        }
        return sum;
    }
};

/// Tiles of a codestream, and the tile-parts that each is in.
class Tiles {
  public:
    Tiles(const Bytes& file, std::uint64_t codestream) : file_(file), codestream_(codestream) {
        const auto along = [&](std::uint64_t at) {
            const std::uint64_t end = word(at), size = word(at + 16), begin = word(at + 24);
            return size == 0 || begin >= end ? 0 : (end - begin + size - 1) / size;
        };
        across_ = along(codestream + 8);
        count_ = across_ * along(codestream + 12);
        codings_.resize(std::min<std::uint64_t>(file.number(codestream + 40, 2, Endian::big).value_or(0), 4));
        for (std::size_t i = 0; i < codings_.size(); ++i) codings_[i].distance = distances(file, codestream, i);
    }

    /// Memory that OpenJPEG takes beside the samples: for all tiles' parameters at once, each with a copy of the
    /// header's transforms, and for precincts.
    std::uint64_t bytes() const {
        constexpr std::uint64_t tile = 24 << 10, precinct = 1 << 10;
        const std::uint64_t tiles = saturating_product(count_, tile + transforms_);
        return std::max(tiles, tiles + saturating_product(precincts_, precinct));
    }
    /// Words on tiles and tile-parts that are not there; empty where all are.
    std::string missing(std::string& truncated) {
        constexpr std::uint64_t most_tiles = 65535;
        if (count_ == 0 || count_ > most_tiles) return "the JPEG 2000 file's header claims no tiles, or over 65535";
        parts_.resize(count_);
        std::uint64_t position = header_end(codestream_ + 2, sot, codings_);
        while (position != 0 && truncated.empty()) position = next_part(position, truncated);
        if (!truncated.empty()) return {};
        std::uint64_t absent = 0, found = 0;
        for (const Parts& tile : parts_) absent += tile.found == 0 ? 1 : 0, found += tile.found;
        if (absent > 0)
            return "the JPEG 2000 file lacks " + std::to_string(absent) + " of its " + std::to_string(count_) +
                   (count_ == 1 ? " tile" : " tiles");
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (const Parts& tile = parts_[i]; tile.gap || tile.found < tile.promised)
                return "the JPEG 2000 file lacks parts of tile " + std::to_string(i);
        if (found < listed_)
            return "the JPEG 2000 file has " + std::to_string(found) + " of the " + std::to_string(listed_) +
                   " tile-parts that its header lists";
        // A packet takes a byte, of the tile or of headers that are packed elsewhere.
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (parts_[i].packets > (packed_ ? file_.size() : parts_[i].data))
                return "the JPEG 2000 file's tile " + std::to_string(i) + " ends before its last packet";
        return {};
    }

  private:
    struct Parts {
        std::uint16_t found = 0, promised = 0;
        bool gap = false;
        std::uint64_t packets = 0, data = 0;  ///< the latter in bytes
    };

    std::uint64_t word(std::uint64_t at) const { return file_.number(at, 4, Endian::big).value_or(0); }
    /// Place of the marker that ends a header whose segments begin at a place. 0: there is none.
    std::uint64_t header_end(std::uint64_t at, std::uint64_t end, std::vector<Coding>& codings) {
        for (;;) {
            const auto marker = file_.number(at, 2, Endian::big), length = file_.number(at + 2, 2, Endian::big);
            if (marker == end) return at;
            if (!length || *length < 2 || *marker < 0xFF00) return 0;
            const auto byte = [&](std::uint64_t place) { return file_.number(at + place, 1, Endian::big).value_or(0); };
            if (end == sot && *marker >= 0xFF74 && *marker <= 0xFF77) transforms_ += *length;
            if (marker == tlm && *length > 4)
                listed_ += (*length - 4) / ((byte(5) >> 4 & 3) + (byte(5) & 0x40 ? 4 : 2));
            if (marker == ppm || marker == ppt) packed_ = true;
            if (marker == cod) {
                layers_ = file_.number(at + 6, 2, Endian::big).value_or(0);
                for (Coding& one : codings) read_coding(one, byte(4), at + 9);
            }
            if (marker == coc && byte(4) < codings.size()) read_coding(codings[byte(4)], byte(5), at + 6);
            at += 2 + *length;
        }
    }
    void read_coding(Coding& coding, std::uint64_t style, std::uint64_t at) const {
        coding.levels = std::min<std::uint64_t>(file_.number(at, 1, Endian::big).value_or(0), 32);
        for (std::uint64_t r = 0; r <= coding.levels; ++r) {
            const auto said = style & 1 ? file_.number(at + 5 + r, 1, Endian::big) : std::nullopt;
            coding.precincts[r] = static_cast<unsigned char>(said.value_or(0xFF));
        }
    }
    /// Counts the packets of a tile.
    void count_packets(std::uint64_t tile, const std::vector<Coding>& codings) {
        const auto ends = [&](std::uint64_t at, std::uint64_t index) {
            const std::uint64_t begin = word(at + 24) + index * word(at + 16);
            return std::pair(std::max(word(at + 8), begin), std::min(word(at), begin + word(at + 16)));
        };
        const auto [left, right] = ends(codestream_ + 8, tile % across_);
        const auto [top, bottom] = ends(codestream_ + 12, tile / across_);
        std::uint64_t precincts = 0;
        for (const Coding& one : codings) precincts += one.count(left, right, top, bottom);
        precincts_ = std::max(precincts_, precincts);
        parts_[tile].packets = saturating_product(precincts, layers_);
    }
    /// Takes note of the tile-part at a place. Returns the place of the next, or 0.
    std::uint64_t next_part(std::uint64_t at, std::string& truncated) {
        if (file_.number(at, 2, Endian::big) != sot || !file_.has(at, 12)) return 0;
        const std::uint64_t tile = *file_.number(at + 4, 2, Endian::big), length = word(at + 6);
        const std::uint64_t index = file_.byte(at + 10), promised = file_.byte(at + 11);
        if (tile >= count_) return 0;
        Parts& parts = parts_[tile];
        if (index != parts.found++) parts.gap = true;
        parts.promised = static_cast<std::uint16_t>(std::max<std::uint64_t>(parts.promised, promised));
        std::vector<Coding> codings = codings_;
        const std::uint64_t layers = layers_, data = header_end(at + 12, sod, codings);
        const std::uint64_t end = length < 12 ? file_.size() : at + length;
        if (parts.found == 1) count_packets(tile, codings);
        layers_ = layers;
        if (data != 0 && data + 2 < end) parts.data += end - data - 2;
        if (!file_.has(at, length)) truncated = "the JPEG 2000 file ends inside tile " + std::to_string(tile);
        return length < 12 ? 0 : at + length;  // 0: to the end
    }

    static constexpr std::uint64_t cod = 0xFF52, coc = 0xFF53, tlm = 0xFF55, ppm = 0xFF60, ppt = 0xFF61, sot = 0xFF90,
                                   sod = 0xFF93;
    Bytes file_;
    std::uint64_t codestream_, across_, count_, layers_ = 0;
    std::uint64_t listed_ = 0, transforms_ = 0, precincts_ = 0;  ///< tile-parts; bytes; of the tile that has most
    bool packed_ = false;                                        ///< headers of packets stand apart from them
    std::vector<Coding> codings_;                                ///< of each component, unless a tile has others
    std::vector<Parts> parts_;
};

void inspect(const Bytes& file, Probe& probe) {
    Header header;
    const bool boxes = !file.starts_with("\xFF\x4F");
    if (boxes) read_boxes(file, 0, file.size(), false, header);
    if (boxes && header.codestream == 0) {
        probe.truncated = "the JPEG 2000 file ends before its codestream";
        return;
    }
    const auto number = [&](unsigned at) { return file.number(header.codestream + at, 4, Endian::big).value_or(0); };
    const std::uint64_t right = number(8), bottom = number(12), left = number(16), top = number(20);
    if (!file.has(header.codestream, 45)) {
        probe.truncated = "the JPEG 2000 file ends inside its header";
        return;
    }
    if (right > left && bottom > top) probe.set_size(right - left, bottom - top);
    probe.unsupported = header.unsupported.empty() ? unsupported_components(file, header) : header.unsupported;
    Tiles tiles(file, header.codestream);
    probe.damaged = tiles.missing(probe.truncated);
    if (header.truncated) probe.truncated = "the JPEG 2000 file ends before its last box does";
    if (probe.width != 0 && probe.height != 0)
        probe.pixel_bytes += tiles.bytes() / saturating_product(probe.width, probe.height);
    // An empty packet, a byte, may stand for a precinct of any size: so constant pictures take next to nothing.
    constexpr std::uint64_t pixels_a_byte = 1 << 20;
    if (saturating_product(probe.width, probe.height) / pixels_a_byte > file.size())
        probe.too_large = cannot_hold("the JPEG 2000 file", probe.width, probe.height);
}

/// File in memory, and the first messages of OpenJPEG about its data: on damage, and on possible damage.
struct Source {
    Bytes bytes;
    std::uint64_t position = 0;
    std::string complaint, note;
};

OPJ_SIZE_T read_source(void* buffer, OPJ_SIZE_T count, void* user) {
    auto& source = *static_cast<Source*>(user);
    count = std::min<OPJ_SIZE_T>(count, source.bytes.size() - source.position);
    if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
    std::memcpy(buffer, source.bytes.at(source.position), count);
    source.position += count;
    return count;
}

OPJ_OFF_T skip_source(OPJ_OFF_T count, void* user) {
    auto& source = *static_cast<Source*>(user);
    if (count < 0 || static_cast<std::uint64_t>(count) > source.bytes.size() - source.position) return -1;
    source.position += static_cast<std::uint64_t>(count);
    return count;
}

OPJ_BOOL seek_source(OPJ_OFF_T position, void* user) {
    auto& source = *static_cast<Source*>(user);
    if (position < 0 || static_cast<std::uint64_t>(position) > source.bytes.size()) return OPJ_FALSE;
    source.position = static_cast<std::uint64_t>(position);
    return OPJ_TRUE;
}

/// Messages that do not mean damage: on empty tile-parts and bands, on a number of tile-parts that is one too small, on
/// a transform of three components in an image with fewer, and on missing SOP markers, which are optional.
constexpr std::array harmless{"Empty SOT", "tgt_create", "TPsot==TNsot", "inconsistent with a MCT",
                              "xpected SOP marker"};

void take_complaint(const char* text, void* user) {
    auto& source = *static_cast<Source*>(user);
    // Encoders end code-blocks in other ways than OpenJPEG checks.
    auto& complaint = std::strstr(text, "PTERM check failure") ? source.note : source.complaint;
    const auto has = [&](const char* words) { return std::strstr(text, words) != nullptr; };
    if (!complaint.empty() || std::any_of(harmless.begin(), harmless.end(), has)) return;
    complaint = text;
    while (!complaint.empty() && (complaint.back() == '\n' || complaint.back() == '.')) complaint.pop_back();
}

template <auto destroy>
struct Destroy {
    template <class Object>
    void operator()(Object* object) const {
        destroy(object);
    }
};

/// Decodes all components. Throws IoError for any damage, accepted or not, because OpenJPEG then returns memory that
/// was partly never written. With several threads, it returns null instead if OpenJPEG says anything: its words then
/// depend on which thread is first.
std::unique_ptr<opj_image_t, Destroy<opj_image_destroy>> decode_components(const EncodedImage& file, int threads,
                                                                           std::string& note) {
    Source source{file.bytes, 0, {}, {}};
    const std::unique_ptr<opj_stream_t, Destroy<opj_stream_destroy>> stream(opj_stream_default_create(OPJ_TRUE));
    const std::unique_ptr<opj_codec_t, Destroy<opj_destroy_codec>> codec(
        opj_create_decompress(file.bytes.starts_with("\xFF\x4F") ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
    if (!stream || !codec) file.refuse("no memory for a decoder of JPEG 2000", IoError::Kind::memory);
    opj_stream_set_user_data(stream.get(), &source, nullptr);
    opj_stream_set_user_data_length(stream.get(), file.bytes.size());
    opj_stream_set_read_function(stream.get(), read_source);
    opj_stream_set_skip_function(stream.get(), skip_source);
    opj_stream_set_seek_function(stream.get(), seek_source);
    opj_set_info_handler(
        codec.get(), [](const char*, void*) {}, nullptr);
    opj_set_warning_handler(
        codec.get(), [](const char*, void*) {}, nullptr);
    opj_set_error_handler(codec.get(), take_complaint, &source);
    using Decoded = std::unique_ptr<opj_image_t, Destroy<opj_image_destroy>>;
    const auto fail = [&](const char* what) -> Decoded {
        if (threads > 1) return nullptr;
        file.refuse("damaged: the JPEG 2000 file's " + std::string(what) + " (OpenJPEG: \"" + source.complaint + "\")",
                    IoError::Kind::damaged);
    };
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    opj_image_t* made = nullptr;
    const bool ready =
        opj_setup_decoder(codec.get(), &parameters) && opj_codec_set_threads(codec.get(), threads > 1 ? threads : 0) &&
        opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE) && opj_read_header(stream.get(), codec.get(), &made);
    Decoded image(made);
    if (!ready || !image) return fail("header");
    // From here on a warning is about the data.
    opj_set_warning_handler(codec.get(), take_complaint, &source);
    if (!opj_decode(codec.get(), stream.get(), image.get()) || !source.complaint.empty()) return fail("data");
    if (!source.note.empty() && threads > 1) return nullptr;
    if (!source.note.empty()) note = "OpenJPEG: \"" + source.note + "\"";
    return image;
}

template <class Sample>
void store(const opj_image_t& from, bool bands, cv::Mat& pixels) {
    const int channels = pixels.channels();
    for (int place = 0; place < channels; ++place) {
        // Gray with alpha: the gray three times. Colors: in OpenCV's order.
        const bool last = place == 3, gray = from.numcomps < 3;
        const auto& component = from.comps[bands  ? static_cast<unsigned>(place)
                                           : last ? from.numcomps - 1
                                           : gray ? 0
                                                  : static_cast<unsigned>(2 - place)];
        const OPJ_INT32* in = component.data;
        for (int y = 0; y < pixels.rows; ++y) {
            auto* out = pixels.ptr<Sample>(y) + place;
            for (int x = 0; x < pixels.cols; ++x, out += channels) *out = static_cast<Sample>(*in++);
        }
    }
}

/// Stores sYCC as colors, and alpha, by the formula of OpenJPEG's program opj_decompress: fractions are cut off, and
/// each color difference counts for all of its pixels.
template <class Sample>
void store_sycc(const opj_image_t& from, cv::Mat& pixels) {
    const int channels = pixels.channels(), highest = (1 << from.comps[0].prec) - 1,
              middle = 1 << (from.comps[0].prec - 1);
    const auto limited = [&](int value) { return static_cast<Sample>(std::clamp(value, 0, highest)); };
    const opj_image_comp_t& difference = from.comps[1];
    for (int y = 0; y < pixels.rows; ++y) {
        auto* out = pixels.ptr<Sample>(y);
        const std::size_t row = static_cast<std::size_t>(y) * from.comps[0].w;
        const std::size_t shared = static_cast<std::size_t>(y) / difference.dy * difference.w;
        for (int x = 0; x < pixels.cols; ++x, out += channels) {
            const auto column = static_cast<std::size_t>(x);
            const int luma = from.comps[0].data[row + column];
            const auto blue = static_cast<float>(from.comps[1].data[shared + column / difference.dx] - middle);
            const auto red = static_cast<float>(from.comps[2].data[shared + column / difference.dx] - middle);
            out[0] = limited(luma + static_cast<int>(1.772 * blue));
            out[1] = limited(luma - static_cast<int>(0.344 * blue + 0.714 * red));
            out[2] = limited(luma + static_cast<int>(1.402 * red));
            if (channels == 4) out[3] = static_cast<Sample>(from.comps[3].data[row + column]);
        }
    }
}

Image decode(const EncodedImage& file) {
    if (!file.probe.damaged.empty()) file.refuse("damaged: " + file.probe.damaged, IoError::Kind::damaged);
    Image image;
    auto from = decode_components(file, file.threads(), image.note);
    if (!from) from = decode_components(file, 1, image.note);
    const unsigned count = from->numcomps;
    const auto& first = from->comps[0];
    const auto is_alpha = [](const auto& one) { return one.alpha == 1 || one.alpha == 2; };  // straight, premultiplied
    const bool even = count == 2 || count == 4,
               bands = even && std::none_of(from->comps, from->comps + count, is_alpha);
    if (count == 0 || count > 4)
        file.refuse(std::to_string(count) + " channels are not supported: gpuhist reads 1 to 4 of JPEG 2000");
    const bool sycc = from->color_space == OPJ_CLRSPC_SYCC && count >= 3;
    if (sycc && bands) file.refuse(with("of sYCC and a fourth channel that is not alpha"));
    for (unsigned i = 0; i < count; ++i) {
        const auto& one = from->comps[i];
        if (one.sgnd != first.sgnd || one.prec != first.prec || one.prec < 8 || one.prec > 16)
            file.refuse(with("whose palette is of " + std::to_string(one.prec) + " bits, or signed in part"));
        const bool shared = sycc && (i == 1 || i == 2);  // its samples, by several pixels
        const std::uint64_t across = shared ? one.dx : 1, down = shared ? one.dy : 1;
        if (!one.data || across == 0 || down == 0 || one.w != (file.probe.width + across - 1) / across ||
            one.h != (file.probe.height + down - 1) / down)
            file.refuse("damaged: the JPEG 2000 file's channels are not all there", IoError::Kind::damaged);
        const bool alpha = even && !bands && i == count - 1;
        if (is_alpha(one) != alpha)
            file.refuse(with("of " + std::to_string(count) + " channels, of which " + (alpha ? "the last" : "another") +
                             (alpha ? " is not" : " is") + " alpha"));
    }
    image.depth = first.sgnd ? (first.prec > 8 ? Depth::s16 : Depth::s8) : first.prec > 8 ? Depth::u16 : Depth::u8;
    image.white = (1 << (first.prec - (first.sgnd ? 1 : 0))) - 1;
    if (bands)
        image.samples = Samples::bands;
    else if (count == 2)
        image.samples = Samples::gray_alpha;
    if (even && !bands) image.alpha = from->comps[count - 1].alpha == 2 ? Alpha::premultiplied : Alpha::straight;
    const int channels = count == 2 && !bands ? 4 : static_cast<int>(count);
    image.pixels = file.allocate(file.probe.height, file.probe.width, CV_MAKETYPE(opencv_depth(image.depth), channels));
    with_depth(image.depth, [&](auto sample) {
        using Sample = decltype(sample);
        if constexpr (std::is_integral_v<Sample>) {
            if (sycc)
                store_sycc<Sample>(*from, image.pixels);
            else
                store<Sample>(*from, bands, image.pixels);
        }
    });
    return image;
}

}  // namespace

// Decoded samples are first 32 bits each.
const ImageFormat jpeg2000_format{
    "a JPEG 2000 file",
    {".j2c", ".j2k", ".jp2"},
    24,
    matches,
    inspect,
    decode,
    {"JPEG 2000",
     {"OpenJPEG"},
     "u8, s8, u16, s16; 9 to 15 bits as u16 and s16 unscaled",
     "",
     "1 to 4 components; palettes; alpha by cdef; without it, 2 and 4 components are bands; sYCC, whole or subsampled, "
     "by the formula of opj_decompress",
     "other subsampled channels, under 8 bits, other spaces than sRGB, gray and sYCC"}};

}  // namespace gpuhist::io
