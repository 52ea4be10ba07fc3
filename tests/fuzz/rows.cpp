// Rows of a shard: whatever the bytes after the header, an IoError or rows that put together are these bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fuzz/memory_file.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/shard.hpp"
#include "support/sealed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    static const MemoryFile file;
    static const std::string header = io::make_shard_sink()->begin();
    const std::string written = header + std::string(reinterpret_cast<const char*>(data), size);
    file.put(written.data(), written.size());
    std::string text = header;
    try {
        for (io::ShardRows rows(file.path(), test::checksums_of(written)); rows.next();)
            text += std::to_string(rows.index()) + "," + traits_of(rows.table()).name + "," + std::string(rows.row());
    } catch (const IoError&) {
        return 0;
    }
    if (text != written) std::abort();
    return 0;
}
