// How the stream-level API behaves: streams, threads, graphs, memory, polling, refusals. What it finds and writes:
// stream_test.cpp.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <opencv2/core/cuda.hpp>
#include <thread>
#include <tuple>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "support/stream_under_test.hpp"

namespace gpuhist::test {
namespace {

constexpr Depth depths[] = {Depth::u8, Depth::u16, Depth::f32};
const auto patience = std::chrono::seconds(every_nth() > 1 ? 300 : 20);

/// Keeps a stream busy until it is released, but not for ever.
class Hold {
  public:
    explicit Hold(cudaStream_t stream) : stream_(stream) { check(cudaLaunchHostFunc(stream, wait, this)); }
    ~Hold() {
        release();
        cudaStreamSynchronize(stream_);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    void release() { released_ = true; }
    bool gave_up() const { return gave_up_; }

  private:
    static void wait(void* hold) {
        auto& self = *static_cast<Hold*>(hold);
        const auto end = std::chrono::steady_clock::now() + patience;
        while (!self.released_ && !self.gave_up_) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
            if (std::chrono::steady_clock::now() > end) self.gave_up_ = true;
        }
    }

    cudaStream_t stream_;
    std::atomic<bool> released_ = false, gave_up_ = false;
};

/// Whether a stream still has something to do.
bool busy(cudaStream_t stream) {
    const cudaError_t status = cudaStreamQuery(stream);
    (void)cudaGetLastError();  // "not ready" counts as one
    return status == cudaErrorNotReady;
}

/// What `enqueue` puts on the stream, to be replayed.
class Graph {
  public:
    Graph(cudaStream_t stream, const std::function<void()>& enqueue) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        try {
            enqueue();
        } catch (...) {
            cudaStreamEndCapture(stream, &graph_);
            throw;
        }
        check(cudaStreamEndCapture(stream, &graph_));
        check(cudaGraphInstantiate(&executable_, graph_, 0));
    }
    ~Graph() {
        cudaGraphExecDestroy(executable_);
        cudaGraphDestroy(graph_);
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream)); }
    /// How many kernels are in it; −1 where there is anything else.
    int kernels() const {
        std::size_t count = 0;
        check(cudaGraphGetNodes(graph_, nullptr, &count));
        std::vector<cudaGraphNode_t> nodes(count);
        check(cudaGraphGetNodes(graph_, nodes.data(), &count));
        for (cudaGraphNode_t node : nodes) {
            cudaGraphNodeType type;
            check(cudaGraphNodeGetType(node, &type));
            if (type != cudaGraphNodeTypeKernel) return -1;
        }
        return static_cast<int>(count);
    }

  private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

/// A stream of its own.
class OwnStream {
  public:
    explicit OwnStream(unsigned flags = cudaStreamNonBlocking) { check(cudaStreamCreateWithFlags(&stream_, flags)); }
    ~OwnStream() { cudaStreamDestroy(stream_); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

class StreamBehaviorTest : public StreamTest {
  protected:
    /// Polls without a call to CUDA.
    static bool wait_until_ready(const PinnedResults& results, std::int64_t image = 0) {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (!results.ready(image))
            if (std::chrono::steady_clock::now() > end) return false;
        return true;
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamBehaviorTest, testing::ValuesIn(paths), label_of_path);

// ---- memory --------------------------------------------------------------------------------------------------------

// One analyser a type and one piece of memory for all results, in turn: nothing of the image before may show.
TEST_P(StreamBehaviorTest, small_analyser_and_results_reused) {
    const Normalization widest{NormalizeMode::zscore, 1, 99, false};
    DeviceResults memory(analyzer(Depth::u16, 4).layout({}, &widest), 1);
    for (std::uint64_t turn = 0; turn < 120; ++turn) {
        if (left_out()) continue;
        const std::uint64_t bits = scramble(turn);
        Shape shape;
        shape.width = 1 + static_cast<std::int64_t>(bits % 300 >> (bits >> 60));
        shape.height = 1 + static_cast<std::int64_t>((bits >> 10) % 60);
        shape.channels = std::array{1, 3, 4}[(bits >> 20) % 3];
        shape.depth = static_cast<Depth>((bits >> 24) % 3);
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

// The analyser's own workspace; dirty ones that the test gives are those of all other tests.
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

// An analyser that is not to normalise may have less workspace: exactly that, and it is enough.
TEST_P(StreamBehaviorTest, small_workspace_of_an_analyser_that_does_not_normalize) {
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
            const std::size_t counts = rows_of(channels).size() * bins * sizeof(std::uint64_t);
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

// ---- streams and threads -------------------------------------------------------------------------------------------

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

// Calls come back while the stream is still busy with what was before them, the first of all too: run alone, as ctest
// does, the first round loads the kernels.
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

// One analyser's launches in two streams, each waiting for the one before by an event.
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

/// An analyser with a stream and work of its own.
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
    static constexpr Normalization normalization{NormalizeMode::minmax, 1, 99, true};

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

// ---- graphs --------------------------------------------------------------------------------------------------------

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
            if (round == 3) {  // among plain calls of the same analyser
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

// As soon as a result is ready all of it can be read: again and again, at once.
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

// ---- refusals ------------------------------------------------------------------------------------------------------

class StreamRefusalTest : public StreamTest {
  protected:
    void SetUp() override {
        StreamTest::SetUp();
        if (HasFatalFailure() || IsSkipped()) return;
        for (Depth depth : depths)
            for (DeviceImages* all : {&images_[depth], &outputs_[depth]}) {
                all->add({32, 16, 3, depth}, {0, 8});
                all->add_next(16);
                all->upload();
            }
        const Normalization normalization{NormalizeMode::zscore, 1, 99, false};
        results_ = std::make_unique<DeviceResults>(analyzer(Depth::u16, 3).layout({}, &normalization), 4);
    }

    ImageView image(Depth depth) { return images_[depth][0]; }
    MutableImageView output(Depth depth) { return outputs_[depth][0]; }
    BatchView batch(Depth depth) { return images_[depth].batch(); }
    MutableBatchView output_batch(Depth depth) { return outputs_[depth].batch(); }
    void* results() const { return results_->at(); }

    template <class Call>
    static void refused(const char* what, const Call& call) {
        try {
            call();
            ADD_FAILURE() << what << " was accepted";
        } catch (const InvalidArgument& error) {
            EXPECT_GT(std::string(error.what()).size(), 10u) << what;
        } catch (const std::exception& error) {
            ADD_FAILURE() << what << ": another exception, " << error.what();
        }
        EXPECT_EQ(cudaGetLastError(), cudaSuccess) << what;
    }
    /// Whether nothing was enqueued by what was refused.
    void expect_nothing_done() {
        synchronize();
        for (std::size_t i = 0; i < 4; ++i) {
            const auto* bytes = reinterpret_cast<const unsigned char*>(&results_->fetch(i));
            EXPECT_TRUE(std::all_of(bytes, bytes + results_->layout().bytes,
                                    [bytes](unsigned char byte) { return byte == bytes[0]; }));
        }
        for (Depth depth : depths) {
            EXPECT_EQ(images_[depth].difference(), "");
            EXPECT_EQ(outputs_[depth].difference(), "");
        }
    }

  private:
    std::map<Depth, DeviceImages> images_, outputs_;
    std::unique_ptr<DeviceResults> results_;
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamRefusalTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamRefusalTest, small_plans) {
    auto refused_plan = [&](const char* what, auto change) {
        StreamPlan plan = plan_of(Depth::f32, 3);
        change(plan);
        refused(what, [&] { StreamAnalyzer subject(plan); });
        refused(what, [&] { StreamAnalyzer::workspace_bytes(plan); });
    };
    for (int channels : {-1, 0, 2, 5})
        refused_plan("a number of channels", [&](StreamPlan& plan) { plan.channels = channels; });
    refused_plan("a depth", [](StreamPlan& plan) { plan.depth = static_cast<Depth>(3); });
    refused_plan("no bins", [](StreamPlan& plan) { plan.bins = 0; });
    refused_plan("too many bins", [](StreamPlan& plan) { plan.bins = (1u << 24) + 1; });
    for (int gpu : {-1, 9999}) {
        StreamPlan plan = plan_of(Depth::u8, 1);
        plan.gpu = gpu;
        EXPECT_THROW(StreamAnalyzer{plan}, EngineUnavailable);
        EXPECT_THROW(StreamAnalyzer::workspace_bytes(plan), EngineUnavailable);
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    }
}

TEST_P(StreamRefusalTest, small_images) {
    for (Depth depth : depths) {
        SCOPED_TRACE(to_string(depth));
        auto refused_image = [&](const char* what, auto change) {
            ImageView view = image(depth);
            change(view);
            refused(what, [&] { analyzer(depth, 3).enqueue(view, {}, results(), stream); });
            // Anywhere in a list, however long: nothing of it is begun.
            std::vector<ImageView> views(300, image(depth));
            views[290] = view;
            refused(what, [&] { analyzer(depth, 3).enqueue(views.data(), 300, {}, results(), stream); });
            BatchView of_these = batch(depth);
            of_these.first = view;
            of_these.image_bytes = std::int64_t{1} << 40;
            refused(what, [&] { analyzer(depth, 3).enqueue(of_these, {}, results(), stream); });
        };
        for (Depth other : depths)
            if (other != depth) {
                refused_image("another depth", [&](ImageView& view) {
                    view = image(depth);
                    view.depth = other;
                    view.row_bytes *= 8;
                });
            }
        for (int channels : {0, 1, 2, 4, 5})
            refused_image("another number of channels", [&](ImageView& view) {
                view.channels = channels;
                view.row_bytes *= 8;
            });
        std::vector<double> on_host(32 * 16 * 3);
        refused_image("an image in host memory", [&](ImageView& view) {
            view.data = on_host.data();
            view.memory = Memory::host;
        });
        refused_image("no pixels", [](ImageView& view) { view.data = nullptr; });
        refused_image("no width", [](ImageView& view) { view.width = 0; });
        refused_image("no height", [](ImageView& view) { view.height = -1; });
        refused_image("rows that overlap", [](ImageView& view) { view.row_bytes = view.packed_row_bytes() - 4; });
        if (depth != Depth::u8) {
            refused_image("data between samples",
                          [](ImageView& view) { view.data = static_cast<const char*>(view.data) + 1; });
            refused_image("rows between samples", [](ImageView& view) { view.row_bytes += 1; });
        }
        refused_image("more pixels than counters hold", [](ImageView& view) {
            view.width = 1 << 20;
            view.height = 1 << 26;
            view.row_bytes = view.packed_row_bytes();
        });
        refused_image("too long rows with gaps", [](ImageView& view) {
            view.width = (std::int64_t{1} << 30) / view.channels + 1;
            view.height = 2;
            view.row_bytes = view.packed_row_bytes() + 64;
        });
    }
    expect_nothing_done();
}

TEST_P(StreamRefusalTest, small_requests) {
    auto refused_request = [&](const char* what, auto change) {
        AnalysisRequest request;
        change(request);
        refused(what, [&] { analyzer(Depth::f32, 3).enqueue(image(Depth::f32), request, results(), stream); });
    };
    refused_request("no bins", [](AnalysisRequest& request) { request.bins = 0; });
    refused_request("more bins than planned", [](AnalysisRequest& request) { request.bins = 65537; });
    refused_request("an empty range", [](AnalysisRequest& request) { request.range = Range{1, 1}; });
    refused_request("an infinite range", [](AnalysisRequest& request) { request.range = Range{0, INFINITY}; });
    refused_request("a range of NaN", [](AnalysisRequest& request) { request.range = Range{NAN, 1}; });
    expect_nothing_done();
}

TEST_P(StreamRefusalTest, small_batches_and_lists) {
    for (Depth depth : depths) {
        StreamAnalyzer& subject = analyzer(depth, 3);
        auto refused_batch = [&](const char* what, auto change) {
            BatchView view = batch(depth);
            change(view);
            refused(what, [&] { subject.enqueue(view, {}, results(), stream); });
            refused(what, [&] { subject.enqueue_normalized(view, output_batch(depth), {}, {}, results(), stream); });
            MutableBatchView written = output_batch(depth);
            BatchView changed = written;
            change(changed);
            written.images = changed.images;
            written.image_bytes = changed.image_bytes;
            refused(what, [&] { subject.enqueue_normalized(batch(depth), written, {}, {}, results(), stream); });
        };
        refused_batch("a batch of none", [](BatchView& view) { view.images = 0; });
        refused_batch("a batch of less than none", [](BatchView& view) { view.images = -1; });
        refused_batch("a batch too tight",
                      [](BatchView& view) { view.image_bytes = (view.first.height - 1) * view.first.row_bytes; });
        refused_batch("a batch backwards", [](BatchView& view) { view.image_bytes = -view.image_bytes; });
        if (depth != Depth::u8)
            refused_batch("a batch between samples", [](BatchView& view) { view.image_bytes += 1; });
        refused("another number of outputs", [&] {
            MutableBatchView written = output_batch(depth);
            written.images = 1;
            subject.enqueue_normalized(batch(depth), written, {}, {}, results(), stream);
        });
        const ImageView view = image(depth);
        const MutableImageView written = output(depth);
        refused("a list of less than none", [&] { subject.enqueue(&view, -1, {}, results(), stream); });
        refused("a list of less than none",
                [&] { subject.enqueue_normalized(&view, &written, -1, {}, {}, results(), stream); });
    }
    expect_nothing_done();
}

TEST_P(StreamRefusalTest, small_normalizations) {
    for (Depth depth : depths) {
        StreamPlan plan = plan_of(depth, 3);
        plan.normalize = false;
        StreamAnalyzer without(plan);
        refused("a copy that was not planned",
                [&] { without.enqueue_normalized(image(depth), output(depth), {}, {}, results(), stream); });

        auto refused_output = [&](const char* what, const Normalization& normalization, auto change) {
            MutableImageView written = output(depth);
            change(written);
            StreamAnalyzer& subject = analyzer(depth, 3);
            refused(what,
                    [&] { subject.enqueue_normalized(image(depth), written, {}, normalization, results(), stream); });
            const std::vector<ImageView> views(3, image(depth));
            const std::vector<MutableImageView> outputs{output(depth), output(depth), written};
            refused(what, [&] {
                subject.enqueue_normalized(views.data(), outputs.data(), 3, {}, normalization, results(), stream);
            });
        };
        const Normalization minmax, zscore{NormalizeMode::zscore, 1, 99, true};
        refused_output("another width", minmax, [](MutableImageView& view) { view.width -= 1; });
        refused_output("another height", minmax, [](MutableImageView& view) { view.height += 1; });
        refused_output("other channels", minmax, [](MutableImageView& view) { view.channels = 1; });
        refused_output("another order", minmax, [](MutableImageView& view) { view.order = ChannelOrder::rgb; });
        refused_output("an output in host memory", minmax, [](MutableImageView& view) { view.memory = Memory::host; });
        refused_output("no output", minmax, [](MutableImageView& view) { view.data = nullptr; });
        refused_output("output rows that overlap", minmax,
                       [](MutableImageView& view) { view.row_bytes = view.packed_row_bytes() - 4; });
        refused_output("another depth", depth == Depth::f32 ? minmax : zscore,
                       [&](MutableImageView& view) { view.depth = depth == Depth::f32 ? Depth::u8 : depth; });
        auto keep = [](MutableImageView&) {};
        refused_output("percentiles the wrong way round", {NormalizeMode::percentile, 99, 1, true}, keep);
        refused_output("percentiles out of bounds", {NormalizeMode::percentile, -1, 99, true}, keep);
        refused_output("percentiles that are NaN", {NormalizeMode::percentile, NAN, 99, true}, keep);
    }
    expect_nothing_done();
}

TEST(StreamWithoutGpu, small_is_unavailable_rather_than_broken) {
    if (info_of("cuda").available) GTEST_SKIP() << "here is a GPU";
    EXPECT_THROW(StreamAnalyzer{StreamPlan{}}, EngineUnavailable);
    EXPECT_THROW(StreamAnalyzer::workspace_bytes(StreamPlan{}), EngineUnavailable);
}

// ---- Large ---------------------------------------------------------------------------------------------------------

/// More than 2^32 samples. The pixels are made on the GPU, where most of them are equal.
class StreamLargeTest : public StreamTest {
  protected:
    static constexpr std::int64_t side = 65540;
    static constexpr std::uint64_t pixels = static_cast<std::uint64_t>(side) * side;

    void SetUp() override {
        if (!flag("GPUHIST_LARGE_TESTS"))
            GTEST_SKIP() << "needs 20 GB of GPU memory, or 36: GPUHIST_LARGE_TESTS=1 runs it";
        StreamTest::SetUp();
    }
    static MutableImageView view(const DeviceMemory& memory, std::int64_t width, std::int64_t height, int channels,
                                 Depth depth) {
        return {memory.data(),     width,         height,
                channels,          depth,         width * channels * static_cast<std::int64_t>(sample_bytes(depth)),
                ChannelOrder::bgr, Memory::device};
    }
    /// The same image again and again, as a tensor and as a list, so often that pieces of work pass 2^32.
    void check_many(Depth depth, int channels, std::int64_t width, std::int64_t height, std::size_t count,
                    const AnalysisRequest& request = {}) {
        SCOPED_TRACE(to_string(depth));
        const Picture picture({width, height, channels, depth}, packed, Content::random);
        DeviceImages images;
        images.add(picture);
        images.upload();
        ImageView narrow_host = picture.view(), narrow = images[0];
        narrow.width = narrow_host.width = width - 1;
        const Expected truth = expected(picture.view(), request), narrow_truth = expected(narrow_host, request);

        StreamAnalyzer& subject = analyzer(depth, channels);
        DeviceResults results(subject.layout(request), count);
        std::vector<ImageView> views(count, images[0]);
        subject.enqueue(views.data(), static_cast<std::int64_t>(count), request, results.at(), stream);
        synchronize();
        for (std::size_t i = 0; i < count && !HasFailure(); ++i) expect(results, i, truth, "in the tensor");
        results.poison();
        for (std::size_t i = 0; i < count; i += 3) views[i] = narrow;
        subject.enqueue(views.data(), static_cast<std::int64_t>(count), request, results.at(), stream);
        synchronize();
        for (std::size_t i = 0; i < count && !HasFailure(); ++i)
            expect(results, i, i % 3 == 0 ? narrow_truth : truth, "in the list");
    }
};
INSTANTIATE_TEST_SUITE_P(Large, StreamLargeTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamLargeTest, one_count_past_32_bits) {
    for (Depth depth : {Depth::u8, Depth::u16}) {
        SCOPED_TRACE(to_string(depth));
        const std::uint32_t often = depth == Depth::u8 ? 200 : 200 * 257, once = depth == Depth::u8 ? 255 : 65535;
        DeviceMemory memory(pixels * sample_bytes(depth), 200);
        check(cudaMemset(memory.data() + memory.bytes() - sample_bytes(depth), 255, sample_bytes(depth)));
        check(cudaDeviceSynchronize());

        Expected truth;
        truth.analysis.depth = depth;
        truth.analysis.range = {0, depth == Depth::u8 ? 256.0 : 65536.0};
        ChannelAnalysis gray;
        gray.pixels = pixels;
        gray.counts.resize(depth == Depth::u8 ? 256 : 65536);
        gray.counts[often] = pixels - 1;
        gray.counts[once] = 1;
        truth.analysis.channels.push_back(gray);
        __extension__ typedef unsigned __int128 u128;
        const u128 squares =
            static_cast<u128>(pixels - 1) * (std::uint64_t{often} * often) + std::uint64_t{once} * once;
        truth.analysis.brightness =
            Brightness{(pixels - 1) * often + once,
                       {static_cast<std::uint64_t>(squares), static_cast<std::int64_t>(squares >> 64)},
                       often,
                       once};
        truth.with_luma = truth.analysis;

        StreamAnalyzer& subject = analyzer(depth, 1);
        DeviceResults results(subject.layout(), 2);
        const ImageView image = view(memory, side, side, 1, depth);
        subject.enqueue(image, {}, results.at(0), stream);
        ImageView with_gaps = image;  // all but the last column, which has the other value
        with_gaps.width -= 1;
        subject.enqueue(with_gaps, {}, results.at(1), stream);
        synchronize();
        expect(results, 0, truth);

        const std::uint64_t fewer = pixels - side;
        ChannelAnalysis& channel = truth.analysis.channels[0];
        channel.pixels = channel.counts[often] = fewer;
        channel.counts[once] = 0;
        const u128 fewer_squares = static_cast<u128>(fewer) * (std::uint64_t{often} * often);
        truth.analysis.brightness =
            Brightness{fewer * often,
                       {static_cast<std::uint64_t>(fewer_squares), static_cast<std::int64_t>(fewer_squares >> 64)},
                       often,
                       often};
        truth.with_luma = truth.analysis;
        expect(results, 1, truth);
    }
}

TEST_P(StreamLargeTest, floats) {
    DeviceMemory memory(pixels * sizeof(float), 0x3F);
    float often;
    std::memset(&often, 0x3F, sizeof often);
    const float last[] = {NAN, 1.5f};
    check(cudaMemcpy(memory.data() + memory.bytes() - sizeof last, last, sizeof last, cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());
    StreamAnalyzer& subject = analyzer(Depth::f32, 1);
    for (Detail detail : {Detail::full, Detail::brief}) {
        AnalysisRequest request;
        request.detail = detail;
        DeviceResults results(subject.layout(request), 1);
        subject.enqueue(view(memory, side, side, 1, Depth::f32), request, results.at(), stream);
        synchronize();
        const ImageResult& got = results.fetch();
        const Analysis analysis = read_result(&got);
        const Statistics row = statistics(analysis).at(0);
        const ChannelAnalysis& channel = analysis.channels[0];
        EXPECT_EQ(channel.pixels, pixels);
        EXPECT_EQ(channel.nan, 1u);
        EXPECT_EQ(channel.counts.front(), pixels - 2);
        EXPECT_EQ(channel.counts.back(), 1u);
        EXPECT_EQ(channel.minimum, often);
        EXPECT_EQ(channel.maximum, 1.5f);
        const double n = static_cast<double>(pixels - 1), mean = often + (1.5 - often) / n;
        EXPECT_NEAR(*row.mean, mean, 1e-15);
        const double std = (1.5 - often) * std::sqrt((n - 1) / n / n);
        EXPECT_NEAR(*row.std, std, 1e-12 * std);
        EXPECT_EQ(got.channels[0].samples, pixels - 1);
        EXPECT_EQ(got.channels[0].mean, *row.mean);
        EXPECT_EQ(got.channels[0].std, *row.std);
        if (detail == Detail::full) {
            EXPECT_EQ(row.percentile(50), static_cast<double>(often));
        }
    }
}

TEST_P(StreamLargeTest, colors_normalized_in_place) {
    DeviceMemory memory(pixels, 0);
    auto value_of = [](std::int64_t y) { return static_cast<int>(10 + y % 200); };
    for (int channels : {1, 3, 4}) {
        SCOPED_TRACE(std::to_string(channels) + " channels");
        for (std::int64_t y = 0; y < side; ++y)
            check(cudaMemsetAsync(memory.data() + y * side, value_of(y), side, stream));
        MutableImageView image = view(memory, side / channels, side, channels, Depth::u8);
        image.row_bytes = side;
        const auto width = static_cast<std::uint64_t>(image.width);
        StreamAnalyzer& subject = analyzer(Depth::u8, channels);
        const Normalization normalization;
        DeviceResults before(subject.layout({}, &normalization), 1), after(subject.layout(), 1);
        subject.enqueue_normalized(image, image, {}, normalization, before.at(), stream);
        subject.enqueue(image, {}, after.at(), stream);
        synchronize();
        std::vector<std::uint64_t> counts(256, 0), stretched(256, 0);
        for (std::int64_t y = 0; y < side; ++y) {
            counts[static_cast<std::size_t>(value_of(y))] += width;
            stretched[static_cast<std::size_t>(((value_of(y) - 10) * 255 * 2 + 199) / (2 * 199))] += width;
        }
        const Analysis found = read_result(&before.fetch()), rewritten = read_result(&after.fetch());
        for (std::size_t c = 0; c < found.channels.size(); ++c) {
            const bool alpha = found.channels[c].channel == Channel::alpha;
            EXPECT_TRUE(found.channels[c].counts == counts) << c;
            EXPECT_TRUE(rewritten.channels[c].counts == (alpha ? counts : stretched)) << c;
        }
    }
}

// More than 2^31 pieces of work, in rows without gaps whose pixels no 16-byte load can meet. In one row they are
// refused.
TEST_P(StreamLargeTest, off_alignment) {
    for (const auto& [depth, width, height] :
         {std::tuple{Depth::u8, std::int64_t{131072}, std::int64_t{65537}}, {Depth::f32, 65536, 32769}}) {
        SCOPED_TRACE(to_string(depth));
        const std::int64_t samples = width * height;
        const auto bytes = static_cast<std::size_t>(samples) * 4 * sample_bytes(depth) + 16;
        std::size_t free = 0, total = 0;
        check(cudaMemGetInfo(&free, &total));
        if (free < bytes + (std::size_t{1} << 30)) GTEST_SKIP() << "needs 36 GB of GPU memory";
        DeviceMemory memory(bytes, 0x3F);
        MutableImageView image = view(memory, width, height, 4, depth);
        image.data = memory.data() + sample_bytes(depth);
        StreamAnalyzer& subject = analyzer(depth, 4);
        DeviceResults results(subject.layout(), 1);
        MutableImageView long_row = view(memory, samples, 1, 4, depth);
        long_row.data = image.data;
        EXPECT_THROW(subject.enqueue(long_row, {}, results.at(), stream), InvalidArgument);
        subject.enqueue(image, {}, results.at(), stream);
        synchronize();
        const Analysis found = read_result(&results.fetch());
        float value = 0x3F;
        if (depth == Depth::f32) std::memset(&value, 0x3F, sizeof value);
        for (const Statistics& row : statistics(found)) {
            SCOPED_TRACE(to_string(row.channel));
            EXPECT_EQ(row.pixels, static_cast<std::uint64_t>(samples) * (row.channel == Channel::all ? 3 : 1));
            if (row.channel != Channel::luma || depth == Depth::u8) {
                EXPECT_EQ(row.mean, value);
            }
            EXPECT_EQ(row.min, row.max);
            EXPECT_EQ(row.std, 0.0);
        }
        for (const ChannelAnalysis& channel : found.channels) {
            std::uint64_t sum = channel.below + channel.above + channel.nan;
            for (std::uint64_t count : channel.counts) sum += count;
            EXPECT_EQ(sum, static_cast<std::uint64_t>(samples)) << to_string(channel.channel);
        }
    }
}

TEST_P(StreamLargeTest, lists) {
    check_many(Depth::u8, 1, 10000, 10000, 700);
    check_many(Depth::u16, 1, 8000, 5000, 300);
    check_many(Depth::f32, 4, 2500, 4000, 450);
}

}  // namespace
}  // namespace gpuhist::test
