// Several GPUs in one run: they share the work, no byte depends on their number, and one that fails leaves its work to
// the others. The GPUs of these tests are engines on the CPU under another name.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <opencv2/core.hpp>
#include <string>
#include <thread>
#include <vector>

#include "gpuhist/error.hpp"
#include "run/pipeline.hpp"
#include "support/codecs.hpp"
#include "support/temporary_directory.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr int most_gpus = 3, nowhere = 1 << 30;

/// What is done on each GPU, and from which image on it fails.
struct Machine {
    std::array<std::atomic<int>, most_gpus> images{}, engines{};
    std::array<int, most_gpus> fails_from{nowhere, nowhere, nowhere};
    bool no_engine_on_the_last = false;
    std::size_t gpus = 0;  ///< that are lent

    /// Waits until engines of all GPUs were asked for: otherwise some may finish before others are needed.
    void wait_for_all() const {
        const auto begun = [&] {
            return std::count_if(engines.begin(), engines.end(), [](const auto& n) { return n > 0; });
        };
        for (int i = 0; i < 20'000 && static_cast<std::size_t>(begun()) < gpus; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    /// Leaves the work to the GPUs that are to fail, up to 300 ms per image: otherwise others may take it all.
    void wait_for_failures(std::size_t gpu) const {
        if (fails_from[gpu] != nowhere) return;
        const auto all_failed = [&] {
            for (std::size_t i = 0; i < gpus; ++i)
                if (fails_from[i] != nowhere && images[i] < fails_from[i]) return false;
            return true;
        };
        for (int i = 0; i < 300 && !all_failed(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

class PlayedGpu final : public Engine {
  public:
    PlayedGpu(Machine& machine, int gpu)
        : machine_(machine), gpu_(static_cast<std::size_t>(gpu)), truth_(make_engine("cpu", {.threads = 1})) {}
    std::string_view name() const override { return "cuda"; }
    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        count();
        truth_->analyze(image, request, result);
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        count();
        truth_->normalize(image, request, normalization, output, result);
    }

  private:
    void count() {
        machine_.wait_for_all();
        machine_.wait_for_failures(gpu_);
        if (++machine_.images[gpu_] >= machine_.fails_from[gpu_])
            throw CudaError("CUDA: an illegal memory access on GPU " + std::to_string(gpu_));
    }

    Machine& machine_;
    const std::size_t gpu_;
    std::unique_ptr<Engine> truth_;
};

struct Result {
    int code;
    std::string out, err;
};

class SeveralGpus : public testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(root_ / "in");
        for (int i = 0; i < images; ++i) {
            const bool large = i % 10 == 7;  // too large to share a launch
            cv::Mat picture(large ? 300 : 1 + i % 40, large ? 310 : 24, i % 3 ? CV_8UC3 : CV_16UC1);
            cv::setRNGSeed(i);
            cv::randu(picture, 0, i % 3 ? 256 : 65536);
            test::write_picture(root_ / "in" / (std::to_string(1000 + i) + ".png"), picture);
        }
    }

    Result run_with(const std::string& engine, const std::vector<int>& gpus) {
        Options options;
        options.inputs.arguments = {(root_ / "in").string()};
        options.output = root_ / "out";
        options.engine = engine;
        options.gpus = gpus;
        options.engine_options.threads = 6;
        options.format = "csv";
        options.write = Writes{true, false, false, true};
        options.normalize = true;
        fs::remove_all(root_ / "out");
        for (auto& count : machine.images) count = 0;
        for (auto& count : machine.engines) count = 0;
        machine.gpus = gpus.size();
        const EngineFactory engines = [this](std::string_view name, const EngineOptions& of) {
            if (name == "cpu") return make_engine(name, of);
            ++machine.engines.at(static_cast<std::size_t>(of.gpu));
            if (machine.no_engine_on_the_last && of.gpu == most_gpus - 1) throw EngineUnavailable("GPU 2 is busy");
            return std::unique_ptr<Engine>(std::make_unique<PlayedGpu>(machine, of.gpu));
        };
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int code = run(options, nullptr, engines);
        const std::string out = testing::internal::GetCapturedStdout();
        return {code, out + copies(), testing::internal::GetCapturedStderr()};
    }

    /// Bytes of all copies.
    std::string copies() const {
        std::vector<fs::path> paths;
        for (const auto& entry : fs::recursive_directory_iterator(root_ / "out"))
            if (entry.path().extension() == ".png") paths.push_back(entry.path());
        std::sort(paths.begin(), paths.end());
        std::string all;
        for (const fs::path& path : paths) {
            std::ifstream file(path, std::ios::binary);
            all += path.filename().string();
            all.append(std::istreambuf_iterator<char>(file), {});
        }
        return all;
    }
    static int times(const std::string& text, const std::string& part) {
        int count = 0;
        for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
        return count;
    }

    static constexpr int images = 150;
    Machine machine;
    const test::TemporaryDirectory temporary_;
    const fs::path root_ = temporary_.path();
};

TEST_F(SeveralGpus, ShareTheWork) {
    const Result expected = run_with("cpu", {});
    ASSERT_EQ(expected.code, all_done);
    for (const std::vector<int>& gpus : {std::vector{0}, {2}, {0, 1}, {2, 0, 1}}) {
        const Result found = run_with("cuda", gpus);
        EXPECT_EQ(found.code, all_done) << found.err;
        EXPECT_TRUE(found.out == expected.out);
        int all = 0;
        for (int gpu = 0; gpu < most_gpus; ++gpu) {
            const bool used = std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
            const int done = machine.images.at(static_cast<std::size_t>(gpu));
            EXPECT_EQ(done > 0, used) << gpu;
            all += done;
        }
        EXPECT_EQ(all, images);
    }
}

TEST_F(SeveralGpus, DoTheWorkOfOneThatFails) {
    const Result expected = run_with("cpu", {});
    for (const int from : {1, 2, 4}) {
        machine.fails_from = {nowhere, from, nowhere};
        const Result found = run_with("cuda", {0, 1, 2});
        EXPECT_EQ(found.code, all_done) << found.err;
        EXPECT_TRUE(found.out == expected.out) << from;
        EXPECT_EQ(times(found.err, "GPU 1 is not used any more: CUDA: an illegal memory access on GPU 1"), 1)
            << found.err;
        EXPECT_EQ(times(found.err, "illegal"), 1) << found.err;
    }
    machine.fails_from = {nowhere, 3, 5};
    Result found = run_with("cuda", {0, 1, 2});
    EXPECT_EQ(found.code, all_done) << found.err;
    EXPECT_TRUE(found.out == expected.out);
    EXPECT_EQ(times(found.err, "is not used any more"), 2) << found.err;

    machine.fails_from = {4, 3, 5};
    found = run_with("cuda", {0, 1, 2});
    EXPECT_EQ(found.code, engine_failed);
    EXPECT_EQ(times(found.err, "is not used any more"), 2) << found.err;
}

TEST_F(SeveralGpus, DoWithoutOneThatCannotBeUsed) {
    const Result expected = run_with("cpu", {});
    machine.no_engine_on_the_last = true;
    const Result found = run_with("cuda", {0, 1, 2});
    EXPECT_EQ(found.code, all_done) << found.err;
    EXPECT_TRUE(found.out == expected.out);
    EXPECT_EQ(times(found.err, "GPU 2 is busy"), 1) << found.err;
}

}  // namespace
}  // namespace gpuhist::app
