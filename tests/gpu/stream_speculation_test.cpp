// Speculation on the extremes of an image, in one sweep over large f32 images: right, wrong, clipped.
#include <cstring>
#include <limits>
#include <optional>

#include "support/stream_cases.hpp"

namespace gpuhist::test {
namespace {

// pixel that is not in the sample is as expected, and where it is not.
class StreamSpeculationTest : public StreamTest {
  protected:
    static constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                           infinity = std::numeric_limits<float>::infinity();

    /// An image of at least so many samples, each `value(bits, channel)` of bits that follow from those before.
    template <class Value>
    static Picture scattered(std::int64_t samples, int channels, std::uint64_t bits, Value value) {
        const std::int64_t width = 4099, height = samples / channels / width + 2;
        Picture picture({width, height, channels, Depth::f32}, packed);
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x)
                for (int c = 0; c < channels; ++c) picture.set(x, y, c, value(bits = scramble(bits), c));
        return picture;
    }
    /// Values of 8 bits: of the first of several channels from 0.25 to 0.5, of the others from 0 to 1.
    static Picture quantized(int channels) {
        return scattered(std::int64_t{1} << 24, channels, 7, [channels](std::uint64_t bits, int c) {
            const double value = static_cast<double>(bits % 256) / 255;
            return channels > 1 && c == 0 ? 0.25 + value / 4 : value;
        });
    }
    static float sample_at(const Picture& picture, std::int64_t x, std::int64_t y, int channel) {
        const ImageView view = picture.view();
        float value;
        std::memcpy(&value,
                    static_cast<const char*>(view.data) + y * view.row_bytes + (x * view.channels + channel) * 4,
                    sizeof value);
        return value;
    }
    enum class Speculation { right, wrong };
    /// An image with `value` in one channel of two pixels: one amid others that are not sampled, and the last. An
    /// analyzer whose speculation was right keeps nothing of it.
    void check_with(Picture& picture, int channel, float value, Speculation speculation, const Placement& at = {}) {
        SCOPED_TRACE("channel " + std::to_string(channel) + " with " + std::to_string(value));
        const Shape shape = picture.shape();
        const std::int64_t amid = (shape.height / 2 * shape.width / 2944 * 23 + 11) * 128;
        const std::pair<std::int64_t, std::int64_t> places[] = {{amid % shape.width, amid / shape.width},
                                                                {shape.width - 1, shape.height - 1}};
        std::vector<float> before;
        for (const auto& [x, y] : places) {
            before.push_back(sample_at(picture, x, y, channel));
            picture.set(x, y, channel, value);
        }
        forget_analyzers();
        const bool speculates = shape.channels == 1 || GetParam().shared_bytes == 0;
        std::vector<char> kept_before;
        if (speculates && !left_out()) kept_before = kept(shape);
        std::vector<Case> one;
        one.push_back({std::move(picture), at});
        check_images(one, float_request(Detail::brief, 256, {}));
        picture = std::move(one[0].picture);
        if (!kept_before.empty()) {
            EXPECT_EQ(kept_before == kept(shape), speculation == Speculation::right);
        }
        for (std::size_t i = 0; i < before.size(); ++i)
            picture.set(places[i].first, places[i].second, channel, before[i]);
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamSpeculationTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamSpeculationTest, that_is_right) {
    for (int channels : channel_counts) {
        Picture picture = quantized(channels);
        check_with(picture, 0, 0.25f, Speculation::right);
        check_with(picture, 0, 0.375f, Speculation::right, {1, 5});
        check_with(picture, channels - 1, 1e-30f, Speculation::right);  // so small that it has a rest
        if (channels > 1) {  // this channel's range is another, but not that of all
            check_with(picture, 0, 0.125f, Speculation::right);
            check_with(picture, 0, 0.4999f, Speculation::right, {3, 0});
        }
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(StreamSpeculationTest, that_is_wrong) {
    for (int channels : channel_counts) {
        Picture picture = quantized(channels);
        for (float value : {1.5f, -0.001f, nan, infinity}) check_with(picture, channels - 1, value, Speculation::wrong);
        if (channels > 1)  // the power of two that this channel's sums are in units of
            check_with(picture, 0, 1.0f, Speculation::wrong);
        check_with(picture, channels / 2, -infinity, Speculation::wrong, {1, 3});
        ASSERT_FALSE(HasFailure());
    }
}

// After one that is wrong, analyses do without for some time.
TEST_P(StreamSpeculationTest, again_after_one_that_was_wrong) {
    if (left_out()) return;
    const Picture right = quantized(3);
    Picture wrong = quantized(3);
    wrong.set(wrong.shape().width - 1, wrong.shape().height - 1, 1, 7);
    DeviceImages images;
    images.add(right);
    images.add(wrong);
    images.upload();
    const AnalysisRequest request = float_request(Detail::brief, 256, {});
    const Expected truths[] = {expected(right.view(), request), expected(wrong.view(), request)};
    const ImageView views[] = {images[0], images[1]};
    StreamAnalyzer& subject = analyzer(right.shape());
    constexpr std::size_t turns = 40;
    DeviceResults results(subject.layout(request), turns);
    const auto shown = [](std::size_t turn) { return turn == 1 || turn == 19 ? 1u : 0u; };
    for (std::size_t i = 0; i < turns; ++i) subject.enqueue(views[shown(i)], request, results.at(i), stream);
    synchronize();
    for (std::size_t i = 0; i < turns; ++i) expect(results, i, truths[shown(i)]);
}

TEST_P(StreamSpeculationTest, before_a_normalized_copy) {
    for (int channels : {1, 3})
        for (float value : {0.25f, 1.5f}) {
            Picture picture = quantized(channels);
            picture.set(picture.shape().width - 1, picture.shape().height - 1, 0, value);
            forget_analyzers();
            std::vector<Case> one;
            one.push_back({std::move(picture), {}});
            check_normalized(one, {NormalizeMode::minmax, 1, 99, true}, float_request(Detail::brief, 256, {}));
        }
}

// Pixels of so many values that the sample's extremes are not quite the image's: bins are counted by edges that are
// not known yet, and what lies close to these once more.
class StreamUnclippedSpeculationTest : public StreamSpeculationTest {
  protected:
    /// Values from `lower` to `upper`; every fourth is `clipped`, where that is given.
    static Picture unclipped(int channels, double lower, double upper, std::optional<double> clipped = {}) {
        return scattered(std::int64_t{1} << 26, channels, 11, [&](std::uint64_t bits, int) {
            const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
            return clipped && bits % 4 == 0 ? *clipped : lower + (upper - lower) * unit;
        });
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamUnclippedSpeculationTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamUnclippedSpeculationTest, that_is_right) {
    for (int channels : {1, 3}) {
        Picture picture = unclipped(channels, 0, 0.9);
        check_with(picture, 0, 0.5f, Speculation::right);
        check_with(picture, channels - 1, 0.9f, Speculation::right);  // a little beyond the sample
        check_with(picture, channels / 2, 1e-30f, Speculation::right, {1, 5});
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(StreamUnclippedSpeculationTest, that_is_wrong) {
    for (int channels : {1, 3}) {
        Picture picture = unclipped(channels, 0, 0.9);
        for (float value : {0.95f, -0.001f, nan}) check_with(picture, channels - 1, value, Speculation::wrong);
        ASSERT_FALSE(HasFailure());
    }
    Picture picture = unclipped(1, 0, 1 - 0x1p-22);
    check_with(picture, 0, 1.0f, Speculation::wrong);  // a little beyond the sample, but the next power of two
}

TEST_P(StreamUnclippedSpeculationTest, that_is_clipped_at_one_end) {
    for (double end : {0.0, 1.0}) {
        Picture picture = unclipped(1, 0, 1 - 0x1p-20, end);
        check_with(picture, 0, 0.25f, Speculation::right);
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(StreamUnclippedSpeculationTest, of_other_ranges) {
    const std::pair<double, double> ranges[] = {{-1, 1}, {285, 295}, {-3e-20, 1e-20}, {-3e38, 3e38}, {1000, 1000.01}};
    std::uint32_t bins = 1;
    for (const auto& [lower, upper] : ranges) {
        std::vector<Case> one;
        one.push_back({unclipped(bins == 7 ? 3 : 1, lower, upper), {}});
        check_images(one, float_request(Detail::brief, bins, {}));
        ASSERT_FALSE(HasFailure()) << lower << " to " << upper << ", " << bins << " bins";
        bins = bins == 1 ? 7 : bins == 7 ? 256 : 1;
    }
}

// More lie close to an edge than a block has room to list; and what it has listed is in no later result.
TEST_P(StreamUnclippedSpeculationTest, with_many_alike_at_an_edge) {
    if (left_out()) return;
    for (int channels : {1, 4}) {
        const Picture first = unclipped(channels, 0, 0.9);  // up to 1, it would be mispredicted without the many alike
        Picture clustered = unclipped(channels, 0, 0.9);
        for (std::int64_t y = 0; y < clustered.shape().height; ++y)
            for (std::int64_t x = y % 2; x < clustered.shape().width; x += 2) clustered.set(x, y, 0, 0.45);
        DeviceImages images;
        images.add(first);
        images.add(clustered);
        images.upload();
        StreamAnalyzer& subject = analyzer(first.shape());
        // The one that is wrong comes last: after it one image backs off.
        for (const Picture* picture : std::initializer_list<const Picture*>{&first, &clustered})
            for (Detail detail : {Detail::brief, Detail::full}) {
                const AnalysisRequest request = float_request(detail, 256, {});
                DeviceResults results(subject.layout(request), 1);
                subject.enqueue(images[picture == &first ? 0 : 1], request, results.at(), stream);
                synchronize();
                expect(results, 0, expected(picture->view(), request));
            }
    }
}

// Excluded pixels enter no sample: their values and places change no expectation.
class StreamMaskedSpeculationTest : public StreamUnclippedSpeculationTest {
  protected:
    /// Checks an image with a mask whose excluded pixels hold what would be mispredicted, and `value` in a channel of
    /// two pixels that are included: one amid others that are not sampled, and the last.
    template <class IsIn>
    void check_masked(Picture picture, Speculation speculation, IsIn is_in, std::optional<float> value = {},
                      const Placement& at = {}) {
        if (left_out()) return;
        const Shape shape = picture.shape();
        SCOPED_TRACE(describe(shape) + ", offset " + std::to_string(at.offset));
        const std::int64_t amid = (shape.height / 2 * shape.width / 2944 * 23 + 11) * 128;
        std::vector<std::uint8_t> mask(static_cast<std::size_t>(shape.width * shape.height));
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(mask.size()); ++i) {
            const std::int64_t x = i % shape.width, y = i / shape.width;
            const bool special = value && (i == amid || i + 1 == static_cast<std::int64_t>(mask.size())),
                       in = special || is_in(x, y);
            mask[static_cast<std::size_t>(i)] = in;
            if (special) picture.set(x, y, shape.channels - 1, *value);
            for (int c = 0; c < shape.channels && !in; ++c) picture.set(x, y, c, i % 3 ? 7 : nan);
        }
        DeviceMemory memory(mask.size(), untouched);
        check(cudaMemcpy(memory.data(), mask.data(), mask.size(), cudaMemcpyHostToDevice));
        DeviceImages images;
        images.add(picture, at);
        images.upload();
        const AnalysisRequest request = float_request(Detail::brief, 256, {});
        ImageView there = images[0], here = picture.view();
        there.mask = reinterpret_cast<const std::uint8_t*>(memory.data());
        here.mask = mask.data();
        there.mask_row_bytes = here.mask_row_bytes = shape.width;
        forget_analyzers();
        const bool speculates = shape.channels == 1 || GetParam().shared_bytes == 0;
        const std::vector<char> kept_before = kept(shape);
        StreamAnalyzer& subject = analyzer(shape);
        DeviceResults results(subject.layout(request), 2);
        subject.enqueue(there, request, results.at(0), stream);
        synchronize();
        if (speculates) {
            EXPECT_EQ(kept_before == kept(shape), speculation == Speculation::right);
        }
        subject.enqueue(there, request, results.at(1), stream);
        synchronize();
        const Expected truth = expected(here, request);
        expect(results, 0, truth);
        expect(results, 1, truth);
    }
    static bool by_chance(std::int64_t x, std::int64_t y) {
        return scramble(static_cast<std::uint64_t>(y * 4099 + x)) % 5 != 0;
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamMaskedSpeculationTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamMaskedSpeculationTest, that_is_right) {
    for (int channels : channel_counts) {
        check_masked(quantized(channels), Speculation::right, by_chance);
        check_masked(quantized(channels), Speculation::right, by_chance, 0.375f, {1, 5});
        check_masked(quantized(channels), Speculation::right, [](auto, auto) { return true; });
        check_masked(quantized(channels), Speculation::right, [](auto, std::int64_t y) { return y % 1024 < 512; });
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(StreamMaskedSpeculationTest, that_is_wrong) {
    for (int channels : channel_counts) {
        for (float value : {1.5f, -0.001f, nan, -infinity})
            check_masked(quantized(channels), Speculation::wrong, by_chance, value);
        check_masked(quantized(channels), Speculation::wrong, [](auto, auto) { return false; });
        check_masked(
            quantized(channels), Speculation::wrong, [](auto, auto) { return false; }, 0.5f);
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(StreamMaskedSpeculationTest, of_unclipped_pixels) {
    check_masked(unclipped(1, 0, 0.9), Speculation::right, by_chance);
    check_masked(unclipped(1, 0, 0.9), Speculation::right, by_chance, 0.9f, {1, 5});  // a little beyond the sample
    check_masked(unclipped(1, 0, 0.9), Speculation::wrong, by_chance, 0.95f);
    check_masked(unclipped(1, 1e-20, 3e-20), Speculation::right, by_chance);
    check_masked(unclipped(3, 0, 0.9), Speculation::right, by_chance);
    check_masked(unclipped(3, 0, 0.9), Speculation::right, [](auto, auto) { return true; });
    check_masked(unclipped(3, 0, 0.9), Speculation::wrong, by_chance, 0.95f);
}

}  // namespace
}  // namespace gpuhist::test
