#include "gpuhist/io/constants.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::io {
namespace {

constexpr std::size_t most_channels = 64;
constexpr int most_depth = 8;  ///< brackets in brackets

/// List of numbers in a text, and the name before it.
struct Found {
    std::string name;  ///< in small letters; empty: none
    std::vector<Constant> numbers;
    std::uint64_t line = 0;
};

/// Text without comments, whose places stay as they are.
std::string without_comments(std::string_view text) {
    std::string plain(text);
    bool comment = false;
    char quote = 0;
    for (char& c : plain) {
        if (c == '\n') {
            comment = false;
            quote = 0;
        } else if (comment) {
            c = ' ';
        } else if (quote != 0) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '#') {
            comment = true;
            c = ' ';
        }
    }
    return plain;
}

class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(without_comments(text)) {}

    std::vector<Found> lists() {
        std::vector<Found> found;
        std::string name;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (is_name(c)) {
                name = take_name();
                skip_quote();
                if (take_separator()) {
                    const std::uint64_t line = line_of(at_);
                    if (auto numbers = take_value()) {
                        found.push_back({name, std::move(*numbers), line});
                        name.clear();
                    }
                }
                continue;
            }
            if (c == '[' || c == '(') {
                const std::uint64_t line = line_of(at_);
                const std::size_t start = at_;
                if (auto numbers = take_list()) {
                    found.push_back({"", std::move(*numbers), line});
                    continue;
                }
                at_ = start;
            }
            ++at_;
        }
        return found;
    }

  private:
    static bool is_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
    static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
    char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    std::string take_name() {
        std::string name;
        for (; is_name(here()) || std::isdigit(static_cast<unsigned char>(here())) != 0 || here() == '-'; ++at_)
            name += static_cast<char>(std::tolower(static_cast<unsigned char>(here())));
        return name;
    }
    void skip_quote() {
        if (here() == '"' || here() == '\'') ++at_;
    }
    void skip_spaces() {
        while (is_space(here())) ++at_;
    }
    void skip_white() {
        while (is_space(here()) || here() == '\n') ++at_;
    }
    /// Takes : or = behind a name.
    bool take_separator() {
        const std::size_t start = at_;
        skip_spaces();
        if ((here() == ':' || here() == '=') && text_.compare(at_, 2, "==") != 0) {
            ++at_;
            return true;
        }
        at_ = start;
        return false;
    }

    /// Takes a list, lines with -, or a number. Else leaves the place behind the separator.
    std::optional<std::vector<Constant>> take_value() {
        const std::size_t start = at_;
        skip_spaces();
        // A call such as np.array([…]) or torch.tensor((…)).
        while (is_name(here()) || here() == '.') ++at_;
        skip_spaces();
        if (here() == '[' || here() == '(') {
            if (auto numbers = take_list()) return numbers;
        } else if (here() == '\n') {
            if (auto numbers = take_lines()) return numbers;
        } else if (at_ == start || is_space(text_[at_ - 1]) || text_[at_ - 1] == ':' || text_[at_ - 1] == '=') {
            if (const auto number = take_number()) return std::vector{*number};
        }
        at_ = start;
        return std::nullopt;
    }

    /// Takes numbers in brackets. Further brackets may be around all of them, or around each.
    std::optional<std::vector<Constant>> take_list() {
        std::vector<Constant> numbers;
        int depth = 0;
        std::size_t lists = 0, longest = 0, length = 0;  // of numbers without brackets between them
        for (;;) {
            skip_white();
            const char c = here();
            if ((c == '[' || c == '(') && depth < most_depth) {
                ++depth;
                ++at_;
            } else if (c == ']' || c == ')') {
                ++at_;
                lists += length > 0;
                longest = std::max(longest, std::exchange(length, 0));
                if (--depth <= 0) break;
            } else if (c == ',') {
                ++at_;
            } else if (const auto number = take_number(); number && numbers.size() < most_channels) {
                numbers.push_back(*number);
                ++length;
            } else {
                return std::nullopt;
            }
        }
        if (numbers.empty() || (lists > 1 && longest > 1)) return std::nullopt;
        skip_spaces();
        if (here() == '/') {  // np.array([…]) / 255 divides all
            ++at_;
            skip_spaces();
            if (const auto divisor = take_plain_number(); divisor && divisor->value != 0)
                for (Constant& number : numbers) number = divided(number, divisor->value);
        }
        return numbers;
    }

    /// Takes the lines of a list of YAML.
    std::optional<std::vector<Constant>> take_lines() {
        std::vector<Constant> numbers;
        for (;;) {
            const std::size_t start = at_;
            skip_white();
            if (here() != '-' || !is_space(at_ + 1 < text_.size() ? text_[at_ + 1] : '\0')) {
                at_ = start;
                break;
            }
            ++at_;
            skip_spaces();
            const auto number = take_number();
            if (!number || numbers.size() == most_channels) return std::nullopt;
            numbers.push_back(*number);
        }
        return numbers.empty() ? std::nullopt : std::optional(numbers);
    }

    std::optional<Constant> take_number() {
        auto number = take_plain_number();
        if (!number) return std::nullopt;
        const std::size_t start = at_;
        skip_spaces();
        if (here() == '/') {
            ++at_;
            skip_spaces();
            if (const auto divisor = take_plain_number(); divisor && divisor->value != 0)
                return divided(*number, divisor->value);
        }
        at_ = start;
        return number;
    }
    static Constant divided(const Constant& number, double divisor) {
        return {number.value / divisor, std::abs(number.half_digit / divisor)};
    }

    std::optional<Constant> take_plain_number() {
        const char* const begin = text_.data() + at_;
        const char* const first = *begin == '+' ? begin + 1 : begin;
        Constant number;
        const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), number.value);
        if (error != std::errc() || !std::isfinite(number.value)) return std::nullopt;
        const std::string_view digits(first, static_cast<std::size_t>(end - first));
        const std::size_t exponent = std::min(digits.find_first_of("eE"), digits.size()), point = digits.find('.');
        int power = 0;
        if (exponent < digits.size()) {
            const char* from = digits.data() + exponent + 1;
            if (*from == '+') ++from;
            std::from_chars(from, digits.data() + digits.size(), power);
        }
        if (point < exponent) power -= static_cast<int>(exponent - point - 1);
        number.half_digit = 0.5 * std::pow(10.0, power);
        at_ += static_cast<std::size_t>(end - begin);
        if (is_name(here())) return std::nullopt;  // 3rd
        return number;
    }

    /// Line of a place, which is never before that of the last call.
    std::uint64_t line_of(std::size_t place) {
        for (; counted_ < place; ++counted_) line_ += text_[counted_] == '\n';
        return line_;
    }

    const std::string text_;
    std::size_t at_ = 0, counted_ = 0;
    std::uint64_t line_ = 1;
};

bool same_numbers(const Found& a, const Found& b) {
    return std::equal(a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(),
                      [](const Constant& one, const Constant& other) { return one.value == other.value; });
}

std::string lines_of(const Found& a, const Found& b) {
    return "lines " + std::to_string(a.line) + " and " + std::to_string(b.line);
}

/// The list whose name contains a word. Single numbers are taken only if there is no list of several.
const Found* named(const std::vector<Found>& lists, const char* word, const std::string& name) {
    const auto has_name = [&](const Found& list) { return list.name.find(word) != list.name.npos; };
    const bool several = std::any_of(lists.begin(), lists.end(),
                                     [&](const Found& list) { return has_name(list) && list.numbers.size() > 1; });
    const Found* only = nullptr;
    for (const Found& list : lists) {
        if (!has_name(list) || (several && list.numbers.size() == 1)) continue;
        if (only && !same_numbers(*only, list))
            throw IoError(name + ": several lists are called " + word + ", and differ: " + lines_of(*only, list));
        if (!only) only = &list;
    }
    return only;
}

}  // namespace

Constants parse_constants(std::string_view text, const std::string& name) {
    const std::vector<Found> lists = Scanner(text).lists();
    const Found *mean = named(lists, "mean", name), *std = named(lists, "std", name);
    if (!mean != !std)
        throw IoError(name + ": has a " + (mean ? "mean" : "std") + ", in line " +
                      std::to_string((mean ? mean : std)->line) + ", but no " + (mean ? "std" : "mean"));
    for (std::size_t i = 0; !mean && i + 1 < lists.size(); ++i)
        if (lists[i].name.empty() && lists[i + 1].name.empty() &&
            lists[i].numbers.size() == lists[i + 1].numbers.size()) {
            mean = &lists[i];
            std = &lists[i + 1];
        }
    if (!mean)
        throw IoError(name + ": has no constants: expected lists of numbers called mean and std, or two such lists");
    if (mean->numbers.size() != std->numbers.size())
        throw IoError(name + ": mean has " + std::to_string(mean->numbers.size()) + " numbers, and std " +
                      std::to_string(std->numbers.size()) + ": " + lines_of(*mean, *std));
    for (const Constant& number : std->numbers)
        if (!(number.value > 0)) throw IoError(name + ": line " + std::to_string(std->line) + ": a std is over 0");
    return {mean->numbers, std->numbers, mean->line, std->line};
}

Constants read_constants(const std::filesystem::path& path) {
    return parse_constants(read_text(path), path.string());
}

}  // namespace gpuhist::io
