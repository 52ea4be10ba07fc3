// Rows of a shard: whatever the bytes, an IoError or rows that put together are these bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/memory_file.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/shard.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    static const MemoryFile file;
    file.put(data, size);
    std::string text = io::shard_rows_header();
    try {
        for (io::ShardRows rows(file.path()); rows.next();)
            text += std::to_string(rows.index()) + (rows.is_error() ? ",errors," : ",stats,") + rows.row();
    } catch (const IoError&) {
        return 0;
    }
    if (text != std::string_view(reinterpret_cast<const char*>(data), size)) std::abort();
    return 0;
}
