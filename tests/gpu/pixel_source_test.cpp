// Pixel sources of the CPU engine: which samples are shown, in which order.
#include "cpu/pixel_source.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/oracle.hpp"

namespace gpuhist::test {
namespace {

/// Samples that a source shows in [begin, end), and the largest block.
template <class Source>
std::vector<std::uint16_t> shown(const Source& source, std::int64_t begin, std::int64_t end, int& largest) {
    std::vector<std::uint16_t> samples;
    largest = 0;
    cpu::for_blocks<std::uint16_t>(source, begin, end, [&](const std::uint16_t* block, int pixels) {
        samples.insert(samples.end(), block, block + pixels * source.image.channels);
        largest = std::max(largest, pixels);
    });
    return samples;
}

TEST(PixelSource, ShowsThePixelsThatCountInTheirOrder) {
    for (int channels : {1, 3, 4})
        for (const Layout& layout : layouts) {
            const Picture picture({1300, 3, channels, Depth::u16}, layout, Content::random);
            const ImageView image = picture.view();
            constexpr std::int64_t begin = 700, end = 3 * 1300 - 5, mask_row = 1300 + 7;
            std::vector<std::uint16_t> every, some;
            // Rows of which two pixels of three count, of which all do, of which none does; gaps that would count.
            std::vector<std::uint8_t> mask(3 * mask_row, 1);
            for (std::int64_t p = 0; p < 3 * 1300; ++p)
                mask[static_cast<std::size_t>(p / 1300 * mask_row + p % 1300)] =
                    p < 1300 ? (p % 3 != 1) * 255 : p < 2000;
            for (std::int64_t p = begin; p < end; ++p)
                for (int c = 0; c < channels; ++c) {
                    const auto value = static_cast<std::uint16_t>(sample(image, p % 1300, p / 1300, c));
                    every.push_back(value);
                    if (p < 1300 ? p % 3 != 1 : p < 2000) some.push_back(value);
                }
            int largest = 0;
            const auto expect_shown = [&](const ImageView& view, const std::vector<std::uint16_t>& samples) {
                cpu::with_pixel_source(view, [&](const auto& source) {
                    EXPECT_EQ(shown(source, begin, end, largest), samples);
                    EXPECT_LE(largest, cpu::block_pixels);
                });
            };
            expect_shown(image, every);
            ImageView masked = image;
            masked.mask = mask.data();
            masked.mask_row_bytes = mask_row;
            expect_shown(masked, some);
        }
}

}  // namespace
}  // namespace gpuhist::test
