// The rungs of the ladder: each gives the exact answer, on every content, at every size, again and again.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <opencv2/imgproc.hpp>
#include <set>
#include <stdexcept>

#include "bench/ladder/cuda_test.hpp"
#include "bench/ladder/exact.hpp"
#include "bench/ladder/ladder.hpp"
#include "support/codecs.hpp"
#include "support/engines_under_test.hpp"

namespace gpuhist::bench::ladder {
namespace {

// So large that on a GPU of 132 multiprocessors every thread gets more than four loads.
constexpr std::int64_t large_width = 5003, large_height = 4099;

constexpr struct {
    std::int64_t width, height;
} sizes[] = {{1, 1},  {7, 1},    {1, 31},    {17, 5},     {511, 1},     {512, 1},  {513, 1},
             {64, 9}, {1000, 3}, {4096, 16}, {1031, 103}, {4097, 1025}, {4096, 2}, {large_width, large_height}};

const std::vector<std::uint8_t>& photograph() {
    static const std::vector<std::uint8_t> pixels = [] {
        const char* folder = std::getenv("GPUHIST_DATA");
        if (!folder) throw std::runtime_error("GPUHIST_DATA must name the folder data/ of the sources");
        cv::Mat picture;
        cv::cvtColor(test::read_picture(std::string(folder) + "/chelsea.png"), picture, cv::COLOR_BGR2GRAY);
        return std::vector<std::uint8_t>(picture.begin<std::uint8_t>(), picture.end<std::uint8_t>());
    }();
    return pixels;
}

/// Samples for the largest size, of which smaller images are the beginning: behind their end more samples follow, which
/// change the answer if they are read.
class Samples {
  public:
    Samples(Depth depth, Content content) {
        constexpr std::int64_t count = large_width * large_height + 1024;
        host_.resize(static_cast<std::size_t>(count) * sample_bytes(depth));
        make_samples(host_.data(), count, depth, content, photograph());
        void* device = nullptr;
        check(cudaMalloc(&device, host_.size()));
        device_.reset(static_cast<unsigned char*>(device));
        check(cudaMemcpy(device, host_.data(), host_.size(), cudaMemcpyHostToDevice));
        check(cudaDeviceSynchronize());
    }
    Image image(std::int64_t width, std::int64_t height) const { return {device_.get(), host_.data(), width, height}; }

    static const Samples& of(Depth depth, Content content) {
        static std::map<std::pair<Depth, Content>, Samples> all;
        return all.try_emplace({depth, content}, depth, content).first->second;
    }

  private:
    struct Free {
        void operator()(unsigned char* device) const { (void)cudaFree(device); }
    };
    std::vector<unsigned char> host_;
    std::unique_ptr<unsigned char, Free> device_;
};

const Rung& rung_named(const std::string& group, const std::string& name) {
    for (const Rung& rung : rungs())
        if (group == rung.group && name == rung.name) return rung;
    throw std::logic_error("no rung " + group + " " + name);
}

/// Where two answers differ first.
std::string difference(const Answer& found, const Answer& expected) {
    if (found.size() != expected.size()) return "lengths differ";
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i] != expected[i])
            return "[" + std::to_string(i) + "]: " + std::to_string(found[i]) + ", not " + std::to_string(expected[i]);
    return "";
}

class LadderTest : public OnGpu<testing::TestWithParam<std::tuple<std::size_t, Content>>> {
  protected:
    const Rung& rung() const { return rungs()[std::get<0>(GetParam())]; }
    const Samples& samples() const { return Samples::of(rung().depth, std::get<1>(GetParam())); }
};

std::string label_of(const testing::TestParamInfo<LadderTest::ParamType>& info) {
    constexpr const char* names[] = {"random", "natural", "constant", "two_values"};
    const Rung& rung = rungs()[std::get<0>(info.param)];
    return std::string(rung.group) + "_" + rung.name + "_" + names[static_cast<int>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(Rungs, LadderTest,
                         testing::Combine(testing::Range(std::size_t{0}, rungs().size()), testing::ValuesIn(contents)),
                         label_of);

TEST_P(LadderTest, gives_the_exact_answer) {
    for (const auto& [width, height] : sizes) {
        if (test::left_out()) continue;
        SCOPED_TRACE(std::to_string(width) + "x" + std::to_string(height));
        const Image image = samples().image(width, height);
        const std::string obstacle = rung().obstacle ? rung().obstacle(image) : "";
        if (!obstacle.empty()) GTEST_SKIP() << obstacle;
        const Answer expected = rung().exact(image);
        Trial trial(rung(), image, expected.size());
        for (int run = 0; run < 5; ++run) {
            SCOPED_TRACE("run " + std::to_string(run));
            if (run < 3) trial.poison();  // afterwards it meets what it left itself
            trial.run(image, stream_);
            ASSERT_EQ(difference(trial.answer(), expected), "");
        }
        ASSERT_TRUE(trial.surroundings_untouched());
    }
}

// Runs that follow each other in a stream, without the host between them: what a run leaves behind, the next one meets.
TEST_P(LadderTest, runs_one_behind_the_other) {
    const Image image = samples().image(1031, 103);
    const std::string obstacle = rung().obstacle ? rung().obstacle(image) : "";
    if (!obstacle.empty()) GTEST_SKIP() << obstacle;
    const Answer expected = rung().exact(image);
    Trial trial(rung(), image, expected.size());
    for (int run = 0; run < 50; ++run) trial.run(image, stream_);
    EXPECT_EQ(difference(trial.answer(), expected), "");
    EXPECT_TRUE(trial.surroundings_untouched());
}

class MaskBarrierTest : public OnGpu<testing::Test> {};

TEST_F(MaskBarrierTest, any_number_of_blocks) {
    const Image image = Samples::of(Depth::u8, Content::random).image(1031, 1033);
    const Answer expected = exact::sum(image);
    for (const bool tree : {false, true}) {
        Trial trial(rung_named("sum", "mask_barrier"), image, expected.size());
        const int most = mask_barrier_blocks(tree);
        // The masks must be left clear by each for the next, in one level or two.
        for (const int blocks : {1, 64, 65, most, 2, 63, 128, 129, most - 1, 3, 200, most}) {
            if (blocks < 1 || blocks > most) continue;
            SCOPED_TRACE(std::to_string(blocks) + " blocks" + (tree ? ", tree" : ""));
            for (std::size_t run = 0; run < test::repetitions(20, 1); ++run) {
                trial.poison();
                sum_by_mask_barrier(trial.call(image, stream_), blocks, tree);
                ASSERT_EQ(difference(trial.answer(), expected), "");
            }
            for (std::size_t run = 0; run < test::repetitions(200, 1); ++run)
                sum_by_mask_barrier(trial.call(image, stream_), blocks, tree);
            ASSERT_EQ(difference(trial.answer(), expected), "");
        }
        ASSERT_TRUE(trial.surroundings_untouched());
    }
}

TEST_F(MaskBarrierTest, refuses_blocks_that_would_not_be_resident) {
    const Image image = Samples::of(Depth::u8, Content::random).image(1031, 103);
    const Answer expected = exact::sum(image);
    for (const bool tree : {false, true}) {
        Trial trial(rung_named("sum", "mask_barrier"), image, expected.size());
        const int most = mask_barrier_blocks(tree);
        for (const int blocks : {most + 1, 2 * most, std::numeric_limits<int>::max(), 0, -1})
            EXPECT_THROW(sum_by_mask_barrier(trial.call(image, stream_), blocks, tree), Refused) << blocks;
        sum_by_mask_barrier(trial.call(image, stream_), most, tree);
        EXPECT_EQ(difference(trial.answer(), expected), "");
    }
}

TEST(LadderRungsTest, have_names_of_their_own_and_say_what_changed) {
    std::set<std::string> names;
    for (const Rung& rung : rungs()) {
        const std::string name = rung.name;
        EXPECT_TRUE(names.insert(std::string(rung.group) + " " + name).second) << name;
        EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](unsigned char c) {
            return std::islower(c) || std::isdigit(c) || c == '_';
        })) << name;
        EXPECT_FALSE(std::string(rung.change).empty()) << name;
        EXPECT_EQ(64 % rung.divisor, 0) << name;
        EXPECT_TRUE(rung.exact && rung.run) << name;
    }
}

// The answers that everything else is held to, on a picture that fits into the head.
TEST(LadderExactTest, bytes) {
    const std::uint8_t pixels[] = {0, 255, 7, 128, 255, 1};
    const Image image{nullptr, pixels, 3, 2};
    EXPECT_EQ(exact::sum(image), (Answer{646}));
    EXPECT_EQ(exact::four_quantities(image), (Answer{646, 2 * 65025 + 49 + 16384 + 1, 0, 255}));
    EXPECT_EQ(exact::sum_and_mean(image), (Answer{646, 107}));
    EXPECT_EQ(exact::histogram(image)[255], 2u);
    EXPECT_EQ(exact::cumulative(image)[7], 3u);
    EXPECT_EQ(exact::clipped(image), (Answer{1, 2}));
    EXPECT_EQ(exact::darkest(image), (Answer{0}));
    EXPECT_EQ(exact::brightest(image), (Answer{(Word{256} << 40) - 2}));
    EXPECT_EQ(exact::tiles_by_maximum(image)[2 * 255], 1u);
    EXPECT_EQ(exact::sum_and_turn(image), (Answer{646, 1}));
    EXPECT_EQ(exact::bright_places(image), (Answer{3, 1 + 3 + 4, 1 + 9 + 16}));
    EXPECT_EQ(exact::variation(image), (Answer{255 + 248 + 121 + 127 + 254}));
    EXPECT_EQ(exact::stretched(image), (Answer{646}));
    EXPECT_EQ(exact::thumbnail(image), (Answer{108}));
    EXPECT_EQ(exact::segment_sums(image), (Answer{646}));
    EXPECT_EQ(exact::slab_totals(image).back(), 646u);
    EXPECT_EQ(exact::slab_totals(image).size(), 256u);
}

TEST(LadderExactTest, words_and_floats) {
    const std::uint16_t samples[] = {0x0F0, 0x0F1, 0x7F0};
    const Image words{nullptr, samples, 3, 1};
    EXPECT_EQ(exact::cubes(words), (Answer{Word{240} * 240 * 240 + Word{241} * 241 * 241 + Word{2032} * 2032 * 2032}));
    EXPECT_EQ(exact::bits_or(words), (Answer{0x7F1}));
    EXPECT_EQ(exact::bits_and(words), (Answer{0x0F0}));
    EXPECT_EQ(exact::bits_xor(words), (Answer{0x7F1}));
    const std::vector<std::uint16_t> bright_samples(70000, 65535);
    EXPECT_EQ(exact::cubes({nullptr, bright_samples.data(), 70000, 1}), (Answer{~Word{0}}));

    const float numbers[] = {-0.25f, std::numeric_limits<float>::quiet_NaN(), -0.5f};
    const Image floats{nullptr, numbers, 3, 1};
    EXPECT_EQ(exact::maximum(floats), (Answer{0xBE800000u}));
    EXPECT_EQ(exact::nan_and_sum(floats), (Answer{1, static_cast<Word>(-(3 << 22))}));
}

}  // namespace
}  // namespace gpuhist::bench::ladder
