// Lists of jobs give what one call after the other gives.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/engines_under_test.hpp"
#include "support/modes.hpp"
#include "support/oracle.hpp"

namespace gpuhist::test {
namespace {

class JobsTest : public EngineTest {
  protected:
    struct Case {
        Picture picture;
        std::optional<Picture> output;
        std::vector<std::byte> around;  ///< the output's rows
        Analysis result;
    };

    void add(const Shape& shape, const Layout& layout, Content content, const AnalysisRequest& request = {},
             const std::optional<Normalization>& normalization = {}) {
        Case& one = cases.emplace_back(Case{Picture(shape, layout, content), {}, {}, {}});
        Job& job = jobs.emplace_back();
        job.image = one.picture.view();
        job.request = request;
        job.normalization = normalization;
        job.result = &one.result;
        poison(one.result);
        if (!normalization) return;
        Shape written = shape;
        written.depth = normalized_depth(shape.depth, normalization->mode);
        one.output.emplace(written, layouts[2]);
        one.around = one.output->bytes_between_pixels();
        job.output = one.output->mutable_view();
    }

    void run() { engine->run(jobs.data(), jobs.size()); }

    /// Against single calls of this engine and of the reference.
    void expect_as_single_calls() {
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            SCOPED_TRACE("job " + std::to_string(i));
            expect_as_single_call(jobs[i], cases[i]);
        }
    }
    void expect_as_single_call(const Job& job, const Case& one) {
        ASSERT_FALSE(job.error) << message(job);
        for (Engine* single : {engine.get(), reference.get()}) {
            Analysis expected;
            if (!job.normalization) {
                single->analyze(job.image, job.request, expected);
            } else {
                Picture copy(one.output->shape(), packed);
                single->normalize(job.image, job.request, *job.normalization, copy.mutable_view(), expected);
                EXPECT_EQ(difference(one.output->view(), copy.view()), "") << single->name();
                EXPECT_TRUE(one.output->bytes_between_pixels() == one.around) << "bytes between rows were written to";
            }
            EXPECT_EQ(difference(one.result, expected), "") << single->name();
        }
    }
    static std::string message(const Job& job) {
        try {
            if (job.error) std::rethrow_exception(job.error);
        } catch (const std::exception& error) {
            return error.what();
        }
        return "";
    }

    std::deque<Case> cases;
    std::vector<Job> jobs;
};
INSTANTIATE_TEST_SUITE_P(Conformance, JobsTest, testing::ValuesIn(engines_under_test), label_of);

constexpr Shape shapes[] = {{1, 1}, {64, 64, 3}, {64, 64, 3}, {17, 5, 4}, {33, 1, 1}, {1, 40, 3}};

TEST_P(JobsTest, small_none) {
    engine->run(nullptr, 0);
    run();
}

TEST_P(JobsTest, small_mixed_sizes_types_orders_and_layouts) {
    int turn = 0;
    for (Shape shape : shapes)
        for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
            for (ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb}) {
                if (left_out()) continue;
                shape.depth = depth;
                shape.order = order;
                add(shape, layouts[turn % std::size(layouts)], turn % 2 ? Content::natural : Content::random);
                ++turn;
            }
    run();
    expect_as_single_calls();
}

TEST_P(JobsTest, small_different_requests) {
    const Shape color{20, 10, 3}, floats{20, 10, 3, Depth::f32};
    for (int turn = 0; turn < 2; ++turn) {
        add(color, packed, Content::random);
        add(color, packed, Content::natural, {false, 256, {}});
        add(floats, packed, Content::specials);
        add(floats, packed, Content::natural, {true, 10, {}});
        add(floats, packed, Content::natural, {true, 10, Range{0, 0.5}});
        add(floats, packed, Content::gaussian, {true, 256, {}, Detail::brief});
    }
    run();
    expect_as_single_calls();
}

TEST_P(JobsTest, small_normalized) {
    for (NormalizeMode mode : all_exact_modes)
        for (bool joint : {true, false})
            for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
                for (const Shape& shape : {Shape{30, 20, 3}, Shape{19, 7, 1}, Shape{30, 20, 4}}) {
                    if (left_out()) continue;
                    Shape typed = shape;
                    typed.depth = depth;
                    add(typed, layouts[1], Content::natural, {}, Normalization{mode, 1, 99, joint});
                    add(typed, packed, Content::random, {}, Normalization{mode, 5, 90, joint});
                    if (mode == NormalizeMode::minmax) add(typed, packed, Content::sparse);
                }
    run();
    expect_as_single_calls();
}

TEST_P(JobsTest, small_in_place) {
    const Normalization normalization;
    for (Content content : {Content::natural, Content::sparse}) {
        add({30, 20, 3}, layouts[1], content);
        add({30, 20, 3}, packed, content);
    }
    std::vector<Picture> expected;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].normalization = normalization;
        jobs[i].output = cases[i].picture.mutable_view();
        expected.push_back(expected_normalized(jobs[i].image, normalization, reference->analyze(jobs[i].image)));
    }
    run();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        EXPECT_EQ(message(jobs[i]), "");
        EXPECT_EQ(difference(cases[i].picture.view(), expected[i].view()), "") << i;
    }
}

// More than one launch takes, and large ones among them.
TEST_P(JobsTest, many_and_large_ones) {
    for (int i = 0; i < static_cast<int>(repetitions(700, 60)); ++i) {
        const std::int64_t width = 1 + static_cast<std::int64_t>(scramble(static_cast<std::uint64_t>(i)) % 90);
        add({width, 1 + i % 31, i % 3 ? 3 : 1}, i % 5 ? packed : layouts[3], Content::random, {},
            i % 4 ? std::optional<Normalization>{} : Normalization{});
        if (i % 100 == 50) add({1000, 700, 3}, packed, Content::natural);
        if (i % 40 == 0) add({64, 64, 3, Depth::u16}, packed, Content::natural);  // whose results are large
    }
    run();
    expect_as_single_calls();
    run();  // again, in memory that is reused
    expect_as_single_calls();
}

// One that is refused among good ones, for each reason.
TEST_P(JobsTest, small_a_bad_one_fails_alone) {
    const std::vector<std::function<void(Job&)>> reasons{
        [](Job& job) { job.image.data = nullptr; },
        [](Job& job) { job.image.width = -5; },
        [](Job& job) { job.image.width = job.image.height = std::int64_t{1} << 40; },
        [](Job& job) { job.image.row_bytes = 1; },
        [](Job& job) { job.image.channels = 65; },
        [](Job& job) { job.request.bins = 0; },
        [](Job& job) { job.output.width = 9; },
        [](Job& job) { job.output.data = nullptr; },
        [](Job& job) {
            job.normalization = Normalization{NormalizeMode::percentile, 99, 1, true};
        },
    };
    for (const auto& spoil : reasons)
        for (int i = 0; i < 3; ++i) {
            add({30, 20, 3}, packed, Content::natural, {}, Normalization{});
            if (i == 1) spoil(jobs.back());
        }
    run();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        SCOPED_TRACE("job " + std::to_string(i));
        if (i % 3 == 1) {
            ASSERT_TRUE(jobs[i].error);
            EXPECT_THROW(std::rethrow_exception(jobs[i].error), InvalidArgument);
            Analysis result;
            std::string single;
            try {
                engine->normalize(jobs[i].image, jobs[i].request, *jobs[i].normalization, jobs[i].output, result);
            } catch (const InvalidArgument& error) {
                single = error.what();
            }
            EXPECT_EQ(message(jobs[i]), single);
            EXPECT_TRUE(cases[i].output->bytes_between_pixels() == cases[i].around);
        } else {
            expect_as_single_call(jobs[i], cases[i]);
        }
    }
    // An error of an earlier run does not stay.
    for (std::size_t i = 1; i < jobs.size(); i += 3) {
        jobs[i].image = cases[i].picture.view();
        jobs[i].request = {};
        jobs[i].normalization = Normalization{};
        jobs[i].output = cases[i].output->mutable_view();
    }
    run();
    expect_as_single_calls();
}

}  // namespace
}  // namespace gpuhist::test
