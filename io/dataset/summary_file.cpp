#include "dataset/summary_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/frequency_file.hpp"

namespace gpuhist::io {
namespace {

constexpr std::uint32_t most_bins = 1U << 24;

/// Runs [first value, count, count, …] of counts that are not zero.
Json runs(const std::vector<std::uint64_t>& counts) {
    Json list = Json::array();
    bool open = false;
    for (std::size_t value = 0; value < counts.size(); ++value) {
        if (counts[value] == 0) {
            open = false;
            continue;
        }
        if (!open) list.push_back(Json::array({value}));
        open = true;
        list.back().push_back(whole_number(counts[value]));
    }
    return list;
}

std::vector<std::uint64_t> read_runs(const JsonReader& list, std::size_t bins, ReadLimits& limits) {
    limits.take_counts(list, bins);
    std::vector<std::uint64_t> counts(bins);
    std::size_t next = 0;  // the first value that the next run may start at
    for (std::size_t i = 0; i < list.size(); ++i) {
        const JsonReader run = list[i];
        const std::uint64_t first = run[std::size_t{0}].whole();
        if (run.size() < 2 || first < next || first >= bins || run.size() - 1 > bins - first)
            run.refuse("a run of counts that does not fit there");
        for (std::size_t k = 1; k < run.size(); ++k)
            if ((counts[first + k - 1] = run[k].whole()) == 0) run.refuse("a run holds no zero");
        next = first + run.size();  // a run beside another would be one with it
    }
    return counts;
}

template <std::size_t words>
void negate(std::array<std::uint64_t, words>& value) {
    bool carry = true;
    for (std::uint64_t& word : value) {
        word = ~word + (carry ? 1 : 0);
        carry = carry && word == 0;
    }
}

/// Hexadecimal digits of the magnitude without leading zeros, after the sign.
template <std::size_t words>
std::string hexadecimal(std::array<std::uint64_t, words> value) {
    const bool negative = value.back() >> 63 != 0;
    if (negative) negate(value);
    std::string text(negative ? 1 : 0, '-');
    bool leading = true;
    for (std::size_t left = 16 * words; left > 0; --left) {
        const std::size_t digit = left - 1;
        const auto nibble = value[digit / 16] >> (4 * (digit % 16)) & 15;
        leading = leading && nibble == 0 && digit > 0;
        if (!leading) text += "0123456789abcdef"[nibble];
    }
    return text;
}

template <std::size_t words>
std::array<std::uint64_t, words> read_hexadecimal(const JsonReader& value) {
    const std::string& text = value.text();
    const std::size_t start = !text.empty() && text[0] == '-' ? 1 : 0;
    std::array<std::uint64_t, words> number{};
    bool valid = text.size() > start && text.size() - start <= 16 * words;
    for (std::size_t i = start; valid && i < text.size(); ++i) {
        const std::size_t place = text.size() - 1 - i, nibble = std::string_view("0123456789abcdef").find(text[i]);
        valid = nibble != std::string_view::npos;
        if (valid) number[place / 16] |= std::uint64_t{nibble} << (4 * (place % 16));
    }
    if (start == 1) negate(number);
    if (!valid || hexadecimal(number) != text) value.refuse("expected a whole number in hexadecimal digits");
    return number;
}

/// Base64 without padding.
std::string unpadded(const std::byte* bytes, std::size_t n) {
    std::string text = base64({reinterpret_cast<const char*>(bytes), n});
    text.resize(text.find_last_not_of('=') + 1);
    return text;
}

Json values_value(const FrequencyTable& values, const FrequencyFile* file) {
    Json runs = Json::array();
    for (const FrequencyRun& run : values.runs())
        if (const std::byte* data = run.data())
            runs.push_back(unpadded(data, run.bytes()));
        else
            runs.push_back(place_value(run.place(), run.bytes(), file));
    return Json{{"minus_infinite", whole_number(values.minus_infinite)},
                {"plus_infinite", whole_number(values.plus_infinite)},
                {"runs", std::move(runs)}};
}

}  // namespace

FrequencyRun read_run(const JsonReader& value, Depth depth, const FrequencyFiles& files, ReadLimits& limits) {
    try {
        if (value.is_text()) return FrequencyRun(value.base64(false), depth);
        if (files.known) {
            const auto known = files.known->find(value[std::size_t{0}].whole());
            if (known != files.known->end()) {
                if (known->second.bytes() != value[1].whole() || known->second.depth() != depth)
                    value.refuse("another run of values begins there, of another length or depth");
                return known->second;
            }
        }
        const auto [place, bytes] = read_place(value, files, limits);
        FrequencyRun run(files.runs, place, bytes, depth);
        if (files.known) files.known->emplace(place, run);
        return run;
    } catch (const InvalidArgument& error) {
        value.refuse(error.what());
    }
}

namespace {

FrequencyTable read_values(const JsonReader& value, Depth depth, const FrequencyFiles& files, ReadLimits& limits) {
    value.members({"minus_infinite", "plus_infinite", "runs"});
    FrequencyTable values(files.new_runs);
    values.minus_infinite = value["minus_infinite"].whole();
    values.plus_infinite = value["plus_infinite"].whole();
    const JsonReader runs = value["runs"];
    for (std::size_t i = 0; i < runs.size(); ++i) values.add(read_run(runs[i], depth, files, limits));
    return values;
}

Json channel_value(const DepthSummary& summary, const ChannelSummary& channel, const FrequencyFile* file) {
    Json value{{"channel", byte_string(std::string(channel_name(channel)))},
               {"images", whole_number(channel.images)},
               {"samples", whole_number(channel.counted())},
               {"counts", runs(channel.counts)}};
    if (channel.masked > 0) value["masked"] = whole_number(channel.masked);
    if (channel.nodata > 0) value["nodata"] = whole_number(channel.nodata);
    const DepthTraits& traits = traits_of(summary.depth);
    if (traits.floating) {
        value["nan"] = whole_number(channel.nan);
        value["infinite"] = whole_number(channel.infinite);
        value["below"] = whole_number(channel.below);
        value["above"] = whole_number(channel.above);
    }
    if (traits.counting == Counting::bins) {
        value["minimum"] = static_cast<double>(channel.minimum);
        value["maximum"] = static_cast<double>(channel.maximum);
        value["power_sums"] = Json::array();
        for (const PowerSums::Integer& sum : channel.power_sums.sums) value["power_sums"].push_back(hexadecimal(sum));
    }
    if (traits.counting != Counting::values)
        value["values"] = summary.values_counted ? values_value(channel.values, file) : Json(nullptr);
    else if (channel.counts.empty())
        value["values"] = values_value(channel.values, file);
    return value;
}

float read_float(const JsonReader& value) {
    const double number = value.number();
    if (static_cast<double>(static_cast<float>(number)) != number || (number == 0 && std::signbit(number)))
        value.refuse("expected a number in single precision");
    return static_cast<float>(number);
}

ChannelSummary read_channel(const JsonReader& value, Depth depth, std::size_t bins, const FrequencyFiles& files,
                            ReadLimits& limits) {
    ChannelSummary channel;
    const DepthTraits& traits = traits_of(depth);
    std::vector<const char*> members{"channel", "images", "samples", "counts"};
    if (traits.floating) members.insert(members.end(), {"nan", "infinite", "below", "above"});
    if (traits.counting == Counting::bins) members.insert(members.end(), {"minimum", "maximum", "power_sums"});
    std::vector<const char*> others{"masked", "nodata"};
    const bool by_value = traits.counting == Counting::values;
    (by_value ? others : members).push_back("values");
    value.members(members, others);
    channel.name = value["channel"].bytes();
    channel.channel = channel_of(channel.name).value_or(Channel::named);
    if (channel.channel != Channel::named) channel.name.clear();
    channel.images = value["images"].whole();
    if (value.has("masked")) channel.masked = value["masked"].whole();
    if (value.has("nodata")) channel.nodata = value["nodata"].whole();
    channel.pixels = value["samples"].whole() + channel.masked + channel.nodata;  // Summary refuses what passes 2^64
    const bool sparse = by_value && value.has("values");
    channel.counts = read_runs(value["counts"], sparse ? 0 : bins, limits);
    if (traits.floating) {
        channel.nan = value["nan"].whole();
        channel.infinite = value["infinite"].whole();
        channel.below = value["below"].whole();
        channel.above = value["above"].whole();
    }
    if (by_value && !sparse) return channel;
    if (traits.counting == Counting::bins) {
        channel.minimum = read_float(value["minimum"]);
        channel.maximum = read_float(value["maximum"]);
        const JsonReader sums = value["power_sums"];
        if (sums.size() != channel.power_sums.sums.size()) sums.refuse("expected four sums");
        for (std::size_t k = 0; k < sums.size(); ++k)
            channel.power_sums.sums[k] = read_hexadecimal<PowerSums::words>(sums[k]);
    }
    if (const JsonReader values = value["values"]; !values.is_null())
        channel.values = read_values(values, depth, files, limits);
    return channel;
}

}  // namespace

Depth depth_named(const JsonReader& value) {
    for (const DepthTraits& traits : all_depths)
        if (value.text() == traits.name) return traits.depth;
    value.refuse("'" + value.text() + "' is not known here");
}

namespace {

DepthSummary read_depth(const JsonReader& value, const FrequencyFiles& files, ReadLimits& limits) {
    DepthSummary summary;
    summary.depth = depth_named(value["depth"]);
    summary.images = value["images"].whole();
    summary.white.reset();
    if (const JsonReader white = value["white"]; !white.is_null()) summary.white = white.number();
    const DepthTraits& traits = traits_of(summary.depth);
    std::size_t bins = traits.values;
    if (traits.counting == Counting::bins) {
        value.members({"depth", "images", "white", "bins", "range", "upper_closed", "detail", "channels"},
                      {"weighted", "measures"});
        bins = value["bins"].whole(most_bins);
        summary.upper_closed = value["upper_closed"].truth();
        summary.detail = static_cast<Detail>(value["detail"].one_of({"brief", "full"}));
        if (const JsonReader range = value["range"]; !range.is_null()) summary.range = read_range(range);
    } else {
        value.members({"depth", "images", "white", "channels"}, {"weighted", "measures"});
        if (traits.counting == Counting::values) summary.range = counted_range(traits);
    }
    if (value.has("weighted")) summary.weighted = value["weighted"].truth();
    if (value.has("measures")) {
        const JsonReader measures = value["measures"];
        for (std::size_t i = 0; i < measures.size(); ++i) {
            const JsonReader one = measures[i];
            one.members({"column", "images", "minimum", "maximum", "sum"});
            summary.measures.push_back({one["column"].text(), one["images"].whole(), one["minimum"].number(),
                                        one["maximum"].number(), read_hexadecimal<MeasureSummary::words>(one["sum"])});
        }
    }
    const JsonReader channels = value["channels"];
    for (std::size_t i = 0; i < channels.size(); ++i)
        summary.channels.push_back(read_channel(channels[i], summary.depth, bins, files, limits));
    if (traits.counting == Counting::values) return summary;
    const auto counted = [&](std::size_t i) { return !channels[i]["values"].is_null(); };
    for (std::size_t i = 0; i < channels.size(); ++i)
        if (counted(i) != counted(0)) channels[i]["values"].refuse("values are counted in all channels or in none");
    summary.values_counted = channels.size() > 0 && counted(0);
    return summary;
}

}  // namespace

Json summary_value(const Summary& summary, const FrequencyFile* file) {
    Json list = Json::array();
    for (const DepthSummary& one : summary.depths()) {
        Json value{{"depth", to_string(one.depth)},
                   {"images", whole_number(one.images)},
                   {"white", one.white ? Json(*one.white) : Json(nullptr)}};
        if (one.weighted) value["weighted"] = true;
        if (traits_of(one.depth).counting == Counting::bins) {
            value["bins"] = one.channels.front().counts.size();
            value["range"] = one.range ? Json::array({one.range->lower, one.range->upper}) : Json(nullptr);
            value["upper_closed"] = one.upper_closed;
            value["detail"] = one.detail == Detail::full ? "full" : "brief";
        }
        for (const MeasureSummary& measure : one.measures)
            value["measures"].push_back(Json{{"column", measure.column},
                                             {"images", whole_number(measure.images)},
                                             {"minimum", measure.minimum},
                                             {"maximum", measure.maximum},
                                             {"sum", hexadecimal(measure.sum)}});
        value["channels"] = Json::array();
        for (const ChannelSummary& channel : one.channels)
            value["channels"].push_back(channel_value(one, channel, file));
        list.push_back(std::move(value));
    }
    return list;
}

void ReadLimits::take_counts(const JsonReader& place, std::size_t counts) {
    if (counts > counts_ / sizeof(std::uint64_t)) place.refuse("more memory is asked for than a text so short may");
    counts_ -= counts * sizeof(std::uint64_t);
}

void ReadLimits::take_stored(const JsonReader& place, const FrequencyFile& file, std::uint64_t bytes) {
    if (bytes > stored_) place.refuse(file.path().string() + " is missing, or shorter than the runs in it");
    stored_ -= bytes;
}

std::uint64_t counts_bytes(const Summary& summary) {
    std::uint64_t bytes = 0;
    for (const DepthSummary& depth : summary.depths())
        for (const ChannelSummary& channel : depth.channels) bytes += channel.counts.size() * sizeof(std::uint64_t);
    return bytes;
}

Json place_value(std::uint64_t place, std::uint64_t bytes, const FrequencyFile* file) {
    if (!file) throw InvalidArgument("summary: expected the file in which its runs of values lie");
    return Json::array({whole_number(place), whole_number(bytes), checksum_text(file->checksum(place, bytes))});
}

std::pair<std::uint64_t, std::uint64_t> read_place(const JsonReader& value, const FrequencyFiles& files,
                                                   ReadLimits& limits) {
    const std::uint64_t place = value[std::size_t{0}].whole(), bytes = value[1].whole();
    const std::string& checksum = value[2].text();
    if (value.size() != 3 || !files.runs) value.refuse("no such file of values belongs to this one");
    limits.take_stored(value, *files.runs, bytes);
    if (checksum_text(files.runs->checksum(place, bytes)) != checksum)
        value.refuse(files.runs->path().string() + " is damaged: a checksum differs");
    return {place, bytes};
}

Summary read_summary(const JsonReader& value, const FrequencyFiles& files, ReadLimits& limits) {
    constexpr std::size_t most = std::size(all_depths);
    if (value.size() > most) value.refuse("there are at most " + std::to_string(most) + " depths");
    std::vector<DepthSummary> found;
    for (std::size_t i = 0; i < value.size(); ++i) found.push_back(read_depth(value[i], files, limits));
    try {
        return Summary(std::move(found));
    } catch (const InvalidArgument& error) {
        value.refuse(error.what());
    }
}

std::string padding(std::size_t characters, std::uint64_t counts) {
    const std::uint64_t paid = ReadLimits::free_bytes + characters * ReadLimits::bytes_a_character;
    return std::string(counts <= paid ? 0 : (counts - paid) / ReadLimits::bytes_a_character + 1, ' ');
}

std::string summary_json(const Summary& summary, const FrequencyFile* file) {
    std::string text = summary_value(summary, file).dump();
    return text + padding(text.size(), counts_bytes(summary));
}

std::string image_counts(const Analysis& image, const std::vector<FrequencyTable>& values) {
    constexpr std::size_t most = std::size_t{4} << 20;
    Summary one;
    one.add(image, values);
    for (const DepthSummary& depth : one.depths())
        for (const ChannelSummary& channel : depth.channels)
            for (const FrequencyRun& run : channel.values.runs())
                if (!run.data() || run.bytes() > most / 2) return {};
    const std::string text = summary_value(one.merged_values(nullptr), nullptr).dump();
    return text.size() > most ? std::string() : text;
}

Summary parse_summary(std::string_view json, const std::string& name, const FrequencyFiles& files) {
    const ReadJson value = JsonReader::parse(json, name);
    ReadLimits limits(json.size(), files.runs ? files.runs->bytes() : 0);
    return read_summary({value, name}, files, limits);
}

}  // namespace gpuhist::io
