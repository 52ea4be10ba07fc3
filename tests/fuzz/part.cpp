// Part files, and with them pools: whatever the bytes, an IoError or a part that reads back as it was written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpuhist/error.hpp"
#include "gpuhist/io/shard.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    io::Part part;
    try {
        part = io::parse_part({reinterpret_cast<const char*>(data), size}, "part");
    } catch (const IoError&) {
        return 0;
    }
    for (io::Group& group : part.groups) group.pool = group.pool.merged_values(nullptr);
    const std::string text = io::part_json(part);
    if (io::part_json(io::parse_part(text, "part")) != text) std::abort();
    io::dataset_csv(part.groups);
    Summary sum = part.groups.front().pool;
    try {
        for (const io::Group& group : part.groups) sum.merge(group.pool);
    } catch (const InvalidArgument&) {  // more than 2^60 samples
        return 0;
    }
    io::dataset_json({{"", sum}}, part.histogram);
    return 0;
}
