// Texts with checksums, changed: what a checksum finds is tested once, and what it does not behind it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// List of the files that a run is writing, as it lies beside them.
inline std::string list_of_a_run(const std::vector<std::string>& names) {
    std::string text = "gpuhist run 1\n";
    std::uint64_t sum = io::checksum(text);
    for (const std::string& name : names) {
        sum = io::checksum(io::checksum_text(sum) + "- " + name);
        text += io::checksum_text(sum) + " - " + name + '\n';
    }
    return text;
}

}  // namespace gpuhist::test
