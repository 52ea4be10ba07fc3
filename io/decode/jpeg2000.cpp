// JPEG 2000, in boxes or a bare codestream, by OpenJPEG, which applies palettes and definitions of channels.
#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "decode/formats.hpp"

namespace gpuhist::io {
namespace {

using namespace std::string_view_literals;

bool matches(const Bytes& file) {
    return file.starts_with("\0\0\0\x0CjP  "sv) || file.starts_with("\xFF\x4F\xFF\x51");
}

/// What boxes and the codestream's header say.
struct Header {
    std::uint64_t codestream = 0;  ///< where it begins; 0 where boxes end before one
    std::string unsupported;
    bool truncated = false, palette = false;
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
            // Spaces by number: sRGB and gray; profiles say nothing of samples.
            const auto space = file.number(contents + 3, 4, Endian::big).value_or(0);
            if (file.number(contents, 1, Endian::big) == 1U && space != 16 && space != 17)
                header.unsupported = with("of the color space " + std::to_string(space));
            colors_said = true;
        }
        position += step;
    }
}

/// Components of the codestream: a palette makes others of them.
std::string unsupported_components(const Bytes& file, std::uint64_t codestream, bool palette) {
    const auto count = file.number(codestream + 40, 2, Endian::big).value_or(0);
    if (count == 0 || count > 4)
        return std::to_string(count) + " channels are not supported: gpuhist reads 1 to 4 of JPEG 2000";
    const auto first = file.number(codestream + 42, 1, Endian::big).value_or(0);
    const std::uint64_t bits = (first & 127) + 1;
    if (!palette && (bits < 8 || bits > 16)) return with("of " + std::to_string(bits) + " bits per sample");
    for (std::uint64_t i = 0; i < count; ++i) {
        if (file.number(codestream + 42 + 3 * i, 1, Endian::big) != first)
            return with("whose samples are of several depths");
        if (file.number(codestream + 43 + 3 * i, 2, Endian::big) != 0x0101U) return with("of subsampled channels");
    }
    return {};
}

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
    probe.unsupported = header.unsupported.empty() ? unsupported_components(file, header.codestream, header.palette)
                                                   : header.unsupported;
    if (header.truncated) probe.truncated = "the JPEG 2000 file ends before its last box does";
    // An empty packet, a byte, may stand for a precinct of any size: so constant pictures take next to nothing.
    constexpr std::uint64_t pixels_a_byte = 1 << 20;
    if (saturating_product(probe.width, probe.height) / pixels_a_byte > file.size())
        probe.too_large = cannot_hold("the JPEG 2000 file", probe.width, probe.height);
}

/// File in memory, and what OpenJPEG first says of its data.
struct Source {
    Bytes bytes;
    std::uint64_t position = 0;
    std::string complaint;
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

void take_complaint(const char* text, void* user) {
    auto& complaint = static_cast<Source*>(user)->complaint;
    // Empty tile parts and bands are none.
    if (!complaint.empty() || std::strstr(text, "Empty SOT") || std::strstr(text, "tgt_create")) return;
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

/// Decodes all components. Throws IoError for any damage, accepted or not: what OpenJPEG then hands over is in part
/// memory that nothing wrote.
auto decode_components(const EncodedImage& file) {
    Source source{file.bytes, 0, {}};
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
    const auto fail = [&](const char* what) {
        file.refuse("damaged: the JPEG 2000 file's " + std::string(what) + " (OpenJPEG: \"" + source.complaint + "\")",
                    IoError::Kind::damaged);
    };
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    opj_image_t* made = nullptr;
    const bool ready = opj_setup_decoder(codec.get(), &parameters) &&
                       opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE) &&
                       opj_read_header(stream.get(), codec.get(), &made);
    std::unique_ptr<opj_image_t, Destroy<opj_image_destroy>> image(made);
    if (!ready || !image) fail("header");
    // From here on a warning is about the data.
    opj_set_warning_handler(codec.get(), take_complaint, &source);
    if (!opj_decode(codec.get(), stream.get(), image.get()) || !source.complaint.empty()) fail("data");
    return image;
}

template <class Sample>
void store(const opj_image_t& from, cv::Mat& pixels) {
    const int channels = pixels.channels();
    for (int place = 0; place < channels; ++place) {
        // Gray with alpha: the gray three times. Colors: in OpenCV's order.
        const bool last = place == 3, gray = from.numcomps < 3;
        const auto& component = from.comps[last ? from.numcomps - 1 : gray ? 0 : static_cast<unsigned>(2 - place)];
        const OPJ_INT32* in = component.data;
        for (int y = 0; y < pixels.rows; ++y) {
            auto* out = pixels.ptr<Sample>(y) + place;
            for (int x = 0; x < pixels.cols; ++x, out += channels) *out = static_cast<Sample>(*in++);
        }
    }
}

Image decode(const EncodedImage& file) {
    const auto from = decode_components(file);
    const unsigned count = from->numcomps;
    const auto& first = from->comps[0];
    if (count == 0 || count > 4)
        file.refuse(std::to_string(count) + " channels are not supported: gpuhist reads 1 to 4 of JPEG 2000");
    for (unsigned i = 0; i < count; ++i) {
        const auto& one = from->comps[i];
        if (one.sgnd != first.sgnd || one.prec != first.prec || one.prec < 8 || one.prec > 16)
            file.refuse(with("whose palette is of " + std::to_string(one.prec) + " bits, or signed in part"));
        if (!one.data || one.w != file.probe.width || one.h != file.probe.height)
            file.refuse("damaged: the JPEG 2000 file's channels are not all there", IoError::Kind::damaged);
        const bool alpha = (count == 2 || count == 4) && i == count - 1;
        if ((one.alpha != 0) != alpha)
            file.refuse(with("of " + std::to_string(count) + " channels, of which " + (alpha ? "the last" : "another") +
                             (alpha ? " is not" : " is") + " alpha"));
    }
    Image image;
    image.depth = first.sgnd ? (first.prec > 8 ? Depth::s16 : Depth::s8) : first.prec > 8 ? Depth::u16 : Depth::u8;
    image.white = (1 << (first.prec - (first.sgnd ? 1 : 0))) - 1;
    if (count == 2) image.samples = Samples::gray_alpha;
    if (count == 2 || count == 4)
        image.alpha = from->comps[count - 1].alpha == 2 ? Alpha::premultiplied : Alpha::straight;
    const int channels = count == 2 ? 4 : static_cast<int>(count);
    image.pixels = file.allocate(file.probe.height, file.probe.width, CV_MAKETYPE(opencv_depth(image.depth), channels));
    with_depth(image.depth, [&](auto sample) {
        if constexpr (std::is_integral_v<decltype(sample)>) store<decltype(sample)>(*from, image.pixels);
    });
    return image;
}

}  // namespace

// Decoded samples are first 32 bits each.
const ImageFormat jpeg2000_format{"a JPEG 2000 file",
                                  {".j2c", ".j2k", ".jp2"},
                                  24,
                                  matches,
                                  inspect,
                                  decode,
                                  {"JPEG 2000",
                                   {"OpenJPEG"},
                                   "u8, s8, u16, s16; 9 to 15 bits as u16 and s16 unscaled",
                                   "",
                                   "1 to 4 components; palettes; alpha by cdef",
                                   "subsampled, under 8 bits, other spaces than sRGB and gray"}};

}  // namespace gpuhist::io
