// Open files of the system.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace gpuhist::io {

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
    /// Hands it over to the caller.
    int release() { return std::exchange(number_, -1); }
    /// Closes now. Returns errno if that fails, for example because written data could not be stored.
    int close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

  private:
    int number_;
};

}  // namespace gpuhist::io
