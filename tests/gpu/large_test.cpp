// Every engine on images of more than 2^32 samples.
#include <memory>

#include "support/analysis_under_test.hpp"

namespace gpuhist::test {
namespace {

/// More than 2^32 samples, 4.3 GB. Rows of one value each, so that the counts are known without looking.
class LargeTest : public EngineTest {
  protected:
    static constexpr std::int64_t side = 65540;

    void SetUp() override {
        if (!flag("GPUHIST_LARGE_TESTS")) GTEST_SKIP() << "needs 5 GB of memory: GPUHIST_LARGE_TESTS=1 runs it";
        EngineTest::SetUp();
        if (HasFatalFailure() || IsSkipped()) return;
        pixels_ = std::make_unique<std::uint8_t[]>(side * side);
    }

    MutableImageView view(int channels) const {
        MutableImageView view = packed_view(pixels_.get(), side / channels, side, channels, Depth::u8);
        view.row_bytes = side;
        return view;
    }
    void fill_rows() {
        for (std::int64_t y = 0; y < side; ++y) std::memset(pixels_.get() + y * side, value_of(y), side);
    }
    static int value_of(std::int64_t y) { return static_cast<int>(10 + y % 200); }
    static std::uint64_t rows_with(int value) {
        return value < 10 || value >= 210 ? 0 : static_cast<std::uint64_t>(side / 200 + (value - 10 < side % 200));
    }

    std::unique_ptr<std::uint8_t[]> pixels_;
};

INSTANTIATE_TEST_SUITE_P(Large, LargeTest, testing::ValuesIn(engines_under_test), label_of);

TEST_P(LargeTest, one_count_past_32_bits) {
    std::memset(pixels_.get(), 200, side * side);
    pixels_[side * side - 1] = 255;
    const Analysis result = engine->analyze(view(1));
    const std::uint64_t pixels = side * side;
    ASSERT_GT(pixels, std::uint64_t{1} << 32);
    EXPECT_EQ(result.channels[0].pixels, pixels);
    EXPECT_EQ(result.channels[0].counts[200], pixels - 1);
    EXPECT_EQ(result.channels[0].counts[255], 1u);
    EXPECT_EQ(result.brightness->sum, (pixels - 1) * 200 + 255);
    EXPECT_EQ(result.brightness->sum_squares, (Int128{(pixels - 1) * 40000 + 65025, 0}));
    EXPECT_EQ(result.brightness->minimum, 200u);
    EXPECT_EQ(result.brightness->maximum, 255u);
    expect_all_pixels_counted(result);
}

TEST_P(LargeTest, gray_and_color) {
    fill_rows();
    for (int channels : {1, 3, 4}) {
        const Analysis result = engine->analyze(view(channels));
        const auto width = static_cast<std::uint64_t>(side / channels);
        std::uint64_t sum = 0;
        for (const ChannelAnalysis& channel : result.channels)
            for (int value = 0; value < 256; ++value)
                EXPECT_EQ(channel.counts[static_cast<std::size_t>(value)], rows_with(value) * width)
                    << to_string(channel.channel) << " " << value;
        for (int value = 0; value < 256; ++value) sum += rows_with(value) * width * static_cast<std::uint64_t>(value);
        EXPECT_EQ(result.brightness->sum, sum);
        expect_all_pixels_counted(result);
    }
}

TEST_P(LargeTest, normalized_in_place) {
    fill_rows();
    const MutableImageView image = view(1);
    Analysis result;
    engine->normalize(image, {}, {}, image, result);
    EXPECT_EQ(result.brightness->minimum, 10u);
    for (std::int64_t y = 0; y < side; ++y) {
        const int expected = ((value_of(y) - 10) * 255 * 2 + 199) / (2 * 199);
        const std::uint8_t* row = pixels_.get() + y * side;
        ASSERT_EQ(std::count(row, row + side, expected), side) << "row " << y;
    }
}

}  // namespace
}  // namespace gpuhist::test
