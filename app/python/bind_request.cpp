/// What is asked for: of a measurement, and of a normalized copy.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "bind.hpp"
#include "gpuhist/normalize.hpp"
#include "images.hpp"

namespace gpuhist::python {
namespace {

const Words<AlphaRule> alpha_rules = [] {
    Words<AlphaRule> words;
    for (const AlphaTraits& traits : all_alpha_rules) words.emplace_back(traits.name, traits.rule);
    return words;
}();

const Words<NormalizeMode> normalize_modes = [] {
    Words<NormalizeMode> words;
    for (const NormalizeTraits& traits : all_normalize_modes) words.emplace_back(traits.name, traits.mode);
    return words;
}();

/// Numbers of a mode's parameters by keyword; where a parameter is one number, it comes twice.
using ParameterNumbers = std::map<std::string, std::pair<double, double>>;

std::string keyword_of(const NormalizeParameter& parameter) {
    std::string name = parameter.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

/// Channel of a rule about samples: one of those that files and arrays have.
std::optional<Channel> channel_of(const std::optional<std::string>& name, const char* argument) {
    if (!name) return std::nullopt;
    for (int i = 0; i < channel_names; ++i)
        if (const auto channel = static_cast<Channel>(i);
            *name == to_string(channel) && channel != Channel::luma && channel != Channel::all)
            return channel;
    throw InvalidArgument(std::string(argument) + ": '" + *name +
                          "' is no channel of an image: gray, red, green, blue, alpha, c0 to c" +
                          std::to_string(most_channels - 1));
}

using NamedValue = std::pair<std::optional<std::string>, double>;
using NamedInterval = std::tuple<std::optional<std::string>, double, double>;

Validity validity_of(const std::vector<NamedValue>& nodata, const std::vector<NamedInterval>& valid, bool nodata_any,
                     const std::string& alpha) {
    Validity validity;
    for (const auto& [name, value] : nodata) validity.nodata.push_back({channel_of(name, "nodata"), value});
    for (const auto& [name, lowest, highest] : valid) {
        if (!(lowest <= highest))
            throw InvalidArgument("valid: from " + io::shortest(lowest) + " to " + io::shortest(highest) +
                                  ": the lower one first");
        validity.valid.push_back({channel_of(name, "valid"), lowest, highest});
    }
    validity.nodata_any = nodata_any;
    try {
        set_alpha(validity, alpha);
    } catch (const InvalidArgument& error) {
        throw InvalidArgument(std::string("alpha: ") + error.what());
    }
    return validity;
}

}  // namespace

void bind_request(nb::module_& module) {
    module.attr("Alpha") = type_of(alpha_rules);
    module.attr("NormalizeMode") = type_of(normalize_modes);
    module.def(
        "is_pair",
        [](const std::string& keyword) {
            return std::any_of(std::begin(all_normalize_parameters), std::end(all_normalize_parameters),
                               [&](const NormalizeParameter& one) { return one.second && keyword_of(one) == keyword; });
        },
        "keyword"_a, "Whether this parameter of a normalization is two numbers.");
    nb::class_<Asked>(module, "Asked")
        .def(
            "__init__",
            [](Asked* made, std::uint32_t bins, const Bounds& range,
               const std::optional<std::vector<double>>& percentiles, const std::string& detail,
               std::optional<double> white, std::string engine, int gpu, const std::vector<NamedValue>& nodata,
               bool nodata_of_file, const std::vector<NamedInterval>& valid, bool nodata_any, const std::string& alpha,
               const std::vector<std::string>& measures) {
                Asked asked;
                asked.histogram = bins_of(bins, range);
                asked.percentiles = percentiles_of(percentiles);
                asked.detail = word_of<AskedDetail>(
                    detail,
                    {{"full", AskedDetail::full}, {"brief", AskedDetail::brief}, {"values", AskedDetail::values}},
                    "detail");
                asked.white = white;
                asked.engine = std::move(engine);
                asked.gpu = gpu;
                asked.validity = validity_of(nodata, valid, nodata_any, alpha);
                asked.nodata_of_file = nodata_of_file;
                for (const std::string& word : measures) asked.measures.add(word);
                new (made) Asked(std::move(asked));
            },
            "bins"_a, "range"_a.none(), "percentiles"_a.none(), "detail"_a, "white"_a.none(), "engine"_a, "gpu"_a,
            "nodata"_a, "nodata_of_file"_a, "valid"_a, "nodata_any"_a, "alpha"_a, "measures"_a)
        .def_prop_ro("alpha_excludes", [](const Asked& asked) { return traits_of(asked.validity.alpha).excludes; });
    nb::class_<Normalization>(module, "Normalization")
        .def(
            "__init__",
            [](Normalization* made, const std::string& mode, const std::string& channels,
               const std::optional<std::string>& depth, bool valid_only, const ParameterNumbers& parameters) {
                Normalization asked;
                asked.mode = word_of(mode, normalize_modes, "mode");
                asked.joint = word_of<bool>(channels, {{"joint", true}, {"separate", false}}, "channels");
                if (depth) asked.depth = depth_of(*depth);
                asked.valid_only = valid_only;
                for (const NormalizeParameter& parameter : all_normalize_parameters) {
                    const auto given = parameters.find(keyword_of(parameter));
                    if (given == parameters.end()) continue;
                    asked.*parameter.first = given->second.first;
                    if (parameter.second) asked.*parameter.second = given->second.second;
                }
                new (made) Normalization(asked);
            },
            "mode"_a, "channels"_a, "depth"_a.none(), "valid_only"_a, "parameters"_a)
        .def_prop_ro("name",
                     [](const Normalization& asked) {
                         return std::string(to_string(asked.mode)) + (asked.joint ? " joint" : " separate");
                     })
        .def("depth_of", [](const Normalization& asked, const std::string& depth) {
            return std::string(to_string(normalized_depth(depth_of(depth), asked)));
        });
}

}  // namespace gpuhist::python
