// Color spaces: colors are converted pixel by pixel, and back.
#include "gpuhist/color_space.hpp"

#include <cmath>
#include <type_traits>
#include <vector>

#include "core/channels.hpp"
#include "core/color_space.hpp"
#include "core/half.hpp"
#include "core/validate.hpp"
#include "cpu/workers.hpp"

namespace gpuhist {
namespace {

using core::Triple;

/// Rounds a number to the nearest integer, ties to even, within 0 … highest.
std::uint32_t rounded(double value, double highest) {
    if (!(value > 0)) return 0;  // NaN too
    return static_cast<std::uint32_t>(std::nearbyint(value < highest ? value : highest));
}

/// Numbers of the samples of an image. The values of integers are few: images with more pixels have a table.
template <class Sample>
class Reader {
  public:
    Reader(const core::ColorReader& read, const ImageView& image) : read_(read) {
        const DepthTraits& depth = traits_of(image.depth);
        if (depth.floating || image.pixels() < depth.values) return;
        table_.resize(static_cast<std::size_t>(depth.values));
        for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = read_(static_cast<double>(i));
    }
    double operator()(Sample sample) const {
        if constexpr (std::is_integral_v<Sample>)
            return table_.empty() ? read_(sample) : table_[sample];
        else if constexpr (std::is_same_v<Sample, Half>)
            return read_(core::to_float(sample));
        else
            return read_(sample);
    }

  private:
    core::ColorReader read_;
    std::vector<double> table_;
};

template <class Body>
void for_rows(std::int64_t height, std::int64_t width, int threads, const Body& body) {
    cpu::Workers(threads).sweep_rows(height, width, [&](int, std::int64_t first, std::int64_t end) {
        for (std::int64_t y = first; y < end; ++y) body(y);
    });
}

template <class Sample, class View>
auto* row_of(const View& view, std::int64_t y) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(view.data)>>, const char, char>;
    using Element = std::conditional_t<std::is_const_v<Byte>, const Sample, Sample>;
    return reinterpret_cast<Element*>(static_cast<Byte*>(view.data) + y * view.row_bytes);
}

/// Places of the colors in a pixel: gray stands for three.
struct Places {
    explicit Places(const ImageView& image) {
        if (image.channels == 1) return;
        const core::Positions at(image.order);
        red = at.red;
        green = at.green;
        blue = at.blue;
    }
    int red = 0, green = 0, blue = 0;
};

void convert_bytes(const ImageView& image, ColorSpace space, const MutableImageView& output, int threads) {
    const Places at(image);
    const core::HsvTables& hsv = core::hsv_tables();
    const core::LabTables& lab = core::lab_tables();
    for_rows(image.height, image.width, threads, [&](std::int64_t y) {
        const auto convert = [&](const auto& formula) {
            const auto* from = row_of<std::uint8_t>(image, y);
            auto* to = row_of<std::uint8_t>(output, y);
            for (std::int64_t x = 0; x < image.width; ++x, from += image.channels, to += output.channels) {
                const core::Bytes3 made = formula(from[at.red], from[at.green], from[at.blue]);
                to[0] = made.first;
                to[1] = made.second;
                to[2] = made.third;
                if (output.channels == 4) to[3] = from[3];
            }
        };
        if (space == ColorSpace::hsv)
            convert([&](int r, int g, int b) { return core::hsv_of_bytes(hsv, r, g, b); });
        else if (space == ColorSpace::ycbcr)
            convert([](int r, int g, int b) { return core::ycbcr_of_bytes(r, g, b); });
        else
            convert([&](int r, int g, int b) { return core::lab_of_bytes(lab, r, g, b); });
    });
}

template <class Sample>
void convert_to_floats(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                       const MutableImageView& output, int threads) {
    const Reader<Sample> color(core::ColorReader(encoding, space), image),
        alpha(core::ColorReader({encoding.white, true}, space), image);
    const Places at(image);
    for_rows(image.height, image.width, threads, [&](std::int64_t y) {
        const auto* from = row_of<Sample>(image, y);
        auto* to = row_of<float>(output, y);
        for (std::int64_t x = 0; x < image.width; ++x, from += image.channels, to += output.channels) {
            const Triple rgb{color(from[at.red]), color(from[at.green]), color(from[at.blue])};
            const Triple made = core::is_finite(rgb) ? core::in_space(space, rgb) : Triple{NAN, NAN, NAN};
            to[0] = core::as_float(made.first);
            to[1] = core::as_float(made.second);
            to[2] = core::as_float(made.third);
            if (output.channels == 4) to[3] = core::as_float(alpha(from[3]));
        }
    });
}

/// Writes the samples of a color, with white at 1.
template <class Sample>
Sample sample_of(double value, double white) {
    if constexpr (std::is_integral_v<Sample>)
        return static_cast<Sample>(rounded(value * white, white));
    else if constexpr (std::is_same_v<Sample, Half>)
        return core::narrowed<Half>(value * white);
    else
        return static_cast<Sample>(value * white);
}

template <class Sample>
void restore(const ImageView& image, ColorSpace space, const ColorEncoding& encoding, const MutableImageView& output,
             int threads) {
    const bool bytes = image.depth == Depth::u8, encodes = core::from_linear(space) && !encoding.linear;
    const Places at(output);
    for_rows(image.height, image.width, threads, [&](std::int64_t y) {
        const auto restore_row = [&](const auto* from, const auto& decoded, double white_of_alpha) {
            auto* to = row_of<Sample>(output, y);
            for (std::int64_t x = 0; x < image.width; ++x, from += image.channels, to += output.channels) {
                Triple rgb = core::rgb_of(space, decoded(from));
                if (encodes)
                    rgb = {core::encoded_of(rgb.first), core::encoded_of(rgb.second), core::encoded_of(rgb.third)};
                to[at.green] = sample_of<Sample>(rgb.second, encoding.white);
                if (output.channels == 1) continue;
                to[at.red] = sample_of<Sample>(rgb.first, encoding.white);
                to[at.blue] = sample_of<Sample>(rgb.third, encoding.white);
                if (output.channels == 4) to[3] = sample_of<Sample>(from[3] / white_of_alpha, encoding.white);
            }
        };
        if (bytes)
            restore_row(
                row_of<std::uint8_t>(image, y),
                [&](const std::uint8_t* from) { return core::decoded_bytes(space, from[0], from[1], from[2]); }, 255);
        else
            restore_row(
                row_of<float>(image, y),
                [](const float* from) {
                    return Triple{from[0], from[1], from[2]};
                },
                1);
    });
}

/// Calls `function` with a sample of a depth that is converted.
template <class Function>
void with_sample(Depth depth, const Function& function) {
    if (depth == Depth::u8) return function(std::uint8_t{});
    if (depth == Depth::u16) return function(std::uint16_t{});
    if (depth == Depth::f16) return function(Half{});
    function(float{});
}

}  // namespace

void convert_colors(const ImageView& image, const ColorEncoding& encoding, ColorSpace space,
                    const MutableImageView& output, int threads) {
    core::validate_conversion(image, encoding, space, output, Memory::host);
    if (output.depth == Depth::u8) return convert_bytes(image, space, output, threads);
    with_sample(image.depth,
                [&](auto sample) { convert_to_floats<decltype(sample)>(image, encoding, space, output, threads); });
}

void restore_colors(const ImageView& image, ColorSpace space, const ColorEncoding& encoding,
                    const MutableImageView& output, int threads) {
    core::validate_restoration(image, space, encoding, output);
    with_sample(output.depth, [&](auto sample) { restore<decltype(sample)>(image, space, encoding, output, threads); });
}

}  // namespace gpuhist
