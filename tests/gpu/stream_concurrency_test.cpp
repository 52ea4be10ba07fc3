// Streams and threads beside the stream-level API: what waits for what, and what does not.
#include <functional>
#include <thread>

#include "gpuhist/error.hpp"
#include "support/stream_behavior.hpp"

namespace gpuhist::test {
namespace {

// Calls in a row, sizes changing, with a copy now and then; the host waits once.
TEST_P(StreamBehaviorTest, small_back_to_back) {
    for (Depth depth : depths)
        for (int channels : {1, 3}) {
            constexpr std::size_t sizes = 7;
            const std::size_t calls = repetitions(50, sizes);
            const Normalization normalization{NormalizeMode::equalize, 1, 99, true};
            std::vector<Picture> pictures;
            std::vector<Expected> truths;
            DeviceImages images, outputs;
            for (std::size_t i = 0; i < sizes; ++i) {
                const Shape shape{1 + static_cast<std::int64_t>(i * i * i), 1 + static_cast<std::int64_t>(i) * 9,
                                  channels, depth};
                pictures.push_back(picture_of(shape, i + 1));
                images.add(pictures.back(), placement(i));
                outputs.add(shape, placement(i + 1));
                truths.push_back(expected(pictures.back().view()));
            }
            images.upload();
            outputs.upload();
            StreamAnalyzer& subject = analyzer(depth, channels);
            DeviceResults same(subject.layout(), calls), changing(subject.layout(), calls),
                copied(subject.layout({}, &normalization), calls);
            for (std::size_t i = 0; i < calls; ++i) subject.enqueue(images[4], {}, same.at(i), stream);
            for (std::size_t i = 0; i < calls; ++i) {
                subject.enqueue(images[i % sizes], {}, changing.at(i), stream);
                if (i % 5 == 0)
                    subject.enqueue_normalized(images[i % sizes], outputs[i % sizes], {}, normalization, copied.at(i),
                                               stream);
            }
            synchronize();
            for (std::size_t i = 0; i < calls; ++i) {
                expect(same, i, truths[4], "same");
                expect(changing, i, truths[i % sizes], "changing");
                if (i % 5 != 0) continue;
                Picture output(pictures[i % sizes].shape(), packed);
                expect(copied, i, expected(pictures[i % sizes].view(), {}, normalization, output), "copied");
                outputs.set(i % sizes, output.view());
            }
            EXPECT_EQ(outputs.difference(), "");
        }
}

TEST_P(StreamBehaviorTest, small_any_kind_of_stream) {
    const Picture picture = picture_of({123, 45, 3, Depth::u8}, 6);
    DeviceImages images;
    images.add(picture);
    images.upload();
    StreamAnalyzer& subject = analyzer(Depth::u8, 3);
    const Expected truth = expected(picture.view());
    const OwnStream blocking(cudaStreamDefault);
    DeviceResults results(subject.layout(), 4);
    std::size_t i = 0;
    for (cudaStream_t any : {static_cast<cudaStream_t>(nullptr), cudaStreamLegacy, cudaStreamPerThread,
                             static_cast<cudaStream_t>(blocking)}) {
        subject.enqueue(images[0], {}, results.at(i), any);
        check(cudaStreamSynchronize(any));
        expect(results, i++, truth, "stream");
    }
}

// Calls come back while the stream is still busy with what was before them, the first of all too: the analyzer has
// loaded its kernels when it is made.
TEST_P(StreamBehaviorTest, enqueue_does_not_wait_for_its_stream) {
    for (Depth depth : depths) {
        SCOPED_TRACE(to_string(depth));
        const Shape shape{123, 45, 3, depth};
        const Picture picture = picture_of(shape, 6);
        DeviceImages images, outputs;
        images.add(picture);
        outputs.add(shape);
        images.upload();
        outputs.upload();
        const ImageView view = images[0];
        const Normalization normalization;
        StreamAnalyzer& subject = analyzer(shape);
        PinnedResults results(subject.layout(), 3), copied(subject.layout({}, &normalization));
        char* const memory = static_cast<char*>(results.device());
        {
            Hold hold(stream);
            subject.enqueue(view, {}, memory, stream);
            subject.enqueue(&view, 1, {}, memory + subject.layout().bytes, stream);
            subject.enqueue(images.batch(), {}, memory + 2 * subject.layout().bytes, stream);
            subject.enqueue_normalized(view, outputs[0], {}, normalization, copied.device(), stream);
            EXPECT_TRUE(busy(stream));
            EXPECT_FALSE(hold.gave_up());
            for (int i = 0; i < 3; ++i) EXPECT_FALSE(results.ready(i));
            EXPECT_THROW(read_result(&results[0]), InvalidArgument);
            hold.release();
        }
        synchronize();
        const Expected truth = expected(picture.view());
        for (int i = 0; i < 3; ++i) EXPECT_EQ(difference(results[i], subject.layout(), truth), "") << i;
        Picture output(shape, packed);
        EXPECT_EQ(difference(copied[0], subject.layout({}, &normalization),
                             expected(picture.view(), {}, normalization, output)),
                  "");
        outputs.set(0, output.view());
        EXPECT_EQ(outputs.difference(), "");
    }
}

// A stream that does not wait for the legacy default stream is not made to.
TEST_P(StreamBehaviorTest, busy_default_stream_is_not_waited_for) {
    for (Depth depth : depths) {
        const Picture picture = picture_of({123, 45, 3, depth}, 6);
        DeviceImages images;
        images.add(picture);
        images.upload();
        StreamAnalyzer& subject = analyzer(depth, 3);
        const Expected truth = expected(picture.view());
        PinnedResults results(subject.layout());
        subject.enqueue(images[0], {}, results.device(), stream);  // kernels are loaded when first launched
        synchronize();
        results.clear();
        Hold hold(cudaStreamLegacy);
        subject.enqueue(images[0], {}, results.device(), stream);
        EXPECT_TRUE(wait_until_ready(results));
        EXPECT_FALSE(hold.gave_up());
        EXPECT_TRUE(busy(cudaStreamLegacy));
        EXPECT_EQ(difference(results[0], subject.layout(), truth), "");
    }
}

// One analyzer's launches in two streams, each waiting for the one before by an event.
TEST_P(StreamBehaviorTest, small_two_streams_in_turn_by_events) {
    const OwnStream other;
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (Depth depth : depths) {
        const std::size_t calls = repetitions(40, 4);
        std::vector<Picture> pictures;
        std::vector<Expected> truths;
        DeviceImages images;
        for (std::size_t i = 0; i < 3; ++i) {
            pictures.push_back(picture_of({99 + static_cast<std::int64_t>(i) * 100, 77, 3, depth}, i + 4));
            images.add(pictures.back());
            truths.push_back(expected(pictures.back().view()));
        }
        images.upload();
        StreamAnalyzer& subject = analyzer(depth, 3);
        DeviceResults results(subject.layout(), calls);
        for (std::size_t i = 0; i < calls; ++i) {
            const cudaStream_t now = i % 2 ? static_cast<cudaStream_t>(other) : stream;
            if (i > 0) check(cudaStreamWaitEvent(now, event, 0));
            subject.enqueue(images[i % 3], {}, results.at(i), now);
            check(cudaEventRecord(event, now));
        }
        check(cudaEventSynchronize(event));
        for (std::size_t i = 0; i < calls; ++i) expect(results, i, truths[i % 3]);
    }
    check(cudaEventDestroy(event));
}

/// An analyzer with a stream and work of its own.
class Lane {
  public:
    Lane(const StreamPlan& plan, const std::function<Expected(const ImageView&)>& find,
         const std::function<Expected(const ImageView&, Picture&)>& find_normalized)
        : subject_(plan) {
        for (std::size_t i = 0; i < pictures; ++i) {
            const Shape shape{40 + static_cast<std::int64_t>(i) * 300, 83, plan.channels, plan.depth};
            const Picture picture = picture_of(shape, i + 4);
            Picture output(shape, packed);
            images_.add(picture, placement(i));
            outputs_.add(shape, placement(i + 1));
            truths_.push_back(find(picture.view()));
            copied_truths_.push_back(find_normalized(picture.view(), output));
            expected_outputs_.push_back(std::move(output));
        }
        images_.upload();
        outputs_.upload();
        results_ = std::make_unique<DeviceResults>(subject_.layout(), rounds * pictures);
        copied_ = std::make_unique<DeviceResults>(subject_.layout({}, &normalization), rounds * pictures);
    }
    void enqueue(std::size_t round) {
        for (std::size_t i = 0; i < pictures; ++i) {
            const std::size_t at = round * pictures + i;
            subject_.enqueue(images_[i], {}, results_->at(at), stream_);
            subject_.enqueue_normalized(images_[i], outputs_[i], {}, normalization, copied_->at(at), stream_);
        }
    }
    void check_all() {
        check(cudaStreamSynchronize(stream_));
        for (std::size_t i = 0; i < pictures; ++i) outputs_.set(i, expected_outputs_[i].view());
        EXPECT_EQ(outputs_.difference(), "");
        for (std::size_t at = 0; at < rounds * pictures; ++at) {
            EXPECT_EQ(difference(results_->fetch(at), results_->layout(), truths_[at % pictures]), "") << at;
            EXPECT_EQ(difference(copied_->fetch(at), copied_->layout(), copied_truths_[at % pictures]), "") << at;
        }
    }

    static constexpr std::size_t pictures = 3;
    static inline const std::size_t rounds = repetitions(20, 2);
    inline static const Normalization normalization{NormalizeMode::minmax, 1, 99, true};

  private:
    StreamAnalyzer subject_;
    OwnStream stream_;
    DeviceImages images_, outputs_;
    std::vector<Expected> truths_, copied_truths_;
    std::vector<Picture> expected_outputs_;
    std::unique_ptr<DeviceResults> results_, copied_;
};

class StreamLanesTest : public StreamTest {
  protected:
    std::vector<std::unique_ptr<Lane>> lanes() {
        std::vector<std::unique_ptr<Lane>> all;
        for (const auto& [depth, channels] :
             {std::pair{Depth::u8, 3}, {Depth::u16, 1}, {Depth::f32, 3}, {Depth::u8, 1}, {Depth::u8, 3}})
            all.push_back(std::make_unique<Lane>(
                plan_of(depth, channels), [this](const ImageView& image) { return expected(image); },
                [this](const ImageView& image, Picture& output) {
                    return expected(image, {}, Lane::normalization, output);
                }));
        return all;
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamLanesTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamLanesTest, analyzers_on_streams_of_their_own) {
    for (std::size_t i = 0; i < repetitions(3, 1); ++i) {
        const auto all = lanes();
        for (std::size_t round = 0; round < Lane::rounds; ++round)
            for (const auto& lane : all) lane->enqueue(round);
        for (const auto& lane : all) lane->check_all();
    }
}

TEST_P(StreamLanesTest, analyzers_on_threads_of_their_own) {
    const auto all = lanes();
    for (std::size_t i = 0; i < repetitions(3, 1); ++i) {
        std::vector<std::thread> threads;
        for (const auto& lane : all)
            threads.emplace_back([&lane] {
                for (std::size_t round = 0; round < Lane::rounds; ++round) lane->enqueue(round);
                lane->check_all();
            });
        for (std::thread& thread : threads) thread.join();
    }
}

// The GPU of the plan need not be the current one, which stays what it was.
TEST_P(StreamBehaviorTest, small_current_device_stays_current) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices));
    if (devices < 2) GTEST_SKIP() << "needs two GPUs, here is one";
    auto current = [] {
        int device = -1;
        check(cudaGetDevice(&device));
        return device;
    };
    const Shape shape{64, 64, 3, Depth::u8};
    const Picture picture = picture_of(shape, 6);
    const Normalization normalization;
    Picture output(shape, packed);
    const Expected truth = expected(picture.view(), {}, normalization, output);
    for (int gpu : {0, 1})
        for (int here : {1, 0}) {
            check(cudaSetDevice(gpu));
            DeviceImages images, outputs;
            images.add(picture);
            outputs.add(shape);
            images.upload();
            outputs.upload();
            auto own = std::make_unique<OwnStream>();
            StreamPlan plan = plan_of(Depth::u8, 3);
            plan.gpu = gpu;

            check(cudaSetDevice(here));
            EXPECT_GT(StreamAnalyzer::workspace_bytes(plan), 0u);
            EXPECT_EQ(current(), here);
            auto subject = std::make_unique<StreamAnalyzer>(plan);
            EXPECT_EQ(current(), here);
            PinnedResults results(subject->layout({}, &normalization), 2);
            EXPECT_EQ(current(), here);
            subject->enqueue_normalized(images[0], outputs[0], {}, normalization, results.device(), *own);
            EXPECT_EQ(current(), here);
            EXPECT_THROW(subject->enqueue(ImageView{}, {}, results.device(), *own), InvalidArgument);
            EXPECT_EQ(current(), here);
            EXPECT_TRUE(wait_until_ready(results));
            subject.reset();
            EXPECT_EQ(current(), here);
            EXPECT_EQ(difference(results[0], StreamAnalyzer(plan).layout({}, &normalization), truth), "");

            check(cudaSetDevice(gpu));
            check(cudaStreamSynchronize(*own));
            outputs.set(0, output.view());
            EXPECT_EQ(outputs.difference(), "");
            own.reset();
        }
    check(cudaSetDevice(0));
}

}  // namespace
}  // namespace gpuhist::test
