// What the public headers hold beside engines: the version, and makers of views.
#include <gtest/gtest.h>

#include <type_traits>

#include "gpuhist/gpuhist.hpp"

namespace gpuhist::test {
namespace {

TEST(Version, is_that_of_the_linked_library) {
    EXPECT_STREQ(version(), GPUHIST_VERSION);
}

TEST(PackedView, has_rows_without_gaps) {
    std::uint16_t pixels[2][3][3] = {{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, {{10, 11, 12}, {13, 14, 15}, {16, 17, 18}}};
    const auto view = packed_view(pixels, 3, 2, 3, Depth::u16, ChannelOrder::rgb);
    static_assert(std::is_same_v<decltype(view), const MutableImageView>);
    EXPECT_EQ(view.data, pixels);
    EXPECT_EQ(view.row_bytes, 18);
    const std::vector<Statistics> rows = statistics(make_engine("cpu")->analyze(view));
    EXPECT_EQ(rows.at(0).channel, Channel::red);
    EXPECT_EQ(rows.at(0).min, 1);
    EXPECT_EQ(rows.at(0).max, 16);
    EXPECT_EQ(rows.at(0).mean, 8.5);
}

TEST(PackedView, of_const_pixels_is_one_to_read) {
    const double pixels[4] = {};
    const auto view = packed_view(pixels, 2, 2, 1, Depth::f64);
    static_assert(std::is_same_v<decltype(view), const ImageView>);
    EXPECT_EQ(view.data, pixels);
    EXPECT_EQ(view.row_bytes, 16);
    EXPECT_EQ(view.order, ChannelOrder::bgr);
    EXPECT_EQ(view.memory, Memory::host);
    EXPECT_EQ(packed_view(pixels, 2, 2, 1, Depth::f64, ChannelOrder::rgb, Memory::device).memory, Memory::device);
}

}  // namespace
}  // namespace gpuhist::test
