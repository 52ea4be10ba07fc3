// Shard files, and with them summaries: whatever the bytes, an IoError or a shard that reads back as it was written.
// They get the checksum that belongs to them, behind which the search would never come.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "gpuhist/error.hpp"
#include "gpuhist/io/shard.hpp"
#include "support/sealed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    io::Shard shard;
    try {
        shard = io::parse_shard(test::resealed({reinterpret_cast<const char*>(data), size}), "part");
    } catch (const IoError&) {
        return 0;
    }
    for (io::Group& group : shard.groups) group.summary = group.summary.merged_values(nullptr);
    const std::string text = io::shard_json(shard);
    if (io::shard_json(io::parse_shard(text, "part")) != text) std::abort();
    io::dataset_csv(shard.groups);
    Summary sum = shard.groups.front().summary;
    try {
        for (const io::Group& group : shard.groups) sum.merge(group.summary);
    } catch (const InvalidArgument&) {  // more than 2^60 samples
        return 0;
    }
    io::dataset_json({{"", sum}}, shard.histogram);
    return 0;
}
