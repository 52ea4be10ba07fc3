// Color spaces of images in device memory: the bits of `convert_colors` on the host.
#include <vector>

#include "gpuhist/color_space.hpp"
#include "gpuhist/error.hpp"
#include "support/stream_cases.hpp"

namespace gpuhist::test {
namespace {

class StreamColorSpaces : public StreamTest {
  protected:
    /// Expects the bits of the host from a picture whose bytes are read as samples of this depth.
    void expect_same(const Picture& picture, Depth depth, const ColorEncoding& encoding, ColorSpace space,
                     std::size_t turn) {
        const Shape& shape = picture.shape();
        DeviceImages from, to;
        from.add(picture, placement(turn));
        const Shape made{shape.width, shape.height, shape.channels == 4 ? 4 : 3, depth_in(space, depth),
                         ChannelOrder::rgb};
        to.add(made, placement(turn + 3));
        from.upload();
        to.upload();
        ImageView there = from[0], here = picture.view();
        there.depth = here.depth = depth;
        enqueue_convert_colors(there, encoding, space, to[0], 0, stream);
        check(cudaStreamSynchronize(stream));
        std::vector<char> expected(static_cast<std::size_t>(made.width * made.height * made.channels) *
                                   sample_bytes(made.depth));
        const MutableImageView view =
            packed_view(expected.data(), made.width, made.height, made.channels, made.depth, ChannelOrder::rgb);
        convert_colors(here, encoding, space, view, 2);
        to.set(0, view);
        EXPECT_EQ(to.difference(), "") << traits_of(space).name << " of " << to_string(depth) << ", " << shape.width
                                       << " x " << shape.height << " x " << shape.channels;
        EXPECT_EQ(from.difference(), "");
    }
};

INSTANTIATE_TEST_SUITE_P(Stream, StreamColorSpaces, testing::ValuesIn({paths[0]}), label_of_path);

TEST_P(StreamColorSpaces, give_the_bits_of_the_host) {
    std::size_t turn = 0;
    for (const ColorSpaceTraits& space : all_color_spaces)
        for (const Depth depth : {Depth::u8, Depth::u16, Depth::f16, Depth::f32})
            for (const int channels : channel_counts)
                for (const Size& size : {Size{1, 1}, Size{17, 5}, Size{640, 480}}) {
                    ++turn;
                    const Depth stored = depth == Depth::f16 ? Depth::u16 : depth;  // also NaN and infinity
                    const double highest = traits_of(depth).highest, white = turn % 3 == 0 ? highest / 3 : highest;
                    const std::vector<ChannelOrder> orders = orders_of(channels);
                    const Shape shape{size.width, size.height, channels, stored, orders[turn % orders.size()]};
                    expect_same(picture_of(shape, turn % kinds(stored), turn), depth, {white, turn % 5 == 0},
                                space.space, turn);
                }
}

TEST_P(StreamColorSpaces, refuse_images_of_the_host) {
    const Picture picture(Shape{4, 4, 3, Depth::u8}, packed, Content::random);
    std::vector<char> out(48);
    EXPECT_THROW(enqueue_convert_colors(picture.view(), {}, ColorSpace::hsv,
                                        packed_view(out.data(), 4, 4, 3, Depth::u8), 0, nullptr),
                 InvalidArgument);
}

}  // namespace
}  // namespace gpuhist::test
