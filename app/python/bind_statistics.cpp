/// The class Statistics, whose properties and their docstrings are the table of columns.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "bind.hpp"
#include "measurement.hpp"

namespace gpuhist::python {
namespace {

/// Columns of images, regions and sets. Names live as long as the process: the module does.
const std::vector<Column>& all_columns() {
    static const auto* const all = [] {
        constexpr auto files = static_cast<std::uint16_t>(ColumnFile::stats) |
                               static_cast<std::uint16_t>(ColumnFile::regions) |
                               static_cast<std::uint16_t>(ColumnFile::dataset);
        auto* const list = new std::vector<Column>(columns());
        list->erase(std::remove_if(list->begin(), list->end(),
                                   [](const Column& column) { return (column.files & files) == 0; }),
                    list->end());
        return list;
    }();
    return *all;
}

/// Every row has a value in the column, even one without a sample.
bool is_always_there(const Column& column) {
    const Statistics none;
    ColumnRow row;
    row.statistics = &none;
    return !std::holds_alternative<std::monostate>(column.value(row));
}

/// Numbers by name, in the order of the columns. The row's own percentiles stand in the place of the usual ones.
nb::dict numbers_of(const Row& row) {
    static const std::string first = percentile_name(Percentiles().micro(0)),
                             first_weighted = weighted_percentile_name(Percentiles().micro(0));
    nb::dict numbers;
    const auto add = [&](const std::vector<Percentile>& percentiles, std::string (*name)(std::uint32_t)) {
        for (const Percentile& one : percentiles)
            numbers[name(one.micro).c_str()] = one.value ? nb::object(nb::float_(*one.value)) : nb::none();
    };
    for (const Column& column : all_columns()) {
        if (!column.of_channel) continue;
        if (column.name == "channel")
            numbers["channel"] = text_of(row.name);
        else if (column.micro == 0)
            numbers[column.name.c_str()] = value_of(column.value(row.columns()));
        else if (column.name == first)
            add(row.statistics.percentiles, percentile_name);
        else if (column.name == first_weighted)
            add(row.statistics.weighted_percentiles, weighted_percentile_name);
    }
    return numbers;
}

}  // namespace

void bind_statistics(nb::module_& module) {
    auto statistics =
        nb::class_<Row>(module, "Statistics",
                        "Numbers of one channel, of an image or of a set, in units of the stored values unless the\n"
                        "text says otherwise. Undefined numbers are None. Masked, nodata, NaN and infinite samples\n"
                        "are counted and left out of all other numbers.");
    statistics.def_prop_ro(
        "channel", [](const Row& row) { return text_of(row.name); }, nb::sig("def channel(self) -> str"),
        "Name of the channel.");
    statistics.def_prop_ro(
        "white", [](const Row& row) { return row.white; },
        "Value that stands for white; None if the images have different ones.");
    statistics.def_prop_ro(
        "images", [](const Row& row) { return row.images; }, "Number of images to which the numbers belong.");
    for (const Column& column : all_columns()) {
        if (!column.of_channel || column.type == ColumnType::text || column.name == "images") continue;
        const auto keep = [](std::string text) { return (new std::string(std::move(text)))->c_str(); };
        const char* signature =
            keep("def " + column.name + "(self) -> " + (column.type == ColumnType::integer ? "int" : "float") +
                 (is_always_there(column) ? "" : " | None"));
        const char* doc = keep(std::string(column.definition) + " Unit: " + column.unit + ". Equals: " + column.source +
                               ". For: " + column.images + ".");
        statistics.def_prop_ro(
            column.name.c_str(), [&column](const Row& row) { return value_of(column.value(row.columns())); },
            nb::sig(signature), doc);
    }
    statistics
        .def(
            "percentile",
            [](const Row& row, double percent) -> std::optional<double> { return row.statistics.percentile(percent); },
            "q"_a,
            "Value of a percentile, in percent, from percentile_columns. None if it was not requested or is\n"
            "undefined. Result.percentile has any percentile.")
        .def("to_dict", &numbers_of, nb::sig("def to_dict(self) -> dict[str, int | float | str | None]"),
             "Numbers by their names, in the order of the columns.")
        .def(
            "__repr__", [](const Row& row) { return nb::str("Statistics({})").attr("format")(numbers_of(row)); },
            nb::sig("def __repr__(self) -> str"));
    bind_equality(statistics);
    bind_pickles(statistics, &unpacked_row);
}

}  // namespace gpuhist::python
