/// Text drawn on images, in the typeface kept in fonts/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace gpuhist::io {

using Color = cv::Vec3b;  ///< B, G, R

/// pixel = pixel · (1 − coverage) + color · coverage, coverage in [0, 1].
inline void blend(Color& pixel, const Color& color, float coverage) {
    for (int c = 0; c < 3; ++c)
        pixel[c] = static_cast<unsigned char>(static_cast<float>(pixel[c]) * (1 - coverage) +
                                              static_cast<float>(color[c]) * coverage + 0.5F);
}

/// Coverage of 0 to 255, in 16 steps, which the eye does not tell from all: a drawing has few colors then.
inline unsigned char coarse(unsigned char coverage) {
    return static_cast<unsigned char>((coverage + 8) / 17 * 17);
}

/// Takes the first character off a UTF-8 text; a byte that is no UTF-8 is a question mark.
int next_character(std::string_view& text);

/// Sets lines of UTF-8 text; a character that the typeface lacks, or a byte that is no UTF-8, becomes a question mark.
/// Glyphs are kept once drawn. `size` is the height from ascender to descender in pixels.
class Typesetter {
  public:
    enum class Anchor { left, middle, right };

    Typesetter();
    ~Typesetter();

    /// Pixels the text advances.
    double width(std::string_view text, double size) const;
    /// Draws along the baseline y = `baseline`; `anchor` says which part of the text is at `x`. Text outside of the
    /// image is cut off.
    void draw(cv::Mat& image, std::string_view text, double x, double baseline, double size, const Color& color,
              Anchor anchor = Anchor::left);
    /// Draws upwards, centered on `middle`, along the vertical baseline x = `baseline`.
    void draw_upwards(cv::Mat& image, std::string_view text, double baseline, double middle, double size,
                      const Color& color);

  private:
    struct Font;
    struct Glyph {
        int left = 0, top = 0, width = 0, height = 0;  ///< of the bitmap, from the pen
        std::vector<unsigned char> coverage;
    };
    const Glyph& glyph(int index, double size, int quarter);
    /// Calls place(x, y, coverage) for every pixel touched by text whose pen starts at (x, 0), x ≥ 0.
    template <class Place>
    void set(std::string_view text, double x, double size, Place place);

    std::unique_ptr<Font> font_;
    std::map<std::tuple<int, double, int>, Glyph> glyphs_;
};

}  // namespace gpuhist::io
