// Failures with files, in one form: "NAME: CAUSE".
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "gpuhist/error.hpp"

namespace gpuhist::io {

/// Failure of a system call: "NAME: WHAT: the system's words", with the kind for its error number.
inline IoError system_failure(const std::string& name, const std::string& what, int error) {
    using Kind = IoError::Kind;
    Kind kind = Kind::other;
    if (error == ENOENT || error == ENOTDIR) kind = Kind::missing;
    if (error == EACCES || error == EPERM) kind = Kind::permission;
    if (error == ENOSPC || error == EDQUOT) kind = Kind::no_space;
    return IoError(name + ": " + what + ": " + std::generic_category().message(error), kind);
}

[[noreturn]] inline void fail(const std::string& name, const std::string& cause,
                              IoError::Kind kind = IoError::Kind::other) {
    throw IoError(name + ": " + cause, kind);
}

}  // namespace gpuhist::io
