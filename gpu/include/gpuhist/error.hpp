/// Exceptions of gpuhist. Every message names the fault, the place and the remedy.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpuhist {

/// Base class of all exceptions of gpuhist.
class Error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Argument that the function does not accept.
class InvalidArgument : public Error {
    using Error::Error;
};

/// Image of a depth that an engine was not built for. Another engine may measure it.
class UnsupportedDepth : public InvalidArgument {
    using InvalidArgument::InvalidArgument;
};

/// Engine that was named, but cannot run here.
class EngineUnavailable : public Error {
    using Error::Error;
};

/// CUDA call or kernel that failed.
class CudaError : public Error {
    using Error::Error;
};

/// GPU without enough memory.
class OutOfMemory : public CudaError {
    using CudaError::CudaError;
};

/// File that cannot be read, decoded or written.
class IoError : public Error {
  public:
    enum class Kind : std::uint8_t {
        other,
        missing,
        permission,
        truncated,
        too_large,    ///< more pixels or bytes than allowed
        unsupported,  ///< not an image, or a variant that gpuhist does not read
        damaged,      ///< wrong data
        memory,
        no_space  ///< the disk is full
    };
    explicit IoError(const std::string& what, Kind kind = Kind::other) : Error(what), kind_(kind) {}
    Kind kind() const { return kind_; }

  private:
    Kind kind_;
};

}  // namespace gpuhist
