#include "files/bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>

#include "files/descriptor.hpp"
#include "files/failure.hpp"

namespace gpuhist::io {
namespace {

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
    if (bytes.empty()) fail(name, "empty: there are no bytes in it", IoError::Kind::truncated);
    return bytes;
}

}  // namespace

std::vector<unsigned char> read_bytes(const std::filesystem::path& path,
                                      const std::function<void(std::uint64_t)>& admit) {
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

std::vector<unsigned char> read_bytes(const std::filesystem::path& path) {
    return read_bytes(path, {});
}

std::vector<unsigned char> read_standard_input() {
    return read_all(STDIN_FILENO, 65535, "standard input");
}

}  // namespace gpuhist::io
