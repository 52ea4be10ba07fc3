#include <png.h>
#include <zlib.h>

#include <csetjmp>
#include <cstdint>
#include <exception>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "encode/encode.hpp"
#include "files/failure.hpp"

namespace gpuhist::io {
namespace {

/// Output of libpng, and its error.
struct Output {
    EncodedBytes& to;
    std::uint64_t position = 0;
    std::string error{};
    std::exception_ptr thrown{};  ///< by `to`: nothing may pass through libpng
};

void append(png_structp png, png_bytep data, png_size_t size) {
    Output& output = *static_cast<Output*>(png_get_io_ptr(png));
    try {
        output.to.write(output.position, data, size);
        output.position += size;
    } catch (...) {
        output.thrown = std::current_exception();
    }
    if (output.thrown) png_error(png, "the bytes cannot be written");
}

[[noreturn]] void fail_here(png_structp png, png_const_charp message) {
    static_cast<Output*>(png_get_error_ptr(png))->error = message;
    png_longjmp(png, 1);
}

/// Data to write, and their form.
struct Format {
    std::uint32_t width, height;
    int bits, kind;
    const png_color* palette;
    int colors;
    int filter, strategy;
};

// libpng leaves these by a jump, so nothing in them has a destructor.

void write_head(png_structp png, png_infop info, const Format& format) {
    if (setjmp(png_jmpbuf(png))) return;
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(png, info, format.width, format.height, format.bits, format.kind, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (format.colors > 0) png_set_PLTE(png, info, format.palette, format.colors);
    png_set_filter(png, 0, format.filter);
    png_set_compression_level(png, Z_BEST_SPEED);
    png_set_compression_strategy(png, format.strategy);
    png_write_info(png, info);
    if ((format.kind & PNG_COLOR_MASK_COLOR) && format.colors == 0) png_set_bgr(png);
    if (format.bits == 16) png_set_swap(png);
}

/// Rows of gray, gray with alpha, colors in the order B, G, R, A, or places in the palette.
void write_rows(png_structp png, const cv::Mat& pixels) {
    if (setjmp(png_jmpbuf(png))) return;
    for (int y = 0; y < pixels.rows; ++y) png_write_row(png, pixels.ptr(y));
}

void write_end(png_structp png, png_infop info) {
    if (setjmp(png_jmpbuf(png))) return;
    png_write_end(png, info);
}

class PngEncoder final : public RowEncoder {
  public:
    PngEncoder(EncodedBytes& to, const Format& format, bool gray_alpha, const std::string& name)
        : output_{to},
          gray_alpha_(gray_alpha),
          name_(name),
          png_(
              png_create_write_struct(PNG_LIBPNG_VER_STRING, &output_, fail_here, [](png_structp, png_const_charp) {})),
          info_(png_ ? png_create_info_struct(png_) : nullptr) {
        if (!info_) {
            png_destroy_write_struct(&png_, &info_);
            fail(name_, "cannot be encoded: no memory for libpng", IoError::Kind::memory);
        }
        png_set_write_fn(png_, &output_, append, [](png_structp) {});
        write_head(png_, info_, format);
    }
    ~PngEncoder() override { png_destroy_write_struct(&png_, &info_); }

    void add(const cv::Mat& rows) override {
        check();
        cv::Mat pixels = rows;
        if (gray_alpha_) {
            pixels = cv::Mat(rows.rows, rows.cols, CV_MAKETYPE(rows.depth(), 2));
            cv::mixChannels(rows, pixels, {0, 0, 3, 1});
        }
        write_rows(png_, pixels);
        check();
    }
    void finish() override {
        write_end(png_, info_);
        check();
    }

  private:
    void check() const {
        if (output_.thrown) std::rethrow_exception(output_.thrown);
        if (!output_.error.empty()) fail(name_, "cannot be encoded: " + output_.error);
    }

    Output output_;
    const bool gray_alpha_;
    const std::string name_;
    png_structp png_;
    png_infop info_;
};

std::vector<unsigned char> encode(const cv::Mat& pixels, int kind, const png_color* palette, int colors, int filter,
                                  int strategy, const std::string& name) {
    BytesInMemory bytes;
    PngEncoder encoder(bytes,
                       {static_cast<std::uint32_t>(pixels.cols), static_cast<std::uint32_t>(pixels.rows), 8, kind,
                        palette, colors, filter, strategy},
                       false, name);
    encoder.add(pixels);
    encoder.finish();
    return std::move(bytes.bytes);
}

/// Colors of an image, and the place of each pixel's among them.
struct Palette {
    std::vector<png_color> colors;
    cv::Mat places;
};

/// Palette of an image; none where it has more colors than one holds.
std::optional<Palette> palette_of(const cv::Mat& image) {
    Palette palette{{}, cv::Mat(image.size(), CV_8UC1)};
    std::unordered_map<unsigned, unsigned char> place_of;
    unsigned before = ~0U;  // no color, which have 24 bits
    unsigned char place = 0;
    for (int y = 0; y < image.rows; ++y) {
        const auto* pixel = image.ptr(y);
        auto* places = palette.places.ptr(y);
        for (int x = 0; x < image.cols; ++x, pixel += 3) {
            const unsigned color = pixel[0] | pixel[1] << 8U | pixel[2] << 16U;
            if (color != before) {
                const auto [found, is_new] = place_of.try_emplace(color, palette.colors.size());
                if (is_new && palette.colors.size() == PNG_MAX_PALETTE_LENGTH) return std::nullopt;
                if (is_new) palette.colors.push_back({pixel[2], pixel[1], pixel[0]});
                place = found->second;
                before = color;
            }
            places[x] = place;
        }
    }
    return palette;
}

}  // namespace

std::unique_ptr<RowEncoder> png_encoder(EncodedBytes& to, cv::Size sides, int type, Samples samples,
                                        const std::string& name) {
    const int channels = CV_MAT_CN(type), depth = CV_MAT_DEPTH(type);
    const bool gray_alpha = samples == Samples::gray_alpha, integers = depth == CV_8U || depth == CV_16U;
    if (!integers || channels > 4 || (!gray_alpha && samples != Samples::color))
        fail(name, "PNG holds no such samples: write TIFF");
    constexpr int kinds[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
    // Row differences and run lengths are twice as fast as any level of zlib that looks further, and within 6 % of the
    // smallest file.
    const Format format{static_cast<std::uint32_t>(sides.width),
                        static_cast<std::uint32_t>(sides.height),
                        depth == CV_8U ? 8 : 16,
                        gray_alpha ? PNG_COLOR_TYPE_GRAY_ALPHA : kinds[channels - 1],
                        nullptr,
                        0,
                        PNG_FILTER_SUB,
                        Z_RLE};
    return std::make_unique<PngEncoder>(to, format, gray_alpha, name);
}

// Most rows of a drawing equal the rows above them. Run lengths of the differences are as small as the result of zlib
// at level 6, in a third of the time. A palette reduces both to a third.
std::vector<unsigned char> encode_drawing(const cv::Mat& image, const std::string& name) {
    const auto palette = palette_of(image);
    if (!palette) return encode(image, PNG_COLOR_TYPE_RGB, nullptr, 0, PNG_FILTER_UP, Z_RLE, name);
    return encode(palette->places, PNG_COLOR_TYPE_PALETTE, palette->colors.data(),
                  static_cast<int>(palette->colors.size()), PNG_FILTER_UP, Z_RLE, name);
}

}  // namespace gpuhist::io
