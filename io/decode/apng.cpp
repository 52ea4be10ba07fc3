#include "decode/apng.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <opencv2/core.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;
enum Dispose : std::uint64_t { dispose_none, dispose_background, dispose_previous };
enum Blend : std::uint64_t { blend_source, blend_over };

struct Chunk {
    std::uint64_t position;  ///< of its length, type, data and checksum
    std::uint64_t length;    ///< of its data, as it says
    bool frame_data;         ///< an fdAT, which begins with a number
};

struct Frame {
    std::uint64_t width = 0, height = 0, x = 0, y = 0, dispose = dispose_none, blend = blend_source;
    std::vector<Chunk> data;
};

struct Animation {
    std::uint64_t width = 0, height = 0, bits = 0, color = 0;
    std::vector<Chunk> before;  ///< PLTE and tRNS, which all frames have
    bool transparent = false;   ///< there is a tRNS
    std::uint64_t count = 0;    ///< of the frames
    std::vector<Frame> frames;
    std::string rest;  ///< why there may be more frames
    Kind rest_kind = Kind::damaged;

    bool covers(const Frame& frame) const {
        return frame.x == 0 && frame.y == 0 && frame.width == width && frame.height == height;
    }
    bool gray() const { return (color & 2) == 0; }
    /// Whether a picture may be transparent: the samples have alpha, or something is left empty.
    bool has_alpha() const {
        bool gaps = !covers(frames.front());
        for (std::size_t i = 0; i + 1 < frames.size(); ++i)
            gaps = gaps || frames[i].dispose == dispose_background || (i == 0 && frames[i].dispose == dispose_previous);
        return gaps || transparent || (color & 4) != 0;
    }
};

bool checksum_fails(const Bytes& file, const Chunk& chunk) {
    const std::string_view text = file.text(chunk.position + 4, 4 + chunk.length);
    return libdeflate_crc32(0, text.data(), text.size()) !=
           file.number(chunk.position + 8 + chunk.length, 4, Endian::big);
}

/// Reads what says how the frames lie: chunks' heads, and fcTL; or, where nothing is kept, counts the frames. Of a file
/// in which nothing moves it reads no data.
Animation read_animation(const Bytes& file, bool kept = true) {
    Animation animation;
    const auto number = [&](std::uint64_t at, unsigned count) { return file.number(at, count, Endian::big); };
    animation.width = number(16, 4).value_or(0);
    animation.height = number(20, 4).value_or(0);
    animation.bits = number(24, 1).value_or(0);
    animation.color = number(25, 1).value_or(0);
    std::uint64_t claimed = 0, sequence = 0;
    bool data = false, ended = false, hidden = true;  // hidden: the picture of the IDAT is no frame
    const auto stop = [&](std::string why) {
        animation.rest = std::move(why);
        ended = true;
    };
    for (std::uint64_t position = 8; !ended && file.has(position, 8);) {
        const std::uint64_t length = *number(position, 4);
        const Chunk chunk{position, length, file.starts_with("fdAT", position + 4)};
        const auto is = [&](const char* type) { return file.starts_with(type, chunk.position + 4); };
        const std::uint64_t at = position + 8;
        const bool whole = file.has(position, 12 + length);
        position += 12 + length;
        if (is("IEND")) {
            ended = true;
        } else if (is("acTL") && !data && length == 8 && whole) {
            claimed = *number(at, 4);
        } else if (is("PLTE") || is("tRNS")) {
            if (!data && kept) animation.before.push_back(chunk);
            animation.transparent = animation.transparent || (is("tRNS") && !data);
        } else if (is("IDAT")) {
            if (claimed == 0) return animation;
            data = true;
            if (!hidden && animation.count == 1 && kept) animation.frames.front().data.push_back(chunk);
        } else if (is("fcTL")) {
            if (!whole) break;
            if (length != 26 || checksum_fails(file, chunk) || *number(at, 4) != sequence++) {
                stop("the PNG's frame " + std::to_string(animation.count + 1) +
                     " has no valid fcTL chunk where one must be");
            } else if (animation.count == claimed) {
                ended = true;  // which viewers do not show
            } else {
                hidden = hidden && data;
                ++animation.count;
                if (!kept) continue;
                animation.frames.push_back({*number(at + 4, 4),
                                            *number(at + 8, 4),
                                            *number(at + 12, 4),
                                            *number(at + 16, 4),
                                            *number(at + 24, 1),
                                            *number(at + 25, 1),
                                            {}});
            }
        } else if (chunk.frame_data && length >= 4 && file.has(at, 4)) {
            if (*number(at, 4) != sequence++ || animation.count == 0) {
                stop("the PNG's frames are out of order");
            } else if (kept) {
                animation.frames.back().data.push_back(chunk);
            }
        }
        file.let_go();
    }
    if (claimed == 0) animation.count = 0;
    if (claimed == 0) animation.frames.clear();
    if (animation.rest.empty() && claimed > animation.count) {
        animation.rest = "the PNG claims " + std::to_string(claimed) + " frames, and " +
                         std::to_string(animation.count) + " are there";
        if (!ended) animation.rest_kind = Kind::truncated;
    }
    return animation;
}

// ---- composition ----

/// Puts a picture over another, both with straight alpha. Each sample is computed exactly and rounded once, with halves
/// rounded up.
template <class Sample>
void blend_over_row(const Sample* from, Sample* to, int columns) {
    constexpr std::uint64_t top = std::numeric_limits<Sample>::max();
    for (int x = 0; x < columns; ++x, from += 4, to += 4) {
        const std::uint64_t above = from[3] * top, below = to[3] * (top - from[3]), sum = above + below;
        if (from[3] == 0) continue;
        for (int i = 0; i < 3; ++i)
            to[i] = static_cast<Sample>((2 * (from[i] * above + to[i] * below) + sum) / (2 * sum));
        to[3] = static_cast<Sample>((2 * sum + top) / (2 * top));
    }
}

/// Samples of a frame as those of the canvas, which may have alpha where the frame has none.
cv::Mat as_canvas(const cv::Mat& part, int channels, double top) {
    if (part.channels() == channels) return part;
    cv::Mat all(part.size(), CV_MAKETYPE(part.depth(), channels), cv::Scalar::all(top));
    const int gray[]{0, 0, 0, 1, 0, 2}, color[]{0, 0, 1, 1, 2, 2};
    cv::mixChannels(&part, 1, &all, 1, part.channels() == 1 ? gray : color, 3);
    return all;
}

// ---- frames ----

void append_number(std::vector<unsigned char>& bytes, std::uint64_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<unsigned char>(value >> shift));
}

void append(std::vector<unsigned char>& bytes, std::string_view text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
}

/// Appends a chunk that is whole, with its checksum.
void append_chunk(std::vector<unsigned char>& bytes, std::string_view type, std::string_view data) {
    append_number(bytes, data.size());
    const std::size_t start = bytes.size();
    append(bytes, type);
    append(bytes, data);
    append_number(bytes, libdeflate_crc32(0, bytes.data() + start, bytes.size() - start));
}

class ApngDecoder final : public FrameDecoder {
  public:
    explicit ApngDecoder(const EncodedImage& file) : animation_(read_animation(file.bytes)) {
        const int channels = animation_.has_alpha() ? 4 : animation_.gray() ? 1 : 3;
        canvas_ = cv::Mat::zeros(static_cast<int>(animation_.height), static_cast<int>(animation_.width),
                                 CV_MAKETYPE(animation_.bits == 16 ? CV_16U : CV_8U, channels));
    }

    void advance(const EncodedImage& file) override {
        dispose();
        const Frame& frame = animation_.frames[next_];
        const std::string place = "frame " + std::to_string(++next_);
        failure_.reset();
        Image part;
        try {
            if (frame.width == 0 || frame.height == 0 || frame.x + frame.width > animation_.width ||
                frame.y + frame.height > animation_.height)
                throw IoError(": damaged: the PNG's " + place + " lies outside of the picture", Kind::damaged);
            part = decode(file, frame);
        } catch (const IoError& error) {
            failure_.emplace(std::string(error.what()).substr(2), error.kind());
            spoiled_ = "the PNG's " + place + ", over which it is composed, is damaged";
            return;
        }
        const cv::Rect area(static_cast<int>(frame.x), static_cast<int>(frame.y), static_cast<int>(frame.width),
                            static_cast<int>(frame.height));
        disposed_ = area;
        dispose_ = frame.dispose == dispose_previous && next_ == 1 ? dispose_background : frame.dispose;
        if (dispose_ == dispose_previous) before_ = canvas_(area).clone();
        const bool source = frame.blend == blend_source || part.pixels.channels() != 4;
        if (source && animation_.covers(frame)) spoiled_.clear();
        if (part.damage != Damage::none) spoiled_ = part.cause;
        compose(as_canvas(part.pixels, canvas_.channels(), animation_.bits == 16 ? 65535 : 255), canvas_(area), source);
    }

    Image image(const EncodedImage& file) override {
        if (failure_) file.refuse(failure_->first, failure_->second);
        Image image;
        if (!spoiled_.empty()) file.report(image, spoiled_);
        image.depth = animation_.bits == 16 ? Depth::u16 : Depth::u8;
        image.white = animation_.bits == 16 ? 65535 : 255;
        if (canvas_.channels() == 4) {
            image.alpha = Alpha::straight;
            if (animation_.gray()) image.samples = Samples::gray_alpha;
        }
        image.pixels = file.allocate(animation_.height, animation_.width, canvas_.type());
        canvas_.copyTo(image.pixels);
        return image;
    }

  private:
    /// Clears the last frame, if it is disposed of after it was shown.
    void dispose() {
        if (dispose_ == dispose_background) canvas_(disposed_).setTo(cv::Scalar::all(0));
        if (dispose_ == dispose_previous) before_.copyTo(canvas_(disposed_));
        dispose_ = dispose_none;
    }

    static void compose(const cv::Mat& part, cv::Mat canvas, bool source) {
        if (source) {
            part.copyTo(canvas);
            return;
        }
        for (int y = 0; y < part.rows; ++y) {
            if (part.depth() == CV_8U)
                blend_over_row(part.ptr<std::uint8_t>(y), canvas.ptr<std::uint8_t>(y), part.cols);
            else
                blend_over_row(part.ptr<std::uint16_t>(y), canvas.ptr<std::uint16_t>(y), part.cols);
        }
    }

    /// Decodes a frame as a PNG of its own. Exceptions have no name of a file.
    Image decode(const EncodedImage& file, const Frame& frame) const {
        std::vector<unsigned char> png;
        append(png, file.bytes.text(0, 8));
        std::string header(file.bytes.text(16, 13));
        for (int i = 0; i < 4; ++i) {
            header[static_cast<std::size_t>(i)] = static_cast<char>(frame.width >> (24 - 8 * i));
            header[static_cast<std::size_t>(4 + i)] = static_cast<char>(frame.height >> (24 - 8 * i));
        }
        append_chunk(png, "IHDR", header);
        const auto there = [&](std::uint64_t at, std::uint64_t length) {
            return file.bytes.text(at, std::min<std::uint64_t>(length, file.bytes.size() - at));
        };
        for (const Chunk& chunk : animation_.before) append(png, there(chunk.position, 12 + chunk.length));
        bool whole = !frame.data.empty();
        std::string wrong;
        for (const Chunk& chunk : frame.data) {
            whole = file.bytes.has(chunk.position, 12 + chunk.length);
            if (!chunk.frame_data) {
                append(png, there(chunk.position, 12 + chunk.length));
            } else if (!whole) {
                append_number(png, chunk.length - 4);
                append(png, "IDAT");
                append(png, there(chunk.position + 12, chunk.length - 4));
            } else {
                if (wrong.empty() && checksum_fails(file.bytes, chunk))
                    wrong =
                        "the checksum of the PNG's fdAT chunk at byte " + std::to_string(chunk.position) + " is wrong";
                append_chunk(png, "IDAT", file.bytes.text(chunk.position + 12, chunk.length - 4));
            }
        }
        if (whole || frame.data.empty()) append_chunk(png, "IEND", "");
        DecodeOptions options;
        options.max_pixels = file.options.max_pixels;
        options.on_damaged = file.options.on_damaged;
        if (!wrong.empty() && options.on_damaged == OnDamaged::error)
            throw IoError(": damaged: " + wrong, Kind::damaged);
        Image image = decode_image(png, "", options);
        if (!wrong.empty()) std::tie(image.damage, image.cause) = std::pair(Damage::damaged, wrong);
        return image;
    }

    Animation animation_;
    cv::Mat canvas_, before_;
    std::size_t next_ = 0;
    cv::Rect disposed_;
    std::uint64_t dispose_ = dispose_none;
    std::optional<std::pair<std::string, Kind>> failure_;  ///< of the last frame
    std::string spoiled_;                                  ///< why the canvas is not what it should be
};

}  // namespace

void find_apng_frames(const Bytes& file, PageList& list) {
    Animation animation = read_animation(file, false);
    if (animation.count == 0) return;
    list.animated = true;
    list.add(animation.count, {animation.width, animation.height});
    if (!list.rest.empty()) return;
    list.rest = std::move(animation.rest);
    list.rest_kind = animation.rest_kind;
}

std::unique_ptr<FrameDecoder> open_apng_frames(const EncodedImage& file) {
    return std::make_unique<ApngDecoder>(file);
}

}  // namespace gpuhist::io
