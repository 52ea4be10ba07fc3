/// The class Files: a run over files.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "arrow.hpp"
#include "bind.hpp"
#include "files.hpp"

namespace gpuhist::python {
namespace {

/// Runs over files that end without the interpreter's lock, which others may need until they have.
struct HeldFiles {
    std::shared_ptr<FileRuns> runs;
    explicit HeldFiles(std::shared_ptr<FileRuns> all) : runs(std::move(all)) {}
    HeldFiles(HeldFiles&&) = default;
    ~HeldFiles() {
        const Unlocked released;
        runs.reset();
    }
};

}  // namespace

void bind_files(nb::module_& module) {
    nb::class_<HeldFiles>(module, "Files")
        .def(
            "__init__",
            [](HeldFiles* made, const std::vector<nb::bytes>& arguments, const Asked& asked, bool recursive,
               bool follow_links, const std::vector<nb::bytes>& include, const std::vector<nb::bytes>& exclude,
               bool every_page, std::uint64_t page, std::optional<std::uint64_t> max_pixels,
               const std::string& on_damaged, std::uint64_t memory, const nb::bytes& masks, const nb::bytes& labels,
               bool label_zero) {
                AskedFiles files;
                files.arguments = strings_of(arguments);
                files.walk.recursive = recursive;
                files.walk.follow_links = follow_links;
                files.walk.include = strings_of(include);
                files.walk.exclude = strings_of(exclude);
                files.every_page = every_page;
                files.page = page;
                files.max_pixels = max_pixels;
                files.on_damaged = on_damaged_of(on_damaged);
                files.memory = memory;
                files.masks = bytes_of(masks);
                files.labels = bytes_of(labels);
                files.label_zero = label_zero;
                const Unlocked released;
                new (made) HeldFiles{std::make_shared<FileRuns>(std::move(files), asked)};
            },
            "arguments"_a, "asked"_a, "recursive"_a, "follow_links"_a, "include"_a, "exclude"_a, "every_page"_a,
            "page"_a, "max_pixels"_a.none(), "on_damaged"_a, "memory"_a, "masks"_a, "labels"_a, "label_zero"_a)
        .def(
            "next",
            [](HeldFiles& held)
                -> std::optional<std::tuple<nb::object, std::shared_ptr<Measurement>, std::shared_ptr<Regions>,
                                            std::string, nb::object, std::vector<std::string>>> {
                for (;;) {
                    std::optional<FileOutcome> outcome;
                    bool ended = false;
                    {
                        const Unlocked released;
                        const auto run = held.runs->shared();
                        outcome = run->next(50);
                        ended = !outcome && run->ended();
                    }
                    if (outcome)
                        return std::tuple(text_of(outcome->path), std::move(outcome->measurement),
                                          std::move(outcome->regions), outcome->kind, text_of(outcome->message),
                                          outcome->remarks);
                    if (ended) return std::nullopt;
                    if (PyErr_CheckSignals() != 0) throw nb::python_error();
                }
            },
            nb::sig("def next(self) -> tuple[str, Measurement | None, Regions | None, str, str, list[str]] | None"))
        .def(
            "count",
            [](const HeldFiles& held) {
                const Unlocked released;
                return held.runs->count([] {
                    const Locked acquired;
                    if (PyErr_CheckSignals() != 0) throw nb::python_error();
                    return false;
                });
            },
            "Number of inputs.")
        .def_prop_ro(
            "taken",
            [](const HeldFiles& held) {
                const auto run = held.runs->latest();
                return run ? run->taken() : 0;
            },
            "Number of outcomes that the last run has handed over.")
        .def(
            "rethrow",
            [](const HeldFiles& held) {
                if (const auto run = held.runs->latest()) run->rethrow();
            },
            "Raises what ended the last run, again.")
        .def(
            "rows",
            [](const HeldFiles& held, const std::optional<std::vector<double>>& percentiles,
               std::optional<double> clip_sigma, bool of_regions, std::size_t most_rows) {
                return arrow_stream({held.runs,
                                     {percentiles_of(percentiles), clip_sigma},
                                     of_regions ? ColumnFile::regions : ColumnFile::stats,
                                     most_rows});
            },
            "percentiles"_a.none(), "clip_sigma"_a.none(), "of_regions"_a, "most_rows"_a,
            nb::sig("def rows(self, percentiles: collections.abc.Sequence[float] | None, clip_sigma: float | None, "
                    "of_regions: bool, most_rows: int) -> object"),
            "Capsule with an Arrow stream of the rows of a run.");
}

}  // namespace gpuhist::python
