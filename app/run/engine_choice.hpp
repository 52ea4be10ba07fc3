/// Choice between the CPU and the GPU under `auto`, made during the work.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpuhist::app {

/// Where JPEGs are decoded. `automatic`: on the GPU, while the engine works there.
enum class JpegOn { automatic, cpu, gpu };

/// Terms on which `auto` takes the GPU. Seconds were measured beside an H100 (tests/bench/README.md, A1).
struct GpuTerms {
    /// Time until a context is there, in which a core is busy with it. 0: it is made, and waited for, at the start.
    double start_seconds = 0.4;
    /// Time of each thread that the CPU engine must still need: what the context costs the run, its end included.
    double least_seconds = 0.6;
    /// Share of the threads' time that the CPU engine must take: with less of it the GPU hardly shortens the run.
    double least_share = 0.1;
    /// Time of each thread after which the GPU is judged. It begins later by the time that a context takes, for work
    /// that is done only once.
    double trial_seconds = 0.25;
    /// Time that the CPU needs at least to decode a pixel of a JPEG.
    double jpeg_pixel_seconds = 6e-9;
};

/// Tells when the GPU is worth its context, and whether it was. It assumes that later images are like those already
/// measured. If the list is not complete yet, it expects at least as many images again.
class EngineChoice {
  public:
    EngineChoice(const GpuTerms& terms, int threads) : terms_(terms), threads_(threads) {}

    /// Notes images that an engine did, and the seconds for which it kept threads.
    void did(bool on_gpu, std::uint64_t images, double bytes, double seconds) {
        Work& work = on_gpu ? gpu_ : cpu_;
        work.images += static_cast<double>(images);
        work.bytes += bytes;
        work.seconds += seconds;
    }

    /// Returns whether to start the GPU, `elapsed` seconds after the beginning. `waiting`: images that are known to
    /// come. `more`: whether there are others that are not listed yet.
    bool wants_gpu(double elapsed, std::uint64_t waiting, bool more) const {
        if (cpu_.images <= 0 || elapsed < terms_.start_seconds / 16) return false;
        const double left = images_left(waiting, more);
        return cpu_.seconds >= terms_.least_share * elapsed * threads_ && left > 0 &&
               cpu_.seconds / cpu_.images * left >= terms_.least_seconds * threads_;
    }
    /// Returns whether to start the GPU for the JPEGs that are left, before any is decoded. `pixels`: of one of them.
    bool wants_gpu_for_jpegs(double pixels, std::uint64_t waiting, bool more) const {
        return terms_.jpeg_pixel_seconds * pixels * images_left(waiting, more) >= terms_.least_seconds * threads_;
    }

    /// Whether the GPU has had its trial, and then whether it keeps threads for longer than the CPU engine did.
    bool judged() const { return gpu_.seconds >= terms_.trial_seconds * threads_; }
    bool gpu_is_slower() const { return gpu_.seconds * cpu_.bytes > cpu_.seconds * gpu_.bytes; }

    const GpuTerms& terms() const { return terms_; }

  private:
    double images_left(std::uint64_t waiting, bool more) const {
        return std::max(static_cast<double>(waiting), more ? cpu_.images : 0);
    }

    struct Work {
        double images = 0, bytes = 0, seconds = 0;
    };
    const GpuTerms terms_;
    const int threads_;
    Work cpu_, gpu_;
};

}  // namespace gpuhist::app
