// JPEGs decoded on the GPU: whole batches from compressed files in host memory to pixels in device memory, by one
// thread and by several, beside nvJPEG; and the time of each kernel.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "bench/gpu_timing.hpp"
#include "bench/nvjpeg_peer.hpp"
#include "bench/pictures.hpp"
#include "bench/report.hpp"
#include "cuda/jpeg/batch.hpp"
#include "gpuhist/jpeg.hpp"
#include "support/jpeg_files.hpp"

namespace gpuhist::bench {
namespace {

struct Options {
    std::string image, only;
    int gpu = 0, threads = 4, megapixels = 400;
    double seconds = 1.5;
};

struct Files {
    int width, height;
    std::vector<jpeg_files::Bytes> different;
    std::vector<JpegFile> batch;
    double megapixels = 0, bytes = 0;  ///< of a batch
};

/// A batch of one size, whose files differ: a photograph from several places on.
Files make_files(const cv::Mat& photograph, int width, int height, int megapixels) {
    Files files{width, height, {}, {}};
    jpeg_files::JpegOptions options;
    options.across = options.down = 2;
    for (int i = 0; i < 16; ++i) {
        const cv::Mat all = tiled(photograph, {width + 8 * i, height + 24 * i});
        files.different.push_back(jpeg_files::make_jpeg(all({8 * i, 24 * i, width, height}).clone(), options));
    }
    const double of_one = 1e-6 * width * height;
    const int count = std::max(8, static_cast<int>(megapixels / of_one));
    for (int i = 0; i < count; ++i) {
        const jpeg_files::Bytes& file = files.different[static_cast<std::size_t>(i) % files.different.size()];
        files.batch.push_back({file.data(), file.size()});
        files.bytes += static_cast<double>(file.size());
    }
    files.megapixels = of_one * count;
    return files;
}

class Stream {
  public:
    Stream() { BENCH_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

/// Work of a thread: makes what it needs, and returns what decodes a batch.
using Worker = std::function<std::function<void()>()>;

/// Batches per second of several threads that do the same until time is up. What they make first is not timed.
double batches_per_second(int threads, double seconds, const Worker& worker) {
    std::atomic<int> ready = 0, batches = 0;
    std::atomic<bool> begin = false, end = false;
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(threads));
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            try {
                const std::function<void()> decode = worker();
                for (int i = 0; i < 2; ++i) decode();
                ++ready;
                while (!begin) std::this_thread::yield();
                while (!end) {
                    decode();
                    ++batches;
                }
            } catch (...) {
                failures[static_cast<std::size_t>(t)] = std::current_exception();
                ++ready;
            }
        });
    while (ready < threads) std::this_thread::yield();
    const double ms = milliseconds([&] {
        begin = true;
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        end = true;
        for (std::thread& thread : all) thread.join();
    });
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
    return 1000 * batches / ms;
}

void check_pixels(const Files& files, const JpegDecoder& decoder) {
    for (std::size_t i = 0; i < files.different.size() && i < files.batch.size(); ++i) {
        const JpegImage& image = decoder[static_cast<std::int64_t>(i)];
        if (!image.reason.empty()) throw std::runtime_error("a file is not decoded: " + image.reason);
        const cv::Mat expected = jpeg_files::pixels_of(files.different[i]);
        cv::Mat pixels(expected.size(), expected.type());
        BENCH_CUDA(
            cudaMemcpy(pixels.data, image.view.data, pixels.total() * pixels.elemSize(), cudaMemcpyDeviceToHost));
        if (std::memcmp(pixels.data, expected.data, pixels.total() * pixels.elemSize()) != 0)
            throw std::runtime_error("pixels are not libjpeg's");
    }
}

/// Events behind the launches of a batch.
std::vector<std::pair<std::string, cudaEvent_t>> marks;
void mark(const char* kernel, cudaStream_t stream) {
    cudaEvent_t event = nullptr;
    BENCH_CUDA(cudaEventCreate(&event));
    BENCH_CUDA(cudaEventRecord(event, stream));
    marks.emplace_back(kernel, event);
}

/// Prints the time of each kernel of a batch, the median of several; before these that of copies and zeros.
void print_kernels(const Files& files, int gpu) {
    const Stream stream;
    JpegDecoder decoder({gpu});
    const auto count = static_cast<std::int64_t>(files.batch.size());
    std::map<std::string, std::vector<double>> times;
    std::vector<std::string> names;
    for (int turn = 0; turn < 9; ++turn) {
        mark("begin", stream);
        cuda::jpeg_launched = mark;
        decoder.enqueue(files.batch.data(), count, stream);
        cuda::jpeg_launched = nullptr;
        decoder.finish();
        if (turn == 0) check_pixels(files, decoder);
        for (std::size_t i = 0; i < marks.size(); ++i) {
            float ms = 0;
            if (i > 0) BENCH_CUDA(cudaEventElapsedTime(&ms, marks[i - 1].second, marks[i].second));
            if (turn > 0 && i > 0) times[marks[i].first].push_back(static_cast<double>(ms));
            if (turn == 0 && i > 0) names.push_back(marks[i].first);
        }
        for (const auto& [name, event] : marks) BENCH_CUDA(cudaEventDestroy(event));
        marks.clear();
    }
    std::printf("  kernels:");
    double sum = 0;
    for (const std::string& name : names) {
        const double ms = timing_of(times[name]).median_ms;
        std::printf("  %s %.3f ms", name.c_str(), ms);
        if (name != names.front()) sum += ms;
    }
    std::printf("\n  without copies: %.0f MP/s\n", 1000 * files.megapixels / sum);
}

void print_rate(const char* tool, int threads, const Files& files, double batches) {
    std::printf("  %-28s %2d threads %10.0f MP/s %10.0f images/s %8.2f GB/s compressed\n", tool, threads,
                batches * files.megapixels, batches * static_cast<double>(files.batch.size()),
                1e-9 * batches * files.bytes);
}

void measure(const Files& files, const Options& options) {
    std::printf("\n%d x %d, 4:2:0, quality 90: %zu files per batch, %.0f MP, %.2f bits per pixel\n", files.width,
                files.height, files.batch.size(), files.megapixels, 8e-6 * files.bytes / files.megapixels);
    print_kernels(files, options.gpu);
    const auto count = static_cast<std::int64_t>(files.batch.size());
    const Worker ours = [&]() -> std::function<void()> {
        struct Both {
            Stream stream;
            JpegDecoder decoder[2];
            int turn = 0;
            explicit Both(int gpu) : decoder{JpegDecoder({gpu}), JpegDecoder({gpu})} {}
        };
        BENCH_CUDA(cudaSetDevice(options.gpu));
        auto both = std::make_shared<Both>(options.gpu);
        return [both, &files, count] {  // the next batch is staged while the one before is decoded
            both->decoder[both->turn].enqueue(files.batch.data(), count, both->stream);
            both->turn ^= 1;
            both->decoder[both->turn].finish();
        };
    };
    for (const int threads : {1, options.threads})
        print_rate("gpuhist", threads, files, batches_per_second(threads, options.seconds, ours));
    for (const auto& [name, backend] : {std::pair{"nvJPEG, hardware, batched", NvJpeg::Backend::hardware},
                                        std::pair{"nvJPEG, CUDA, batched", NvJpeg::Backend::gpu}}) {
        const Worker theirs = [&, backend = backend]() -> std::function<void()> {
            struct Peer {
                Stream stream;
                NvJpeg decoder;
                DeviceMemory pixels;
                std::vector<const unsigned char*> data;
                std::vector<std::size_t> bytes;
                Peer(NvJpeg::Backend of, const Files& files)
                    : decoder(of, static_cast<int>(files.batch.size())),
                      pixels(files.batch.size() * static_cast<std::size_t>(files.width) *
                             static_cast<std::size_t>(files.height) * 3) {
                    for (const JpegFile& file : files.batch) {
                        data.push_back(static_cast<const unsigned char*>(file.data));
                        bytes.push_back(file.bytes);
                    }
                }
            };
            BENCH_CUDA(cudaSetDevice(options.gpu));
            auto peer = std::make_shared<Peer>(backend, files);
            return [peer, &files] {
                peer->decoder.decode(peer->data, peer->bytes, peer->pixels.as<unsigned char>(), files.width,
                                     files.height, peer->stream);
            };
        };
        try {
            for (const int threads : {1, options.threads})
                print_rate(name, threads, files, batches_per_second(threads, options.seconds, theirs));
        } catch (const Unavailable& reason) {
            std::printf("  %-28s %s\n", name, reason.what());
        }
    }
}

void run(const Options& options) {
    require_release();
    BENCH_CUDA(cudaSetDevice(options.gpu));
    std::printf("%s\n", machine_text(options.gpu).c_str());
    const Picture picture = natural_picture(options.image);
    std::printf("picture: %s\n", picture.name.c_str());
    const cv::Mat photograph = with_channels(picture.pixels, 3);
    for (const auto& [width, height] : {std::pair{640, 480}, {1920, 1080}, {4000, 3000}}) {
        if ((std::to_string(width) + "x" + std::to_string(height)).find(options.only) == std::string::npos) continue;
        measure(make_files(photograph, width, height, options.megapixels), options);
    }
}

}  // namespace

void add_jpeg(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("jpeg", "JPEGs decoded on the GPU, beside nvJPEG");
    command->add_option("--image", options->image, "Another photograph")->check(CLI::ExistingFile);
    command->add_option("--only", options->only, "Only sizes with this in them, as 4000x3000");
    command->add_option("--gpu", options->gpu, "Number of the GPU")->capture_default_str();
    command->add_option("--threads", options->threads, "Threads with a decoder each, beside one")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->add_option("--megapixels", options->megapixels, "Of a batch")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->add_option("--seconds", options->seconds, "Of each measurement")->capture_default_str();
    command->callback([options] { run(*options); });
}

}  // namespace gpuhist::bench
