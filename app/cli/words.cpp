#include "cli/words.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <limits>
#include <optional>
#include <sstream>
#include <type_traits>

#include "gpuhist/error.hpp"
#include "gpuhist/joint.hpp"

namespace gpuhist::app {
namespace {

constexpr std::uint32_t most_bins = 1u << 24;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> items{""};
    for (const char byte : list) {
        if (byte == ',')
            items.emplace_back();
        else
            items.back() += byte;
    }
    return items;
}

}  // namespace

template <class Number>
Number parse_number(const std::string& option, const std::string& text, Number least, Number most) {
    Number value{};
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status == std::errc() && end == text.data() + text.size() && value >= least && value <= most) return value;
    std::ostringstream limits;
    limits << least << " to " << std::setprecision(17) << most;
    throw CLI::ValidationError(option, "'" + text + "' is not a " + (std::is_integral_v<Number> ? "whole " : "") +
                                           "number from " + limits.str());
}
template int parse_number(const std::string&, const std::string&, int, int);
template std::int64_t parse_number(const std::string&, const std::string&, std::int64_t, std::int64_t);
template double parse_number(const std::string&, const std::string&, double, double);
template std::uint64_t parse_number(const std::string&, const std::string&, std::uint64_t, std::uint64_t);

std::pair<double, double> parse_pair(const std::string& option, const std::string& text) {
    const auto items = split(text);
    std::vector<double> values;
    for (const std::string& item : items) {
        double value = 0;
        const auto [end, status] = std::from_chars(item.data(), item.data() + item.size(), value);
        if (status == std::errc() && end == item.data() + item.size() && std::isfinite(value)) values.push_back(value);
    }
    if (items.size() != 2 || values.size() != 2)
        throw CLI::ValidationError(option, "'" + text + "' is not two numbers LO,HI");
    return {values[0], values[1]};
}

std::vector<int> parse_gpus(const std::string& text) {
    if (text == "all") return {};
    std::vector<int> gpus;
    for (const std::string& item : split(text)) {
        const int gpu = parse_number<int>("--gpus", item, 0, 1023);
        if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end())
            throw CLI::ValidationError("--gpus", "GPU " + item + " is given twice");
        gpus.push_back(gpu);
    }
    if (gpus.empty()) throw CLI::ValidationError("--gpus", "'" + text + "' is neither all nor a list of numbers");
    return gpus;
}

Writes parse_writes(const std::string& text) {
    Writes writes;
    const auto items = split(text);
    for (const std::string& item : items) {
        if (item == "stats")
            writes.stats = true;
        else if (item == "histogram")
            writes.histogram = true;
        else if (item == "plot")
            writes.plot = true;
        else if (item == "normalized")
            writes.normalized = true;
        else if (item == "parquet")
            writes.parquet = writes.stats = true;
        else if (item != "none")
            throw CLI::ValidationError("--write",
                                       "'" + item + "' is not one of stats,histogram,plot,normalized,parquet,none");
        else if (items.size() > 1)
            throw CLI::ValidationError("--write", "'none' can't be combined with others");
    }
    return writes;
}

StackWrites parse_stack_writes(const std::string& text) {
    StackWrites writes{{}, false};
    const auto items = split(text);
    for (const std::string& item : items) {
        bool known = item == "pixels" || item == "all";
        writes.pixels = writes.pixels || known;
        for (int i = 0; i <= static_cast<int>(StackStatistic::median); ++i) {
            const auto statistic = static_cast<StackStatistic>(i);
            if (item != to_string(statistic) && item != "all") continue;
            known = true;
            if (!writes.has(statistic)) writes.statistics.push_back(statistic);
        }
        if (!known)
            throw CLI::ValidationError("--write",
                                       "'" + item + "' is not one of mean,std,min,max,count,median,pixels,all");
    }
    return writes;
}

ChannelPair parse_channel_pair(const std::string& text) {
    ChannelPair pair;
    const std::size_t comma = text.find(','), colon = text.rfind(':');
    const std::size_t end = colon == text.npos || colon < comma ? text.size() : colon;
    if (comma == text.npos || comma == 0 || comma + 1 >= end || text.find(',', comma + 1) < end)
        throw CLI::ValidationError("--channels", "'" + text + "' is not A,B or A,B:BINS, for example red,green:64");
    pair.first = text.substr(0, comma);
    pair.second = text.substr(comma + 1, end - comma - 1);
    if (end < text.size())
        pair.bins = static_cast<std::uint32_t>(
            parse_number<std::uint64_t>("--channels", text.substr(end + 1), 1, JointHistogram::most_bins));
    return pair;
}

JointWrites parse_joint_writes(const std::string& text) {
    JointWrites writes{false, false, false};
    const auto items = split(text);
    for (const std::string& item : items) {
        if (item == "csv")
            writes.csv = true;
        else if (item == "npy")
            writes.npy = true;
        else if (item == "plot")
            writes.plot = true;
        else if (item != "none")
            throw CLI::ValidationError("--write", "'" + item + "' is not one of csv,npy,plot,none");
        else if (items.size() > 1)
            throw CLI::ValidationError("--write", "'none' can't be combined with others");
    }
    return writes;
}

Percentiles parse_percentile_columns(const std::string& text) {
    constexpr const char* option = "--percentile-columns";
    std::vector<double> percents;
    for (const std::string& item : split(text)) {
        double& percent = percents.emplace_back();
        const auto [end, status] = std::from_chars(item.data(), item.data() + item.size(), percent);
        if (status != std::errc() || end != item.data() + item.size() || !std::isfinite(percent))
            throw CLI::ValidationError(option, "'" + item + "' is not a number: list percentiles as in 1,50,99.9");
    }
    try {
        return Percentiles(percents);
    } catch (const InvalidArgument& error) {
        throw CLI::ValidationError(option, error.what());
    }
}

namespace {

/// Name of a channel before the last colon, which is taken off the text.
std::optional<std::string> take_name(const char* option, std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos) return std::nullopt;
    const std::string name = text.substr(0, colon);
    text.erase(0, colon + 1);
    if (const std::string why = no_channel_of_rules(name); !why.empty()) throw CLI::ValidationError(option, why);
    return name;
}

}  // namespace

void parse_nodata(const std::string& text, NodataWords& words) {
    constexpr const char* option = "--nodata";
    for (std::string item : split(text)) {
        if (item == "tag" || item == "none") {
            (item == "tag" ? words.tag : words.none) = true;
            continue;
        }
        const auto name = take_name(option, item);
        double value = 0;
        const auto [end, status] = std::from_chars(item.data(), item.data() + item.size(), value);
        if (status != std::errc() || end != item.data() + item.size())
            throw CLI::ValidationError(option, "'" + item + "' is not a number, nan, tag or none");
        add_nodata(words.values, name, value);
    }
}

void parse_valid(const std::string& text, Validity& validity) {
    constexpr const char* option = "--valid";
    std::string numbers = text;
    const auto name = take_name(option, numbers);
    const auto items = split(numbers);
    const auto read = [](const std::string& item, double otherwise) -> std::optional<double> {
        if (item.empty()) return otherwise;
        double value = 0;
        const auto [end, status] = std::from_chars(item.data(), item.data() + item.size(), value);
        if (status != std::errc() || end != item.data() + item.size() || std::isnan(value)) return std::nullopt;
        return value;
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool pair = items.size() == 2 && numbers != ",";
    const auto lowest = pair ? read(items[0], -infinity) : std::nullopt;
    const auto highest = pair ? read(items[1], infinity) : std::nullopt;
    if (!lowest || !highest)
        throw CLI::ValidationError(option, "'" + numbers + "' is not of the form LO,HI or LO, or ,HI");
    if (*lowest > *highest) throw CLI::ValidationError(option, "'" + numbers + "' is not LO,HI with LO <= HI");
    add_valid(validity, name, *lowest, *highest);
}

std::uint32_t parse_bins(const std::string& text) {
    if (text == "full") return 0;
    std::uint32_t bins = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), bins);
    if (status != std::errc() || end != text.data() + text.size() || bins < 1 || bins > most_bins)
        throw CLI::ValidationError("--bins", "'" + text + "' is neither a number from 1 to 16777216 nor 'full'");
    return bins;
}

io::PlotRange parse_plot_range(const std::string& text) {
    if (text == "auto") return {};
    if (text == "full") return {io::PlotRange::Kind::full, {}};
    if (text.find(',') == text.npos)
        throw CLI::ValidationError("--plot-range", "'" + text + "' is not one of auto, full and LO,HI");
    const auto [lower, upper] = parse_pair("--plot-range", text);
    if (lower >= upper) throw CLI::ValidationError("--plot-range", "'" + text + "' is not LO,HI with LO < HI");
    return {io::PlotRange::Kind::given, {lower, upper}};
}

std::vector<io::PlotFormat> parse_plot_formats(const std::string& text) {
    const auto items = split(text);
    std::vector<io::PlotFormat> formats;
    for (const auto& [format, name] : {std::pair(io::PlotFormat::png, "png"), std::pair(io::PlotFormat::svg, "svg")})
        if (std::find(items.begin(), items.end(), name) != items.end()) formats.push_back(format);
    for (const std::string& item : items)
        if (item != "png" && item != "svg")
            throw CLI::ValidationError("--plot-format", "'" + item + "' is not one of png,svg");
    return formats;
}

std::uint64_t parse_size(const std::string& option, const std::string& text) {
    constexpr std::string_view units = "KMGT";
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string unit(end, text.data() + text.size());
    const std::size_t power = unit.empty() ? 0 : units.find(unit.front()) + 1;
    const double bytes = std::ldexp(value, 10 * static_cast<int>(power));
    if (status != std::errc() || unit.size() > 1 || (!unit.empty() && power == 0) || !(bytes >= 1 && bytes < 0x1p62))
        throw CLI::ValidationError(option, "'" + text + "' is not a size like 500M or 8G");
    return static_cast<std::uint64_t>(bytes);
}

double parse_fill(const std::string& text) {
    double fill = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), fill);
    if (status != std::errc() || end != text.data() + text.size())
        throw CLI::ValidationError("--fill", "'" + text + "' is neither a number nor nan");
    return fill;
}

double parse_white(const std::string& text) {
    double white = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), white);
    if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(white) || !(white > 0))
        throw CLI::ValidationError("--white", "'" + text + "' is not a number above 0, such as 4095");
    return white;
}

PageSelection parse_pages(const std::string& text) {
    PageSelection pages;
    if (text == "all") {
        pages.ranges.emplace_back();
        return pages;
    }
    for (const std::string& item : split(text)) {
        auto& [first, last] = pages.ranges.emplace_back();
        const char* const end = item.data() + item.size();
        auto [at, status] = std::from_chars(item.data(), end, first);
        last = first;
        if (status == std::errc() && at != end && *at == '-') {
            last = PageSelection::end;
            if (++at != end) {
                const auto rest = std::from_chars(at, end, last);
                at = rest.ptr;
                status = rest.ec;
            }
        }
        if (status != std::errc() || at != end || first < 1 || last < first)
            throw CLI::ValidationError("--pages", "'" + item + "' is not one of all, N, N-M and N-, counted from 1");
    }
    std::sort(pages.ranges.begin(), pages.ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<PageSelection::Range> apart;
    for (const PageSelection::Range& range : pages.ranges) {
        if (!apart.empty() && range.first - 1 <= apart.back().last)
            apart.back().last = std::max(apart.back().last, range.last);
        else
            apart.push_back(range);
    }
    pages.ranges = std::move(apart);
    return pages;
}

io::RawArray parse_raw(const std::string& text) {
    const std::vector<std::string> words = split(text);
    const auto refuse = [&](const std::string& why) {
        throw CLI::ValidationError(
            "--raw", "'" + text + "' is not DEPTH,WIDTH,HEIGHT[,CHANNELS[,OFFSET]], such as u16,640,480: " + why);
    };
    if (words.size() < 3 || words.size() > 5) refuse("it has " + std::to_string(words.size()) + " parts");
    io::RawArray array;
    std::string name = words[0];
    array.big_endian = name.size() > 2 && name.compare(name.size() - 2, 2, "be") == 0;
    if (array.big_endian) name.resize(name.size() - 2);
    const auto depth = std::find_if(std::begin(all_depths), std::end(all_depths),
                                    [&](const DepthTraits& traits) { return name == traits.name; });
    if (depth == std::end(all_depths))
        refuse("the depths are " + depth_names() + ", each with be for big-endian samples");
    array.depth = depth->depth;
    std::uint64_t* const numbers[]{&array.width, &array.height, &array.channels, &array.offset};
    for (std::size_t i = 1; i < words.size(); ++i) {
        const char* const end = words[i].data() + words[i].size();
        const auto [stop, error] = std::from_chars(words[i].data(), end, *numbers[i - 1]);
        if (error != std::errc() || stop != end || (i < 4 && *numbers[i - 1] == 0))
            refuse("'" + words[i] + "' is no " + (i < 4 ? "positive whole number" : "number of bytes"));
    }
    if (array.channels > most_channels) refuse("gpuhist reads 1 to " + std::to_string(most_channels) + " channels");
    return array;
}

io::ShardId parse_shard_of(const std::string& text) {
    io::ShardId shard;
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data(), end, shard.number);
    const bool slash = number.ec == std::errc() && number.ptr != end && *number.ptr == '/';
    const auto count = slash ? std::from_chars(number.ptr + 1, end, shard.count) : number;
    if (!slash || count.ec != std::errc() || count.ptr != end || shard.number < 1 || shard.number > shard.count ||
        shard.count > 1000000)
        throw CLI::ValidationError("--shard", "'" + text + "' is not K/N with 1 <= K <= N");
    return shard;
}

bool parse_switch(const std::string& text) {
    for (const char* yes : {"1", "true", "yes", "on"})
        if (text == yes) return true;
    for (const char* no : {"0", "false", "no", "off"})
        if (text == no) return false;
    throw CLI::ValidationError("'" + text + "' is neither true nor false");
}

}  // namespace gpuhist::app
