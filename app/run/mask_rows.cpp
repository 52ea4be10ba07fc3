#include "run/mask_rows.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "run/companions.hpp"

namespace gpuhist::app {

MaskRows::MaskRows(Read read) : read_(std::move(read)) {
    start();
    std::unique_lock lock(mutex_);
    try {
        wait_for_rows(lock);
    } catch (...) {
        lock.unlock();
        stop();
        throw;
    }
}

MaskRows::~MaskRows() {
    stop();
}

std::uint8_t* MaskRows::rows(std::int64_t first, std::int64_t count, std::int64_t width) {
    const auto bytes = static_cast<std::size_t>(count * width);
    if (first < next_) {
        next_ = first;
        if (whole_) {
            taken_ = static_cast<std::size_t>(first * width);
        } else {
            stop();
            start();
        }
    }
    next_ = first + count;
    rows_.resize(bytes);
    std::unique_lock lock(mutex_);
    for (std::size_t done = 0; done < bytes;) {
        wait_for_rows(lock);
        const std::size_t part = std::min(bytes - done, ready_.size() - taken_);
        std::copy_n(ready_.data() + taken_, part, rows_.data() + done);
        done += part;
        taken_ += part;
        changed_.notify_all();
    }
    return rows_.data();
}

void MaskRows::start() {
    ready_.clear();
    taken_ = 0;
    stopped_ = ended_ = false;
    error_ = nullptr;
    thread_ = std::thread([this] { read(); });
}

void MaskRows::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void MaskRows::read() {
    io::Strips strips;
    strips.strip_bytes = strip_bytes;
    strips.refusal = [](const io::StripFacts&) { return std::string(); };
    strips.take = [this](const io::Image& strip, std::uint64_t) {
        std::vector<std::uint8_t> bytes = mask_of(strip);
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopped_ || taken_ == ready_.size(); });
        if (stopped_) throw Stopped();
        ready_ = std::move(bytes);
        zero_is_white_ = strip.zero_is_white;
        taken_ = 0;
        changed_.notify_all();
    };
    std::exception_ptr error;
    std::vector<std::uint8_t> all;
    bool zero_is_white = false;
    try {
        const io::Image image = read_(strips);
        if (!image.pixels.empty()) all = mask_of(image);
        zero_is_white = image.zero_is_white;
    } catch (const Stopped&) {
    } catch (...) {
        error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    whole_ = !all.empty();
    if (whole_) ready_ = std::move(all);
    if (whole_) zero_is_white_ = zero_is_white;
    error_ = error;
    ended_ = true;
    changed_.notify_all();
}

bool MaskRows::zero_is_white() {
    const std::lock_guard lock(mutex_);
    return zero_is_white_;
}

void MaskRows::wait_for_rows(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return taken_ < ready_.size() || ended_; });
    if (taken_ < ready_.size()) return;
    if (error_) std::rethrow_exception(error_);
    throw std::logic_error("the mask has fewer rows than the image");
}

}  // namespace gpuhist::app
