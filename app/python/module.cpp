/// The module gpuhist._native: what the package is made of.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "bind.hpp"
#include "cli/command.hpp"
#include "fork.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/version.hpp"
#include "run/outcome.hpp"

namespace gpuhist::python {
namespace {

/// Exceptions of the library are those of gpuhist._errors; their classes have the same names.
void raise(const char* name, const char* message, const char* kind = nullptr) {
    const nb::object type = nb::module_::import_("gpuhist._errors").attr(name);
    const nb::object error = kind ? type(text_of(message), kind) : type(text_of(message));
    PyErr_SetObject(error.type().ptr(), error.ptr());  // IoError makes exceptions of derived classes
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

/// The function of Python, which needs the interpreter's lock; its exceptions are errors of the command. It is called
/// while the caller holds it.
app::ParquetWriter parquet_writer(const nb::callable& to_parquet) {
    return [&to_parquet](const std::filesystem::path& results, bool force) {
        const Locked acquired;
        try {
            return nb::cast<std::vector<std::string>>(to_parquet(text_of(results.string()), force));
        } catch (nb::python_error& error) {
            throw Error(nb::str(error.value()).c_str());
        }
    };
}

}  // namespace

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // what the interpreter still holds at its end is no leak of ours
    nb::register_exception_translator(translate);
    bind_statistics(module);
    bind_measurement(module);
    bind_request(module);
    bind_images(module);
    bind_regions(module);
    bind_files(module);
    bind_summary(module);
    bind_joint(module);
    bind_lut(module);
    bind_flags(module);
    bind_stream(module);
    module.attr("version") = version();
    module.def(
        "columns",
        [](const std::optional<std::vector<double>>& percentiles, const std::string& file,
           std::optional<double> clip_sigma) {
            Words<ColumnFile> tables;
            for (const TableTraits& traits : all_tables) tables.emplace_back(traits.name, traits.table);
            const ColumnFile kind = word_of(file, tables, "file");
            std::vector<std::tuple<std::string, std::string, std::string>> list;
            for (const Column& column : columns({percentiles_of(percentiles), clip_sigma}, kind))
                list.emplace_back(column.name, to_string(column.type), column.definition);
            return list;
        },
        "percentiles"_a.none(), "file"_a, "clip_sigma"_a = nb::none());
    module.def(
        "column_facts",
        [](const std::optional<std::vector<double>>& percentiles, const std::string& file,
           std::optional<double> clip_sigma) {
            Words<ColumnFile> tables;
            for (const TableTraits& traits : all_tables) tables.emplace_back(traits.name, traits.table);
            std::vector<std::tuple<std::string, std::string, std::string, std::string, std::string>> list;
            for (const Column& column :
                 columns({percentiles_of(percentiles), clip_sigma}, word_of(file, tables, "file")))
                list.emplace_back(column.name, to_string(column.type), column.unit, column.definition, column.source);
            return list;
        },
        "percentiles"_a.none(), "file"_a, "clip_sigma"_a = nb::none(),
        "Columns of a table: name, type, unit, definition, and what they equal.");
    module.def(
        "tables",
        [] {
            std::vector<std::string> list;
            for (const TableTraits& traits : all_tables) list.emplace_back(traits.name);
            return list;
        },
        "Names of all tables.");
    module.def(
        "depths",
        [] {
            std::vector<std::tuple<std::string, std::string, std::size_t, bool>> list;
            for (const DepthTraits& traits : all_depths)
                list.emplace_back(traits.name, traits.array_type, traits.bytes, traits.counting != Counting::sorted);
            return list;
        },
        "Depths: the type of arrays, the bytes of a sample, and whether StreamAnalyzer measures them.");
    module.def("engines", [] {
        std::vector<std::tuple<std::string, bool, std::string>> list;
        for (const EngineInfo& engine : engines()) list.emplace_back(engine.name, engine.available, engine.description);
        return list;
    });
    // Python calls it once the interpreter has ended. What still works then belongs to daemon threads, or was never let
    // go of.
    if (Py_AtExit([] { before_end(); }) != 0) throw Error("Python has no room for a function at its end");
    module.def("before_fork", &before_fork, Release());
    module.def("after_fork", &after_fork, "child"_a, Release());
    module.def(
        "command",
        [](const std::vector<nb::bytes>& words, const std::optional<nb::callable>& to_parquet) {
            const std::vector<std::string> text = strings_of(words);
            std::vector<const char*> pointers;
            for (const std::string& word : text) pointers.push_back(word.c_str());
            pointers.push_back(nullptr);
            const Unlocked released;
            return app::run_command(static_cast<int>(text.size()), pointers.data(),
                                    to_parquet ? parquet_writer(*to_parquet) : app::ParquetWriter());
        },
        "words"_a, "to_parquet"_a.none(),
        nb::sig("def command(words: collections.abc.Sequence[bytes], to_parquet: "
                "collections.abc.Callable[[str, bool], list[str]] | None) -> int"),
        "Runs the command. to_parquet writes the tables in a directory; its bool is --force.");
}

}  // namespace gpuhist::python
