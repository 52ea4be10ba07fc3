// Headers, and samples, that are text: words parted by white space.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>

#include "decode/bytes.hpp"

namespace gpuhist::io {

/// Words of a file, one after the other. `#` begins a comment to the end of the line, also right behind a word.
class Words {
  public:
    Words(const Bytes& file, std::uint64_t position) : file_(file), position_(position) {}

    bool at_end() const { return position_ >= file_.size(); }
    std::uint64_t position() const { return position_; }

    /// Next word; empty at the end of the file.
    std::string_view word() {
        if (!skip()) return {};
        const std::uint64_t start = position_;
        while (!parted()) ++position_;
        return file_.text(start, position_ - start);
    }
    /// Next word as a number, or 4 000 000 000 where it is larger; nothing where something else follows, or nothing.
    std::optional<std::uint64_t> number() {
        if (!skip()) return std::nullopt;
        std::uint64_t value = 0;
        const std::uint64_t start = position_;
        for (; !at_end() && std::isdigit(file_.byte(position_)); ++position_)
            value = std::min<std::uint64_t>(value * 10 + file_.byte(position_) - '0', 4'000'000'000);
        return position_ == start || !parted() ? std::nullopt : std::optional(value);
    }
    /// Next digit, 0 or 1, which need not be parted from others; nothing where something else follows, or nothing.
    std::optional<std::uint64_t> bit() {
        if (!skip() || (file_.byte(position_) | 1) != '1') return std::nullopt;
        return file_.byte(position_++) - std::uint64_t{'0'};
    }
    /// Goes over the white space, or the comment and its end, that parts a header from binary samples.
    void skip_separator() {
        if (!at_end() && file_.byte(position_) == '#') skip_comment();
        ++position_;
    }

  private:
    bool parted() const { return at_end() || std::isspace(file_.byte(position_)) || file_.byte(position_) == '#'; }

    /// Skips white space and comments; tells whether something follows.
    bool skip() {
        for (; !at_end(); ++position_) {
            if (file_.byte(position_) == '#') {
                skip_comment();
                if (at_end()) break;
            }
            if (!std::isspace(file_.byte(position_))) return true;
        }
        return false;
    }
    void skip_comment() {
        while (!at_end() && file_.byte(position_) != '\n' && file_.byte(position_) != '\r') ++position_;
    }

    Bytes file_;
    std::uint64_t position_;
};

}  // namespace gpuhist::io
