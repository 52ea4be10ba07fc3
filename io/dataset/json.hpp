// JSON of the files that runs leave for each other: numbers and bytes in it, and its strict reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/statistics.hpp"

namespace gpuhist::io {

using Json = nlohmann::ordered_json;  ///< that is written
/// Value that is read. To keep the members of an object in their order would take time with the square of their number.
using ReadJson = nlohmann::json;

/// Whole number that every reader of JSON keeps: from 2^53 on in a string.
Json whole_number(std::uint64_t value);

/// Whether bytes are UTF-8, as JSON is.
bool is_utf8(std::string_view bytes);

/// Bytes of any value: a string where they are UTF-8, else {"hex": "…"}.
Json byte_string(const std::string& bytes);

/// Bytes in the alphabet of RFC 4648, padded.
std::string base64(std::string_view bytes);

/// Value and its place. Every function throws IoError with both if the value has another type or range than expected.
class JsonReader {
  public:
    /// Root of a text. `name` is for messages. Throws IoError if the text is not JSON.
    static ReadJson parse(std::string_view text, const std::string& name);
    JsonReader(const ReadJson& value, std::string place) : value_(value), place_(std::move(place)) {}

    /// The object has these members and no others.
    const JsonReader& members(std::initializer_list<const char*> names) const { return members(std::vector(names)); }
    /// Checks that the object has these members, and otherwise only members that it may have.
    const JsonReader& members(const std::vector<const char*>& names,
                              const std::vector<const char*>& may_have = {}) const;
    bool has(const char* member) const { return value_.is_object() && value_.contains(member); }
    JsonReader operator[](const char* member) const;
    /// Calls visit(name, value) for the members of an object.
    void each(const std::function<void(const std::string&, const JsonReader&)>& visit) const;
    bool is_null() const { return value_.is_null(); }
    bool is_list() const { return value_.is_array(); }
    bool is_text() const { return value_.is_string(); }
    bool is_number() const { return value_.is_number(); }
    bool is_truth() const { return value_.is_boolean(); }

    std::size_t size() const;  ///< of an array
    JsonReader operator[](std::size_t element) const;

    std::uint64_t whole(std::uint64_t most = ~std::uint64_t{0}) const;  ///< as `whole_number` writes it
    double number() const;                                              ///< finite
    bool truth() const;
    const std::string& text() const;
    std::string bytes() const;  ///< as `byte_string` writes them
    /// Bytes as `base64` writes them, with the padding or, if not `padded`, without.
    std::vector<std::byte> base64(bool padded = true) const;

    /// One of the words' numbers, counted from 0.
    std::size_t one_of(std::initializer_list<const char*> words) const;

    [[noreturn]] void refuse(const std::string& what) const;

  private:
    const ReadJson& value_;
    std::string place_;
};

/// [lower, upper]
Range read_range(const JsonReader& value);

}  // namespace gpuhist::io
