// Weights by alpha of images in device memory: the sums of the same images on the host.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/stream_behavior.hpp"
#include "support/validity_on_device.hpp"

namespace gpuhist::test {
namespace {

enum class Alpha : std::uint8_t { few, nothing, opaque, random };
constexpr Alpha all_alpha[] = {Alpha::few, Alpha::nothing, Alpha::opaque, Alpha::random};

class StreamWeightsTest : public StreamTest {
  protected:
    /// Case of every sort of rule, under which alpha is the weight.
    static ValidityCase weighted_case(Depth depth, int channels, int variant, Alpha alpha = Alpha::few) {
        ValidityCase made = make_validity_case(depth, channels, variant);
        made.validity.alpha = AlphaRule::weight;
        if (channels == 4 && alpha != Alpha::few) set_alpha(made.image, alpha);
        return made;
    }
    static void set_alpha(Raster& image, Alpha alpha) {
        const auto highest = static_cast<std::uint64_t>(traits_of(image.depth).highest);
        std::uint64_t seed = 3;
        for (std::int64_t y = 0; y < image.height; ++y)
            for (std::int64_t x = 0; x < image.width; ++x) {
                seed = scramble(seed);
                const std::uint64_t value = alpha == Alpha::nothing  ? 0
                                            : alpha == Alpha::opaque ? highest
                                                                     : seed % (highest + 1);
                image.set(x, y, 3, static_cast<double>(value));
            }
    }
    static StreamPlan plan_of(Depth depth, int channels) {
        StreamPlan plan;
        plan.depth = depth;
        plan.channels = channels;
        plan.classified_pixels = 1;  // weights take no memory per pixel
        return plan;
    }
    static AnalysisRequest weighted(std::uint32_t opaque = 0) {
        Validity validity;
        validity.alpha = AlphaRule::weight;
        validity.opaque = opaque;
        AnalysisRequest request;
        request.validity = std::make_shared<const Validity>(validity);
        return request;
    }
    /// One image alone and twice in a list, with luma and without; and by an engine.
    void check_case(const ValidityCase& given, std::size_t offset, StreamAnalyzer& analyzer, Engine& engine) {
        const ValidityOnDevice there(given, offset);
        for (const bool luma : {true, false}) {
            AnalysisRequest request = given.request();
            request.luma_histogram = luma;
            DeviceResults results(analyzer.layout(request), 3);
            const ImageView list[] = {there.view, there.view};
            analyzer.enqueue(there.view, request, results.at(2), stream);
            analyzer.enqueue(list, 2, request, results.at(), stream);
            synchronize();
            const Expected wanted = expected(given.view(), request);
            EXPECT_TRUE(wanted.analysis.weighted);
            for (std::size_t i = 0; i < 3; ++i) expect(results, i, wanted);
            EXPECT_TRUE(results.guard_untouched());
            EXPECT_EQ(difference(engine.analyze(there.view, request), wanted.analysis), "");
        }
    }
};

TEST_P(StreamWeightsTest, go_with_masks_and_rules) {
    const auto engine = make_engine("cuda");
    for (const Depth depth : {Depth::u8, Depth::s8, Depth::u16, Depth::s16})
        for (const int channels : {1, 3, 4}) {
            if (channels == 4 && traits_of(depth).lowest < 0) continue;  // alpha with a sign
            StreamAnalyzer analyzer(plan_of(depth, channels));
            for (int variant = 0; variant < validity_variants; ++variant)
                for (const Alpha alpha : all_alpha) {
                    if (channels != 4 && alpha != Alpha::few) continue;
                    SCOPED_TRACE(std::string(to_string(depth)) + " " + std::to_string(channels) + " channels, " +
                                 std::to_string(variant) + ", alpha " + std::to_string(static_cast<int>(alpha)));
                    check_case(weighted_case(depth, channels, variant, alpha),
                               3 * static_cast<std::size_t>(variant) * sample_bytes(depth), analyzer, *engine);
                }
        }
}

// Gray with alpha has one channel; a fourth band is no alpha, and is measured.
TEST_P(StreamWeightsTest, follow_from_what_the_samples_are) {
    const auto engine = make_engine("cuda");
    for (const Depth depth : {Depth::u8, Depth::u16}) {
        StreamAnalyzer analyzer(plan_of(depth, 4));
        for (const Samples samples : {Samples::gray_alpha, Samples::bands, Samples::color_bands})
            for (int variant = 0; variant < validity_variants; ++variant) {
                ValidityCase given = weighted_case(depth, 4, variant, Alpha::random);
                given.image.samples = samples;
                if (samples == Samples::bands) given.image.order = ChannelOrder::rgb;
                for (std::int64_t y = 0; y < given.image.height && samples == Samples::gray_alpha; ++y)
                    for (std::int64_t x = 0; x < given.image.width; ++x)
                        for (int c = 1; c < 3; ++c) given.image.set(x, y, c, given.image.value(x, y, 0));
                SCOPED_TRACE(std::string(to_string(depth)) + ", samples " + std::to_string(static_cast<int>(samples)) +
                             ", " + std::to_string(variant));
                check_case(given, 0, analyzer, *engine);
            }
    }
}

TEST_P(StreamWeightsTest, of_images_that_an_engine_takes_apart) {
    const auto engine = make_engine("cuda");
    for (const int channels : {2, 5})
        for (int variant = 0; variant < validity_variants; ++variant) {
            const ValidityCase given = weighted_case(Depth::u16, channels, variant);
            const ValidityOnDevice there(given);
            EXPECT_EQ(difference(engine->analyze(there.view, given.request()),
                                 reference->analyze(given.view(), given.request())),
                      "");
        }
}

// Equal and different neighbors, few and many blocks, rows with gaps and without, at every address.
TEST_P(StreamWeightsTest, of_images_of_any_content_and_size) {
    constexpr Content contents[] = {Content::constant, Content::two_values, Content::random, Content::natural};
    for (const Depth depth : {Depth::u8, Depth::u16})
        for (const int channels : {1, 3, 4}) {
            StreamAnalyzer analyzer(plan_of(depth, channels));
            DeviceImages images;
            std::vector<Picture> pictures;
            for (const auto& [width, height] : {std::pair{1, 1}, {7, 5}, {1001, 333}, {33, 1024}, {2048, 1500}})
                for (const Content content : contents) {
                    const std::size_t turn = pictures.size();
                    pictures.emplace_back(
                        Shape{width, height, channels, depth, turn % 2 ? ChannelOrder::rgb : ChannelOrder::bgr}, packed,
                        content);
                    images.add(pictures.back(), turn % 3 ? placement(turn) : Placement{});
                }
            images.upload();
            for (const AnalysisRequest& request : {weighted(), weighted(77)}) {
                DeviceResults results(analyzer.layout(request), images.size());
                std::vector<ImageView> views;
                for (std::size_t i = 0; i < images.size(); ++i) views.push_back(images[i]);
                analyzer.enqueue(views.data(), static_cast<std::int64_t>(views.size()), request, results.at(), stream);
                synchronize();
                for (std::size_t i = 0; i < images.size(); ++i)
                    expect(results, i, expected(pictures[i].view(), request), describe(pictures[i].shape()).c_str());
                EXPECT_TRUE(results.guard_untouched());
            }
            EXPECT_EQ(images.difference(), "");
        }
}

TEST_P(StreamWeightsTest, of_a_batch_are_replayed_in_a_graph) {
    for (const Depth depth : {Depth::u8, Depth::u16}) {
        const ValidityCase given[] = {weighted_case(depth, 4, 2), weighted_case(depth, 4, 2, Alpha::random),
                                      weighted_case(depth, 4, 2, Alpha::nothing)};
        const ValidityOnDevice there(given[0]);
        const BatchView batch = halves_of(there.view);
        StreamAnalyzer analyzer(plan_of(depth, 4));
        const AnalysisRequest request = given[0].request();
        DeviceResults results(analyzer.layout(request), 2);
        const Graph graph(stream, [&] { analyzer.enqueue(batch, request, results.at(), stream); });
        for (const ValidityCase& now : given) {
            there.set(now);
            results.poison();
            graph.launch(stream);
            synchronize();
            for (std::size_t i = 0; i < 2; ++i)
                expect(results, i, expected(image_of(halves_of(now.view()), i), request));
        }
        EXPECT_TRUE(results.guard_untouched());
    }
}

// What a weighted launch leaves behind is what others need, and the other way round.
TEST_P(StreamWeightsTest, take_turns_with_other_requests) {
    for (const Depth depth : {Depth::u8, Depth::u16}) {
        const ValidityCase given = weighted_case(depth, 4, 2, Alpha::random);
        const ValidityOnDevice there(given);
        StreamPlan plan = plan_of(depth, 4);
        plan.classified_pixels = there.view.pixels();
        StreamAnalyzer analyzer(plan);
        AnalysisRequest masked = given.request();
        Validity rules = given.validity;
        rules.alpha = AlphaRule::mask;
        masked.validity = std::make_shared<const Validity>(rules);
        const AnalysisRequest requests[] = {given.request(), masked, {}, given.request(), {}, masked};
        DeviceResults results(analyzer.layout(), std::size(requests));
        for (std::size_t i = 0; i < std::size(requests); ++i)
            analyzer.enqueue(there.view, requests[i], results.at(i), stream);
        synchronize();
        for (std::size_t i = 0; i < std::size(requests); ++i) expect(results, i, expected(given.view(), requests[i]));
    }
}

TEST_P(StreamWeightsTest, results_are_ready_when_they_are_complete) {
    const ValidityCase given = weighted_case(Depth::u16, 4, 3, Alpha::random);
    const ValidityOnDevice there(given);
    StreamAnalyzer analyzer(plan_of(Depth::u16, 4));
    const AnalysisRequest request = given.request();
    PinnedResults results(analyzer.layout(request));
    results.clear();
    analyzer.enqueue(there.view, request, results.device(), stream);
    while (!results.ready()) continue;
    EXPECT_EQ(difference(results[0], analyzer.layout(request), expected(given.view(), request)), "");
}

TEST_P(StreamWeightsTest, others_are_refused_by_name) {
    const auto engine = make_engine("cuda");
    for (const DepthTraits& traits : all_depths) {
        const bool known = traits.counting == Counting::values && !traits.floating && traits.lowest == 0;
        if (known) continue;
        const ValidityCase given = weighted_case(traits.depth, 4, 0);
        const ValidityOnDevice there(given);
        const std::string samples = std::string("samples of ") + traits.name;
        const std::string words = traits.depth == Depth::f16 ? samples + " are not weighted by alpha in device memory"
                                  : traits.counting == Counting::values
                                      ? std::string("alpha of ") + traits.name + " cannot be a weight"
                                      : samples + " cannot be weighted by alpha";
        expect_refused([&] { engine->analyze(there.view, given.request()); }, words);
        if (traits.counting == Counting::sorted) continue;
        StreamAnalyzer analyzer(plan_of(traits.depth, 4));
        DeviceResults results(analyzer.layout(given.request()), 1);
        expect_refused([&] { analyzer.enqueue(there.view, given.request(), results.at(), stream); }, words);
    }

    const ValidityCase given = weighted_case(Depth::u8, 4, 1);
    const ValidityOnDevice there(given);
    StreamPlan plan = plan_of(Depth::u8, 4);
    StreamAnalyzer analyzer(plan);
    DeviceResults results(analyzer.layout(), 1);
    expect_refused([&] { analyzer.enqueue(there.view, weighted(256), results.at(), stream); },
                   "opaque pixels that weigh 256");
    plan.classified_pixels = 0;
    analyzer = StreamAnalyzer(plan);
    expect_refused([&] { analyzer.enqueue(there.view, weighted(), results.at(), stream); },
                   "StreamPlan::classified_pixels");
}

INSTANTIATE_TEST_SUITE_P(Stream, StreamWeightsTest, testing::ValuesIn(paths), label_of_path);

}  // namespace
}  // namespace gpuhist::test
