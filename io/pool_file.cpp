#include "pool_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "gpuhist/error.hpp"
#include "gpuhist/io/dataset.hpp"

namespace gpuhist::io {
namespace {

constexpr std::uint32_t most_bins = 1U << 24;
constexpr int words = PowerSums::words;

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

std::vector<std::uint64_t> read_runs(const JsonReader& list, std::size_t bins) {
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

void negate(PowerSums::Integer& value) {
    bool carry = true;
    for (std::uint64_t& word : value) {
        word = ~word + (carry ? 1 : 0);
        carry = carry && word == 0;
    }
}

/// Hexadecimal digits of the magnitude without leading zeros, after the sign.
std::string hexadecimal(PowerSums::Integer value) {
    const bool negative = value.back() >> 63 != 0;
    if (negative) negate(value);
    std::string text(negative ? 1 : 0, '-');
    bool leading = true;
    for (int digit = 16 * words - 1; digit >= 0; --digit) {
        const auto nibble = value[digit / 16] >> (4 * (digit % 16)) & 15;
        leading = leading && nibble == 0 && digit > 0;
        if (!leading) text += "0123456789abcdef"[nibble];
    }
    return text;
}

PowerSums::Integer read_hexadecimal(const JsonReader& value) {
    const std::string& text = value.text();
    const std::size_t start = !text.empty() && text[0] == '-' ? 1 : 0;
    PowerSums::Integer number{};
    bool valid = text.size() > start && text.size() - start <= 16 * words;
    for (std::size_t i = start; valid && i < text.size(); ++i) {
        const std::size_t place = text.size() - 1 - i, nibble = std::string_view("0123456789abcdef").find(text[i]);
        valid = nibble != std::string_view::npos;
        if (valid) number[place / 16] |= std::uint64_t{nibble} << (4 * (place % 16));
    }
    if (start == 1) negate(number);
    if (!valid || hexadecimal(number) != text) value.refuse("a whole number in hexadecimal digits is wanted");
    return number;
}

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A whole number in Base64 VLQ without a sign: five bits a digit, the lowest first, and 32 where more follow.
void append_vlq(std::string& text, std::uint64_t number) {
    for (; number >= 32; number >>= 5) text += digits[32 | (number & 31)];
    text += digits[number];
}

/// Reads a text of such numbers.
class VlqReader {
  public:
    explicit VlqReader(const JsonReader& value) : value_(value), text_(value.text()) {}
    bool more() const { return at_ < text_.size(); }
    std::uint64_t next() {
        static const std::array<std::int8_t, 256> values = [] {
            std::array<std::int8_t, 256> table;
            table.fill(-1);
            for (std::size_t i = 0; i < digits.size(); ++i)
                table[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
            return table;
        }();
        std::uint64_t number = 0;
        for (int shift = 0; more() && shift < 60; shift += 5) {
            const int digit = values[static_cast<unsigned char>(text_[at_++])];
            if (digit < 0) break;
            number |= std::uint64_t(digit & 31) << shift;
            if (digit < 32 && (digit > 0 || shift == 0)) return number;
            if (digit < 32) break;  // a leading zero
        }
        value_.refuse("whole numbers below 2^60 in Base64 VLQ are wanted");
    }

  private:
    const JsonReader& value_;
    const std::string& text_;
    std::size_t at_ = 0;
};

/// For each key the distance from the one before, less 1, and its count, less 1.
std::string delta_coded(const ValueCounts& values) {
    std::string text;
    std::uint32_t next = 0;  // the first key that may follow
    for (std::size_t i = 0; i < values.keys.size(); ++i) {
        append_vlq(text, values.keys[i] - next);
        append_vlq(text, values.counts[i] - 1);
        next = values.keys[i] + 1;
    }
    return text;
}

Json values_value(const ValueCounts& values) {
    return Json{{"dropped_bits", values.dropped_bits},
                {"minus_infinite", whole_number(values.minus_infinite)},
                {"plus_infinite", whole_number(values.plus_infinite)},
                {"keys_counts", delta_coded(values)}};
}

ValueCounts read_values(const JsonReader& value) {
    value.members({"dropped_bits", "minus_infinite", "plus_infinite", "keys_counts"});
    ValueCounts values;
    values.dropped_bits = static_cast<int>(value["dropped_bits"].whole(ValueCounts::most_dropped_bits));
    values.minus_infinite = value["minus_infinite"].whole();
    values.plus_infinite = value["plus_infinite"].whole();
    const JsonReader text = value["keys_counts"];
    const std::uint64_t end = std::uint64_t{1} << (32 - values.dropped_bits);
    std::uint64_t next = 0;
    for (VlqReader numbers(text); numbers.more();) {
        const std::uint64_t distance = numbers.next();
        if (distance >= end - next) text.refuse("a key beyond those of floats");
        if (values.keys.size() == ValueCounts::most)
            text.refuse("more than " + std::to_string(ValueCounts::most) + " keys");
        values.keys.push_back(static_cast<std::uint32_t>(next + distance));
        values.counts.push_back(numbers.next() + 1);
        next += distance + 1;
    }
    return values;
}

Json channel_value(const PooledDepth& pool, const PooledChannel& channel) {
    Json value{{"channel", to_string(channel.channel)},
               {"images", whole_number(channel.images)},
               {"samples", whole_number(channel.samples)},
               {"counts", runs(channel.counts)}};
    if (pool.depth != Depth::f32) return value;
    value["nan"] = whole_number(channel.nan);
    value["infinite"] = whole_number(channel.infinite);
    value["below"] = whole_number(channel.below);
    value["above"] = whole_number(channel.above);
    value["minimum"] = static_cast<double>(channel.minimum);
    value["maximum"] = static_cast<double>(channel.maximum);
    value["power_sums"] = Json::array();
    for (const PowerSums::Integer& sum : channel.power_sums.sums) value["power_sums"].push_back(hexadecimal(sum));
    value["values"] = pool.values_counted ? values_value(channel.values) : Json(nullptr);
    return value;
}

float read_float(const JsonReader& value) {
    const double number = value.number();
    if (static_cast<double>(static_cast<float>(number)) != number || (number == 0 && std::signbit(number)))
        value.refuse("a number in single precision is wanted");
    return static_cast<float>(number);
}

PooledChannel read_channel(const JsonReader& value, Depth depth, std::size_t bins) {
    PooledChannel channel;
    channel.channel = static_cast<Channel>(value["channel"].one_of({"gray", "red", "green", "blue", "luma", "alpha"}));
    channel.images = value["images"].whole();
    channel.samples = value["samples"].whole();
    channel.counts = read_runs(value["counts"], bins);
    if (depth != Depth::f32) {
        value.members({"channel", "images", "samples", "counts"});
        return channel;
    }
    value.members({"channel", "images", "samples", "counts", "nan", "infinite", "below", "above", "minimum", "maximum",
                   "power_sums", "values"});
    channel.nan = value["nan"].whole();
    channel.infinite = value["infinite"].whole();
    channel.below = value["below"].whole();
    channel.above = value["above"].whole();
    channel.minimum = read_float(value["minimum"]);
    channel.maximum = read_float(value["maximum"]);
    const JsonReader sums = value["power_sums"];
    if (sums.size() != channel.power_sums.sums.size()) sums.refuse("four sums are wanted");
    for (std::size_t k = 0; k < sums.size(); ++k) channel.power_sums.sums[k] = read_hexadecimal(sums[k]);
    if (const JsonReader values = value["values"]; !values.is_null()) channel.values = read_values(values);
    return channel;
}

PooledDepth read_depth(const JsonReader& value) {
    PooledDepth pool;
    pool.depth = static_cast<Depth>(value["depth"].one_of({"u8", "u16", "f32"}));
    std::size_t bins = pool.depth == Depth::u8 ? 256 : 65536;
    if (pool.depth == Depth::f32) {
        value.members({"depth", "bins", "range", "upper_closed", "detail", "channels"});
        bins = value["bins"].whole(most_bins);
        pool.upper_closed = value["upper_closed"].truth();
        pool.detail = static_cast<Detail>(value["detail"].one_of({"brief", "full"}));
        if (const JsonReader range = value["range"]; !range.is_null()) pool.range = read_range(range);
    } else {
        value.members({"depth", "channels"});
        pool.range = Range{0, static_cast<double>(bins)};
    }
    const JsonReader channels = value["channels"];
    if (channels.size() > 6) channels.refuse("there are at most six channels");
    for (std::size_t i = 0; i < channels.size(); ++i)
        pool.channels.push_back(read_channel(channels[i], pool.depth, bins));
    if (pool.depth != Depth::f32) return pool;
    const auto counted = [&](std::size_t i) { return !channels[i]["values"].is_null(); };
    for (std::size_t i = 0; i < channels.size(); ++i)
        if (counted(i) != counted(0)) channels[i]["values"].refuse("values are counted in all channels or in none");
    pool.values_counted = channels.size() > 0 && counted(0);
    return pool;
}

}  // namespace

Json pool_value(const Pool& pool) {
    Json depths = Json::array();
    for (const PooledDepth& part : pool.depths()) {
        Json value{{"depth", to_string(part.depth)}};
        if (part.depth == Depth::f32) {
            value["bins"] = part.channels.front().counts.size();
            value["range"] = part.range ? Json::array({part.range->lower, part.range->upper}) : Json(nullptr);
            value["upper_closed"] = part.upper_closed;
            value["detail"] = part.detail == Detail::full ? "full" : "brief";
        }
        value["channels"] = Json::array();
        for (const PooledChannel& channel : part.channels) value["channels"].push_back(channel_value(part, channel));
        depths.push_back(std::move(value));
    }
    return depths;
}

Pool read_pool(const JsonReader& value) {
    if (value.size() > 3) value.refuse("there are at most three depths");
    std::vector<PooledDepth> depths;
    for (std::size_t i = 0; i < value.size(); ++i) depths.push_back(read_depth(value[i]));
    try {
        return Pool(std::move(depths));
    } catch (const InvalidArgument& error) {
        value.refuse(error.what());
    }
}

std::string pool_json(const Pool& pool) {
    return pool_value(pool).dump();
}

Pool parse_pool(std::string_view json, const std::string& name) {
    const Json value = JsonReader::parse(json, name);
    return read_pool({value, name});
}

}  // namespace gpuhist::io
