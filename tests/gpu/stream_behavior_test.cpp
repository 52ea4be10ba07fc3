// Memory of the stream-level API: workspace, results, their layout; results that are polled; views of OpenCV matrices.
#include <array>
#include <opencv2/core/cuda.hpp>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "support/stream_behavior.hpp"

namespace gpuhist::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Stream, StreamBehaviorTest, testing::ValuesIn(paths), label_of_path);

// ---- memory --------------------------------------------------------------------------------------------------------

// One analyzer a type and one piece of memory for all results, in turn: nothing of the image before may show.
TEST_P(StreamBehaviorTest, small_analyzer_and_results_reused) {
    const Normalization widest{NormalizeMode::zscore, 1, 99, false};
    DeviceResults memory(analyzer(Depth::u16, 4).layout({}, &widest), 1);
    for (std::uint64_t turn = 0; turn < 120; ++turn) {
        if (left_out()) continue;
        const std::uint64_t bits = scramble(turn);
        Shape shape;
        shape.width = 1 + static_cast<std::int64_t>(bits % 300 >> (bits >> 60));
        shape.height = 1 + static_cast<std::int64_t>((bits >> 10) % 60);
        shape.channels = std::array{1, 3, 4}[(bits >> 20) % 3];
        shape.depth = std::array{Depth::u8, Depth::u16, Depth::f32}[(bits >> 24) % 3];
        shape.order = static_cast<ChannelOrder>((bits >> 28) % 2);
        AnalysisRequest request;
        request.luma_histogram = bits >> 40 & 1;
        request.bins = 1 + static_cast<std::uint32_t>((bits >> 41) % 600);
        request.detail = static_cast<Detail>(bits >> 52 & 1);
        const std::vector<Normalization> all = normalizations(shape.channels);
        const Normalization& normalization = all[(bits >> 53) % all.size()];
        const bool normalize = bits >> 57 & 1;
        SCOPED_TRACE("turn " + std::to_string(turn) + ", " + describe(shape) + ", " + describe(request) + ", " +
                     (normalize ? describe(normalization) : "no copy"));

        const Picture picture = picture_of(shape, (bits >> 30) % kinds(shape.depth));
        Picture output(normalized_shape(shape, normalization), packed);
        DeviceImages images, outputs;
        images.add(picture, placement(turn));
        outputs.add(output.shape(), placement(turn + 3));
        images.upload();
        outputs.upload();
        StreamAnalyzer& subject = analyzer(shape);
        const ResultLayout layout = subject.layout(request, normalize ? &normalization : nullptr);
        ASSERT_LE(layout.bytes, memory.layout().bytes);
        Expected truth;
        if (normalize) {
            subject.enqueue_normalized(images[0], outputs[0], request, normalization, memory.at(), stream);
            truth = expected(picture.view(), request, normalization, output);
            outputs.set(0, output.view());
        } else {
            subject.enqueue(images[0], request, memory.at(), stream);
            truth = expected(picture.view(), request);
        }
        synchronize();
        EXPECT_EQ(difference(memory.fetch(), layout, truth), "");
        EXPECT_EQ(outputs.difference(), "");
    }
}

// The analyzer's own workspace; dirty ones that the test gives are those of all other tests.
TEST_P(StreamBehaviorTest, small_own_workspace) {
    for (Depth depth : depths)
        for (int channels : {1, 3, 4}) {
            StreamAnalyzer first(plan_of(depth, channels));
            EXPECT_EQ(first.plan().depth, depth);
            EXPECT_EQ(first.plan().channels, channels);
            StreamAnalyzer subject(plan_of(Depth::u8, 1));
            subject = std::move(first);
            const Picture picture = picture_of({123, 45, channels, depth}, 5);
            DeviceImages images;
            images.add(picture);
            images.upload();
            DeviceResults results(subject.layout(), 2);
            subject.enqueue(images[0], {}, results.at(0), stream);
            StreamAnalyzer moved(std::move(subject));
            moved.enqueue(images[0], {}, results.at(1), stream);
            synchronize();
            const Expected truth = expected(picture.view());
            expect(results, 0, truth);
            expect(results, 1, truth);
        }
}

// An analyzer that is not to normalize may have less workspace: exactly that, and it is enough.
TEST_P(StreamBehaviorTest, small_workspace_of_an_analyzer_that_does_not_normalize) {
    for (Depth depth : depths)
        for (int channels : {1, 3, 4}) {
            StreamPlan plan = plan_of(depth, channels);
            const std::size_t with_copies = StreamAnalyzer::workspace_bytes(plan);
            plan.normalize = false;
            plan.bins = 100;
            const std::size_t bytes = StreamAnalyzer::workspace_bytes(plan);
            EXPECT_LE(bytes, with_copies);
            EXPECT_EQ(bytes % 256, 0u);
            DeviceMemory workspace(bytes, 0x99);
            StreamAnalyzer subject(plan, workspace.data());
            AnalysisRequest request;
            request.bins = 100;
            std::vector<Picture> pictures;
            DeviceImages images;
            std::vector<ImageView> views;
            for (std::size_t i = 0; i < 4; ++i) {
                pictures.push_back(picture_of({1 + static_cast<std::int64_t>(i * i) * 50, 31, channels, depth}, i + 4));
                images.add(pictures.back(), placement(i));
            }
            images.upload();
            for (std::size_t i = 0; i < 4; ++i) views.push_back(images[i]);
            DeviceResults results(subject.layout(request), 4);
            subject.enqueue(views.data(), 4, request, results.at(), stream);
            synchronize();
            for (std::size_t i = 0; i < 4; ++i) expect(results, i, expected(pictures[i].view(), request));
            EXPECT_TRUE(workspace.guard_untouched());
        }
}

TEST_P(StreamBehaviorTest, small_layout) {
    for (Depth depth : depths)
        for (int channels : {1, 3, 4}) {
            const StreamAnalyzer& subject = analyzer(depth, channels);
            AnalysisRequest request;
            request.bins = 1000;
            const std::size_t bins = depth == Depth::u8 ? 256 : depth == Depth::u16 ? 65536 : 1000;
            const std::size_t counts = measured_channels(channels).size() * bins * sizeof(std::uint64_t);
            const ResultLayout plain = subject.layout(request);
            EXPECT_EQ(plain.bytes % 256, 0u);
            EXPECT_GE(plain.counts_offset, sizeof(ImageResult));
            EXPECT_EQ(plain.counts_offset % alignof(std::uint64_t), 0u);
            EXPECT_LE(plain.counts_offset + counts, plain.bytes);
            EXPECT_EQ(plain.tables_offset, 0u);
            EXPECT_EQ(plain.details_offset != 0, depth == Depth::f32);
            for (const Normalization& normalization : normalizations(channels)) {
                const ResultLayout copied = subject.layout(request, &normalization);
                EXPECT_EQ(copied.bytes % 256, 0u);
                if (depth == Depth::f32) {
                    EXPECT_EQ(copied.tables_offset, 0u);
                    continue;
                }
                const std::size_t tables = (channels == 1 || normalization.joint ? 1 : 3) * bins *
                                           sample_bytes(normalized_depth(depth, normalization.mode));
                EXPECT_GE(copied.tables_offset, copied.counts_offset + counts);
                EXPECT_GE(copied.bytes, copied.tables_offset + tables);
            }
        }
}

TEST_P(StreamBehaviorTest, alone_on_the_gpu_no_memory_is_taken_after_the_first_calls) {
    struct Work {
        Picture picture;
        DeviceImages images, outputs;
        std::vector<ImageView> views;
        std::unique_ptr<DeviceResults> results;
    };
    const Normalization normalization;
    std::vector<std::unique_ptr<Work>> all;
    for (Depth depth : depths)
        for (int channels : {1, 3, 4}) {
            all.push_back(std::make_unique<Work>(Work{picture_of({211, 97, channels, depth}, 5), {}, {}, {}, {}}));
            Work& work = *all.back();
            for (int i = 0; i < 3; ++i) {
                work.images.add(work.picture, placement(static_cast<std::size_t>(i)));
                work.outputs.add(work.picture);
            }
            work.images.upload();
            work.outputs.upload();
            for (std::size_t i = 0; i < 3; ++i) work.views.push_back(work.images[i]);
            work.results = std::make_unique<DeviceResults>(analyzer(depth, channels).layout({}, &normalization), 3);
        }
    auto enqueue_all = [&] {
        for (auto& work : all) {
            StreamAnalyzer& subject = analyzer(work->picture.shape());
            subject.enqueue(work->views[0], {}, work->results->at(), stream);
            subject.enqueue(work->views.data(), 3, {}, work->results->at(), stream);
            subject.enqueue_normalized(work->views[1], work->outputs[1], {}, normalization, work->results->at(),
                                       stream);
        }
    };
    auto free_bytes = [this] {
        check(cudaStreamSynchronize(stream));
        std::size_t free = 0, total = 0;
        check(cudaMemGetInfo(&free, &total));
        return free;
    };
    enqueue_all();
    const std::size_t before = free_bytes();
    for (int i = 0; i < 200; ++i) enqueue_all();
    EXPECT_EQ(free_bytes(), before);
}

// ---- results in pinned memory --------------------------------------------------------------------------------------

TEST_P(StreamBehaviorTest, small_pinned_results_are_polled) {
    for (Depth depth : depths)
        for (int channels : {1, 3, 4}) {
            SCOPED_TRACE(std::string(to_string(depth)) + "x" + std::to_string(channels));
            constexpr std::size_t count = 5;
            StreamAnalyzer& subject = analyzer(depth, channels);
            PinnedResults first(subject.layout(), count);
            for (int i = 0; i < 5; ++i) EXPECT_FALSE(first.ready(i));
            PinnedResults results(std::move(first));
            EXPECT_EQ(first.device(), nullptr) << "what was moved from leads to the other's memory";  // NOLINT
            std::vector<Expected> truths;
            DeviceImages images;
            for (std::size_t i = 0; i < count; ++i) {
                const Shape shape{1 + static_cast<std::int64_t>(i) * 111, 33, channels, depth};
                const Picture picture = picture_of(shape, i + 2);
                images.add(picture, placement(i));
                truths.push_back(expected(picture.view()));
            }
            images.upload();
            std::vector<ImageView> views;
            for (std::size_t i = 0; i < count; ++i) views.push_back(images[i]);
            for (std::size_t round = 0; round < repetitions(3, 1); ++round) {
                subject.enqueue(views.data(), count, {}, results.device(), stream);
                for (std::size_t i = count; i-- > 0;) {
                    const auto at = static_cast<std::int64_t>(i);
                    ASSERT_TRUE(wait_until_ready(results, at));
                    EXPECT_EQ(difference(results[at], subject.layout(), truths[i]), "") << i;
                }
                synchronize();
                results.clear();
                EXPECT_FALSE(results.ready(2));
                EXPECT_THROW(read_result(&results[2]), InvalidArgument);
            }
        }
}

// A result that is ready can be read whole: again and again, at once.
TEST_P(StreamBehaviorTest, ready_comes_last) {
    for (Depth depth : depths)
        for (const Shape& shape : {Shape{64, 64, 3, depth}, Shape{1000, 700, 1, depth}}) {
            StreamAnalyzer& subject = analyzer(shape);
            constexpr std::size_t count = 4;
            std::vector<Expected> truths;
            DeviceImages images;
            for (std::size_t i = 0; i < count; ++i) {
                const Picture picture = picture_of(shape, 5, i);
                images.add(picture);
                truths.push_back(expected(picture.view()));
            }
            images.upload();
            PinnedResults results(subject.layout());
            for (std::size_t round = 0; round < repetitions(300, count); ++round) {
                const Expected& truth = truths[round % count];
                subject.enqueue(images[round % count], {}, results.device(), stream);
                ASSERT_TRUE(wait_until_ready(results));
                ASSERT_EQ(difference(read_result(&results[0]), truth.analysis), "") << "round " << round;
                // The kernel may still be on its way out: what follows in the stream is a clear that it cannot meet.
                synchronize();
                std::memset(const_cast<void*>(static_cast<const void*>(&results[0])), 0x5A, subject.layout().bytes);
                results.clear();
            }
        }
}

TEST(StreamResult, small_that_is_not_ready_cannot_be_read) {
    alignas(16) char result[2048] = {};
    EXPECT_THROW(read_result(result), InvalidArgument);
    std::memset(result, 0xFF, sizeof result);
    EXPECT_THROW(read_result(result), InvalidArgument);
}

TEST_P(StreamBehaviorTest, small_pinned_results_of_no_image_are_refused) {
    EXPECT_THROW(PinnedResults(analyzer(Depth::u8, 1).layout(), 0), InvalidArgument);
    EXPECT_THROW(PinnedResults(analyzer(Depth::u8, 1).layout(), -3), InvalidArgument);
}

// ---- OpenCV --------------------------------------------------------------------------------------------------------

TEST_P(StreamBehaviorTest, small_view_of_an_opencv_matrix) {
    for (const auto& [depth, type] : {std::pair{Depth::u8, CV_8UC3}, {Depth::u16, CV_16UC3}, {Depth::f32, CV_32FC3}}) {
        const Shape shape{123, 45, 3, depth};
        const Picture picture = picture_of(shape, 6);
        DeviceImages images;
        images.add(picture, {0, 11});
        images.upload();
        cv::cuda::GpuMat matrix(45, 123, type, images[0].data, static_cast<std::size_t>(images[0].row_bytes));
        StreamAnalyzer& subject = analyzer(shape);
        const Normalization normalization;
        DeviceResults results(subject.layout({}, &normalization), 1);
        subject.enqueue_normalized(io::view(matrix), io::mutable_view(matrix), {}, normalization, results.at(), stream);
        synchronize();
        Picture output(shape, packed);
        expect(results, 0, expected(picture.view(), {}, normalization, output));
        images.set(0, output.view());
        EXPECT_EQ(images.difference(), "");
    }
}

}  // namespace
}  // namespace gpuhist::test
