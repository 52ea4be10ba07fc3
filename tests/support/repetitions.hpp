// How much of the large matrices and of the tests by chance is run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace gpuhist::test {

/// GPUHIST_TEST_EVERY=n lets only every n-th case of the large matrices run, and fewer repetitions of others: for
/// tools under which a launch takes long. 1: all of them.
inline int every_nth() {
    static const char* every = std::getenv("GPUHIST_TEST_EVERY");
    return every ? std::max(1, std::atoi(every)) : 1;
}
/// Any thread may ask.
inline bool left_out() {
    static std::atomic<int> turn = 0;
    return turn++ % every_nth() != 0;
}
inline std::size_t repetitions(std::size_t all, std::size_t least) {
    return std::max(least, all / static_cast<std::size_t>(every_nth()));
}

}  // namespace gpuhist::test
