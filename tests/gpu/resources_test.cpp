// Resources of the process: limits of control groups, read from played files.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "front/control_groups.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/resources.hpp"

namespace gpuhist::test {
namespace {

class ResourcesTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "gpuhist-resources-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = root_ / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    front::GroupLimits limits() const { return front::group_limits(root_.string()); }

  private:
    std::filesystem::path root_;
};

TEST_F(ResourcesTest, WithoutControlGroupsThereAreNoLimits) {
    EXPECT_FALSE(limits().processors);
    EXPECT_FALSE(limits().memory);
}

TEST_F(ResourcesTest, AContainerOfVersion2HasItsLimitsAtTheTop) {
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/cpu.max", "150000 100000\n");
    write("sys/fs/cgroup/memory.max", "1073741824\n");
    EXPECT_EQ(limits().processors, 1.5);
    EXPECT_EQ(limits().memory, 1073741824u);
}

TEST_F(ResourcesTest, VersionTwoWithoutALimitSaysMax) {
    write("proc/self/cgroup", "0::/job\n");
    write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
    write("sys/fs/cgroup/job/memory.max", "max\n");
    EXPECT_FALSE(limits().processors);
    EXPECT_FALSE(limits().memory);
}

TEST_F(ResourcesTest, TheLowestLimitAboveAGroupHolds) {
    write("proc/self/cgroup", "0::/slice/job/step\n");
    write("sys/fs/cgroup/slice/cpu.max", "400000 100000\n");
    write("sys/fs/cgroup/slice/job/cpu.max", "50000 20000\n");
    write("sys/fs/cgroup/slice/job/step/cpu.max", "max 100000\n");
    write("sys/fs/cgroup/slice/memory.max", "4096\n");
    write("sys/fs/cgroup/slice/job/step/memory.max", "8192\n");
    EXPECT_EQ(limits().processors, 2.5);
    EXPECT_EQ(limits().memory, 4096u);
}

TEST_F(ResourcesTest, ControllersOfVersion1HaveGroupsOfTheirOwn) {
    write("proc/self/cgroup", "9:memory:/docker/abc\n4:cpuset:/\n2:cpu,cpuacct:/docker/def\n0::/other\n");
    write("sys/fs/cgroup/cpu/docker/def/cpu.cfs_quota_us", "300000\n");
    write("sys/fs/cgroup/cpu/docker/def/cpu.cfs_period_us", "100000\n");
    write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "2097152\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(limits().processors, 3.0);
    EXPECT_EQ(limits().memory, 2097152u);
}

TEST_F(ResourcesTest, AContainerOfVersion1SeesItsGroupAtTheTop) {
    write("proc/self/cgroup", "9:memory:/docker/abc\n2:cpu:/docker/abc\n");
    write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "25000\n");
    write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(limits().processors, 0.25);
}

TEST(Resources, AProcessMayRunOnSomeProcessorsOnly) {
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int processor = 0; CPU_COUNT(&one) == 0; ++processor)
        if (CPU_ISSET(processor, &before)) CPU_SET(processor, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const int processors = usable_processors(), threads = available_threads();
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(processors, 1);
    EXPECT_EQ(threads, 1);
    EXPECT_EQ(usable_processors(), CPU_COUNT(&before));
}

TEST(Resources, OfThisProcessAreWithinTheMachine) {
    EXPECT_GE(available_threads(), 1);
    EXPECT_LE(available_threads(), usable_processors());
    EXPECT_LE(usable_processors(), std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    EXPECT_GT(available_memory(), std::uint64_t{1} << 20);
    const std::string threads = std::to_string(available_threads());
    for (const EngineInfo& engine : engines())
        if (engine.name == "cpu") {
            EXPECT_EQ(engine.description.substr(0, threads.size() + 1), threads + " ");
        }
}

}  // namespace
}  // namespace gpuhist::test
