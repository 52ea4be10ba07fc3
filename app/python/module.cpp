/// The module gpuhist._native: what the package is made of. Arguments are checked by the package; docstrings for people
/// are there too, but for those of Statistics, which come from the table of columns.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "cli/build.hpp"
#include "cli/command.hpp"
#include "files.hpp"
#include "fork.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/pages.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/report.hpp"
#include "images.hpp"
#include "run/companions.hpp"
#include "run/outcome.hpp"
#include "stream.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace gpuhist::python {
namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;

/// Text that may be the name of a file, of any bytes.
nb::object text_of(std::string_view text) {
    return nb::steal(PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

std::string bytes_of(const nb::bytes& bytes) {
    return {bytes.c_str(), bytes.size()};
}

nb::bytes bytes_of(const std::string& text) {
    return nb::bytes(text.data(), text.size());
}
nb::bytes bytes_of(const std::vector<std::uint8_t>& bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

std::vector<std::string> strings_of(const std::vector<nb::bytes>& list) {
    std::vector<std::string> strings;
    for (const nb::bytes& one : list) strings.push_back(bytes_of(one));
    return strings;
}

nb::object value_of(const ColumnValue& value) {
    struct {
        nb::object operator()(std::monostate) const { return nb::none(); }
        nb::object operator()(std::uint64_t number) const { return nb::int_(number); }
        nb::object operator()(double number) const { return nb::float_(number); }
        nb::object operator()(std::string_view text) const { return text_of(text); }
    } convert;
    return std::visit(convert, value);
}

nb::list values_of(const std::vector<Column>& columns, const ColumnRow& row) {
    nb::list values;
    for (const Column& column : columns) values.append(value_of(column.value(row)));
    return values;
}

using Numbers = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>;

Numbers array_of(std::vector<std::uint64_t> numbers) {
    auto* memory = new std::vector<std::uint64_t>(std::move(numbers));
    nb::capsule owner(memory, [](void* gone) noexcept { delete static_cast<std::vector<std::uint64_t>*>(gone); });
    return Numbers(memory->data(), {memory->size()}, owner);
}

template <class Enumeration>
Enumeration word_of(const std::string& word, std::initializer_list<std::pair<const char*, Enumeration>> words,
                    const char* argument) {
    std::string list;
    for (const auto& [text, value] : words) {
        if (word == text) return value;
        list += (list.empty() ? "" : ", ") + std::string(text);
    }
    throw InvalidArgument(std::string(argument) + ": '" + word + "' is none of " + list);
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
    validity.alpha = word_of<AlphaRule>(alpha,
                                        {{"row", AlphaRule::row},
                                         {"mask", AlphaRule::mask},
                                         {"weight", AlphaRule::weight},
                                         {"ignore", AlphaRule::ignore}},
                                        "alpha");
    return validity;
}

Depth depth_of(const std::string& name) {
    for (const DepthTraits& traits : all_depths)
        if (name == traits.name) return traits.depth;
    throw InvalidArgument("depth: '" + name + "' is none of " + depth_names());
}

std::optional<Range> range_of(const std::optional<std::pair<double, double>>& range) {
    return range ? std::optional(Range{range->first, range->second}) : std::nullopt;
}

HistogramOptions bins_of(std::uint32_t bins, const std::optional<std::pair<double, double>>& range) {
    return {bins, range_of(range)};
}

/// Numbers that every channel has.
constexpr std::array<std::string_view, 6> always_there{"pixels", "valid", "masked", "nodata", "nan", "inf"};

/// Histogram as Python takes it: lower end, upper end, and a column each: name, counts, below, above, nan, masked,
/// nodata.
using HistogramColumn =
    std::tuple<nb::object, Numbers, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
std::tuple<double, double, std::vector<HistogramColumn>> histogram_of(Histogram histogram,
                                                                      const std::vector<std::string>& bands) {
    std::vector<HistogramColumn> columns;
    for (Histogram::Column& column : histogram.columns)
        columns.emplace_back(text_of(row_name(column.channel, bands)), array_of(std::move(column.counts)), column.below,
                             column.above, column.nan, column.masked, column.nodata);
    return {histogram.range.lower, histogram.range.upper, std::move(columns)};
}

/// Exceptions of the library are those of gpuhist._errors; their classes have the same names.
void raise(const char* name, const char* message, const char* kind = nullptr) {
    const nb::object type = nb::module_::import_("gpuhist._errors").attr(name);
    const nb::object error = kind ? type(text_of(message), kind) : type(text_of(message));
    PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const IoError& error) {
        raise("IoError", error.what(), app::failure_of(error).kind.c_str());
    } catch (const UnsupportedDepth& error) {
        raise("UnsupportedDepth", error.what());
    } catch (const InvalidArgument& error) {
        raise("InvalidArgument", error.what());
    } catch (const EngineUnavailable& error) {
        raise("EngineUnavailable", error.what());
    } catch (const OutOfMemory& error) {
        raise("OutOfMemory", error.what());
    } catch (const CudaError& error) {
        raise("CudaError", error.what());
    } catch (const Error& error) {
        raise("Error", error.what());
    }
}

void define_statistics(nb::module_& module) {
    auto statistics =
        nb::class_<Row>(module, "Statistics",
                        "Numbers of one channel, of an image or of a set, in units of the stored values unless said "
                        "otherwise. What is\n"
                        "undefined is None. Masked, nodata, NaN and infinite samples are counted, and left out of all\n"
                        "the rest.");
    statistics.def_prop_ro(
        "channel", [](const Row& row) { return text_of(row.name); }, nb::sig("def channel(self) -> str"),
        "Name of the channel.");
    statistics.def_prop_ro(
        "white", [](const Row& row) { return row.white; },
        "Value that stands for white; None where images have several.");
    statistics.def_prop_ro(
        "images", [](const Row& row) { return row.images; }, "Images that the numbers are about.");
    // Names live as long as the process: the module does.
    static const std::vector<Column>* const all = new std::vector<Column>(columns());
    for (const Column& column : *all) {
        if (!column.of_channel || column.type == ColumnType::text || column.name == "images") continue;
        const std::string type = column.type == ColumnType::integer ? "int" : "float";
        const auto& names = always_there;
        const bool counted = std::find(names.begin(), names.end(), column.name) != names.end();
        const auto keep = [](std::string text) { return (new std::string(std::move(text)))->c_str(); };
        const char* signature = keep("def " + column.name + "(self) -> " + type + (counted ? "" : " | None"));
        const char* doc = keep(std::string(column.definition) + " Unit: " + column.unit + ". Equals: " + column.source +
                               ". For: " + column.images + ".");
        statistics.def_prop_ro(
            column.name.c_str(), [&column](const Row& row) { return value_of(column.value(row.columns())); },
            nb::sig(signature), doc);
    }
    statistics
        .def(
            "percentile",
            [](const Row& row, double percent) -> std::optional<double> { return row.statistics.percentile(percent); },
            "q"_a,
            "Value of a percentile, in percent, that was asked for (percentile_columns); None where it was not or is\n"
            "undefined. Result.percentile has any.")
        .def(
            "to_dict",
            [](const Row& row) {
                nb::dict numbers;
                for (const Column& column : *all) {
                    if (!column.of_channel || column.micro > 0) continue;
                    const bool channel = column.name == "channel";
                    if (column.name == "clipped_low")
                        for (const Percentile& one : row.statistics.percentiles)
                            numbers[percentile_name(one.micro).c_str()] =
                                one.value ? nb::object(nb::float_(*one.value)) : nb::none();
                    numbers[column.name.c_str()] = channel ? text_of(row.name) : value_of(column.value(row.columns()));
                }
                for (const Percentile& one : row.statistics.weighted_percentiles)
                    numbers[weighted_percentile_name(one.micro).c_str()] =
                        one.value ? nb::object(nb::float_(*one.value)) : nb::none();
                return numbers;
            },
            nb::sig("def to_dict(self) -> dict[str, int | float | str | None]"),
            "Numbers by their names, in the order of the columns.")
        .def(
            "__repr__",
            [](const Row& row) {
                const nb::object numbers = nb::cast(row).attr("to_dict")();
                return nb::str("Statistics({})").attr("format")(numbers);
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "__eq__",
            [](const Row& a, nb::handle other) {
                if (!nb::isinstance<Row>(other)) return false;
                return packed(a) == packed(nb::cast<const Row&>(other));
            },
            nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](const Row& row) { return std::hash<std::string>()(packed(row)); })
        .def("__getstate__", [](const Row& row) { return bytes_of(packed(row)); })
        .def("__setstate__", [](Row& row, const nb::bytes& state) { new (&row) Row(unpacked_row(bytes_of(state))); });
}

/// Row of an image as the columns read it. It refers to both.
ColumnRow columns_of(const Measurement& one, const Row& row) {
    ColumnRow read = row.columns();
    read.path = one.info.path;
    read.width = one.info.width;
    read.height = one.info.height;
    read.white = one.info.white > 0 ? one.info.white : traits_of(one.info.depth).highest;
    read.alpha = one.info.alpha;
    read.damage = one.info.damage;
    read.bands = &one.info.bands;
    read.pages = one.info.pages;
    return read;
}

void define_measurement(nb::module_& module) {
    nb::class_<Measurement>(module, "Measurement")
        .def_prop_ro(
            "path", [](const Measurement& one) { return text_of(one.info.path); }, nb::sig("def path(self) -> str"))
        .def_prop_ro("width", [](const Measurement& one) { return one.info.width; })
        .def_prop_ro("height", [](const Measurement& one) { return one.info.height; })
        .def_prop_ro("depth", [](const Measurement& one) { return std::string(to_string(one.info.depth)); })
        .def_prop_ro("white", [](const Measurement& one) { return one.analysis.white; })
        .def_prop_ro("alpha", [](const Measurement& one) { return std::string(one.info.alpha); })
        .def_prop_ro("damage", [](const Measurement& one) { return std::string(one.info.damage); })
        .def_prop_ro("pages", [](const Measurement& one) { return one.info.pages; })
        .def_prop_ro("bins", [](const Measurement& one) { return one.histogram.bins; })
        .def_prop_ro("range",
                     [](const Measurement& one) -> std::optional<std::pair<double, double>> {
                         if (!one.histogram.range) return std::nullopt;
                         return std::pair(one.histogram.range->lower, one.histogram.range->upper);
                     })
        .def_prop_ro(
            "names",
            [](const Measurement& one) {
                nb::list names;
                for (const Row& row : one.rows) names.append(text_of(row.name));
                return names;
            },
            nb::sig("def names(self) -> list[str]"))
        .def("statistics", [](const Measurement& one, std::size_t row) { return one.rows.at(row); })
        .def(
            "counts", [](const Measurement& one, std::size_t row) { return array_of(one.counts(one.rows.at(row))); },
            nb::sig("def counts(self, row: int) -> numpy.typing.NDArray[numpy.uint64]"))
        .def("percentile", [](const Measurement& one, std::size_t row,
                              double percent) { return one.percentile(one.rows.at(row), percent); })
        .def(
            "histogram",
            [](const Measurement& one, std::uint32_t bins, const std::optional<std::pair<double, double>>& range) {
                return histogram_of(histogram(one.analysis, bins_of(bins, range)), one.info.bands);
            },
            nb::sig(
                "def histogram(self, bins: int, range: tuple[float, float] | None) -> "
                "tuple[float, float, list[tuple[str, numpy.typing.NDArray[numpy.uint64], int, int, int, int, int]]]"))
        .def(
            "table",
            [](const Measurement& one) {
                const std::vector<Column> list = columns(one.percentiles, ColumnFile::stats);
                nb::list rows;
                for (const Row& row : one.rows) rows.append(values_of(list, columns_of(one, row)));
                return rows;
            },
            nb::sig("def table(self) -> list[list[int | float | str | None]]"))
        .def("svg",
             [](const Measurement& one, const std::string& title) {
                 std::vector<Statistics> rows;
                 for (const Row& row : one.rows) rows.push_back(row.statistics);
                 io::Plot plot;
                 plot.title = title;
                 Analysis room;
                 plot.panels.push_back(io::plot_panel(one.counted(room), std::move(rows), {}, one.values));
                 plot.panels.back().bands = one.info.bands;
                 return io::draw_plot_svg(plot);
             })
        .def(
            "__eq__",
            [](const Measurement& a, nb::handle other) {
                if (!nb::isinstance<Measurement>(other)) return false;
                return packed(a) == packed(nb::cast<const Measurement&>(other));
            },
            nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](const Measurement& one) { return std::hash<std::string>()(packed(one)); })
        .def("__getstate__", [](const Measurement& one) { return bytes_of(packed(one)); })
        .def("__setstate__",
             [](Measurement& one, const nb::bytes& state) { new (&one) Measurement(unpacked(bytes_of(state))); });
}

void define_asking(nb::module_& module) {
    nb::class_<Asked>(module, "Asked")
        .def(
            "__init__",
            [](Asked* made, std::uint32_t bins, const std::optional<std::pair<double, double>>& range,
               const std::optional<std::vector<double>>& percentiles, const std::string& detail,
               std::optional<double> white, std::string engine, int gpu, const std::vector<NamedValue>& nodata,
               bool nodata_of_file, const std::vector<NamedInterval>& valid, bool nodata_any,
               const std::string& alpha) {
                Asked asked;
                asked.histogram = bins_of(bins, range);
                if (percentiles) asked.percentiles = Percentiles(*percentiles);
                asked.detail = word_of<AskedDetail>(
                    detail,
                    {{"full", AskedDetail::full}, {"brief", AskedDetail::brief}, {"values", AskedDetail::values}},
                    "detail");
                asked.white = white;
                asked.engine = std::move(engine);
                asked.gpu = gpu;
                asked.validity = validity_of(nodata, valid, nodata_any, alpha);
                asked.nodata_of_file = nodata_of_file;
                new (made) Asked(std::move(asked));
            },
            "bins"_a, "range"_a.none(), "percentiles"_a.none(), "detail"_a, "white"_a.none(), "engine"_a, "gpu"_a,
            "nodata"_a, "nodata_of_file"_a, "valid"_a, "nodata_any"_a, "alpha"_a);
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
    nb::class_<Normalization>(module, "Normalization")
        .def(
            "__init__",
            [](Normalization* made, const std::string& mode, double low, double high, const std::string& channels,
               const std::optional<std::string>& depth, bool valid_only) {
                Normalization asked;
                asked.mode = word_of<NormalizeMode>(mode,
                                                    {{to_string(NormalizeMode::minmax), NormalizeMode::minmax},
                                                     {to_string(NormalizeMode::percentile), NormalizeMode::percentile},
                                                     {to_string(NormalizeMode::equalize), NormalizeMode::equalize},
                                                     {to_string(NormalizeMode::zscore), NormalizeMode::zscore}},
                                                    "mode");
                asked.low = low;
                asked.high = high;
                asked.joint = word_of<bool>(channels, {{"joint", true}, {"separate", false}}, "channels");
                if (depth) asked.depth = depth_of(*depth);
                asked.valid_only = valid_only;
                new (made) Normalization(asked);
            },
            "mode"_a, "low"_a, "high"_a, "channels"_a, "depth"_a.none(), "valid_only"_a = false)
        .def_prop_ro("name",
                     [](const Normalization& asked) {
                         return std::string(to_string(asked.mode)) + (asked.joint ? " joint" : " separate");
                     })
        .def("depth_of", [](const Normalization& asked, const std::string& depth) {
            return std::string(to_string(normalized_depth(depth_of(depth), asked)));
        });
}

MutableImageView writable(const ImageView& view) {
    return {const_cast<void*>(view.data),
            view.width,
            view.height,
            view.channels,
            view.depth,
            view.row_bytes,
            view.order,
            view.memory,
            view.samples};
}

io::DecodeOptions decoding(std::uint64_t page, std::optional<std::uint64_t> max_pixels, const std::string& on_damaged) {
    io::DecodeOptions options;
    options.page = page;
    if (max_pixels) options.max_pixels = *max_pixels;
    options.on_damaged = word_of<io::OnDamaged>(
        on_damaged, {{"error", io::OnDamaged::error}, {"accept", io::OnDamaged::accept}}, "on_damaged");
    return options;
}

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

void define_measuring(nb::module_& module) {
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
        .def_prop_ro("view", [](const Picture& picture) { return io::view(picture.image); })
        .def_prop_ro("pages", [](const Picture& picture) { return picture.image.pages; })
        .def_prop_ro(
            "path", [](const Picture& picture) { return text_of(picture.path); }, nb::sig("def path(self) -> str"))
        .def_prop_ro(
            "mask", [](const Picture& picture) { return bytes_of(app::mask_of(picture.image)); },
            "A byte a pixel, 1 where a sample of this picture is not 0.");
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
    nb::class_<Regions>(module, "Regions")
        .def(
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
        .def("area", [](const Regions& regions, std::size_t place) { return regions.found.at(place).area; })
        .def("measurement", &Regions::measurement, Release())
        .def_prop_ro("percentiles",
                     [](const Regions& regions) {
                         std::vector<double> percents;
                         for (std::size_t i = 0; i < regions.percentiles.size(); ++i)
                             percents.push_back(regions.percentiles.micro(i) / 1e6);
                         return percents;
                     })
        .def("__getstate__", [](const Regions& regions) { return bytes_of(packed(regions)); })
        .def("__setstate__", [](Regions& regions,
                                const nb::bytes& state) { new (&regions) Regions(unpacked_regions(bytes_of(state))); })
        .def(
            "table",
            [](const Regions& regions) {
                const std::vector<Column> list = columns(regions.percentiles, ColumnFile::regions);
                nb::list rows;
                for (std::size_t i = 0; i < regions.found.size(); ++i) {
                    const Region& region = regions.found[i];
                    const auto measurement = regions.measurement(i);
                    const std::string name = std::to_string(region.label);
                    for (const Row& row : measurement->rows) {
                        ColumnRow read = columns_of(*measurement, row);
                        read.region = name;
                        read.x = region.x;
                        read.y = region.y;
                        read.area = region.area;
                        rows.append(values_of(list, read));
                    }
                }
                return rows;
            },
            nb::sig("def table(self) -> list[list[int | float | str | None]]"));

    nb::class_<HeldFiles>(module, "Files")
        .def(
            "__init__",
            [](HeldFiles* made, const std::vector<nb::bytes>& arguments, const Asked& asked, bool recursive,
               bool follow_links, const std::vector<nb::bytes>& include, const std::vector<nb::bytes>& exclude,
               bool every_page, std::uint64_t page, std::optional<std::uint64_t> max_pixels,
               const std::string& on_damaged, int threads, std::uint64_t memory, const nb::bytes& masks) {
                AskedFiles files;
                files.arguments = strings_of(arguments);
                files.walk.recursive = recursive;
                files.walk.follow_links = follow_links;
                files.walk.include = strings_of(include);
                files.walk.exclude = strings_of(exclude);
                files.every_page = every_page;
                files.page = page;
                files.max_pixels = max_pixels;
                files.on_damaged = decoding(0, {}, on_damaged).on_damaged;
                files.threads = threads;
                files.memory = memory;
                files.masks = bytes_of(masks);
                const nb::gil_scoped_release released;
                new (made) HeldFiles{std::make_unique<Files>(std::move(files), asked)};
            },
            "arguments"_a, "asked"_a, "recursive"_a, "follow_links"_a, "include"_a, "exclude"_a, "every_page"_a,
            "page"_a, "max_pixels"_a.none(), "on_damaged"_a, "threads"_a, "memory"_a, "masks"_a)
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

/// Summary that several threads may add to.
struct SharedSummary {
    mutable std::mutex mutex;
    Summary summary;

    Summary copy() const {
        const std::lock_guard lock(mutex);
        return summary;
    }
    void set(Summary next) {
        const std::lock_guard lock(mutex);
        summary = std::move(next);
    }
};

std::vector<Row> rows_of(const std::vector<SummaryRow>& found) {
    std::vector<Row> rows;
    for (const SummaryRow& row : found)
        rows.push_back({to_string(row.statistics.channel), row.depth, row.statistics, row.white, row.images});
    return rows;
}

void define_summary(nb::module_& module) {
    using Numbers3 = std::vector<std::optional<double>>;
    nb::class_<SharedSummary>(module, "Summary")
        .def(nb::init<>())
        .def(
            "add",
            [](SharedSummary& self, const Measurement& one) {
                const std::lock_guard lock(self.mutex);
                Analysis room;
                self.summary.add(one.counted(room), one.values);
            },
            Release())
        .def(
            "merge",
            [](SharedSummary& self, const SharedSummary& other) {
                const Summary more = other.copy();
                const std::lock_guard lock(self.mutex);
                self.summary.merge(more);
            },
            Release())
        .def(
            "text", [](const SharedSummary& self) { return io::summary_json(self.copy().merged_values(nullptr)); },
            Release())
        .def(
            "set_text",
            [](SharedSummary& self, const std::string& text) { self.set(io::parse_summary(text, "pickled summary")); },
            Release())
        .def(
            "depths",
            [](const SharedSummary& self) {
                std::vector<std::string> names;
                const Summary summary = self.copy();
                for (const DepthSummary& part : summary.depths()) names.push_back(to_string(part.depth));
                return names;
            },
            Release())
        .def(
            "rows",
            [](const SharedSummary& self, const std::optional<std::vector<double>>& percentiles) {
                std::vector<std::pair<std::string, Row>> rows;
                const Percentiles asked = percentiles ? Percentiles(*percentiles) : Percentiles();
                for (Row& row : rows_of(self.copy().statistics(asked)))
                    rows.emplace_back(to_string(row.depth), std::move(row));
                return rows;
            },
            "percentiles"_a.none(), Release())
        .def(
            "table",
            [](const SharedSummary& self, const std::optional<std::vector<double>>& percentiles) {
                const Percentiles asked = percentiles ? Percentiles(*percentiles) : Percentiles();
                const std::vector<Column> list = columns(asked, ColumnFile::dataset);
                nb::list table;
                for (const Row& row : rows_of(self.copy().statistics(asked)))
                    table.append(values_of(list, row.columns()));
                return table;
            },
            "percentiles"_a.none(),
            nb::sig("def table(self, percentiles: collections.abc.Sequence[float] | None) -> "
                    "list[list[int | float | str | None]]"))
        .def(
            "histogram",
            [](const SharedSummary& self, const std::string& depth, std::uint32_t bins,
               const std::optional<std::pair<double, double>>& range) {
                auto histogram = self.copy().histogram(depth_of(depth), bins_of(bins, range));
                if (!histogram)
                    throw InvalidArgument(
                        "summary: its f32 images were neither all counted over one range nor with "
                        "detail=\"values\", so that they have no histogram");
                return histogram_of(std::move(*histogram), {});
            },
            nb::sig(
                "def histogram(self, depth: str, bins: int, range: tuple[float, float] | None) -> "
                "tuple[float, float, list[tuple[str, numpy.typing.NDArray[numpy.uint64], int, int, int, int, int]]]"))
        .def(
            "training",
            [](const SharedSummary& self, const std::string& depth) -> std::optional<std::pair<Numbers3, Numbers3>> {
                const Summary summary = self.copy();
                const io::SetNumbers numbers = io::set_numbers(summary);
                for (std::size_t i = 0; i < summary.depths().size(); ++i) {
                    if (summary.depths()[i].depth != depth_of(depth)) continue;
                    const io::TrainingNumbers& found = numbers.training[i];
                    if (found.colors) return std::pair(found.colors->mean, found.colors->std);
                    if (found.gray)
                        return std::pair(Numbers3(3, found.gray->mean.at(0)), Numbers3(3, found.gray->std.at(0)));
                }
                return std::nullopt;
            },
            Release())
        .def(
            "white",
            [](const SharedSummary& self, const std::string& depth) -> std::optional<double> {
                const Summary summary = self.copy();
                const DepthSummary* part = summary.find(depth_of(depth));
                return part ? part->white : std::nullopt;
            },
            Release())
        .def(
            "equals", [](const SharedSummary& self, const SharedSummary& other) { return self.copy() == other.copy(); },
            Release());
}

/// Array of any library, by its DLPack capsule, and with it what the array keeps alive.
struct Borrowed {
    nb::ndarray<nb::ro> array;
};

/// Columns of the results of regions: name, type as numpy calls it, and bytes from the start of a region's result.
std::vector<std::tuple<std::string, std::string, std::size_t>> region_columns(const StreamRegionAnalyzer& analyzer) {
    const RegionPlan& plan = analyzer.plan();
    std::vector<std::tuple<std::string, std::string, std::size_t>> list{
        {"label", "u8", offsetof(RegionResult, label)}, {"image", "i8", offsetof(RegionResult, image)},
        {"x", "i8", offsetof(RegionResult, x)},         {"y", "i8", offsetof(RegionResult, y)},
        {"width", "i8", offsetof(RegionResult, width)}, {"height", "i8", offsetof(RegionResult, height)},
        {"area", "u8", offsetof(RegionResult, area)}};
    std::vector<std::string> rows = plan.channels == 1 ? std::vector<std::string>{"gray"}
                                    : plan.channels == 3
                                        ? std::vector<std::string>{"red", "green", "blue", "luma"}
                                        : std::vector<std::string>{"red", "green", "blue", "luma", "alpha"};
    const bool weighted = plan.validity && plan.validity->alpha == AlphaRule::weight;
    if (weighted && plan.channels == 4) rows.pop_back();
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const std::size_t at = offsetof(RegionResult, channels) + row * sizeof(ChannelResult);
        list.emplace_back(rows[row] + "_valid", "u8", at + offsetof(ChannelResult, samples));
        list.emplace_back(rows[row] + "_nodata", "u8", at + offsetof(ChannelResult, nodata));
        list.emplace_back(rows[row] + "_nan", "u8", at + offsetof(ChannelResult, nan));
        list.emplace_back(rows[row] + "_inf", "u8", at + offsetof(ChannelResult, infinite));
        list.emplace_back(rows[row] + "_min", "f8", at + offsetof(ChannelResult, minimum));
        list.emplace_back(rows[row] + "_max", "f8", at + offsetof(ChannelResult, maximum));
        list.emplace_back(rows[row] + "_mean", "f8", at + offsetof(ChannelResult, mean));
        list.emplace_back(rows[row] + "_std", "f8", at + offsetof(ChannelResult, std));
        if (weighted) list.emplace_back(rows[row] + "_weight", "u8", at + offsetof(ChannelResult, weight));
        for (std::size_t i = 0; i < plan.percentiles.size(); ++i)
            list.emplace_back(
                rows[row] + "_" +
                    (weighted ? weighted_percentile_name(plan.percentiles.micro(i)) : plan.percentiles.name(i)),
                "f8", analyzer.layout().percentiles_offset + (row * plan.percentiles.size() + i) * sizeof(double));
    }
    return list;
}

void define_stream(nb::module_& module) {
    nb::class_<ResultLayout>(module, "Layout", "Layout of the memory of one image's result.")
        .def_ro("bytes", &ResultLayout::bytes, "Bytes of one image's result; the next one's starts there.")
        .def_ro("counts_offset", &ResultLayout::counts_offset, "Bytes to the counts, uint64[rows][bins].")
        .def_ro("tables_offset", &ResultLayout::tables_offset,
                "Bytes to the lookup tables of a normalised u8 or u16 image; else 0.")
        .def_ro("details_offset", &ResultLayout::details_offset,
                "f32: bytes to what only Analyzer.read needs; else 0.");
    nb::class_<StreamAnalyzer>(module, "StreamAnalyzer")
        .def(
            "__init__",
            [](StreamAnalyzer* made, const std::string& depth, int channels, std::uint32_t bins, bool normalize,
               std::int64_t classified_pixels, int gpu) {
                check_cuda_process();
                new (made)
                    StreamAnalyzer(StreamPlan{depth_of(depth), channels, bins, normalize, gpu, classified_pixels});
            },
            "depth"_a, "channels"_a, "bins"_a, "normalize"_a, "classified_pixels"_a, "gpu"_a, Release())
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
    nb::class_<RegionLayout>(module, "RegionLayout", "Layout of the memory of the results of regions.")
        .def_ro("bytes", &RegionLayout::bytes, "Bytes of all results.")
        .def_ro("first", &RegionLayout::first, "Bytes to the first region's.")
        .def_ro("stride", &RegionLayout::stride, "Bytes from one region's to the next one's.")
        .def_ro("percentiles_offset", &RegionLayout::percentiles_offset,
                "Bytes in a region's to its percentiles, float64[rows][percentiles].");
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
        .def("columns", [](const StreamRegionAnalyzer& analyzer) { return region_columns(analyzer); })
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
}

}  // namespace

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // what the interpreter still holds at its end is no leak of ours
    nb::register_exception_translator(translate);
    define_statistics(module);
    define_measurement(module);
    define_asking(module);
    define_measuring(module);
    define_summary(module);
    define_stream(module);
    module.attr("version") = app::build::version;
    module.def("columns", [](const std::optional<std::vector<double>>& percentiles, const std::string& file) {
        const auto kind = word_of<ColumnFile>(
            file, {{"stats", ColumnFile::stats}, {"dataset", ColumnFile::dataset}, {"regions", ColumnFile::regions}},
            "file");
        std::vector<std::tuple<std::string, std::string, std::string>> list;
        for (const Column& column : columns(percentiles ? Percentiles(*percentiles) : Percentiles(), kind))
            list.emplace_back(column.name, to_string(column.type), column.definition);
        return list;
    });
    module.def("engines", [] {
        std::vector<std::tuple<std::string, bool, std::string>> list;
        for (const EngineInfo& engine : engines()) list.emplace_back(engine.name, engine.available, engine.description);
        return list;
    });
    module.def("page_count", [](const nb::bytes& path) {
        return io::probe_pages(std::filesystem::path(bytes_of(path)))->pages.size();
    });
    module.def("before_fork", &before_fork, Release());
    module.def("after_fork", &after_fork, "child"_a, Release());
    module.def("command", [](const std::vector<nb::bytes>& words) {
        const std::vector<std::string> text = strings_of(words);
        std::vector<const char*> pointers;
        for (const std::string& word : text) pointers.push_back(word.c_str());
        pointers.push_back(nullptr);
        const nb::gil_scoped_release released;
        return app::run_command(static_cast<int>(text.size()), pointers.data());
    });
}

}  // namespace gpuhist::python
