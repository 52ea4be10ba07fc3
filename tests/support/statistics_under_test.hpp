// Rows of statistics, compared field by field.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "gpuhist/statistics.hpp"

namespace gpuhist::test {

inline void expect_same(const Statistics& got, const Statistics& expected) {
    Statistics::for_each_field([&](const char* name, auto field) {
        EXPECT_TRUE(got.*field == expected.*field)
            << to_string(expected.channel) << " " << name << ": " << testing::PrintToString(got.*field) << ", expected "
            << testing::PrintToString(expected.*field);
    });
}
inline void expect_same(const std::vector<Statistics>& got, const std::vector<Statistics>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) expect_same(got[i], expected[i]);
}

}  // namespace gpuhist::test
