// `gpuhist-bench regions`: the numbers of every label of a label image, against scikit-image, SciPy and, on the GPU,
// CuPy, in one run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/peers.hpp"
#include "bench/programs.hpp"
#include "bench/report.hpp"
#include "gpuhist/gpuhist.hpp"
#include "gpuhist/regions.hpp"
#include "support/temporary_directory.hpp"
#ifdef GPUHIST_HAS_CUDA
#include "bench/gpu_timing.hpp"
#include "gpuhist/stream_regions.hpp"
#endif

namespace gpuhist::bench {
namespace {

struct Options {
    ReportOptions report;
    std::vector<int> threads{1, static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))};
    std::string python = "python3";
    int repetitions = 3;  ///< of peers
};

constexpr std::int64_t side = 4096, cell = 29, columns = (side + cell - 1) / cell, most_labels = 20'000;
constexpr std::size_t numbers = 6;  ///< of each label

/// Peer in Python: times, and one row per label of area, mean, std, min, max and median, in files.
constexpr char peer_script[] = R"(
import sys, time, numpy as np
image, labels = (np.fromfile(path, np.uint16).reshape(4096, 4096) for path in sys.argv[2:4])
repetitions, tool = int(sys.argv[5]), sys.argv[1]
if tool == 'scikit-image':
    from skimage.measure import regionprops_table
    def std(mask, values): return values[mask].std()
    def median(mask, values): return np.median(values[mask])
    def work():
        t = regionprops_table(labels, image, properties=('label', 'area', 'intensity_mean', 'intensity_min', 'intensity_max'),
                              extra_properties=(std, median))
        return [t[name] for name in ('area', 'intensity_mean', 'std', 'intensity_min', 'intensity_max', 'median')]
else:
    xp = np
    if tool == 'SciPy':
        from scipy import ndimage
    else:
        import cupy as xp
        from cupyx.scipy import ndimage
        # Of u16 its mean alone takes a minute.
        image, labels = xp.asarray(image).astype(np.uint32), xp.asarray(labels).astype(np.int32)
    def work():
        which = xp.unique(labels)[1:]
        of = (image, labels, which)
        table = [xp.bincount(labels.ravel())[which], ndimage.mean(*of), ndimage.standard_deviation(*of), ndimage.minimum(*of),
                 ndimage.maximum(*of), ndimage.median(*of)]
        if xp is np:
            return table
        xp.cuda.Device().synchronize()
        return [column.get() for column in table]
    if xp is not np:
        work()  # what is compiled, and memory
seconds = []
for _ in range(repetitions):
    start = time.perf_counter()
    table = work()
    seconds.append(time.perf_counter() - start)
np.concatenate([np.array(seconds), np.array(table, np.float64).T.ravel()]).tofile(sys.argv[4])
)";

template <class Value>
void write(const std::string& path, const std::vector<Value>& values) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(Value)));
    if (!file) throw std::runtime_error(path + ": cannot be written");
}

std::vector<double> read(const std::string& path) {
    std::vector<double> values(std::filesystem::file_size(path) / sizeof(double));
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(double)));
    if (!file) throw std::runtime_error(path + ": cannot be read");
    return values;
}

/// Areas, extremes and medians are the same; means and stds are nearly, which a peer sums up in doubles.
void compare_tables(const std::string& tool, const std::vector<double>& ours, const std::vector<double>& theirs) {
    if (ours.size() != theirs.size()) throw Mismatch(tool + " finds another number of labels");
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const bool summed = i % numbers == 1 || i % numbers == 2;
        if (summed ? std::fabs(ours[i] - theirs[i]) > 1e-9 * ours[i] : ours[i] != theirs[i])
            throw Mismatch(tool + " finds another number for label " + std::to_string(i / numbers + 1));
    }
}

#ifdef GPUHIST_HAS_CUDA
/// Analysis on the GPU, of an image and labels that lie there, to results there: from the call to its end, a median.
/// None where there is no GPU.
std::optional<Timing> time_on_gpu(const ImageView& image, const ImageView& labels, const Options& options,
                                  std::vector<double>& table) {
    if (gpus().empty()) return std::nullopt;
    const auto upload = [](ImageView view, const DeviceMemory& memory) {
        BENCH_CUDA(cudaMemcpy(memory.get(), view.data, memory.bytes(), cudaMemcpyHostToDevice));
        view.data = memory.get();
        view.memory = Memory::device;
        return view;
    };
    const auto bytes = static_cast<std::size_t>(image.height * image.row_bytes);
    const DeviceMemory pixels(bytes), map(bytes);
    const ImageView there = upload(image, pixels), labels_there = upload(labels, map);
    RegionPlan plan;
    plan.depth = Depth::u16;
    plan.largest_label = most_labels;
    plan.pixels = image.pixels();
    plan.regions = most_labels;
    StreamRegionAnalyzer analyzer(plan);
    const RegionLayout layout = analyzer.layout();
    const DeviceMemory results(layout.bytes);
    const Timing timing = time_on_host(options.report.repetitions, [&] {
        analyzer.enqueue(there, labels_there, results.get(), nullptr);
        BENCH_CUDA(cudaStreamSynchronize(nullptr));
    });
    std::vector<double> found(layout.bytes / sizeof(double));
    BENCH_CUDA(cudaMemcpy(found.data(), results.get(), layout.bytes, cudaMemcpyDeviceToHost));
    const char* const begin = reinterpret_cast<const char*>(found.data());
    table.clear();
    for (std::uint64_t i = 0; i < reinterpret_cast<const RegionsFound*>(begin)->regions; ++i) {
        const char* const at = begin + layout.first + i * layout.stride;
        const auto& region = *reinterpret_cast<const RegionResult*>(at);
        const ChannelResult& gray = region.channels[0];
        const double all[] = {static_cast<double>(region.area), gray.mean, gray.std, gray.minimum, gray.maximum, 0};
        table.insert(table.end(), std::begin(all), std::end(all));
        table.back() = *reinterpret_cast<const double*>(at + layout.percentiles_offset);
    }
    return timing;
}
#else
std::optional<Timing> time_on_gpu(const ImageView&, const ImageView&, const Options&, std::vector<double>&) {
    return std::nullopt;
}
#endif

void run(const Options& options) {
    Report report("regions", options.report);
    const std::string name = "u16 gray, 4096 x 4096, 20000 labels";
    const test::TemporaryDirectory directory;
    const std::string image_path = directory.path() / "image", labels_path = directory.path() / "labels",
                      found_path = directory.path() / "found";
    std::vector<std::uint16_t> pixels(side * side), map(side * side);
    for (const char* content : {"noise", "cells"}) {
        if (!options.report.wants("R1", name + " " + content)) continue;
        std::mt19937 random(1);
        for (std::int64_t i = 0; i < side * side; ++i) {
            const std::int64_t label = i / side / cell * columns + i % side / cell + 1;
            const auto noise = static_cast<std::uint32_t>(random());
            // Cells: brighter or darker ones, whose pixels differ by a few hundred values, as a camera of 12 bits has
            // it.
            const std::uint32_t value = content[0] == 'n' ? noise >> 16 : 500 + label * 7919 % 3000 + noise % 300;
            pixels[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(value);
            map[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(label > most_labels ? 0 : label);
        }
        const ImageView image = packed_view(pixels.data(), side, side, 1, Depth::u16),
                        labels = packed_view(map.data(), side, side, 1, Depth::u16);
        const double bytes = 2.0 * static_cast<double>(image.height * image.row_bytes);
        const Percentiles median({50});
        std::vector<double> table;
        const auto work = [&](int threads) {
            RegionOptions how;
            how.threads = threads;
            table.clear();
            analyze_regions(
                image, labels, {},
                [&](std::vector<Region>& regions) {
                    const std::size_t start = table.size() / numbers;
                    table.resize(table.size() + regions.size() * numbers);
                    const auto share = [&](std::size_t first) {
                        for (std::size_t i = first; i < regions.size(); i += static_cast<std::size_t>(threads)) {
                            const Statistics row = statistics(regions[i].analysis, median).front();
                            const double all[] = {static_cast<double>(regions[i].area),
                                                  *row.mean,
                                                  *row.std,
                                                  *row.min,
                                                  *row.max,
                                                  *row.percentiles[0].value};
                            std::copy(std::begin(all), std::end(all),
                                      table.begin() + static_cast<std::ptrdiff_t>((start + i) * numbers));
                        }
                    };
                    std::vector<std::jthread> others;
                    for (int i = 1; i < threads; ++i) others.emplace_back(share, static_cast<std::size_t>(i));
                    share(0);
                },
                how);
        };
        write(image_path, pixels);
        write(labels_path, map);
        std::vector<std::pair<std::string, Timing>> peers;
        for (const auto& [tool, module] : {std::pair<std::string, std::string>{"scikit-image", "skimage"},
                                           {"SciPy", "scipy"},
                                           {"CuPy", "cupyx.scipy.ndimage"}}) {
            const std::vector<std::string> words{
                options.python, "-c",        peer_script, tool,
                image_path,     labels_path, found_path,  std::to_string(options.repetitions)};
            const std::string errors = directory.path() / "errors";
            if (exit_code({"env", options.python, "-c", "import " + module}, "/dev/null", errors) != 0) {
                report.skip({"R1", name, content, tool, "not installed: --python"});
                continue;
            }
            if (exit_code(words, "/dev/null", errors) != 0) throw std::runtime_error(tool + " fails");
            std::vector<double> found = read(found_path);
            const auto timings = static_cast<std::ptrdiff_t>(options.repetitions);
            std::vector<double> ms(found.begin(), found.begin() + timings);
            for (double& one : ms) one *= 1e3;
            found.erase(found.begin(), found.begin() + timings);
            if (table.empty()) work(1);
            compare_tables(tool, table, found);
            peers.emplace_back(tool, timing_of(ms));
        }
        for (const int threads : options.threads) {
            const Timing timing = time_on_host(options.report.repetitions, [&] { work(threads); });
            std::optional<Target> target;
            std::optional<Relative> relative;
            const bool beside = !peers.empty() && peers[0].first == "scikit-image";
            if (beside) relative = {peers[0].second.median_ms / timing.median_ms, "x scikit-image's speed"};
            if (beside && threads > 1) target = at_least_relative(5);
            report.add({"R1", name, content,
                        "gpuhist, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"), bytes, timing,
                        target, relative, ""});
        }
        const auto peer = [&](const char* tool) {
            return std::find_if(peers.begin(), peers.end(), [&](const auto& one) { return one.first == tool; });
        };
        std::vector<double> on_gpu;
        if (const std::optional<Timing> timing = time_on_gpu(image, labels, options, on_gpu)) {
            compare_tables("the GPU", table, on_gpu);
            std::optional<Relative> relative;
            if (peer("CuPy") != peers.end())
                relative = {peer("CuPy")->second.median_ms / timing->median_ms, "x CuPy's speed"};
            report.add({"R1", name, content, "gpuhist, GPU", bytes, *timing, {}, relative, "agrees"});
        }
        for (const auto& [tool, timing] : peers)
            report.add({"R1", name, content, tool, bytes, timing, {}, {}, "agrees"});
    }
    report.finish();
}

}  // namespace

void add_regions(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("regions", "Numbers of 20,000 labels, against scikit-image, SciPy and CuPy");
    bind_report_options(*command, options->report);
    command->add_option("--threads", options->threads, "numbers of threads of gpuhist [1 and all]")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    command->add_option("--python", options->python, "interpreter that has scikit-image, SciPy or CuPy")
        ->capture_default_str();
    command->add_option("--peer-repetitions", options->repetitions, "runs of each of these")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->callback([options] { run(*options); });
}

}  // namespace gpuhist::bench
