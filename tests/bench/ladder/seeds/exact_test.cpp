// The seeds' answers on pictures that fit into the head. That each rung gives them, on every content and at every size,
// is LadderTest's.
#include <gtest/gtest.h>

#include <limits>

#include "bench/ladder/seeds/exact.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

constexpr std::uint8_t pixels[] = {0, 255, 7, 128, 255, 1};
const Image image{nullptr, pixels, 3, 2};

template <std::size_t Count>
Image row(const std::uint8_t (&of)[Count]) {
    return {nullptr, of, Count, 1};
}

// The numbers are Python's.
TEST(SeedsExactTest, branches) {
    EXPECT_EQ(exact::branch_none(image), (Answer{14868057094}));
    EXPECT_EQ(exact::branch_by_lane(image), (Answer{10272717933}));
    EXPECT_EQ(exact::branch_one_side(image), (Answer{8670811206}));
    std::vector<std::uint8_t> four_warps(128, 1);
    const Word of_one = 144309313, sum = (of_one + 1549969377 + 4190675013 + 771774556) * 32;
    EXPECT_EQ(exact::branch_by_warp({nullptr, four_warps.data(), 128, 1}), (Answer{sum}));
    EXPECT_EQ(exact::branch_by_lane({nullptr, four_warps.data(), 128, 1}), (Answer{sum}));
}

TEST(SeedsExactTest, bright_stretches) {
    EXPECT_EQ(exact::bright_stretches(image), (Answer{255, 3, 0}));
    const std::vector<std::uint8_t> bright_pixels(257, 200);
    EXPECT_EQ(exact::bright_stretches({nullptr, bright_pixels.data(), 257, 1}), (Answer{400, 257, 2}));
}

TEST(SeedsExactTest, lanes) {
    EXPECT_EQ(exact::ring(image), (Answer{255 * 7 + 7 * 128 + 128 * 255 + 255, 0}));
    EXPECT_EQ(exact::votes(image, 0xFFFFFFFFu), (Answer{2 + 8 + 16, 0, 1}));
    EXPECT_EQ(exact::votes(image, 0xFFFFFFFEu), (Answer{2 + 8 + 16, 0, 1}));
    EXPECT_EQ(exact::votes(image, 1u), (Answer{0, 0, 0}));
    EXPECT_EQ(exact::votes(row({200, 3}), 1u), (Answer{1, 1, 1}));
    EXPECT_EQ(exact::types(image), Answer(8, 646));
}

TEST(SeedsExactTest, widths) {
    EXPECT_EQ(exact::widths(row({5})), (Answer{0, 15, 0, 10, 0, 20, 0, 20, 0, 30, 0, 40, 0, 50, 0, 80, 0, 90, 0, 160}));
    const std::uint8_t far[17] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    const Answer answer = exact::widths(row(far));
    EXPECT_EQ(Answer(answer.begin(), answer.begin() + 4), (Answer{0, 17 + 18, 0, 18}));
    EXPECT_EQ(Answer(answer.end() - 4, answer.end()), (Answer{528, 0, 1 + 17, 16}));
}

TEST(SeedsExactTest, utilization) {
    EXPECT_EQ(exact::utilization_tree(image), (Answer{646, 127, 896}));
    EXPECT_EQ(exact::utilization_loop(image), (Answer{646, 6 + 1024 * 127, 1024 * 128 * 8}));
}

TEST(SeedsExactTest, groups) {
    EXPECT_EQ(exact::members(image), (Answer{646 * 128, 2324, 646, 2324, 646, 81010}));
    EXPECT_EQ(exact::grid_members(image), (Answer{646, 1}));
    EXPECT_EQ(exact::tiles(image), (Answer{390 * 390 + 256 * 256, 646 * 646}));
    EXPECT_EQ(exact::tile_votes(image), (Answer{10 + 1, 0, 2, 2560, 1561, 1166, 1178,  //
                                                26, 0, 1, 255 * 528, 2970, 1678, 2202}));
}

TEST(SeedsExactTest, tables) {
    EXPECT_EQ(exact::four_times(image), (Answer{2584}));
    EXPECT_EQ(exact::squares(image), (Answer{2 * 65025 + 49 + 16384 + 1}));
    EXPECT_EQ(exact::weighted(image), (Answer{0}));
    const std::vector<std::uint8_t> ones(1025, 1);
    EXPECT_EQ(exact::weighted({nullptr, ones.data(), 1025, 1}), (Answer{512 + 4}));
    EXPECT_EQ(exact::sum_32(image), (Answer{646}));
}

TEST(SeedsExactTest, atomics) {
    EXPECT_EQ(exact::counts(image), (Answer{3, 9}));
    EXPECT_EQ(exact::count_pairs(image), (Answer{9, 9}));
    EXPECT_EQ(exact::extremes(image), (Answer{0, 255}));
    EXPECT_EQ(exact::signed_extremes(image), (Answer{-Word{128}, 127}));
    EXPECT_EQ(exact::wide_extremes(image), (Answer{0, Word{255} << 33}));
    EXPECT_EQ(exact::signed_wide_extremes(image), (Answer{-(Word{128} << 33), Word{127} << 33}));
    EXPECT_EQ(exact::exchanges_wide(image), (Answer{Word{646} << 33}));
    // Three turns: up 1, 2, 3 and 0, 1, 2; down 6, 5, 4 and 6, 5, 4.
    EXPECT_EQ(exact::wraps(image), (Answer{3 + 2000, 4 + 4000}));
    EXPECT_EQ(exact::wraps(row({0})), (Answer{100'000, 100'000}));
    const std::uint8_t two[] = {0x0F, 0xF1};
    EXPECT_EQ(exact::bits_32(row(two)), (Answer{0x01010EF0, 0xFFFF0FF1, 0xFEFE0101}));
    EXPECT_EQ(exact::bits_64(row(two)), (Answer{0x0101010101010EF0, 0xFFFFFFFFFFFF0FF1, 0xFEFEFEFEFEFE0101}));
    // 10, 10, 11, 11 and 265, 265, 0, 1 and 17, 17, 0, 0; 0, 1, 1 and 9, 11, 10 and 3, 7, 5.
    EXPECT_EQ(exact::sequence(row({0, 255, 7})), (Answer{11 + 1 + 0, 1 + 10 + 5}));
}

// Beside 2^24 a one is lost, and two ones that meet before are not: the order of the tree.
TEST(SeedsExactTest, floats) {
    constexpr float large = 1 << 24, nan = std::numeric_limits<float>::quiet_NaN();
    constexpr Word alone = 0x4B800000, with_two = 0x4B800001;
    const auto both = [](const std::vector<float>& numbers) {
        const Image floats{nullptr, numbers.data(), static_cast<std::int64_t>(numbers.size()), 1};
        return std::pair{exact::float_twice(floats), exact::float_last_block(floats)};
    };
    EXPECT_EQ(both({0.25f, nan, 0.5f}), std::pair(Answer{0x3F400000}, Answer{0x3F400000}));
    EXPECT_EQ(both({large, 1, 1, 0}), std::pair(Answer{alone}, Answer{alone}));
    EXPECT_EQ(both({large, 1, 0, 1}), std::pair(Answer{with_two}, Answer{with_two}));
}

}  // namespace
}  // namespace gpuhist::bench::ladder::seeds
