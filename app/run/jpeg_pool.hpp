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

/// Decoders on a GPU, each with a stream of its own, so that files are staged while others are decoded. `automatic`
/// uses them while the engine of the run is on the GPU; if they fail, the CPU decodes.
class JpegPool {
  public:
    JpegPool(JpegOn on, int gpu, JpegFactory make, EnginePool& engines, Console& console)
        : on_(on), gpu_(gpu), make_(std::move(make)), engines_(engines), console_(console) {}

    /// Tells whether JPEGs are decoded there at present.
    bool works() const { return on_ == JpegOn::gpu || (on_ == JpegOn::automatic && !left_ && engines_.on_gpu()); }

    /// Decoder that is the holder's until this goes out of scope.
    class Lease {
      public:
        Lease(JpegPool& pool, std::unique_ptr<JpegLane> lane) : pool_(&pool), lane_(std::move(lane)) {}
        Lease(Lease&&) noexcept = default;
        Lease& operator=(Lease&&) = delete;
        ~Lease() {
            if (lane_) pool_->give_back(std::move(lane_));
        }
        JpegLane* operator->() const { return lane_.get(); }

      private:
        JpegPool* pool_;
        std::unique_ptr<JpegLane> lane_;
    };

    /// Waits for a decoder. The holder must not wait for memory of the run. Throws as the factory.
    Lease take();
    /// Takes note that decoding there failed. Returns whether the CPU decodes from now on: the choice is ours.
    bool does_without(const Error& error);

  private:
    static constexpr int most_lanes = 8;

    void give_back(std::unique_ptr<JpegLane> lane);

    const JpegOn on_;
    const int gpu_;
    const JpegFactory make_;
    EnginePool& engines_;
    Console& console_;
    std::atomic<bool> left_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    int lanes_ = most_lanes, made_ = 0;  ///< the most, and those there are: idle or lent
    std::vector<std::unique_ptr<JpegLane>> idle_;
};

}  // namespace gpuhist::app
