// AVIF. libavif decodes the planes; colors are computed here, from the matrix that the file names.
#ifdef GPUHIST_AVIF
#include <avif/avif.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>

#include "decode/formats.hpp"
#include "decode/frames.hpp"
#include "decode/late.hpp"
#include "decode/quiet.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

/// A file whose brand, or one of whose compatible brands, is AVIF's. HEIC images have the same container.
bool matches(const Bytes& file) {
    if (!file.starts_with("ftyp", 4)) return false;
    constexpr std::uint64_t longest = 256;
    const std::uint64_t end = std::min(file.number(0, 4, Endian::big).value_or(0), longest);
    for (std::uint64_t at = 8; at + 4 <= end; at += 4)
        if (at != 12 && (file.starts_with("avif", at) || file.starts_with("avis", at))) return true;
    return false;
}

#ifdef GPUHIST_AVIF

#ifdef GPUHIST_AVIF_LATE
// In place of the library's own: see decode/late.hpp.
constinit const LateFunction<decltype(::avifDecoderCreate)> avifDecoderCreate(GPUHIST_AVIF_LATE, "avifDecoderCreate");
constinit const LateFunction<decltype(::avifDecoderSetIOMemory)> avifDecoderSetIOMemory(GPUHIST_AVIF_LATE,
                                                                                        "avifDecoderSetIOMemory");
constinit const LateFunction<decltype(::avifDecoderParse)> avifDecoderParse(GPUHIST_AVIF_LATE, "avifDecoderParse");
constinit const LateFunction<decltype(::avifDecoderNextImage)> avifDecoderNextImage(GPUHIST_AVIF_LATE,
                                                                                    "avifDecoderNextImage");
constinit const LateFunction<decltype(::avifDecoderDestroy)> avifDecoderDestroy(GPUHIST_AVIF_LATE,
                                                                                "avifDecoderDestroy");
constinit const LateFunction<decltype(::avifResultToString)> avifResultToString(GPUHIST_AVIF_LATE,
                                                                                "avifResultToString");
#endif

/// Decoder of a file whose header is read. It has no threads of its own, whose messages would pass.
class Decoder {
  public:
    explicit Decoder(const Bytes& file) : decoder_(is_there(avifDecoderCreate) ? avifDecoderCreate() : nullptr) {
        const Quiet quiet;
        if (!decoder_) {
            result_ = AVIF_RESULT_OUT_OF_MEMORY;
            return;
        }
        decoder_->maxThreads = 1;
        decoder_->ignoreExif = decoder_->ignoreXMP = AVIF_TRUE;
        decoder_->imageSizeLimit = AVIF_DEFAULT_IMAGE_SIZE_LIMIT;
        result_ = avifDecoderSetIOMemory(decoder_.get(), file.at(0), file.size());
        if (result_ == AVIF_RESULT_OK) result_ = avifDecoderParse(decoder_.get());
    }

    bool ok() const { return result_ == AVIF_RESULT_OK; }
    bool truncated() const { return result_ == AVIF_RESULT_TRUNCATED_DATA; }
    bool without_memory() const { return result_ == AVIF_RESULT_OUT_OF_MEMORY; }
    std::string words() const {
        std::string text = std::string("libavif: \"") + avifResultToString(result_);
        if (decoder_ && decoder_->diag.error[0] != '\0') text += std::string(": ") + decoder_->diag.error;
        return text + '"';
    }
    const avifImage& image() const { return *decoder_->image; }
    std::uint64_t frames() const { return static_cast<std::uint64_t>(std::max(decoder_->imageCount, 0)); }
    bool next() {
        const Quiet quiet;
        result_ = avifDecoderNextImage(decoder_.get());
        return ok();
    }

  private:
    struct Destroy {
        void operator()(avifDecoder* decoder) const {
            const Quiet quiet;
            avifDecoderDestroy(decoder);
        }
    };
    std::unique_ptr<avifDecoder, Destroy> decoder_;
    avifResult result_ = AVIF_RESULT_OK;
};

/// Weights of red and blue in luma, of the matrices that have them.
struct Weights {
    double red = 0, blue = 0;
};
std::optional<Weights> weights_of(const avifImage& image) {
    switch (image.matrixCoefficients) {
        case AVIF_MATRIX_COEFFICIENTS_BT709:
            return Weights{0.2126, 0.0722};
        case AVIF_MATRIX_COEFFICIENTS_UNSPECIFIED:
        case AVIF_MATRIX_COEFFICIENTS_BT470BG:
        case AVIF_MATRIX_COEFFICIENTS_BT601:
            return Weights{0.299, 0.114};
        case AVIF_MATRIX_COEFFICIENTS_FCC:
            return Weights{0.30, 0.11};
        case AVIF_MATRIX_COEFFICIENTS_SMPTE240:
            return Weights{0.212, 0.087};
        case AVIF_MATRIX_COEFFICIENTS_BT2020_NCL:
            return Weights{0.2627, 0.0593};
        default:
            return std::nullopt;
    }
}

/// Orientation in EXIF's numbers: the file's rotation, counterclockwise, and then its mirror.
std::uint64_t orientation_of(const avifImage& image) {
    const unsigned turns = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle & 3 : 0;
    if ((image.transformFlags & AVIF_TRANSFORM_IMIR) == 0) {
        constexpr std::array<std::uint64_t, 4> turned{1, 8, 3, 6};
        return turned[turns];
    }
#if AVIF_VERSION >= 1000000
    const bool across = image.imir.axis == 1;
#else
    const bool across = image.imir.mode == 1;
#endif
    constexpr std::array<std::array<std::uint64_t, 4>, 2> mirrored{{{4, 5, 2, 7}, {2, 7, 4, 5}}};
    return mirrored[across ? 1 : 0][turns];
}

bool is_gray(const avifImage& image) {
    return image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
}

std::string unsupported(const avifImage& image) {
    const auto with = [](const std::string& what) { return "an AVIF " + what + " is not supported"; };
    if (image.depth != 8 && image.depth != 10 && image.depth != 12)
        return with("of " + std::to_string(image.depth) + " bits per sample");
    if ((image.transformFlags & AVIF_TRANSFORM_CLAP) != 0) return with("with a clean aperture");
    const unsigned matrix = image.matrixCoefficients;
    const bool whole = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV444;
    if (matrix == AVIF_MATRIX_COEFFICIENTS_IDENTITY ? !whole && !is_gray(image)
                                                    : matrix != AVIF_MATRIX_COEFFICIENTS_YCGCO && !weights_of(image))
        return with("with the matrix " + std::to_string(matrix) + (whole ? "" : " of subsampled colors"));
    return {};
}

void inspect(const Bytes& file, Probe& probe) {
    if (!is_there(avifDecoderCreate)) {
        probe.unsupported = not_built(avif_format);
        return;
    }
    const Decoder decoder(file.part(0, file.size()));
    if (!decoder.ok()) {
        (decoder.truncated() ? probe.truncated : probe.damaged) = "the AVIF's header (" + decoder.words() + ")";
        if (decoder.truncated()) probe.truncated = "the AVIF ends inside its header or before its data";
        return;
    }
    const avifImage& image = decoder.image();
    probe.set_size(image.width, image.height);
    probe.unsupported = unsupported(image);
    const std::uint64_t bytes = image.depth > 8 ? 2 : 1;
    probe.pixel_bytes = bytes * (8 + 2 * 4);  // planes of two frames, the image, and the same turned
}

/// Samples of an image as numbers from 0 to 1, colors from -0.5 to 0.5.
class Planes {
  public:
    explicit Planes(const avifImage& image) : image_(image), weights_(weights_of(image).value_or(Weights{})) {
        const double steps = 1 << (image.depth - 8);
        const bool limited = image.yuvRange == AVIF_RANGE_LIMITED;
        top_ = (1 << image.depth) - 1;
        low_ = limited ? 16 * steps : 0;
        luma_ = limited ? 219 * steps : top_;
        chroma_ = limited ? 224 * steps : top_;
        middle_ = 128 * steps;
        across_ = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV420 || image.yuvFormat == AVIF_PIXEL_FORMAT_YUV422;
        down_ = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV420;
    }

    /// Blue, green and red of a pixel, or its gray three times.
    std::array<unsigned, 3> color(std::uint32_t x, std::uint32_t y) const {
        const double gray = (stored(AVIF_CHAN_Y, x, y) - low_) / luma_;
        if (is_gray(image_)) return {rounded(gray), rounded(gray), rounded(gray)};
        if (image_.matrixCoefficients == AVIF_MATRIX_COEFFICIENTS_IDENTITY)
            return {rounded((stored(AVIF_CHAN_U, x, y) - low_) / luma_), rounded(gray),
                    rounded((stored(AVIF_CHAN_V, x, y) - low_) / luma_)};
        const double cb = chroma(AVIF_CHAN_U, x, y), cr = chroma(AVIF_CHAN_V, x, y);
        if (image_.matrixCoefficients == AVIF_MATRIX_COEFFICIENTS_YCGCO)
            return {rounded(gray - cb - cr), rounded(gray + cb), rounded(gray - cb + cr)};
        const auto [kr, kb] = weights_;
        const double red = gray + 2 * (1 - kr) * cr, blue = gray + 2 * (1 - kb) * cb;
        return {rounded(blue), rounded((gray - kr * red - kb * blue) / (1 - kr - kb)), rounded(red)};
    }
    unsigned alpha(std::uint32_t x, std::uint32_t y) const {
        const unsigned char* row = image_.alphaPlane + std::size_t{y} * image_.alphaRowBytes;
        return value(row, x);
    }

  private:
    unsigned value(const unsigned char* row, std::uint32_t x) const {
        return image_.depth > 8 ? reinterpret_cast<const std::uint16_t*>(row)[x] : row[x];
    }
    double stored(int plane, std::uint32_t x, std::uint32_t y) const {
        return value(image_.yuvPlanes[plane] + std::size_t{y} * image_.yuvRowBytes[plane], x);
    }
    unsigned rounded(double fraction) const {
        return static_cast<unsigned>(std::floor(std::clamp(fraction, 0.0, 1.0) * top_ + 0.5));
    }
    /// Color difference of a pixel. Where these have fewer samples, the four around it weigh 9, 3, 3 and 1 of 16.
    double chroma(int plane, std::uint32_t x, std::uint32_t y) const {
        const std::uint32_t column = across_ ? x / 2 : x, row = down_ ? y / 2 : y;
        const std::uint32_t columns = across_ ? (image_.width + 1) / 2 : image_.width;
        const std::uint32_t rows = down_ ? (image_.height + 1) / 2 : image_.height;
        const auto beside = [](std::uint32_t place, std::uint32_t pixel, std::uint32_t count, bool halved) {
            if (!halved) return place;
            return pixel % 2 == 0 ? (place == 0 ? 0 : place - 1) : std::min(place + 1, count - 1);
        };
        const std::uint32_t next = beside(column, x, columns, across_), other = beside(row, y, rows, down_);
        const double sum = 9 * stored(plane, column, row) + 3 * stored(plane, next, row) +
                           3 * stored(plane, column, other) + stored(plane, next, other);
        return (sum / 16 - middle_) / chroma_;
    }

    const avifImage& image_;
    const Weights weights_;
    double top_ = 0, low_ = 0, luma_ = 1, chroma_ = 1, middle_ = 0;
    bool across_ = false, down_ = false;
};

template <class Sample>
void store(const avifImage& from, cv::Mat& pixels) {
    const Planes planes(from);
    const int channels = pixels.channels();
    for (int y = 0; y < pixels.rows; ++y) {
        auto* out = pixels.ptr<Sample>(y);
        for (int x = 0; x < pixels.cols; ++x, out += channels) {
            const auto column = static_cast<std::uint32_t>(x), row = static_cast<std::uint32_t>(y);
            const auto color = planes.color(column, row);
            for (int c = 0; c < std::min(channels, 3); ++c)
                out[c] = static_cast<Sample>(color[static_cast<std::size_t>(c)]);
            if (channels == 4) out[3] = static_cast<Sample>(planes.alpha(column, row));
        }
    }
}

/// Frames of a file; one that libavif cannot decode is the end of all.
class AvifFrames final : public FrameDecoder {
  public:
    explicit AvifFrames(const EncodedImage& file) : decoder_(file.bytes) {}

    void advance(const EncodedImage&) override {
        ++frame_;
        if (failed_ == 0 && !(decoder_.ok() && decoder_.next())) failed_ = frame_;
    }

    Image image(const EncodedImage& file) override {
        if (failed_ != 0) {
            if (decoder_.without_memory()) file.refuse("no memory for the AVIF's decoder", Kind::memory);
            const bool cut = decoder_.truncated();
            file.refuse((cut ? "truncated: the AVIF's frame " : "damaged: the AVIF's frame ") +
                            std::to_string(failed_) + " (" + decoder_.words() + ")",
                        cut ? Kind::truncated : Kind::damaged);
        }
        const avifImage& from = decoder_.image();
        if (const std::string why = unsupported(from); !why.empty()) file.refuse(why);
        if (from.width != file.probe.width || from.height != file.probe.height)
            file.refuse("damaged: the AVIF's header and data have different sizes", Kind::damaged);
        Image image;
        const bool alpha = from.alphaPlane != nullptr;
        if (alpha) {
            image.alpha = from.alphaPremultiplied ? Alpha::premultiplied : Alpha::straight;
            if (is_gray(from)) image.samples = Samples::gray_alpha;
        }
        image.depth = from.depth > 8 ? Depth::u16 : Depth::u8;
        image.white = (1 << from.depth) - 1;
        image.pixels = file.allocate(from.height, from.width,
                                     CV_MAKETYPE(opencv_depth(image.depth), alpha           ? 4
                                                                            : is_gray(from) ? 1
                                                                                            : 3));
        if (image.depth == Depth::u8)
            store<std::uint8_t>(from, image.pixels);
        else
            store<std::uint16_t>(from, image.pixels);
        file.put_upright(image, orientation_of(from));
        return image;
    }

  private:
    Decoder decoder_;
    std::uint64_t frame_ = 0, failed_ = 0;
};

std::unique_ptr<FrameDecoder> open_frames(const EncodedImage& file) {
    return std::make_unique<AvifFrames>(file);
}

void find_pages(const Bytes& file, PageList& list) {
    const Decoder decoder(file.part(0, file.size()));
    if (!decoder.ok() || decoder.frames() < 2) return;
    list.animated = true;
    list.add(decoder.frames(), {decoder.image().width, decoder.image().height});
}

/// Damage is refused, accepted or not: nobody can tell which pixels it left.
Image decode(const EncodedImage& file) {
    Image first = decode_frame(1, file);
    first.pages = std::max<std::uint64_t>(1, Decoder(file.bytes).frames());
    return first;
}

#else

constexpr std::nullptr_t find_pages = nullptr, open_frames = nullptr;

void inspect(const Bytes&, Probe& probe) {
    probe.unsupported = not_built(avif_format);
}

Image decode(const EncodedImage& file) {
    file.refuse(not_built(avif_format));
}

#endif

}  // namespace

const ImageFormat avif_format{"an AVIF",
                              {".avif", ".avifs"},
                              8,
                              matches,
                              inspect,
                              decode,
                              {"AVIF",
                               {"libavif"},
                               "u8; 10 and 12 bits as u16 unscaled, white 2^bits - 1",
                               "frames",
                               "gray and colors, with and without alpha; RGB computed from the matrix and range that "
                               "the file names, rounded once; subsampled colors interpolated linearly; rotation and "
                               "mirror",
                               "clean apertures, constant luminance and other matrices, damaged files even with "
                               "--on-damaged accept",
                               "libavif-dev"},
                              find_pages,
                              open_frames};

}  // namespace gpuhist::io
