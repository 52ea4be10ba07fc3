/// The class Flags: flags of the images of a set.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bind.hpp"
#include "gpuhist/flags.hpp"
#include "gpuhist/hashes.hpp"
#include "gpuhist/io/policy.hpp"
#include "gpuhist/measures.hpp"
#include "measurement.hpp"
#include "run/image_flags.hpp"
#include "run/measured_images.hpp"

namespace gpuhist::python {
namespace {

/// Thresholds of a policy: of a file, of a text, or the defaults if that is empty.
FlagThresholds thresholds_of(const std::string& policy, bool is_path) {
    if (is_path) return io::read_policy(policy).flags;
    if (policy.empty()) return {};
    try {
        return io::parse_policy(policy, "policy").flags;
    } catch (const IoError& error) {
        throw InvalidArgument(error.what());
    }
}

std::optional<double> number_in(const ColumnValue& value) {
    if (const auto* number = std::get_if<double>(&value)) return *number;
    if (const auto* whole = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*whole);
    return std::nullopt;
}

/// Columns of stats.csv that flags need, each with the number that it is.
struct ChannelColumns {
    std::vector<std::pair<Column, std::optional<double> FlagNumbers::Channel::*>> defined;
    std::vector<std::pair<Column, double FlagNumbers::Channel::*>> counts;

    ChannelColumns() {
        using Channel = FlagNumbers::Channel;
        for (const Column& column : columns({}, ColumnFile::stats)) {
            if (column.name == "min") defined.emplace_back(column, &Channel::min);
            if (column.name == "max") defined.emplace_back(column, &Channel::max);
            if (column.name == "entropy") defined.emplace_back(column, &Channel::entropy);
            if (column.name == "clipped_low") defined.emplace_back(column, &Channel::clipped_low);
            if (column.name == "clipped_high") defined.emplace_back(column, &Channel::clipped_high);
            if (column.name == "nan") counts.emplace_back(column, &Channel::nan);
            if (column.name == "inf") counts.emplace_back(column, &Channel::inf);
        }
    }
};

FlagNumbers flag_numbers(const Measurement& image, const std::vector<MeasureValue>& measures) {
    static const ChannelColumns columns_of_channel;
    FlagNumbers numbers;
    numbers.width = static_cast<double>(image.info.width);
    numbers.height = static_cast<double>(image.info.height);
    numbers.integers = !traits_of(image.analysis.depth).floating;
    numbers.white = std::max(0.0, image.analysis.white);
    for (const Row& row : image.rows) {
        FlagNumbers::Channel& channel = numbers.channels.emplace_back();
        const ColumnRow values = image.columns(row);
        channel.name = row.name;
        for (const auto& [column, member] : columns_of_channel.defined)
            channel.*member = number_in(column.value(values));
        for (const auto& [column, member] : columns_of_channel.counts)
            channel.*member = number_in(column.value(values)).value_or(0);
    }
    for (std::size_t i = 0; i < measures.size(); ++i)
        for (const auto& [name, member] : app::flag_measures)
            if (name == measure_columns()[i].name) numbers.*member = number_in(column_value(measures[i]));
    return numbers;
}

/// Flags of images that are added one by one. Of each, about 200 bytes are kept.
class ImageFlags {
  public:
    ImageFlags(const std::string& policy, bool is_path)
        : thresholds_(thresholds_of(policy, is_path)), set_(thresholds_) {}

    void add(const Measurement& image) {
        check_measures(image);
        const std::vector<MeasureValue> measures = measure_values(image.analysis);
        const FlagNumbers numbers = flag_numbers(image, measures);
        Values& values = values_.emplace_back();
        for (const FlagTraits& traits : all_flags)
            values[static_cast<std::size_t>(traits.flag)] =
                flag_value(traits.flag, numbers).value_or(std::numeric_limits<double>::quiet_NaN());
        if (set_.wants_hashes()) add_hashes(measures);
    }

    using Found = std::tuple<std::uint64_t, std::string, double, std::optional<double>, std::optional<std::uint64_t>>;
    std::vector<Found> found() const {
        std::vector<double> sizes;
        if (set_.wants_sizes())
            for (const Values& values : values_) sizes.push_back(values[static_cast<std::size_t>(Flag::odd_size)]);
        app::SetFlags set = set_;
        set.complete(std::move(sizes), hashes_);
        std::vector<Found> all;
        for (std::uint64_t image = 0; image < values_.size(); ++image) {
            const auto value_of = [&](Flag flag) {
                const double value = values_[image][static_cast<std::size_t>(flag)];
                return std::isnan(value) ? std::nullopt : std::optional(value);
            };
            set.each(image, {}, value_of, [&](const app::ImageFlag& flag) {
                all.emplace_back(flag.image, traits_of(flag.flag).name, flag.value, flag.threshold, flag.first);
            });
        }
        return all;
    }

  private:
    using Values = std::array<double, flag_count>;  ///< NaN: undefined

    /// Throws InvalidArgument if a flag needs a measure that was not asked for. Bands have hashes alone.
    void check_measures(const Measurement& image) const {
        const bool bands = !image.find("gray") && !image.find("luma");
        for (const FlagTraits& traits : all_flags) {
            if (!thresholds_.of(traits.flag)) continue;
            for (const MeasureColumn& column : measure_columns()) {
                if (bands && column.measure != Measure::hashes) continue;
                const std::string words = std::string(" ") + traits.columns + ' ';
                if (words.find(std::string(" ") + column.name + ' ') == words.npos) continue;
                const auto& measured = image.analysis.measured;
                if (std::none_of(measured.begin(), measured.end(),
                                 [&](const Measured& one) { return one.measure == column.measure; }))
                    throw InvalidArgument(std::string(column.name) + " was not measured, which the flag " +
                                          traits.name + " needs: measure with measures=\"quality\"");
            }
        }
    }

    /// As `app::HashColumns`: an image without a hash of its pixels is like no other.
    void add_hashes(const std::vector<MeasureValue>& measures) {
        Hash128 pixels{~std::uint64_t{0}, hashes_.pixels.size()};
        std::uint64_t similar = 0;
        for (std::size_t i = 0; i < measures.size(); ++i) {
            const auto* const text = std::get_if<std::string>(&measures[i]);
            if (!text) continue;
            const std::string_view name = measure_columns()[i].name;
            if (name == "pixels_hash") pixels = hash128_of(*text).value_or(pixels);
            if (name == "dhash") similar = hash64_of(*text).value_or(0);
        }
        hashes_.pixels.push_back(pixels);
        hashes_.similar.push_back(similar);
    }

    FlagThresholds thresholds_;
    app::SetFlags set_;
    std::vector<Values> values_;
    app::ImageHashes hashes_;
};

}  // namespace

void bind_flags(nb::module_& module) {
    nb::class_<ImageFlags>(module, "Flags")
        .def(
            "__init__",
            [](ImageFlags* made, const nb::bytes& policy, bool is_path) {
                new (made) ImageFlags(bytes_of(policy), is_path);
            },
            "policy"_a, "is_path"_a)
        .def("add", &ImageFlags::add, "image"_a)
        .def("found", &ImageFlags::found);
}

}  // namespace gpuhist::python
