// The barrier across GPUs, on as many as there are. The rungs gpus_mapped and gpus_peer are LadderTest's.
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/ladder/cuda_test.hpp"
#include "bench/ladder/exact.hpp"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

class SeedsGpusTest : public OnGpu<testing::TestWithParam<std::tuple<GpuGroup::Meeting, Content>>> {};

std::string label_of(const testing::TestParamInfo<SeedsGpusTest::ParamType>& info) {
    constexpr const char* names[] = {"random", "natural", "constant", "two_values"};
    return std::string(std::get<0>(info.param) == GpuGroup::Meeting::mapped ? "mapped_" : "peer_") +
           names[static_cast<int>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(All, SeedsGpusTest,
                         testing::Combine(testing::Values(GpuGroup::Meeting::mapped, GpuGroup::Meeting::peer),
                                          testing::ValuesIn(contents)),
                         label_of);

TEST_P(SeedsGpusTest, each_reads_the_sum_of_all_after_the_barrier_alone_on_the_gpu) {
    const auto [meeting, content] = GetParam();
    if (GpuGroup::count() < 2) GTEST_SKIP() << GpuGroup::obstacle(2, meeting);
    constexpr std::int64_t largest = std::int64_t{4099} * 1031;
    std::vector<std::uint8_t> host(largest);
    make_samples(host.data(), largest, Depth::u8, content, {3, 141, 59, 26, 200});
    void* memory = nullptr;
    check(cudaMalloc(&memory, host.size()));
    const std::unique_ptr<void, cudaError_t (*)(void*)> device(memory, cudaFree);
    check(cudaMemcpy(memory, host.data(), host.size(), cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());
    for (int gpus = 2; gpus <= GpuGroup::count(); ++gpus) {
        const std::string obstacle = GpuGroup::obstacle(gpus, meeting);
        if (!obstacle.empty()) GTEST_SKIP() << obstacle;
        GpuGroup group(gpus, meeting);
        for (const std::int64_t count :
             {std::int64_t{1}, std::int64_t{33}, std::int64_t{4096}, std::int64_t{106'193}, largest}) {
            const Image image{memory, host.data(), count, 1};
            const Word expected = exact::sum(image)[0];
            group.load(image, stream_);
            for (const int meetings : {1, 2, static_cast<int>(test::repetitions(1000, 3))})
                EXPECT_EQ(group.sum(meetings), std::vector<Word>(static_cast<std::size_t>(gpus), expected))
                    << gpus << " GPUs, " << count << " pixels, " << meetings << " meetings";
        }
    }
}

TEST_P(SeedsGpusTest, refuses_by_name_what_is_not_there) {
    const GpuGroup::Meeting meeting = std::get<0>(GetParam());
    const int more = GpuGroup::count() + 1;
    EXPECT_NE(GpuGroup::obstacle(more, meeting), "");
    EXPECT_THROW(GpuGroup(more, meeting), Refused);
    if (GpuGroup::count() == 1) {
        EXPECT_EQ(GpuGroup::obstacle(2, meeting), "needs several GPUs: there is one");
    }
}

}  // namespace
}  // namespace gpuhist::bench::ladder::seeds
