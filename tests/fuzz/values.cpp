// Runs of counts of float values: whatever the bytes, an InvalidArgument or a run that is written again as it was.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/frequency_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    FrequencyTable values;
    try {
        values.add(FrequencyRun({bytes, bytes + size}));
    } catch (const InvalidArgument&) {
        return 0;
    }
    const FrequencyRun again = values.merged(nullptr).runs().at(0);
    if (!std::equal(bytes, bytes + size, again.data(), again.data() + again.bytes())) std::abort();
    if (values.samples() > std::uint64_t{1} << 60) return 0;  // more than a pool takes
    FrequencyTable twice = values;
    twice.add(values);
    const FrequencyTable sum = twice.merged(nullptr);
    if (!(sum == twice) || sum.samples() != 2 * values.samples()) std::abort();
    if (sum.runs()[0].lowest() != again.lowest() || sum.runs()[0].highest() != again.highest()) std::abort();
    return 0;
}
