/// The class Luts: lookup tables of a set, for each depth of its images.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "fork.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/lut_file.hpp"
#include "gpuhist/lut.hpp"
#include "gpuhist/resources.hpp"
#include "images.hpp"
#include "run/output_directory.hpp"
#include "summary.hpp"

namespace gpuhist::python {
namespace {

struct Luts {
    std::vector<LutSet> sets;

    const LutSet& of(Depth depth) const {
        const auto found =
            std::find_if(sets.begin(), sets.end(), [&](const LutSet& one) { return one.depth == depth; });
        if (found != sets.end()) return *found;
        std::string there;
        for (const LutSet& one : sets) there += (there.empty() ? "" : ", ") + std::string(to_string(one.depth));
        throw InvalidArgument(std::string("there are no tables for ") + to_string(depth) + " images, only for " +
                              there);
    }
    friend bool operator==(const Luts& a, const Luts& b) { return a.sets == b.sets; }
};

Luts fit(const SharedSummary& shared, const Normalization& normalization) {
    const Summary all = shared.copy();
    Luts luts;
    for (const DepthSummary& depth : all.depths())
        if (depth.find(Channel::gray) || depth.find(Channel::red))  // bands have none
            luts.sets.push_back(make_luts(all, depth.depth, normalization));
    if (luts.sets.empty()) throw InvalidArgument("images: there are neither colors nor gray, so there are no tables");
    return luts;
}

void apply(const Luts& luts, const ImageView& image, const ImageView& output, bool valid_only, const Asked& asked) {
    const LutSet& set = luts.of(image.depth);
    const Work work;
    const int threads = asked.threads > 0 ? asked.threads : available_threads();
    apply_luts(set, image, writable(output), threads, image.samples);
    Normalization normalization;
    normalization.valid_only = valid_only;
    normalization.fill = set.fill;
    settle_copy(image, asked.request(image.depth), normalization, writable(output), threads);
}

}  // namespace

void bind_lut(nb::module_& module) {
    nb::class_<Luts>(module, "Luts")
        .def_static("fit", &fit, "summary"_a, "normalization"_a, Release())
        .def_static(
            "load",
            [](const nb::bytes& path) {
                const std::string name = bytes_of(path);
                const Unlocked released;
                const auto bytes = io::read_bytes(name);
                return Luts{io::parse_luts({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name)};
            },
            "path"_a)
        .def_static(
            "parse", [](const nb::bytes& text) { return Luts{io::parse_luts(bytes_of(text), "pickled tables")}; },
            "text"_a)
        .def("text", [](const Luts& luts) { return bytes_of(io::luts_csv(luts.sets)); })
        .def(
            "save",
            [](const Luts& luts, const nb::bytes& path) {
                const std::filesystem::path name(bytes_of(path));
                const Unlocked released;
                app::write_durably(name, io::luts_csv(luts.sets));
            },
            "path"_a)
        .def_prop_ro("depths",
                     [](const Luts& luts) {
                         std::vector<std::string> names;
                         for (const LutSet& one : luts.sets) names.push_back(to_string(one.depth));
                         return names;
                     })
        .def_prop_ro("mode", [](const Luts& luts) { return std::string(to_string(luts.sets.at(0).mode)); })
        .def(
            "depth_of",
            [](const Luts& luts, const std::string& depth) {
                return std::string(to_string(luts.of(depth_of(depth)).copy_depth()));
            },
            "depth"_a, "Depth of the copies of images of a depth.")
        .def(
            "tables",
            [](const Luts& luts, const std::string& depth) {
                std::vector<std::pair<std::string, std::vector<float>>> tables;
                for (const LutSet::Lut& one : luts.of(depth_of(depth)).luts)
                    tables.emplace_back(to_string(one.channel), one.values);
                return tables;
            },
            "depth"_a)
        .def("apply", &apply, "image"_a, "output"_a, "valid_only"_a, "asked"_a, Release())
        .def(
            "__eq__",
            [](const Luts& a, nb::handle other) {
                return nb::isinstance<Luts>(other) && a == nb::cast<const Luts&>(other);
            },
            nb::sig("def __eq__(self, other: object, /) -> bool"));
}

}  // namespace gpuhist::python
