#include "dataset/facts.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "gpuhist/columns.hpp"
#include "report/formats.hpp"

namespace gpuhist::io {
namespace {

void add(ChannelFacts& sum, const ChannelFacts& more) {
    sum.by_class() += more;
    sum.images += more.images;
    if (more.minimum) sum.minimum = std::min(sum.minimum.value_or(*more.minimum), *more.minimum);
    if (more.maximum) sum.maximum = std::max(sum.maximum.value_or(*more.maximum), *more.maximum);
}

ChannelFacts facts_of(const DepthSummary& depth, const ChannelSummary& channel) {
    ChannelFacts facts{channel, channel.images, {}, {}};
    if (const auto extremes = depth.extremes(channel)) {
        facts.minimum = extremes->lower;
        facts.maximum = extremes->upper;
    }
    return facts;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data(), end, number);
    return status == std::errc() && stop == end;
}

bool read_number(std::string_view text, std::optional<double>& number) {
    return text.empty() || read_number(text, number.emplace());
}

std::string text_of(const std::optional<double>& number) {
    return number ? shortest(*number) : "none";
}

}  // namespace

Facts facts_of(const Summary& summary) {
    Facts facts;
    for (const DepthSummary& depth : summary.depths())
        for (const ChannelSummary& channel : depth.channels)
            add(facts[{depth.depth, csv_field(channel_name(channel))}], facts_of(depth, channel));
    return facts;
}

void add_facts(Facts& sum, const Facts& more) {
    for (const auto& [place, facts] : more) add(sum[place], facts);
}

std::string difference(const Facts& found, const Facts& wanted) {
    Facts all = found;
    all.insert(wanted.begin(), wanted.end());
    const auto in = [](const Facts& facts, const auto& place) {
        const auto there = facts.find(place);
        return there == facts.end() ? ChannelFacts{} : there->second;
    };
    for (const auto& [place, facts] : all) {
        const ChannelFacts a = in(found, place), b = in(wanted, place);
        if (a == b) continue;
        const std::string start = std::string(to_string(place.first)) + " " + place.second + ": ";
        const auto differ = [&](const char* what, std::uint64_t one, std::uint64_t other) {
            return start + what + " " + std::to_string(one) + " and " + std::to_string(other);
        };
        if (a.images != b.images) return differ("images", a.images, b.images);
        if (a.counted() != b.counted()) return differ("samples", a.counted(), b.counted());
        if (a.masked != b.masked) return differ("masked", a.masked, b.masked);
        if (a.nodata != b.nodata) return differ("nodata", a.nodata, b.nodata);
        if (a.nan != b.nan) return differ("NaN", a.nan, b.nan);
        if (a.infinite != b.infinite) return differ("infinite", a.infinite, b.infinite);
        const bool lower = a.minimum != b.minimum;
        return start + (lower ? "min " : "max ") + text_of(lower ? a.minimum : a.maximum) + " and " +
               text_of(lower ? b.minimum : b.maximum);
    }
    return {};
}

RowFacts::RowFacts(const StatisticsRequest& asked) {
    constexpr std::array<std::string_view, fields> names{"depth", "channel", "pixels", "nan",   "inf",
                                                         "min",   "max",     "masked", "nodata"};
    for (const Column& column : columns(asked, ColumnFile::stats)) {
        const auto known = std::find(names.begin(), names.end(), column.name);
        columns_.push_back(known == names.end() ? std::nullopt
                                                : std::optional(static_cast<Field>(known - names.begin())));
    }
}

bool RowFacts::add(std::string_view row) {
    std::array<std::string_view, fields> found{};
    row.remove_suffix(row.empty() ? 0 : 1);  // its LF
    std::size_t start = 0, column = 0;
    for (bool more = true; more; ++column) {
        std::size_t end = start;
        for (bool quoted = false; end < row.size() && (quoted || row[end] != ','); ++end)
            if (row[end] == '"') quoted = !quoted;
        if (column == columns_.size()) return false;
        if (columns_[column]) found[*columns_[column]] = row.substr(start, end - start);
        more = end < row.size();
        start = end + 1;
    }
    if (column != columns_.size()) return false;
    const auto type = std::find_if(std::begin(all_depths), std::end(all_depths),
                                   [&](const DepthTraits& traits) { return found[depth] == traits.name; });
    ChannelFacts facts;
    facts.images = 1;
    if (found[channel].empty() || type == std::end(all_depths) || !read_number(found[pixels], facts.pixels) ||
        !read_number(found[masked], facts.masked) || !read_number(found[nodata], facts.nodata) ||
        !read_number(found[nan], facts.nan) || !read_number(found[inf], facts.infinite) ||
        !read_number(found[min], facts.minimum) || !read_number(found[max], facts.maximum))
        return false;
    if (found[channel] != to_string(Channel::all))  // made of the others
        io::add(all_[{type->depth, std::string(found[channel])}], facts);
    return true;
}

}  // namespace gpuhist::io
