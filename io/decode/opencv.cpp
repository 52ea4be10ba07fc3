// Images by OpenCV's decoders, whose library is loaded when the first is asked for.
#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <exception>
#include <filesystem>

#include "decode/color_space.hpp"
#include "decode/formats.hpp"
#include "files/bytes.hpp"
#include "files/descriptor.hpp"
#include "files/failure.hpp"
#include "files/regular_file.hpp"
#include "opencv/door.hpp"

namespace gpuhist::io {
namespace {

namespace fs = std::filesystem;
using Kind = IoError::Kind;

constexpr const char* library_name = "libgpuhist-opencv.so";
constexpr int unchanged = -1;  // cv::IMREAD_UNCHANGED

/// Functions of the library.
struct Door {
    decltype(&gpuhist_opencv_read) read = nullptr;
    decltype(&gpuhist_opencv_version) version = nullptr;
    std::string problem;  ///< why there are none
};

/// Paths of the library: beside the program or the library of which this is a part, where it is installed, and where
/// the loader looks.
std::vector<std::string> library_paths() {
    std::vector<std::string> paths;
    Dl_info info{};
    std::error_code failed;
    if (dladdr(reinterpret_cast<const void*>(&library_paths), &info) != 0 && info.dli_fname) {
        fs::path self(info.dli_fname);
        if (const fs::path program = fs::read_symlink("/proc/self/exe", failed); !failed && !self.has_parent_path())
            self = program;  // called by its name alone
        const fs::path folder = fs::canonical(self, failed).parent_path();
        if (!failed)
            for (const char* way : {".", "../" GPUHIST_LIBDIR, "../lib"})
                paths.push_back((folder / way / library_name).lexically_normal().string());
    }
    paths.emplace_back(library_name);
    return paths;
}

const Door& door() {
    static const Door opened = [] {
        Door found;
        void* library = nullptr;
        std::error_code failed;
        for (const std::string& path : library_paths()) {
            if (path != library_name && !fs::exists(path, failed)) continue;
            library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (library) break;
            const char* why = dlerror();
            found.problem = why ? why : path;
        }
        if (library) {
            found.problem.clear();
            found.read = reinterpret_cast<decltype(found.read)>(dlsym(library, "gpuhist_opencv_read"));
            found.version = reinterpret_cast<decltype(found.version)>(dlsym(library, "gpuhist_opencv_version"));
            if (!found.read || !found.version) found.problem = std::string(library_name) + " is of another version";
        }
        return found;
    }();
    return opened;
}

/// Rows that come through the door, and the memory for them.
struct Rows {
    const EncodedImage& file;
    std::uint64_t file_bytes = 0;
    cv::Mat pixels{};
    std::exception_ptr failure{};

    int take(int rows, int columns, int type, int row, const unsigned char* samples, std::size_t bytes) {
        try {
            if (row == 0) {
                const auto height = static_cast<std::uint64_t>(rows), width = static_cast<std::uint64_t>(columns);
                const auto pixel = static_cast<std::uint64_t>(CV_ELEM_SIZE(type));
                if (height * width > file.options.max_pixels)
                    file.refuse("it has " + std::to_string(width) + " x " + std::to_string(height) +
                                    " pixels, more than the " + std::to_string(file.options.max_pixels) +
                                    " allowed: raise the limit if you trust the file",
                                Kind::too_large);
                if (file.options.sides) file.options.sides(width, height);
                if (file.options.admit) file.options.admit(file_bytes, 2 * height * width * pixel);  // OpenCV's too
                pixels = file.allocate(height, width, type);
            }
            std::memcpy(pixels.ptr(row), samples, bytes);
            return 1;
        } catch (...) {
            failure = std::current_exception();
            return 0;
        }
    }
};

int take_row(void* self, int rows, int columns, int type, int row, const unsigned char* samples, std::size_t bytes) {
    return static_cast<Rows*>(self)->take(rows, columns, type, row, samples, bytes);
}

}  // namespace

std::string opencv_decoder_problem() {
    if (door().problem.empty()) return {};
    return "OpenCV's decoders are not installed with gpuhist (" + door().problem +
           "): build gpuhist with Debian's libopencv-imgcodecs-dev";
}

std::string opencv_decoder_version() {
    return door().problem.empty() ? door().version() : "";
}

Image read_image_by_opencv(const fs::path& path, const DecodeOptions& options) {
    const std::string name = path.string();
    if (!door().problem.empty()) throw IoError(name + ": " + opencv_decoder_problem(), Kind::unsupported);
    if (options.page > 1) throw IoError(name + ": OpenCV's decoders read the first page only", Kind::unsupported);
    Descriptor file(open_input(path, name));
    struct stat status {};
    if (fstat(file.get(), &status) != 0) throw system_failure(name, "cannot be read", errno);
    if (!S_ISREG(status.st_mode))
        throw IoError(name + ": OpenCV's decoders read regular files only", Kind::unsupported);
    // A known header tells the size before OpenCV takes memory.
    std::vector<unsigned char> first(
        static_cast<std::size_t>(std::min<off_t>(status.st_size, static_cast<off_t>(first_bytes))));
    first.resize(read_at(file.get(), first.data(), first.size(), 0, name));
    const Probe found = probe(Bytes(first.data(), first.size()));
    const auto bytes = static_cast<std::uint64_t>(status.st_size);
    const EncodedImage about{Bytes(nullptr, 0), found, name, options};
    const std::uint64_t claimed = saturating_product(found.width, found.height);
    if (claimed > options.max_pixels)
        about.refuse("its header claims " + std::to_string(found.width) + " x " + std::to_string(found.height) +
                         " pixels, more than the " + std::to_string(options.max_pixels) +
                         " allowed: raise the limit if you trust the file",
                     Kind::too_large);
    if (options.admit)
        options.admit(bytes, saturating_product(claimed, 2 * std::max<std::uint64_t>(1, found.pixel_bytes)));
    Rows rows{about, bytes};
    std::array<char, 1024> words{};
    const int code = door().read(name.c_str(), unchanged, take_row, &rows, words.data(), words.size());
    if (rows.failure) std::rethrow_exception(rows.failure);
    if (code != 0 && words[0] != '\0') about.refuse("OpenCV: " + std::string(words.data()));
    Image image = image_of_opencv(std::move(rows.pixels), name);
    if (found.format) image.format = found.format->name;
    image.linear = is_linear(found.format);
    convert_to_space(image, name, options, about.threads());
    return image;
}

}  // namespace gpuhist::io
