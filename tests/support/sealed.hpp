// Texts with checksums, changed: what a checksum finds is tested once, and what it does not behind it.
#pragma once

#include <string>

#include "gpuhist/io/checksum.hpp"

namespace gpuhist::test {

/// JSON object with the checksum that it should have, whether it had one or not.
inline std::string resealed(std::string text) {
    const std::size_t seal = text.rfind(",\"checksum\":\"");
    if (seal != text.npos) return io::seal_json(text.erase(seal) + "}");
    return io::seal_json(text.substr(0, text.rfind('}')) + "}");
}

/// Length and checksums of a file that holds this text.
inline io::FileChecksums checksums_of(const std::string& text) {
    io::BlockChecksums sums;
    sums.add(text.data(), text.size());
    return sums.all();
}

}  // namespace gpuhist::test
