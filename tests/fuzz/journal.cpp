// Journals of interrupted runs: whatever the bytes, an IoError or a journal that a run can go on with.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/memory_file.hpp"
#include "gpuhist/error.hpp"
#include "run/checkpoint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    static const MemoryFile file;
    static const MemoryFile values_file;
    static const auto values = io::FrequencyFile::named(values_file.path());
    file.put(data, size);
    try {
        const auto journal = app::load_journal(file.path(), values);
        if (!journal || (journal->pass != 1 && journal->pass != 2) || journal->part.groups.empty()) std::abort();
    } catch (const IoError&) {
    }
    return 0;
}
