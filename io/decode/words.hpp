// Headers that are text: words parted by white space.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "decode/bytes.hpp"

namespace gpuhist::io {

/// Words of a file, one after the other; `#` begins a comment to the end of the line.
class Words {
  public:
    Words(const Bytes& file, std::size_t position) : file_(file), position_(position) {}

    /// The next word; empty at the end of the file.
    std::string_view next() {
        while (position_ < file_.size()) {
            const unsigned char c = *file_.at(position_);
            if (c == '#') {
                skip_line();
            } else if (std::isspace(c)) {
                ++position_;
            } else {
                break;
            }
        }
        const std::size_t start = position_;
        while (position_ < file_.size() && !std::isspace(*file_.at(position_))) ++position_;
        return file_.text(start, position_ - start);
    }

    /// The next word as a number; nothing where it is not one.
    std::optional<std::uint64_t> number() {
        const auto word = next();
        if (word.empty() || word.size() > 18) return std::nullopt;
        std::uint64_t value = 0;
        for (const char c : word) {
            if (c < '0' || c > '9') return std::nullopt;
            value = value * 10 + static_cast<std::uint64_t>(c - '0');
        }
        return value;
    }

    void skip_line() {
        while (position_ < file_.size() && *file_.at(position_) != '\n') ++position_;
        if (position_ < file_.size()) ++position_;
    }

    bool at_end() const { return position_ >= file_.size(); }
    std::size_t position() const { return position_; }

  private:
    Bytes file_;
    std::size_t position_;
};

}  // namespace gpuhist::io
