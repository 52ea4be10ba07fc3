// Images whose channels lie in planes, in the stream-level API: the findings of the same images with interleaved
// pixels.
#include <cstring>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/stream_cases.hpp"

namespace gpuhist::test {
namespace {

class StreamPlanesTest : public StreamTest {
  protected:
    /// Images in planes with gaps between rows, planes and images, in GPU memory.
    struct Planes {
        Planes(const std::vector<Picture>& pictures, const Placement& at) {
            const Shape& shape = pictures.front().shape();
            const auto sample = static_cast<std::int64_t>(sample_bytes(shape.depth));
            batch.first = {nullptr, shape.width, shape.height, shape.channels, shape.depth};
            batch.first.row_bytes = (shape.width + at.row_padding) * sample;
            batch.first.order = shape.order;
            batch.first.memory = Memory::device;
            batch.plane_bytes = batch.first.row_bytes * shape.height + at.offset * sample;
            batch.images = static_cast<std::int64_t>(pictures.size());
            batch.image_bytes = batch.plane_bytes * shape.channels + at.row_padding * sample;
            const std::int64_t first = at.offset * sample;
            std::vector<unsigned char> bytes(static_cast<std::size_t>(first + batch.images * batch.image_bytes),
                                             untouched);
            for (std::int64_t i = 0; i < batch.images; ++i) {
                const ImageView from = pictures[static_cast<std::size_t>(i)].view();
                for (std::int64_t y = 0; y < shape.height; ++y)
                    for (std::int64_t x = 0; x < shape.width; ++x)
                        for (int c = 0; c < shape.channels; ++c)
                            std::memcpy(bytes.data() + first + i * batch.image_bytes + c * batch.plane_bytes +
                                            y * batch.first.row_bytes + x * sample,
                                        static_cast<const char*>(from.data) + y * from.row_bytes +
                                            (x * shape.channels + c) * sample,
                                        static_cast<std::size_t>(sample));
            }
            memory = std::make_unique<DeviceMemory>(bytes.size(), untouched);
            check(cudaMemcpy(memory->data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
            check(cudaStreamSynchronize(nullptr));
            batch.first.data = memory->data() + first;
        }
        PlanarBatchView batch;
        std::unique_ptr<DeviceMemory> memory;
    };
    static StreamPlan plan_for(const Shape& shape, std::int64_t images_at_once) {
        StreamPlan plan;
        plan.depth = shape.depth;
        plan.channels = shape.channels;
        plan.planar_pixels = shape.width * shape.height * images_at_once;
        return plan;
    }
};

INSTANTIATE_TEST_SUITE_P(Stream, StreamPlanesTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamPlanesTest, small_batches) {
    std::size_t turn = 0;
    for (const Depth depth : depths)
        for (const int channels : channel_counts)
            for (const ChannelOrder order : orders_of(channels))
                for (const Size& size : {Size{1, 1}, Size{16, 16}, Size{17, 5}, Size{83, 41}, Size{257, 129}})
                    for (const std::size_t images : {1U, 5U}) {
                        const Shape shape{size.width, size.height, channels, depth, order};
                        const std::vector<Picture> pictures = pictures_of(shape, images);
                        const Planes planes(pictures, placement(turn));
                        StreamAnalyzer analyzer(plan_for(shape, 1 + static_cast<std::int64_t>(turn++ % 3)));
                        DeviceResults results(analyzer.layout(), images);
                        analyzer.enqueue(planes.batch, {}, results.at(), stream);
                        synchronize();
                        SCOPED_TRACE(describe(shape));
                        for (std::size_t i = 0; i < images; ++i)
                            expect(results, i, expected(pictures[i].view()), "planes");
                        EXPECT_TRUE(results.guard_untouched());
                        ASSERT_FALSE(HasFailure());
                    }
}

TEST_P(StreamPlanesTest, small_refusals) {
    const Shape shape{32, 16, 3, Depth::u16, ChannelOrder::rgb};
    const Planes planes(pictures_of(shape, 2), {});
    StreamAnalyzer analyzer(plan_for(shape, 1)), unplanned(plan_for(shape, 0));
    DeviceResults results(analyzer.layout(), 2);
    const auto refused = [&](StreamAnalyzer& by, const auto& change) {
        PlanarBatchView batch = planes.batch;
        change(batch);
        EXPECT_THROW(by.enqueue(batch, {}, results.at(), stream), InvalidArgument);
    };
    refused(unplanned, [](PlanarBatchView&) {});
    refused(analyzer, [](PlanarBatchView& batch) { batch.first.row_bytes = 62; });
    refused(analyzer, [](PlanarBatchView& batch) { batch.plane_bytes += 1; });
    refused(analyzer, [](PlanarBatchView& batch) { batch.image_bytes += 1; });
    refused(analyzer, [](PlanarBatchView& batch) { batch.images = 0; });
    refused(analyzer, [](PlanarBatchView& batch) { batch.first.height = 17; });
    refused(analyzer, [](PlanarBatchView& batch) { batch.first.channels = 4; });
    refused(analyzer, [](PlanarBatchView& batch) { batch.first.memory = Memory::host; });
    analyzer.enqueue(planes.batch, {}, results.at(), stream);
    synchronize();
}

}  // namespace
}  // namespace gpuhist::test
