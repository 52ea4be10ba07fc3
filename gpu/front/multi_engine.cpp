#include "gpuhist/multi_engine.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "gpuhist/error.hpp"

namespace gpuhist {
namespace {

/// Small images that an engine takes at once.
constexpr std::size_t most_together = 256;

bool is_small(const Job& job) {
    return job.image.packed_row_bytes() * job.image.height <= Engine::small_image_bytes;
}

/// Returns whether a GPU failed, and not for want of memory.
bool is_failure(const std::exception_ptr& error) {
    if (!error) return false;
    try {
        std::rethrow_exception(error);
    } catch (const OutOfMemory&) {
        return false;
    } catch (const CudaError&) {
        return true;
    } catch (...) {
        return false;
    }
}

std::vector<std::unique_ptr<Engine>> make_engines(const std::vector<int>& gpus, EngineOptions options) {
    std::vector<int> sorted = gpus;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        throw InvalidArgument("engines on several GPUs: one is named twice");
    std::vector<std::unique_ptr<Engine>> engines;
    for (const int gpu : gpus) {
        options.gpu = gpu;
        engines.push_back(make_engine("cuda", options));
    }
    return engines;
}

}  // namespace

class MultiEngine::Implementation {
  public:
    explicit Implementation(std::vector<std::unique_ptr<Engine>> engines) : engines_(std::move(engines)) {
        if (engines_.empty()) throw InvalidArgument("several engines as one: there are none");
    }

    std::string_view name() const { return engines_.front()->name(); }
    std::size_t working() const { return static_cast<std::size_t>(std::count(failed_.begin(), failed_.end(), false)); }

    void run(Job* jobs, std::size_t count) {
        left_.clear();
        for (Job* job = jobs + count; job != jobs;) {
            --job;
            job->error = nullptr;
            const bool device =
                job->image.memory == Memory::device || (job->normalization && job->output.memory == Memory::device);
            if (device && engines_.size() > 1)
                job->error = std::make_exception_ptr(
                    InvalidArgument("several engines as one: the pixels are in the memory of one GPU"));
            else
                left_.push_back(job);
        }
        std::exception_ptr thrown;
        const auto guarded = [this, &thrown](std::size_t i) {
            try {
                if (!failed_[i]) work(i);
            } catch (...) {
                const std::lock_guard lock(mutex_);
                thrown = std::current_exception();
            }
        };
        std::vector<std::thread> threads;
        try {
            for (std::size_t i = 1; i < engines_.size() && i < count; ++i) threads.emplace_back(guarded, i);
        } catch (const std::system_error&) {  // no more threads are allowed: the others do the work
        }
        guarded(0);
        for (std::thread& thread : threads) thread.join();
        // Jobs that an engine gave back when the others had ended already, or that has no thread.
        for (std::size_t i = 0; i < engines_.size() && !left_.empty(); ++i) guarded(i);
        if (thrown) std::rethrow_exception(thrown);
        for (Job* job : left_)
            if (!job->error) job->error = failure_;
        left_.clear();
    }

    /// Does something on the first engine that works, and on the next one if it fails.
    template <class Do>
    auto with_one(const Do& act) {
        for (;;) {
            std::size_t i = 0;
            while (i < engines_.size() && failed_[i]) ++i;
            if (i == engines_.size()) std::rethrow_exception(failure_);
            try {
                return act(*engines_[i]);
            } catch (...) {
                if (!is_failure(std::current_exception())) throw;
                failed_[i] = true;
                failure_ = std::current_exception();
            }
        }
    }

  private:
    /// Takes jobs until there are none, or the engine fails.
    void work(std::size_t number) {
        std::vector<Job*> taken;
        std::vector<Job> together;
        for (;;) {
            taken.clear();
            {
                const std::lock_guard lock(mutex_);
                while (!left_.empty() && taken.size() < most_together) {
                    if (!taken.empty() && !(is_small(*taken.front()) && is_small(*left_.back()))) break;
                    taken.push_back(left_.back());
                    left_.pop_back();
                    if (taken.size() * engines_.size() >= left_.size() + taken.size()) break;  // a share for each
                }
            }
            if (taken.empty()) return;
            together.clear();
            for (const Job* job : taken) together.push_back(*job);
            engines_[number]->run(together.data(), together.size());
            bool failed = false;
            for (std::size_t i = 0; i < taken.size(); ++i) {
                const std::exception_ptr& error = together[i].error;
                if (!is_failure(error)) {
                    taken[i]->error = error;
                    continue;
                }
                const std::lock_guard lock(mutex_);
                failed = true;
                failure_ = error;
                left_.push_back(taken[i]);
            }
            if (!failed) continue;
            failed_[number] = true;
            return;
        }
    }

    std::vector<std::unique_ptr<Engine>> engines_;
    std::vector<char> failed_ = std::vector<char>(engines_.size());  ///< not bool: threads write their own
    std::mutex mutex_;
    std::vector<Job*> left_;  ///< the next one last
    std::exception_ptr failure_;
};

MultiEngine::MultiEngine(const std::vector<int>& gpus, const EngineOptions& options)
    : MultiEngine(make_engines(gpus, options)) {}
MultiEngine::MultiEngine(std::vector<std::unique_ptr<Engine>> engines)
    : implementation_(std::make_unique<Implementation>(std::move(engines))) {}
MultiEngine::~MultiEngine() = default;

std::string_view MultiEngine::name() const {
    return implementation_->name();
}
std::size_t MultiEngine::working() const {
    return implementation_->working();
}
void MultiEngine::run(Job* jobs, std::size_t count) {
    implementation_->run(jobs, count);
}
void MultiEngine::analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) {
    implementation_->with_one([&](Engine& engine) { engine.analyze(image, request, result); });
}
void MultiEngine::normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                            const MutableImageView& output, Analysis& result) {
    implementation_->with_one([&](Engine& engine) { engine.normalize(image, request, normalization, output, result); });
}
std::unique_ptr<StripAnalysis> MultiEngine::analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                           Analysis& result, const Normalization* copies) {
    return implementation_->with_one(
        [&](Engine& engine) { return engine.analyze_strips(image, request, result, copies); });
}

}  // namespace gpuhist
