/// The class Files: a run over files.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "bind.hpp"
#include "files.hpp"

namespace gpuhist::python {
namespace {

/// Run over files that ends without the interpreter's lock, which others may need until it has.
struct HeldFiles {
    std::unique_ptr<Files> files;
    explicit HeldFiles(std::unique_ptr<Files> run) : files(std::move(run)) {}
    HeldFiles(HeldFiles&&) = default;
    ~HeldFiles() {
        const nb::gil_scoped_release released;
        files.reset();
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
               const std::string& on_damaged, std::uint64_t memory, const nb::bytes& masks) {
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
                const nb::gil_scoped_release released;
                new (made) HeldFiles{std::make_unique<Files>(std::move(files), asked)};
            },
            "arguments"_a, "asked"_a, "recursive"_a, "follow_links"_a, "include"_a, "exclude"_a, "every_page"_a,
            "page"_a, "max_pixels"_a.none(), "on_damaged"_a, "memory"_a, "masks"_a)
        .def(
            "next",
            [](HeldFiles& held) -> std::optional<std::tuple<nb::object, std::shared_ptr<Measurement>, std::string,
                                                            nb::object, std::vector<std::string>>> {
                for (;;) {
                    std::optional<FileOutcome> outcome;
                    bool ended = false;
                    {
                        const nb::gil_scoped_release released;
                        outcome = held.files->next(50);
                        ended = !outcome && held.files->ended();
                    }
                    if (outcome)
                        return std::tuple(text_of(outcome->path), std::move(outcome->measurement), outcome->kind,
                                          text_of(outcome->message), outcome->remarks);
                    if (ended) return std::nullopt;
                    if (PyErr_CheckSignals() != 0) throw nb::python_error();
                }
            },
            nb::sig("def next(self) -> tuple[str, Measurement | None, str, str, list[str]] | None"));
}

}  // namespace gpuhist::python
