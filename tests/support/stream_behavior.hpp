// Streams that are kept busy, graphs of their work, and the fixture of tests that watch how the stream-level API
// behaves beside its results.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/stream_cases.hpp"

namespace gpuhist::test {

inline const auto patience = std::chrono::seconds(every_nth() > 1 ? 300 : 20);

/// Hold keeps a stream busy until it is released, but not for ever.
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

/// What `enqueue` puts on the stream, to be replayed.
class Graph {
  public:
    Graph(cudaStream_t stream, const std::function<void()>& enqueue) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        try {
            enqueue();
        } catch (...) {
            cudaStreamEndCapture(stream, &graph_);
            throw;
        }
        check(cudaStreamEndCapture(stream, &graph_));
        check(cudaGraphInstantiate(&executable_, graph_, 0));
    }
    ~Graph() {
        cudaGraphExecDestroy(executable_);
        cudaGraphDestroy(graph_);
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream)); }
    /// How many kernels are in it; −1 where there is anything else.
    int kernels() const {
        std::size_t count = 0;
        check(cudaGraphGetNodes(graph_, nullptr, &count));
        std::vector<cudaGraphNode_t> nodes(count);
        check(cudaGraphGetNodes(graph_, nodes.data(), &count));
        for (cudaGraphNode_t node : nodes) {
            cudaGraphNodeType type;
            check(cudaGraphNodeGetType(node, &type));
            if (type != cudaGraphNodeTypeKernel) return -1;
        }
        return static_cast<int>(count);
    }

  private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

/// Expects that a call is refused, with such words.
template <class Call>
void expect_refused(const Call& call, const std::string& words) {
    try {
        call();
        ADD_FAILURE() << words;
    } catch (const InvalidArgument& error) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

/// A stream is busy while it still has something to do.
inline bool busy(cudaStream_t stream) {
    const cudaError_t status = cudaStreamQuery(stream);
    (void)cudaGetLastError();  // "not ready" counts as one
    return status == cudaErrorNotReady;
}

/// OwnStream is created and destroyed with this.
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
