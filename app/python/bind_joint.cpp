/// The class Joint: the joint histogram of two channels.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bind.hpp"
#include "fork.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/joint.hpp"
#include "images.hpp"

namespace gpuhist::python {
namespace {

/// Place of a channel by its name or number. Throws InvalidArgument, naming all channels, if there is none.
int position_of(const ImageView& view, const Picture* picture, const std::string& name) {
    const std::vector<std::string> names = picture ? io::names_of_samples(picture->image) : names_of_samples(view, {});
    if (const auto position = joint_position(view, names, name)) return *position;
    std::string all;
    for (const std::string& one : names)
        if (all.find(one) == all.npos) all += (all.empty() ? "" : ", ") + one;
    throw InvalidArgument("channel: '" + name + "' is not one of " + all);
}

JointHistogram joint(const ImageView& first, const std::string& first_name, const Picture* first_picture,
                     const ImageView& second, const std::string& second_name, const Picture* second_picture,
                     const Asked& asked, std::uint32_t bins, const Bounds& range) {
    const Work work;
    const auto one_request = asked.request(first.depth, first_picture);
    const auto other_request = asked.request(second.depth, second_picture);
    const JointChannel one{first, position_of(first, first_picture, first_name), one_request.validity.get()};
    const JointChannel other{second, position_of(second, second_picture, second_name), other_request.validity.get()};
    std::optional<Range> bounds;
    if (range) bounds = Range{range->first, range->second};
    JointHistogram histogram(bins, joint_axis(one, bounds, asked.threads), joint_axis(other, bounds, asked.threads));
    histogram.add(one, other, asked.threads);
    return histogram;
}

}  // namespace

void bind_joint(nb::module_& module) {
    nb::class_<JointHistogram>(module, "Joint")
        .def_prop_ro("bins", &JointHistogram::bins)
        .def(
            "counts", [](const JointHistogram& joint) { return array_of(joint.counts()); },
            nb::sig("def counts(self) -> numpy.typing.NDArray[numpy.uint64]"), "Counts, row after row.")
        .def(
            "edges",
            [](const JointHistogram& joint, int which) {
                std::vector<double> edges;
                for (std::uint32_t bin = 0; bin <= joint.bins(); ++bin) edges.push_back(joint.edge(which, bin));
                return edges;
            },
            "which"_a)
        .def_prop_ro("pixels", &JointHistogram::pixels)
        .def_prop_ro("outside", &JointHistogram::outside)
        .def_prop_ro("covariance", &JointHistogram::covariance)
        .def_prop_ro("correlation", &JointHistogram::pearson)
        .def_prop_ro("mutual_information", &JointHistogram::mutual_information);
    module.def("joint", &joint, "first"_a, "first_name"_a, "first_picture"_a.none(), "second"_a, "second_name"_a,
               "second_picture"_a.none(), "asked"_a, "bins"_a, "range"_a.none(), Release());
}

}  // namespace gpuhist::python
