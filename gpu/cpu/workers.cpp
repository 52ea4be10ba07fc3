#include "cpu/workers.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>

#include "gpuhist/resources.hpp"

namespace gpuhist::cpu {

struct Workers::Arena {
    tbb::task_arena threads;
};

Workers::Workers(int threads) : threads_(threads) {}
Workers::Workers(Workers&&) noexcept = default;
Workers::~Workers() = default;

int Workers::sweep_by(std::int64_t items, std::int64_t grain, std::int64_t serial_below, int limit, const Part& part) {
    const int workers = static_cast<int>(
        std::min<std::int64_t>({std::int64_t{threads_}, std::int64_t{limit}, (items + grain - 1) / grain}));
    if (workers <= 1 || items < serial_below) {
        part(0, 0, items);
        return 1;
    }
    // The thread library would print a warning if it had fewer threads than it is asked for.
    if (!arena_) arena_.reset(new Arena{tbb::task_arena(std::min(threads_, usable_processors()))});
    std::atomic<std::int64_t> next{0};
    arena_->threads.execute([&] {
        tbb::parallel_for(
            0, workers,
            [&](int worker) {
                for (std::int64_t begin; (begin = next.fetch_add(grain, std::memory_order_relaxed)) < items;)
                    part(worker, begin, std::min(begin + grain, items));
            },
            tbb::simple_partitioner());
    });
    return workers;
}

}  // namespace gpuhist::cpu
