#include "run/engine_pool.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/stream.hpp"
#include "run/near_gpu.hpp"

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

void run_on(Engine& engine, int gpu, const std::vector<Task*>& tasks) {
    std::vector<Job> jobs;
    jobs.reserve(tasks.size());
    for (const Task* task : tasks) jobs.push_back(task->job);
    engine.run(jobs.data(), jobs.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        tasks[i]->job.error = std::move(jobs[i].error);
        tasks[i]->engine = engine.name();
        tasks[i]->gpu = gpu;
    }
}

std::vector<Task*> pointers(std::vector<Task>& tasks) {
    std::vector<Task*> all;
    for (Task& task : tasks) all.push_back(&task);
    return all;
}

/// Runs a step. Its exception becomes the error of these tasks.
template <class Step>
void attempt(const std::vector<Task*>& tasks, Step step) {
    try {
        step();
    } catch (...) {
        for (Task* task : tasks) task->job.error = std::current_exception();
    }
}

}  // namespace

EnginePool::EnginePool(std::string name, const EngineOptions& options, const std::vector<int>& gpus, EngineFactory make,
                       Console& console, const GpuTerms& terms, int threads, bool cpu_too)
    : name_(std::move(name)),
      options_(options),
      make_(std::move(make)),
      console_(console),
      threads_(threads),
      choice_(terms, threads),
      cpu_too_(cpu_too) {
    for (const int gpu : gpus) gpus_.push_back({gpu, cpu_too ? std::max(gpu_lanes, threads) : gpu_lanes});
}

EnginePool::~EnginePool() {
    if (maker_.joinable()) maker_.join();
}

void EnginePool::start() {
    std::unique_lock lock(mutex_);
    if (started_) return;
    std::unique_ptr<Engine> engine =
        make_(automatic() ? "cpu" : name_, name_ == "cuda" ? lane_options(gpus_.front()) : options_);
    started_ = true;
    begin_ = Clock::now();
    if (engine->name() == "cuda") {
        gpus_.front().idle.push_back(std::move(engine));
        gpus_.front().made = 1;
        on_gpu_ = true;
        return;
    }
    wide_ = std::move(engine);
    wide_made_ = true;
    if (!automatic()) return;
    undecided_ = choice_.terms().start_seconds > 0;
    if (undecided_) return;
    lock.unlock();
    begin_gpu();
}

void EnginePool::expect(std::uint64_t waiting, bool more) {
    const std::lock_guard lock(mutex_);
    expected_ = waiting;
    more_expected_ = more;
}

/// Makes an engine on the GPU, to which the work then goes. A GPU that there is and that cannot be used is remarked on.
void EnginePool::begin_gpu() {
    std::unique_ptr<Engine> engine;
    std::string why;
    try {
        engine = make_("cuda", lane_options(gpus_.front()));
    } catch (const EngineUnavailable& error) {
        if (!gpus().empty()) why = error.what();
    } catch (const std::exception& error) {
        why = error.what();
    }
    if (!why.empty()) console_.note("using the CPU, although there is a GPU: " + why);
    if (!engine) return;
    const std::lock_guard lock(mutex_);
    gpus_.front().idle.push_back(std::move(engine));
    gpus_.front().made = 1;
    warm_ = Clock::now() +
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(choice_.terms().start_seconds));
    on_gpu_ = true;
}

/// Records finished work, and starts or leaves the GPU if that is better.
void EnginePool::choose(const std::vector<Task>& tasks, double seconds) {
    double bytes = 0;
    for (const Task& task : tasks) {
        if (task.job.error) return;
        bytes += static_cast<double>(task.job.image.packed_row_bytes() * task.job.image.height);
    }
    const bool on_gpu = tasks.front().engine == "cuda";
    std::unique_lock lock(mutex_);
    if (on_gpu && (judged_ || Clock::now() < warm_)) return;
    choice_.did(on_gpu, tasks.size(), bytes, seconds);
    if (on_gpu) {
        judged_ = choice_.judged();
        if (!judged_ || !choice_.gpu_is_slower()) return;
        lock.unlock();
        leave_gpu();
        return;
    }
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (undecided_ && choice_.wants_gpu(elapsed, expected_, more_expected_)) begin_gpu_aside();
}

/// Has a thread of its own make the engine. The caller holds the lock.
void EnginePool::begin_gpu_aside() {
    undecided_ = false;
    try {
        coming_ = true;
        patience_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(2 * choice_.terms().start_seconds));
        maker_ = std::thread([this] {
            begin_gpu();
            const std::lock_guard done(mutex_);
            coming_ = false;
            changed_.notify_all();
        });
    } catch (const std::system_error&) {  // no more threads are allowed: the CPU goes on
        coming_ = false;
    }
}

void EnginePool::wait_for_gpu(std::int64_t pixels) {
    if (!undecided_ && !coming_) return;
    std::unique_lock lock(mutex_);
    if (undecided_ && choice_.wants_gpu_for_jpegs(static_cast<double>(pixels), expected_, more_expected_))
        begin_gpu_aside();
    if (!coming_) return;
    if (!changed_.wait_until(lock, patience_, [&] { return !coming_; })) coming_ = false;
}

// ------------------------------------------------------------------------------------------------------- tasks

void EnginePool::run(std::vector<Task>& tasks, bool alone, StageClock& clock) {
    if (tasks.empty()) return;
    clock.enter(Stage::engine);
    const std::vector<Task*> all = pointers(tasks);
    const auto since = Clock::now();
    attempt(all, [&] {
        start();
        if (on_gpu_ && is_small(tasks.front().job.image)) return share_lane(tasks, alone, clock);
        const Lease engine = take(alone, tasks.front().gpu);
        clock.enter(Stage::analyze);
        run_on(*engine, engine.gpu(), all);
    });
    if (automatic()) {
        // One that is alone keeps all threads, unless it is too small to share.
        const bool keeps_all = alone && !is_small(tasks.front().job.image);
        double seconds = std::chrono::duration<double>(Clock::now() - since).count() * (keeps_all ? threads_ : 1);
        for (const Task& task : tasks) seconds += task.decode_seconds;
        choose(tasks, seconds);
    }
    for (Task& task : tasks) try_again(task, alone, clock);
}

EnginePool::StripTask EnginePool::analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                 Analysis& result, const Normalization* copies, bool alone) {
    const auto begin = [&](Lease engine) {
        auto analysis = (*engine).analyze_strips(image, request, result, copies);
        return StripTask(std::move(engine), std::move(analysis));
    };
    start();
    try {
        return begin(take(alone));
    } catch (const UnsupportedDepth&) {
        if (!automatic()) throw;
    }
    return begin(take_cpu(alone));
}

bool EnginePool::does_without_gpu(const CudaError& error) {
    if (automatic()) abandon_gpu(error.what());
    return automatic();
}

/// A lane that becomes free takes all that wait by then, whosever they are.
void EnginePool::share_lane(std::vector<Task>& tasks, bool alone, StageClock& clock) {
    Request mine{&tasks, tasks.front().gpu};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&mine);
    for (;;) {
        changed_.wait(lock, [&] {
            return mine.done || (!mine.taken && (!on_gpu_ || !may_come(mine.gpu) || free_gpu(mine.gpu)));
        });
        if (mine.done) return;
        if (!on_gpu_ || !may_come(mine.gpu)) {
            std::erase(waiting_, &mine);
            lock.unlock();
            const Lease engine = take_cpu(alone);
            clock.enter(Stage::analyze);
            return run_on(*engine, any_gpu, pointers(tasks));
        }
        std::optional<Lease> lane;
        try {
            if (auto one = take_lane(lock, *free_gpu(mine.gpu))) lane.emplace(std::move(*one));
        } catch (...) {
            if (mine.taken) continue;  // by a lane that is gone since
            std::erase(waiting_, &mine);
            throw;
        }
        if (!lane) continue;
        const std::vector<Request*> requests = take_requests(lane->gpu());
        lock.unlock();
        clock.enter(Stage::analyze);
        std::vector<Task*> all;
        for (const Request* request : requests)
            for (Task& task : *request->tasks) all.push_back(&task);
        attempt(all, [&] { run_on(**lane, lane->gpu(), all); });
        clock.enter(Stage::engine);
        lane.reset();
        lock.lock();
        for (Request* request : requests) request->done = true;
        changed_.notify_all();
    }
}

/// Requests that wait and that a GPU may do, as many as a launch takes.
std::vector<EnginePool::Request*> EnginePool::take_requests(int gpu) {
    std::size_t images = 0;
    std::vector<Request*> requests, others;
    for (Request* request : waiting_) {
        const bool takes = images < static_cast<std::size_t>(StreamAnalyzer::list_images) &&
                           (request->gpu == any_gpu || request->gpu == gpu);
        (takes ? requests : others).push_back(request);
        request->taken = request->taken || takes;
        if (takes) images += request->tasks->size();
    }
    waiting_ = std::move(others);
    return requests;
}

void EnginePool::try_again(Task& task, bool alone, StageClock& clock) {
    const auto once_more = [&](const auto& take_one) {
        clock.enter(Stage::engine);
        attempt({&task}, [&] {
            const Lease engine = take_one();
            clock.enter(Stage::analyze);
            run_on(*engine, engine.gpu(), {&task});
        });
    };
    const bool in_device_memory = task.job.image.memory == Memory::device;
    // Maybe it lacks only the memory that others use there.
    if (trouble_of(task).first == Trouble::memory)
        once_more([&, gpu = task.gpu] { return take_whole_gpu(in_device_memory ? gpu : any_gpu); });
    for (;;) {  // another GPU may do it
        const auto [trouble, why] = trouble_of(task);
        if (trouble != Trouble::gpu || !does_without(task.gpu, why)) break;
        if (in_device_memory) return;
        once_more([&] { return take(alone); });
    }
    const auto [trouble, why] = trouble_of(task);
    if (trouble == Trouble::none || !automatic()) return;
    if (trouble == Trouble::memory) pass_over_gpu(why);
    if (trouble == Trouble::gpu) abandon_gpu(why);
    once_more([&] { return take_cpu(alone); });
}

/// Leaves a GPU that failed to the others. Returns false if there are no others. Says why, once.
bool EnginePool::does_without(int gpu, const std::string& why) {
    {
        const std::lock_guard lock(mutex_);
        const auto working = std::count_if(gpus_.begin(), gpus_.end(), [](const Gpu& of) { return !of.failed; });
        const auto at = std::find_if(gpus_.begin(), gpus_.end(), [&](const Gpu& of) { return of.number == gpu; });
        if (at == gpus_.end() || working < 2) return at != gpus_.end() && at->failed && working > 0;
        if (at->failed) return true;
        at->failed = true;
        at->made -= static_cast<int>(at->idle.size());
        at->idle.clear();
        changed_.notify_all();
    }
    console_.note("GPU " + std::to_string(gpu) + " is not used any more: " + why);
    return true;
}

/// Says once that single images are too large for the GPU.
void EnginePool::pass_over_gpu(const std::string& why) {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(passed_over_, true)) return;
    }
    console_.note("the CPU measures images that are too large for the GPU: " + why);
}

/// Leaves the rest to the CPU. Says why, once.
void EnginePool::abandon_gpu(const std::string& why) {
    if (leave_gpu()) console_.note("the CPU measures the remaining images: " + why);
}

/// Returns whether the GPU worked until now.
bool EnginePool::leave_gpu() {
    const std::lock_guard lock(mutex_);
    if (!on_gpu_.exchange(false)) return false;
    for (Gpu& gpu : gpus_) {
        gpu.made -= static_cast<int>(gpu.idle.size());
        gpu.idle.clear();
    }
    changed_.notify_all();
    return true;
}

// ------------------------------------------------------------------------------------------------------ leases

/// Returns whether a GPU, or any, may still do work.
bool EnginePool::may_come(int gpu) const {
    return std::any_of(gpus_.begin(), gpus_.end(),
                       [&](const Gpu& of) { return !of.failed && (gpu == any_gpu || of.number == gpu); });
}

/// The GPU near the thread, or the one that has the least to do, with a lane for more; null if there is none.
EnginePool::Gpu* EnginePool::free_gpu(int gpu) {
    Gpu* found = nullptr;
    if (exclusive_) return nullptr;
    for (Gpu& one : gpus_) {
        if (!one.free() || (gpu != any_gpu && one.number != gpu)) continue;
        if (one.number == near_gpu()) return &one;
        if (!found || one.busy() < found->busy()) found = &one;
    }
    return found;
}

/// An idle lane of a GPU, or a new one; none if none could be made, but others exist. The lock is open while a lane is
/// made. Throws as make_engine if there is none at all.
std::optional<EnginePool::Lease> EnginePool::take_lane(std::unique_lock<std::mutex>& lock, Gpu& gpu) {
    if (!gpu.idle.empty()) {
        auto engine = std::move(gpu.idle.back());
        gpu.idle.pop_back();
        return Lease(*this, std::move(engine), Use::lane, &gpu);
    }
    ++gpu.made;
    lock.unlock();
    std::unique_ptr<Engine> engine;
    std::exception_ptr failure;
    std::string why;
    try {
        engine = make_("cuda", lane_options(gpu));
    } catch (const std::exception& error) {
        failure = std::current_exception();
        why = error.what();
    }
    if (failure && gpus_.size() > 1)
        console_.note("GPU " + std::to_string(gpu.number) + " has no more engines: " + why);
    lock.lock();
    if (engine) return Lease(*this, std::move(engine), Use::lane, &gpu);
    changed_.notify_all();
    --gpu.made;
    gpu.lanes = gpu.made;
    if (gpu.made > 0) return std::nullopt;
    const bool others =
        std::any_of(gpus_.begin(), gpus_.end(), [&](const Gpu& of) { return &of != &gpu && !of.failed; });
    if (!others) std::rethrow_exception(failure);
    gpu.failed = true;
    return std::nullopt;
}

/// Waits for an engine. If a GPU is wanted that failed, it is one of the CPU.
EnginePool::Lease EnginePool::take(bool alone, int gpu) {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return !on_gpu_ || !may_come(gpu) || free_gpu(gpu); });
        if (!on_gpu_ || !may_come(gpu)) {
            lock.unlock();
            return take_cpu(alone);
        }
        if (auto lane = take_lane(lock, *free_gpu(gpu))) return std::move(*lane);
    }
}

/// An engine on a GPU after all others have given their memory back.
EnginePool::Lease EnginePool::take_whole_gpu(int gpu) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !exclusive_; });
    exclusive_ = true;
    changed_.wait(
        lock, [&] { return std::all_of(gpus_.begin(), gpus_.end(), [](const Gpu& of) { return of.busy() == 0; }); });
    for (Gpu& one : gpus_) {
        one.idle.clear();
        one.made = 0;
    }
    try {
        for (Gpu& one : gpus_)
            if (on_gpu_ && !one.failed && (gpu == any_gpu || one.number == gpu)) {
                EngineOptions of = options_;
                of.gpu = one.number;
                return Lease(*this, make_("cuda", of), Use::whole_gpu, &one);
            }
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

void EnginePool::give_back(std::unique_ptr<Engine> engine, Use use, Gpu* gpu) {
    const std::lock_guard lock(mutex_);
    switch (use) {
        case Use::lane:
            if (on_gpu_ && !gpu->failed)
                gpu->idle.push_back(std::move(engine));
            else
                --gpu->made;
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
