#include "gpuhist/io/image_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include "decode/probe.hpp"
#include "files/failure.hpp"
#include "gpuhist/io/walk.hpp"

namespace gpuhist::io {
namespace {

namespace fs = std::filesystem;

// OpenCV reads OpenEXR only where this is set, and looks at its first such file: so set it while there is one thread.
// A value of the user's own stays.
[[maybe_unused]] const int openexr_enabled = ::setenv("OPENCV_IO_ENABLE_OPENEXR", "1", 0);

/// What OpenCV logs is in the exceptions already; a user who sets OpenCV's own variable still sees it.
void silence_opencv() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (!std::getenv("OPENCV_LOG_LEVEL")) cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    });
}

using Kind = IoError::Kind;

/// A file descriptor that is closed when it goes out of scope.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int get() const { return number_; }
    /// Closes now; errno's value where that fails, as it does where written data could not be stored after all.
    int close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

  private:
    int number_;
};

/// Reads to the end of the file, of which `expected` bytes are foreseen.
std::vector<unsigned char> read_all(int descriptor, std::size_t expected, const std::string& name) {
    std::vector<unsigned char> bytes(expected + 1);  // one more, so that the end is met without growing
    std::size_t length = 0;
    for (;;) {
        if (length == bytes.size()) bytes.resize(bytes.size() * 2);
        const ssize_t got = ::read(descriptor, bytes.data() + length, bytes.size() - length);
        if (got == 0) break;
        if (got > 0) {
            length += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
            throw system_failure(name, "cannot be read", errno);
        }
    }
    bytes.resize(length);
    if (bytes.empty()) fail(name, "empty: there are no bytes in it", Kind::truncated);
    return bytes;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

std::string size_text(std::uint64_t width, std::uint64_t height) {
    return std::to_string(width) + " x " + std::to_string(height);
}

/// What can be said before the pixels are decoded. Throws where they must not or cannot be.
Container check(const unsigned char* data, std::size_t size, const std::string& name, const DecodeOptions& options) {
    if (size == 0) fail(name, "empty: there are no bytes in it", Kind::truncated);
    const Container container = inspect(data, size);
    if (container.format == Format::unknown) fail(name, describe_unknown(data, size), Kind::unsupported);
    if (!container.unsupported.empty()) fail(name, container.unsupported, Kind::unsupported);
    const bool sized = container.width != 0 && container.height != 0;
    unsigned long long pixels = 0;
    if (sized && (__builtin_umulll_overflow(container.width, container.height, &pixels) || pixels > options.max_pixels))
        fail(name,
             "its header claims " + size_text(container.width, container.height) + " pixels, more than the " +
                 std::to_string(options.max_pixels) + " allowed: raise the limit if the file is to be trusted",
             Kind::too_large);
    if (!container.damaged.empty()) fail(name, "damaged: " + container.damaged, Kind::damaged);
    const bool accepted = sized && options.on_truncated == OnTruncated::accept;
    if (!container.truncated.empty() && !accepted) fail(name, "truncated: " + container.truncated, Kind::truncated);
    if (!sized)
        fail(name, "damaged: its header claims " + size_text(container.width, container.height) + " pixels",
             Kind::damaged);
    return container;
}

/// UNCHANGED keeps alpha, but also leaves out the orientation; a JPEG has the one and never the other.
int decode_flags(Format format) {
    return format == Format::jpeg ? cv::IMREAD_ANYCOLOR | cv::IMREAD_ANYDEPTH : cv::IMREAD_UNCHANGED;
}

template <class Decode>
cv::Mat decode_checked(const Container& container, const std::string& name, Decode decode) {
    silence_opencv();
    cv::Mat image;
    std::string reason;
    try {
        image = decode();
    } catch (const cv::Exception& error) {
        if (error.code == cv::Error::StsNoMem)
            fail(name, "no memory for " + size_text(container.width, container.height) + " pixels", Kind::memory);
        if (error.err.find("CV_IO_MAX_IMAGE") != std::string::npos)
            fail(name,
                 size_text(container.width, container.height) +
                     " pixels are more than OpenCV reads: set the environment variables "
                     "OPENCV_IO_MAX_IMAGE_PIXELS, OPENCV_IO_MAX_IMAGE_WIDTH and OPENCV_IO_MAX_IMAGE_HEIGHT "
                     "before the program starts",
                 Kind::too_large);
        reason = " (" + first_line(error.err) + ")";
    } catch (const std::bad_alloc&) {
        fail(name, "no memory for " + size_text(container.width, container.height) + " pixels", Kind::memory);
    }
    if (image.empty()) {
        const std::string cause = container.truncated.empty()
                                      ? "damaged, or of a kind that OpenCV does not read"
                                      : "truncated, and nothing can be read of it: " + container.truncated;
        fail(name, std::string("it begins as ") + with_article(container.format) + ", but is " + cause + reason,
             container.truncated.empty() ? Kind::damaged : Kind::truncated);
    }
    constexpr std::array depths{"u8", "s8", "u16", "s16", "s32", "f32", "f64", "f16"};
    const int depth = image.depth();
    if (depth != CV_8U && depth != CV_16U && depth != CV_32F)
        fail(name,
             std::string("depth ") + depths.at(static_cast<std::size_t>(depth)) +
                 " is not supported: gpuhist reads u8, u16 and f32",
             Kind::unsupported);
    const int channels = image.channels();
    if (channels != 1 && channels != 3 && channels != 4)
        fail(name, std::to_string(channels) + " channels are not supported: gpuhist reads 1, 3 or 4",
             Kind::unsupported);
    return image;
}

/// Other bytes for the decoder, of which it makes the same pixels with less complaint; empty where the file will do.
std::string for_decoder(Format format, const std::vector<unsigned char>& bytes) {
    if (format == Format::png) return essential_png(bytes.data(), bytes.size());
    // OpenCV wants white space after the last number of a netpbm file in text.
    if (format == Format::pnm && bytes[1] <= '3' && !std::isspace(bytes.back()))
        return std::string(bytes.begin(), bytes.end()) + '\n';
    return {};
}

cv::Mat imdecode(const void* data, std::size_t size, int flags, cv::MatAllocator* allocator) {
    cv::Mat image;
    image.allocator = allocator;
    return cv::imdecode(cv::Mat(1, static_cast<int>(size), CV_8UC1, const_cast<void*>(data)), flags, &image);
}

/// The most bytes that a decoded pixel takes.
std::uint64_t pixel_bytes(const Container& container, const std::vector<unsigned char>& bytes) {
    switch (container.format) {
        case Format::jpeg:
            return 3;
        case Format::png:  // its header has the bits of a sample at byte 24, fewer than 8 where there is a palette
            return bytes.size() > 24 && bytes[24] == 16 ? 8 : 4;
        case Format::bmp:
        case Format::webp:
        case Format::sun:
            return 4;
        case Format::pnm:
            return 6;
        case Format::jpeg2000:
        case Format::pam:
            return 8;
        case Format::pfm:
        case Format::radiance:
            return 12;
        default:
            return 16;
    }
}

/// `check`, and memory for the file and its pixels is asked for.
Container check_and_admit(const std::vector<unsigned char>& bytes, const std::string& name,
                          const DecodeOptions& options) {
    const Container container = check(bytes.data(), bytes.size(), name, options);
    if (options.admit) options.admit(bytes.size() + container.width * container.height * pixel_bytes(container, bytes));
    return container;
}

}  // namespace

namespace {

std::vector<unsigned char> read_file(const fs::path& path, const std::function<void(std::uint64_t)>& admit) {
    const std::string name = path.string();
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) throw system_failure(name, "cannot be opened", errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) throw system_failure(name, "cannot be read", errno);
    if (S_ISDIR(status.st_mode)) fail(name, "a directory, not a file");
    const auto expected = static_cast<std::size_t>(std::max<off_t>(status.st_size, 4095));
    if (admit) admit(expected);
    return read_all(file.get(), expected, name);
}

}  // namespace

std::vector<unsigned char> read_bytes(const std::filesystem::path& path) {
    return read_file(path, {});
}

std::vector<unsigned char> read_standard_input() {
    return read_all(STDIN_FILENO, 65535, "standard input");
}

cv::Mat decode_image(const std::vector<unsigned char>& bytes, const std::string& name, const DecodeOptions& options) {
    const Container container = check_and_admit(bytes, name, options);
    if (bytes.size() >= INT_MAX)
        fail(name, "2 GiB or more: OpenCV reads only TIFFs of that length, and those from a file", Kind::unsupported);
    return decode_checked(container, name, [&] {
        const int flags = decode_flags(container.format);
        const std::string other = for_decoder(container.format, bytes);
        return other.empty() ? imdecode(bytes.data(), bytes.size(), flags, options.allocator)
                             : imdecode(other.data(), other.size(), flags, options.allocator);
    });
}

cv::Mat read_image(const std::filesystem::path& path, const DecodeOptions& options) {
    const auto bytes = read_file(path, options.admit);
    const std::string name = path.string();
    if (bytes.size() < INT_MAX) return decode_image(bytes, name, options);
    // OpenCV counts bytes in memory with an int, and only libtiff reads longer files.
    const Container container = check_and_admit(bytes, name, options);
    if (container.format != Format::tiff)
        fail(name,
             std::string(with_article(container.format)) + " of 2 GiB or more: OpenCV reads only TIFFs of that length",
             Kind::unsupported);
    return decode_checked(container, name, [&] { return cv::imread(name, decode_flags(container.format)); });
}

const std::string& temporary_prefix() {
    // Not the process's number: on a file system that machines or containers share, others have the same.
    static const std::string prefix = [] {
        std::random_device random;
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), ".gpuhist.%08x%08x-", random(), random());
        return std::string(text.data());
    }();
    return prefix;
}

void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes) {
    const std::string name = path.string();
    const auto give_up = [&](int error) { throw system_failure(name, "cannot be written", error); };

    // A short name of its own: the file's may already be as long as the file system allows.
    static std::atomic<unsigned> counter{0};
    fs::path temporary;
    int number = -1;
    do {
        const unsigned count = counter.fetch_add(1, std::memory_order_relaxed);
        temporary = path.parent_path() / (temporary_prefix() + std::to_string(count) + ".tmp");
        number = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (number < 0 && errno == EEXIST);
    if (number < 0) give_up(errno);

    int error = 0;
    {
        Descriptor file(number);
        const auto* rest = static_cast<const char*>(data);
        while (bytes != 0 && error == 0) {
            const ssize_t written = ::write(file.get(), rest, bytes);
            if (written >= 0) {
                rest += written;
                bytes -= static_cast<std::size_t>(written);
            } else if (errno != EINTR) {
                error = errno;
            }
        }
        const int close_error = file.close();
        if (error == 0) error = close_error;
    }
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) {
        ::unlink(temporary.c_str());
        give_up(error);
    }
}

void write_file(const std::filesystem::path& path, const std::string& text) {
    write_file(path, text.data(), text.size());
}

void write_image(const std::filesystem::path& path, const cv::Mat& image) {
    silence_opencv();
    // PNG: OpenCV's own choice (row differences, run lengths) is twice as fast as any level of zlib one can ask for,
    // and within 6 % of the smallest file. TIFF: its choice for three floats a pixel is SGI LogLuv, which is lossy, and
    // the other compressions are not applied to floats.
    const std::string extension = path.extension().string();
    std::vector<int> parameters;
    if (extension == ".tiff" && image.depth() == CV_32F) parameters = {cv::IMWRITE_TIFF_COMPRESSION, 1};
    std::vector<unsigned char> bytes;
    try {
        if (!cv::imencode(extension, image, bytes, parameters)) bytes.clear();
    } catch (const cv::Exception& error) {
        fail(path.string(), "cannot be encoded: " + first_line(error.err));
    }
    if (bytes.empty()) fail(path.string(), "cannot be encoded");
    write_file(path, bytes.data(), bytes.size());
}

std::vector<std::filesystem::path> list_images(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> images;
    Walk walk(directory.string());
    while (const auto found = walk.next()) {
        if (found->failure) throw IoError(*found->failure);
        images.push_back(directory / found->relative);
    }
    return images;
}

}  // namespace gpuhist::io
