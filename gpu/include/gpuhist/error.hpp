/// Exceptions of gpuhist. Every message says what failed, where, and how to mend it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpuhist {

/// Root of the family.
class Error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Argument outside what the function documents.
class InvalidArgument : public Error {
    using Error::Error;
};

/// Image of a depth for which an engine has nothing built; another engine may.
class UnsupportedDepth : public InvalidArgument {
    using InvalidArgument::InvalidArgument;
};

/// Engine that was asked for by name and cannot run here.
class EngineUnavailable : public Error {
    using Error::Error;
};

/// CUDA call or kernel that failed.
class CudaError : public Error {
    using Error::Error;
};

/// Memory of the GPU that does not suffice.
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
        too_large,    ///< more pixels than allowed
        unsupported,  ///< no image, or one of a kind that is not read
        damaged,      ///< the decoder gives up
        memory,
        no_space  ///< the disk is full
    };
    explicit IoError(const std::string& what, Kind kind = Kind::other) : Error(what), kind_(kind) {}
    Kind kind() const { return kind_; }

  private:
    Kind kind_;
};

}  // namespace gpuhist
