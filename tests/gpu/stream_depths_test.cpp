// Depths beside u8, u16 and f32 in the stream-level API: those that are counted by value, and the refusal of others.
#include <limits>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/stream_behavior.hpp"

namespace gpuhist::test {
namespace {

class StreamDepthsTest : public StreamTest {
  protected:
    static StreamPlan plan_without_copies(Depth depth, int channels) {
        StreamPlan plan;
        plan.depth = depth;
        plan.channels = channels;
        return plan;
    }
};

/// Samples of a shape by chance, or such as are met often: bits of which only some vary.
struct Samples {
    Samples(const Shape& of, std::uint64_t seed) : shape(of) {
        bytes.resize(static_cast<std::size_t>(shape.width * shape.height * shape.channels) * sample_bytes(shape.depth));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            seed = scramble(seed);
            bytes[i] = static_cast<unsigned char>(shape.width % 2 ? seed : i % 2 ? seed & 0x83 : 0);
        }
    }
    ImageView view() const {
        return packed_view(bytes.data(), shape.width, shape.height, shape.channels, shape.depth, shape.order);
    }
    Shape shape;
    std::vector<unsigned char> bytes;
};

TEST_P(StreamDepthsTest, count_by_value) {
    AnalysisRequest no_luma;
    no_luma.luma_histogram = false;
    for (const Depth depth : {Depth::s8, Depth::s16, Depth::f16})
        for (const int channels : {1, 3, 4})
            for (const ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb})
                for (const AnalysisRequest& request : {AnalysisRequest{}, no_luma}) {
                    StreamAnalyzer analyzer(plan_without_copies(depth, channels));
                    std::vector<Samples> samples;
                    DeviceImages images;
                    std::size_t turn = 0;
                    for (const auto& [width, height] :
                         {std::pair{1, 1}, {7, 5}, {640, 480}, {1001, 333}, {33, 1024}, {640, 480}}) {
                        const Shape shape{width, height, channels, depth, order};
                        samples.emplace_back(shape, turn + 1);
                        images.add(shape, placement(turn++));
                        images.set(images.size() - 1, samples.back().view());
                    }
                    images.upload();
                    DeviceResults results(analyzer.layout(request), images.size());
                    std::vector<ImageView> views;
                    for (std::size_t i = 0; i < images.size(); ++i) {
                        views.push_back(images[i]);
                        analyzer.enqueue(views.back(), request, results.at(i), stream);
                    }
                    synchronize();
                    std::vector<Expected> wanted;
                    for (const Samples& one : samples) wanted.push_back(expected(one.view(), request));
                    for (std::size_t i = 0; i < images.size(); ++i)
                        expect(results, i, wanted[i], describe(samples[i].shape).c_str());
                    results.poison();
                    analyzer.enqueue(views.data(), static_cast<std::int64_t>(views.size()), request, results.at(),
                                     stream);
                    synchronize();
                    for (std::size_t i = 0; i < images.size(); ++i)
                        expect(results, i, wanted[i], (describe(samples[i].shape) + " in a list").c_str());
                    EXPECT_TRUE(results.guard_untouched());
                    EXPECT_EQ(images.difference(), "");
                }
}

TEST_P(StreamDepthsTest, batches) {
    for (const Depth depth : {Depth::s8, Depth::s16, Depth::f16})
        for (const int channels : {1, 3}) {
            const Shape shape{224, 224, channels, depth};
            StreamAnalyzer analyzer(plan_without_copies(depth, channels));
            std::vector<Samples> samples;
            DeviceImages images;
            for (std::uint64_t i = 0; i < 300; ++i) {
                samples.emplace_back(shape, i + 1);
                if (i == 0)
                    images.add(shape);
                else
                    images.add_next(3);
                images.set(i, samples.back().view());
            }
            images.upload();
            DeviceResults results(analyzer.layout(), images.size());
            analyzer.enqueue(images.batch(), {}, results.at(), stream);
            synchronize();
            for (std::size_t i = 0; i < images.size(); i += 23)
                expect(results, i, expected(samples[i].view()), describe(shape).c_str());
        }
}

TEST_P(StreamDepthsTest, others_are_refused_by_name) {
    const auto message = [](const StreamPlan& plan) -> std::string {
        try {
            StreamAnalyzer analyzer(plan);
        } catch (const UnsupportedDepth& error) {
            return error.what();
        }
        return "";
    };
    for (const Depth depth : {Depth::u32, Depth::s32, Depth::f64})
        EXPECT_NE(message(plan_without_copies(depth, 1)).find(to_string(depth)), std::string::npos);
    for (const Depth depth : {Depth::s8, Depth::s16, Depth::f16}) {
        StreamPlan plan = plan_without_copies(depth, 3);
        plan.normalize = true;
        EXPECT_NE(message(plan).find(to_string(depth)), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(Stream, StreamDepthsTest, testing::ValuesIn(paths), label_of_path);

}  // namespace
}  // namespace gpuhist::test
