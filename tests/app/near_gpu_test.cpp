// Threads that run near a GPU, on a played list of its processors.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "run/engine_pool.hpp"
#include "run/jpeg_pool.hpp"
#include "run/near_gpu.hpp"
#include "support/temporary_directory.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

std::vector<int> allowed() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
    std::vector<int> numbers;
    for (int number = 0; number < CPU_SETSIZE; ++number)
        if (CPU_ISSET(number, &set)) numbers.push_back(number);
    return numbers;
}

GpuInfo gpu_at(int index, const std::string& address) {
    GpuInfo gpu;
    gpu.index = index;
    gpu.pci_address = address;
    return gpu;
}

class NearGpu : public testing::Test {
  protected:
    void write(const std::string& address, const std::string& list) {
        fs::create_directories(root_ / address);
        std::ofstream(root_ / address / "local_cpulist") << list << '\n';
    }
    const test::TemporaryDirectory temporary_;
    const fs::path root_ = temporary_.path();
    const std::vector<GpuInfo> gpus_{gpu_at(0, "0000:3b:00.0"), gpu_at(3, "0000:af:00.0")};
};

TEST_F(NearGpu, ProcessorsAreThoseOfTheSystem) {
    write("0000:3b:00.0", "0-2,8-9");
    write("0000:af:00.0", "3,10");
    const auto near = near_processors(gpus_, root_);
    ASSERT_EQ(near.size(), 2U);
    EXPECT_EQ(near[0].gpu, 0);
    EXPECT_EQ(near[0].processors, (std::vector{0, 1, 2, 8, 9}));
    EXPECT_EQ(near[1].gpu, 3);
    EXPECT_EQ(near[1].processors, (std::vector{3, 10}));
}

TEST_F(NearGpu, ThreadsRunAnywhereWhereProcessorsDoNotDifferOrAreNotKnown) {
    EXPECT_TRUE(near_processors({}, root_).empty());
    EXPECT_TRUE(near_processors(gpus_, root_).empty()) << "there are no files";
    write("0000:3b:00.0", "0-31");
    EXPECT_TRUE(near_processors(gpus_, root_).empty()) << "one file is missing";
    write("0000:af:00.0", "0-31");
    EXPECT_TRUE(near_processors(gpus_, root_).empty()) << "they are the same";
    for (const char* list : {"", "x", "5-3", "-1", "0-99999999"}) {
        SCOPED_TRACE(list);
        write("0000:af:00.0", list);
        EXPECT_TRUE(near_processors(gpus_, root_).empty());
    }
}

TEST_F(NearGpu, ThreadsOfAnArenaAreSharedOutAndGoBack) {
    const std::vector<int> before = allowed();
    if (before.size() < 2) GTEST_SKIP() << "there is one processor";
    const std::vector<NearProcessors> near{{0, {before[0]}}, {3, {before[1]}}};
    tbb::task_arena arena(2);
    std::mutex mutex;
    std::set<int> seen;
    {
        const ThreadsNearGpus threads(arena, near);
        arena.execute([&] {
            tbb::parallel_for(0, 1000, [&](int) {
                const int gpu = near_gpu();
                const std::vector<int> own = allowed();
                const std::lock_guard lock(mutex);
                seen.insert(gpu);
                EXPECT_EQ(own, std::vector{gpu == 0 ? before[0] : before[1]});
            });
        });
        EXPECT_EQ(near_gpu(), any_gpu);
        EXPECT_EQ(allowed(), before);
    }
    EXPECT_FALSE(seen.empty());
    EXPECT_EQ(seen.count(any_gpu), 0U);
    arena.execute([&] {
        tbb::parallel_for(0, 1000, [&](int) {
            EXPECT_EQ(near_gpu(), any_gpu);
            EXPECT_EQ(allowed(), before);
        });
    });
}

TEST_F(NearGpu, DecodersAreTakenThere) {
    const std::vector<int> before = allowed();
    if (before.size() < 2) GTEST_SKIP() << "there is one processor";
    struct NoLane final : JpegLane {
        std::vector<JpegImage> decode(const std::vector<JpegFile>&) override { return {}; }
        void copy(std::size_t, const MutableImageView&) override {}
    };
    Console console(true);
    EnginePool engines("cuda", {}, {0, 3}, make_engine, console, {}, 4);
    JpegPool pool(
        JpegOn::gpu, {0, 3}, [](int) { return std::make_unique<NoLane>(); }, engines, console);
    tbb::task_arena arena(2);
    const ThreadsNearGpus threads(arena, {{3, {before[0]}}, {0, {before[1]}}});
    arena.execute([&] {
        tbb::parallel_for(0, 1000, [&](int) {
            const JpegPool::Lease lane = pool.take();
            EXPECT_EQ(lane.gpu(), near_gpu());
        });
    });
}

TEST_F(NearGpu, ThreadsStayWhereTheyMayRun) {
    const std::vector<int> before = allowed();
    tbb::task_arena arena(2);
    const ThreadsNearGpus threads(arena, {{0, {CPU_SETSIZE - 1}}, {1, {CPU_SETSIZE - 2}}});
    arena.execute([&] {
        EXPECT_EQ(near_gpu(), any_gpu);
        EXPECT_EQ(allowed(), before);
    });
}

}  // namespace
}  // namespace gpuhist::app
