// `gpuhist-bench seeds`: the articles' sample programs, as they print them, and what they say of time and accuracy.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include "bench/gpu_timing.hpp"
#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.hpp"
#include "bench/report.hpp"

namespace gpuhist::bench {

namespace ladder::seeds {
namespace {

struct Options {
    int gpu = 0;
    unsigned seed = 0;
    std::int64_t numbers = 100'000'000;
    int repetitions = 15;
};

void title(const char* article, const char* what) {
    std::printf("\n-- %s: %s\n", article, what);
}

void cooperative_launch(int gpu) {
    title("Article 1", "blocks that wait for each other");
    int cooperative = 0, threads = 0, grid = 0, multiprocessors = 0;
    BENCH_CUDA(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, gpu));
    BENCH_CUDA(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, gpu));
    BENCH_CUDA(cudaDeviceGetAttribute(&grid, cudaDevAttrMaxGridDimX, gpu));
    BENCH_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu));
    std::printf("cudaDevAttrCooperativeLaunch: %d; at most %d threads per block, %d blocks per grid\n", cooperative,
                threads, grid);
    print_one_line(multiprocessors);
    const int resident = spin_unasked_resident();
    std::printf("cooperative launch of %d blocks of 1024: %s\n", resident,
                cudaGetErrorName(spin_cooperatively(resident)));
    std::printf("cooperative launch of %d blocks of 1024: %s\n", resident + 1,
                cudaGetErrorName(spin_cooperatively(resident + 1)));
}

void spin_barriers() {
    title("Article 1", "the barriers by hand, watched: who looks in vain 20,000 times gives up");
    const auto line = [](const char* barrier, int blocks, const Spin& spin) {
        std::printf("%-26s %3d blocks: %3d passed, %3d gave up\n", barrier, blocks, spin.passed, spin.gave_up);
    };
    for (const int blocks : {1, 31, 32, 33, 63, 64}) line("for 64, as written", blocks, spin_as_written(blocks));
    for (const int blocks : {16, 32, 64}) line("for more, as written", blocks, spin_of_more_as_written(blocks));
    const int resident = spin_unasked_resident();
    for (const int blocks : {resident, resident + 1}) line("residency not asked for", blocks, spin_unasked(blocks));
    for (const bool after_clearing : {false, true}) {
        const SpinModel model = explore_spin(3, 3, after_clearing);
        std::printf("model, 3 blocks of 3 threads, %s: %d states, %s\n",
                    after_clearing ? "a block barrier after clearing" : "as written", model.states,
                    model.can_hang ? "can hang" : "cannot hang");
    }
}

void barrier_faults() {
    title("Article 1", "what a barrier between blocks needs besides: reads that find no sum yet");
    const auto line = [](const char* what, const Reads& reads) {
        std::printf("%-52s %6u of %u\n", what, reads.missed, reads.all);
    };
    line("a block barrier before and after, as it should be", reads_behind_barrier(true, true));
    line("none after: the other threads do not wait", reads_behind_barrier(true, false));
    line("none before: thread 0 arrives ahead of the others", reads_behind_barrier(false, true));
    line("fences, and a sum that was read before", reads_again_behind_barrier(true));
    line("no fence: the sum is still in L1 as it was read", reads_again_behind_barrier(false));
}

void lost_updates() {
    title("Article 3", "many threads, one variable, and no atomic");
    for (const int blocks : {1, 32, 256})
        std::printf("%5d threads add 1: %u\n", 256 * blocks, left_of_lost_updates(blocks));
}

/// "3 different numbers, most often 17 (940 times)".
std::string outcomes(const std::vector<std::pair<int, int>>& left, bool second) {
    std::map<int, int> times;
    for (const auto& [one, other] : left) ++times[second ? other : one];
    const auto most =
        std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return std::to_string(times.size()) + " different number" + (times.size() > 1 ? "s" : "") + ", most often " +
           std::to_string(most->first) + " (" + std::to_string(most->second) + " times)";
}

void atomic_words() {
    title("Article 2", "testAtom, 256 threads, a barrier after each operation, compare-and-swap in turns");
    const AtomicSequence left = atomic_sequence();
    std::printf("g_odata[0]: 0, atomicAdd %d, atomicMax %d, atomicInc %d, atomicCAS %d\n", left.after_add,
                left.after_max, left.after_inc, left.after_cas);
    std::printf("g_odata[8]: 255, atomicAnd %d, atomicOr %d, atomicXor %d\n", left.after_and, left.after_or,
                left.after_xor);
    const auto as_written = atomic_sequences_as_written(1000);
    std::printf("as written, without barriers, 1000 times:\ng_odata[0]: %s\ng_odata[8]: %s\n",
                outcomes(as_written, false).c_str(), outcomes(as_written, true).c_str());
}

void warp_tree() {
    title("Article 4", "a warp's tree over ones without its guard: 32 is right");
    std::printf("lanes in ascending order: %llu, in descending order: %llu\n", unguarded_tree(LaneOrder::ascending),
                unguarded_tree(LaneOrder::descending));
    for (const bool guarded : {false, true}) {
        const Race race = race_in_tree(guarded);
        std::printf("lower half late, %s: %u of %u warps wrong\n", guarded ? "with the guard" : "without the guard",
                    race.wrong, race.warps);
    }
}

void utilization(std::int64_t numbers) {
    title("Article 4", "threads that add in a step, of all that could");
    std::printf("tree of 128, one number each: %.4f; 1/7 is %.4f\n", thread_utilization(numbers, false), 1.0 / 7);
    std::printf("after a loop over %lld numbers: %.4f\n", static_cast<long long>(numbers),
                thread_utilization(numbers, true));
}

void float_sums(const Options& options) {
    title("Article 4", "the sum of floats");
    constexpr float number = 1.23f;
    const auto numbers = numbers_on_gpu(options.numbers, number);
    const double exact = static_cast<double>(number) * static_cast<double>(options.numbers);
    std::printf("%lld times 1.23f, exactly %.1f\n", static_cast<long long>(options.numbers), exact);
    const auto line = [&](const char* what, FloatMethod method) {
        const FloatSum found = sum_of_floats(numbers.get(), options.numbers, method, options.repetitions);
        std::printf("%-52s %.1f, wrong by %.1e, %.3f ms\n", what, static_cast<double>(found.sum),
                    (static_cast<double>(found.sum) - exact) / exact, found.ms);
    };
    line("one atomic per block of 128", FloatMethod::atomic_a_block);
    line("one atomic per block, 10240 x 128", FloatMethod::atomic_10240);
    line("twice, 10240 x 128 and 1 x 1024", FloatMethod::twice);
    line("twice, partial sums in a __device__ array", FloatMethod::twice_static);
    line("that to the host, its clock", FloatMethod::twice_static_host);
    line("to the host, cudaMalloc and cudaFree in each call", FloatMethod::twice_allocated);
}

void several_gpus(int repetitions) {
    title("Article 1", "a barrier across GPUs");
    const int gpus = GpuGroup::count();
    if (gpus < 2) {
        std::printf("left out: needs several GPUs, and there is one\n");
        return;
    }
    constexpr std::int64_t width = 1 << 15, height = 1 << 15;
    std::vector<std::uint8_t> host(static_cast<std::size_t>(width * height));
    std::mt19937 random(1);
    Word expected = 0;
    for (std::uint8_t& pixel : host) expected += pixel = static_cast<std::uint8_t>(random() >> 24);
    const DeviceMemory device(host.size());
    BENCH_CUDA(cudaMemcpy(device.get(), host.data(), host.size(), cudaMemcpyHostToDevice));
    for (int count = 2; count <= gpus; ++count)
        for (const auto& [meeting, name] : {std::pair{GpuGroup::Meeting::mapped, "flags in mapped host memory"},
                                            std::pair{GpuGroup::Meeting::peer, "a counter in peer memory"}}) {
            const std::string obstacle = GpuGroup::obstacle(count, meeting);
            if (!obstacle.empty()) {
                std::printf("%d GPUs, %s: left out, %s\n", count, name, obstacle.c_str());
                continue;
            }
            GpuGroup group(count, meeting);
            group.load({device.get(), host.data(), width, height}, nullptr);
            bool right = true;
            const auto timed = [&](int meetings) {
                return time_on_host(repetitions,
                                    [&] {
                                        for (const Word total : group.sum(meetings)) right = right && total == expected;
                                    })
                    .median_ms;
            };
            const double once = timed(1), often = timed(1001);
            std::printf("%d GPUs, %s: sum of 1 GiB %s on each, %.0f GB/s on the host's clock; a barrier %.2f us\n",
                        count, name, right ? "right" : "WRONG", static_cast<double>(host.size()) / once * 1e-6,
                        often - once);
            if (!right) throw std::runtime_error("a sum across GPUs is wrong");
        }
}

void run(const Options& options) {
    BENCH_CUDA(cudaSetDevice(options.gpu));
    std::printf("%s", machine_text(options.gpu).c_str());
    cooperative_launch(options.gpu);
    spin_barriers();
    barrier_faults();
    several_gpus(options.repetitions);
    atomic_words();
    lost_updates();
    title("Article 3", "the listing");
    if (const Listing listing = print_listing(options.seed); listing.on_gpu != listing.on_cpu)
        throw std::runtime_error("the listing's sums differ");
    title("Article 4", "the sample of warp functions");
    print_warp_sample();
    warp_tree();
    utilization(options.numbers);
    float_sums(options);
}

}  // namespace
}  // namespace ladder::seeds

void add_seeds(CLI::App& app) {
    using ladder::seeds::Options;
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("seeds",
                                           "The sample programs of four articles on CUDA, as they print them; `ladder "
                                           "--only seeds` times their techniques.");
    command->add_option("--gpu", options->gpu, "which GPU")->check(CLI::NonNegativeNumber)->capture_default_str();
    command->add_option("--seed", options->seed, "of the listing's random numbers")->capture_default_str();
    command->add_option("--numbers", options->numbers, "floats to be summed")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--repetitions", options->repetitions, "timings, of which the median is shown")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->callback([options] { ladder::seeds::run(*options); });
}

}  // namespace gpuhist::bench
