// Pixels of every kind of content, and the two ceilings, for all benchmarks of the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/gpu_timing.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::bench {

enum class Content { random, natural, constant, two_values };
inline constexpr Content contents[] = {Content::random, Content::natural, Content::constant, Content::two_values};
const char* to_string(Content content);

/// A picture on the GPU, which natural content repeats row after row.
class Photograph {
  public:
    /// 16-bit samples of the same picture, gray and BGR; a byte is the upper half of one.
    Photograph(const std::vector<std::uint16_t>& gray, const std::vector<std::uint16_t>& bgr);
    const DeviceMemory& samples(int channels) const { return channels == 1 ? gray_ : bgr_; }

  private:
    DeviceMemory gray_, bgr_;
};

/// What `--image` names, or the sample picture; `name` becomes what it is. Throws where it cannot be read.
Photograph load_photograph(const std::string& path, std::string& name);

/// Fills packed pixels with samples that use the whole range of their depth; f32 lies in [0, 1).
void fill(void* pixels, std::int64_t samples, Depth depth, int channels, Content content, const Photograph& photograph,
          cudaStream_t stream);

/// Reads all bytes, a multiple of 16, and does nothing else: 16-byte loads, several in flight. The fastest of several
/// launch configurations is the ceiling; `configuration` < sweep_configurations.
inline constexpr int sweep_configurations = 4;
void enqueue_sweep(const void* data, std::size_t bytes, int configuration, cudaStream_t stream);
/// Reads all 16-byte words in which a pixel lies.
void enqueue_sweep(const ImageView& view, int configuration, cudaStream_t stream);

/// Copies a multiple of 16 bytes, with 16-byte loads and stores. The other way to copy is cudaMemcpyAsync.
void enqueue_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

/// Reads a multiple of 16 bytes, waits until all blocks have, and writes them: a normalized copy without its analysis.
/// Bytes stay in shared memory in between (`keep`; throws Unavailable where they do not fit), or are read again.
void enqueue_read_meet_write(void* to, const void* from, std::size_t bytes, bool keep, cudaStream_t stream);

/// Occupies the stream for so long.
void keep_busy(cudaStream_t stream, double ms);

/// Images of one size, one behind the other in memory, used in turns so that none is found in the cache.
struct Rotation {
    std::size_t stride = 0;  ///< bytes from one to the next: a multiple of 256
    int copies = 1;

    /// For images of so many bytes in a buffer of so many: as many as are needed, or fit.
    Rotation(std::size_t image_bytes, std::size_t buffer_bytes, int gpu);
    void* at(const DeviceMemory& buffer, int turn) const {
        return buffer.as<char>() + stride * static_cast<std::size_t>(turn % copies);
    }
};

/// One read-only sweep over so many bytes: the fastest launch configuration.
Timing time_sweep(GpuTimer& timer, const DeviceMemory& buffer, std::size_t bytes, int gpu);
/// Over an image larger than the cache.
Timing time_sweep(GpuTimer& timer, const ImageView& view);
/// One copy of so many bytes from one buffer to the other: the fastest of cudaMemcpyAsync in a stream and in a graph,
/// which are not the same, and enqueue_copy.
Timing time_copy(GpuTimer& timer, const DeviceMemory& to, const DeviceMemory& from, std::size_t bytes, int gpu);

}  // namespace gpuhist::bench
