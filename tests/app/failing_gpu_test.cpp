// A GPU that takes over in the middle of a run, or fails in it: no image is lost, no byte is another, and what happened
// is said once.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <opencv2/core.hpp>
#include <sstream>
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
using Clock = std::chrono::steady_clock;

/// What all engines on a GPU share: how it fails.
struct Gpu {
    std::function<void(int nth)> make = [](int) {};                           ///< called before an engine is made
    std::function<void(int nth, const ImageView&)> look = [](int, auto&) {};  ///< before an image is looked at
    std::function<void(int nth)> cpu = [](int) {};                            ///< before the CPU engine looks at one
    std::atomic<int> made{0}, looked{0}, alive{0}, cpu_looked{0};
    std::atomic<std::size_t> most_at_once{0};
};

/// The CPU engine, as far as the GPU lets it come.
class WatchedCpu final : public Engine {
  public:
    WatchedCpu(Gpu& gpu, const EngineOptions& options) : gpu_(gpu), truth_(make_engine("cpu", options)) {}
    std::string_view name() const override { return "cpu"; }
    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        gpu_.cpu(++gpu_.cpu_looked);
        truth_->analyze(image, request, result);
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        gpu_.cpu(++gpu_.cpu_looked);
        truth_->normalize(image, request, normalization, output, result);
    }

  private:
    Gpu& gpu_;
    std::unique_ptr<Engine> truth_;
};

/// Gives the results of engine cpu, until the GPU fails.
class FailingEngine final : public Engine {
  public:
    explicit FailingEngine(Gpu& gpu) : gpu_(gpu), truth_(make_engine("cpu", {.threads = 1})) { ++gpu_.alive; }
    ~FailingEngine() override { --gpu_.alive; }
    std::string_view name() const override { return "cuda"; }
    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        gpu_.look(++gpu_.looked, image);
        truth_->analyze(image, request, result);
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        gpu_.look(++gpu_.looked, image);
        truth_->normalize(image, request, normalization, output, result);
    }
    void run(Job* jobs, std::size_t count) override {
        if (gpu_.most_at_once < count) gpu_.most_at_once = count;
        Engine::run(jobs, count);
    }

  private:
    Gpu& gpu_;
    std::unique_ptr<Engine> truth_;
};

struct Result {
    int code;
    std::string out, err;
};

class FailingGpu : public testing::Test {
  protected:
    void SetUp() override { fs::create_directories(root_ / "dir/sub"); }

    /// Images that share launches, and some too large for that. Bad files among them are no matter of the GPU's.
    void make_images(int count) {
        for (int i = 0; i < count; ++i) {
            const bool large = i % 20 == 7;
            cv::Mat image(large ? 300 : 1 + i % 40, large ? 310 : 24, i % 3 ? CV_8UC3 : CV_16UC1);
            cv::setRNGSeed(i);
            cv::randu(image, 0, i % 3 ? 256 : 65536);
            const std::string name = (i % 5 ? "dir/" : "dir/sub/") + std::to_string(1000 + i) + ".png";
            gpuhist::test::write_picture(root_ / name, image);
            if (i == 30) std::ofstream(root_ / name, std::ios::trunc) << "no image";
        }
    }

    /// Options under which `auto` has the GPU from the start.
    Options options(const std::string& engine, const std::string& output) const {
        Options options;
        options.inputs.arguments = {(root_ / "dir").string()};
        options.output = root_ / output;
        options.engine = engine;
        options.engine_options.threads = 5;
        options.gpu_terms.start_seconds = 0;
        options.format = "csv";
        options.group_by = GroupBy::directory;
        return options;
    }

    Result run_with(const Options& options) {
        const EngineFactory factory = [this](std::string_view name, const EngineOptions& engine_options) {
            if (name == "cpu") return std::unique_ptr<Engine>(std::make_unique<WatchedCpu>(gpu, engine_options));
            gpu.make(++gpu.made);
            return std::unique_ptr<Engine>(std::make_unique<FailingEngine>(gpu));
        };
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        summary = std::make_unique<RunSummary>();
        const int code = run(options, summary.get(), factory);
        const std::string out = testing::internal::GetCapturedStdout();
        EXPECT_EQ(gpu.alive, 0) << "engines are left";
        return {code, out, testing::internal::GetCapturedStderr()};
    }

    /// Results of engine cpu.
    Result truth(Options options) {
        options.engine = "cpu";
        options.output = root_ / "truth";
        return run_with(options);
    }

    static std::string text(const fs::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void expect_the_truth(const std::string& output) const {
        for (const auto& entry : fs::recursive_directory_iterator(root_ / "truth")) {
            if (!entry.is_regular_file()) continue;
            const fs::path name = fs::relative(entry.path(), root_ / "truth");
            EXPECT_TRUE(text(root_ / output / name) == text(entry.path())) << name << " differs";
        }
        EXPECT_FALSE(fs::exists(root_ / output / "gpuhist.journal"));
    }
    static int times(const std::string& text, const std::string& part) {
        int count = 0;
        for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
        return count;
    }

    Gpu gpu;
    std::unique_ptr<RunSummary> summary;  ///< of the last run
    const test::TemporaryDirectory temporary_;
    const fs::path root_ = temporary_.path();
};

constexpr int images = 400, bad = 1;

/// Engine that fails from the n-th image on.
std::function<void(int, const ImageView&)> broken_from(int n) {
    return [n](int nth, const ImageView&) {
        if (nth >= n) throw CudaError("CUDA: an illegal memory access was encountered");
    };
}

TEST_F(FailingGpu, LeavesTheRestToTheCpuUnderAuto) {
    make_images(images);
    Options options = this->options("auto", "out");
    options.write = Writes{true, true, false, true};
    options.normalize = true;
    const Result expected = truth(options);
    ASSERT_EQ(expected.code, inputs_failed);
    for (int n : {1, 2, 60, images - bad}) {
        SCOPED_TRACE(n);
        fs::remove_all(root_ / "out");
        gpu.made = gpu.looked = 0;
        gpu.look = broken_from(n);
        const Result result = run_with(options);
        EXPECT_EQ(result.code, inputs_failed);
        EXPECT_TRUE(result.out == expected.out) << "rows are lost, or in another order";
        EXPECT_EQ(times(result.err, "the CPU measures the remaining images: CUDA: an illegal memory access"), 1)
            << result.err;
        EXPECT_EQ(times(result.err, "illegal"), 1) << result.err;
        expect_the_truth("out");
    }
}

// An image that was begun on the GPU comes once more, from its first strip on.
TEST_F(FailingGpu, LeavesAnImageInStripsToTheCpuUnderAuto) {
    for (int i = 0; i < 3; ++i) {
        cv::Mat image(600, 700, i ? CV_8UC3 : CV_16UC1);
        cv::randu(image, 0, i ? 256 : 65536);
        gpuhist::test::write_picture(root_ / ("dir/" + std::to_string(i) + ".png"), image);
    }
    Options options = this->options("auto", "out");
    options.write = Writes{true, true, false, false};
    const Result expected = truth(options);
    ASSERT_EQ(expected.code, all_done);
    options.memory = 1 << 20;
    for (int n : {1, 2, 5}) {
        SCOPED_TRACE(n);
        fs::remove_all(root_ / "out");
        gpu.made = gpu.looked = 0;
        gpu.look = broken_from(n);
        const Result result = run_with(options);
        EXPECT_EQ(result.code, all_done) << result.err;
        EXPECT_GE(gpu.looked, n);
        EXPECT_TRUE(result.out == expected.out) << "rows are lost, or in another order";
        EXPECT_EQ(times(result.err, "the CPU measures the remaining images: CUDA: an illegal memory access"), 1)
            << result.err;
        expect_the_truth("out");
    }
}

TEST_F(FailingGpu, EndsTheRunUnderCudaAndResumes) {
    make_images(images);
    const Result expected = truth(options("cuda", ""));
    for (int n : {1, 60, images - bad}) {
        SCOPED_TRACE(n);
        fs::remove_all(root_ / "out");
        gpu.made = gpu.looked = 0;
        gpu.look = broken_from(n);
        Options options = this->options("cuda", "out");
        options.checkpoint_seconds = n % 2 ? 0 : 5;
        const Result result = run_with(options);
        EXPECT_EQ(result.code, engine_failed);
        EXPECT_EQ(times(result.err, "illegal memory access"), 1) << result.err;
        EXPECT_EQ(times(result.err, "stopped: "), 1) << result.err;
        EXPECT_EQ(expected.out.compare(0, result.out.size(), result.out), 0) << "other rows, or in another order";
        EXPECT_FALSE(fs::exists(root_ / "out/stats.csv"));

        gpu.look = [](int, auto&) {};
        options.resume = true;
        const Result rest = run_with(options);
        EXPECT_EQ(rest.code, inputs_failed) << rest.err;
        expect_the_truth("out");
    }
}

TEST_F(FailingGpu, ThatCannotBeBegunIsPassedOverUnderAutoOnly) {
    make_images(50);
    const Result expected = truth(options("auto", ""));
    gpu.make = [](int) { throw OutOfMemory("CUDA: out of memory"); };
    const Result result = run_with(options("auto", "out"));
    EXPECT_EQ(result.code, inputs_failed);
    EXPECT_EQ(times(result.err, "using the CPU, although there is a GPU: CUDA: out of memory"), 1) << result.err;
    EXPECT_EQ(result.out, expected.out);
    expect_the_truth("out");

    const Result named = run_with(options("cuda", "named"));
    EXPECT_EQ(named.code, engine_failed);
    EXPECT_EQ(times(named.err, "CUDA: out of memory"), 1) << named.err;
    EXPECT_EQ(named.out, "");
    EXPECT_FALSE(fs::exists(root_ / "named"));
}

TEST_F(FailingGpu, WithRoomForOneEngineIsUsedByOne) {
    make_images(images);
    const Result expected = truth(options("cuda", ""));
    gpu.make = [&](int) {
        if (gpu.alive > 0) throw OutOfMemory("CUDA: out of memory");
    };
    gpu.look = [](int, auto&) { std::this_thread::sleep_for(std::chrono::microseconds(200)); };  // others come to wait
    for (const char* engine : {"auto", "cuda"}) {
        const Result result = run_with(options(engine, engine));
        EXPECT_EQ(result.code, inputs_failed) << result.err;
        EXPECT_EQ(result.out, expected.out);
        EXPECT_EQ(times(result.err, "memory"), 0) << result.err;
        expect_the_truth(engine);
    }
    EXPECT_GE(gpu.looked, 2 * (images - bad));
    EXPECT_GT(gpu.most_at_once, 1u) << "small images do not share";
}

TEST_F(FailingGpu, TriesAgainAloneWhenMemoryIsShort) {
    make_images(images);
    const Result expected = truth(options("cuda", ""));
    std::atomic<int> refused{0};
    gpu.look = [&](int, const ImageView& image) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // others come to wait, and get engines
        if (image.height == 300 && gpu.alive > 1) {
            ++refused;
            throw OutOfMemory("CUDA: out of memory");
        }
    };
    for (const char* engine : {"auto", "cuda"}) {
        gpu.made = 0;
        const Result result = run_with(options(engine, engine));
        EXPECT_EQ(result.code, inputs_failed) << result.err;
        EXPECT_EQ(result.out, expected.out);
        EXPECT_EQ(times(result.err, "memory"), 0) << result.err;
        expect_the_truth(engine);
    }
    EXPECT_GT(refused, 0) << "there never were two engines at once";
}

TEST_F(FailingGpu, PassesOverWhatIsTooLarge) {
    make_images(images);
    int large = 0;
    for (int i = 0; i < images; ++i) large += i % 20 == 7;
    const Result expected = truth(options("cuda", ""));
    gpu.look = [&](int, const ImageView& image) {
        if (image.height == 300) throw OutOfMemory("CUDA: out of memory");
    };
    const Result result = run_with(options("auto", "out"));
    EXPECT_EQ(result.code, inputs_failed) << result.err;
    EXPECT_EQ(result.out, expected.out);
    EXPECT_EQ(times(result.err, "the CPU measures images that are too large for the GPU: CUDA: out of memory"), 1)
        << result.err;
    EXPECT_EQ(times(result.err, "out of memory"), 1) << result.err;
    expect_the_truth("out");

    // Under a named engine they are errors, each with its file, and the others are measured.
    const Result named = run_with(options("cuda", "named"));
    EXPECT_EQ(named.code, engine_failed) << named.err;
    EXPECT_EQ(times(named.err, "out of memory"), large) << named.err;
    EXPECT_EQ(times(named.err, ".png: "), large + bad) << named.err;
    std::istringstream lines(expected.out);
    std::string others;
    for (std::string line; std::getline(lines, line);)
        if (line.find(",310,300,") == line.npos) others += line + '\n';
    EXPECT_EQ(named.out, others);
    EXPECT_EQ(times(text(root_ / "named/errors.csv"), ",engine,"), large);
}

TEST_F(FailingGpu, LeavesDepthsThatItHasNotToTheCpu) {
    make_images(images);
    const Result expected = truth(options("cuda", ""));
    gpu.look = [](int, const ImageView& image) {
        if (image.depth == Depth::u16) throw UnsupportedDepth("engine cuda: no kernels for u16");
    };
    const Result result = run_with(options("auto", "out"));
    EXPECT_EQ(result.code, inputs_failed) << result.err;
    EXPECT_EQ(result.out, expected.out);
    EXPECT_EQ(times(result.err, "no kernels"), 0) << result.err;
    expect_the_truth("out");

    const Result named = run_with(options("cuda", "named"));
    EXPECT_EQ(named.code, inputs_failed) << named.err;
    EXPECT_EQ(times(named.err, "no kernels for u16"), (images + 2) / 3 - bad) << named.err;  // the bad one is no image
}

// Small images that lack memory in a batch are told apart too.
TEST_F(FailingGpu, OneOfABatchFailsAlone) {
    make_images(images);
    const Result expected = truth(options("cuda", ""));
    gpu.look = [](int, const ImageView& image) {
        if (image.height == 21) throw OutOfMemory("CUDA: out of memory");
    };
    const Result named = run_with(options("cuda", "out"));
    EXPECT_EQ(named.code, engine_failed);
    EXPECT_EQ(times(named.err, "out of memory"), images / 40) << named.err;
    std::istringstream lines(expected.out);
    std::string others;
    for (std::string line; std::getline(lines, line);)
        if (line.find(",24,21,") == line.npos) others += line + '\n';
    EXPECT_EQ(named.out, others);
}

TEST_F(FailingGpu, OnTheOnlyImage) {
    make_images(1);
    const fs::path file = root_ / "dir/sub/1000.png";
    ASSERT_TRUE(fs::exists(file));
    Options options = this->options("auto", "out");
    options.inputs.arguments = {file.string()};
    const Result expected = truth(options);
    ASSERT_EQ(expected.code, all_done);
    gpu.look = broken_from(1);
    const Result result = run_with(options);
    EXPECT_EQ(result.code, all_done);
    EXPECT_EQ(result.out, expected.out);
    EXPECT_EQ(times(result.err, "the CPU measures the remaining images"), 1) << result.err;
    expect_the_truth("out");
    options.engine = "cuda";
    options.output = root_ / "named";
    const Result named = run_with(options);
    EXPECT_EQ(named.code, engine_failed);
    EXPECT_EQ(times(named.err, "1000.png: CUDA: an illegal"), 1) << named.err;
    EXPECT_EQ(named.out, "");
}

// All that was measured before the failure counts, whatever was in flight beside it.
TEST_F(FailingGpu, StopsAtTheNumberOfErrors) {
    make_images(images);
    const Result expected = truth(options("cuda", ""));
    gpu.look = [](int, const ImageView& image) {
        if (image.height == 21) throw OutOfMemory("CUDA: out of memory");
    };
    Options options = this->options("cuda", "out");
    options.max_errors = 3;
    const Result stopped = run_with(options);
    EXPECT_EQ(stopped.code, engine_failed);
    EXPECT_EQ(times(stopped.err, "stopped after 3 errors"), 1) << stopped.err;
    options.resume = true;
    options.max_errors.reset();
    options.engine = "cpu";
    const Result rest = run_with(options);
    EXPECT_EQ(rest.code, engine_failed) << "errors of the first part still count";
    const std::string stats = text(root_ / "out/stats.csv"), all = text(root_ / "truth/stats.csv");
    EXPECT_LT(times(stats, "\n"), times(all, "\n"));
    // The pools hold the same images as the rows.
    std::istringstream rows(text(root_ / "out/dataset.csv"));
    std::string header, first;
    std::getline(rows, header);
    std::getline(rows, first);
    EXPECT_EQ(first.substr(0, 8), ",u8,red,");
    EXPECT_EQ(first.substr(8, first.find(',', 8) - 8), std::to_string(times(stats, ",u8,red,"))) << first;
}

// ---------------------------------------------------------------------------------------------------- the hand-over

/// Options under which `auto` takes the GPU as soon as it is there, which is begun with the first image.
Options eager(Options options) {
    options.gpu_terms = {1e-9, 0, 0, 1e9};
    return options;
}

TEST_F(FailingGpu, TakesOverUnderAutoWithoutAChangeOfBytes) {
    make_images(images);
    Options options = eager(this->options("auto", "out"));
    options.write = Writes{true, true, false, true};
    options.normalize = true;
    const Result expected = truth(options);
    std::atomic<bool> ready{false};
    gpu.make = [&](int) {
        while (gpu.cpu_looked < 60) std::this_thread::yield();
        ready = true;
    };
    gpu.cpu_looked = 0;
    gpu.cpu = [&](int nth) {
        if (nth < 60) return;
        while (!ready) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // some are left for the GPU
    };
    const Result result = run_with(options);
    EXPECT_EQ(result.code, inputs_failed);
    EXPECT_TRUE(result.out == expected.out) << "rows are lost, or in another order";
    expect_the_truth("out");
    EXPECT_GE(summary->engines["cpu"], 60u);
    EXPECT_GE(summary->engines["cuda"], 1u);
    EXPECT_EQ(summary->engines["cpu"] + summary->engines["cuda"], static_cast<unsigned>(images - bad));
    EXPECT_EQ(times(result.err, " images on cpu, "), 1) << result.err;
    EXPECT_EQ(times(result.err, " on cuda; the limit: "), 1) << result.err;
}

TEST_F(FailingGpu, IsLeftAloneUnderAutoWhereLittleWaits) {
    make_images(images);
    Options options = this->options("auto", "out");
    options.gpu_terms = {};
    options.gpu_terms.least_seconds = 1e9;  // however slow this machine is
    const Result expected = truth(options);
    gpu.made = 0;
    const Result result = run_with(options);
    EXPECT_EQ(result.out, expected.out);
    EXPECT_EQ(gpu.made, 0);
    EXPECT_EQ(summary->engines, (std::map<std::string, std::uint64_t>{{"cpu", images - bad}}));
}

TEST_F(FailingGpu, ThatCannotBeBegunLaterIsPassedOver) {
    make_images(50);
    const Options options = eager(this->options("auto", "out"));
    const Result expected = truth(options);
    gpu.make = [](int) { throw CudaError("CUDA: out of order"); };
    const Result result = run_with(options);
    EXPECT_EQ(result.code, inputs_failed);
    EXPECT_EQ(times(result.err, "using the CPU, although there is a GPU: CUDA: out of order"), 1) << result.err;
    EXPECT_EQ(result.out, expected.out);
    EXPECT_EQ(gpu.made, 1) << "it is tried again";
    expect_the_truth("out");
}

TEST_F(FailingGpu, ThatIsNotThereIsNotSpokenOf) {
    make_images(50);
    gpu.make = [](int) { throw EngineUnavailable("engine cuda: no GPU is visible"); };
    const Result result = run_with(eager(options("auto", "out")));
    EXPECT_EQ(result.code, inputs_failed);
    if (gpus().empty()) {
        EXPECT_EQ(times(result.err, "a GPU"), 0) << result.err;
    }
}

TEST_F(FailingGpu, ThatIsSlowerGivesTheRestBack) {
    Console console(true);
    std::vector<std::uint8_t> pixels(16, 1);
    Analysis analysis;
    Task task;
    task.job.image = {pixels.data(), 4, 4, 1, Depth::u8, 4, ChannelOrder::rgb, Memory::host};
    task.job.result = &analysis;
    StageTimes stage_times;
    StageClock clock(stage_times, Stage::engine);
    double seconds = 0;  // of the CPU; the GPU takes longer than all of them
    gpu.look = [&](int, const ImageView&) {
        for (const auto until = Clock::now() + std::chrono::duration<double>(2 * seconds); Clock::now() < until;) {
        }
    };
    EnginePool pool(
        "auto", {.threads = 1}, {0},
        [&](std::string_view name, const EngineOptions& engine_options) -> std::unique_ptr<Engine> {
            if (name == "cpu") return std::make_unique<WatchedCpu>(gpu, engine_options);
            return std::make_unique<FailingEngine>(gpu);
        },
        console, {1e-9, 0, 0, 1e-9}, 1);
    pool.start();
    const auto engine_of_one = [&] {
        std::vector<Task> tasks{task};
        const auto since = Clock::now();
        pool.run(tasks, false, clock);
        seconds += std::chrono::duration<double>(Clock::now() - since).count();
        return tasks.front().engine;
    };
    EXPECT_FALSE(pool.on_gpu());
    EXPECT_EQ(engine_of_one(), "cpu") << "before anything is known";
    pool.expect(1000, false);
    EXPECT_EQ(engine_of_one(), "cpu");
    while (!pool.on_gpu()) std::this_thread::yield();
    EXPECT_EQ(engine_of_one(), "cuda");
    EXPECT_FALSE(pool.on_gpu()) << "it was slower";
    EXPECT_EQ(engine_of_one(), "cpu");
}

TEST(EngineChoice, WantsTheGpuWhereEnoughWaits) {
    // 16 threads; the CPU engine takes 0.16 s per image.
    const auto after = [](std::uint64_t done, double elapsed, std::uint64_t waiting, bool more) {
        EngineChoice choice({0.4, 0.5, 0.1, 0.25}, 16);
        choice.did(false, done, 1e6 * static_cast<double>(done), 0.16 * static_cast<double>(done));
        return choice.wants_gpu(elapsed, waiting, more);
    };
    EXPECT_FALSE(after(0, 1, 1000, true)) << "nothing is known";
    EXPECT_FALSE(after(16, 0.02, 1000, true)) << "too early to tell";
    EXPECT_TRUE(after(16, 0.3, 51, false));
    EXPECT_FALSE(after(16, 0.3, 49, false)) << "0.49 s of each thread are left";
    EXPECT_TRUE(after(51, 0.9, 0, true)) << "as much again is expected";
    EXPECT_FALSE(after(50, 0.9, 0, false)) << "nothing is left";
    EXPECT_FALSE(after(49, 0.9, 0, true));
    EXPECT_TRUE(after(16, 1.59, 1000, true)) << "a tenth of the threads' time";
    EXPECT_FALSE(after(16, 1.61, 1000, true)) << "less: decoding is what takes the time";
}

TEST(EngineChoice, WantsTheGpuForJpegsBeforeAnyIsDecoded) {
    // 16 threads, at least 4 ns per pixel: 2 gigapixels are half a second of each thread.
    EngineChoice choice({0.4, 0.5, 0.1, 0.25, 4e-9}, 16);
    EXPECT_TRUE(choice.wants_gpu_for_jpegs(12e6, 167, false));
    EXPECT_FALSE(choice.wants_gpu_for_jpegs(12e6, 166, false));
    EXPECT_FALSE(choice.wants_gpu_for_jpegs(12e6, 0, true)) << "nothing is known of the rest";
    choice.did(false, 167, 1e9, 1);
    EXPECT_TRUE(choice.wants_gpu_for_jpegs(12e6, 0, true)) << "as much again is expected";
    EXPECT_FALSE(choice.wants_gpu_for_jpegs(12e6, 0, false));
}

TEST(EngineChoice, JudgesTheGpuByWhatItKeepsThreadsFrom) {
    EngineChoice choice({0.4, 0.5, 0.1, 0.25}, 4);
    choice.did(false, 10, 1e9, 2);
    choice.did(true, 10, 1e9, 0.9);
    EXPECT_FALSE(choice.judged());
    choice.did(true, 1, 1e8, 0.2);
    EXPECT_TRUE(choice.judged());
    EXPECT_FALSE(choice.gpu_is_slower());
    choice.did(true, 1, 1e8, 1.5);
    EXPECT_TRUE(choice.gpu_is_slower());
}

}  // namespace
}  // namespace gpuhist::app
