// Images and batches through the stream-level API: what it finds, against the CPU engine. Lists, normalized copies,
// speculation and the API's manners have files of their own: stream_*_test.cpp.
//
// `small` cases are few and tiny enough for compute-sanitizer: --gtest_filter='*small*'.
#include <optional>

#include "support/stream_cases.hpp"

namespace gpuhist::test {
namespace {

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

// An image so large that a block's warps take turns. One row, whose first and last pixels may belong to no group.
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

// Images so large that what a sample of the pixels lets expect of them may spare a second sweep. It must not show where
// one

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

// Images so many that every block has several; of u16 each is then one block's, whatever its size.
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

}  // namespace
}  // namespace gpuhist::test
