#include "convert.hpp"

#include <variant>

namespace gpuhist::python {

nb::object text_of(std::string_view text) {
    return nb::steal(PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

std::string bytes_of(const nb::bytes& bytes) {
    return {bytes.c_str(), bytes.size()};
}

nb::bytes bytes_of(const std::string& bytes) {
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
        nb::object operator()(const Int128& number) const {
            return nb::steal(PyLong_FromString(to_string(number).c_str(), nullptr, 10));
        }
    } convert;
    return std::visit(convert, value);
}

nb::list values_of(const std::vector<Column>& columns, const ColumnRow& row) {
    nb::list values;
    for (const Column& column : columns) values.append(value_of(column.value(row)));
    return values;
}

Numbers array_of(std::vector<std::uint64_t> numbers) {
    auto* memory = new std::vector<std::uint64_t>(std::move(numbers));
    nb::capsule owner(memory, [](void* gone) noexcept { delete static_cast<std::vector<std::uint64_t>*>(gone); });
    return Numbers(memory->data(), {memory->size()}, owner);
}

Depth depth_of(const std::string& name) {
    for (const DepthTraits& traits : all_depths)
        if (name == traits.name) return traits.depth;
    throw InvalidArgument("depth: '" + name + "' is not one of " + depth_names());
}

HistogramOptions bins_of(std::uint32_t bins, const Bounds& range) {
    return {bins, range ? std::optional(Range{range->first, range->second}) : std::nullopt};
}

Percentiles percentiles_of(const std::optional<std::vector<double>>& percents) {
    return percents ? Percentiles(*percents) : Percentiles();
}

io::OnDamaged on_damaged_of(const std::string& word) {
    return word_of<io::OnDamaged>(word, {{"error", io::OnDamaged::error}, {"accept", io::OnDamaged::accept}},
                                  "on_damaged");
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

std::tuple<double, double, double, std::vector<HistogramColumn>> histogram_of(Histogram histogram) {
    std::vector<HistogramColumn> columns;
    for (Histogram::Column& column : histogram.columns)
        columns.emplace_back(text_of(channel_name(column)), array_of(std::move(column.counts)), column.below,
                             column.above, column.nan, column.masked, column.nodata);
    return {histogram.range.lower, histogram.range.upper, histogram.unit, std::move(columns)};
}

}  // namespace gpuhist::python
