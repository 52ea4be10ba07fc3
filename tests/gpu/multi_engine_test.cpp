// Several engines as one: they share jobs, the results are those of one, and one that fails leaves its jobs to the
// others.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/multi_engine.hpp"

namespace gpuhist::test {
namespace {

/// CPU engine that fails from an image on.
class Failing final : public Engine {
  public:
    Failing(std::atomic<int>& done, int from) : done_(done), from_(from), truth_(make_engine("cpu", {.threads = 1})) {}
    std::string_view name() const override { return "cuda"; }
    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        if (++own_ >= from_) throw CudaError("CUDA: an illegal memory access was encountered");
        truth_->analyze(image, request, result);
        ++done_;
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        if (++own_ >= from_) throw CudaError("CUDA: an illegal memory access was encountered");
        truth_->normalize(image, request, normalization, output, result);
        ++done_;
    }

  private:
    std::atomic<int>& done_;
    const int from_;
    int own_ = 0;
    std::unique_ptr<Engine> truth_;
};

class MultiEngineTest : public testing::Test {
  protected:
    /// Makes engines that fail from these images on; 0: never.
    MultiEngine make(const std::vector<int>& fail_from) {
        std::vector<std::unique_ptr<Engine>> engines;
        done = std::vector<std::atomic<int>>(fail_from.size());
        for (std::size_t i = 0; i < fail_from.size(); ++i)
            engines.push_back(std::make_unique<Failing>(done[i], fail_from[i] > 0 ? fail_from[i] : 1 << 30));
        return MultiEngine(std::move(engines));
    }
    /// Images of several sizes, with copies of some, and the results of the CPU engine.
    void SetUp() override {
        std::mt19937 random(7);
        for (int i = 0; i < count; ++i) {
            const int width = i % 50 == 3 ? 700 : 5 + i % 17, height = i % 50 == 3 ? 500 : 3 + i % 11;
            pixels.emplace_back(static_cast<std::size_t>(3 * width * height));
            for (unsigned char& sample : pixels.back()) sample = static_cast<unsigned char>(random());
            copies.emplace_back(pixels.back().size());
            Job job;
            job.image = packed_view(static_cast<const void*>(pixels.back().data()), width, height, 3, Depth::u8);
            if (i % 3 == 0) {
                job.normalization.emplace();
                job.output = packed_view(static_cast<void*>(copies.back().data()), width, height, 3, Depth::u8);
            }
            jobs.push_back(job);
        }
        results.resize(count);
        for (int i = 0; i < count; ++i) jobs[i].result = &results[i];
        const auto cpu = make_engine("cpu");
        cpu->run(jobs.data(), jobs.size());
        expected = std::exchange(results, std::vector<Analysis>(count));
        expected_copies = copies;
        for (int i = 0; i < count; ++i) jobs[i].result = &results[i];
        for (auto& copy : copies) std::fill(copy.begin(), copy.end(), 0);
    }
    void expect_results() const {
        for (int i = 0; i < count; ++i) {
            EXPECT_FALSE(jobs[i].error) << i;
            EXPECT_TRUE(results[i] == expected[i]) << i;
        }
        EXPECT_TRUE(copies == expected_copies);
    }

    static constexpr int count = 600;
    std::vector<std::atomic<int>> done;
    std::vector<std::vector<unsigned char>> pixels, copies, expected_copies;
    std::vector<Job> jobs;
    std::vector<Analysis> results, expected;
};

TEST_F(MultiEngineTest, SharesJobs) {
    for (const std::size_t engines : {1, 2, 3, 8}) {
        MultiEngine engine = make(std::vector<int>(engines));
        engine.run(jobs.data(), jobs.size());
        expect_results();
        int all = 0;
        for (const std::atomic<int>& one : done) all += one;
        EXPECT_EQ(all, count);
        EXPECT_EQ(engine.working(), engines);
    }
}

TEST_F(MultiEngineTest, LeavesJobsOfOneThatFailsToTheOthers) {
    for (const std::vector<int>& fail_from : {std::vector{1, 0}, {0, 1}, {50, 0, 1}, {0, 100, 100}, {300, 20, 0}}) {
        MultiEngine engine = make(fail_from);
        engine.run(jobs.data(), jobs.size());
        expect_results();
        engine.run(jobs.data(), jobs.size());
        expect_results();
    }
    MultiEngine engine = make({1, 1, 0});
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(engine.Engine::analyze(jobs[i].image) == expected[i]);
    EXPECT_EQ(engine.working(), 1U);
}

TEST_F(MultiEngineTest, GivesEveryJobTheErrorIfAllFail) {
    MultiEngine engine = make({1, 1});
    engine.run(jobs.data(), jobs.size());
    for (const Job& job : jobs) EXPECT_THROW(std::rethrow_exception(job.error), CudaError);
    EXPECT_EQ(engine.working(), 0U);
    EXPECT_THROW(engine.Engine::analyze(jobs[0].image), CudaError);
}

TEST_F(MultiEngineTest, RefusesWhatIsWrong) {
    EXPECT_THROW(MultiEngine(std::vector<std::unique_ptr<Engine>>{}), InvalidArgument);
    EXPECT_THROW(MultiEngine(std::vector<int>{}), InvalidArgument);
    EXPECT_THROW(MultiEngine(std::vector{0, 0}), InvalidArgument);
    MultiEngine engine = make({0, 0});
    Job device = jobs[1], bad = jobs[1];
    device.image.memory = Memory::device;
    bad.image.width = 0;
    std::vector<Job> some{jobs[2], device, bad, jobs[4]};
    engine.run(some.data(), some.size());
    EXPECT_FALSE(some[0].error);
    EXPECT_THROW(std::rethrow_exception(some[1].error), InvalidArgument);
    EXPECT_THROW(std::rethrow_exception(some[2].error), InvalidArgument);
    EXPECT_FALSE(some[3].error);
    EXPECT_EQ(engine.working(), 2U);
}

}  // namespace
}  // namespace gpuhist::test
