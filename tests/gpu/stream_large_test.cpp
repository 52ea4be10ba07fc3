// Images and lists of more than 2^32 samples through the stream-level API.
#include <cmath>
#include <memory>
#include <tuple>

#include "gpuhist/error.hpp"
#include "support/stream_behavior.hpp"

namespace gpuhist::test {
namespace {

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
        return packed_view(memory.data(), width, height, channels, depth, ChannelOrder::bgr, Memory::device);
    }
    /// One image again and again, as a tensor and as a list, so often that pieces of work pass 2^32.
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
        truth.analysis.white = traits_of(depth).highest;
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
            std::uint64_t sum = channel.below + channel.above + channel.nan + channel.masked;
            for (std::uint64_t count : channel.counts) sum += count;
            EXPECT_EQ(sum, static_cast<std::uint64_t>(samples)) << to_string(channel.channel);
        }
    }
}

// More pixels than blocks add up before their sums of 32 bits are full; and more of 16 bits than are weighted.
TEST_P(StreamLargeTest, weights) {
    constexpr std::int64_t height = 72000;
    constexpr std::uint64_t all = static_cast<std::uint64_t>(side) * height;
    DeviceMemory memory(all, 200);
    check(cudaMemset(memory.data() + memory.bytes() - 1, 255, 1));
    check(cudaDeviceSynchronize());
    StreamPlan plan = plan_of(Depth::u8, 1);
    plan.classified_pixels = 1;
    AnalysisRequest request;
    Validity validity;
    validity.alpha = AlphaRule::weight;
    request.validity = std::make_shared<const Validity>(validity);
    StreamAnalyzer subject(plan);
    DeviceResults results(subject.layout(request), 1);
    subject.enqueue(view(memory, side, height, 1, Depth::u8), request, results.at(), stream);
    synchronize();
    Expected truth;
    truth.request = request;
    truth.analysis.range = {0, 256};
    truth.analysis.weighted = true;
    ChannelAnalysis gray;
    gray.pixels = all;
    gray.counts.resize(256);
    gray.counts[200] = 255 * (all - 1);
    gray.counts[255] = 255;
    truth.analysis.channels.push_back(gray);
    truth.with_luma = truth.analysis;
    expect(results, 0, truth);

    plan.depth = Depth::u16;
    StreamAnalyzer wide(plan);
    EXPECT_THROW(wide.enqueue(view(memory, side, height, 1, Depth::u16), request, results.at(), stream),
                 InvalidArgument);
}

TEST_P(StreamLargeTest, lists) {
    check_many(Depth::u8, 1, 10000, 10000, 700);
    check_many(Depth::u16, 1, 8000, 5000, 300);
    check_many(Depth::f32, 4, 2500, 4000, 450);
}

}  // namespace
}  // namespace gpuhist::test
