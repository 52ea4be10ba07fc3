// What the stream-level API finds and writes: single images, batches, lists, normalised copies, against the CPU engine.
// How it behaves beside that: stream_behaviour_test.cpp.
//
// `small` cases are few and tiny enough for compute-sanitizer: --gtest_filter='*small*'.
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "gpuhist/error.hpp"
#include "support/stream_under_test.hpp"

namespace gpuhist::test {

void StreamTest::check_images(const std::vector<Case>& cases, const AnalysisRequest& request) {
    if (left_out()) return;
    const std::size_t n = cases.size();
    DeviceImages images;
    for (const Case& c : cases) images.add(c.picture, c.at);
    images.upload();
    std::vector<ImageView> views;
    for (std::size_t i = 0; i < n; ++i) views.push_back(images[i]);

    StreamAnalyzer& subject = analyzer(cases[0].picture.shape());
    DeviceResults results(subject.layout(request), 2 * n);
    for (std::size_t i = 0; i < n; ++i) subject.enqueue(views[i], request, results.at(i), stream);
    subject.enqueue(views.data(), static_cast<std::int64_t>(n), request, results.at(n), stream);
    synchronize();
    for (std::size_t i = 0; i < n; ++i) {
        SCOPED_TRACE(describe(cases[i].picture.shape()) + ", offset " + std::to_string(cases[i].at.offset) +
                     ", padding " + std::to_string(cases[i].at.row_padding) + ", " + describe(request));
        const Expected truth = expected(cases[i].picture.view(), request);
        expect(results, i, truth, "alone");
        expect(results, n + i, truth, "in the list");
    }
    EXPECT_EQ(images.difference(), "");
    EXPECT_TRUE(results.guard_untouched());
}

void StreamTest::check_batch(const std::vector<Picture>& pictures, const Placement& at, int gap,
                             const AnalysisRequest& request) {
    if (left_out()) return;
    DeviceImages images;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        i == 0 ? images.add(pictures[0].shape(), at) : images.add_next(gap);
        images.set(i, pictures[i].view());
    }
    images.upload();
    StreamAnalyzer& subject = analyzer(pictures[0].shape());
    DeviceResults results(subject.layout(request), pictures.size());
    subject.enqueue(images.batch(), request, results.at(), stream);
    synchronize();
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        expect(results, i, expected(pictures[i].view(), request), "image");
        if (HasFailure()) break;  // one is enough to look at
    }
    EXPECT_EQ(images.difference(), "");
    EXPECT_TRUE(results.guard_untouched());
}

namespace {

/// A normalised image's tables, applied on the host: where they do not give the output.
template <class T, class O>
std::string table_difference(const ImageResult& got, const ImageView& input, const ImageView& output, bool joint) {
    constexpr std::size_t values = std::size_t{1} << 8 * sizeof(T);
    const auto* tables = reinterpret_cast<const O*>(reinterpret_cast<const char*>(&got) + got.tables_offset);
    for (std::int64_t y = 0; y < input.height; ++y)
        for (std::int64_t x = 0; x < input.width; ++x)
            for (int c = 0; c < input.channels && c < 3; ++c) {
                const std::size_t table = joint || input.channels == 1 ? 0 : static_cast<std::size_t>(c);
                O written;
                std::memcpy(&written,
                            static_cast<const char*>(output.data) + y * output.row_bytes +
                                (x * output.channels + c) * static_cast<std::int64_t>(sizeof(O)),
                            sizeof written);
                const std::uint32_t value = sample(input, x, y, c);
                const O mapped = tables[table * values + value];
                if (std::memcmp(&mapped, &written, sizeof written) == 0) continue;
                return "table " + std::to_string(table) + " maps " + std::to_string(value) + " to " +
                       std::to_string(mapped) + ", the output is " + std::to_string(written);
            }
    return {};
}
std::string table_difference(const ImageResult& got, const ImageView& input, const ImageView& output, bool joint) {
    if (input.depth == Depth::f32) return got.tables_offset ? "there is a table of f32" : "";
    const bool to_float = output.depth == Depth::f32;
    if (input.depth == Depth::u8)
        return to_float ? table_difference<std::uint8_t, float>(got, input, output, joint)
                        : table_difference<std::uint8_t, std::uint8_t>(got, input, output, joint);
    return to_float ? table_difference<std::uint16_t, float>(got, input, output, joint)
                    : table_difference<std::uint16_t, std::uint16_t>(got, input, output, joint);
}

}  // namespace

void StreamTest::check_normalized(const std::vector<Case>& cases, const Normalization& normalization,
                                  const AnalysisRequest& request) {
    if (left_out()) return;
    const std::size_t n = cases.size();
    const auto count = static_cast<std::int64_t>(n);
    const bool in_place =
        normalized_depth(cases[0].picture.shape().depth, normalization.mode) == cases[0].picture.shape().depth;
    DeviceImages images, alone, listed, replaced;
    for (const Case& c : cases) {
        const Shape shape = normalized_shape(c.picture.shape(), normalization);
        images.add(c.picture, c.at);
        alone.add(shape, {c.at.row_padding, c.at.offset});
        listed.add(shape, {c.at.offset, c.at.row_padding});
        if (in_place) replaced.add(c.picture, c.at);
    }
    for (DeviceImages* all : {&images, &alone, &listed, &replaced})
        if (all->size()) all->upload();
    std::vector<ImageView> views, replaced_views;
    std::vector<MutableImageView> listed_views, replaced_outputs;
    for (std::size_t i = 0; i < n; ++i) {
        views.push_back(images[i]);
        listed_views.push_back(listed[i]);
        if (!in_place) continue;
        replaced_views.push_back(replaced[i]);
        replaced_outputs.push_back(replaced[i]);
    }

    StreamAnalyzer& subject = analyzer(cases[0].picture.shape());
    DeviceResults results(subject.layout(request, &normalization), 3 * n);
    for (std::size_t i = 0; i < n; ++i)
        subject.enqueue_normalized(views[i], alone[i], request, normalization, results.at(i), stream);
    subject.enqueue_normalized(views.data(), listed_views.data(), count, request, normalization, results.at(n), stream);
    if (in_place)
        subject.enqueue_normalized(replaced_views.data(), replaced_outputs.data(), count, request, normalization,
                                   results.at(2 * n), stream);
    synchronize();
    for (std::size_t i = 0; i < n; ++i) {
        const Picture& picture = cases[i].picture;
        SCOPED_TRACE(describe(picture.shape()) + ", offset " + std::to_string(cases[i].at.offset) + ", padding " +
                     std::to_string(cases[i].at.row_padding) + ", " + describe(normalization) + ", " +
                     describe(request));
        Picture output(normalized_shape(picture.shape(), normalization), packed);
        const Expected truth = expected(picture.view(), request, normalization, output);
        for (DeviceImages* all : {&alone, &listed, &replaced})
            if (all->size()) all->set(i, output.view());
        for (std::size_t way = 0; way < (in_place ? 3 : 2); ++way) {
            expect(results, way * n + i, truth);
            EXPECT_EQ(table_difference(results.fetch(way * n + i), picture.view(), output.view(), normalization.joint),
                      "");
        }
    }
    EXPECT_EQ(images.difference(), "") << "the input";
    EXPECT_EQ(alone.difference(), "") << "each alone";
    EXPECT_EQ(listed.difference(), "") << "as a list";
    if (in_place) {
        EXPECT_EQ(replaced.difference(), "") << "as a list in place";
    }
    EXPECT_TRUE(results.guard_untouched());
}

void StreamTest::check_normalized_batch(const std::vector<Picture>& pictures, const Placement& at, int gap,
                                        const Normalization& normalization, const AnalysisRequest& request) {
    if (left_out()) return;
    SCOPED_TRACE(describe(normalization));
    const Shape shape = pictures[0].shape(), output_shape = normalized_shape(shape, normalization);
    const bool in_place = shape.depth == output_shape.depth;
    DeviceImages images, outputs, replaced;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        for (DeviceImages* all : {&images, &replaced}) {
            i == 0 ? all->add(shape, at) : all->add_next(gap);
            all->set(i, pictures[i].view());
        }
        i == 0 ? outputs.add(output_shape, {at.row_padding, at.offset}) : outputs.add_next(gap / 2);
    }
    for (DeviceImages* all : {&images, &outputs, &replaced}) all->upload();
    StreamAnalyzer& subject = analyzer(shape);
    DeviceResults results(subject.layout(request, &normalization), 2 * pictures.size());
    subject.enqueue_normalized(images.batch(), outputs.batch(), request, normalization, results.at(), stream);
    if (in_place)
        subject.enqueue_normalized(replaced.batch(), replaced.batch(), request, normalization,
                                   results.at(pictures.size()), stream);
    synchronize();
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        Picture output(output_shape, packed);
        const Expected truth = expected(pictures[i].view(), request, normalization, output);
        outputs.set(i, output.view());
        if (in_place) replaced.set(i, output.view());
        for (std::size_t way = 0; way < (in_place ? 2 : 1); ++way) {
            expect(results, way * pictures.size() + i, truth, "image");
            EXPECT_EQ(table_difference(results.fetch(way * pictures.size() + i), pictures[i].view(), output.view(),
                                       normalization.joint),
                      "");
        }
        if (HasFailure()) break;  // one is enough to look at
    }
    EXPECT_EQ(images.difference(), "") << "the input";
    EXPECT_EQ(outputs.difference(), "") << "the output";
    EXPECT_EQ(replaced.difference(), "") << "in place";
    EXPECT_TRUE(results.guard_untouched());
}

namespace {

constexpr Depth depths[] = {Depth::u8, Depth::u16, Depth::f32};
constexpr int channel_counts[] = {1, 3, 4};

struct Size {
    std::int64_t width, height;
};
constexpr Size small_sizes[] = {{1, 1}, {1, 15}, {15, 1}, {16, 16}, {17, 5}, {83, 41}};
constexpr Size medium_sizes[] = {{10000, 1}, {1, 1000}, {257, 129}, {640, 480}, {1201, 803}};

std::vector<ChannelOrder> orders_of(int channels) {
    return channels == 1 ? std::vector{ChannelOrder::bgr} : std::vector{ChannelOrder::bgr, ChannelOrder::rgb};
}
AnalysisRequest without_luma() {
    AnalysisRequest request;
    request.luma_histogram = false;
    return request;
}

INSTANTIATE_TEST_SUITE_P(Stream, StreamTest, testing::ValuesIn(paths), label_of_path);

// ---- images --------------------------------------------------------------------------------------------------------

TEST_P(StreamTest, small_every_content) {
    std::size_t turn = 0;
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (ChannelOrder order : orders_of(channels))
                for (const Size& size : small_sizes) {
                    std::vector<Case> cases;
                    for (std::size_t kind = 0; kind < kinds(depth); ++kind)
                        cases.push_back(
                            {picture_of({size.width, size.height, channels, depth, order}, kind), placement(turn++)});
                    check_images(cases);
                    ASSERT_FALSE(HasFailure());
                }
}

TEST_P(StreamTest, small_every_alignment) {
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (std::int64_t width : {1, 16, 51}) {
                std::vector<Case> cases;
                for (int offset = 0; offset <= 16; ++offset)
                    cases.push_back({picture_of({width + offset % 3, 1 + offset % 4, channels, depth},
                                                static_cast<std::size_t>(offset) % kinds(depth)),
                                     {offset, offset * 3 % 7}});
                check_images(cases);
                ASSERT_FALSE(HasFailure());
            }
}

TEST_P(StreamTest, medium_every_size) {
    std::size_t turn = 0;
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (ChannelOrder order : orders_of(channels)) {
                std::vector<Case> cases;
                for (const Size& size : medium_sizes)
                    for (int i = 0; i < 3; ++i, ++turn)
                        cases.push_back(
                            {picture_of({size.width, size.height, channels, depth, order}, turn % kinds(depth)),
                             placement(turn)});
                check_images(cases);
                ASSERT_FALSE(HasFailure());
            }
}

TEST_P(StreamTest, twelve_megapixels) {
    const struct {
        int channels;
        Depth depth;
        Placement at;
        Content content;
    } cases[] = {
        {3, Depth::u8, {0, 0}, Content::random},     {1, Depth::u8, {0, 0}, Content::constant},
        {4, Depth::u8, {5, 3}, Content::two_values}, {1, Depth::u16, {0, 0}, Content::highest},
        {1, Depth::u16, {3, 1}, Content::constant},  {3, Depth::u16, {0, 0}, Content::random},
        {4, Depth::u16, {0, 0}, Content::constant},  {1, Depth::f32, {3, 5}, Content::outliers},
        {3, Depth::f32, {0, 0}, Content::constant},
    };
    for (const auto& c : cases) {
        std::vector<Case> one;
        one.push_back({Picture({4000, 3000, c.channels, c.depth}, packed, c.content), c.at});
        check_images(one);
    }
}

// So large that a block's warps take turns. One row, whose first and last pixels may belong to no group.
TEST_P(StreamTest, hundreds_of_megabytes) {
    for (const Placement& at : {Placement{0, 0}, Placement{4, 0}}) {
        std::vector<Case> one;
        one.push_back({Picture({15001, 14003, 1, Depth::u8}, packed, Content::random), at});
        check_images(one);
    }
}

// One value so often that counters of 8 and 16 bits, alone or packed in pairs, would overflow.
TEST_P(StreamTest, equal_values_past_the_width_of_a_counter) {
    for (Depth depth : depths)
        for (Content content : {Content::lowest, Content::constant, Content::highest}) {
            std::vector<Case> cases;
            for (std::int64_t pixels : {255, 256, 257, 65535, 65536, 65537, 131071, 131072, 200000})
                cases.push_back({Picture({pixels, 1, 1, depth}, packed, content), {}});
            check_images(cases);
        }
}

TEST_P(StreamTest, small_without_luma_histogram) {
    std::size_t turn = 0;
    for (Depth depth : depths)
        for (int channels : channel_counts) {
            std::vector<Case> cases;
            for (std::size_t kind = 0; kind < kinds(depth); ++kind)
                cases.push_back(
                    {picture_of({123, 45, channels, depth, orders_of(channels).back()}, kind), placement(turn++)});
            check_images(cases, without_luma());
        }
}

TEST_P(StreamTest, small_bins_and_range_do_not_matter_to_integers) {
    AnalysisRequest request;
    request.bins = 7;
    request.range = Range{10, 20};
    request.detail = Detail::brief;
    for (Depth depth : {Depth::u8, Depth::u16}) {
        std::vector<Case> cases;
        cases.push_back({picture_of({67, 31, 3, depth}, 5), {}});
        check_images(cases, request);
        request.bins = 100000;  // more than the plan has
        check_images(cases, request);
    }
}

AnalysisRequest float_request(Detail detail, std::uint32_t bins, const std::optional<Range>& range) {
    AnalysisRequest request;
    request.detail = detail;
    request.bins = bins;
    request.range = range;
    return request;
}

TEST_P(StreamTest, small_float_requests) {
    std::size_t turn = 0;
    for (Detail detail : {Detail::full, Detail::brief})
        for (std::uint32_t bins : {1, 256, 1000})
            for (const std::optional<Range>& range : {std::optional<Range>(), std::optional<Range>({-0.1, 0.75})})
                for (int channels : channel_counts) {
                    const AnalysisRequest request = float_request(detail, bins, range);
                    std::vector<Case> cases;
                    for (std::size_t kind = 0; kind < kinds(Depth::f32); ++kind)
                        cases.push_back({picture_of({61, 17, channels, Depth::f32}, kind), placement(turn++)});
                    check_images(cases, request);
                    ASSERT_FALSE(HasFailure());
                }
}

TEST_P(StreamTest, medium_float_requests) {
    for (Detail detail : {Detail::full, Detail::brief})
        for (std::uint32_t bins : {2, 255, 257, 4096, 65536})
            for (const std::optional<Range>& range :
                 {std::optional<Range>(), std::optional<Range>({-1, 1}), std::optional<Range>({9999999.5, 1e7 + 0.75}),
                  std::optional<Range>({0.25, 0.3})}) {
                const AnalysisRequest request = float_request(detail, bins, range);
                std::vector<Case> gray, color;
                for (std::size_t kind = 0; kind < kinds(Depth::f32); ++kind)
                    if (kind % 2)
                        gray.push_back({picture_of({257, 129, 1, Depth::f32}, kind), {}});
                    else
                        color.push_back({picture_of({257, 129, 3, Depth::f32}, kind), {}});
                check_images(gray, request);
                check_images(color, request);
                ASSERT_FALSE(HasFailure());
            }
}

// So large that what a sample of the pixels lets expect of them may spare a second sweep. It must not show where one
// pixel that is not in the sample is as expected, and where it is not.
class StreamGuessTest : public StreamTest {
  protected:
    static constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                           infinity = std::numeric_limits<float>::infinity();

    /// Of at least so many samples, each `value(bits, channel)` of bits that follow from those before.
    template <class Value>
    static Picture scattered(std::int64_t samples, int channels, std::uint64_t bits, Value value) {
        const std::int64_t width = 4099, height = samples / channels / width + 2;
        Picture picture({width, height, channels, Depth::f32}, packed);
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x)
                for (int c = 0; c < channels; ++c) picture.set(x, y, c, value(bits = scramble(bits), c));
        return picture;
    }
    /// Values of 8 bits: of the first of several channels from 0.25 to 0.5, of the others from 0 to 1.
    static Picture quantized(int channels) {
        return scattered(std::int64_t{1} << 24, channels, 7, [channels](std::uint64_t bits, int c) {
            const double value = static_cast<double>(bits % 256) / 255;
            return channels > 1 && c == 0 ? 0.25 + value / 4 : value;
        });
    }
    static float sample_at(const Picture& picture, std::int64_t x, std::int64_t y, int channel) {
        const ImageView view = picture.view();
        float value;
        std::memcpy(&value,
                    static_cast<const char*>(view.data) + y * view.row_bytes + (x * view.channels + channel) * 4,
                    sizeof value);
        return value;
    }
    enum class Guess { right, wrong };
    /// With `value` in one channel of two pixels: one amid others that are not sampled, and the last. An analyser whose
    /// guess was right keeps nothing of it.
    void check_with(Picture& picture, int channel, float value, Guess guess, const Placement& at = {}) {
        SCOPED_TRACE("channel " + std::to_string(channel) + " with " + std::to_string(value));
        const Shape shape = picture.shape();
        const std::int64_t amid = (shape.height / 2 * shape.width / 2944 * 23 + 11) * 128;
        const std::pair<std::int64_t, std::int64_t> places[] = {{amid % shape.width, amid / shape.width},
                                                                {shape.width - 1, shape.height - 1}};
        std::vector<float> before;
        for (const auto& [x, y] : places) {
            before.push_back(sample_at(picture, x, y, channel));
            picture.set(x, y, channel, value);
        }
        forget_analyzers();
        const bool guesses = shape.channels == 1 || GetParam().shared_bytes == 0;
        std::vector<char> kept_before;
        if (guesses && !left_out()) kept_before = kept(shape);
        std::vector<Case> one;
        one.push_back({std::move(picture), at});
        check_images(one, float_request(Detail::brief, 256, {}));
        picture = std::move(one[0].picture);
        if (!kept_before.empty()) {
            EXPECT_EQ(kept_before == kept(shape), guess == Guess::right);
        }
        for (std::size_t i = 0; i < before.size(); ++i)
            picture.set(places[i].first, places[i].second, channel, before[i]);
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamGuessTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamGuessTest, that_is_right) {
    for (int channels : channel_counts) {
        Picture picture = quantized(channels);
        check_with(picture, 0, 0.25f, Guess::right);
        check_with(picture, 0, 0.375f, Guess::right, {1, 5});
        check_with(picture, channels - 1, 1e-30f, Guess::right);  // so small that it has a rest
        if (channels > 1) {  // this channel's range is another, but not that of all
            check_with(picture, 0, 0.125f, Guess::right);
            check_with(picture, 0, 0.4999f, Guess::right, {3, 0});
        }
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(StreamGuessTest, that_is_wrong) {
    for (int channels : channel_counts) {
        Picture picture = quantized(channels);
        for (float value : {1.5f, -0.001f, nan, infinity}) check_with(picture, channels - 1, value, Guess::wrong);
        if (channels > 1)  // the power of two that this channel's sums are in units of
            check_with(picture, 0, 1.0f, Guess::wrong);
        check_with(picture, channels / 2, -infinity, Guess::wrong, {1, 3});
        ASSERT_FALSE(HasFailure());
    }
}

// After one that is wrong, analyses do without for some time.
TEST_P(StreamGuessTest, again_after_one_that_was_wrong) {
    if (left_out()) return;
    const Picture right = quantized(3);
    Picture wrong = quantized(3);
    wrong.set(wrong.shape().width - 1, wrong.shape().height - 1, 1, 7);
    DeviceImages images;
    images.add(right);
    images.add(wrong);
    images.upload();
    const AnalysisRequest request = float_request(Detail::brief, 256, {});
    const Expected truths[] = {expected(right.view(), request), expected(wrong.view(), request)};
    const ImageView views[] = {images[0], images[1]};
    StreamAnalyzer& subject = analyzer(right.shape());
    constexpr std::size_t turns = 40;
    DeviceResults results(subject.layout(request), turns);
    const auto shown = [](std::size_t turn) { return turn == 1 || turn == 19 ? 1u : 0u; };
    for (std::size_t i = 0; i < turns; ++i) subject.enqueue(views[shown(i)], request, results.at(i), stream);
    synchronize();
    for (std::size_t i = 0; i < turns; ++i) expect(results, i, truths[shown(i)]);
}

TEST_P(StreamGuessTest, before_a_normalized_copy) {
    for (int channels : {1, 3})
        for (float value : {0.25f, 1.5f}) {
            Picture picture = quantized(channels);
            picture.set(picture.shape().width - 1, picture.shape().height - 1, 0, value);
            forget_analyzers();
            std::vector<Case> one;
            one.push_back({std::move(picture), {}});
            check_normalized(one, {NormalizeMode::minmax, 1, 99, true}, float_request(Detail::brief, 256, {}));
        }
}

// Pixels of so many values that the sample's extremes are not quite the image's: bins are counted by edges that are
// not known yet, and what lies close to these once more.
class StreamUnclippedGuessTest : public StreamGuessTest {
  protected:
    /// Values from `lower` to `upper`; every fourth is `clipped`, where that is given.
    static Picture unclipped(int channels, double lower, double upper, std::optional<double> clipped = {}) {
        return scattered(std::int64_t{1} << 26, channels, 11, [&](std::uint64_t bits, int) {
            const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
            return clipped && bits % 4 == 0 ? *clipped : lower + (upper - lower) * unit;
        });
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamUnclippedGuessTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamUnclippedGuessTest, that_is_right) {
    for (int channels : {1, 3}) {
        Picture picture = unclipped(channels, 0, 0.9);
        check_with(picture, 0, 0.5f, Guess::right);
        check_with(picture, channels - 1, 0.9f, Guess::right);  // a little beyond the sample
        check_with(picture, channels / 2, 1e-30f, Guess::right, {1, 5});
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(StreamUnclippedGuessTest, that_is_wrong) {
    for (int channels : {1, 3}) {
        Picture picture = unclipped(channels, 0, 0.9);
        for (float value : {0.95f, -0.001f, nan}) check_with(picture, channels - 1, value, Guess::wrong);
        ASSERT_FALSE(HasFailure());
    }
    Picture picture = unclipped(1, 0, 1 - 0x1p-22);
    check_with(picture, 0, 1.0f, Guess::wrong);  // a little beyond the sample, but the next power of two
}

TEST_P(StreamUnclippedGuessTest, that_is_clipped_at_one_end) {
    for (double end : {0.0, 1.0}) {
        Picture picture = unclipped(1, 0, 1 - 0x1p-20, end);
        check_with(picture, 0, 0.25f, Guess::right);
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(StreamUnclippedGuessTest, of_other_ranges) {
    const std::pair<double, double> ranges[] = {{-1, 1}, {285, 295}, {-3e-20, 1e-20}, {-3e38, 3e38}, {1000, 1000.01}};
    std::uint32_t bins = 1;
    for (const auto& [lower, upper] : ranges) {
        std::vector<Case> one;
        one.push_back({unclipped(bins == 7 ? 3 : 1, lower, upper), {}});
        check_images(one, float_request(Detail::brief, bins, {}));
        ASSERT_FALSE(HasFailure()) << lower << " to " << upper << ", " << bins << " bins";
        bins = bins == 1 ? 7 : bins == 7 ? 256 : 1;
    }
}

// More lie close to an edge than a block has room to list; and what it has listed is in no later result.
TEST_P(StreamUnclippedGuessTest, with_a_crowd_at_an_edge) {
    if (left_out()) return;
    for (int channels : {1, 4}) {
        const Picture first = unclipped(channels, 0, 0.9);  // up to 1, guesses would be wrong without the crowd
        Picture crowded = unclipped(channels, 0, 0.9);
        for (std::int64_t y = 0; y < crowded.shape().height; ++y)
            for (std::int64_t x = y % 2; x < crowded.shape().width; x += 2) crowded.set(x, y, 0, 0.45);
        DeviceImages images;
        images.add(first);
        images.add(crowded);
        images.upload();
        StreamAnalyzer& subject = analyzer(first.shape());
        // The one that is wrong comes last: after it one image goes without a guess.
        for (const Picture* picture : std::initializer_list<const Picture*>{&first, &crowded})
            for (Detail detail : {Detail::brief, Detail::full}) {
                const AnalysisRequest request = float_request(detail, 256, {});
                DeviceResults results(subject.layout(request), 1);
                subject.enqueue(images[picture == &first ? 0 : 1], request, results.at(), stream);
                synchronize();
                expect(results, 0, expected(picture->view(), request));
            }
    }
}

TEST_P(StreamTest, most_bins) {
    const Picture picture = picture_of({640, 480, 3, Depth::f32}, 9);
    DeviceImages images;
    images.add(picture);
    images.upload();
    StreamPlan plan = plan_of(Depth::f32, 3);
    plan.bins = 1u << 24;
    StreamAnalyzer subject(plan);
    for (std::uint32_t bins : {1u << 24, 256u}) {
        AnalysisRequest request;
        request.bins = bins;
        DeviceResults results(subject.layout(request), 1);
        subject.enqueue(images[0], request, results.at(), stream);
        synchronize();
        expect(results, 0, expected(picture.view(), request));
    }
}

// ---- batches -------------------------------------------------------------------------------------------------------

std::vector<Picture> pictures_of(const Shape& shape, std::size_t count) {
    std::vector<Picture> pictures;
    for (std::size_t i = 0; i < count; ++i) pictures.push_back(picture_of(shape, i % kinds(shape.depth), i));
    return pictures;
}

struct BatchLayout {
    Placement at;
    int gap;
};
constexpr BatchLayout batch_layouts[] = {{{0, 0}, 0}, {{3, 0}, 5}, {{1, 7}, 13}, {{0, 16}, 64}};

TEST_P(StreamTest, small_batches) {
    std::size_t turn = 0;
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (std::size_t count : {1, 2, 3, 9})
                for (const Size& size : {Size{1, 1}, {5, 3}, {17, 9}}) {
                    const BatchLayout& layout = batch_layouts[turn++ % std::size(batch_layouts)];
                    const Shape shape{size.width, size.height, channels, depth, orders_of(channels).back()};
                    SCOPED_TRACE(describe(shape) + " x " + std::to_string(count));
                    check_batch(pictures_of(shape, count), layout.at, layout.gap);
                    ASSERT_FALSE(HasFailure());
                }
}

TEST_P(StreamTest, medium_batches) {
    std::size_t turn = 0;
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (std::size_t count : {2, 37, 300})
                for (const Size& size : {Size{1, 1}, {64, 48}, {320, 240}}) {
                    if (size.width * static_cast<std::int64_t>(count) > 64 * 300) continue;
                    const BatchLayout& layout = batch_layouts[turn++ % std::size(batch_layouts)];
                    const Shape shape{size.width, size.height, channels, depth};
                    SCOPED_TRACE(describe(shape) + " x " + std::to_string(count));
                    check_batch(pictures_of(shape, count), layout.at, layout.gap,
                                turn % 2 ? AnalysisRequest{} : without_luma());
                    ASSERT_FALSE(HasFailure());
                }
}

// So many that every block has several; of u16 each is then one block's, whatever its size.
TEST_P(StreamTest, batches_of_more_images_than_blocks) {
    check_batch(pictures_of({300, 300, 1, Depth::u16}, 700), {0, 0}, 0);
    check_batch(pictures_of({64, 40, 3, Depth::u16}, 700), {1, 0}, 3);
    check_batch(pictures_of({31, 33, 1, Depth::f32}, 700), {1, 0}, 3);
    for (int channels : channel_counts)
        for (const AnalysisRequest& request : {AnalysisRequest{}, without_luma()})
            check_batch(pictures_of({31, 33, channels, Depth::u8}, 2000), {1, 2}, 3, request);
}

// The sum of the squares of 66051 white samples of 8 bits is the last that fits 32 bits.
TEST_P(StreamTest, batches_about_the_limit_of_narrow_sums) {
    if (left_out()) return;
    for (int channels : channel_counts)
        for (std::int64_t pixels : {66051, 66052}) {
            std::vector<Picture> white;
            for (int i = 0; i < (channels == 1 ? 1056 : 528); ++i)
                white.emplace_back(Shape{pixels, 1, channels, Depth::u8}, packed, Content::highest);
            check_batch(white, {0, 0}, 0, without_luma());
        }
}

TEST_P(StreamTest, batch_of_large_and_of_thin_images) {
    for (Depth depth : depths) {
        check_batch(pictures_of({1201, 803, 3, depth}, 5), {1, 3}, 11);
        check_batch(pictures_of({70000, 1, 1, depth}, 3), {0, 0}, 1);
        check_batch(pictures_of({1, 3000, 4, depth}, 40), {2, 5}, 1);
    }
}

TEST_P(StreamTest, small_float_batches_brief_and_in_a_range) {
    for (Detail detail : {Detail::full, Detail::brief})
        for (const std::optional<Range>& range : {std::optional<Range>(), std::optional<Range>({0.2, 0.75})}) {
            const AnalysisRequest request = float_request(detail, 100, range);
            check_batch(pictures_of({33, 21, 3, Depth::f32}, 9), {3, 1}, 2, request);
            check_batch(pictures_of({5, 3, 1, Depth::f32}, 17), {0, 0}, 0, request);
        }
}

// ---- lists ---------------------------------------------------------------------------------------------------------

/// A few images from one pixel to a megapixel, and what is to be found in each, whichever channel is called red.
struct Summary {
    std::vector<Picture> pictures;
    DeviceImages images;
    std::vector<Expected> truths[2];

    ImageView view(std::size_t i, ChannelOrder order = ChannelOrder::bgr) const {
        ImageView view = images[i % pictures.size()];
        view.order = order;
        return view;
    }
    const Expected& truth(std::size_t i, ChannelOrder order = ChannelOrder::bgr) const {
        return truths[static_cast<std::size_t>(order)][i % pictures.size()];
    }
};

class StreamListTest : public StreamTest {
  protected:
    std::unique_ptr<Summary> pool_of(Depth depth, int channels, const AnalysisRequest& request = {}) {
        constexpr Size sizes[] = {{1, 1},   {64, 48}, {3, 1},   {211, 97},  {1, 7}, {17, 5},
                                  {33, 33}, {256, 1}, {16, 16}, {300, 260}, {2, 2}, {1201, 803}};
        auto pool = std::make_unique<Summary>();
        std::size_t turn = 0;
        for (const Size& size : sizes) {
            pool->pictures.push_back(picture_of({size.width, size.height, channels, depth}, turn % kinds(depth), turn));
            pool->images.add(pool->pictures.back(), placement(turn++));
        }
        pool->images.upload();
        for (const Picture& picture : pool->pictures)
            for (ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb}) {
                ImageView view = picture.view();
                view.order = order;
                pool->truths[static_cast<std::size_t>(order)].push_back(expected(view, request));
            }
        return pool;
    }
    /// `count` views from the pool, with the largest of it now and then; `orders`: runs of both orders.
    void check_list(const Summary& pool, std::size_t count, bool orders, const AnalysisRequest& request = {}) {
        if (left_out()) return;
        SCOPED_TRACE(std::to_string(count) + " views like " + describe(pool.pictures[0].shape()));
        std::vector<ImageView> views;
        std::vector<const Expected*> truths;
        auto order = ChannelOrder::bgr;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t bits = scramble(count * 1000 + i);
            if (orders && bits % 7 == 0) order = order == ChannelOrder::bgr ? ChannelOrder::rgb : ChannelOrder::bgr;
            const std::size_t largest = pool.pictures.size() - 1;
            const std::size_t choice = i == 1 || bits % 101 == 0 ? largest : (bits >> 8) % largest;
            views.push_back(pool.view(choice, order));
            truths.push_back(&pool.truth(choice, order));
        }
        check_views(views, truths, request);
    }
    void check_views(const std::vector<ImageView>& views, const std::vector<const Expected*>& truths,
                     const AnalysisRequest& request = {}) {
        StreamAnalyzer& subject = analyzer(views[0].depth, views[0].channels);
        DeviceResults results(subject.layout(request), views.size());
        subject.enqueue(views.data(), static_cast<std::int64_t>(views.size()), request, results.at(), stream);
        synchronize();
        for (std::size_t i = 0; i < views.size() && !HasFailure(); ++i)
            EXPECT_EQ(difference(results.fetch(i), results.layout(), *truths[i]), "") << "view " << i;
        EXPECT_TRUE(results.guard_untouched());
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamListTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamListTest, of_mixed_sizes) {
    for (Depth depth : depths)
        for (int channels : channel_counts) {
            const auto pool = pool_of(depth, channels);
            for (std::size_t count : {1, 2, 13, 255, 256, 257, 600}) {
                if (depth == Depth::u16 && channels == 4 && count > 257) continue;  // 2.6 MB a result
                check_list(*pool, count, false);
                if (channels > 1 && count > 1) check_list(*pool, count, true);
                ASSERT_FALSE(HasFailure());
            }
            EXPECT_EQ(pool->images.difference(), "");
        }
}

TEST_P(StreamListTest, of_mixed_sizes_without_luma_and_brief) {
    AnalysisRequest request = without_luma();
    request.detail = Detail::brief;
    for (Depth depth : depths) {
        const auto pool = pool_of(depth, 3, request);
        for (std::size_t count : {2, 13, 257}) check_list(*pool, count, true, request);
    }
}

TEST_P(StreamListTest, small_of_mixed_orders) {
    for (Depth depth : depths) {
        std::vector<Case> cases;
        for (std::size_t i = 0; i < 9; ++i)
            cases.push_back({picture_of({3 + static_cast<std::int64_t>(i * 5), 7, 3, depth,
                                         i % 4 == 1 ? ChannelOrder::rgb : ChannelOrder::bgr},
                                        i),
                             placement(i)});
        check_images(cases);
    }
}

// Equal distances, upwards, downwards or none at all, for all views or for a part of them.
TEST_P(StreamListTest, that_is_a_tensor) {
    for (Depth depth : depths)
        for (std::size_t count : {2, 9, 300}) {
            if (left_out()) continue;
            const std::vector<Picture> pictures = pictures_of({33, 21, 3, depth}, std::min<std::size_t>(count, 20));
            DeviceImages images;
            std::vector<Expected> truths;
            for (std::size_t i = 0; i < count; ++i) {
                const Picture& picture = pictures[i % pictures.size()];
                i == 0 ? images.add(picture, {3, 5}) : images.add_next(11);
                images.set(i, picture.view());
                if (i < pictures.size()) truths.push_back(expected(picture.view()));
            }
            images.upload();
            std::vector<ImageView> views;
            std::vector<const Expected*> expected_of;
            auto append = [&](std::size_t i) {
                views.push_back(images[i]);
                expected_of.push_back(&truths[i % pictures.size()]);
            };
            auto check = [&](const char* what) {
                SCOPED_TRACE(std::string(what) + " of " + std::to_string(count) + " " + to_string(depth));
                check_views(views, expected_of);
                views.clear();
                expected_of.clear();
            };
            for (std::size_t i = 0; i < count; ++i) append(i);
            check("upwards");
            for (std::size_t i = count; i-- > 0;) append(i);
            check("downwards");
            for (std::size_t i = 0; i < count; ++i) append(1);
            check("the same again and again");
            for (std::size_t i = 0; i < count; i += 2) append(i);
            append(1);
            check("every second, and another");
            append(1);
            append(1);
            for (std::size_t i = 0; i < count; ++i) append(i);
            for (std::size_t i = count; i-- > 0;) append(i);
            check("up and down");
            EXPECT_EQ(images.difference(), "");
        }
}

TEST_P(StreamListTest, small_that_is_empty) {
    StreamAnalyzer& subject = analyzer(Depth::u8, 3);
    DeviceResults results(subject.layout(), 1);
    subject.enqueue(static_cast<const ImageView*>(nullptr), 0, {}, results.at(), stream);
    subject.enqueue_normalized(nullptr, nullptr, 0, {}, {}, results.at(), stream);
    synchronize();
    EXPECT_NE(results.fetch().ready, 1u);
}

// ---- normalised ----------------------------------------------------------------------------------------------------

TEST_P(StreamTest, small_normalized) {
    std::size_t turn = 0;
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (const Normalization& normalization : normalizations(channels)) {
                std::vector<Case> cases;
                for (const Size& size : {Size{1, 1}, {1, 15}, {15, 1}, {16, 16}, {37, 11}})
                    for (int i = 0; i < 3; ++i, turn += 7)
                        cases.push_back({picture_of({size.width, size.height, channels, depth,
                                                     orders_of(channels)[turn % orders_of(channels).size()]},
                                                    turn % kinds(depth)),
                                         placement(turn / 3)});
                check_normalized(cases, normalization);
                ASSERT_FALSE(HasFailure());
            }
}

TEST_P(StreamTest, small_normalized_at_every_alignment) {
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (NormalizeMode mode : {NormalizeMode::minmax, NormalizeMode::zscore}) {
                std::vector<Case> cases;
                for (int offset = 0; offset <= 16; ++offset)
                    cases.push_back({picture_of({50 + offset % 5, 3, channels, depth}, 5), {offset, offset * 5 % 17}});
                check_normalized(cases, {mode, 1, 99, channels == 3});
                ASSERT_FALSE(HasFailure());
            }
}

TEST_P(StreamTest, medium_normalized) {
    std::size_t turn = 0;
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (const Normalization& normalization : normalizations(channels)) {
                std::vector<Case> cases;
                for (const Size& size : {Size{641, 203}, {257, 300}, {10000, 1}, {1, 1000}, {17, 5}}) {
                    cases.push_back({picture_of({size.width, size.height, channels, depth,
                                                 orders_of(channels)[turn % orders_of(channels).size()]},
                                                turn % kinds(depth)),
                                     placement(turn)});
                    ++turn;
                }
                check_normalized(cases, normalization, turn % 2 ? AnalysisRequest{} : without_luma());
                ASSERT_FALSE(HasFailure());
            }
}

TEST_P(StreamTest, normalized_twelve_megapixels) {
    for (Depth depth : depths) {
        std::vector<Case> cases;
        cases.push_back({Picture({4000, 3000, 3, depth}, packed, Content::random), {}});
        check_normalized(cases, {NormalizeMode::percentile, 1, 99, true});
        check_normalized(cases, {NormalizeMode::equalize, 1, 99, true}, without_luma());
        check_normalized(cases, {NormalizeMode::zscore, 1, 99, false});
    }
}

/// What blocks have room for of an image stays in their shared memory: all of it, with and without pixels that no group
/// holds, or only its beginning; of one that begins anywhere nothing.
TEST_P(StreamTest, normalized_that_is_kept) {
    for (int channels : channel_counts)
        for (int pixels : {15, 16, 17, 16 * 1024, 16 * 1024 + 31, 300001, 3000016, 9000013}) {
            const bool large = pixels > 1000000;
            std::vector<Case> cases;
            for (int offset : {0, 16, 4})
                if (!large || offset == 0)
                    cases.push_back({Picture({pixels, 1, channels, Depth::u8}, packed, Content::random), {offset, 0}});
            for (const Normalization& normalization : normalizations(channels))
                if (!large || normalization.mode == NormalizeMode::percentile)
                    check_normalized(cases, normalization, pixels % 2 ? AnalysisRequest{} : without_luma());
            ASSERT_FALSE(HasFailure());
        }
    std::vector<Case> more;
    more.push_back({Picture({27000011, 1, 1, Depth::u8}, packed, Content::random), {}});
    check_normalized(more, {NormalizeMode::minmax, 1, 99, true});
}

// Of 16 bits, grey alone.
TEST_P(StreamTest, normalized_words_that_are_kept) {
    for (int pixels : {7, 8, 1025, 300001, 5200008, 9000013})
        for (Content content : {Content::random, Content::natural, Content::constant})
            for (const Normalization& normalization : normalizations(1)) {
                if (pixels > 1000000 && normalization.mode != NormalizeMode::minmax &&
                    (normalization.mode != NormalizeMode::equalize || content != Content::random))
                    continue;
                if (left_out()) continue;
                std::vector<Case> one;
                one.push_back({Picture({pixels, 1, 1, Depth::u16}, packed, content), {pixels % 2 ? 0 : 16, 0}});
                check_normalized(one, normalization);
                ASSERT_FALSE(HasFailure());
            }
}

/// Brief analyses of floats keep an image that blocks have room for as a whole, whether or not it is normalised.
class StreamKeptFloatsTest : public StreamTest {
  protected:
    void check(Picture picture, int offset, const std::vector<Normalization>& modes, const AnalysisRequest& request) {
        if (left_out()) return;
        std::vector<Case> one;
        one.push_back({std::move(picture), {offset, 0}});
        check_images(one, request);
        for (const Normalization& normalization : modes) check_normalized(one, normalization, request);
        ASSERT_FALSE(HasFailure());
    }
    void check(const Shape& shape, Content content, int offset, const std::vector<Normalization>& modes,
               const AnalysisRequest& request) {
        check(Picture(shape, packed, content), offset, modes, request);
    }
};

INSTANTIATE_TEST_SUITE_P(Stream, StreamKeptFloatsTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamKeptFloatsTest, small_of_all_contents) {
    for (int channels : channel_counts)
        for (std::size_t kind = 0; kind < kinds(Depth::f32); ++kind)
            for (int pixels : {3, 4, 7, 1027})
                check(picture_of({pixels, 1, channels, Depth::f32}, kind), 0, normalizations(channels),
                      float_request(Detail::brief, 256, {}));
}

TEST_P(StreamKeptFloatsTest, of_many_sizes) {
    for (int channels : channel_counts)
        for (int pixels : {16 * 1024 - 1, 16 * 1024 + 31, 100003, 300001})
            for (Content content : {Content::random, Content::specials, Content::constant})
                for (int offset : {0, 4})
                    check({pixels, 1, channels, Depth::f32}, content, offset, normalizations(channels),
                          float_request(Detail::brief, 256, {}));
}

TEST_P(StreamKeptFloatsTest, of_any_bins) {
    for (int channels : channel_counts)
        for (std::uint32_t bins : {1u, 10u, 1000u, 5000u})
            for (const std::optional<Range>& range : {std::optional<Range>(), std::optional<Range>({0.2, 0.75})})
                check({100003, 1, channels, Depth::f32}, Content::specials, 0, {{NormalizeMode::zscore, 1, 99, true}},
                      float_request(Detail::brief, bins, range));
}

TEST_P(StreamKeptFloatsTest, as_large_as_there_is_room_for) {
    for (const auto& [channels, pixels] : {std::pair{1, 6291459}, {1, 6600001}, {3, 800003}, {3, 900001}, {4, 400003}})
        for (Content content : {Content::random, Content::specials})
            check({pixels, 1, channels, Depth::f32}, content, 0, {{NormalizeMode::minmax, 1, 99, true}},
                  float_request(Detail::brief, 256, {}));
}

TEST_P(StreamTest, small_normalized_percentiles) {
    for (Depth depth : depths)
        for (const auto& [low, high] : {std::pair<double, double>{0, 100}, {0.1, 99.9}, {49.999999, 50}, {0, 1e-6}})
            for (bool joint : {true, false}) {
                std::vector<Case> cases;
                for (std::size_t kind = 0; kind < kinds(depth); ++kind)
                    cases.push_back({picture_of({25, 10, 3, depth}, kind), placement(kind)});
                check_normalized(cases, {NormalizeMode::percentile, low, high, joint});
            }
}

TEST_P(StreamTest, small_normalized_floats_brief_and_in_a_range) {
    for (Detail detail : {Detail::full, Detail::brief})
        for (const std::optional<Range>& range : {std::optional<Range>(), std::optional<Range>({0.2, 0.75})})
            for (const Normalization& normalization : normalizations(3)) {
                const AnalysisRequest request = float_request(detail, 100, range);
                std::vector<Case> cases;
                for (std::size_t kind = 0; kind < kinds(Depth::f32); ++kind)
                    cases.push_back({picture_of({41, 13, 3, Depth::f32}, kind), placement(kind)});
                check_normalized(cases, normalization, request);
                ASSERT_FALSE(HasFailure());
            }
}

TEST_P(StreamTest, small_normalized_batches) {
    std::size_t turn = 0;
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (const Normalization& normalization : normalizations(channels)) {
                const BatchLayout& layout = batch_layouts[turn++ % std::size(batch_layouts)];
                const Shape shape{17 + static_cast<std::int64_t>(turn % 3), 9, channels, depth};
                check_normalized_batch(pictures_of(shape, 1 + turn % 5), layout.at, layout.gap, normalization);
                ASSERT_FALSE(HasFailure());
            }
}

TEST_P(StreamTest, medium_normalized_batches) {
    std::size_t turn = 0;
    for (Depth depth : depths)
        for (int channels : channel_counts)
            for (const Normalization& normalization : normalizations(channels)) {
                const BatchLayout& layout = batch_layouts[turn++ % std::size(batch_layouts)];
                const bool many = turn % 3 == 0 && (depth != Depth::u16 || channels == 1);
                const Shape shape{many ? 48 : 320, many ? 31 : 240, channels, depth, orders_of(channels).back()};
                SCOPED_TRACE(describe(shape));
                check_normalized_batch(pictures_of(shape, many ? 300 : 5 + turn % 7), layout.at, layout.gap,
                                       normalization, turn % 2 ? AnalysisRequest{} : without_luma());
                ASSERT_FALSE(HasFailure());
            }
    check_normalized_batch(pictures_of({300, 300, 1, Depth::u16}, 600), {}, 0, {});
}

TEST_P(StreamTest, normalized_list_of_many) {
    constexpr Size sizes[] = {{1, 1}, {64, 48}, {3, 1}, {211, 97}, {1, 7}, {400, 300}};
    for (Depth depth : depths) {
        std::vector<Case> cases;
        for (std::size_t i = 0; i < 300; ++i) {
            const Size& size = sizes[scramble(i) % std::size(sizes)];
            const Shape shape{size.width, size.height, 1, depth};
            cases.push_back({picture_of(shape, i % kinds(depth), i), placement(i)});
        }
        check_normalized(cases, {NormalizeMode::minmax, 1, 99, true});
    }
    std::vector<Case> cases;
    for (std::size_t i = 0; i < 300; ++i) {
        const Size& size = sizes[scramble(i) % std::size(sizes)];
        const auto order = scramble(i + 9) % 11 == 0 ? ChannelOrder::rgb : ChannelOrder::bgr;
        cases.push_back(
            {picture_of({size.width, size.height, 3, Depth::u8, order}, i % kinds(Depth::u8), i), placement(i)});
    }
    for (NormalizeMode mode : {NormalizeMode::equalize, NormalizeMode::zscore})
        check_normalized(cases, {mode, 1, 99, false}, without_luma());
}

}  // namespace
}  // namespace gpuhist::test
