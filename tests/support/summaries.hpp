// Small summaries of images, measured on the CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::test {

template <class Sample>
Analysis analyze(const std::vector<Sample>& samples, int channels = 1, const AnalysisRequest& request = {}) {
    static const auto engine = make_engine("cpu", {.threads = 1});
    const Depth depth = sizeof(Sample) == 1 ? Depth::u8 : sizeof(Sample) == 2 ? Depth::u16 : Depth::f32;
    const auto width = static_cast<std::int64_t>(samples.size()) / channels;
    return engine->analyze(packed_view(samples.data(), width, 1, channels, depth, ChannelOrder::rgb), request);
}

inline void add_counted(Summary& pool, const std::vector<float>& samples, const AnalysisRequest& request = {}) {
    const auto width = static_cast<std::int64_t>(samples.size());
    pool.add(analyze(samples, 1, request), count_frequencies(packed_view(samples.data(), width, 1, 1, Depth::f32)));
}

inline Summary small_pool() {
    Summary pool;
    pool.add(analyze<std::uint8_t>({0, 255, 10, 20}));
    pool.add(analyze<std::uint8_t>({255, 255}));
    pool.add(analyze<std::uint8_t>({1, 2, 3, 5, 8, 13}, 3));
    return pool;
}

/// Message of the function when it fails.
inline std::string failure_of(const std::function<void()>& function) {
    try {
        function();
    } catch (const IoError& error) {
        return error.what();
    }
    return "no failure";
}

}  // namespace gpuhist::test
