// Normalized copies through the stream-level API: single images, lists, batches, in place, against the CPU engine.
#include <optional>
#include <utility>

#include "plan/abilities.hpp"
#include "support/stream_cases.hpp"
#include "support/tones.hpp"

namespace gpuhist::test {
namespace {

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

TEST_P(StreamTest, small_normalized_by_tones) {
    std::size_t turn = 0;
    for (Depth depth : depths) {
        if (!plan::stream_abilities.copies.has(depth)) continue;
        for (int channels : channel_counts)
            for (const Normalization& normalization : with_tones({}, channels, turn)) {
                std::vector<Case> cases;
                for (const Size& size : {Size{1, 1}, {16, 16}, {37, 11}}) {
                    cases.push_back({picture_of({size.width, size.height, channels, depth,
                                                 orders_of(channels)[turn % orders_of(channels).size()]},
                                                turn % kinds(depth)),
                                     placement(turn)});
                    turn += 5;
                }
                check_normalized(cases, normalization, turn % 2 ? AnalysisRequest{} : without_luma());
                ASSERT_FALSE(HasFailure()) << to_string(depth) << " by " << to_string(normalization.mode);
            }
    }
}

// The launch that measures makes these copies too.
TEST_P(StreamTest, medium_u16_normalized_in_u8) {
    std::size_t turn = 0;
    for (const int channels : channel_counts)
        for (const NormalizeMode mode : {NormalizeMode::minmax, NormalizeMode::percentile, NormalizeMode::equalize})
            for (const bool joint : {true, false})
                for (std::size_t kind = 0; kind < kinds(Depth::u16); ++kind) {
                    Normalization normalization;
                    normalization.mode = mode;
                    normalization.joint = joint;
                    normalization.depth = Depth::u8;
                    std::vector<Case> cases;
                    for (const Size& size : {Size{1, 1}, {16, 16}, {37, 11}, {10000, 1}, {641, 203}}) {
                        cases.push_back({picture_of({size.width, size.height, channels, Depth::u16,
                                                     orders_of(channels)[turn % orders_of(channels).size()]},
                                                    kind),
                                         placement(turn)});
                        turn += 3;
                    }
                    check_normalized(cases, normalization, turn % 2 ? AnalysisRequest{} : without_luma());
                    check_normalized_batch(pictures_of({83, 41, channels, Depth::u16}, 3), placement(turn), 5,
                                           normalization);
                    ASSERT_FALSE(HasFailure()) << to_string(mode) << ", kind " << kind;
                }
}

TEST_P(StreamTest, small_normalized_by_clahe) {
    std::size_t turn = 0;
    for (int channels : channel_counts)
        for (const auto& [across, down] : {std::pair(8, 8), {1, 1}, {3, 5}, {16, 16}})
            for (const double limit : {0.0, 2.0, 40.0})
                for (const bool joint : {true, false}) {
                    Normalization normalization;
                    normalization.mode = NormalizeMode::clahe;
                    normalization.clip_limit = limit;
                    normalization.tiles_x = across;
                    normalization.tiles_y = down;
                    normalization.joint = joint;
                    normalization.clip_white = turn % 3 == 0;
                    normalization.white = 200;
                    std::vector<Case> cases;
                    for (const Size& size : {Size{1, 1}, {16, 16}, {37, 211}, {640, 48}}) {
                        cases.push_back({picture_of({size.width, size.height, channels, Depth::u8,
                                                     orders_of(channels)[turn % orders_of(channels).size()]},
                                                    turn % kinds(Depth::u8)),
                                         placement(turn)});
                        turn += 3;
                    }
                    check_normalized(cases, normalization);
                    ASSERT_FALSE(HasFailure()) << across << " x " << down << " tiles, limit " << limit;
                }
}

TEST_P(StreamTest, medium_normalized_by_tones) {
    for (Depth depth : depths) {
        if (!plan::stream_abilities.copies.has(depth)) continue;
        for (const Normalization& normalization : with_tones({}, 3, static_cast<std::size_t>(depth))) {
            std::vector<Case> cases;
            cases.push_back({Picture({1277, 803, 3, depth}, packed, Content::natural), {}});
            check_normalized(cases, normalization);
            ASSERT_FALSE(HasFailure()) << to_string(depth) << " by " << to_string(normalization.mode);
        }
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

// Images of u16, gray alone.
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

/// Brief analyses of floats keep an image that blocks have room for as a whole, whether or not it is normalized.
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
