/// Analyzers on a GPU's stream: of images, and of regions.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstring>

#include "bind.hpp"
#include "stream.hpp"

namespace gpuhist::python {
namespace {

/// Columns of the results of regions: name, type as numpy calls it, and bytes from the start of a region's result.
std::vector<std::tuple<std::string, std::string, std::size_t>> region_columns(const StreamRegionAnalyzer& analyzer) {
    const RegionPlan& plan = analyzer.plan();
    std::vector<std::tuple<std::string, std::string, std::size_t>> list{
        {"label", "u8", offsetof(RegionResult, label)}, {"image", "i8", offsetof(RegionResult, image)},
        {"x", "i8", offsetof(RegionResult, x)},         {"y", "i8", offsetof(RegionResult, y)},
        {"width", "i8", offsetof(RegionResult, width)}, {"height", "i8", offsetof(RegionResult, height)},
        {"area", "u8", offsetof(RegionResult, area)}};
    const bool weighted = plan.validity && plan.validity->alpha == AlphaRule::weight;
    std::vector<Channel> channels{Channel::gray};
    if (plan.channels > 1) channels = {Channel::red, Channel::green, Channel::blue, Channel::luma};
    if (plan.channels == 4 && !weighted) channels.push_back(Channel::alpha);
    for (std::size_t c = 0; c < channels.size(); ++c) {
        const std::string channel = std::string(to_string(channels[c])) + "_";
        const std::size_t at = offsetof(RegionResult, channels) + c * sizeof(ChannelResult);
        list.emplace_back(channel + "valid", "u8", at + offsetof(ChannelResult, samples));
        list.emplace_back(channel + "nodata", "u8", at + offsetof(ChannelResult, nodata));
        list.emplace_back(channel + "nan", "u8", at + offsetof(ChannelResult, nan));
        list.emplace_back(channel + "inf", "u8", at + offsetof(ChannelResult, infinite));
        list.emplace_back(channel + "min", "f8", at + offsetof(ChannelResult, minimum));
        list.emplace_back(channel + "max", "f8", at + offsetof(ChannelResult, maximum));
        list.emplace_back(channel + "mean", "f8", at + offsetof(ChannelResult, mean));
        list.emplace_back(channel + "std", "f8", at + offsetof(ChannelResult, std));
        if (weighted) list.emplace_back(channel + "weight", "u8", at + offsetof(ChannelResult, weight));
        for (std::size_t i = 0; i < plan.percentiles.size(); ++i) {
            const std::uint32_t micro = plan.percentiles.micro(i);
            list.emplace_back(
                channel + (weighted ? weighted_percentile_name : percentile_name)(micro), "f8",
                analyzer.layout().percentiles_offset + (c * plan.percentiles.size() + i) * sizeof(double));
        }
    }
    return list;
}

/// Number of regions in results that were copied to the host. Throws InvalidArgument where they are not whole.
std::uint64_t regions_in(const StreamRegionAnalyzer& analyzer, const nb::bytes& results) {
    RegionsFound found{};
    if (results.size() < analyzer.layout().bytes)
        throw InvalidArgument("out: " + std::to_string(results.size()) + " bytes, and the results take " +
                              std::to_string(analyzer.layout().bytes));
    std::memcpy(&found, results.data(), sizeof found);
    if (found.refused_pixels > 0)
        throw InvalidArgument("labels: " + std::to_string(found.refused_pixels) +
                              " pixels have one that is negative or over largest_label");
    if (found.regions > static_cast<std::uint64_t>(analyzer.plan().regions))
        throw InvalidArgument(std::to_string(found.regions) + " regions: there is room for " +
                              std::to_string(analyzer.plan().regions));
    return found.regions;
}

}  // namespace

void bind_stream(nb::module_& module) {
    nb::class_<ResultLayout>(module, "Layout", "Layout of the memory for the result of an image.")
        .def_ro("bytes", &ResultLayout::bytes, "Bytes of the result of an image; the next result starts there.")
        .def_ro("counts_offset", &ResultLayout::counts_offset,
                "Bytes from the start to the counts, uint64[channels][bins].")
        .def_ro("tables_offset", &ResultLayout::tables_offset,
                "Bytes from the start to the lookup tables of a normalized u8 or u16 image; else 0.")
        .def_ro("details_offset", &ResultLayout::details_offset,
                "f32: bytes from the start to data that only Analyzer.read needs; else 0.");
    nb::class_<StreamAnalyzer>(module, "StreamAnalyzer")
        .def(
            "__init__",
            [](StreamAnalyzer* made, const std::string& depth, int channels, std::uint32_t bins, bool normalize,
               std::int64_t classified_pixels, std::int64_t planar_pixels, int gpu) {
                check_cuda_process();
                new (made) StreamAnalyzer(
                    StreamPlan{depth_of(depth), channels, bins, normalize, gpu, classified_pixels, planar_pixels});
            },
            "depth"_a, "channels"_a, "bins"_a, "normalize"_a, "classified_pixels"_a, "planar_pixels"_a = 0, "gpu"_a = 0,
            Release())
        .def_static(
            "writes",
            [](const std::string& depth, const Normalization& normalization, bool excludes) {
                return StreamAnalyzer::writes(depth_of(depth), normalization, excludes);
            },
            "depth"_a, "normalization"_a, "excludes"_a)
        .def(
            "layout",
            [](const StreamAnalyzer& analyzer, const Asked& asked, const Normalization* normalization) {
                return analyzer.layout(asked.request(analyzer.plan().depth), normalization);
            },
            "asked"_a, "normalization"_a.none())
        .def(
            "enqueue",
            [](StreamAnalyzer& analyzer, const ImageView& first, std::int64_t images, std::int64_t image_bytes,
               std::int64_t mask_bytes, const Asked& asked, std::uintptr_t results, std::uintptr_t stream) {
                check_cuda_process();
                analyzer.enqueue(BatchView{first, images, image_bytes, mask_bytes}, asked.request(first.depth),
                                 reinterpret_cast<void*>(results), reinterpret_cast<cudaStream_t>(stream));
            },
            "first"_a, "images"_a, "image_bytes"_a, "mask_bytes"_a, "asked"_a, "results"_a, "stream"_a, Release())
        .def(
            "enqueue_planes",
            [](StreamAnalyzer& analyzer, const ImageView& first, std::int64_t plane_bytes, std::int64_t images,
               std::int64_t image_bytes, std::int64_t mask_bytes, const Asked& asked, std::uintptr_t results,
               std::uintptr_t stream) {
                check_cuda_process();
                analyzer.enqueue(PlanarBatchView{first, plane_bytes, images, image_bytes, mask_bytes},
                                 asked.request(first.depth), reinterpret_cast<void*>(results),
                                 reinterpret_cast<cudaStream_t>(stream));
            },
            "first"_a, "plane_bytes"_a, "images"_a, "image_bytes"_a, "mask_bytes"_a, "asked"_a, "results"_a, "stream"_a,
            Release())
        .def(
            "enqueue_normalized",
            [](StreamAnalyzer& analyzer, const ImageView& first, std::int64_t images, std::int64_t image_bytes,
               std::int64_t mask_bytes, const ImageView& output, std::int64_t output_bytes,
               const Normalization& normalization, const Asked& asked, std::uintptr_t results, std::uintptr_t stream) {
                check_cuda_process();
                analyzer.enqueue_normalized(BatchView{first, images, image_bytes, mask_bytes},
                                            MutableBatchView{writable(output), images, output_bytes},
                                            asked.request(first.depth), normalization, reinterpret_cast<void*>(results),
                                            reinterpret_cast<cudaStream_t>(stream));
            },
            "first"_a, "images"_a, "image_bytes"_a, "mask_bytes"_a, "output"_a, "output_bytes"_a, "normalization"_a,
            "asked"_a, "results"_a, "stream"_a, Release());
    nb::class_<RegionLayout>(module, "RegionLayout", "Layout of the memory for the results of regions.")
        .def_ro("bytes", &RegionLayout::bytes, "Bytes of all results.")
        .def_ro("first", &RegionLayout::first, "Bytes from the start to the first region.")
        .def_ro("stride", &RegionLayout::stride, "Bytes from one region to the next.")
        .def_ro("percentiles_offset", &RegionLayout::percentiles_offset,
                "Bytes from the start of a region to its percentiles, float64[channels][percentiles].");
    nb::class_<StreamRegionAnalyzer>(module, "StreamRegionAnalyzer")
        .def(
            "__init__",
            [](StreamRegionAnalyzer* made, const std::string& depth, int channels, const std::string& labels,
               std::uint64_t largest_label, bool label_zero, std::int64_t pixels, std::int64_t images,
               std::int64_t regions, bool masks, const Asked& asked, int gpu) {
                check_cuda_process();
                const Depth of = depth_of(depth);
                new (made) StreamRegionAnalyzer(RegionPlan{of, channels, depth_of(labels), largest_label, label_zero,
                                                           pixels, images, regions, masks, asked.request(of).validity,
                                                           asked.percentiles, gpu});
            },
            "depth"_a, "channels"_a, "labels"_a, "largest_label"_a, "label_zero"_a, "pixels"_a, "images"_a, "regions"_a,
            "masks"_a, "asked"_a, "gpu"_a, Release())
        .def("layout", &StreamRegionAnalyzer::layout)
        .def("columns", &region_columns)
        .def("regions_in", &regions_in)
        .def(
            "enqueue",
            [](StreamRegionAnalyzer& analyzer, const ImageView& first, std::int64_t images, std::int64_t image_bytes,
               std::int64_t mask_bytes, const ImageView& labels, std::int64_t labels_bytes, std::uintptr_t results,
               std::uintptr_t stream) {
                check_cuda_process();
                analyzer.enqueue(BatchView{first, images, image_bytes, mask_bytes},
                                 BatchView{labels, images, labels_bytes}, reinterpret_cast<void*>(results),
                                 reinterpret_cast<cudaStream_t>(stream));
            },
            "first"_a, "images"_a, "image_bytes"_a, "mask_bytes"_a, "labels"_a, "labels_bytes"_a, "results"_a,
            "stream"_a, Release());
    module.def("measurement_of",
               [](const nb::bytes& result, const Asked& asked, std::int64_t width, std::int64_t height) {
                   return measurement_of(bytes_of(result), asked, width, height);
               });
}

}  // namespace gpuhist::python
