// Pixel sources of the CPU engine: which samples are shown, in which order.
#include "cpu/pixel_source.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/oracle.hpp"

namespace gpuhist::test {
namespace {

/// Validity of which two pixels of three count.
struct TwoOfThree {
    static constexpr bool every = false;
    bool operator()(std::int64_t pixel) const { return pixel % 3 != 1; }
};

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
            constexpr std::int64_t begin = 700, end = 3 * 1300 - 5;
            std::vector<std::uint16_t> every, some;
            for (std::int64_t p = begin; p < end; ++p)
                for (int c = 0; c < channels; ++c) {
                    const auto value = static_cast<std::uint16_t>(sample(image, p % 1300, p / 1300, c));
                    every.push_back(value);
                    if (p % 3 != 1) some.push_back(value);
                }
            int largest = 0;
            EXPECT_EQ(shown(cpu::PixelSource<TwoOfThree>{image, {}}, begin, end, largest), some);
            EXPECT_LE(largest, cpu::block_pixels);
            cpu::with_pixel_source(image, {}, [&](const auto& source) {
                EXPECT_EQ(shown(source, begin, end, largest), every);
                EXPECT_LE(largest, cpu::block_pixels);
            });
        }
}

}  // namespace
}  // namespace gpuhist::test
