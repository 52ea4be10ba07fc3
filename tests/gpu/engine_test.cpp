// Which engine runs, what engines refuse, and that neither threads nor other engines show in a result.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "gpuhist/error.hpp"
#include "support/engines_under_test.hpp"
#include "support/modes.hpp"
#include "support/oracle.hpp"

namespace gpuhist::test {
namespace {

// ---- Choice --------------------------------------------------------------------------------------------------------

TEST(EngineChoice, lists_cuda_before_cpu_and_says_why) {
    const std::vector<EngineInfo> list = engines();
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(list[0].name, "cuda");
    EXPECT_EQ(list[1].name, "cpu");
    EXPECT_TRUE(list[1].available);
    for (const EngineInfo& info : list) EXPECT_FALSE(info.description.empty()) << info.name;
    EXPECT_FALSE(list[0].available && gpus().empty());
}

TEST(EngineChoice, auto_is_the_first_available) {
    for (const EngineInfo& info : engines())
        if (info.available) {
            EXPECT_EQ(make_engine("auto")->name(), info.name);
            EXPECT_EQ(make_engine()->name(), info.name);
            break;
        }
    EXPECT_TRUE(!flag("GPUHIST_REQUIRE_CUDA") || make_engine()->name() == "cuda");
}

TEST(EngineChoice, a_named_engine_runs_or_is_an_error) {
    for (const EngineInfo& info : engines()) {
        if (info.available)
            EXPECT_EQ(make_engine(info.name)->name(), info.name);
        else
            EXPECT_THROW(make_engine(info.name), EngineUnavailable);
    }
}

TEST(EngineChoice, unknown_names_and_options_are_refused) {
    for (const char* name : {"", "gpu", "CPU", "cpu "}) EXPECT_THROW(make_engine(name), InvalidArgument) << name;
    EngineOptions options;
    options.threads = -1;
    EXPECT_THROW(make_engine("cpu", options), InvalidArgument);
}

TEST(EngineChoice, a_gpu_that_is_not_there_is_an_error) {
    EngineOptions options;
    for (int gpu : {-1, 1000}) {
        options.gpu = gpu;
        EXPECT_THROW(make_engine("cuda", options), Error) << gpu;
    }
}

// The test runs in a process of its own, since the driver reads the variable once.
TEST(EngineChoiceDeathTest, without_a_visible_gpu_auto_is_cpu_and_cuda_is_unavailable) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    auto look = [] {
        setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
        if (info_of("cuda").available || !gpus().empty()) std::exit(2);
        if (make_engine("auto")->name() != "cpu") std::exit(3);
        try {
            make_engine("cuda");
            std::exit(4);
        } catch (const EngineUnavailable&) {
            std::exit(0);
        }
    };
    EXPECT_EXIT(look(), testing::ExitedWithCode(0), "");
}

// ---- What is refused -----------------------------------------------------------------------------------------------

class EngineContract : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Conformance, EngineContract, testing::ValuesIn(engines_under_test), label_of);

TEST_P(EngineContract, small_refuses_views_that_break_their_rules) {
    alignas(16) std::byte pixels[4096] = {};
    const ImageView good{pixels, 10, 8, 3, Depth::u16, 60};
    Analysis result;
    EXPECT_NO_THROW(engine->analyze(good, {}, result));
    auto refuses = [&](const char* what, const std::function<void(ImageView&)>& spoil) {
        ImageView bad = good;
        spoil(bad);
        EXPECT_THROW(engine->analyze(bad, {}, result), InvalidArgument) << what;
        // The message says more than that something is wrong.
        try {
            engine->analyze(bad, {}, result);
        } catch (const InvalidArgument& error) {
            EXPECT_GT(std::strlen(error.what()), 15u) << what;
        }
    };
    refuses("no width", [](ImageView& v) { v.width = 0; });
    refuses("negative width", [](ImageView& v) { v.width = -10; });
    refuses("no height", [](ImageView& v) { v.height = 0; });
    refuses("negative height", [](ImageView& v) { v.height = -1; });
    refuses("beyond counting", [](ImageView& v) { v.width = v.height = std::int64_t{1} << 40; });
    refuses("0 channels", [](ImageView& v) { v.channels = 0; });
    refuses("65 channels", [](ImageView& v) { v.channels = 65; });
    refuses("null", [](ImageView& v) { v.data = nullptr; });
    refuses("misaligned", [&](ImageView& v) { v.data = pixels + 1; });
    refuses("rows overlap", [](ImageView& v) { v.row_bytes = 58; });
    refuses("no row_bytes", [](ImageView& v) { v.row_bytes = 0; });
    refuses("negative row_bytes", [](ImageView& v) { v.row_bytes = -60; });
    refuses("half a sample between rows", [](ImageView& v) { v.row_bytes = 61; });
    refuses("f32 aligned to 2", [&](ImageView& v) {
        v.depth = Depth::f32;
        v.row_bytes = 120;
        v.data = pixels + 2;
    });
    if (!on_gpu()) refuses("device memory", [](ImageView& v) { v.memory = Memory::device; });
    EXPECT_NO_THROW(engine->analyze(good, {}, result)) << "an engine goes on after an error";
    EXPECT_EQ(difference(result, expected_analysis(good)), "");
}

TEST_P(EngineContract, small_refuses_requests_out_of_bounds) {
    const float pixels[] = {1, 2, 3, 4};
    const ImageView image{pixels, 4, 1, 1, Depth::f32, 16};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Analysis result;
    for (std::uint32_t bins : {0u, (1u << 24) + 1, ~0u})
        EXPECT_THROW(engine->analyze(image, {true, bins, {}}, result), InvalidArgument) << bins;
    for (const Range& range :
         {Range{1, 1}, Range{2, 1}, Range{0, infinity}, Range{-infinity, 0}, Range{0, NAN}, Range{NAN, 1}})
        EXPECT_THROW(engine->analyze(image, {true, 256, range}, result), InvalidArgument)
            << range.lower << "," << range.upper;
    EXPECT_NO_THROW(engine->analyze(image, {true, 1, Range{1, 2}}, result));
}

TEST_P(EngineContract, small_refuses_outputs_that_do_not_fit) {
    alignas(16) std::byte in[4096] = {}, out[4096] = {};
    const ImageView image{in, 10, 8, 3, Depth::u8, 30};
    const MutableImageView good{out, 10, 8, 3, Depth::u8, 30};
    Analysis result;
    EXPECT_NO_THROW(engine->normalize(image, {}, {}, good, result));
    auto refuses = [&](const char* what, const std::function<void(MutableImageView&)>& spoil,
                       NormalizeMode mode = NormalizeMode::minmax) {
        MutableImageView bad = good;
        spoil(bad);
        std::memset(out, 0x5A, sizeof out);
        EXPECT_THROW(engine->normalize(image, {}, {mode, 1, 99, true}, bad, result), InvalidArgument) << what;
        for (std::byte byte : out) ASSERT_EQ(byte, std::byte{0x5A}) << what << ": written to all the same";
    };
    refuses("width", [](MutableImageView& v) { v.width = 9; });
    refuses("height", [](MutableImageView& v) { v.height = 9; });
    refuses("channels", [](MutableImageView& v) { v.channels = 1; });
    refuses("order", [](MutableImageView& v) { v.order = ChannelOrder::rgb; });
    refuses("depth", [](MutableImageView& v) {
        v.depth = Depth::u16;
        v.row_bytes = 60;
    });
    refuses(
        "zscore writes f32", [](MutableImageView&) {}, NormalizeMode::zscore);
    refuses("null", [](MutableImageView& v) { v.data = nullptr; });
    refuses("row_bytes", [](MutableImageView& v) { v.row_bytes = 29; });
    refuses("memory", [](MutableImageView& v) { v.memory = Memory::device; });
    const MutableImageView floats{out + 2, 10, 8, 3, Depth::f32, 120};
    EXPECT_THROW(engine->normalize(image, {}, {NormalizeMode::zscore, 1, 99, true}, floats, result), InvalidArgument);
}

TEST_P(EngineContract, small_refuses_percentiles_out_of_bounds) {
    std::uint8_t pixels[4] = {1, 2, 3, 4};
    const MutableImageView image{pixels, 4, 1, 1, Depth::u8, 4};
    Analysis result;
    for (const auto& [low, high] :
         {std::pair<double, double>{99, 1}, {50, 50}, {-1, 99}, {1, 101}, {NAN, 99}, {1, NAN}})
        EXPECT_THROW(engine->normalize(image, {}, {NormalizeMode::percentile, low, high, true}, image, result),
                     InvalidArgument)
            << low << "," << high;
    // They do not matter to the other modes.
    EXPECT_NO_THROW(engine->normalize(image, {}, {NormalizeMode::minmax, 99, 1, true}, image, result));
}

TEST_P(EngineContract, small_single_row_may_have_any_row_bytes) {
    const std::uint8_t pixels[6] = {1, 2, 3, 4, 5, 6};
    const Analysis expected = engine->analyze({pixels, 6, 1, 1, Depth::u8, 6});
    for (std::int64_t row_bytes : {6, 7, 1000000})
        EXPECT_EQ(difference(engine->analyze({pixels, 6, 1, 1, Depth::u8, row_bytes}), expected), "") << row_bytes;
}

// ---- Threads -------------------------------------------------------------------------------------------------------

TEST(EngineThreads, their_number_does_not_show) {
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (const Layout& layout : {packed, layouts[3]}) {
            const Picture picture({701, 503, 3, depth}, layout, Content::natural);
            for (NormalizeMode mode : all_exact_modes) {
                Shape shape = picture.shape();
                shape.depth = normalized_depth(depth, mode);
                Picture expected(shape, packed), output(shape, packed);
                Analysis expected_result, result;
                const AnalysisRequest request;
                const Normalization normalization{mode, 1, 99, true};
                EngineOptions options;
                options.threads = 1;
                make_engine("cpu", options)
                    ->normalize(picture.view(), request, normalization, expected.mutable_view(), expected_result);
                for (int threads : {2, 3, 5}) {
                    options.threads = threads;
                    make_engine("cpu", options)
                        ->normalize(picture.view(), request, normalization, output.mutable_view(), result);
                    EXPECT_EQ(difference(result, expected_result), "") << threads << " threads";
                    EXPECT_EQ(difference(output.view(), expected.view()), "") << threads << " threads";
                }
            }
        }
}

// One engine per thread, all at the same time.
TEST_P(EngineContract, small_engines_in_several_threads) {
    const Picture u8({301, 203, 3, Depth::u8}, layouts[1], Content::natural);
    const Picture f32({203, 101, 4, Depth::f32}, packed, Content::gaussian);
    const Analysis expected_u8 = reference->analyze(u8.view()), expected_f32 = reference->analyze(f32.view());
    std::string differences[4];
    std::vector<std::thread> threads;
    for (std::string& found : differences)
        threads.emplace_back([&] {
            const std::unique_ptr<Engine> own = make_engine(GetParam().name, GetParam().options);
            for (int turn = 0; turn < 20; ++turn) {
                if (turn > 1 && left_out()) continue;
                found += difference(own->analyze(u8.view()), expected_u8);
                found += difference(own->analyze(f32.view()), expected_f32);
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& found : differences) EXPECT_EQ(found, "");
}

}  // namespace
}  // namespace gpuhist::test
