#include "gpuhist/io/encode.hpp"

#include <fcntl.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <random>

#include "files/descriptor.hpp"
#include "files/failure.hpp"

namespace gpuhist::io {

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
    std::filesystem::path temporary;
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

}  // namespace gpuhist::io
