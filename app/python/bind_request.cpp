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

const Words<ColorSpace> color_spaces = [] {
    Words<ColorSpace> words;
    for (const ColorSpaceTraits& traits : all_color_spaces) words.emplace_back(traits.name, traits.space);
    return words;
}();

const Words<NormalizeMode> normalize_modes = [] {
    Words<NormalizeMode> words;
    for (const NormalizeTraits& traits : all_normalize_modes) words.emplace_back(traits.name, traits.mode);
    return words;
}();

/// Numbers of a mode's parameters by keyword; where a parameter is one number, it comes twice.
using ParameterNumbers = std::map<std::string, std::pair<double, double>>;

/// Reference of NormalizeMode::match.
struct Reference {
    std::shared_ptr<const NormalizeReference> of;
};

std::string keyword_of(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

/// Throws InvalidArgument where rules about samples cannot name such a channel.
void check_channel(const std::optional<std::string>& name, const char* argument) {
    if (!name) return;
    if (const std::string why = app::no_channel_of_rules(*name); !why.empty())
        throw InvalidArgument(std::string(argument) + ": " + why);
}

using NamedValue = std::pair<std::optional<std::string>, double>;
using NamedInterval = std::tuple<std::optional<std::string>, double, double>;

Validity validity_of(const std::vector<NamedValue>& nodata, const std::vector<NamedInterval>& valid, bool nodata_any,
                     const std::string& alpha) {
    Validity validity;
    for (const auto& [name, value] : nodata) {
        check_channel(name, "nodata");
        app::add_nodata(validity, name, value);
    }
    for (const auto& [name, lowest, highest] : valid) {
        if (!(lowest <= highest))
            throw InvalidArgument("valid: from " + io::shortest(lowest) + " to " + io::shortest(highest) +
                                  ": the lower one first");
        check_channel(name, "valid");
        app::add_valid(validity, name, lowest, highest);
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

ColorSpace color_space_of(const std::string& name) {
    return word_of(name, color_spaces, "space");
}

void bind_request(nb::module_& module) {
    module.attr("Alpha") = type_of(alpha_rules);
    module.attr("ColorSpace") = type_of(color_spaces);
    module.attr("NormalizeMode") = type_of(normalize_modes);
    module.def(
        "is_pair",
        [](const std::string& keyword) {
            return std::any_of(
                std::begin(all_normalize_parameters), std::end(all_normalize_parameters),
                [&](const NormalizeParameter& one) { return one.second && keyword_of(one.name) == keyword; });
        },
        "keyword"_a, "Whether this parameter of a normalization is two numbers.");
    module.def(
        "normalize_keywords",
        [](const std::string& mode) {
            const NormalizeMode asked = word_of(mode, normalize_modes, "mode");
            std::vector<std::string> names;
            for (const NormalizeParameter& parameter : all_normalize_parameters)
                if (parameter.modes.has(asked)) names.push_back(keyword_of(parameter.name));
            for (const NormalizeWord& word : all_normalize_words)
                if (word.modes.has(asked)) names.push_back(keyword_of(word.name));
            if (asked == NormalizeMode::match) names.emplace_back("reference");
            return names;
        },
        "mode"_a, "Keywords of a mode's parameters.");
    nb::class_<Asked>(module, "Asked")
        .def(
            "__init__",
            [](Asked* made, std::uint32_t bins, const Bounds& range,
               const std::optional<std::vector<double>>& percentiles, const std::string& detail,
               std::optional<double> white, std::string engine, int gpu, int threads,
               const std::vector<NamedValue>& nodata, bool nodata_of_file, bool masks_of_file,
               const std::vector<NamedInterval>& valid, bool nodata_any, const std::string& alpha,
               const std::vector<std::string>& measures, std::int64_t quality_scale, bool robust, double clip_sigma,
               const std::optional<std::string>& space) {
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
                asked.threads = threads;
                asked.validity = validity_of(nodata, valid, nodata_any, alpha);
                asked.nodata_of_file = nodata_of_file;
                asked.masks_of_file = masks_of_file;
                for (const std::string& word : measures) asked.measures.add(word);
                asked.quality_scale = quality_scale;
                asked.robust = robust;
                asked.clip_sigma = clip_sigma;
                if (space) {
                    asked.space = color_space_of(*space);
                    if (asked.validity.alpha == AlphaRule::weight || asked.validity.alpha == AlphaRule::ignore)
                        throw InvalidArgument("space: alpha must be row or mask");
                }
                new (made) Asked(std::move(asked));
            },
            "bins"_a, "range"_a.none(), "percentiles"_a.none(), "detail"_a, "white"_a.none(), "engine"_a, "gpu"_a,
            "threads"_a, "nodata"_a, "nodata_of_file"_a, "masks_of_file"_a, "valid"_a, "nodata_any"_a, "alpha"_a,
            "measures"_a, "quality_scale"_a, "robust"_a, "clip_sigma"_a, "space"_a.none())
        .def_prop_ro("alpha_excludes", [](const Asked& asked) { return traits_of(asked.validity.alpha).excludes; });
    nb::class_<Reference>(module, "Reference")
        .def(
            "__init__",
            [](Reference* made, const ImageView& view, const Asked& asked, const Picture* picture) {
                new (made) Reference{reference_of(view, asked.request(view.depth, picture))};
            },
            "view"_a, "asked"_a, "picture"_a.none());
    nb::class_<Normalization>(module, "Normalization")
        .def(
            "__init__",
            [](Normalization* made, const std::string& mode, const std::string& channels,
               const std::optional<std::string>& depth, bool valid_only, std::optional<double> fill,
               const ParameterNumbers& parameters, const std::map<std::string, std::string>& words,
               const Reference* reference) {
                Normalization asked;
                asked.mode = word_of(mode, normalize_modes, "mode");
                asked.joint = word_of<bool>(channels, {{"joint", true}, {"separate", false}}, "channels");
                if (depth) asked.depth = depth_of(*depth);
                asked.valid_only = valid_only;
                asked.fill = fill;
                for (const NormalizeParameter& parameter : all_normalize_parameters) {
                    const auto given = parameters.find(keyword_of(parameter.name));
                    if (given == parameters.end()) continue;
                    asked.*parameter.first = given->second.first;
                    if (parameter.second) asked.*parameter.second = given->second.second;
                }
                for (const NormalizeWord& word : all_normalize_words) {
                    const auto given = words.find(keyword_of(word.name));
                    if (given != words.end() && !word.set(asked, given->second))
                        throw InvalidArgument(given->first + ": '" + given->second + "' is not " + word.words);
                }
                if (reference) asked.reference = reference->of;
                new (made) Normalization(asked);
            },
            "mode"_a, "channels"_a, "depth"_a.none(), "valid_only"_a, "fill"_a.none(), "parameters"_a, "words"_a,
            "reference"_a.none())
        .def_prop_ro("name",
                     [](const Normalization& asked) {
                         return std::string(to_string(asked.mode)) + (asked.joint ? " joint" : " separate");
                     })
        .def("depth_of", [](const Normalization& asked, const std::string& depth) {
            return std::string(to_string(normalized_depth(depth_of(depth), asked)));
        });
}

}  // namespace gpuhist::python
