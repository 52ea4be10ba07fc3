// Work of the stream-level API captured into a CUDA graph, replayed.
#include <functional>

#include "support/stream_behavior.hpp"

namespace gpuhist::test {
namespace {

/// Everything that can be enqueued, captured once and replayed over images whose pixels change.
class StreamGraphTest : public StreamTest {
  protected:
    using Enqueue = std::function<void(StreamAnalyzer&, const DeviceImages&, const DeviceImages&, void* results)>;

    struct Subject {
        Depth depth;
        int channels;
        std::size_t images;
        bool equal_distances;  ///< a tensor; else a list of images unlike each other
        int launches;
    };
    void replay(const Subject& s, const Normalization* normalization, const Enqueue& enqueue) {
        if (left_out()) return;
        SCOPED_TRACE(std::to_string(s.images) + " images of " + to_string(s.depth) + "x" + std::to_string(s.channels) +
                     ", " + (normalization ? describe(*normalization) : "no copy"));
        const Shape shape{157, 61, s.channels, s.depth};
        const Shape output_shape = normalization ? normalized_shape(shape, *normalization) : shape;
        DeviceImages images, outputs;
        for (std::size_t i = 0; i < s.images; ++i) {
            i == 0 || !s.equal_distances ? images.add(shape, placement(i)) : images.add_next(7);
            i == 0 || !s.equal_distances ? outputs.add(output_shape, placement(i + 1)) : outputs.add_next(3);
        }
        images.upload();
        outputs.upload();
        StreamAnalyzer& subject = analyzer(shape);
        DeviceResults results(subject.layout({}, normalization), s.images);
        const Graph graph(stream, [&] { enqueue(subject, images, outputs, results.at()); });
        EXPECT_EQ(graph.kernels(), s.launches);
        EXPECT_NE(results.fetch().ready, 1u) << "capturing is not running";

        const OwnStream other;
        for (std::size_t round = 0; round < 5 && !HasFailure(); ++round) {
            SCOPED_TRACE("replay " + std::to_string(round));
            std::vector<Picture> pictures;
            for (std::size_t i = 0; i < s.images; ++i) {
                pictures.push_back(picture_of(shape, (round + i) % kinds(s.depth), round * 1000 + i));
                images.set(i, pictures[i].view());
            }
            images.upload();
            results.poison();
            graph.launch(round == 1 ? static_cast<cudaStream_t>(other) : stream);
            if (round == 3) {  // among plain calls of the same analyzer
                enqueue(subject, images, outputs, results.at());
                graph.launch(stream);
                graph.launch(stream);
            }
            check(cudaDeviceSynchronize());
            for (std::size_t i = 0; i < s.images && !HasFailure(); ++i) {
                if (normalization) {
                    Picture output(output_shape, packed);
                    expect(results, i, expected(pictures[i].view(), {}, *normalization, output));
                    outputs.set(i, output.view());
                } else {
                    expect(results, i, expected(pictures[i].view()));
                }
            }
            EXPECT_EQ(images.difference(), "");
            EXPECT_EQ(outputs.difference(), "");
        }
        EXPECT_TRUE(results.guard_untouched());
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamGraphTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamGraphTest, small_image) {
    for (Depth depth : depths)
        for (int channels : {1, 3, 4})
            replay({depth, channels, 1, true, 1}, nullptr,
                   [this](StreamAnalyzer& subject, const DeviceImages& images, const DeviceImages&, void* results) {
                       subject.enqueue(images[0], {}, results, stream);
                   });
}

TEST_P(StreamGraphTest, small_batch) {
    for (Depth depth : depths)
        replay({depth, 3, 9, true, 1}, nullptr,
               [this](StreamAnalyzer& subject, const DeviceImages& images, const DeviceImages&, void* results) {
                   subject.enqueue(images.batch(), {}, results, stream);
               });
}

// The views themselves may go once they are enqueued.
TEST_P(StreamGraphTest, small_list) {
    for (Depth depth : depths)
        for (std::size_t count : {5, 300})
            replay({depth, 1, count, false, count > 256 ? 2 : 1}, nullptr,
                   [this](StreamAnalyzer& subject, const DeviceImages& images, const DeviceImages&, void* results) {
                       std::vector<ImageView> views;
                       for (std::size_t i = 0; i < images.size(); ++i) views.push_back(images[i]);
                       subject.enqueue(views.data(), static_cast<std::int64_t>(views.size()), {}, results, stream);
                       std::fill(views.begin(), views.end(), ImageView{});
                   });
}

TEST_P(StreamGraphTest, small_normalized) {
    for (Depth depth : depths)
        for (const Normalization& normalization : normalizations(3))
            replay(
                {depth, 3, 1, true, 1}, &normalization,
                [&](StreamAnalyzer& subject, const DeviceImages& images, const DeviceImages& outputs, void* results) {
                    subject.enqueue_normalized(images[0], outputs[0], {}, normalization, results, stream);
                });
}

TEST_P(StreamGraphTest, small_normalized_batch) {
    const Normalization normalization{NormalizeMode::percentile, 1, 99, false};
    for (Depth depth : depths)
        replay({depth, 3, 7, true, 1}, &normalization,
               [&](StreamAnalyzer& subject, const DeviceImages& images, const DeviceImages& outputs, void* results) {
                   subject.enqueue_normalized(images.batch(), outputs.batch(), {}, normalization, results, stream);
               });
}

}  // namespace
}  // namespace gpuhist::test
