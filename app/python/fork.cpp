#include "fork.hpp"

#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <vector>

#include "images.hpp"

namespace gpuhist::python {
namespace {

constexpr std::chrono::seconds patience{10};

/// State that outlives static objects, since threads may.
struct Forks {
    /// Shared by all work; a fork has it alone. A new process needs a new one, since the old one knows its threads.
    std::unique_ptr<std::shared_timed_mutex> work = std::make_unique<std::shared_timed_mutex>();
    std::mutex mutex;  ///< of what follows
    std::vector<Halting*> halting;
    bool held = false;  ///< `work`, by the fork that goes on
};

Forks& forks() {
    static Forks* const all = new Forks;
    return *all;
}

}  // namespace

Work::Work() {
    forks().work->lock_shared();
}
Work::~Work() {
    forks().work->unlock_shared();
}

Listed::Listed(Halting& work) : work_(work) {
    const std::lock_guard lock(forks().mutex);
    forks().halting.push_back(&work);
}

Listed::~Listed() {
    const std::lock_guard lock(forks().mutex);
    auto& all = forks().halting;
    all.erase(std::remove(all.begin(), all.end(), &work_), all.end());
}

void before_fork() {
    Forks& all = forks();
    all.mutex.lock();
    for (Halting* one : all.halting) one->halt();
    for (Halting* one : all.halting) one->wait_for_halt();
    all.held = all.work->try_lock_for(patience);
    if (!all.held) return;
    Engines::all().forget_threads();
    oneapi::tbb::task_scheduler_handle threads{oneapi::tbb::attach{}};
    static_cast<void>(oneapi::tbb::finalize(threads, std::nothrow));
}

void after_fork(bool child) {
    Forks& all = forks();
    if (child) {
        all.halting.clear();
        static_cast<void>(all.work.release());
        all.work = std::make_unique<std::shared_timed_mutex>();
    } else {
        for (Halting* one : all.halting) one->go_on();
        if (all.held) all.work->unlock();
    }
    all.held = false;
    all.mutex.unlock();
}

void before_end() noexcept try {
    Forks& all = forks();
    const std::lock_guard lock(all.mutex);
    for (Halting* one : all.halting) one->halt();
    for (Halting* one : all.halting) one->wait_for_halt();
    static_cast<void>(all.work->try_lock_for(patience));
} catch (...) {  // nothing can be done
}

}  // namespace gpuhist::python
