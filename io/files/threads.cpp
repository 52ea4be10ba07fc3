#include "files/threads.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>

#include "gpuhist/resources.hpp"

namespace gpuhist::io {

void on_threads(int threads, std::size_t parts, const std::function<void(std::size_t, int)>& work) {
    // oneTBB prints a warning if it has fewer threads than it is asked for.
    const int usable = std::min(threads, usable_processors());
    const int workers = static_cast<int>(std::min<std::size_t>(parts, static_cast<std::size_t>(std::max(usable, 1))));
    std::atomic<std::size_t> next{0};
    const auto run = [&](int worker) {
        for (std::size_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) < parts;) work(part, worker);
    };
    if (workers <= 1) return run(0);
    tbb::task_arena arena(workers);
    arena.execute([&] { tbb::parallel_for(0, workers, run, tbb::simple_partitioner()); });
}

}  // namespace gpuhist::io
