#include "run/jpeg_pool.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "run/near_gpu.hpp"

namespace gpuhist::app {
namespace {

/// Decoder of the library.
class GpuLane final : public JpegLane {
  public:
    explicit GpuLane(int gpu) : decoder_(JpegDecoderOptions{gpu}) {}
    std::vector<JpegImage> decode(const std::vector<JpegFile>& files) override {
        decoder_.decode(files.data(), static_cast<std::int64_t>(files.size()));
        std::vector<JpegImage> images;
        for (std::size_t i = 0; i < files.size(); ++i) images.push_back(decoder_[static_cast<std::int64_t>(i)]);
        return images;
    }
    void copy(std::size_t file, const MutableImageView& output) override {
        decoder_.copy(static_cast<std::int64_t>(file), output);
    }

  private:
    JpegDecoder decoder_;
};

}  // namespace

std::unique_ptr<JpegLane> make_jpeg_lane(int gpu) {
    return std::make_unique<GpuLane>(gpu);
}

JpegPool::JpegPool(JpegOn on, const std::vector<int>& gpus, JpegFactory make, EnginePool& engines, Console& console)
    : on_(on), make_(std::move(make)), engines_(engines), console_(console) {
    for (const int gpu : gpus) gpus_.push_back({gpu});
}

/// The GPU near the thread, or the one that has the least to do, with a decoder for more; null if there is none.
JpegPool::Gpu* JpegPool::free_gpu() {
    Gpu* found = nullptr;
    for (Gpu& gpu : gpus_) {
        if (gpu.failed || (gpu.idle.empty() && gpu.made == gpu.lanes)) continue;
        if (gpu.number == near_gpu()) return &gpu;
        if (!found || gpu.busy() < found->busy()) found = &gpu;
    }
    return found;
}

/// If no decoder can be made, but others exist, the thread waits for one of these.
JpegPool::Lease JpegPool::take() {
    std::unique_lock lock(mutex_);
    for (;;) {
        Gpu* gpu = nullptr;
        changed_.wait(lock, [&] { return (gpu = free_gpu()) != nullptr; });
        if (!gpu->idle.empty()) {
            auto lane = std::move(gpu->idle.back());
            gpu->idle.pop_back();
            return Lease(*this, std::move(lane), *gpu);
        }
        ++gpu->made;
        lock.unlock();
        std::exception_ptr failure;
        try {
            return Lease(*this, make_(gpu->number), *gpu);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        changed_.notify_all();
        gpu->lanes = --gpu->made;
        const auto works = [](const Gpu& of) { return !of.failed && of.lanes > 0; };
        if (std::none_of(gpus_.begin(), gpus_.end(), works)) {
            gpu->lanes = 1;  // the next one may have more luck
            std::rethrow_exception(failure);
        }
    }
}

void JpegPool::give_back(std::unique_ptr<JpegLane> lane, Gpu& gpu) {
    const std::lock_guard lock(mutex_);
    if (gpu.failed)
        --gpu.made;
    else
        gpu.idle.push_back(std::move(lane));
    changed_.notify_all();
}

bool JpegPool::does_without(int gpu, const Error& error) {
    {
        const std::lock_guard lock(mutex_);
        const auto works = [](const Gpu& of) { return !of.failed; };
        const auto at = std::find_if(gpus_.begin(), gpus_.end(), [&](const Gpu& of) { return of.number == gpu; });
        if (at != gpus_.end() && at->failed) return true;
        if (at != gpus_.end() && std::count_if(gpus_.begin(), gpus_.end(), works) > 1) {
            at->failed = true;
            at->made -= static_cast<int>(at->idle.size());
            at->idle.clear();
            changed_.notify_all();
            console_.note("GPU " + std::to_string(gpu) + " decodes no more JPEGs: " + error.what());
            return true;
        }
    }
    if (on_ != JpegOn::automatic) return false;
    if (!left_.exchange(true)) console_.note(std::string("the CPU decodes JPEGs: ") + error.what());
    return true;
}

}  // namespace gpuhist::app
