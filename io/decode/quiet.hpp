// What libraries print to `stderr` is dropped.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <mutex>
#include <utility>

namespace gpuhist::io {

/// Keeps a library that this thread calls from printing to `stderr`, while it is there: libjxl of Debian 12 prints
/// failures, and so do decoders under libavif. What other threads print meanwhile passes.
class Quiet {
  public:
    Quiet() {
        const std::lock_guard lock(mutex);
        ++inside;
#ifdef __GLIBC__
        static FILE* const filter = [] {
            cookie_io_functions_t functions{};
            functions.write = write;
            FILE* file = fopencookie(nullptr, "w", functions);
            if (file) setvbuf(file, nullptr, _IONBF, 0);
            return file;
        }();
        if (filter && count++ == 0) printed = std::exchange(stderr, filter);
#endif
    }
    ~Quiet() {
        const std::lock_guard lock(mutex);
        --inside;
#ifdef __GLIBC__
        if (count > 0 && --count == 0) stderr = printed;
#endif
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

  private:
    static ssize_t write(void*, const char* text, std::size_t bytes) {
        return inside > 0 ? static_cast<ssize_t>(bytes) : ::write(STDERR_FILENO, text, bytes);
    }

    static inline std::mutex mutex;
    static inline thread_local int inside = 0;  ///< calls on this thread
    static inline int count = 0;                ///< on all threads
    static inline FILE* printed = nullptr;
};

}  // namespace gpuhist::io
