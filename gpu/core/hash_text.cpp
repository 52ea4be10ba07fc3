#include <charconv>

#include "gpuhist/hashes.hpp"

namespace gpuhist {
namespace {

constexpr std::size_t digits = 16;

}  // namespace

std::string hash_text(std::uint64_t hash) {
    std::string text(digits, '0');
    for (std::size_t i = digits; i-- > 0; hash >>= 4) text[i] = "0123456789abcdef"[hash & 15];
    return text;
}
std::string hash_text(const Hash128& hash) {
    return hash_text(hash.high) + hash_text(hash.low);
}

std::optional<std::uint64_t> hash64_of(std::string_view text) {
    std::uint64_t hash = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
    if (text.size() != digits || error != std::errc() || end != text.data() + digits) return std::nullopt;
    return hash;
}
std::optional<Hash128> hash128_of(std::string_view text) {
    if (text.size() != 2 * digits) return std::nullopt;
    const auto high = hash64_of(text.substr(0, digits)), low = hash64_of(text.substr(digits));
    if (!high || !low) return std::nullopt;
    return Hash128{*high, *low};
}

}  // namespace gpuhist
