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

void write_file(const std::filesystem::path& path, const Pieces& pieces) {
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

    try {
        Descriptor file(number);
        pieces([&](const void* data, std::size_t bytes) {
            const auto* rest = static_cast<const char*>(data);
            while (bytes != 0) {
                const ssize_t written = ::write(file.get(), rest, bytes);
                if (written < 0 && errno == EINTR) continue;
                if (written < 0) give_up(errno);
                rest += written;
                bytes -= static_cast<std::size_t>(written);
            }
        });
        if (const int error = file.close(); error != 0) give_up(error);
        if (::rename(temporary.c_str(), path.c_str()) != 0) give_up(errno);
    } catch (...) {
        ::unlink(temporary.c_str());
        throw;
    }
}

void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes) {
    write_file(path, [&](const auto& take) { take(data, bytes); });
}

void write_file(const std::filesystem::path& path, const std::string& text) {
    write_file(path, text.data(), text.size());
}

}  // namespace gpuhist::io
