// Tables in CSV: whatever the bytes, an IoError or rows of as many fields as columns.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "gpuhist/error.hpp"
#include "gpuhist/io/csv_rows.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    try {
        io::CsvRows rows(std::make_unique<std::istringstream>(std::string(reinterpret_cast<const char*>(data), size)),
                         "table");
        const auto value = rows.find("value");
        while (rows.next()) {
            if (rows.text(0).size() > size) std::abort();
            static_cast<void>(rows.number(value));
        }
    } catch (const IoError&) {
    }
    return 0;
}
