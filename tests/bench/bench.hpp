// The commands of gpuhist-bench, and timing on the host's clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace CLI {
class App;
}

namespace gpuhist::bench {

/// What is to be measured is not there, or cannot do this case: no failure, but to be said.
struct Unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The middle of repeated timings, and how far apart they lie.
struct Timing {
    double median_ms = 0;
    double spread_percent = 0;  ///< between the quartiles, of the median
};

inline Timing timing_of(std::vector<double> ms) {
    std::sort(ms.begin(), ms.end());
    const double median = ms[ms.size() / 2];
    return {median, 100 * (ms[ms.size() * 3 / 4] - ms[ms.size() / 4]) / median};
}

template <class Work>
double milliseconds(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Times work that is done when it returns. It runs once untimed.
template <class Work>
Timing time_on_host(int repetitions, const Work& work) {
    work();
    std::vector<double> ms;
    for (int i = 0; i < repetitions; ++i) ms.push_back(milliseconds(work));
    return timing_of(ms);
}

/// Times two pieces of work in turns, so that whatever else the machine does meets both. Each runs once untimed.
struct Comparison {
    Timing ours, other;
};
template <class Ours, class Other>
Comparison compare(int repetitions, const Ours& ours, const Other& other) {
    std::vector<double> first, second;
    ours();
    other();
    for (int i = 0; i < repetitions; ++i) {
        first.push_back(milliseconds(ours));
        second.push_back(milliseconds(other));
    }
    return {timing_of(first), timing_of(second)};
}

/// Each adds a subcommand, which runs when it is parsed and throws when it cannot.
void add_auto(CLI::App& app);
void add_cpu(CLI::App& app);
void add_regions(CLI::App& app);
void add_startup(CLI::App& app);
void add_pipeline(CLI::App& app);
void add_kernels(CLI::App& app);  ///< where CUDA was built in
void add_jpeg(CLI::App& app);     ///< where CUDA was built in
void add_ladder(CLI::App& app);   ///< where CUDA was built in
void add_seeds(CLI::App& app);    ///< where CUDA was built in

}  // namespace gpuhist::bench
