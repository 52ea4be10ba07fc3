// WebP, by libwebp.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <opencv2/core.hpp>

#include "decode/formats.hpp"
#include "decode/frames.hpp"

namespace gpuhist::io {
namespace {

bool matches(const Bytes& file) {
    return file.starts_with("RIFF") && file.starts_with("WEBP", 8);
}

enum : std::uint64_t { flag_animated = 2, flag_alpha = 16, frame_background = 1 };

std::uint64_t flags_of(const Bytes& file) {
    return file.starts_with("VP8X", 12) ? file.number(20, 1, Endian::little).value_or(0) : 0;
}

bool is_animated(const Bytes& file) {
    return (flags_of(file) & flag_animated) != 0;
}

/// Frames of an animation.
struct Animation {
    std::uint64_t width = 0, height = 0, frames = 0;
    bool opaque = true;  ///< no picture has anything transparent
    bool cut = false;    ///< the file ends in a frame
};

Animation read_animation(const Bytes& file) {
    const auto number = [&](std::uint64_t at, unsigned count) {
        return file.number(at, count, Endian::little).value_or(0);
    };
    Animation animation;
    animation.width = number(24, 3) + 1;
    animation.height = number(27, 3) + 1;
    animation.opaque = (flags_of(file) & flag_alpha) == 0;
    bool background = false;  // what the last frame leaves behind
    for (std::uint64_t at = 12; file.has(at, 8);) {
        const std::uint64_t length = number(at + 4, 4), next = at + 8 + length + length % 2;
        if (file.starts_with("ANMF", at)) {
            animation.cut = !file.has(at + 8, length);
            if (animation.cut) break;
            const bool covers = number(at + 8, 3) == 0 && number(at + 11, 3) == 0 &&
                                number(at + 14, 3) + 1 == animation.width && number(at + 17, 3) + 1 == animation.height;
            if ((animation.frames == 0 || background) && !covers) animation.opaque = false;
            background = (number(at + 23, 1) & frame_background) != 0;
            ++animation.frames;
        }
        at = next;
        file.let_go();
    }
    return animation;
}

void find_pages(const Bytes& file, PageList& list) {
    if (!is_animated(file)) return;
    const Animation animation = read_animation(file);
    list.animated = animation.frames > 0;
    list.add(animation.frames, {animation.width, animation.height});
    if (!animation.cut || !list.rest.empty()) return;
    list.rest = "the WebP ends in its frame " + std::to_string(animation.frames + 1);
    list.rest_kind = IoError::Kind::truncated;
}

/// Composes frames as libwebp does. One that it cannot decode is the end of all.
class WebpFrames final : public FrameDecoder {
  public:
    explicit WebpFrames(const EncodedImage& file) : animation_(read_animation(file.bytes)) {
        WebPAnimDecoderOptions options;
        if (!WebPAnimDecoderOptionsInit(&options))
            file.refuse("libwebp is of another version than it was compiled for");
        options.color_mode = MODE_BGRA;
        const WebPData data{file.bytes.at(0), file.bytes.size()};
        decoder_.reset(WebPAnimDecoderNew(&data, &options));
    }

    void advance(const EncodedImage&) override {
        ++frame_;
        int time = 0;
        if (failed_ == 0 && !(decoder_ && WebPAnimDecoderGetNext(decoder_.get(), &canvas_, &time))) failed_ = frame_;
    }

    Image image(const EncodedImage& file) override {
        if (!decoder_) file.refuse("damaged: libwebp does not open the animation", IoError::Kind::damaged);
        if (failed_ != 0)
            file.refuse("damaged: the WebP's frame " + std::to_string(failed_) +
                            (failed_ < frame_ ? ", over which others are composed" : ""),
                        IoError::Kind::damaged);
        Image image;
        if (!animation_.opaque) image.alpha = Alpha::straight;
        image.pixels = file.allocate(animation_.height, animation_.width, animation_.opaque ? CV_8UC3 : CV_8UC4);
        const cv::Mat canvas(image.pixels.rows, image.pixels.cols, CV_8UC4, canvas_);
        const int colors[]{0, 0, 1, 1, 2, 2, 3, 3};
        cv::mixChannels(&canvas, 1, &image.pixels, 1, colors, static_cast<std::size_t>(image.pixels.channels()));
        return image;
    }

  private:
    struct Delete {
        void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
    };
    Animation animation_;
    std::unique_ptr<WebPAnimDecoder, Delete> decoder_;
    std::uint8_t* canvas_ = nullptr;
    std::uint64_t frame_ = 0, failed_ = 0;
};

std::unique_ptr<FrameDecoder> open_frames(const EncodedImage& file) {
    return std::make_unique<WebpFrames>(file);
}

void inspect(const Bytes& file, Probe& probe) {
    const auto size = file.number(4, 4, Endian::little);
    if (file.starts_with("VP8X", 12)) {
        const auto width = file.number(24, 3, Endian::little), height = file.number(27, 3, Endian::little);
        if (width && height) probe.set_size(*width + 1, *height + 1);
        if (is_animated(file)) probe.pixel_bytes = 3 * sizeof(std::uint32_t);  // two canvases, and the image
    } else if (file.starts_with("VP8L", 12)) {
        if (const auto word = file.number(21, 4, Endian::little))
            probe.set_size((*word & 0x3FFF) + 1, (*word >> 14 & 0x3FFF) + 1);
    } else if (file.starts_with("VP8 ", 12)) {
        const auto width = file.number(26, 2, Endian::little), height = file.number(28, 2, Endian::little);
        if (width && height) probe.set_size(*width & 0x3FFF, *height & 0x3FFF);
    }
    if (!file.has(8, *size)) probe.truncated = "the WebP is shorter than its header says";
}

const char* words(VP8StatusCode status) {
    switch (status) {
        case VP8_STATUS_BITSTREAM_ERROR:
            return "bitstream error";
        case VP8_STATUS_SUSPENDED:
        case VP8_STATUS_NOT_ENOUGH_DATA:
            return "not enough data";
        case VP8_STATUS_UNSUPPORTED_FEATURE:
            return "unsupported feature";
        default:
            return "invalid parameter";
    }
}

/// Damage is refused, accepted or not: part of the picture is then memory that nothing wrote.
Image decode(const EncodedImage& file) {
    if (is_animated(file.bytes)) {
        Image first = decode_frame(1, file);
        first.pages = std::max<std::uint64_t>(1, read_animation(file.bytes).frames);
        return first;
    }
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) file.refuse("libwebp is of another version than it was compiled for");
    const auto check = [&](VP8StatusCode status) {
        if (status == VP8_STATUS_OK) return;
        if (status == VP8_STATUS_OUT_OF_MEMORY) file.refuse("no memory for the WebP's decoder", IoError::Kind::memory);
        const bool truncated = status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED;
        file.refuse(
            std::string(truncated ? "truncated" : "damaged") + ": the WebP's data (libwebp: \"" + words(status) + "\")",
            truncated ? IoError::Kind::truncated : IoError::Kind::damaged);
    };
    check(WebPGetFeatures(file.bytes.at(0), file.bytes.size(), &config.input));
    const bool alpha = config.input.has_alpha != 0;
    const auto width = static_cast<std::uint64_t>(config.input.width),
               height = static_cast<std::uint64_t>(config.input.height);
    if (width != file.probe.width || height != file.probe.height)
        file.refuse("damaged: the WebP's headers claim different sizes", IoError::Kind::damaged);
    Image image;
    if (alpha) image.alpha = Alpha::straight;
    image.pixels = file.allocate(height, width, alpha ? CV_8UC4 : CV_8UC3);
    config.output.colorspace = alpha ? MODE_BGRA : MODE_BGR;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = image.pixels.data;
    config.output.u.RGBA.stride = static_cast<int>(image.pixels.step[0]);
    config.output.u.RGBA.size = image.pixels.step[0] * height;
    check(WebPDecode(file.bytes.at(0), file.bytes.size(), &config));
    return image;
}

}  // namespace

const ImageFormat webp_format{"a WebP",
                              {".webp"},
                              4,
                              matches,
                              inspect,
                              decode,
                              {"WebP",
                               {"libwebp"},
                               "u8",
                               "frames, composed as libwebp does",
                               "lossy, lossless, alpha",
                               "damaged files, even with --on-damaged accept"},
                              find_pages,
                              open_frames};

}  // namespace gpuhist::io
