// Policies: whatever the bytes, an IoError or a policy whose text reads back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "gpuhist/error.hpp"
#include "gpuhist/io/policy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    io::Policy policy;
    try {
        policy = io::parse_policy({reinterpret_cast<const char*>(data), size}, "policy");
    } catch (const IoError&) {
        return 0;
    }
    const std::string text = io::policy_json(policy);
    const io::Policy again = io::parse_policy(text, "again");
    if (!(again.flags == policy.flags) || again.gate.size() != policy.gate.size()) std::abort();
    if (io::policy_json(again) != text) std::abort();
    if (!(io::parse_policy(io::flags_json(policy.flags), "flags").flags == policy.flags)) std::abort();
    return 0;
}
