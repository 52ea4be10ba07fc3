/// JPEG decoders on a GPU, shared by the threads of a run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cli/console.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/jpeg.hpp"
#include "run/engine_pool.hpp"

namespace gpuhist::app {

/// Decoder of several JPEGs at once.
class JpegLane {
  public:
    virtual ~JpegLane() = default;
    /// Decodes files. The images stay until the next call. One with a reason was not decoded.
    virtual std::vector<JpegImage> decode(const std::vector<JpegFile>& files) = 0;
    /// Copies the pixels of an image of the last call to host memory.
    virtual void copy(std::size_t file, const MutableImageView& output) = 0;
};

/// Function that makes a decoder on a GPU. Throws EngineUnavailable, OutOfMemory or CudaError.
using JpegFactory = std::function<std::unique_ptr<JpegLane>(int gpu)>;
std::unique_ptr<JpegLane> make_jpeg_lane(int gpu);

/// Decoders on GPUs, each with a stream of its own, so that files are staged while others are decoded. Files go to the
/// GPU that has the fewest. `automatic` uses the GPUs while the engine of the run is there; if all fail, the CPU
/// decodes.
class JpegPool {
    static constexpr int most_lanes = 8;

  public:
    JpegPool(JpegOn on, const std::vector<int>& gpus, JpegFactory make, EnginePool& engines, Console& console);

    /// Tells whether JPEGs are decoded there at present.
    bool works() const { return on_ == JpegOn::gpu || (on_ == JpegOn::automatic && !left_ && engines_.on_gpu()); }
    /// Tells whether they are, or may be soon.
    bool may_work() const {
        return on_ == JpegOn::gpu || (on_ == JpegOn::automatic && !left_ && engines_.may_use_gpu());
    }

    /// Decoders on a GPU. Those that are not idle are lent.
    struct Gpu {
        int number;
        int lanes = most_lanes;  ///< the most
        int made = 0;            ///< those there are
        bool failed = false;
        std::vector<std::unique_ptr<JpegLane>> idle{};

        int busy() const { return made - static_cast<int>(idle.size()); }
    };

    /// Decoder that is the holder's until this goes out of scope.
    class Lease {
      public:
        Lease(JpegPool& pool, std::unique_ptr<JpegLane> lane, Gpu& gpu)
            : pool_(&pool), lane_(std::move(lane)), gpu_(&gpu) {}
        Lease(Lease&&) noexcept = default;
        Lease& operator=(Lease&&) = delete;
        ~Lease() {
            if (lane_) pool_->give_back(std::move(lane_), *gpu_);
        }
        JpegLane* operator->() const { return lane_.get(); }
        int gpu() const { return gpu_->number; }

      private:
        JpegPool* pool_;
        std::unique_ptr<JpegLane> lane_;
        Gpu* gpu_;
    };

    /// Waits for a decoder. The holder must not wait for memory of the run. Throws as the factory, if no GPU has any.
    Lease take();
    /// Takes note that decoding failed on a GPU, or on all. Returns whether other GPUs or the CPU decode from now on.
    bool does_without(int gpu, const Error& error);

  private:
    Gpu* free_gpu();
    void give_back(std::unique_ptr<JpegLane> lane, Gpu& gpu);

    const JpegOn on_;
    const JpegFactory make_;
    EnginePool& engines_;
    Console& console_;
    std::atomic<bool> left_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Gpu> gpus_;
};

}  // namespace gpuhist::app
