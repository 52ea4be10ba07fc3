#include "bench/nvjpeg_peer.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace gpuhist::bench {
namespace {

/// Image of nvJPEG's, whose header may not be there.
struct NvImage {
    unsigned char* channel[4];
    std::size_t pitch[4];
};
constexpr int output_bgr_interleaved = 6;

void check(int status, const char* function) {
    if (status != 0) throw Unavailable(std::string(function) + ": status " + std::to_string(status));
}

}  // namespace

struct NvJpeg::Library {
    void* file = nullptr;
    int (*create)(int backend, void* device, void* pinned, unsigned flags, void** handle) = nullptr;
    int (*destroy)(void* handle) = nullptr;
    int (*create_state)(void* handle, void** state) = nullptr;
    int (*destroy_state)(void* state) = nullptr;
    int (*initialize)(void* handle, void* state, int batch, int threads, int format) = nullptr;
    int (*decode)(void* handle, void* state, const unsigned char* const* data, const std::size_t* lengths,
                  NvImage* images, cudaStream_t stream) = nullptr;

    Library() {
        for (const char* name : {"libnvjpeg.so", "libnvjpeg.so.13", "libnvjpeg.so.12",
                                 "/usr/local/cuda/lib64/libnvjpeg.so.13", "/usr/local/cuda/lib64/libnvjpeg.so.12"})
            if ((file = dlopen(name, RTLD_NOW))) break;
        if (!file) throw Unavailable("there is no libnvjpeg.so");
        find(create, "nvjpegCreateEx");
        find(destroy, "nvjpegDestroy");
        find(create_state, "nvjpegJpegStateCreate");
        find(destroy_state, "nvjpegJpegStateDestroy");
        find(initialize, "nvjpegDecodeBatchedInitialize");
        find(decode, "nvjpegDecodeBatched");
    }
    template <class Function>
    void find(Function& function, const char* name) const {
        function = reinterpret_cast<Function>(dlsym(file, name));
        if (!function) throw Unavailable(std::string("libnvjpeg.so has no ") + name);
    }
};

NvJpeg::NvJpeg(Backend backend, int batch) : library_(std::make_unique<Library>()) {
    check(library_->create(static_cast<int>(backend), nullptr, nullptr, 0, &handle_), "nvjpegCreateEx");
    check(library_->create_state(handle_, &state_), "nvjpegJpegStateCreate");
    check(library_->initialize(handle_, state_, batch, 1, output_bgr_interleaved), "nvjpegDecodeBatchedInitialize");
}
NvJpeg::~NvJpeg() {
    if (state_) library_->destroy_state(state_);
    if (handle_) library_->destroy(handle_);
}

void NvJpeg::decode(const std::vector<const unsigned char*>& files, const std::vector<std::size_t>& bytes,
                    unsigned char* pixels, int width, int height, cudaStream_t stream) {
    const std::size_t row = 3 * static_cast<std::size_t>(width), size = row * static_cast<std::size_t>(height);
    std::vector<NvImage> images(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        images[i].channel[0] = pixels + i * size;
        images[i].pitch[0] = row;
    }
    check(library_->decode(handle_, state_, files.data(), bytes.data(), images.data(), stream), "nvjpegDecodeBatched");
    BENCH_CUDA(cudaStreamSynchronize(stream));
}

}  // namespace gpuhist::bench
