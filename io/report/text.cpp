#include "report/text.hpp"

#include <cmath>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define STB_TRUETYPE_IMPLEMENTATION
#define STBTT_STATIC
#include <stb/stb_truetype.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace gpuhist::io {

extern const unsigned char typeface[];  // fonts/, made into an array by CMake

int next_character(std::string_view& text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    bool valid = length != 0 && length <= text.size();
    unsigned character = length == 1 ? first : first & (0x7FU >> length);
    for (std::size_t i = 1; valid && i < length; ++i) {
        valid = byte(i) >> 6 == 2;
        character = character << 6 | (byte(i) & 0x3FU);
    }
    constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    valid = valid && character >= least[length] && character <= 0x10FFFF && character >> 11 != 0x1B;
    text.remove_prefix(valid ? length : 1);
    return valid ? static_cast<int>(character) : '?';
}

struct Typesetter::Font {
    stbtt_fontinfo info{};

    Font() { stbtt_InitFont(&info, typeface, 0); }

    double scale(double size) const { return stbtt_ScaleForPixelHeight(&info, static_cast<float>(size)); }

    /// The glyph of the next character.
    int next(std::string_view& text) const {
        const int index = stbtt_FindGlyphIndex(&info, next_character(text));
        return index != 0 ? index : stbtt_FindGlyphIndex(&info, '?');
    }

    double advance(int glyph) const {
        int advance = 0, bearing = 0;
        stbtt_GetGlyphHMetrics(&info, glyph, &advance, &bearing);
        return advance;
    }
};

Typesetter::Typesetter() : font_(std::make_unique<Font>()) {}
Typesetter::~Typesetter() = default;

double Typesetter::width(std::string_view text, double size) const {
    double units = 0;
    while (!text.empty()) units += font_->advance(font_->next(text));
    return units * font_->scale(size);
}

const Typesetter::Glyph& Typesetter::glyph(int index, double size, int quarter) {
    auto [entry, is_new] = glyphs_.try_emplace({index, size, quarter});
    Glyph& glyph = entry->second;
    if (is_new) {
        const auto scale = static_cast<float>(font_->scale(size)), shift = static_cast<float>(quarter) / 4;
        int right = 0, bottom = 0;
        stbtt_GetGlyphBitmapBoxSubpixel(&font_->info, index, scale, scale, shift, 0, &glyph.left, &glyph.top, &right,
                                        &bottom);
        glyph.width = right - glyph.left;
        glyph.height = bottom - glyph.top;
        glyph.coverage.resize(static_cast<std::size_t>(glyph.width) * static_cast<std::size_t>(glyph.height));
        if (!glyph.coverage.empty())
            stbtt_MakeGlyphBitmapSubpixel(&font_->info, glyph.coverage.data(), glyph.width, glyph.height, glyph.width,
                                          scale, scale, shift, 0, index);
        for (unsigned char& coverage : glyph.coverage) coverage = coarse(coverage);
    }
    return glyph;
}

template <class Place>
void Typesetter::set(std::string_view text, double x, double size, Place place) {
    const double scale = font_->scale(size);
    while (!text.empty()) {
        const int index = font_->next(text);
        const double quarters = std::floor(x * 4 + 0.5);  // a pen between pixels keeps the letters evenly apart
        const int pen = static_cast<int>(std::floor(quarters / 4));
        const Glyph& shape = glyph(index, size, static_cast<int>(quarters) - 4 * pen);
        const unsigned char* coverage = shape.coverage.data();
        for (int row = 0; row < shape.height; ++row)
            for (int column = 0; column < shape.width; ++column, ++coverage)
                if (*coverage) place(pen + shape.left + column, shape.top + row, static_cast<float>(*coverage) / 255);
        x += font_->advance(index) * scale;
    }
}

void Typesetter::draw(cv::Mat& image, std::string_view text, double x, double baseline, double size, const Color& color,
                      Anchor anchor) {
    if (anchor != Anchor::left) x -= width(text, size) / (anchor == Anchor::middle ? 2 : 1);
    const int line = static_cast<int>(std::lround(baseline));
    set(text, x, size, [&](int column, int row, float coverage) {
        row += line;
        if (column >= 0 && row >= 0 && column < image.cols && row < image.rows)
            blend(image.at<Color>(row, column), color, coverage);
    });
}

void Typesetter::draw_upwards(cv::Mat& image, std::string_view text, double baseline, double middle, double size,
                              const Color& color) {
    const int line = static_cast<int>(std::lround(baseline));
    const int start = static_cast<int>(std::lround(middle + width(text, size) / 2));
    set(text, 0, size, [&](int along, int across, float coverage) {
        const int column = line + across, row = start - along;
        if (column >= 0 && row >= 0 && column < image.cols && row < image.rows)
            blend(image.at<Color>(row, column), color, coverage);
    });
}

}  // namespace gpuhist::io
