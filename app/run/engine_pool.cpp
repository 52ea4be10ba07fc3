#include "run/engine_pool.hpp"

#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/stream.hpp"

namespace gpuhist::app {
namespace {

/// Trouble that kept a GPU from doing a job, whatever is wrong with the job itself.
enum class Trouble { none, depth, memory, gpu };

std::pair<Trouble, std::string> trouble_of(const Task& task) {
    try {
        if (task.job.error) std::rethrow_exception(task.job.error);
    } catch (const UnsupportedDepth& error) {
        return {Trouble::depth, error.what()};
    } catch (const OutOfMemory& error) {
        return {Trouble::memory, error.what()};
    } catch (const CudaError& error) {
        return {Trouble::gpu, error.what()};
    } catch (...) {
    }
    return {Trouble::none, ""};
}

void run_on(Engine& engine, const std::vector<Task*>& tasks) {
    std::vector<Job> jobs;
    jobs.reserve(tasks.size());
    for (const Task* task : tasks) jobs.push_back(task->job);
    engine.run(jobs.data(), jobs.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        tasks[i]->job.error = std::move(jobs[i].error);
        tasks[i]->engine = engine.name();
    }
}

std::vector<Task*> pointers(std::vector<Task>& tasks) {
    std::vector<Task*> all;
    for (Task& task : tasks) all.push_back(&task);
    return all;
}

/// Runs a step. What it throws is the error of these tasks.
template <class Step>
void attempt(const std::vector<Task*>& tasks, Step step) {
    try {
        step();
    } catch (...) {
        for (Task* task : tasks) task->job.error = std::current_exception();
    }
}

}  // namespace

EnginePool::EnginePool(std::string name, const EngineOptions& options, EngineFactory make, Console& console)
    : name_(std::move(name)), options_(options), make_(std::move(make)), console_(console) {}

void EnginePool::start() {
    const std::lock_guard lock(mutex_);
    if (started_) return;
    std::unique_ptr<Engine> engine;
    std::string why;
    try {
        engine = make_(name_, options_);
    } catch (const CudaError& error) {
        if (!automatic()) throw;
        why = error.what();
        engine = make_("cpu", options_);
    }
    started_ = true;
    on_gpu_ = engine->name() == "cuda";
    if (on_gpu_) {
        made_ = 1;
        gpu_.push_back(std::move(engine));
        return;
    }
    wide_ = std::move(engine);
    wide_made_ = true;
    if (!automatic()) return;
    if (why.empty() && !gpus().empty())
        for (const EngineInfo& info : engines())
            if (info.name == "cuda") why = info.description;
    if (!why.empty()) console_.note("engine cpu, although there is a GPU: " + why);
}

// ------------------------------------------------------------------------------------------------------- tasks

void EnginePool::run(std::vector<Task>& tasks, bool alone, StageClock& clock) {
    if (tasks.empty()) return;
    clock.enter(Stage::engine);
    const std::vector<Task*> all = pointers(tasks);
    attempt(all, [&] {
        start();
        if (on_gpu_ && is_small(tasks.front().job.image)) return share_lane(tasks, alone, clock);
        const Lease engine = take(alone);
        clock.enter(Stage::analyze);
        run_on(*engine, all);
    });
    for (Task& task : tasks) try_again(task, alone, clock);
}

/// A lane that becomes free takes all that wait by then, whosever they are.
void EnginePool::share_lane(std::vector<Task>& tasks, bool alone, StageClock& clock) {
    Request mine{&tasks};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&mine);
    for (;;) {
        changed_.wait(lock, [&] { return mine.done || (!mine.taken && (!on_gpu_ || lane_is_free())); });
        if (mine.done) return;
        if (!on_gpu_) {
            std::erase(waiting_, &mine);
            lock.unlock();
            const Lease engine = take_cpu(alone);
            clock.enter(Stage::analyze);
            return run_on(*engine, pointers(tasks));
        }
        std::unique_ptr<Engine> engine;
        try {
            engine = take_lane(lock);
        } catch (...) {
            if (mine.taken) continue;  // by a lane that is gone since
            std::erase(waiting_, &mine);
            throw;
        }
        if (!engine) continue;
        const std::vector<Request*> requests = take_requests();
        lock.unlock();
        {
            const Lease lane(*this, std::move(engine), Use::lane);
            clock.enter(Stage::analyze);
            std::vector<Task*> all;
            for (const Request* request : requests)
                for (Task& task : *request->tasks) all.push_back(&task);
            attempt(all, [&] { run_on(*lane, all); });
            clock.enter(Stage::engine);
        }
        lock.lock();
        for (Request* request : requests) request->done = true;
        changed_.notify_all();
    }
}

/// Requests that wait, as many as a launch takes.
std::vector<EnginePool::Request*> EnginePool::take_requests() {
    std::size_t images = 0;
    auto end = waiting_.begin();
    for (; end != waiting_.end() && images < static_cast<std::size_t>(StreamAnalyzer::list_images); ++end) {
        (*end)->taken = true;
        images += (*end)->tasks->size();
    }
    std::vector<Request*> requests(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    return requests;
}

void EnginePool::try_again(Task& task, bool alone, StageClock& clock) {
    const auto once_more = [&](const auto& take_one) {
        clock.enter(Stage::engine);
        attempt({&task}, [&] {
            const Lease engine = take_one();
            clock.enter(Stage::analyze);
            run_on(*engine, {&task});
        });
    };
    // What others use there may be all that it lacks.
    if (trouble_of(task).first == Trouble::memory) once_more([&] { return take_whole_gpu(); });
    const auto [trouble, why] = trouble_of(task);
    if (trouble == Trouble::none || !automatic()) return;
    if (trouble == Trouble::memory) pass_over_gpu(why);
    if (trouble == Trouble::gpu) abandon_gpu(why);
    once_more([&] { return take_cpu(alone); });
}

/// Says once that single images are too large for the GPU.
void EnginePool::pass_over_gpu(const std::string& why) {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(passed_over_, true)) return;
    }
    console_.note("images too large for the GPU are measured by engine cpu: " + why);
}

/// Leaves the rest to the CPU. Says why, once.
void EnginePool::abandon_gpu(const std::string& why) {
    {
        const std::lock_guard lock(mutex_);
        if (!on_gpu_.exchange(false)) return;
        made_ -= static_cast<int>(gpu_.size());
        gpu_.clear();
        changed_.notify_all();
    }
    console_.note("the rest is done by engine cpu: " + why);
}

// ------------------------------------------------------------------------------------------------------ leases

bool EnginePool::lane_is_free() const {
    return !exclusive_ && (!gpu_.empty() || made_ < lanes_);
}

/// A lane that is idle, or a new one; null where none could be made and those there are must do. The lock is open while
/// one is made. Throws as make_engine where there is none at all.
std::unique_ptr<Engine> EnginePool::take_lane(std::unique_lock<std::mutex>& lock) {
    if (!gpu_.empty()) {
        auto engine = std::move(gpu_.back());
        gpu_.pop_back();
        return engine;
    }
    ++made_;
    lock.unlock();
    std::unique_ptr<Engine> engine;
    std::exception_ptr failure;
    try {
        engine = make_("cuda", options_);
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    if (engine) return engine;
    changed_.notify_all();
    if (--made_ == 0) std::rethrow_exception(failure);
    lanes_ = made_;
    return nullptr;
}

/// Waits for an engine.
EnginePool::Lease EnginePool::take(bool alone) {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return !on_gpu_ || lane_is_free(); });
        if (!on_gpu_) {
            lock.unlock();
            return take_cpu(alone);
        }
        if (auto engine = take_lane(lock)) return Lease(*this, std::move(engine), Use::lane);
    }
}

/// An engine on the GPU after all others there have given their memory back.
EnginePool::Lease EnginePool::take_whole_gpu() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !exclusive_; });
    exclusive_ = true;
    changed_.wait(lock, [&] { return static_cast<int>(gpu_.size()) == made_; });
    gpu_.clear();
    made_ = 0;
    try {
        if (on_gpu_) return Lease(*this, make_("cuda", options_), Use::whole_gpu);
    } catch (...) {
        exclusive_ = false;
        changed_.notify_all();
        throw;
    }
    exclusive_ = false;
    changed_.notify_all();
    lock.unlock();
    return take_cpu(false);
}

EnginePool::Lease EnginePool::take_cpu(bool alone) {
    std::unique_lock lock(mutex_);
    if (alone && (wide_ || !std::exchange(wide_made_, true))) {
        auto engine = std::move(wide_);
        lock.unlock();
        return Lease(*this, engine ? std::move(engine) : make_("cpu", options_), Use::wide);
    }
    std::unique_ptr<Engine> engine;
    if (!cpu_.empty()) {
        engine = std::move(cpu_.back());
        cpu_.pop_back();
    }
    lock.unlock();
    EngineOptions single = options_;
    single.threads = 1;
    return Lease(*this, engine ? std::move(engine) : make_("cpu", single), Use::narrow);
}

void EnginePool::give_back(std::unique_ptr<Engine> engine, Use use) {
    const std::lock_guard lock(mutex_);
    switch (use) {
        case Use::lane:
            if (on_gpu_)
                gpu_.push_back(std::move(engine));
            else
                --made_;
            break;
        case Use::whole_gpu:
            engine.reset();  // the memory that it needed would be the others' want
            exclusive_ = false;
            break;
        case Use::narrow:
            cpu_.push_back(std::move(engine));
            break;
        case Use::wide:
            wide_ = std::move(engine);
            break;
    }
    changed_.notify_all();
}

}  // namespace gpuhist::app
