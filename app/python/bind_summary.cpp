/// The class Summary: many images as one.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <utility>

#include "bind.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/io/dataset.hpp"
#include "measurement.hpp"
#include "summary.hpp"

namespace gpuhist::python {
namespace {

std::vector<Row> rows_of(const std::vector<SummaryRow>& found) {
    std::vector<Row> rows;
    for (const SummaryRow& row : found)
        rows.push_back({std::string(channel_name(row.statistics)), row.depth, row.statistics, row.white, row.images});
    return rows;
}

}  // namespace

void bind_summary(nb::module_& module) {
    using Numbers3 = std::vector<std::optional<double>>;
    nb::class_<SharedSummary>(module, "Summary")
        .def(nb::init<>())
        .def(
            "add",
            [](SharedSummary& self, const Measurement& one) {
                const std::lock_guard lock(self.mutex);
                Analysis room;
                self.summary.add(one.counted(room), one.values);
            },
            Release())
        .def(
            "merge",
            [](SharedSummary& self, const SharedSummary& other) {
                const Summary more = other.copy();
                const std::lock_guard lock(self.mutex);
                self.summary.merge(more);
            },
            Release())
        .def(
            "text", [](const SharedSummary& self) { return io::summary_json(self.copy().merged_values(nullptr)); },
            Release())
        .def(
            "set_text",
            [](SharedSummary& self, const std::string& text) { self.set(io::parse_summary(text, "pickled summary")); },
            Release())
        .def(
            "depths",
            [](const SharedSummary& self) {
                std::vector<std::string> names;
                const Summary summary = self.copy();
                for (const DepthSummary& part : summary.depths()) names.push_back(to_string(part.depth));
                return names;
            },
            Release())
        .def(
            "rows",
            [](const SharedSummary& self, const std::optional<std::vector<double>>& percentiles,
               std::optional<double> clip_sigma) {
                std::vector<std::pair<std::string, Row>> rows;
                const StatisticsRequest asked(percentiles_of(percentiles), clip_sigma);
                for (Row& row : rows_of(self.copy().statistics(asked)))
                    rows.emplace_back(to_string(row.depth), std::move(row));
                return rows;
            },
            "percentiles"_a.none(), "clip_sigma"_a.none(), Release())
        .def(
            "table",
            [](const SharedSummary& self, const std::optional<std::vector<double>>& percentiles,
               std::optional<double> clip_sigma) {
                const StatisticsRequest asked(percentiles_of(percentiles), clip_sigma);
                const std::vector<Column> list = columns(asked, ColumnFile::dataset);
                nb::list table;
                for (const Row& row : rows_of(self.copy().statistics(asked)))
                    table.append(values_of(list, row.columns()));
                return table;
            },
            "percentiles"_a.none(), "clip_sigma"_a.none(),
            nb::sig("def table(self, percentiles: collections.abc.Sequence[float] | None, clip_sigma: float | None) -> "
                    "list[list[int | float | str | None]]"))
        .def(
            "histogram",
            [](const SharedSummary& self, const std::string& depth, std::uint32_t bins, const Bounds& range) {
                auto histogram = self.copy().histogram(depth_of(depth), bins_of(bins, range));
                if (!histogram)
                    throw InvalidArgument(
                        "summary: its f32 images were neither all counted over one range nor with "
                        "detail=\"values\", so that they have no histogram");
                return histogram_of(std::move(*histogram));
            },
            nb::sig("def histogram(self, depth: str, bins: int, range: tuple[float, float] | None) -> "
                    "tuple[float, float, float, list[tuple[str, numpy.typing.NDArray[numpy.uint64], int, int, int, "
                    "int, int]]]"))
        .def(
            "training",
            [](const SharedSummary& self, const std::string& depth) -> std::optional<std::pair<Numbers3, Numbers3>> {
                const Summary summary = self.copy();
                const io::SetNumbers numbers = io::set_numbers(summary);
                for (std::size_t i = 0; i < summary.depths().size(); ++i) {
                    if (summary.depths()[i].depth != depth_of(depth)) continue;
                    const io::TrainingNumbers& found = numbers.training[i];
                    if (found.colors) return std::pair(found.colors->mean, found.colors->std);
                    if (found.gray)
                        return std::pair(Numbers3(3, found.gray->mean.at(0)), Numbers3(3, found.gray->std.at(0)));
                }
                return std::nullopt;
            },
            Release())
        .def(
            "measures",
            [](const SharedSummary& self, const std::string& depth) {
                nb::dict columns;
                const Summary summary = self.copy();
                const DepthSummary* part = summary.find(depth_of(depth));
                if (!part) return columns;
                for (const MeasureSummary& one : part->measures) {
                    nb::dict numbers;
                    numbers["images"] = one.images;
                    numbers["mean"] = one.mean();
                    numbers["min"] = one.minimum;
                    numbers["max"] = one.maximum;
                    columns[one.column.c_str()] = numbers;
                }
                return columns;
            },
            nb::sig("def measures(self, depth: str) -> dict[str, dict[str, int | float]]"))
        .def(
            "white",
            [](const SharedSummary& self, const std::string& depth) -> std::optional<double> {
                const Summary summary = self.copy();
                const DepthSummary* part = summary.find(depth_of(depth));
                return part ? part->white : std::nullopt;
            },
            Release())
        .def(
            "equals", [](const SharedSummary& self, const SharedSummary& other) { return self.copy() == other.copy(); },
            Release());
}

}  // namespace gpuhist::python
