/// Images: arrays of any library, pictures that were read, and what is done with them by engines that are kept.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <vector>

#include "bind.hpp"
#include "images.hpp"
#include "run/companions.hpp"
#include "stream.hpp"

namespace gpuhist::python {
namespace {

/// Array of any library, by its DLPack capsule, and with it what the array keeps alive.
struct Borrowed {
    nb::ndarray<nb::ro> array;
};

io::DecodeOptions decoding(std::uint64_t page, std::optional<std::uint64_t> max_pixels, const std::string& on_damaged) {
    io::DecodeOptions options;
    options.page = page;
    if (max_pixels) options.max_pixels = *max_pixels;
    options.on_damaged = on_damaged_of(on_damaged);
    return options;
}

}  // namespace

void bind_images(nb::module_& module) {
    nb::class_<ImageView>(module, "View")
        .def(
            "__init__",
            [](ImageView* made, std::uintptr_t pointer, std::int64_t width, std::int64_t height, int channels,
               const std::string& depth, std::int64_t row_bytes, bool rgb, bool bands, bool device) {
                ImageView view;
                view.data = reinterpret_cast<const void*>(pointer);
                view.width = width;
                view.height = height;
                view.channels = channels;
                view.depth = depth_of(depth);
                view.row_bytes = row_bytes;
                view.order = rgb ? ChannelOrder::rgb : ChannelOrder::bgr;
                view.samples = bands ? Samples::bands : Samples::color;
                view.memory = device ? Memory::device : Memory::host;
                new (made) ImageView(view);
            },
            "pointer"_a, "width"_a, "height"_a, "channels"_a, "depth"_a, "row_bytes"_a, "rgb"_a, "bands"_a, "device"_a)
        .def_ro("width", &ImageView::width)
        .def_ro("height", &ImageView::height)
        .def(
            "masked",
            [](ImageView view, std::uintptr_t pointer, std::int64_t row_bytes) {
                view.mask = reinterpret_cast<const std::uint8_t*>(pointer);
                view.mask_row_bytes = row_bytes;
                return view;
            },
            "pointer"_a, "row_bytes"_a);
    nb::class_<Borrowed>(module, "Borrowed")
        .def_prop_ro("pointer", [](const Borrowed& one) { return reinterpret_cast<std::uintptr_t>(one.array.data()); })
        .def_prop_ro("shape",
                     [](const Borrowed& one) {
                         return std::vector<std::int64_t>(one.array.shape_ptr(),
                                                          one.array.shape_ptr() + one.array.ndim());
                     })
        .def_prop_ro("strides",
                     [](const Borrowed& one) {
                         return std::vector<std::int64_t>(one.array.stride_ptr(),
                                                          one.array.stride_ptr() + one.array.ndim());
                     })
        .def_prop_ro("type", [](const Borrowed& one) {
            return std::tuple<int, int, int>(one.array.dtype().code, one.array.dtype().bits, one.array.dtype().lanes);
        });
    module.def("borrow", [](nb::object capsule) { return Borrowed{nb::cast<nb::ndarray<nb::ro>>(capsule)}; });
    const auto picture_of = [](const nb::bytes& path, std::uint64_t page, std::optional<std::uint64_t> max_pixels,
                               const std::string& on_damaged) {
        const io::DecodeOptions options = decoding(page, max_pixels, on_damaged);
        const std::string name = bytes_of(path);
        const nb::gil_scoped_release released;
        return Picture::read(name, options);
    };
    nb::class_<Picture>(module, "Picture")
        .def_static("read", picture_of, "path"_a, "page"_a, "max_pixels"_a.none(), "on_damaged"_a)
        .def_static(
            "decode",
            [](const nb::bytes& bytes, std::uint64_t page, std::optional<std::uint64_t> max_pixels,
               const std::string& on_damaged) {
                const io::DecodeOptions options = decoding(page, max_pixels, on_damaged);
                const auto* first = static_cast<const unsigned char*>(bytes.data());
                const std::vector<unsigned char> copy(first, first + bytes.size());
                const nb::gil_scoped_release released;
                return Picture::decode(copy, "bytes", options);
            },
            "data"_a, "page"_a, "max_pixels"_a.none(), "on_damaged"_a)
        .def(
            "companion",
            [](const Picture& picture, const nb::bytes& path, const std::string& role,
               std::optional<std::uint64_t> max_pixels) {
                using Role = Picture::Role;
                const Role asked = word_of<Role>(role, {{"mask", Role::mask}, {"labels", Role::labels}}, "role");
                const io::DecodeOptions options = decoding(0, max_pixels, "error");
                const std::string name = bytes_of(path);
                const nb::gil_scoped_release released;
                return picture.companion(name, asked, options);
            },
            "path"_a, "role"_a, "max_pixels"_a.none())
        .def_prop_ro("view", [](const Picture& picture) { return io::masked_view(picture.image); })
        .def_prop_ro("pages", [](const Picture& picture) { return picture.image.pages; })
        .def_prop_ro(
            "path", [](const Picture& picture) { return text_of(picture.path); }, nb::sig("def path(self) -> str"))
        .def_prop_ro(
            "mask",
            [](const Picture& picture) {
                const auto mask = app::mask_of(picture.image);
                return nb::bytes(mask.data(), mask.size());
            },
            "One byte per pixel, 1 where a sample of this picture is not 0.")
        .def_prop_ro(
            "own_mask",
            [](const Picture& picture) -> std::optional<nb::bytes> {
                const cv::Mat& mask = picture.image.mask;
                if (mask.empty()) return std::nullopt;
                const cv::Mat packed = mask.isContinuous() ? mask : mask.clone();
                return nb::bytes(packed.data, packed.total());
            },
            "One byte per pixel, 0 where the file masks it; None where it has no mask.");
    module.def(
        "measure",
        [](const ImageView& view, const Asked& asked, const Picture* picture) { return measure(view, asked, picture); },
        "view"_a, "asked"_a, "picture"_a.none() = nb::none(), Release());
    module.def("measure_on_stream", &measure_on_stream, "view"_a, "asked"_a, "stream"_a, Release());
    module.def(
        "normalize",
        [](const ImageView& view, const ImageView& output, const Normalization& normalization, const Asked& asked) {
            normalize(view, writable(output), normalization, asked);
        },
        "view"_a, "output"_a, "normalization"_a, "asked"_a, Release());
}

}  // namespace gpuhist::python
