/// Images: arrays of any library, pictures that were read, and what is done with them by engines that are kept.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <opencv2/core.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "gpuhist/color_space.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/stream.hpp"
#include "images.hpp"
#include "run/companions.hpp"
#include "stream.hpp"

namespace gpuhist::python {
namespace {

/// Array of any library, by its DLPack capsule, and with it what the array keeps alive.
struct Borrowed {
    nb::ndarray<nb::ro> array;
};

io::DecodeOptions decoding(std::uint64_t page, std::optional<std::uint64_t> max_pixels, const std::string& on_damaged,
                           bool masks = true, bool nodata = true) {
    io::DecodeOptions options;
    options.page = page;
    if (max_pixels) options.max_pixels = *max_pixels;
    options.on_damaged = on_damaged_of(on_damaged);
    options.masks = masks;
    options.nodata = nodata;
    return options;
}

/// Word for the samples of a picture.
const char* samples_of(const Picture& picture) {
    const io::Image& image = picture.image;
    if (image.samples == Samples::gray_alpha) return "gray_alpha";
    if (image.samples == Samples::color_bands) return "color_bands";
    if (image.samples == Samples::bands) return "bands";
    return image.pixels.channels() == 1 ? "gray" : image.pixels.channels() == 3 ? "rgb" : "rgba";
}

/// Copies samples into memory without gaps. `from` has the place in the image of each sample of the copy.
void copy_samples(const ImageView& image, const std::vector<int>& from, unsigned char* out) {
    const std::size_t size = traits_of(image.depth).bytes, step = static_cast<std::size_t>(image.channels) * size;
    for (std::int64_t y = 0; y < image.height; ++y) {
        const auto* pixel = static_cast<const unsigned char*>(image.data) + y * image.row_bytes;
        for (std::int64_t x = 0; x < image.width; ++x, pixel += step)
            for (const int place : from) out = std::copy_n(pixel + static_cast<std::size_t>(place) * size, size, out);
    }
}

/// Places of an image's samples in the other order of colors.
std::vector<int> swapped(int channels, bool colors) {
    std::vector<int> places(static_cast<std::size_t>(channels));
    std::iota(places.begin(), places.end(), 0);
    if (colors && channels >= 3) std::swap(places[0], places[2]);
    return places;
}

/// Copy of the samples, colors in the order red, green, blue, alpha, and gray with alpha as two samples.
nb::ndarray<nb::numpy> pixels_of(const Picture& picture) {
    const ImageView view = io::view(picture.image);
    const std::vector<int> from = view.samples == Samples::gray_alpha
                                      ? std::vector<int>{0, 3}
                                      : swapped(view.channels, view.order == ChannelOrder::bgr);
    const std::size_t size = traits_of(view.depth).bytes;
    const std::size_t shape[]{static_cast<std::size_t>(view.height), static_cast<std::size_t>(view.width), from.size()};
    std::unique_ptr<unsigned char[]> memory(new unsigned char[shape[0] * shape[1] * shape[2] * size]);
    {
        const Unlocked released;
        copy_samples(view, from, memory.get());
    }
    using Code = nb::dlpack::dtype_code;
    const char first = traits_of(view.depth).array_type[0];
    const Code code = first == 'f' ? Code::Float : first == 'u' ? Code::UInt : Code::Int;
    const nb::dlpack::dtype type{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size), 1};
    void* const data = memory.get();
    nb::capsule owner(data, [](void* gone) noexcept { delete[] static_cast<unsigned char*>(gone); });
    static_cast<void>(memory.release());
    return nb::ndarray<nb::numpy>(data, from.size() == 1 ? 2 : 3, shape, owner, nullptr, type);
}

/// Writes an image in the format of the extension.
void write(const ImageView& image, const nb::bytes& path) {
    const std::filesystem::path name(bytes_of(path));
    const Unlocked released;
    const bool bands = image.samples == Samples::bands || image.channels == 2 || image.channels > 4;
    cv::Mat pixels(static_cast<int>(image.height), static_cast<int>(image.width),
                   CV_MAKETYPE(io::opencv_depth(image.depth), image.channels));
    copy_samples(image, swapped(image.channels, image.order == ChannelOrder::rgb && !bands), pixels.data);
    io::write_image(name, pixels, bands ? Samples::bands : image.samples, image.depth);
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
            "pointer"_a, "row_bytes"_a)
        .def(
            "of_height",
            [](ImageView view, std::int64_t height) {
                view.data = nullptr;
                view.height = height;
                view.row_bytes = view.packed_row_bytes();
                return view;
            },
            "height"_a)
        .def(
            "moved",
            [](ImageView view, std::int64_t image_bytes, std::int64_t mask_bytes) {
                view.data = static_cast<const unsigned char*>(view.data) + image_bytes;
                if (view.mask) view.mask += mask_bytes;
                return view;
            },
            "image_bytes"_a, "mask_bytes"_a)
        .def("gray_alpha", [](ImageView view) {
            view.samples = Samples::gray_alpha;
            return view;
        });
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
                               const std::string& on_damaged, bool masks, bool nodata, bool weighted) {
        const io::DecodeOptions options = decoding(page, max_pixels, on_damaged, masks, nodata);
        const std::string name = bytes_of(path);
        const Unlocked released;
        Picture picture = Picture::read(name, options);
        if (weighted) picture.weigh();
        return picture;
    };
    nb::class_<Picture>(module, "Picture")
        .def_static("read", picture_of, "path"_a, "page"_a, "max_pixels"_a.none(), "on_damaged"_a, "masks"_a,
                    "nodata"_a, "weighted"_a)
        .def_static(
            "decode",
            [](const nb::bytes& bytes, const std::string& name, std::uint64_t page,
               std::optional<std::uint64_t> max_pixels, const std::string& on_damaged, bool masks, bool nodata,
               bool weighted) {
                const io::DecodeOptions options = decoding(page, max_pixels, on_damaged, masks, nodata);
                const auto* first = static_cast<const unsigned char*>(bytes.data());
                const std::vector<unsigned char> copy(first, first + bytes.size());
                const Unlocked released;
                Picture picture = Picture::decode(copy, name.empty() ? "bytes" : name, options);
                if (weighted) picture.weigh();
                return picture;
            },
            "data"_a, "name"_a, "page"_a, "max_pixels"_a.none(), "on_damaged"_a, "masks"_a, "nodata"_a, "weighted"_a)
        .def(
            "companion",
            [](const Picture& picture, const nb::bytes& path, const std::string& role,
               std::optional<std::uint64_t> max_pixels) {
                using Role = Picture::Role;
                const Role asked = word_of<Role>(role, {{"mask", Role::mask}, {"labels", Role::labels}}, "role");
                const io::DecodeOptions options = decoding(0, max_pixels, "error");
                const std::string name = bytes_of(path);
                const Unlocked released;
                return picture.companion(name, asked, options);
            },
            "path"_a, "role"_a, "max_pixels"_a.none())
        .def_prop_ro("view", [](const Picture& picture) { return io::masked_view(picture.image); })
        .def_prop_ro("pages", [](const Picture& picture) { return picture.image.pages; })
        .def_prop_ro("white", [](const Picture& picture) { return picture.image.white; })
        .def_prop_ro("nodata", [](const Picture& picture) { return picture.image.nodata; })
        .def_prop_ro("pixel_size",
                     [](const Picture& picture) -> std::optional<std::tuple<double, double, std::string>> {
                         const auto& size = picture.image.pixel_size;
                         if (!size) return std::nullopt;
                         return std::tuple(size->width, size->height, size->unit);
                     })
        .def_prop_ro("alpha", [](const Picture& picture) { return to_string(picture.image.alpha); })
        .def_prop_ro("samples", &samples_of)
        .def("pixels", &pixels_of, nb::sig("def pixels(self) -> numpy.typing.NDArray[typing.Any]"),
             "Copy of the samples, colors in the order red, green, blue, alpha.")
        .def_prop_ro(
            "path", [](const Picture& picture) { return text_of(picture.path); }, nb::sig("def path(self) -> str"))
        .def_prop_ro(
            "mask",
            [](const Picture& picture) {
                const auto mask = app::mask_of(picture.image);
                return nb::bytes(mask.data(), mask.size());
            },
            "One byte per pixel: 1 if a sample of this picture is not 0.")
        .def_prop_ro(
            "own_mask",
            [](const Picture& picture) -> std::optional<nb::bytes> {
                const cv::Mat& mask = picture.image.mask;
                if (mask.empty()) return std::nullopt;
                const cv::Mat packed = mask.isContinuous() ? mask : mask.clone();
                return nb::bytes(packed.data, packed.total());
            },
            "One byte per pixel: 0 if the file masks it. None if the file has no mask.");
    module.def(
        "measure",
        [](const ImageView& view, const Asked& asked, const Picture* picture) { return measure(view, asked, picture); },
        "view"_a, "asked"_a, "picture"_a.none() = nb::none(), Release());
    module.def("measure_batch", &measure_batch, "first"_a, "images"_a, "image_bytes"_a, "mask_bytes"_a, "asked"_a,
               Release());
    nb::class_<StripMeasurement>(module, "StripMeasurement")
        .def(nb::init<const ImageView&, const Asked&>(), "image"_a, "asked"_a)
        .def("take", &StripMeasurement::take, "strip"_a, Release())
        .def("end_pass", &StripMeasurement::end_pass, Release())
        .def("result", &StripMeasurement::result, Release());
    module.def("write", &write, "view"_a, "path"_a);
    module.def("measure_on_stream", &measure_on_stream, "view"_a, "plane_bytes"_a, "asked"_a, "stream"_a, Release());
    module.def(
        "normalize",
        [](const ImageView& view, const ImageView& output, const Normalization& normalization, const Asked& asked) {
            normalize(view, writable(output), normalization, asked);
        },
        "view"_a, "output"_a, "normalization"_a, "asked"_a, Release());
    module.def(
        "normalize_behind_stream",
        [](const ImageView& view, const ImageView& output, const Normalization& normalization, const Asked& asked,
           std::uintptr_t stream) { normalize_behind_stream(view, writable(output), normalization, asked, stream); },
        "view"_a, "output"_a, "normalization"_a, "asked"_a, "stream"_a, Release());
    const auto encoding_of = [](const ImageView& view, const std::optional<double>& white, bool linear) {
        return ColorEncoding{white.value_or(traits_of(view.depth).highest), linear};
    };
    module.def(
        "depth_in",
        [](const std::string& space, const std::string& depth) {
            return to_string(depth_in(color_space_of(space), depth_of(depth)));
        },
        "space"_a, "depth"_a);
    module.def(
        "convert_colors",
        [encoding_of](const ImageView& view, const ImageView& output, const std::string& space,
                      std::optional<double> white, bool linear, int threads) {
            convert_colors(view, encoding_of(view, white, linear), color_space_of(space), writable(output),
                           threads_of_arena(threads));
        },
        "view"_a, "output"_a, "space"_a, "white"_a.none(), "linear"_a, "threads"_a, Release());
    module.def(
        "enqueue_convert_colors",
        [encoding_of](const ImageView& view, const ImageView& output, const std::string& space,
                      std::optional<double> white, bool linear, int gpu, std::uintptr_t stream) {
            check_cuda_process();
            enqueue_convert_colors(view, encoding_of(view, white, linear), color_space_of(space), writable(output), gpu,
                                   reinterpret_cast<cudaStream_t>(stream));
        },
        "view"_a, "output"_a, "space"_a, "white"_a.none(), "linear"_a, "gpu"_a, "stream"_a, Release());
}

}  // namespace gpuhist::python
