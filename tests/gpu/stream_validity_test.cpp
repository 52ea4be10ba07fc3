// Rules for samples of images in device memory: the same findings as of the same images on the host.
#include <memory>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/stream_behavior.hpp"
#include "support/validity_on_device.hpp"

namespace gpuhist::test {
namespace {

class StreamValidityTest : public StreamTest {
  protected:
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
    static bool is_streamed(const DepthTraits& traits) { return traits.counting != Counting::sorted; }
};

TEST_P(StreamValidityTest, of_images_that_an_engine_measures) {
    const auto engine = make_engine("cuda");
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
        // Two halves of an image, one above the other, are a batch.
        const ValidityOnDevice there(given);
        ImageView half = given.view(), half_there = there.view;
        half.height = half_there.height /= 2;
        BatchView batch{half_there, 2, half.height * half.row_bytes, half.height * half.mask_row_bytes};
        StreamAnalyzer analyzer(plan_of(given));
        const AnalysisRequest request = given.request();
        DeviceResults results(analyzer.layout(request), 2);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        analyzer.enqueue(batch, request, results.at(), stream);
        check(cudaStreamEndCapture(stream, &graph));
        check(cudaGraphInstantiate(&executable, graph, 0));
        for (int round = 0; round < 2; ++round) {
            results.poison();
            check(cudaGraphLaunch(executable, stream));
            synchronize();
            for (std::size_t i = 0; i < 2; ++i) {
                ImageView one = half;
                one.data = static_cast<const char*>(half.data) + static_cast<std::int64_t>(i) * batch.image_bytes;
                one.mask += static_cast<std::int64_t>(i) * batch.mask_bytes;
                expect(results, i, expected(one, request));
            }
        }
        check(cudaGraphExecDestroy(executable));
        check(cudaGraphDestroy(graph));
    }
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
    const auto refused = [](const auto& call, const char* words) {
        try {
            call();
            ADD_FAILURE() << words;
        } catch (const InvalidArgument& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    };
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
    refused([&] { enqueue(given.request()); }, "StreamPlan::classified_pixels");
    ImageView output = there.view;
    output.mask = nullptr;
    refused(
        [&] {
            const MutableImageView to{const_cast<void*>(output.data),
                                      output.width,
                                      output.height,
                                      output.channels,
                                      output.depth,
                                      output.row_bytes,
                                      output.order,
                                      output.memory};
            analyzer.enqueue_normalized(output, to, given.request(), {}, results.at(), stream);
        },
        "the CPU makes it");
    ++plan.classified_pixels;
    analyzer = StreamAnalyzer(plan);
    AnalysisRequest request = given.request();
    Validity rules;
    for (int i = 0; i < 65; ++i) rules.nodata.push_back({{}, static_cast<double>(i)});
    request.validity = std::make_shared<Validity>(rules);
    refused([&] { enqueue(request); }, "64 values");
}

INSTANTIATE_TEST_SUITE_P(Stream, StreamValidityTest, testing::ValuesIn(paths), label_of_path);

}  // namespace
}  // namespace gpuhist::test
