/// The class Regions: what was found in the pixels of each label.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "images.hpp"

namespace gpuhist::python {

void bind_regions(nb::module_& module) {
    nb::class_<Regions> type(module, "Regions");
    type.def(
            "__init__",
            [](Regions* made, const ImageView& view, const ImageView& labels, bool label_zero, const Asked& asked,
               const Picture* picture) {
                new (made) Regions(measure_regions(view, labels, label_zero, asked, picture));
            },
            "view"_a, "labels"_a, "label_zero"_a, "asked"_a, "picture"_a.none(), Release())
        .def(
            "labels",
            [](const Regions& regions) {
                std::vector<std::uint64_t> labels;
                for (const Region& region : regions.found) labels.push_back(region.label);
                return array_of(std::move(labels));
            },
            nb::sig("def labels(self) -> numpy.typing.NDArray[numpy.uint64]"))
        .def("box",
             [](const Regions& regions, std::size_t place) {
                 const Region& region = regions.found.at(place);
                 return std::tuple(region.x, region.y, region.width, region.height);
             })
        .def("centroid",
             [](const Regions& regions, std::size_t place) {
                 const Region& region = regions.found.at(place);
                 return std::tuple(region.centroid_x, region.centroid_y);
             })
        .def("area", [](const Regions& regions, std::size_t place) { return regions.found.at(place).area; })
        .def("measurement", &Regions::measurement, Release())
        .def_prop_ro("percentiles",
                     [](const Regions& regions) {
                         std::vector<double> percents;
                         for (std::size_t i = 0; i < regions.percentiles.size(); ++i)
                             percents.push_back(regions.percentiles.micro(i) / 1e6);
                         return percents;
                     })
        .def_prop_ro("clip_sigma", [](const Regions& regions) { return regions.clip_sigma; })
        .def(
            "table",
            [](const Regions& regions) {
                const std::vector<Column> list =
                    columns({regions.percentiles, regions.clip_sigma}, ColumnFile::regions);
                nb::list rows;
                for (std::size_t i = 0; i < regions.found.size(); ++i)
                    regions.for_each_row(i, [&](const ColumnRow& row) { rows.append(values_of(list, row)); });
                return rows;
            },
            nb::sig("def table(self) -> list[list[int | float | str | None]]"));
    bind_pickles(type, &unpacked_regions);
}

}  // namespace gpuhist::python
