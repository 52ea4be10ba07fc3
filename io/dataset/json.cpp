#include "dataset/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "gpuhist/error.hpp"

namespace gpuhist::io {
namespace {

constexpr std::uint64_t exact_numbers = std::uint64_t{1} << 53;

}  // namespace

Json whole_number(std::uint64_t value) {
    return value < exact_numbers ? Json(value) : Json(std::to_string(value));
}

bool is_utf8(std::string_view bytes) {
    if (std::all_of(bytes.begin(), bytes.end(), [](char byte) { return static_cast<signed char>(byte) >= 0; }))
        return true;
    try {
        static_cast<void>(Json(bytes).dump());
        return true;
    } catch (const Json::type_error&) {
        return false;
    }
}

namespace {
constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned group = 0;
        for (std::size_t j = i; j < i + 3; ++j)
            group = group << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
        for (std::size_t j = 0; j < 4; ++j)
            text += i + j <= bytes.size() ? base64_digits[group >> (18 - 6 * j) & 63] : '=';
    }
    return text;
}

Json byte_string(const std::string& bytes) {
    if (is_utf8(bytes)) return bytes;
    std::string hex;
    for (const char byte : bytes) {
        hex += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
        hex += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
    }
    return Json{{"hex", hex}};
}

ReadJson JsonReader::parse(std::string_view text, const std::string& name) {
    try {
        return ReadJson::parse(text.begin(), text.end());
    } catch (const ReadJson::exception& error) {
        // "[json.exception.parse_error.101] parse error at line 1, column 5: …"
        std::string what = error.what();
        if (const auto end = what.find("] "); end != what.npos) what.erase(0, end + 2);
        throw IoError(name + ": not JSON: " + what);
    }
}

const JsonReader& JsonReader::members(const std::vector<const char*>& names,
                                      const std::vector<const char*>& may_have) const {
    if (!value_.is_object()) refuse("expected an object");
    for (const char* name : names)
        if (!value_.contains(name)) refuse(std::string("'") + name + "' is missing");
    const auto lists = [](const std::vector<const char*>& list, const std::string& name) {
        return std::find(list.begin(), list.end(), name) != list.end();
    };
    for (const auto& item : value_.items())
        if (!lists(names, item.key()) && !lists(may_have, item.key()))
            refuse("'" + item.key() + "' does not belong here");
    return *this;
}

JsonReader JsonReader::operator[](const char* member) const {
    if (!has(member)) refuse(std::string("'") + member + "' is missing");
    return {value_[member], place_ + "/" + member};
}

void JsonReader::each(const std::function<void(const std::string&, const JsonReader&)>& visit) const {
    if (!value_.is_object()) refuse("expected an object");
    for (const auto& item : value_.items()) visit(item.key(), {item.value(), place_ + "/" + item.key()});
}

std::size_t JsonReader::size() const {
    if (!value_.is_array()) refuse("expected an array");
    return value_.size();
}

JsonReader JsonReader::operator[](std::size_t element) const {
    if (element >= size()) refuse("element " + std::to_string(element) + " is missing");
    return {value_[element], place_ + "/" + std::to_string(element)};
}

std::uint64_t JsonReader::whole(std::uint64_t most) const {
    std::uint64_t number = 0;
    if (value_.is_number_unsigned() && value_.get<std::uint64_t>() < exact_numbers) {
        number = value_.get<std::uint64_t>();
    } else {
        const std::string digits = value_.is_string() ? value_.get<std::string>() : std::string();
        const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (status != std::errc() || end != digits.data() + digits.size() || number < exact_numbers ||
            std::to_string(number) != digits)
            refuse("expected a whole number, in quotes from 2^53 on");
    }
    if (number > most) refuse(std::to_string(number) + " is more than " + std::to_string(most));
    return number;
}

double JsonReader::number() const {
    if (!value_.is_number() || !std::isfinite(value_.get<double>())) refuse("expected a number");
    return value_.get<double>();
}

bool JsonReader::truth() const {
    if (!value_.is_boolean()) refuse("expected true or false");
    return value_.get<bool>();
}

const std::string& JsonReader::text() const {
    if (!value_.is_string()) refuse("expected a string");
    return value_.get_ref<const std::string&>();
}

std::string JsonReader::bytes() const {
    if (value_.is_string()) return text();
    const std::string& hex = members({"hex"})["hex"].text();
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        unsigned byte = 0;
        const std::size_t pair = std::min<std::size_t>(2, hex.size() - i);
        const auto [end, status] = std::from_chars(hex.data() + i, hex.data() + i + pair, byte, 16);
        if (status != std::errc() || end != hex.data() + i + 2) refuse("expected two hexadecimal digits per byte");
        bytes += static_cast<char>(byte);
    }
    if (is_utf8(bytes)) refuse("bytes that are UTF-8 are written as a string");
    return bytes;
}

std::vector<std::byte> JsonReader::base64(bool padded) const {
    static const std::array<std::int8_t, 256> values = [] {
        std::array<std::int8_t, 256> table;
        table.fill(-1);
        for (std::size_t i = 0; i < base64_digits.size(); ++i)
            table[static_cast<unsigned char>(base64_digits[i])] = static_cast<std::int8_t>(i);
        return table;
    }();
    std::string_view digits = text();
    if (padded && digits.size() % 4 != 0) refuse("expected Base64");
    for (int i = 0; padded && i < 2 && !digits.empty() && digits.back() == '='; ++i) digits.remove_suffix(1);
    std::vector<std::byte> bytes;
    bytes.reserve(digits.size() * 3 / 4);
    std::uint32_t bits = 0;
    int have = 0;
    for (const char digit : digits) {
        const int number = values[static_cast<unsigned char>(digit)];
        if (number < 0) refuse("expected Base64");
        bits = bits << 6 | static_cast<std::uint32_t>(number);
        if ((have += 6) < 8) continue;
        have -= 8;
        bytes.push_back(static_cast<std::byte>(bits >> have));
    }
    if (have == 6 || (bits & ((1U << have) - 1)) != 0) refuse("expected Base64");  // bits left over
    return bytes;
}

std::size_t JsonReader::one_of(std::initializer_list<const char*> words) const {
    const auto found = std::find(words.begin(), words.end(), text());
    if (found == words.end()) refuse("'" + text() + "' is not known here");
    return static_cast<std::size_t>(found - words.begin());
}

void JsonReader::refuse(const std::string& what) const {
    throw IoError(place_ + ": " + what);
}

Range read_range(const JsonReader& value) {
    if (value.size() != 2) value.refuse("expected two numbers");
    const Range range{value[std::size_t{0}].number(), value[1].number()};
    if (!(range.lower < range.upper)) value.refuse("the lower number comes first");
    return range;
}

}  // namespace gpuhist::io
