// Formulas of the kernels that measure bytes: a warp's lanes and loads, emulated by loops, against sums by definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "cuda/measures/bytes.hpp"
#include "cuda/measures/key_selection.hpp"

namespace gpuhist::test {
namespace {

using cuda::ByteColors;
using cuda::ByteSums;
using cuda::first_sum;
using cuda::ThreadSums;

/// Pixels of bytes of C channels, packed.
template <int C>
struct Bytes {
    std::int64_t width, height;
    bool rgb;
    std::vector<std::uint8_t> samples;

    Bytes(std::int64_t w, std::int64_t h, bool red_first, int range, unsigned seed)
        : width(w), height(h), rgb(red_first), samples(static_cast<std::size_t>(w * h * C)) {
        std::mt19937 random(seed);
        for (std::uint8_t& sample : samples) {
            const auto number = static_cast<int>(random() >> 8);
            sample = static_cast<std::uint8_t>(range < 0 ? number % 2 * 255 : 255 - number % range);
        }
    }
    int at(std::int64_t x, std::int64_t y, int c) const {
        if (x < 0 || x >= width || y < 0 || y >= height) return 0;
        return samples[static_cast<std::size_t>((y * width + x) * C + c)];
    }
    int color(std::int64_t x, std::int64_t y, int c) const {
        return C == 1 ? at(x, y, 0) : at(x, y, c == 1 ? 1 : (c == 0) == rgb ? 0 : 2);
    }
    int luma(std::int64_t x, std::int64_t y) const {
        if (C == 1) return at(x, y, 0);
        return (9798 * color(x, y, 0) + 19235 * color(x, y, 1) + 3735 * color(x, y, 2) + 16384) / 32768;
    }
};

/// Sums as a kernel finds them: strips of 30 lanes with four pixels each, cut into segments of rows.
template <int C>
ThreadSums by_lanes(const Bytes<C>& image, std::int64_t rows) {
    constexpr int lanes = 32, columns = (lanes - 2) * cuda::lane_pixels;
    ThreadSums total;
    const ByteColors<C> colors(image.rgb);
    const auto words_of = [&](std::int64_t x, std::int64_t y, std::uint32_t(&words)[C]) {
        for (int i = 0; i < C; ++i) {
            words[i] = 0;
            for (int k = 0; k < 4; ++k)
                words[i] |= static_cast<std::uint32_t>(image.at(x + (4 * i + k) / C, y, (4 * i + k) % C)) << 8 * k;
        }
    };
    for (std::int64_t strip = 0; strip * columns < image.width; ++strip)
        for (std::int64_t begin = 0; begin < image.height; begin += rows) {
            std::vector<ByteSums> sums(lanes);
            for (std::int64_t y = begin > 0 ? begin - 2 : 0; y < std::min(image.height, begin + rows); ++y) {
                const auto x_of = [&](int lane) { return strip * columns + (lane - 1) * cuda::lane_pixels; };
                std::uint32_t luma[lanes];
                for (int lane = 0; lane < lanes; ++lane) {
                    std::uint32_t words[C], red = 0, green = 0, blue = 0;
                    words_of(x_of(lane), y, words);
                    luma[lane] = colors.luma(words);
                    for (int i = 0; i < 4; ++i)
                        EXPECT_EQ(luma[lane] >> 8 * i & 0xFF,
                                  static_cast<std::uint32_t>(image.luma(x_of(lane) + i, y)));
                    if (y < begin) continue;
                    colors.split(words, red, green, blue);
                    sums[static_cast<std::size_t>(lane)].add_colors(red, green, blue);
                }
                for (int lane = 0; lane < lanes; ++lane) {
                    const std::uint32_t left = luma[lane > 0 ? lane - 1 : 0],
                                        right = luma[lane + 1 < lanes ? lane + 1 : lane];
                    const auto inside = [&](int i) { return x_of(lane) + i > 0 && x_of(lane) + i + 1 < image.width; };
                    sums[static_cast<std::size_t>(lane)].add_row(
                        luma[lane], left, right, y >= begin,
                        (inside(0) ? 0xFFFFU : 0U) | (inside(1) ? 0xFFFF0000U : 0U),
                        (inside(2) ? 0xFFFFU : 0U) | (inside(3) ? 0xFFFF0000U : 0U));
                }
            }
            for (std::size_t lane = 1; lane + 1 < sums.size(); ++lane)
                sums[lane].take([&](int sum, std::int64_t value) { total.of[sum] += value; });
        }
    std::vector<int> met(static_cast<std::size_t>((image.width + 2) * (image.height + 2)));
    for (std::int64_t i = 0; i < cuda::border_places(image.width, image.height); ++i) {
        std::int64_t x = 0, y = 0;
        cuda::border_place(i, image.width, image.height, x, y);
        ++met[static_cast<std::size_t>((y + 1) * (image.width + 2) + x + 1)];
        const auto luma_at = [&](std::int64_t column, std::int64_t row) { return image.luma(column, row); };
        cuda::add_border(x, y, image.width, image.height, luma_at, total);
    }
    for (std::int64_t y = 0; y < image.height + 2; ++y)
        for (std::int64_t x = 0; x < image.width + 2; ++x)
            EXPECT_EQ(met[static_cast<std::size_t>(y * (image.width + 2) + x)],
                      x < 2 || x >= image.width || y < 2 || y >= image.height)
                << x << " " << y;
    cuda::add_neighborhoods(image.width, image.height, total);
    return total;
}

/// Place in a row or column of n pixels, reflected at the border.
std::int64_t reflected(std::int64_t i, std::int64_t n) {
    return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
}

template <int C>
void expect_sums(const Bytes<C>& image, std::int64_t rows) {
    SCOPED_TRACE(std::to_string(C) + " channels, " + std::to_string(image.width) + " x " +
                 std::to_string(image.height));
    const std::int64_t width = image.width, height = image.height;
    std::int64_t laplacian = 0, laplacian_squares = 0, gradients = 0, noise = 0, colors[4] = {}, not_gray = 0;
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            const auto at = [&](int dx, int dy) -> std::int64_t {
                return image.luma(reflected(x + dx, width), reflected(y + dy, height));
            };
            const auto sum = [&](const int(&kernel)[9]) {
                std::int64_t value = 0;
                for (int i = 0; i < 9; ++i) value += kernel[i] * at(i % 3 - 1, i / 3 - 1);
                return value;
            };
            const std::int64_t l = sum({0, 1, 0, 1, -4, 1, 0, 1, 0}), gx = sum({-1, 0, 1, -2, 0, 2, -1, 0, 1}),
                               gy = sum({-1, -2, -1, 0, 0, 0, 1, 2, 1}), n = sum({1, -2, 1, -2, 4, -2, 1, -2, 1});
            laplacian += l;
            laplacian_squares += l * l;
            gradients += gx * gx + gy * gy;
            if (x > 0 && x + 1 < width && y > 0 && y + 1 < height) noise += std::abs(n);
            const std::int64_t red = image.color(x, y, 0), green = image.color(x, y, 1), blue = image.color(x, y, 2),
                               a = red - green, b = red + green - 2 * blue;
            colors[0] += a;
            colors[1] += a * a;
            colors[2] += b;
            colors[3] += b * b;
            not_gray += red != green || green != blue;
        }
    const ThreadSums found = by_lanes(image, rows);
    const auto expect = [&](int place, std::int64_t value, const char* name) {
        EXPECT_EQ(found.of[place], value) << name;
    };
    expect(first_sum<measures::Laplacian>(), width * height, "pixels");
    expect(first_sum<measures::Laplacian>() + 1, laplacian, "Laplacian");
    expect(first_sum<measures::Laplacian>() + 2, laplacian_squares, "its squares");
    expect(first_sum<measures::Tenengrad>(), width * height, "pixels");
    expect(first_sum<measures::Tenengrad>() + 1, gradients, "gradients");
    expect(first_sum<measures::Noise>(), (width - 2) * (height - 2), "pixels inside");
    expect(first_sum<measures::Noise>() + 1, noise, "noise");
    for (int i = 0; i < 4; ++i) expect(first_sum<measures::Colorfulness>() + 1 + i, colors[i], "colors");
    expect(first_sum<measures::Gray>() + 1, not_gray, "pixels that are not gray");
}

TEST(MeasureKernels, find_sums_by_definition) {
    unsigned seed = 0;
    for (const int range : {256, 3, -1})
        for (const auto& [width, height] :
             {std::pair{3, 3}, {4, 5}, {5, 4}, {31, 33}, {119, 3}, {120, 40}, {121, 7}, {3, 70}, {241, 65}, {500, 9}})
            for (const bool rgb : {false, true}) {
                expect_sums(Bytes<1>(width, height, rgb, range, ++seed), 32);
                expect_sums(Bytes<3>(width, height, rgb, range, ++seed), 32);
                expect_sums(Bytes<4>(width, height, rgb, range, ++seed), 32);
            }
}

TEST(MeasureKernels, have_room_for_the_largest_sums) {
    // Stripes have the largest gradients, a checkerboard of 255 the most noise, and equal pixels the largest products.
    for (const int pattern : {0, 1, 2}) {
        Bytes<3> image(120, ByteSums::most_rows + 5, true, 1, 1);
        for (std::int64_t i = 0; i < image.width * image.height; ++i)
            for (int c = 0; c < 3; ++c)
                image.samples[static_cast<std::size_t>(3 * i + c)] =
                    pattern == 0 || (i % image.width + (pattern == 2 ? i / image.width : 0)) % 4 < 2 ? 255 : 0;
        expect_sums(image, ByteSums::most_rows);
    }
}

TEST(MeasureKernels, select_keys_at_ranks_digit_by_digit) {
    std::mt19937_64 random(7);
    for (const int key_bits : {26, 42})
        for (const auto& [first, others] : {std::pair{14, 12}, {12, 12}})
            for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{1000}})
                for (const std::uint64_t spread : {std::uint64_t{1}, std::uint64_t{50}, std::uint64_t{1} << key_bits}) {
                    std::vector<std::uint64_t> keys(n);
                    for (std::uint64_t& key : keys) key = ((std::uint64_t{1} << key_bits) - 1) - random() % spread;
                    cuda::KeySelection selection(key_bits, first, others);
                    std::vector<std::uint64_t> counts;
                    do {
                        counts.assign(selection.counts(), 0);
                        for (const std::uint64_t key : keys) {
                            const auto& wanted = selection.wanted();
                            const auto at = std::find(wanted.begin(), wanted.end(), key >> selection.left());
                            if (!selection.first() && at == wanted.end()) continue;
                            const auto place = static_cast<std::size_t>(selection.first() ? 0 : at - wanted.begin());
                            ++counts[place << selection.bits() | (key >> (selection.left() - selection.bits()) &
                                                                  ((std::uint64_t{1} << selection.bits()) - 1))];
                        }
                    } while (selection.take(counts.data()));
                    const Measured found = selection.found();
                    std::sort(keys.begin(), keys.end());
                    EXPECT_EQ(found.pixels, n);
                    std::vector<Int128> expected;
                    for (const std::size_t percent : {1, 5, 10, 15, 90, 95, 99}) {
                        if (n == 0) break;
                        const std::size_t hundredths = (n - 1) * percent, rank = hundredths / 100;
                        expected.push_back({keys[rank], 0});
                        expected.push_back({keys[rank + (hundredths % 100 != 0)], 0});
                    }
                    EXPECT_EQ(found.sums, expected);
                }
}

}  // namespace
}  // namespace gpuhist::test
