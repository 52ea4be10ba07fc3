#include "engines.hpp"

#include <utility>

#include "gpuhist/error.hpp"

namespace gpuhist::app {

Engines::Engines(std::string name, const EngineOptions& options, Console& console)
    : name_(std::move(name)), options_(options), console_(console) {}

void Engines::start() {
    const std::lock_guard lock(mutex_);
    if (started_) return;
    auto engine = make_engine(name_, options_);
    started_ = true;
    on_gpu_ = engine->name() == "cuda";
    if (on_gpu_) {
        made_ = 1;
        gpu_.push_back(std::move(engine));
        return;
    }
    wide_ = std::move(engine);
    wide_made_ = true;
    if (name_ != "auto" || gpus().empty()) return;
    for (const EngineInfo& info : engines())
        if (info.name == "cuda") console_.note("engine cpu, although there is a GPU: " + info.description);
}

Engines::Lease Engines::take(bool alone) {
    start();
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !on_gpu_ || (!exclusive_ && (!gpu_.empty() || made_ < lanes_)); });
    if (!on_gpu_) {
        lock.unlock();
        return take_cpu(alone);
    }
    if (!gpu_.empty()) {
        Lease lease(*this, std::move(gpu_.back()), Use::lane);
        gpu_.pop_back();
        return lease;
    }
    ++made_;
    lock.unlock();
    try {
        return Lease(*this, make_engine("cuda", options_), Use::lane);
    } catch (...) {
        lock.lock();
        returned_.notify_all();
        if (--made_ == 0) throw;
        lanes_ = made_;  // those that there are will do
    }
    lock.unlock();
    return take(alone);
}

Engines::Lease Engines::take_whole_gpu() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !exclusive_; });
    exclusive_ = true;
    returned_.wait(lock, [&] { return static_cast<int>(gpu_.size()) == made_; });
    gpu_.clear();
    made_ = 0;
    try {
        if (on_gpu_) return Lease(*this, make_engine("cuda", options_), Use::whole_gpu);
    } catch (...) {
        exclusive_ = false;
        returned_.notify_all();
        throw;
    }
    exclusive_ = false;
    returned_.notify_all();
    lock.unlock();
    return take_cpu(false);
}

Engines::Lease Engines::take_cpu(bool alone) {
    std::unique_lock lock(mutex_);
    if (alone && (wide_ || !std::exchange(wide_made_, true))) {
        auto engine = std::move(wide_);
        lock.unlock();
        return Lease(*this, engine ? std::move(engine) : make_engine("cpu", options_), Use::wide);
    }
    std::unique_ptr<Engine> engine;
    if (!cpu_.empty()) {
        engine = std::move(cpu_.back());
        cpu_.pop_back();
    }
    lock.unlock();
    EngineOptions single = options_;
    single.threads = 1;
    return Lease(*this, engine ? std::move(engine) : make_engine("cpu", single), Use::narrow);
}

void Engines::give_back(std::unique_ptr<Engine> engine, Use use) {
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
    returned_.notify_all();
}

void Engines::pass_over_gpu(const std::string& why) {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(passed_over_, true)) return;
    }
    console_.note("images too large for the GPU are measured by engine cpu: " + why);
}

void Engines::abandon_gpu(const std::string& why) {
    {
        const std::lock_guard lock(mutex_);
        if (!on_gpu_.exchange(false)) return;
        made_ -= static_cast<int>(gpu_.size());
        gpu_.clear();
        returned_.notify_all();
    }
    console_.note("the rest is done by engine cpu: " + why);
}

}  // namespace gpuhist::app
