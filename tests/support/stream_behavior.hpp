// Streams that are kept busy, and the fixture of tests that watch how the stream-level API behaves beside its results.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "support/stream_cases.hpp"

namespace gpuhist::test {

inline const auto patience = std::chrono::seconds(every_nth() > 1 ? 300 : 20);

/// Keeps a stream busy until it is released, but not for ever.
class Hold {
  public:
    explicit Hold(cudaStream_t stream) : stream_(stream) { check(cudaLaunchHostFunc(stream, wait, this)); }
    ~Hold() {
        release();
        cudaStreamSynchronize(stream_);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    void release() { released_ = true; }
    bool gave_up() const { return gave_up_; }

  private:
    static void wait(void* hold) {
        auto& self = *static_cast<Hold*>(hold);
        const auto end = std::chrono::steady_clock::now() + patience;
        while (!self.released_ && !self.gave_up_) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
            if (std::chrono::steady_clock::now() > end) self.gave_up_ = true;
        }
    }

    cudaStream_t stream_;
    std::atomic<bool> released_ = false, gave_up_ = false;
};

/// Whether a stream still has something to do.
inline bool busy(cudaStream_t stream) {
    const cudaError_t status = cudaStreamQuery(stream);
    (void)cudaGetLastError();  // "not ready" counts as one
    return status == cudaErrorNotReady;
}

/// A stream of its own.
class OwnStream {
  public:
    explicit OwnStream(unsigned flags = cudaStreamNonBlocking) { check(cudaStreamCreateWithFlags(&stream_, flags)); }
    ~OwnStream() { cudaStreamDestroy(stream_); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

class StreamBehaviorTest : public StreamTest {
  protected:
    /// Polls without a call to CUDA.
    static bool wait_until_ready(const PinnedResults& results, std::int64_t image = 0) {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (!results.ready(image))
            if (std::chrono::steady_clock::now() > end) return false;
        return true;
    }
};

}  // namespace gpuhist::test
