// Checkpoints of interrupted runs: whatever the bytes, an IoError or a checkpoint that a run can go on with. Both lines
// get the checksums that belong to them, behind which the search would never come.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fuzz/memory_file.hpp"
#include "gpuhist/error.hpp"
#include "run/checkpoint.hpp"
#include "support/sealed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    static const MemoryFile file;
    static const MemoryFile values_file;
    static const auto values = io::FrequencyFile::named(values_file.path());
    const std::string found(reinterpret_cast<const char*>(data), size);
    const std::size_t head = found.find('\n');
    const std::string text =
        test::resealed(found.substr(0, head)) + (head == found.npos ? "" : test::resealed(found.substr(head + 1)));
    file.put(text.data(), text.size());
    try {
        const auto checkpoint = app::load_checkpoint(file.path(), values);
        if (!checkpoint || (checkpoint->pass != 1 && checkpoint->pass != 2) || checkpoint->shard.groups.empty())
            std::abort();
    } catch (const IoError&) {
    }
    return 0;
}
