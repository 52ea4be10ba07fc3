/// The class Measurement: what was found in an image.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "gpuhist/io/plot.hpp"
#include "measurement.hpp"

namespace gpuhist::python {

void bind_measurement(nb::module_& module) {
    nb::class_<Measurement> type(module, "Measurement");
    type.def_prop_ro(
            "path", [](const Measurement& one) { return text_of(one.info.path); }, nb::sig("def path(self) -> str"))
        .def_prop_ro("width", [](const Measurement& one) { return one.info.width; })
        .def_prop_ro("height", [](const Measurement& one) { return one.info.height; })
        .def_prop_ro("depth", [](const Measurement& one) { return std::string(to_string(one.info.depth)); })
        .def_prop_ro("white", [](const Measurement& one) { return one.analysis.white; })
        .def_prop_ro("alpha", [](const Measurement& one) { return std::string(one.info.alpha); })
        .def_prop_ro("damage", [](const Measurement& one) { return std::string(one.info.damage); })
        .def_prop_ro("pages", [](const Measurement& one) { return one.info.pages; })
        .def_prop_ro("pixel_size",
                     [](const Measurement& one) -> std::optional<std::tuple<double, double, std::string>> {
                         const io::ImageInfo& info = one.info;
                         if (!(info.pixel_width > 0)) return std::nullopt;
                         return std::tuple(info.pixel_width, info.pixel_height, info.pixel_unit);
                     })
        .def_prop_ro("bins", [](const Measurement& one) { return one.histogram.bins; })
        .def_prop_ro("range",
                     [](const Measurement& one) -> Bounds {
                         if (!one.histogram.range) return std::nullopt;
                         return std::pair(one.histogram.range->lower, one.histogram.range->upper);
                     })
        .def_prop_ro(
            "names",
            [](const Measurement& one) {
                nb::list names;
                for (const Row& row : one.rows) names.append(text_of(row.name));
                return names;
            },
            nb::sig("def names(self) -> list[str]"))
        .def_prop_ro(
            "measures",
            [](const Measurement& one) {
                nb::dict values;
                const std::vector<MeasureValue> found = measure_values(one.analysis);
                for (std::size_t i = 0; i < found.size(); ++i) {
                    const MeasureColumn& column = measure_columns()[i];
                    for (const Measured& requested : one.analysis.measured)
                        if (requested.measure == column.measure) values[column.name] = value_of(column_value(found[i]));
                }
                return values;
            },
            nb::sig("def measures(self) -> dict[str, int | float | str | None]"))
        .def("statistics", [](const Measurement& one, std::size_t row) { return one.rows.at(row); })
        .def(
            "counts", [](const Measurement& one, std::size_t row) { return array_of(one.counts(one.rows.at(row))); },
            nb::sig("def counts(self, row: int) -> numpy.typing.NDArray[numpy.uint64]"))
        .def_prop_ro("unit", [](const Measurement& one) { return one.unit(); })
        .def("percentile", [](const Measurement& one, std::size_t row,
                              double percent) { return one.percentile(one.rows.at(row), percent); })
        .def(
            "histogram",
            [](const Measurement& one, std::uint32_t bins, const Bounds& range) {
                return histogram_of(histogram(one.analysis, bins_of(bins, range)));
            },
            nb::sig("def histogram(self, bins: int, range: tuple[float, float] | None) -> "
                    "tuple[float, float, float, list[tuple[str, numpy.typing.NDArray[numpy.uint64], int, int, int, "
                    "int, int]]]"))
        .def(
            "table",
            [](const Measurement& one) {
                const std::vector<Column> list = columns(one.asked(), ColumnFile::stats);
                nb::list rows;
                for (const Row& row : one.rows) rows.append(values_of(list, one.columns(row)));
                return rows;
            },
            nb::sig("def table(self) -> list[list[int | float | str | None]]"))
        .def("svg", [](const Measurement& one, const std::string& title) {
            std::vector<Statistics> rows;
            for (const Row& row : one.rows) rows.push_back(row.statistics);
            io::Plot plot;
            plot.title = title;
            Analysis room;
            plot.panels.push_back(io::plot_panel(one.counted(room), std::move(rows), {}, one.values));
            return io::draw_plot_svg(plot);
        });
    bind_equality(type);
    bind_pickles(type, &unpacked);
}

}  // namespace gpuhist::python
