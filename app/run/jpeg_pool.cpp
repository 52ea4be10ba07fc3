#include "run/jpeg_pool.hpp"

#include <exception>

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

/// If no decoder can be made, but others exist, the thread waits for one of these.
JpegPool::Lease JpegPool::take() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return !idle_.empty() || made_ < lanes_; });
        if (!idle_.empty()) {
            auto lane = std::move(idle_.back());
            idle_.pop_back();
            return Lease(*this, std::move(lane));
        }
        ++made_;
        lock.unlock();
        std::exception_ptr failure;
        try {
            return Lease(*this, make_(gpu_));
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        changed_.notify_all();
        if (--made_ == 0) std::rethrow_exception(failure);
        lanes_ = made_;
    }
}

void JpegPool::give_back(std::unique_ptr<JpegLane> lane) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(lane));
    changed_.notify_all();
}

bool JpegPool::does_without(const Error& error) {
    if (on_ != JpegOn::automatic) return false;
    if (!left_.exchange(true)) console_.note(std::string("the CPU decodes JPEGs: ") + error.what());
    return true;
}

}  // namespace gpuhist::app
