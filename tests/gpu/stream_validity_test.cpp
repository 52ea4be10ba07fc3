// Rules for samples of images in device memory: the same findings, and copies, as of the same images on the host.
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/stream_behavior.hpp"
#include "support/tones.hpp"
#include "support/validity_on_device.hpp"

namespace gpuhist::test {
namespace {

class StreamValidityTest : public StreamTest {
  protected:
    void SetUp() override {
        StreamTest::SetUp();
        if (!IsSkipped()) engine = make_engine("cuda");
    }
    static std::string describe(const ValidityCase& given, int variant) {
        return std::string(to_string(given.image.depth)) + " " + std::to_string(given.image.channels) + " channels, " +
               std::to_string(variant);
    }
    static StreamPlan plan_of(const ValidityCase& given) {
        StreamPlan plan;
        plan.depth = given.image.depth;
        plan.channels = given.image.channels;
        plan.classified_pixels = given.image.width * given.image.height;
        return plan;
    }
    /// Requests that say the same of samples: with all, with a range that is found, brief and without luma.
    static std::vector<AnalysisRequest> requests_of(const ValidityCase& given) {
        AnalysisRequest all = given.request(), found = all, least = all;
        found.range.reset();
        found.percentiles = Percentiles({0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99.5, 100});
        least.detail = Detail::brief;
        least.luma_histogram = false;
        return {all, found, least};
    }
    static Shape shape_of(const ValidityCase& given) {
        return {given.image.width, given.image.height, given.image.channels, given.image.depth, given.image.order};
    }
    /// Copy by rules, elsewhere, in place, and by an engine.
    void check_copy(const ValidityCase& given, const ValidityOnDevice& there, StreamAnalyzer& analyzer,
                    const AnalysisRequest& request, const Normalization& normalization, const Placement& at) {
        SCOPED_TRACE(test::describe(normalization) + (normalization.valid_only ? " of valid samples" : "") +
                     (normalization.fill ? " fill " + std::to_string(*normalization.fill) : ""));
        const Shape shape = shape_of(given), written = normalized_shape(shape, normalization);
        const bool in_place = written.depth == shape.depth;
        DeviceImages output, replaced;
        output.add(written, at);
        replaced.add(shape, at);
        replaced.set(0, given.view());
        output.upload();
        replaced.upload();
        DeviceResults results(analyzer.layout(request, &normalization), 2);
        analyzer.enqueue_normalized(there.view, output[0], request, normalization, results.at(), stream);
        if (in_place) {
            ImageView view = replaced[0];
            view.mask = there.view.mask;
            view.mask_row_bytes = there.view.mask_row_bytes;
            analyzer.enqueue_normalized(view, replaced[0], request, normalization, results.at(1), stream);
        }
        synchronize();
        DeviceImages of_engine;
        of_engine.add(written, at);
        of_engine.upload();
        Analysis found;
        engine->normalize(there.view, request, normalization, of_engine[0], found);
        Picture copy(written, packed);
        const Expected wanted = expected(given.view(), request, normalization, copy);
        output.set(0, copy.view());
        of_engine.set(0, copy.view());
        EXPECT_EQ(of_engine.difference(), "") << "by an engine";
        EXPECT_EQ(difference(found, wanted.analysis), "") << "by an engine";
        if (in_place) replaced.set(0, copy.view());
        expect(results, 0, wanted);
        if (in_place) expect(results, 1, wanted, "in place");
        EXPECT_EQ(output.difference(), "");
        EXPECT_EQ(replaced.difference(), "") << "in place";
        EXPECT_TRUE(results.guard_untouched());
    }
    /// Values that may stand for nodata in a copy, in turn, now and then none.
    static std::optional<double> fill_of(Depth copy, std::size_t turn) {
        const DepthTraits& traits = traits_of(copy);
        if (turn % 3 == 0) return std::nullopt;
        if (traits.floating) return turn % 3 == 1 ? -9.5 : std::numeric_limits<double>::quiet_NaN();
        return turn % 3 == 1 ? traits.lowest : traits.highest;
    }
    static bool is_streamed(const DepthTraits& traits) { return traits.counting != Counting::sorted; }

    std::unique_ptr<Engine> engine;
};

std::size_t tone_turn = 0;

TEST_P(StreamValidityTest, of_images_that_an_engine_measures) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 2, 3, 4, 5})
            for (int variant = 0; variant < validity_variants; ++variant) {
                const ValidityCase given = make_validity_case(traits.depth, channels, variant);
                SCOPED_TRACE(describe(given, variant));
                const ValidityOnDevice there(given, 4 * static_cast<std::size_t>(variant) * sample_bytes(traits.depth));
                for (const AnalysisRequest& request : requests_of(given))
                    EXPECT_TRUE(engine->analyze(there.view, request) == reference->analyze(given.view(), request));
                AnalysisRequest mask_alone = given.request();
                mask_alone.validity.reset();
                EXPECT_TRUE(engine->analyze(there.view, mask_alone) == reference->analyze(given.view(), mask_alone));
            }
}

TEST_P(StreamValidityTest, of_images_each_alone_and_in_a_list) {
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3, 4}) {
            if (!is_streamed(traits)) continue;
            for (int variant = 0; variant < validity_variants; ++variant) {
                const ValidityCase given = make_validity_case(traits.depth, channels, variant);
                SCOPED_TRACE(describe(given, variant));
                const ValidityOnDevice there(given, 4 * static_cast<std::size_t>(variant) * sample_bytes(traits.depth));
                StreamAnalyzer analyzer(plan_of(given));
                for (const AnalysisRequest& request : requests_of(given)) {
                    DeviceResults results(analyzer.layout(request), 3);
                    const ImageView list[] = {there.view, there.view};
                    analyzer.enqueue(there.view, request, results.at(2), stream);
                    analyzer.enqueue(list, 2, request, results.at(), stream);
                    synchronize();
                    const Expected wanted = expected(given.view(), request);
                    for (std::size_t i = 0; i < 3; ++i) expect(results, i, wanted);
                    EXPECT_TRUE(results.guard_untouched());
                }
            }
        }
}

TEST_P(StreamValidityTest, of_a_batch_are_replayed_in_a_graph) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f16, Depth::f32}) {
        const ValidityCase given = make_validity_case(depth, 3, 2);
        SCOPED_TRACE(describe(given, 2));
        const ValidityOnDevice there(given);
        const BatchView batch = halves_of(there.view), on_host = halves_of(given.view());
        StreamAnalyzer analyzer(plan_of(given));
        const AnalysisRequest request = given.request();
        DeviceResults results(analyzer.layout(request), 2);
        const Graph graph(stream, [&] { analyzer.enqueue(batch, request, results.at(), stream); });
        for (int round = 0; round < 2; ++round) {
            results.poison();
            graph.launch(stream);
            synchronize();
            for (std::size_t i = 0; i < 2; ++i) {
                expect(results, i, expected(image_of(on_host, i), request));
            }
        }
    }
}

TEST_P(StreamValidityTest, copies_are_made_from_what_counts) {
    std::size_t turn = 0;
    for (const Depth depth : depths)
        for (const int channels : channel_counts)
            for (int variant = 0; variant < validity_variants; ++variant) {
                const ValidityCase given = make_validity_case(depth, channels, variant);
                SCOPED_TRACE(describe(given, variant));
                const ValidityOnDevice there(given, 4 * static_cast<std::size_t>(variant) * sample_bytes(depth));
                StreamPlan plan = plan_of(given);
                plan.normalize = true;
                StreamAnalyzer analyzer(plan);
                const std::vector<AnalysisRequest> requests = requests_of(given);
                for (Normalization normalization : with_tones(normalizations(channels), channels, tone_turn++))
                    for (const bool valid_only : {false, true}) {
                        const Depth copy = normalized_depth(depth, normalization);
                        normalization.valid_only = valid_only;
                        normalization.fill = fill_of(copy, turn / 2);
                        if (valid_only && copy != depth) continue;
                        check_copy(given, there, analyzer, requests[turn % requests.size()], normalization,
                                   placement(turn));
                        ++turn;
                        ASSERT_FALSE(HasFailure());
                    }
            }
}

TEST_P(StreamValidityTest, copies_are_made_from_weights) {
    std::size_t turn = 0;
    for (const Depth depth : {Depth::u8, Depth::u16})
        for (const int channels : channel_counts)
            for (int variant = 0; variant < validity_variants; ++variant) {
                ValidityCase given = make_validity_case(depth, channels, variant);
                given.validity.alpha = AlphaRule::weight;
                given.validity.opaque = variant % 2 ? 3 : 0;
                SCOPED_TRACE(describe(given, variant));
                const ValidityOnDevice there(given);
                StreamPlan plan = plan_of(given);
                plan.normalize = true;
                StreamAnalyzer analyzer(plan);
                for (Normalization normalization : with_tones(normalizations(channels), channels, tone_turn++)) {
                    const Depth copy = normalized_depth(depth, normalization);
                    normalization.valid_only = ++turn % 2 && copy == depth;
                    normalization.fill = fill_of(copy, turn / 2);
                    check_copy(given, there, analyzer, given.request(), normalization, placement(turn));
                    ASSERT_FALSE(HasFailure());
                }
            }
}

TEST_P(StreamValidityTest, copies_where_a_channel_has_no_sample_or_none_has) {
    for (const Depth depth : depths)
        for (const int channels : channel_counts)
            for (const bool all : {false, true}) {
                ValidityCase given = make_validity_case(depth, channels, 2);
                SCOPED_TRACE(describe(given, all));
                given.validity.valid = {{all ? std::nullopt : std::optional(given.channel(0)), 1e6, 2e6}};
                const ValidityOnDevice there(given);
                StreamPlan plan = plan_of(given);
                plan.normalize = true;
                StreamAnalyzer analyzer(plan);
                for (const Normalization& normalization : with_tones(normalizations(channels), channels, tone_turn++)) {
                    check_copy(given, there, analyzer, given.request(), normalization, {});
                    ASSERT_FALSE(HasFailure());
                }
            }
}

TEST_P(StreamValidityTest, copies_keep_a_level_for_nodata_where_there_is_none) {
    std::size_t turn = 0;
    for (const Depth depth : depths)
        for (const int channels : channel_counts) {
            ValidityCase given = make_validity_case(depth, channels, 1);
            SCOPED_TRACE(describe(given, 1));
            given.validity = {};
            const ValidityOnDevice there(given);
            StreamPlan plan = plan_of(given);
            plan.classified_pixels = 0;
            plan.normalize = true;
            StreamAnalyzer analyzer(plan);
            AnalysisRequest request = given.request();
            request.validity.reset();
            for (Normalization normalization : with_tones(normalizations(channels), channels, tone_turn++)) {
                normalization.fill = fill_of(normalized_depth(depth, normalization), 1 + ++turn % 2);
                check_copy(given, there, analyzer, request, normalization, placement(turn));
                ASSERT_FALSE(HasFailure());
            }
        }
}

TEST_P(StreamValidityTest, copies_of_a_batch_are_replayed_in_a_graph) {
    for (const Depth depth : depths)
        for (const NormalizeMode mode : all_exact_modes) {
            Normalization normalization{mode};
            normalization.fill = fill_of(normalized_depth(depth, mode), 1);
            const ValidityCase given = make_validity_case(depth, 3, 2);
            SCOPED_TRACE(describe(given, 2));
            const ValidityOnDevice there(given);
            const BatchView batch = halves_of(there.view), on_host = halves_of(given.view());
            Shape shape = normalized_shape(shape_of(given), normalization);
            shape.height = batch.first.height;
            DeviceImages outputs;
            outputs.add(shape, placement(1));
            outputs.add_next(7);
            outputs.upload();
            StreamPlan plan = plan_of(given);
            plan.normalize = true;
            StreamAnalyzer analyzer(plan);
            const AnalysisRequest request = given.request();
            DeviceResults results(analyzer.layout(request, &normalization), 2);
            const Graph graph(stream, [&] {
                analyzer.enqueue_normalized(batch, outputs.batch(), request, normalization, results.at(), stream);
            });
            for (int round = 0; round < 2; ++round) {
                results.poison();
                graph.launch(stream);
                synchronize();
                for (std::size_t i = 0; i < 2; ++i) {
                    Picture copy(shape, packed);
                    expect(results, i, expected(image_of(on_host, i), request, normalization, copy));
                    outputs.set(i, copy.view());
                }
                EXPECT_EQ(outputs.difference(), "") << test::describe(normalization);
            }
        }
}

TEST_P(StreamValidityTest, tables_are_there_when_a_result_is_ready) {
    const ValidityCase given = make_validity_case(Depth::u16, 3, 2);
    const ValidityOnDevice there(given);
    StreamPlan plan = plan_of(given);
    plan.normalize = true;
    StreamAnalyzer analyzer(plan);
    const AnalysisRequest request = given.request();
    const Normalization normalization{NormalizeMode::equalize};
    DeviceImages outputs;
    outputs.add(shape_of(given));
    outputs.upload();
    Picture copy(shape_of(given), packed);
    const Expected wanted = expected(given.view(), request, normalization, copy);
    PinnedResults results(analyzer.layout(request, &normalization));
    results.clear();
    analyzer.enqueue_normalized(there.view, outputs[0], request, normalization, results.device(), stream);
    while (!results.ready()) continue;
    EXPECT_EQ(difference(results[0], analyzer.layout(request, &normalization), wanted), "");
    const auto* table =
        reinterpret_cast<const std::uint16_t*>(reinterpret_cast<const char*>(&results[0]) + results[0].tables_offset);
    for (std::int64_t y = 0; y < given.image.height; ++y)
        for (std::int64_t x = 0; x < given.image.width; ++x) {
            const auto sample = load<std::uint16_t>(given.view(), x, y, 1);
            ASSERT_EQ(given.names(x, y, 1) ? sample : table[sample], load<std::uint16_t>(copy.view(), x, y, 1));
        }
    synchronize();
}

TEST_P(StreamValidityTest, results_are_ready_when_they_are_complete) {
    const ValidityCase given = make_validity_case(Depth::u16, 3, 2);
    const ValidityOnDevice there(given);
    StreamAnalyzer analyzer(plan_of(given));
    const AnalysisRequest request = given.request();
    PinnedResults results(analyzer.layout(request));
    results.clear();
    analyzer.enqueue(there.view, request, results.device(), stream);
    while (!results.ready()) continue;
    EXPECT_EQ(difference(results[0], analyzer.layout(request), expected(given.view(), request)), "");
}

TEST_P(StreamValidityTest, others_are_refused_by_name) {
    const ValidityCase given = make_validity_case(Depth::u8, 4, 2);
    const ValidityOnDevice there(given);
    StreamPlan plan = plan_of(given);
    --plan.classified_pixels;
    plan.normalize = true;
    StreamAnalyzer analyzer(plan);
    DeviceResults results(analyzer.layout(given.request()), 1);
    const auto enqueue = [&](const AnalysisRequest& request) {
        analyzer.enqueue(there.view, request, results.at(), stream);
    };
    expect_refused([&] { enqueue(given.request()); }, "StreamPlan::classified_pixels");
    DeviceImages output;
    output.add(shape_of(given));
    output.upload();
    const auto enqueue_copy = [&](const AnalysisRequest& request) {
        analyzer.enqueue_normalized(there.view, output[0], request, {}, results.at(), stream);
    };
    expect_refused([&] { enqueue_copy(given.request()); }, "StreamPlan::classified_pixels");
    ++plan.classified_pixels;
    analyzer = StreamAnalyzer(plan);
    AnalysisRequest request = given.request();
    Validity rules;
    for (int i = 0; i < 65; ++i) rules.nodata.push_back({{}, static_cast<double>(i)});
    request.validity = std::make_shared<Validity>(rules);
    expect_refused([&] { enqueue(request); }, "64 values");
}

INSTANTIATE_TEST_SUITE_P(Stream, StreamValidityTest, testing::ValuesIn(paths), label_of_path);

}  // namespace
}  // namespace gpuhist::test
