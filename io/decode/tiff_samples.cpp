#include "decode/tiff_samples.hpp"

#include <tiffio.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "decode/cmyk.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {
namespace {

/// Samples of any number of bits up to 16, the first bit the most significant one.
template <class Sample>
void unpack(const unsigned char* from, std::uint64_t count, unsigned bits, Sample* to) {
    std::uint32_t held = 0;
    unsigned holds = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        while (holds < bits) {
            held = held << 8 | *from++;
            holds += 8;
        }
        holds -= bits;
        to[i] = static_cast<Sample>(held >> holds & ((1U << bits) - 1));
    }
}

/// Integers of 64 bits in a row as ones of 32. `nodata`: bits of a value that `stand_in` replaces. Returns why the row
/// is not read, or nothing.
template <class Sample>
std::string narrow(const unsigned char* from, std::uint64_t count, std::optional<std::uint64_t> nodata,
                   std::uint64_t row, Sample* to) {
    using Wide = std::conditional_t<std::is_signed_v<Sample>, std::int64_t, std::uint64_t>;
    constexpr Depth depth = std::is_signed_v<Sample> ? Depth::s32 : Depth::u32;
    constexpr auto replacement = static_cast<Sample>(stand_in(depth));
    for (std::uint64_t i = 0; i < count; ++i) {
        Wide value;
        std::memcpy(&value, from + i * sizeof value, sizeof value);
        to[i] = static_cast<Sample>(value);
        if (nodata && static_cast<std::uint64_t>(value) == *nodata) {
            to[i] = replacement;
        } else if (to[i] != value) {
            return unsupported_value(row, std::to_string(value));
        } else if (nodata && to[i] == replacement) {
            return unsupported_stand_in(depth, row);
        }
    }
    return {};
}

template <class Sample>
void swap_colors(Sample* pixels, std::uint64_t count, unsigned channels) {
    for (std::uint64_t i = 0; i < count; ++i) std::swap(pixels[i * channels], pixels[i * channels + 2]);
}

}  // namespace

TiffSamples::TiffSamples(const TiffLayout& layout, cv::Mat& pixels)
    : layout_(layout), pixels_(pixels), nodata_beyond_(layout.nodata_beyond()) {
    const std::uint64_t values = std::uint64_t{1} << std::min<std::uint64_t>(layout.bits, 16);
    if (layout.palette) {
        colors_.resize(3 * values);
        for (std::uint64_t i = 0; i < values; ++i)
            for (std::uint64_t channel = 0; channel < 3; ++channel)
                colors_[3 * i + 2 - channel] = static_cast<std::uint16_t>(layout.color(i, channel));
    } else if (layout.bits < 8 && !layout.raw && layout.finish != TiffLayout::Finish::log_luv) {
        expanded_.resize(values);
        for (std::uint64_t i = 0; i < values; ++i)
            expanded_[i] = static_cast<std::uint8_t>((2 * 255 * i + values - 1) / (2 * (values - 1)));
    }
}

unsigned char* TiffSamples::in_place(const TiffPiece& piece) const {
    const bool same = !layout_.palette && layout_.decoded_bits() == 8 * sample_bytes(layout_.depth) &&
                      (!layout_.planar || layout_.channels == 1) && layout_.samples == layout_.channels &&
                      layout_.chroma_across * layout_.chroma_down == 1 && piece.columns == layout_.width &&
                      piece.row_bytes == pixels_.cols * pixels_.elemSize() && pixels_.isContinuous() &&
                      piece.bytes == piece.rows * piece.row_bytes;
    return same ? pixels_.ptr(row_of(piece.y)) : nullptr;
}

std::string TiffSamples::put(const TiffPiece& piece, unsigned char* from) {
    if (layout_.chroma_across * layout_.chroma_down != 1) {
        put_chroma(piece, from);
        return {};
    }
    return with_depth(layout_.depth, [&](auto sample) { return put_rows<decltype(sample)>(piece, from); });
}

template <class Sample>
std::string TiffSamples::put_rows(const TiffPiece& piece, unsigned char* from) {
    const auto channels = static_cast<unsigned>(layout_.channels);
    const auto in_row = static_cast<unsigned>(layout_.planar ? 1 : layout_.samples);  // interleaved samples
    const std::uint64_t count = piece.columns * in_row;
    const bool colors = layout_.meaning == Samples::color_bands || (layout_.meaning == Samples::color && channels > 1);
    const bool packed = layout_.decoded_bits() != 8 * sizeof(Sample);
    std::vector<Sample> unpacked(packed && !layout_.palette ? count : 0);
    std::vector<std::uint16_t> indices(layout_.palette ? count : 0);
    for (std::uint64_t y = 0; y < piece.rows; ++y, from += piece.row_bytes) {
        Sample* to = pixels_.ptr<Sample>(row_of(piece.y + y)) + piece.x * channels;
        const auto bits = static_cast<unsigned>(layout_.bits);
        if (layout_.palette) {
            if (bits == 16)
                std::memcpy(indices.data(), from, 2 * count);
            else
                unpack(from, count, bits, indices.data());
            for (std::uint64_t x = 0; x < count; ++x)
                for (unsigned channel = 0; channel < 3; ++channel)
                    if constexpr (std::is_integral_v<Sample>)
                        to[3 * x + channel] = static_cast<Sample>(colors_[3U * indices[x] + channel]);
            continue;
        }
        auto* samples = reinterpret_cast<Sample*>(from);
        if constexpr (std::is_integral_v<Sample>) {
            if (layout_.wide()) {
                samples = unpacked.data();
                if constexpr (sizeof(Sample) == 4)
                    if (std::string problem = narrow(from, count, nodata_beyond_, piece.y + y, samples);
                        !problem.empty())
                        return problem;
            } else if (packed) {
                samples = unpacked.data();
                unpack(from, count, bits, samples);
                if (!expanded_.empty())
                    for (std::uint64_t i = 0; i < count; ++i) samples[i] = expanded_[samples[i]];
            }
            if (layout_.zero_is_white && piece.plane == 0) {
                // Ends of the type change places.
                const auto ends = static_cast<Sample>(layout_.white + traits_of(layout_.depth).lowest);
                for (std::uint64_t i = 0; i < count; i += in_row) samples[i] = static_cast<Sample>(ends - samples[i]);
            }
        }
        if (layout_.meaning == Samples::gray_alpha) {
            for (std::uint64_t x = 0; x < piece.columns; ++x) {
                const Sample first = samples[x * in_row];
                if (piece.plane == 0) to[4 * x] = to[4 * x + 1] = to[4 * x + 2] = first;
                if (piece.plane == 1) to[4 * x + 3] = first;
                if (in_row == 2) to[4 * x + 3] = samples[2 * x + 1];
            }
        } else if (layout_.planar) {
            const unsigned channel =
                colors && piece.plane < 3 ? 2 - static_cast<unsigned>(piece.plane) : static_cast<unsigned>(piece.plane);
            for (std::uint64_t x = 0; x < piece.columns; ++x) to[x * channels + channel] = samples[x];
        } else {
            if (to != samples) std::memcpy(to, samples, count * sizeof(Sample));
            if (colors) swap_colors(to, piece.columns, channels);
        }
    }
    return {};
}

void TiffSamples::put_chroma(const TiffPiece& piece, const unsigned char* from) {
    const std::uint64_t across = layout_.chroma_across, down = layout_.chroma_down, block = across * down + 2;
    for (std::uint64_t y = 0; y < piece.rows; ++y) {
        const unsigned char* row = from + y / down * piece.row_bytes;
        unsigned char* to = pixels_.ptr(row_of(piece.y + y)) + piece.x * 3;
        for (std::uint64_t x = 0; x < piece.columns; ++x, to += 3) {
            const unsigned char* unit = row + x / across * block;
            to[0] = unit[y % down * across + x % across];
            to[1] = unit[block - 2];
            to[2] = unit[block - 1];
        }
    }
}

void fill_sparse(const TiffLayout& layout, const TiffPiece& piece, unsigned char* to) {
    const double value = layout.stored_nodata().value_or(0);
    const auto fill = [&](const void* sample, std::size_t bytes) {
        for (std::uint64_t at = 0; at < piece.bytes; at += bytes) std::memcpy(to + at, sample, bytes);
    };
    if (traits_of(layout.depth).floating) {
        cv::Mat sample;
        cv::Mat(1, 1, CV_64F, cv::Scalar(value)).convertTo(sample, opencv_depth(layout.depth));
        return fill(sample.data, sample.elemSize());
    }
    if (const auto wide = layout.wide_nodata()) return fill(&*wide, sizeof *wide);
    // As GDAL converts it: to the nearest value of the type.
    const std::uint64_t bits = layout.bits;
    const bool has_sign = traits_of(layout.depth).lowest < 0;
    const int value_bits = static_cast<int>(bits) - (has_sign ? 1 : 0);
    constexpr int exact = std::numeric_limits<double>::digits;  // the highest of more bits is the last double before
    const double highest = std::ldexp(1.0, value_bits) - (value_bits > exact ? std::ldexp(1.0, value_bits - exact) : 1);
    const double nearest = std::isnan(value) ? 0 : std::round(std::clamp(value, has_sign ? -highest - 1 : 0, highest));
    const std::uint64_t stored = nearest < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(nearest))
                                             : static_cast<std::uint64_t>(nearest);
    if (bits % 8 == 0) return fill(&stored, bits / 8);
    std::memset(to, 0, piece.bytes);
    for (unsigned char* row = to; row < to + piece.bytes; row += piece.row_bytes)
        for (std::uint64_t bit = 0; bit < piece.row_bytes * 8 / bits * bits; ++bit)
            if ((stored >> (bits - 1 - bit % bits) & 1) != 0)
                row[bit / 8] |= static_cast<unsigned char>(0x80 >> bit % 8);
}

void finish_ycbcr(const TiffLayout& layout, cv::Mat& pixels) {
    std::vector<float> luma = layout.ycbcr_coefficients();
    std::vector<float> range = layout.reference_black_white();
    // libtiff puts its tables behind the structure.
    const std::size_t size = sizeof(TIFFYCbCrToRGB) + sizeof(long) + 4 * 256 * sizeof(TIFFRGBValue) +
                             2 * 256 * sizeof(int) + 3 * 256 * sizeof(std::int32_t);
    const std::unique_ptr<long[]> memory(new long[size / sizeof(long) + 1]());
    auto* converter = reinterpret_cast<TIFFYCbCrToRGB*>(memory.get());
    TIFFYCbCrToRGBInit(converter, luma.data(), range.data());
    for (int y = 0; y < pixels.rows; ++y) {
        unsigned char* pixel = pixels.ptr(y);
        for (int x = 0; x < pixels.cols; ++x, pixel += 3) {
            std::uint32_t red, green, blue;
            TIFFYCbCrtoRGB(converter, pixel[0], pixel[1], pixel[2], &red, &green, &blue);
            pixel[0] = static_cast<unsigned char>(blue);
            pixel[1] = static_cast<unsigned char>(green);
            pixel[2] = static_cast<unsigned char>(red);
        }
    }
}

void finish_log_luv(cv::Mat& pixels) {
    constexpr float of_blue[]{0.055648F, -0.204043F, 1.057311F}, of_green[]{-0.969256F, 1.875991F, 0.041556F},
        of_red[]{3.240479F, -1.53715F, -0.498535F};
    const int in_fours = pixels.cols / 4 * 4;
    for (int y = 0; y < pixels.rows; ++y) {
        auto* pixel = pixels.ptr<float>(y);
        for (int x = 0; x < pixels.cols; ++x, pixel += 3) {
            // Order of the sums is OpenCV's, which takes four pixels of a row at once, then the rest.
            const auto sum = [&, a = pixel[0], b = pixel[1], c = pixel[2]](const float* of) {
                return x < in_fours ? a * of[0] + (b * of[1] + c * of[2]) : a * of[0] + b * of[1] + c * of[2];
            };
            const float blue = sum(of_blue), green = sum(of_green), red = sum(of_red);
            pixel[0] = blue;
            pixel[1] = green;
            pixel[2] = red;
        }
    }
}

void finish_cmyk(const cv::Mat& inks, cv::Mat& colors) {
    const auto columns = static_cast<std::uint64_t>(inks.cols);
    for (int y = 0; y < inks.rows; ++y)
        if (inks.depth() == CV_8U)
            convert_cmyk(inks.ptr<std::uint8_t>(y), colors.ptr<std::uint8_t>(y), columns, false);
        else
            convert_cmyk(inks.ptr<std::uint16_t>(y), colors.ptr<std::uint16_t>(y), columns, false);
}

}  // namespace gpuhist::io
