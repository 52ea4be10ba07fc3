// JPEG XL, by libjxl.
#ifdef GPUHIST_JPEGXL
#include <jxl/decode.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "decode/formats.hpp"
#include "decode/frames.hpp"
#include "decode/late.hpp"
#include "decode/quiet.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;
using namespace std::string_view_literals;

bool matches(const Bytes& file) {
    return file.starts_with("\xFF\x0A") || file.starts_with("\0\0\0\x0CJXL \r\n\x87\n"sv);
}

#ifdef GPUHIST_JPEGXL

#ifdef GPUHIST_JPEGXL_LATE
// In place of the library's own: see decode/late.hpp.
constinit const LateFunction<decltype(::JxlDecoderCreate)> JxlDecoderCreate(GPUHIST_JPEGXL_LATE, "JxlDecoderCreate");
constinit const LateFunction<decltype(::JxlDecoderSubscribeEvents)> JxlDecoderSubscribeEvents(
    GPUHIST_JPEGXL_LATE, "JxlDecoderSubscribeEvents");
constinit const LateFunction<decltype(::JxlDecoderSetInput)> JxlDecoderSetInput(GPUHIST_JPEGXL_LATE,
                                                                                "JxlDecoderSetInput");
constinit const LateFunction<decltype(::JxlDecoderCloseInput)> JxlDecoderCloseInput(GPUHIST_JPEGXL_LATE,
                                                                                    "JxlDecoderCloseInput");
constinit const LateFunction<decltype(::JxlDecoderProcessInput)> JxlDecoderProcessInput(GPUHIST_JPEGXL_LATE,
                                                                                        "JxlDecoderProcessInput");
constinit const LateFunction<decltype(::JxlDecoderGetBasicInfo)> JxlDecoderGetBasicInfo(GPUHIST_JPEGXL_LATE,
                                                                                        "JxlDecoderGetBasicInfo");
constinit const LateFunction<decltype(::JxlDecoderImageOutBufferSize)> JxlDecoderImageOutBufferSize(
    GPUHIST_JPEGXL_LATE, "JxlDecoderImageOutBufferSize");
constinit const LateFunction<decltype(::JxlDecoderSetImageOutBuffer)> JxlDecoderSetImageOutBuffer(
    GPUHIST_JPEGXL_LATE, "JxlDecoderSetImageOutBuffer");
constinit const LateFunction<decltype(::JxlDecoderDestroy)> JxlDecoderDestroy(GPUHIST_JPEGXL_LATE, "JxlDecoderDestroy");
#endif

/// Decoder on its way through a file.
class Decoder {
  public:
    Decoder(const Bytes& file, int events)
        : decoder_(is_there(JxlDecoderCreate) ? JxlDecoderCreate(nullptr) : nullptr) {
        if (!decoder_) return;
        JxlDecoderSubscribeEvents(decoder_.get(), events);
        JxlDecoderSetInput(decoder_.get(), file.at(0), file.size());
        JxlDecoderCloseInput(decoder_.get());
    }
    JxlDecoder* get() const { return decoder_.get(); }
    JxlDecoderStatus process() {
        const Quiet quiet;
        return decoder_ ? JxlDecoderProcessInput(decoder_.get()) : JXL_DEC_ERROR;
    }
    /// Facts of the file, which are known after JXL_DEC_BASIC_INFO.
    JxlBasicInfo info() const {
        JxlBasicInfo found{};
        JxlDecoderGetBasicInfo(decoder_.get(), &found);
        return found;
    }

  private:
    struct Destroy {
        void operator()(JxlDecoder* decoder) const { JxlDecoderDestroy(decoder); }
    };
    std::unique_ptr<JxlDecoder, Destroy> decoder_;
};

bool is_float(const JxlBasicInfo& info) {
    return info.exponent_bits_per_sample > 0;
}

std::string unsupported(const JxlBasicInfo& info) {
    const auto with = [](const std::string& what) { return "a JPEG XL " + what + " is not supported"; };
    const std::uint32_t bits = info.bits_per_sample, exponent = info.exponent_bits_per_sample;
    if (is_float(info) && !(bits == 32 && exponent == 8) && !(bits == 16 && exponent == 5))
        return with("of floats of " + std::to_string(bits) + " bits, " + std::to_string(exponent) + " of the exponent");
    if (!is_float(info) && (bits == 0 || bits > 16)) return with("of " + std::to_string(bits) + " bits per sample");
    if (info.num_extra_channels > (info.alpha_bits > 0 ? 1U : 0U)) return with("with channels beside colors and alpha");
    if (info.alpha_bits > 0 && (info.alpha_bits != bits || info.alpha_exponent_bits != exponent))
        return with("whose alpha has another type than its colors");
    return {};
}

void inspect(const Bytes& file, Probe& probe) {
    if (!is_there(JxlDecoderCreate)) {
        probe.unsupported = not_built(jpegxl_format);
        return;
    }
    Decoder decoder(file.part(0, file.size()), JXL_DEC_BASIC_INFO);
    const JxlDecoderStatus status = decoder.process();
    if (status != JXL_DEC_BASIC_INFO) {
        if (status == JXL_DEC_NEED_MORE_INPUT)
            probe.truncated = "the JPEG XL ends inside its header";
        else
            probe.damaged = "the JPEG XL's header";
        return;
    }
    const JxlBasicInfo info = decoder.info();
    probe.set_size(info.xsize, info.ysize);
    probe.unsupported = unsupported(info);
    probe.pixel_bytes = 4 * (4 * sizeof(float) + 4 * sizeof(float));  // the decoder's planes, its output and the image
}

/// Frames of a file, composed by libjxl. One that it cannot decode is the end of all.
class JxlFrames final : public FrameDecoder {
  public:
    explicit JxlFrames(const EncodedImage& file) : decoder_(file.bytes, JXL_DEC_BASIC_INFO | JXL_DEC_FULL_IMAGE) {
        if (decoder_.process() != JXL_DEC_BASIC_INFO) return;
        info_ = decoder_.info();
        known_ = unsupported(info_).empty() && info_.xsize == file.probe.width && info_.ysize == file.probe.height;
    }

    void advance(const EncodedImage& file) override {
        ++frame_;
        if (failed_ == 0 && !(known_ && decode(file))) failed_ = frame_;
    }

    Image image(const EncodedImage& file) override {
        if (failed_ != 0)
            file.refuse((truncated_ ? "truncated: the JPEG XL's frame " : "damaged: the JPEG XL's frame ") +
                            std::to_string(failed_),
                        truncated_ ? Kind::truncated : Kind::damaged);
        const bool gray = info_.num_color_channels == 1, alpha = info_.alpha_bits > 0;
        const std::uint32_t bits = info_.bits_per_sample;
        Image image;
        if (alpha) image.alpha = info_.alpha_premultiplied ? Alpha::premultiplied : Alpha::straight;
        if (alpha && gray) image.samples = Samples::gray_alpha;
        image.depth = !is_float(info_) ? (bits > 8 ? Depth::u16 : Depth::u8) : bits == 16 ? Depth::f16 : Depth::f32;
        image.white = is_float(info_) ? 1 : bits <= 8 ? 255 : (1 << bits) - 1;
        image.pixels = file.allocate(info_.ysize, info_.xsize,
                                     CV_MAKETYPE(opencv_depth(image.depth), alpha  ? 4
                                                                            : gray ? 1
                                                                                   : 3));
        switch (image.depth) {
            case Depth::u8:
                return put<std::uint8_t, std::uint8_t>(image, [](std::uint8_t v) { return v; });
            case Depth::u16:
                if (bits == 16) return put<std::uint16_t, std::uint16_t>(image, [](std::uint16_t v) { return v; });
                return put<float, std::uint16_t>(image, [top = image.white](float v) {
                    return static_cast<std::uint16_t>(std::floor(std::clamp<double>(v, 0, 1) * top + 0.5));
                });
            case Depth::f16:
                return put<std::uint16_t, std::uint16_t>(image, [](std::uint16_t v) { return v; });
            default:
                return put<float, float>(image, [](float v) { return v; });
        }
    }

  private:
    /// Type of the samples that libjxl makes. Unscaled integers of 9 to 15 bits follow from floats.
    JxlPixelFormat format() const {
        const std::uint32_t bits = info_.bits_per_sample;
        const JxlDataType type = is_float(info_) ? (bits == 16 ? JXL_TYPE_FLOAT16 : JXL_TYPE_FLOAT)
                                 : bits <= 8     ? JXL_TYPE_UINT8
                                 : bits == 16    ? JXL_TYPE_UINT16
                                                 : JXL_TYPE_FLOAT;
        return {info_.num_color_channels + (info_.alpha_bits > 0 ? 1 : 0), type, JXL_NATIVE_ENDIAN, 0};
    }
    bool decode(const EncodedImage& file) {
        for (;;) {
            const JxlDecoderStatus status = decoder_.process();
            if (status == JXL_DEC_FULL_IMAGE) return true;
            truncated_ = status == JXL_DEC_NEED_MORE_INPUT;
            if (status != JXL_DEC_NEED_IMAGE_OUT_BUFFER) return false;
            const JxlPixelFormat wanted = format();
            std::size_t bytes = 0;
            if (JxlDecoderImageOutBufferSize(decoder_.get(), &wanted, &bytes) != JXL_DEC_SUCCESS) return false;
            try {
                samples_.resize(bytes / sizeof(float) + 1);
            } catch (const std::bad_alloc&) {
                file.refuse("no memory for the JPEG XL's samples", Kind::memory);
            }
            if (JxlDecoderSetImageOutBuffer(decoder_.get(), &wanted, samples_.data(), bytes) != JXL_DEC_SUCCESS)
                return false;
        }
    }
    template <class From, class To, class Convert>
    Image put(Image& image, Convert convert) const {
        const auto* in = reinterpret_cast<const From*>(samples_.data());
        const bool gray = info_.num_color_channels == 1, alpha = info_.alpha_bits > 0;
        for (int y = 0; y < image.pixels.rows; ++y) {
            auto* out = image.pixels.ptr<To>(y);
            for (int x = 0; x < image.pixels.cols; ++x, out += image.pixels.channels()) {
                if (gray) {
                    std::fill_n(out, alpha ? 3 : 1, convert(*in));
                    ++in;
                } else {
                    for (int c = 2; c >= 0; --c) out[c] = convert(*in++);
                }
                if (alpha) out[3] = convert(*in++);
            }
        }
        return std::move(image);
    }

    Decoder decoder_;
    JxlBasicInfo info_{};
    std::vector<float> samples_;  ///< of any type, aligned
    bool known_ = false, truncated_ = false;
    std::uint64_t frame_ = 0, failed_ = 0;
};

std::unique_ptr<FrameDecoder> open_frames(const EncodedImage& file) {
    return std::make_unique<JxlFrames>(file);
}

/// Counts the frames, whose headers are read and whose data are not. One that is cut off counts.
std::uint64_t count_frames(const Bytes& file) {
    Decoder decoder(file, JXL_DEC_FRAME);
    std::uint64_t frames = 0;
    while (decoder.process() == JXL_DEC_FRAME) ++frames;
    return frames;
}

void find_pages(const Bytes& file, PageList& list) {
    const Bytes whole = file.part(0, file.size());
    Probe probe;
    inspect(whole, probe);
    if (probe.width == 0) return;
    const std::uint64_t frames = count_frames(whole);
    if (frames < 2) return;
    list.animated = true;
    list.add(frames, {probe.width, probe.height});
}

/// Damage is refused, accepted or not: nobody can tell which pixels it left.
Image decode(const EncodedImage& file) {
    Image first = decode_frame(1, file);
    first.pages = std::max<std::uint64_t>(1, count_frames(file.bytes));
    return first;
}

#else

constexpr std::nullptr_t find_pages = nullptr, open_frames = nullptr;

void inspect(const Bytes&, Probe& probe) {
    probe.unsupported = not_built(jpegxl_format);
}

Image decode(const EncodedImage& file) {
    file.refuse(not_built(jpegxl_format));
}

#endif

}  // namespace

const ImageFormat jpegxl_format{"a JPEG XL",
                                {".jxl"},
                                16,
                                matches,
                                inspect,
                                decode,
                                {"JPEG XL",
                                 {"libjxl"},
                                 "u8, u16, f16, f32; 9 to 15 bits as u16 unscaled, white 2^bits - 1; fewer bits as 0 "
                                 "to 255",
                                 "frames, composed as libjxl does",
                                 "lossless exactly, lossy as libjxl decodes it; gray and colors, with and without "
                                 "alpha; orientation",
                                 "integers over 16 bits, other floats, channels beside colors and alpha, damaged files "
                                 "even with --on-damaged accept",
                                 "libjxl-dev"},
                                find_pages,
                                open_frames};

}  // namespace gpuhist::io
