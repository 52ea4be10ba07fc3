// A file in memory, for readers that want a path.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

/// Holds what was last put into it, and is there until the program ends.
class MemoryFile {
  public:
    MemoryFile() : number_(memfd_create("fuzz", MFD_CLOEXEC)) {
        if (number_ < 0) std::abort();
    }
    void put(const void* data, std::size_t bytes) const {
        if (ftruncate(number_, 0) != 0 || pwrite(number_, data, bytes, 0) != static_cast<ssize_t>(bytes)) std::abort();
    }
    std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

  private:
    int number_;
};
