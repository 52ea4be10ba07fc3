// GIF, by giflib. Its frames are composed as browsers do.
#ifdef GPUHIST_GIF
#include <gif_lib.h>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <opencv2/core.hpp>
#include <vector>

#include "decode/formats.hpp"
#include "decode/frames.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

bool matches(const Bytes& file) {
    return file.starts_with("GIF87a") || file.starts_with("GIF89a");
}

#ifdef GPUHIST_GIF

enum Disposal : unsigned { to_background = 2, to_previous = 3 };

/// Screen and frames of a file, without their pixels.
struct Screen {
    std::uint64_t width = 0, height = 0, frames = 0;
    bool opaque = true;  ///< nothing of a composed frame is transparent
    bool gray = true;    ///< all colors are
    std::string truncated, damaged;
};

/// Reads the blocks of a file, up to the one that ends it.
class Blocks {
  public:
    explicit Blocks(const Bytes& file) : file_(file) {}

    Screen read() {
        constexpr std::uint64_t header = 13;
        if (!file_.has(0, header)) {
            screen_.truncated = "the GIF ends inside its header";
            return screen_;
        }
        screen_.width = number(6, 2);
        screen_.height = number(8, 2);
        at_ = header;
        take_colors(number(10, 1));
        while (screen_.damaged.empty() && screen_.truncated.empty() && take_block()) file_.let_go();
        if (screen_.frames == 0 && screen_.damaged.empty() && screen_.truncated.empty())
            screen_.damaged = "the GIF has no frame";
        return screen_;
    }

  private:
    std::uint64_t number(std::uint64_t at, unsigned count) const {
        return file_.number(at, count, Endian::little).value_or(0);
    }
    bool has(std::uint64_t count) {
        if (file_.has(at_, count)) return true;
        screen_.truncated = screen_.frames == 0
                                ? "the GIF ends before its first frame"
                                : "the GIF ends in or after its frame " + std::to_string(screen_.frames);
        return false;
    }
    void take_colors(std::uint64_t flags) {
        if ((flags & 0x80) == 0) return;
        const std::uint64_t count = std::uint64_t{2} << (flags & 7);
        if (!has(3 * count)) return;
        const Bytes colors = file_.part(at_, 3 * count);
        for (std::uint64_t i = 0; i < count; ++i) {
            const unsigned char* c = colors.at(3 * i);
            screen_.gray = screen_.gray && c[0] == c[1] && c[1] == c[2];
        }
        at_ += 3 * count;
    }
    bool take_parts() {
        while (has(1)) {
            const std::uint64_t bytes = number(at_++, 1);
            if (bytes == 0) return true;
            if (!has(bytes)) return false;
            at_ += bytes;
        }
        return false;
    }
    void take_frame() {
        if (!has(9)) return;
        const std::uint64_t left = number(at_, 2), top = number(at_ + 2, 2), width = number(at_ + 4, 2),
                            height = number(at_ + 6, 2), flags = number(at_ + 8, 1);
        ++screen_.frames;
        if (width == 0 || height == 0 || left + width > screen_.width || top + height > screen_.height)
            screen_.damaged = "the GIF's frame " + std::to_string(screen_.frames) + " is not within its screen";
        const bool covers = width == screen_.width && height == screen_.height;
        const bool composed_blank = blank_ && (!covers || transparent_);
        if (composed_blank) screen_.opaque = false;
        if (disposal_ != to_previous) blank_ = disposal_ == to_background || composed_blank;
        transparent_ = false;
        disposal_ = 0;
        at_ += 9;
        take_colors(flags);
        if (has(1)) {
            ++at_;
            take_parts();
        }
    }
    /// Takes the next block. Returns false after the last one.
    bool take_block() {
        constexpr std::uint64_t extension = 0x21, frame = 0x2C, end = 0x3B, control = 0xF9;
        if (!has(1)) return false;
        const std::uint64_t kind = number(at_++, 1);
        if (kind == end) return false;
        if (kind == frame) {
            take_frame();
        } else if (kind == extension) {
            if (!has(1)) return false;
            const bool controls = number(at_++, 1) == control;
            if (controls && number(at_, 1) == 4 && has(5)) {
                transparent_ = (number(at_ + 1, 1) & 1) != 0;
                disposal_ = number(at_ + 1, 1) >> 2 & 7;
            }
            take_parts();
        } else {
            screen_.damaged = "the GIF has a block of the unknown kind " + std::to_string(kind) + " at byte " +
                              std::to_string(at_ - 1);
        }
        return true;
    }

    const Bytes& file_;
    Screen screen_;
    std::uint64_t at_ = 0, disposal_ = 0;
    bool transparent_ = false, blank_ = true;  ///< of the next frame; what it is composed over has transparent pixels
};

Screen read_screen(const Bytes& file) {
    return Blocks(file).read();
}

void find_pages(const Bytes& file, PageList& list) {
    const Screen screen = read_screen(file);
    list.animated = screen.frames > 1;
    if (screen.frames > 1) list.add(screen.frames, {screen.width, screen.height});
    if (!list.rest.empty()) return;
    list.rest = screen.damaged.empty() ? screen.truncated : screen.damaged;
    list.rest_kind = screen.damaged.empty() ? Kind::truncated : Kind::damaged;
}

/// Rows of a frame in the order in which they are stored.
std::vector<int> row_order(int height, bool interlaced) {
    std::vector<int> rows;
    constexpr std::array<std::array<int, 2>, 4> passes{{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
    if (interlaced) {
        for (const auto& [first, step] : passes)
            for (int y = first; y < height; y += step) rows.push_back(y);
    } else {
        for (int y = 0; y < height; ++y) rows.push_back(y);
    }
    return rows;
}

/// Composes frames. The canvas begins transparent, as in browsers; the background color is ignored.
class GifFrames final : public FrameDecoder {
  public:
    explicit GifFrames(const EncodedImage& file)
        : bytes_(file.bytes), screen_(read_screen(file.bytes)), raw_(file.options.raw) {
        try {
            canvas_.create(static_cast<int>(screen_.height), static_cast<int>(screen_.width), raw_ ? CV_8UC1 : CV_8UC4);
        } catch (const std::exception&) {
            file.refuse("no memory for the GIF's canvas", Kind::memory);
        }
        canvas_.setTo(cv::Scalar::all(0));
        gif_ = DGifOpen(this, read, &error_);
    }
    GifFrames(const GifFrames&) = delete;
    GifFrames& operator=(const GifFrames&) = delete;
    ~GifFrames() override {
        if (gif_) DGifCloseFile(gif_, nullptr);
    }

    void advance(const EncodedImage& file) override {
        ++frame_;
        cause_.clear();
        if (failed_ != 0) return;
        dispose();
        if (!gif_ || !compose(file)) failed_ = frame_;
    }

    Image image(const EncodedImage& file) override {
        Image image;
        if (failed_ != 0 && failed_ < frame_)
            file.refuse("damaged: the GIF's frame " + std::to_string(failed_) + ", over which others are composed",
                        Kind::damaged);
        if (!gif_ || (failed_ != 0 && file.options.on_damaged == OnDamaged::error))
            file.refuse("damaged: the GIF's frame " + std::to_string(frame_) + ": " + words(), Kind::damaged);
        if (failed_ != 0) file.report(image, "the GIF's frame " + std::to_string(frame_) + ": " + words());
        if (!cause_.empty()) file.report(image, cause_);
        const bool alpha = !screen_.opaque && !raw_;
        if (alpha) image.alpha = Alpha::straight;
        if (alpha && screen_.gray) image.samples = Samples::gray_alpha;
        image.pixels = file.allocate(screen_.height, screen_.width,
                                     alpha                  ? CV_8UC4
                                     : raw_ || screen_.gray ? CV_8UC1
                                                            : CV_8UC3);
        const int colors[]{0, 0, 1, 1, 2, 2, 3, 3};
        cv::mixChannels(&canvas_, 1, &image.pixels, 1, colors, static_cast<std::size_t>(image.pixels.channels()));
        return image;
    }

  private:
    static int read(GifFileType* gif, GifByteType* to, int count) {
        auto& self = *static_cast<GifFrames*>(gif->UserData);
        const std::uint64_t copied = self.bytes_.copy(self.at_, static_cast<std::uint64_t>(std::max(count, 0)), to);
        self.at_ += copied;
        return static_cast<int>(copied);
    }
    std::string words() const {
        const char* text = GifErrorString(gif_ ? gif_->Error : error_);
        return std::string("giflib: \"") + (text ? text : "no frame") + '"';
    }
    /// Takes away the frame before, as it asks for.
    void dispose() {
        if (disposal_ == DISPOSE_BACKGROUND)
            canvas_(area_).setTo(cv::Scalar::all(0));
        else if (disposal_ == DISPOSE_PREVIOUS && !before_.empty())
            before_.copyTo(canvas_(area_));
        before_.release();
        disposal_ = 0;
    }
    /// Reads blocks up to the next frame, and composes it. Returns whether all of it is there.
    bool compose(const EncodedImage& file) {
        GraphicsControlBlock control{};
        control.TransparentColor = NO_TRANSPARENT_COLOR;
        for (;;) {
            GifRecordType kind{};
            if (DGifGetRecordType(gif_, &kind) == GIF_ERROR || kind == TERMINATE_RECORD_TYPE) return false;
            if (kind == IMAGE_DESC_RECORD_TYPE) break;
            if (kind != EXTENSION_RECORD_TYPE) continue;
            int code = 0;
            GifByteType* block = nullptr;
            if (DGifGetExtension(gif_, &code, &block) == GIF_ERROR) return false;
            if (code == GRAPHICS_EXT_FUNC_CODE && block && block[0] == 4)
                DGifExtensionToGCB(block[0], block + 1, &control);
            while (block)
                if (DGifGetExtensionNext(gif_, &block) == GIF_ERROR) return false;
        }
        if (DGifGetImageDesc(gif_) == GIF_ERROR) return false;
        const GifImageDesc& frame = gif_->Image;
        area_ = cv::Rect(frame.Left, frame.Top, frame.Width, frame.Height);
        const cv::Rect screen(0, 0, canvas_.cols, canvas_.rows);
        if (area_.empty() || (area_ & screen) != area_) return false;
        const ColorMapObject* colors = frame.ColorMap ? frame.ColorMap : gif_->SColorMap;
        if (!colors && !raw_) {
            gif_->Error = D_GIF_ERR_NO_COLOR_MAP;
            return false;
        }
        disposal_ = control.DisposalMode;
        if (disposal_ == DISPOSE_PREVIOUS) before_ = canvas_(area_).clone();
        std::vector<GifPixelType> row(static_cast<std::size_t>(frame.Width));
        for (const int y : row_order(frame.Height, frame.Interlace)) {
            if (file.options.on_damaged == OnDamaged::accept) std::fill(row.begin(), row.end(), GifPixelType{0});
            if (DGifGetLine(gif_, row.data(), frame.Width) == GIF_ERROR) return false;
            paint(row, y, raw_ ? nullptr : colors, control.TransparentColor);
        }
        return true;
    }
    void paint(const std::vector<GifPixelType>& row, int y, const ColorMapObject* colors, int transparent) {
        auto* out = canvas_.ptr(area_.y + y) + static_cast<std::size_t>(area_.x) * canvas_.elemSize();
        for (const GifPixelType index : row) {
            if (!colors) {
                *out++ = index;
                continue;
            }
            if (index == transparent) {  // also beyond the table
            } else if (index >= colors->ColorCount) {
                if (cause_.empty())
                    cause_ = "index " + std::to_string(index) + " in row " + std::to_string(y) + " of frame " +
                             std::to_string(frame_) + " is outside of the table of " +
                             std::to_string(colors->ColorCount) + " colors";
            } else {
                const GifColorType& color = colors->Colors[index];
                out[0] = color.Blue;
                out[1] = color.Green;
                out[2] = color.Red;
                out[3] = 255;
            }
            out += 4;
        }
    }

    Bytes bytes_;
    const Screen screen_;
    const bool raw_;
    GifFileType* gif_ = nullptr;
    int error_ = 0;
    std::uint64_t at_ = 0, frame_ = 0, failed_ = 0;
    cv::Mat canvas_, before_;  ///< composed frames; what the last one has covered, if that comes back
    cv::Rect area_;            ///< of the last frame
    int disposal_ = 0;
    std::string cause_;
};

std::unique_ptr<FrameDecoder> open_frames(const EncodedImage& file) {
    return std::make_unique<GifFrames>(file);
}

void inspect(const Bytes& file, Probe& probe) {
    const Screen screen = read_screen(file);
    probe.set_size(screen.width, screen.height);
    probe.pixel_bytes = 3 * sizeof(std::uint32_t);  // the canvas, what it covers, and the image
    probe.truncated = screen.truncated;
    probe.damaged = screen.damaged;
    // A code of 12 bits stands for at most 4096 pixels.
    if (screen.width * screen.height / 2731 > file.size())
        probe.too_large = cannot_hold("the GIF", screen.width, screen.height);
}

Image decode(const EncodedImage& file) {
    Image first = decode_frame(1, file);
    first.pages = std::max<std::uint64_t>(1, read_screen(file.bytes).frames);
    return first;
}

#else

constexpr std::nullptr_t find_pages = nullptr, open_frames = nullptr;

void inspect(const Bytes&, Probe& probe) {
    probe.unsupported = not_built(gif_format);
}

Image decode(const EncodedImage& file) {
    file.refuse(not_built(gif_format));
}

#endif

}  // namespace

const ImageFormat gif_format{"a GIF",
                             {".gif"},
                             4,
                             matches,
                             inspect,
                             decode,
                             {"GIF",
                              {"giflib"},
                              "u8",
                              "frames, composed as browsers do",
                              "colors of the tables (gray if all are); alpha if anything of a composed frame is "
                              "transparent; the background color is ignored",
                              "frames that leave the screen",
                              "libgif-dev"},
                             find_pages,
                             open_frames};

}  // namespace gpuhist::io
