// What the stream-level API refuses, and that a refusal enqueues nothing.
#include <cmath>

#include "gpuhist/error.hpp"
#include "support/stream_behavior.hpp"

namespace gpuhist::test {
namespace {

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
    /// Refused calls have enqueued nothing.
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
    refused_plan("a depth", [](StreamPlan& plan) { plan.depth = static_cast<Depth>(std::size(all_depths)); });
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

}  // namespace
}  // namespace gpuhist::test
