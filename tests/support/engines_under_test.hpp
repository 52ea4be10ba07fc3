// The engines that every conformance test runs on.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>

#include "cuda/host/test_hooks.hpp"
#include "gpuhist/engine.hpp"
#include "support/repetitions.hpp"

namespace gpuhist::test {

struct EngineUnderTest {
    const char* label;
    const char* name;
    EngineOptions options;
    std::size_t shared_bytes;  ///< that a block may take; 0: all
    friend void PrintTo(const EngineUnderTest& engine, std::ostream* out) { *out << engine.label; }
};

inline bool flag(const char* variable) {
    const char* value = std::getenv(variable);
    return value && std::string(value) == "1";
}

inline EngineInfo info_of(const std::string& name) {
    for (const EngineInfo& info : engines())
        if (info.name == name) return info;
    return {name, false, "not among engines()"};
}

/// Makes the engine under test, and beside it the reference whose bits it must give: the CPU engine on one thread.
class EngineTest : public testing::TestWithParam<EngineUnderTest> {
  protected:
    void SetUp() override {
        const EngineInfo info = info_of(GetParam().name);
        if (!info.available) {
            if (info.name == "cpu" || flag("GPUHIST_REQUIRE_CUDA"))
                FAIL() << "engine " << info.name << " is required: " << info.description;
            GTEST_SKIP() << "engine " << info.name << ": " << info.description;
        }
        cuda::shared_memory_bound = GetParam().shared_bytes;
        engine = make_engine(GetParam().name, GetParam().options);
        ASSERT_EQ(engine->name(), GetParam().name);
        reference = make_engine("cpu", {.threads = 1});
        ASSERT_EQ(reference->name(), "cpu");
    }
    void TearDown() override { cuda::shared_memory_bound = 0; }
    bool on_gpu() const { return engine->name() == "cuda"; }

    std::unique_ptr<Engine> engine, reference;
};

inline const EngineUnderTest engines_under_test[] = {
    {"cpu", "cpu", {}, 0},
    {"cuda", "cuda", {}, 0},
    {"cuda_small_gpu", "cuda", {}, 65536},
};

inline std::string label_of(const testing::TestParamInfo<EngineUnderTest>& info) {
    return info.param.label;
}

}  // namespace gpuhist::test
