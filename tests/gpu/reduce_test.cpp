// Images made smaller: numbers worked by hand, averages over every covered pixel in another way, and OpenCV.
#include "gpuhist/reduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "support/oracle.hpp"

namespace gpuhist::test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

template <class Sample>
std::vector<Sample> reduced(const std::vector<Sample>& samples, Sides from, Sides to, int channels = 1,
                            ReduceWeight weight = ReduceWeight::area) {
    const Depth depth = std::is_same_v<Sample, float> ? Depth::f32 : sizeof(Sample) == 1 ? Depth::u8 : Depth::u16;
    std::vector<Sample> out(static_cast<std::size_t>(to.width * to.height * channels), Sample{77});
    const auto row = [&](const Sides& sides) { return sides.width * channels * static_cast<int>(sizeof(Sample)); };
    reduce({samples.data(), from.width, from.height, channels, depth, row(from)},
           {out.data(), to.width, to.height, channels, depth, row(to)}, weight);
    return out;
}
template <class Sample>
using List = std::vector<Sample>;
using Bytes = List<std::uint8_t>;
using Words = List<std::uint16_t>;
using Floats = List<float>;

TEST(ReducedSides, KeepTheProportion) {
    const auto sides = [](std::int64_t width, std::int64_t height, std::int64_t longest) {
        return reduced_sides({width, height}, longest);
    };
    EXPECT_EQ(sides(4000, 3000, 512), (Sides{512, 384}));
    EXPECT_EQ(sides(3000, 4000, 512), (Sides{384, 512}));
    EXPECT_EQ(sides(200, 100, 200), (Sides{200, 100}));
    EXPECT_EQ(sides(200, 100, 4000), (Sides{200, 100}));  // never larger
    EXPECT_EQ(sides(100000, 3, 10), (Sides{10, 1}));
    EXPECT_EQ(sides(8, 3, 4), (Sides{4, 2}));  // 1.5
    EXPECT_EQ(sides(5, 5, 1), (Sides{1, 1}));
    EXPECT_EQ(sides(2147483647, 2147483647, 2147483646), (Sides{2147483646, 2147483646}));
}

TEST(Reduce, AveragesTheCoveredPixels) {
    EXPECT_EQ(reduced(Bytes{1, 2, 3, 4}, {4, 1}, {2, 1}), (Bytes{2, 4}));   // 1.5 and 3.5, halves up
    EXPECT_EQ(reduced(Bytes{1, 2, 2, 2}, {2, 2}, {1, 1}), (Bytes{2}));      // 1.75
    EXPECT_EQ(reduced(Bytes{1, 1, 1, 2}, {2, 2}, {1, 1}), (Bytes{1}));      // 1.25
    EXPECT_EQ(reduced(Bytes{0, 90, 30}, {3, 1}, {2, 1}), (Bytes{30, 50}));  // 1 1/2 pixels each
    EXPECT_EQ(reduced(Bytes{0, 90, 30}, {1, 3}, {1, 2}), (Bytes{30, 50}));
    EXPECT_EQ(reduced(Words{65535, 65535, 65534, 65535}, {4, 1}, {1, 1}), (Words{65535}));
    EXPECT_EQ(reduced(Bytes{10, 20, 30, 40, 50, 60}, {2, 1}, {1, 1}, 3), (Bytes{25, 35, 45}));
    EXPECT_EQ(reduced(Floats{1, 2, 4, 8}, {4, 1}, {2, 1}), (Floats{1.5F, 6}));
    EXPECT_EQ(reduced(Bytes{7, 8, 9}, {3, 1}, {3, 1}), (Bytes{7, 8, 9}));
}

TEST(Reduce, LeavesOutNanAndLetsInfStay) {
    const Floats got = reduced(Floats{1, NAN, NAN, NAN, 5, inf, inf, -inf}, {8, 1}, {4, 1});
    EXPECT_EQ(got[0], 1);
    EXPECT_TRUE(std::isnan(got[1]));
    EXPECT_EQ(got[2], inf);
    EXPECT_TRUE(std::isnan(got[3]));
    EXPECT_EQ(reduced(Floats{0.1F, 0.1F, 0.1F, 0.1F, 0.1F}, {5, 1}, {3, 1}), (Floats{0.1F, 0.1F, 0.1F}));
}

TEST(Reduce, WeighsColorsByAlpha) {
    const Bytes pixels{200, 0, 9, 255, 100, 40, 9, 85};  // alpha 1 and 1/3: (3 · 200 + 100) / 4
    EXPECT_EQ(reduced(pixels, {2, 1}, {1, 1}, 4, ReduceWeight::alpha), (Bytes{175, 10, 9, 170}));
    EXPECT_EQ(reduced(pixels, {2, 1}, {1, 1}, 4), (Bytes{150, 20, 9, 170}));
    const Bytes unseen{200, 1, 9, 0, 100, 40, 9, 0};
    EXPECT_EQ(reduced(unseen, {2, 1}, {1, 1}, 4, ReduceWeight::alpha), (Bytes{0, 0, 0, 0}));
    const Words bright(4 * 1000, 65535);
    EXPECT_EQ(reduced(bright, {1000, 1}, {1, 1}, 4, ReduceWeight::alpha), (Words{65535, 65535, 65535, 65535}));
    const Floats floats{2, NAN, 4, 1, 6, 8, NAN, 3, 100, 100, NAN, 0, 100, 100, 100, NAN};
    const Floats got = reduced(floats, {4, 1}, {1, 1}, 4, ReduceWeight::alpha);
    EXPECT_EQ(got, (Floats{5, 8, 4, 4.0F / 3}));
    EXPECT_EQ(reduced(Floats{2, 3, NAN, 0}, {1, 1}, {1, 1}, 4, ReduceWeight::alpha), (Floats{0, 0, 0, 0}));
    EXPECT_TRUE(std::isnan(reduced(Floats{NAN, 3, 3, 1}, {1, 1}, {1, 1}, 4, ReduceWeight::alpha)[0]));
}

/// Share of input pixel i that output pixel o covers along a side.
long double share(std::int64_t input, std::int64_t output, std::int64_t i, std::int64_t o) {
    const long double ratio = static_cast<long double>(input) / output;
    const long double low = std::max<long double>(i, o * ratio), high = std::min<long double>(i + 1, (o + 1) * ratio);
    return std::max(0.0L, high - low);
}

TEST(Reduce, EqualsSumsOverAllPixels) {
    std::size_t turn = 0;
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (const int channels : {1, 3, 4})
            for (const ReduceWeight weight : {ReduceWeight::area, ReduceWeight::alpha})
                for (const auto& [from, to] : {std::pair(Sides{23, 17}, Sides{7, 5}),
                                               {Sides{40, 1}, Sides{3, 1}},
                                               {Sides{9, 31}, Sides{8, 30}},
                                               {Sides{12, 8}, Sides{3, 2}},
                                               {Sides{5, 5}, Sides{1, 1}}}) {
                    if (weight == ReduceWeight::alpha && channels != 4) continue;
                    const Picture picture({from.width, from.height, channels, depth}, layouts[++turn % 5],
                                          Content::natural);
                    Picture out({to.width, to.height, channels, depth}, layouts[(turn + 1) % 5]);
                    const std::vector<std::byte> around = out.bytes_between_pixels();
                    reduce(picture.view(), out.mutable_view(), weight);
                    EXPECT_TRUE(out.bytes_between_pixels() == around);
                    const auto at = [&](const ImageView& image, std::int64_t x, std::int64_t y, int c) -> double {
                        return depth == Depth::f32 ? double{load<float>(image, x, y, c)}
                                                   : static_cast<double>(sample(image, x, y, c));
                    };
                    for (std::int64_t Y = 0; Y < to.height; ++Y)
                        for (std::int64_t X = 0; X < to.width; ++X)
                            for (int c = 0; c < channels; ++c) {
                                long double sum = 0, weights = 0;
                                for (std::int64_t y = 0; y < from.height; ++y)
                                    for (std::int64_t x = 0; x < from.width; ++x) {
                                        long double part =
                                            share(from.width, to.width, x, X) * share(from.height, to.height, y, Y);
                                        if (weight == ReduceWeight::alpha && c < 3) {
                                            const auto alpha = at(picture.view(), x, y, 3);
                                            part *= alpha > 0 ? alpha : 0;
                                        }
                                        sum += part * at(picture.view(), x, y, c);
                                        weights += part;
                                    }
                                const long double mean = weights > 0 ? sum / weights : 0;
                                const long double near =
                                    depth == Depth::f32 ? 1e-6L * std::max(1.0L, std::abs(mean)) : 0.5L + 1e-9L;
                                ASSERT_NEAR(at(out.view(), X, Y, c), mean, near)
                                    << to_string(depth) << channels << " " << from.width << " at " << X << "," << Y;
                            }
                }
}

TEST(Reduce, OfWholeFactorsIsThatOfOpenCv) {
    for (const int type : {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3, CV_32FC3})
        for (const int factor : {2, 3, 7}) {
            cv::Mat image(factor * 40, factor * 30, type), ours(40, 30, type), theirs;
            cv::randu(image, 0, image.depth() == CV_8U ? 256 : image.depth() == CV_16U ? 65536 : 1);
            reduce(io::view(image), io::mutable_view(ours));
            cv::resize(image, theirs, ours.size(), 0, 0, cv::INTER_AREA);
            EXPECT_LE(cv::norm(ours.reshape(1), theirs.reshape(1), cv::NORM_INF), image.depth() == CV_32F ? 1e-6 : 1);
        }
}

TEST(Reduce, GivesTheSameBitsWithAnyThreads) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32}) {
        const Picture picture({701, 503, 4, depth}, layouts[2], Content::natural);
        Picture one({97, 70, 4, depth}, packed), many(one.shape(), packed);
        for (const ReduceWeight weight : {ReduceWeight::area, ReduceWeight::alpha}) {
            reduce(picture.view(), one.mutable_view(), weight);
            reduce(picture.view(), many.mutable_view(), weight, 7);
            EXPECT_EQ(difference(one.view(), many.view()), "");
        }
    }
}

TEST(Reduce, RefusesWhatItCannotDo) {
    Picture picture({4, 4, 3, Depth::u8}, packed, Content::ramp), larger({5, 4, 3, Depth::u8}, packed),
        words({2, 2, 3, Depth::u16}, packed), gray({2, 2, 1, Depth::u8}, packed), small({2, 2, 3, Depth::u8}, packed);
    for (Picture* output : {&larger, &words, &gray})
        EXPECT_THROW(reduce(picture.view(), output->mutable_view()), InvalidArgument);
    EXPECT_THROW(reduce(picture.view(), small.mutable_view(), ReduceWeight::alpha), InvalidArgument);
    EXPECT_THROW(reduce(picture.view(), small.mutable_view(), ReduceWeight::area, 0), InvalidArgument);
    MutableImageView device = small.mutable_view();
    device.memory = Memory::device;
    EXPECT_THROW(reduce(picture.view(), device), InvalidArgument);
    EXPECT_NO_THROW(reduce(picture.view(), small.mutable_view()));
}

}  // namespace
}  // namespace gpuhist::test
