/// Bindings: the parts of the module gpuhist._native, one file each. Arguments are checked by the package; docstrings
/// for people are there too, but for those of Statistics, which come from the table of columns.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "convert.hpp"
#include "lock.hpp"

namespace gpuhist::python {

using namespace nb::literals;

using Release = nb::call_guard<Unlocked>;

void bind_statistics(nb::module_& module);
void bind_measurement(nb::module_& module);
void bind_request(nb::module_& module);
void bind_images(nb::module_& module);
void bind_regions(nb::module_& module);
void bind_files(nb::module_& module);
void bind_summary(nb::module_& module);
void bind_joint(nb::module_& module);
void bind_lut(nb::module_& module);
void bind_flags(nb::module_& module);
void bind_stream(nb::module_& module);

/// Equality, and a hash that fits it.
template <class T>
void bind_equality(nb::class_<T>& type) {
    type.def(
            "__eq__",
            [](const T& a, nb::handle other) { return nb::isinstance<T>(other) && a == nb::cast<const T&>(other); },
            nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](const T& value) { return hash_of(value); });
}

/// Pickles: the bytes of `packed`, of which `unpack` makes a value again.
template <class T>
void bind_pickles(nb::class_<T>& type, T (*unpack)(const std::string&)) {
    type.def("__getstate__", [](const T& value) { return bytes_of(packed(value)); })
        .def("__setstate__", [unpack](T& value, const nb::bytes& state) { new (&value) T(unpack(bytes_of(state))); });
}

}  // namespace gpuhist::python
