/// Conversions between values of Python and those of the library, for the bindings.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gpuhist/columns.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/io/decode.hpp"

namespace gpuhist::python {

namespace nb = nanobind;

/// Text that may be the name of a file, of any bytes.
nb::object text_of(std::string_view text);

std::string bytes_of(const nb::bytes& bytes);
nb::bytes bytes_of(const std::string& bytes);
std::vector<std::string> strings_of(const std::vector<nb::bytes>& list);

/// Value of a column, None where there is none; values of a row, in the order of the columns.
nb::object value_of(const ColumnValue& value);
nb::list values_of(const std::vector<Column>& columns, const ColumnRow& row);

using Numbers = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>;
Numbers array_of(std::vector<std::uint64_t> numbers);

/// Words that an argument may be, and their meanings.
template <class Value>
using Words = std::vector<std::pair<const char*, Value>>;

/// Meaning of an argument. Throws InvalidArgument where it is none of the words.
template <class Value>
Value word_of(const std::string& word, const Words<Value>& words, const char* argument) {
    std::string list;
    for (const auto& [text, value] : words) {
        if (word == text) return value;
        list += (list.empty() ? "" : ", ") + std::string(text);
    }
    throw InvalidArgument(std::string(argument) + ": '" + word + "' is not one of " + list);
}

/// Type of such an argument, for the stub: typing.Literal. Stubs quote the text of a ForwardRef, and that of no str.
template <class Value>
nb::object type_of(const Words<Value>& words) {
    const nb::module_ typing = nb::module_::import_("typing");
    nb::list list;
    for (const auto& [text, value] : words) list.append(typing.attr("ForwardRef")(text));
    return typing.attr("Literal")[nb::tuple(list)];
}

/// Depth by its name. Throws InvalidArgument.
Depth depth_of(const std::string& name);

using Bounds = std::optional<std::pair<double, double>>;
HistogramOptions bins_of(std::uint32_t bins, const Bounds& range);
/// Percentiles in percent, the usual ones where none are named.
Percentiles percentiles_of(const std::optional<std::vector<double>>& percents);

io::OnDamaged on_damaged_of(const std::string& word);

/// View that may be written.
MutableImageView writable(const ImageView& view);

/// Histogram as Python takes it: lower end, upper end, unit of the counts, and a column per channel: name, counts,
/// below, above, nan, masked, nodata.
using HistogramColumn =
    std::tuple<nb::object, Numbers, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
std::tuple<double, double, double, std::vector<HistogramColumn>> histogram_of(Histogram histogram);

}  // namespace gpuhist::python
