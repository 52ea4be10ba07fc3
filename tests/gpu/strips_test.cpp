// Images that come to an engine in strips: the findings in the whole, however it is cut, in each pass anew.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/analysis_under_test.hpp"
#include "support/modes.hpp"

namespace gpuhist::test {
namespace {

/// Image of random bits, of any depth: NaN and infinities among them.
struct RandomBits {
    std::vector<std::uint64_t> memory;
    ImageView view;

    explicit RandomBits(const Shape& shape, Samples samples = Samples::color) {
        view.width = shape.width;
        view.height = shape.height;
        view.channels = shape.channels;
        view.depth = shape.depth;
        view.order = shape.order;
        view.samples = samples;
        const auto bytes = static_cast<std::int64_t>(sample_bytes(shape.depth));
        view.row_bytes = view.packed_row_bytes() + 3 * bytes;
        memory.resize(static_cast<std::size_t>(view.row_bytes * view.height / 8 + 1));
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = scramble(i);
        view.data = memory.data();
    }
};

class StripsTest : public AnalysisTest {
  protected:
    /// Findings in an image that comes in strips of up to `most_rows` rows. Counts the passes.
    Analysis in_strips(const ImageView& image, const AnalysisRequest& request, std::int64_t most_rows) {
        ImageView sides = image;
        sides.data = nullptr;
        Analysis result;
        poison(result);
        const auto analysis = engine->analyze_strips(sides, request, result);
        std::uint64_t luck = 1;
        passes_ = 0;
        do {
            ++passes_;
            for (std::int64_t y = 0, rows; y < image.height; y += rows) {
                luck = scramble(luck);
                rows = 1 + static_cast<std::int64_t>(luck % static_cast<std::uint64_t>(most_rows));
                rows = std::min(rows, image.height - y);
                ImageView strip = image;
                strip.height = rows;
                // A copy, of which nothing is left afterwards.
                std::vector<std::uint64_t> copy(static_cast<std::size_t>(image.row_bytes * rows / 8 + 1));
                std::memcpy(copy.data(), static_cast<const std::byte*>(image.data) + y * image.row_bytes,
                            static_cast<std::size_t>(image.row_bytes * (rows - 1) + image.packed_row_bytes()));
                strip.data = copy.data();
                analysis->take(strip);
                std::fill(copy.begin(), copy.end(), 0xA5A5A5A5A5A5A5A5);
            }
        } while (analysis->end_pass());
        return result;
    }

    void expect_whole(const ImageView& image, const AnalysisRequest& request, std::int64_t most_rows) {
        if (on_gpu() && traits_of(image.depth).counting == Counting::bins) {
            EXPECT_THROW(in_strips(image, request, most_rows), UnsupportedDepth);
            return;
        }
        const Analysis strips = in_strips(image, request, most_rows);
        reference->analyze(image, request, reference_result_);
        EXPECT_EQ(difference(strips, reference_result_), "");
        EXPECT_TRUE(strips == reference_result_);
        if (traits_of(image.depth).counting != Counting::sorted) return expect_all_pixels_counted(strips);
        for (const ChannelAnalysis& channel : strips.channels)
            EXPECT_EQ(channel.values.samples() + channel.nan + channel.infinite, channel.pixels);
    }

    int passes_ = 0;
};

TEST_P(StripsTest, every_depth_and_number_of_channels_is_the_whole) {
    for (const DepthTraits& depth : all_depths)
        for (const int channels : {1, 2, 3, 4, 5}) {
            SCOPED_TRACE(std::string(depth.name) + ", channels " + std::to_string(channels));
            const Samples samples = channels == 2 || channels == 5 ? Samples::bands : Samples::color;
            const RandomBits image({131, 67, channels, depth.depth, ChannelOrder::rgb}, samples);
            for (const std::int64_t rows : {1, 20, 67}) expect_whole(image.view, {}, rows);
            expect_whole(image.view, without_luma, 20);
        }
}

TEST_P(StripsTest, bands_beside_colors_are_the_whole) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32, Depth::f64})
        for (const auto& [channels, samples] :
             {std::pair(4, Samples::bands), {4, Samples::color_bands}, {6, Samples::color_bands}}) {
            const RandomBits image({131, 67, channels, depth, ChannelOrder::rgb}, samples);
            expect_whole(image.view, {}, 20);
            expect_whole(image.view, bins_over(10, Range{-1, 1}), 20);
            expect_whole(image.view, brief(), 20);
        }
}

// Strips of more pixels than one thread takes alone, and of fewer.
TEST_P(StripsTest, strips_for_several_threads_are_the_whole) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f16, Depth::f32})
        for (const int channels : {1, 3}) expect_whole(RandomBits({997, 601, channels, depth}).view, {}, 400);
}

TEST_P(StripsTest, pictures_are_what_the_oracle_finds) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (const int channels : {1, 3, 4})
            for (const Content content : contents_of(depth)) {
                if (on_gpu() && depth == Depth::f32) continue;
                const Shape shape{67, 33, channels, depth, ChannelOrder::bgr};
                SCOPED_TRACE(describe(shape, layouts[1], content));
                const Picture picture(shape, packed, content);
                const Analysis found = in_strips(picture.view(), {}, 7);
                if (depth == Depth::f32)
                    expect_float_analysis(picture.view(), {}, found);
                else
                    EXPECT_EQ(difference(found, expected_analysis(picture.view())), "");
                expect_whole(picture.view(), {}, 33);
            }
}

// A pass for the extremes, one for the bins; more about a better pivot, and for more ranks than are found at once.
TEST_P(StripsTest, floats_come_no_more_often_than_they_must) {
    if (on_gpu()) return;
    const auto passes = [&](Content content, const AnalysisRequest& request = {}) {
        const Picture picture({401, 301, 1, Depth::f32}, packed, content);
        expect_whole(picture.view(), request, 100);
        return passes_;
    };
    EXPECT_EQ(passes(Content::constant), 1);
    EXPECT_EQ(passes(Content::random), 2);
    EXPECT_EQ(passes(Content::outliers), 2);
    AnalysisRequest many;
    std::vector<double> percents;
    for (int i = 0; i < 32; ++i) percents.push_back(3.1 * i);
    many.percentiles = Percentiles(percents);
    EXPECT_GT(passes(Content::random, many), 2);
    EXPECT_EQ(passes(Content::random, brief()), 2);
    Picture far({200, 200, 1, Depth::f32}, packed, Content::gaussian);  // the median is far from the mean
    for (int y = 0; y < 90; ++y)
        for (int x = 0; x < 200; ++x) far.set(x, y, 0, 1e6);
    for (int y = 90; y < 200; ++y)
        for (int x = 0; x < 200; ++x) far.set(x, y, 0, x % 2 + 1);
    expect_whole(far.view(), {}, 50);
}

// Copies of strips, in each mode and to each depth that there are.
TEST_P(StripsTest, copies_of_strips_are_those_of_the_whole) {
    for (const Depth depth : {Depth::u8, Depth::s8, Depth::u16, Depth::f16, Depth::f32})
        for (const int channels : {1, 3, 4})
            for (const NormalizeTraits& mode : exact_modes())
                for (const bool joint : {false, true})
                    for (const std::optional<Depth>& copies : {std::optional<Depth>(), std::optional(Depth::u8)}) {
                        if (on_gpu() && depth != Depth::u8 && depth != Depth::u16) continue;
                        if (copies && mode.real) continue;
                        Normalization normalization;
                        normalization.mode = mode.mode;
                        normalization.low = 5;
                        normalization.high = 90;
                        normalization.joint = joint;
                        normalization.depth = copies;
                        const Shape shape{131, 67, channels, depth, ChannelOrder::rgb};
                        const RandomBits image(shape);
                        SCOPED_TRACE(std::string(to_string(depth)) + ", channels " + std::to_string(channels) + ", " +
                                     mode.name + (joint ? ", joint" : ""));
                        ImageView sides = image.view;
                        sides.data = nullptr;
                        Analysis result, whole;
                        if (depth == Depth::f32 && mode.needs == NormalizeNeeds::counts) {
                            EXPECT_THROW(engine->analyze_strips(sides, without_luma, result, &normalization),
                                         InvalidArgument);
                            continue;
                        }
                        const Depth written = normalized_depth(depth, normalization);
                        RandomBits expected({shape.width, shape.height, channels, written, shape.order}),
                            got = expected;
                        got.view.data = got.memory.data();
                        const auto writable = [](RandomBits& bits) {
                            const ImageView& view = bits.view;
                            return MutableImageView{bits.memory.data(), view.width,     view.height, view.channels,
                                                    view.depth,         view.row_bytes, view.order};
                        };
                        reference->normalize(image.view, without_luma, normalization, writable(expected), whole);
                        const auto analysis = engine->analyze_strips(sides, without_luma, result, &normalization);
                        const auto each_strip = [&](const auto& visit) {
                            for (std::int64_t y = 0; y < shape.height; y += 20) {
                                ImageView strip = image.view;
                                strip.data = static_cast<const std::byte*>(strip.data) + y * strip.row_bytes;
                                strip.height = std::min<std::int64_t>(20, shape.height - y);
                                visit(strip, y);
                            }
                        };
                        do each_strip([&](const ImageView& strip, std::int64_t) { analysis->take(strip); });
                        while (analysis->end_pass());
                        EXPECT_EQ(difference(result, whole), "");
                        each_strip([&](const ImageView& strip, std::int64_t y) {
                            MutableImageView output = writable(got);
                            output.data = static_cast<std::byte*>(output.data) + y * output.row_bytes;
                            output.height = strip.height;
                            analysis->copy(strip, output);
                        });
                        EXPECT_TRUE(got.memory == expected.memory);
                    }
}

TEST_P(StripsTest, what_is_not_finished_disturbs_nothing) {
    for (const Depth depth : {Depth::u16, Depth::f32}) {
        if (on_gpu() && depth == Depth::f32) continue;
        const Picture picture({400, 400, 3, depth}, packed, Content::random);
        Analysis lost;
        {
            const auto analysis = engine->analyze_strips(picture.view(), {}, lost);
            analysis->take(picture.view());
        }
        check(picture);
        expect_whole(picture.view(), {}, 100);
    }
}

TEST_P(StripsTest, arguments_are_checked) {
    Analysis result;
    ImageView image;
    image.width = 0;
    image.height = 5;
    EXPECT_THROW(engine->analyze_strips(image, {}, result), InvalidArgument);
    image.width = 5;
    EXPECT_THROW(engine->analyze_strips(image, bins_over(0), result), InvalidArgument);
    const auto analysis = engine->analyze_strips(image, {}, result);
    EXPECT_THROW(analysis->take(image), InvalidArgument);  // without pixels
    const RandomBits pixels({5, 5, 1, Depth::u8});
    std::vector<std::byte> copy(25);
    EXPECT_THROW(analysis->copy(pixels.view, {copy.data(), 5, 5, 1, Depth::u8, 5}), InvalidArgument);
    const std::vector<std::uint8_t> mask(25, 1);
    ImageView masked = pixels.view;
    masked.mask = mask.data();
    masked.mask_row_bytes = 5;
    EXPECT_THROW(analysis->take(masked), InvalidArgument);  // the image was begun without a mask
    Normalization normalization;
    normalization.low = 99;
    normalization.high = 1;
    normalization.mode = NormalizeMode::percentile;
    EXPECT_THROW(engine->analyze_strips(image, {}, result, &normalization), InvalidArgument);
    image.channels = 2;
    normalization = {};
    EXPECT_THROW(engine->analyze_strips(image, {}, result, &normalization), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Conformance, StripsTest, testing::ValuesIn(engines_under_test), label_of);

}  // namespace
}  // namespace gpuhist::test
