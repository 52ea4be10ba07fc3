/// Measurements as bytes, so that Python's processes hand them to each other.
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

#include "gpuhist/error.hpp"
#include "gpuhist/io/image.hpp"
#include "images.hpp"
#include "measurement.hpp"

namespace gpuhist::python {
namespace {

/// Number of the form of these bytes. The fields that structures list make it another by themselves.
constexpr std::uint32_t version = [] {
    std::uint32_t number = 6;  // of what is written by hand below
    Statistics::for_each_field([&](const char* name, auto) {
        do number = (number ^ static_cast<unsigned char>(*name)) * 0x01000193u;  // FNV-1a
        while (*name++ != 0);
    });
    return number;
}();

/// Plain data without padding between members that matter: copied as it lies.
template <class T>
constexpr bool plain = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Int128>;

class Writer {
  public:
    static constexpr bool reads = false;
    template <class T>
    void plain_value(const T& value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void raw(const void* data, std::size_t size) { bytes.append(static_cast<const char*>(data), size); }
    std::string bytes;
};

class Reader {
  public:
    static constexpr bool reads = true;
    explicit Reader(const std::string& bytes) : bytes_(bytes) {}
    template <class T>
    void plain_value(T& value) {
        raw(&value, sizeof value);
    }
    void raw(void* data, std::size_t size) {
        if (size > left()) fail();
        std::memcpy(data, bytes_.data() + place_, size);
        place_ += size;
    }
    std::size_t left() const { return bytes_.size() - place_; }
    [[noreturn]] static void fail() {
        throw InvalidArgument("these bytes are not a pickled result of this version of gpuhist");
    }

  private:
    const std::string& bytes_;
    std::size_t place_ = 0;
};

// One description of each structure serves both directions: an archive is a Writer or a Reader.

template <class Archive, class T>
void field(Archive& archive, T& value);

template <class Archive, class... T>
void fields(Archive& archive, T&... values) {
    (field(archive, values), ...);
}

template <class Archive, class T>
void list(Archive& archive, std::vector<T>& values) {
    std::uint64_t size = values.size();
    field(archive, size);
    if constexpr (Archive::reads) {
        if (size > archive.left()) Reader::fail();  // every element has a byte at least
        values.resize(size);
    }
    if constexpr (plain<T>) {
        if (size > 0) archive.raw(values.data(), size * sizeof(T));
    } else {
        for (T& value : values) field(archive, value);
    }
}

template <class Archive>
void structure(Archive& archive, std::string& text) {
    std::uint64_t size = text.size();
    field(archive, size);
    if constexpr (Archive::reads) {
        if (size > archive.left()) Reader::fail();
        text.resize(size);
    }
    archive.raw(text.data(), size);
}
template <class Archive, class T>
void structure(Archive& archive, std::vector<T>& values) {
    list(archive, values);
}
template <class Archive, class T>
void structure(Archive& archive, std::optional<T>& value) {
    std::uint8_t there = value.has_value();
    field(archive, there);
    if constexpr (Archive::reads)
        if (there) value.emplace();
    if (there) field(archive, *value);
}
template <class Archive>
void structure(Archive& archive, SampleSum& sum) {
    std::uint8_t real = sum.index() == 1;
    field(archive, real);
    if constexpr (Archive::reads)
        if (real) sum.emplace<double>();
    std::visit([&](auto& value) { field(archive, value); }, sum);
}
template <class Archive>
void structure(Archive& archive, Range& range) {
    fields(archive, range.lower, range.upper);
}
template <class Archive>
void structure(Archive& archive, OrderStatistic& value) {
    fields(archive, value.rank, value.value);
}
template <class Archive>
void structure(Archive& archive, Percentile& value) {
    fields(archive, value.micro, value.value);
}
template <class Archive>
void structure(Archive& archive, FrequencyTable& table) {
    fields(archive, table.minus_infinite, table.plus_infinite);
    std::uint64_t runs = table.runs().size();
    field(archive, runs);
    for (std::uint64_t i = 0; i < runs; ++i) {
        if constexpr (Archive::reads) {
            Depth depth{};
            std::vector<unsigned char> bytes;
            fields(archive, depth, bytes);
            const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
            table.add(FrequencyRun(std::vector<std::byte>(first, first + bytes.size()), depth));
        } else {
            const FrequencyRun& run = table.runs()[i];
            Depth depth = run.depth();
            std::uint64_t size = run.bytes();
            fields(archive, depth, size);
            archive.raw(run.data(), size);
        }
    }
}
template <class Archive>
void structure(Archive& archive, Percentiles& percentiles) {
    std::vector<double> percents;
    for (std::size_t i = 0; i < percentiles.size(); ++i) percents.push_back(percentiles.micro(i) / 1e6);
    field(archive, percents);
    if constexpr (Archive::reads) percentiles = Percentiles(percents);
}
/// Structures that list their fields.
template <class Archive, class T>
requires requires {
    T::for_each_field([](const char*, auto) {});
}
void structure(Archive& archive, T& value) {
    T::for_each_field([&](const char*, auto member) { field(archive, value.*member); });
}
template <class Archive>
void structure(Archive& archive, FloatMoments& moments) {
    fields(archive, moments.pivot, moments.exponent, moments.sums[0], moments.sums[1], moments.sums[2],
           moments.sums[3]);
}
template <class Archive>
void structure(Archive& archive, Row& row) {
    fields(archive, row.name, row.depth, row.statistics, row.white, row.images);
}
/// Words that point to text that is there as long as the library is.
template <class Archive>
void word(Archive& archive, const char*& text, std::initializer_list<const char*> words) {
    std::string copy = text;
    field(archive, copy);
    if constexpr (Archive::reads) {
        for (const char* known : words)
            if (copy == known) return void(text = known);
        Reader::fail();
    }
}
template <class Archive>
void structure(Archive& archive, io::ImageInfo& info) {
    fields(archive, info.path, info.width, info.height, info.depth, info.white, info.pages, info.pixel_width,
           info.pixel_height, info.pixel_unit);
    word(archive, info.alpha,
         {to_string(io::Alpha::none), to_string(io::Alpha::straight), to_string(io::Alpha::premultiplied)});
    word(archive, info.damage,
         {to_string(io::Damage::none), to_string(io::Damage::damaged), to_string(io::Damage::truncated)});
}
template <class Archive>
void structure(Archive& archive, Measurement& measurement) {
    fields(archive, measurement.analysis, measurement.info, measurement.percentiles, measurement.clip_sigma,
           measurement.histogram.bins, measurement.histogram.range, measurement.values);
}

template <class Archive>
void structure(Archive& archive, Region& region) {
    fields(archive, region.label, region.x, region.y, region.width, region.height, region.area, region.centroid_x,
           region.centroid_y, region.analysis, region.values);
}
template <class Archive>
void structure(Archive& archive, Regions& regions) {
    fields(archive, regions.found, regions.info, regions.percentiles, regions.clip_sigma, regions.histogram.bins,
           regions.histogram.range);
}

template <class Archive, class T>
void field(Archive& archive, T& value) {
    if constexpr (plain<T>)
        archive.plain_value(value);
    else
        structure(archive, value);
}

template <class T>
std::string bytes_of(T value) {
    Writer writer;
    std::uint32_t number = version;
    fields(writer, number, value);
    return std::move(writer.bytes);
}

template <class T>
T value_of(const std::string& bytes) {
    Reader reader(bytes);
    std::uint32_t number = 0;
    field(reader, number);
    if (number != version) Reader::fail();
    T value;
    field(reader, value);
    if (reader.left() != 0) Reader::fail();
    return value;
}

}  // namespace

std::string packed(const Measurement& measurement) {
    return bytes_of(measurement);
}

Measurement unpacked(const std::string& bytes) {
    auto measurement = value_of<Measurement>(bytes);
    measurement.finish();
    return measurement;
}

std::string packed(const Row& row) {
    return bytes_of(row);
}

std::string packed(const Regions& regions) {
    return bytes_of(regions);
}

Regions unpacked_regions(const std::string& bytes) {
    return value_of<Regions>(bytes);
}

Row unpacked_row(const std::string& bytes) {
    return value_of<Row>(bytes);
}

}  // namespace gpuhist::python
