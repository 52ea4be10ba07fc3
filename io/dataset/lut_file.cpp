#include "gpuhist/io/lut_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::io {
namespace {

/// Names in a table of traits, in its order.
template <class Traits, std::size_t count>
constexpr std::array<const char*, count> names_of(const Traits (&all)[count]) {
    std::array<const char*, count> names{};
    for (std::size_t i = 0; i < count; ++i) names[i] = all[i].name;
    return names;
}
constexpr auto depths = names_of(all_depths);
constexpr auto modes = names_of(all_normalize_modes);
constexpr std::array<const char*, 2> joints{"separate", "joint"};
constexpr std::string_view copies_start = ", copies ", fill_start = ", fill ";
constexpr std::size_t float_bins = 65536;  // that equalize gives f32

/// The first line is about those below it, so that a file cut short has it still.
constexpr std::string_view checksum_start = "# checksum ",
                           checksum_end = " of the lines below; whoever edits them deletes this line";

/// Line for these, LF or CR LF at their ends: an editor may change them all.
std::string checksum_line(std::string_view lines) {
    Checksum sum;
    for (std::size_t end; !lines.empty(); lines.remove_prefix(end)) {
        end = std::min(lines.find('\n'), lines.size() - 1) + 1;
        std::string_view line = lines.substr(0, end);
        while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
        sum.add(line.data(), line.size());
        sum.add("\n", 1);
    }
    return std::string(checksum_start).append(checksum_text(sum.value())).append(checksum_end);
}

std::string shortest_float(float value) {
    std::array<char, 32> buffer;
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

std::string quoted(std::string_view text) {
    std::string result(1, '\'');
    result.append(text).push_back('\'');
    return result;
}

std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> fields;
    for (std::size_t comma; (comma = line.find(',')) != line.npos; line.remove_prefix(comma + 1))
        fields.push_back(line.substr(0, comma));
    fields.push_back(line);
    return fields;
}

/// Name of the column that names the rows.
const char* first_column(const LutSet& tables) {
    return traits_of(tables.depth).counting == Counting::values ? "value" : "number";
}

/// Name of the row of a code: an integer's value; of f16 the code.
std::string row_of_code(Depth depth, std::uint32_t code) {
    const DepthTraits& traits = traits_of(depth);
    return std::to_string((traits.floating ? 0 : static_cast<std::int64_t>(traits.lowest)) + code);
}

class TablesReader {
  public:
    TablesReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

    std::vector<LutSet> read() {
        std::vector<LutSet> all;
        next();
        if (line_.substr(0, checksum_start.size()) == checksum_start) {
            if (line_ != checksum_line(rest_))
                refuse(
                    "the checksum differs from the lines below: the file is damaged; if you edited it, delete this "
                    "line");
            next();
        }
        do {
            all.push_back(read_tables());
            for (std::size_t i = 0; i + 1 < all.size(); ++i)
                if (all[i].depth == all.back().depth) refuse("tables of this depth were there before");
        } while (more_);
        return all;
    }

  private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw IoError(name_ + ": line " + std::to_string(number_) + ": " + what);
    }

    void next() {
        ++number_;
        more_ = !rest_.empty();
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        line_ = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    }

    /// Takes `start` and one of the words off the line; returns which.
    template <std::size_t count>
    std::size_t take(std::string_view start, const std::array<const char*, count>& words) {
        std::string known;
        for (std::size_t i = 0; i < count; ++i) {
            const std::string expected = std::string(start) + words[i];
            known += (i == 0 ? "" : ", ") + std::string(words[i]);
            const bool ends = line_.size() == expected.size() || line_.substr(0, expected.size() + 1) == expected + ',';
            if (line_.substr(0, expected.size()) != expected || !ends) continue;
            line_.remove_prefix(expected.size());
            return i;
        }
        refuse("expected " + quoted(start) + " and one of " + known);
    }

    LutSet read_tables() {
        LutSet tables;
        if (!more_) refuse("'# gpuhist tables: depth …' is expected, but the file ends");
        tables.depth = static_cast<Depth>(take("# gpuhist tables: depth ", depths));
        tables.mode = static_cast<NormalizeMode>(take(", mode ", modes));
        tables.joint = take(", channels ", joints) == 1;
        if (line_.substr(0, copies_start.size()) == copies_start) {
            tables.copies = static_cast<Depth>(take(copies_start, depths));
            if (traits_of(tables.mode).real && !traits_of(*tables.copies).floating)
                refuse(std::string(to_string(tables.mode)) + " makes no copies of " + to_string(*tables.copies));
            if (traits_of(tables.depth).counting == Counting::values && sample_bytes(*tables.copies) > 2 &&
                *tables.copies != Depth::f32)
                refuse(std::string("a table of ") + to_string(tables.depth) + " makes no copies of " +
                       to_string(*tables.copies) + ", for which it has too few digits");
        }
        if (line_.substr(0, fill_start.size()) == fill_start) {
            line_.remove_prefix(fill_start.size());
            read_fill(tables);
        }
        if (!line_.empty()) refuse("unexpected text: " + quoted(line_));
        read_header(tables);
        const DepthTraits& traits = traits_of(tables.depth);
        if (traits.counting != Counting::values) read_formula_rows(tables);
        for (std::uint32_t code = 0; code < traits.values; ++code) read_row(tables, row_of_code(tables.depth, code));
        next();
        return tables;
    }

    /// Takes the value that stands for nodata off the line, to its end.
    void read_fill(LutSet& tables) {
        double fill = 0;
        const char* const end = line_.data() + line_.size();
        const auto read = std::from_chars(line_.data(), end, fill);
        if (read.ec != std::errc() || read.ptr != end) refuse(quoted(line_) + " is neither a number nor nan");
        if (const std::string refusal = fill_refusal(tables.copy_depth(), fill); !refusal.empty()) refuse(refusal);
        tables.fill = fill;
        line_ = {};
    }

    void read_header(LutSet& tables) {
        next();
        const std::vector<std::vector<Channel>> layouts =
            tables.joint
                ? std::vector<std::vector<Channel>>{{Channel::gray}, {Channel::all}, {Channel::gray, Channel::all}}
                : std::vector<std::vector<Channel>>{{Channel::gray},
                                                    {Channel::red, Channel::green, Channel::blue},
                                                    {Channel::gray, Channel::red, Channel::green, Channel::blue}};
        const std::string first = first_column(tables);
        for (const auto& layout : layouts) {
            std::string header = first;
            for (Channel channel : layout) header.append(",").append(to_string(channel));
            if (line_ != header) continue;
            for (Channel channel : layout) tables.luts.push_back({channel, {}});
            return;
        }
        refuse("expected a header '" + first + "', then " +
               (tables.joint ? "'gray', 'all' or both" : "'gray', 'red,green,blue' or all of them"));
    }

    /// Fields of the next row, the name first.
    std::vector<std::string_view> row_of(const LutSet& tables, const std::string& name) {
        next();
        const auto fields = split(line_);
        if (!more_ || fields[0] != name)
            refuse("expected the row of " + std::string(first_column(tables)) + " " + name);
        if (fields.size() != 1 + tables.luts.size())
            refuse(std::to_string(fields.size()) + " fields, the header has " + std::to_string(1 + tables.luts.size()));
        return fields;
    }

    /// Reads a float or a double; finite.
    template <class Number>
    void read_number(std::string_view field, Number& number) const {
        const char* end = field.data() + field.size();
        const auto read = std::from_chars(field.data(), end, number);
        if (read.ec != std::errc() || read.ptr != end || !(number - number == 0))
            refuse(quoted(field) + " is not a number in " + (sizeof(Number) == sizeof(float) ? "single" : "double") +
                   " precision");
    }

    void read_fraction(std::string_view field, float& number) const {
        read_number(field, number);
        if (!(number >= 0 && number <= 1)) refuse(quoted(field) + " is not a number from 0 to 1");
    }

    /// Rows of a table for samples that are not counted by value. They are checked by the rules of validate() of the
    /// library, so that messages can name the line.
    void read_formula_rows(LutSet& tables) {
        const auto read = [&](const char* name, auto member) {
            const auto fields = row_of(tables, name);
            for (std::size_t i = 0; i < tables.luts.size(); ++i) read_number(fields[i + 1], tables.luts[i].*member);
        };
        const NormalizeNeeds needs = traits_of(tables.mode).needs;
        if (needs == NormalizeNeeds::nothing) return;
        if (needs == NormalizeNeeds::mean_std) {
            read("mean", &LutSet::Lut::mean);
            read("std", &LutSet::Lut::std);
            for (const LutSet::Lut& lut : tables.luts)
                if (lut.std < 0) refuse("a std is not below 0");
            return;
        }
        const bool single = traits_of(tables.depth).counting == Counting::bins;
        const auto read_end = [&](const char* name, double LutSet::Lut::*member) {
            if (!single) return read(name, member);
            const auto fields = row_of(tables, name);
            for (std::size_t i = 0; i < tables.luts.size(); ++i) {
                float number = 0;
                read_number(fields[i + 1], number);
                tables.luts[i].*member = number;
            }
        };
        read_end("lower", &LutSet::Lut::lower);
        read_end("upper", &LutSet::Lut::upper);
        for (const LutSet::Lut& lut : tables.luts)
            if (lut.lower > lut.upper) refuse("an upper value is not below the lower one");
        if (needs != NormalizeNeeds::counts) return;
        if (!single) refuse("there are no tables of such");
        for (std::size_t bin = 0; bin < float_bins; ++bin) {
            const auto fields = row_of(tables, std::to_string(bin));
            for (std::size_t i = 0; i < tables.luts.size(); ++i) {
                LutSet::Lut& lut = tables.luts[i];
                if (lut.lower < lut.upper) {
                    read_fraction(fields[i + 1], lut.values.emplace_back());
                } else if (!fields[i + 1].empty()) {
                    refuse("a channel that stays as it is has no values");
                }
            }
        }
    }

    void read_row(LutSet& tables, const std::string& name) {
        const auto fields = row_of(tables, name);
        const DepthTraits& traits = traits_of(tables.copy_depth());
        const auto lowest = static_cast<std::int64_t>(traits.lowest), top = static_cast<std::int64_t>(traits.highest);
        for (std::size_t i = 0; i < tables.luts.size(); ++i) {
            const std::string_view field = fields[i + 1];
            const char* end = field.data() + field.size();
            if (traits_of(tables.mode).real || (traits.floating && traits_of(tables.depth).floating)) {
                read_number(field, tables.luts[i].values.emplace_back());
            } else if (traits.floating) {
                read_fraction(field, tables.luts[i].values.emplace_back());
            } else {
                std::int64_t number = 0;
                const auto read = std::from_chars(field.data(), end, number);
                if (read.ec != std::errc() || read.ptr != end || number < lowest || number > top ||
                    field.substr(0, 2) == "-0")
                    refuse(quoted(field) + " is not a whole number from " + std::to_string(lowest) + " to " +
                           std::to_string(top));
                if (tables.fill && !traits_of(tables.depth).floating && static_cast<double>(number) == *tables.fill)
                    refuse(quoted(field) + " stands for nodata");
                tables.luts[i].values.push_back(static_cast<float>(number));
            }
        }
    }

    std::string_view rest_, line_;
    std::string name_;
    std::size_t number_ = 0;
    bool more_ = true;
};

}  // namespace

std::string luts_csv(const std::vector<LutSet>& tables) {
    std::string lines;
    for (const LutSet& one : tables) {
        lines.append("# gpuhist tables: depth ").append(to_string(one.depth));
        lines.append(", mode ").append(to_string(one.mode));
        lines.append(", channels ").append(joints[one.joint]);
        if (one.copy_depth() != normalized_depth(one.depth, one.mode))
            lines.append(copies_start).append(to_string(one.copy_depth()));
        if (one.fill) lines.append(fill_start).append(shortest(*one.fill));
        lines += '\n';
        const auto row = [&](const std::string& name, auto field) {
            lines += name;
            for (const LutSet::Lut& lut : one.luts) lines.append(",").append(field(lut));
            lines += '\n';
        };
        row(first_column(one), [](const LutSet::Lut& lut) { return std::string(to_string(lut.channel)); });
        const DepthTraits& traits = traits_of(one.depth);
        const bool by_value = traits.counting == Counting::values, single = traits.counting == Counting::bins;
        const NormalizeNeeds needs = traits_of(one.mode).needs;
        if (!by_value && needs == NormalizeNeeds::mean_std) {
            row("mean", [](const LutSet::Lut& lut) { return io::shortest(lut.mean); });
            row("std", [](const LutSet::Lut& lut) { return io::shortest(lut.std); });
        } else if (!by_value && needs != NormalizeNeeds::nothing) {
            const auto end = [&](double value) {
                return single ? shortest_float(static_cast<float>(value)) : io::shortest(value);
            };
            row("lower", [&](const LutSet::Lut& lut) { return end(lut.lower); });
            row("upper", [&](const LutSet::Lut& lut) { return end(lut.upper); });
        }
        const std::size_t values = by_value ? traits.values : needs == NormalizeNeeds::counts ? float_bins : 0;
        for (std::size_t code = 0; code < values; ++code)
            row(by_value ? row_of_code(one.depth, static_cast<std::uint32_t>(code)) : std::to_string(code),
                [&](const LutSet::Lut& lut) {
                    return lut.values.empty() ? std::string() : shortest_float(lut.values[code]);
                });
    }
    return checksum_line(lines) + '\n' + lines;
}

bool has_checksum(std::string_view csv) {
    return csv.substr(0, checksum_start.size()) == checksum_start;
}

std::vector<LutSet> parse_luts(std::string_view csv, const std::string& name) {
    return TablesReader(csv, name).read();
}

}  // namespace gpuhist::io
