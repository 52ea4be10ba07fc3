// Checkpoints of interrupted runs: whatever the bytes, an IoError or a checkpoint that a run can go on with.
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
        const auto checkpoint = app::load_checkpoint(file.path(), values);
        if (!checkpoint || (checkpoint->pass != 1 && checkpoint->pass != 2) || checkpoint->shard.groups.empty())
            std::abort();
    } catch (const IoError&) {
    }
    return 0;
}
