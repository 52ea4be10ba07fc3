// The articles' barrier for 64 blocks as a model: every order of its threads' steps, until no new state is found. A
// step is one atomic operation. Steps: each thread clears the mask; thread 0 of a block sets the block's bit and looks
// at what was there before, again and again, until all bits are set.

#include <map>
#include <queue>
#include <set>
#include <stdexcept>

#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

struct State {
    unsigned mask = 0;     ///< one bit per block
    unsigned cleared = 0;  ///< threads that have: bit block · threads + thread
    unsigned left = 0;     ///< blocks whose thread 0 has found the mask complete

    auto operator<=>(const State&) const = default;
};

}  // namespace

SpinModel explore_spin(int blocks, int threads, bool after_clearing) {
    if (blocks < 1 || threads < 1 || blocks * threads > 16) throw std::logic_error("a model is small");
    const unsigned all = (1u << blocks) - 1, of_block = (1u << threads) - 1;
    const auto next = [&](const State& state) {
        std::vector<State> states;
        for (int block = 0; block < blocks; ++block) {
            const unsigned own = 1u << block, cleared = state.cleared >> block * threads & of_block;
            for (int thread = 0; thread < threads; ++thread) {
                if (cleared >> thread & 1) continue;
                State then = state;
                then.mask = 0;
                then.cleared |= 1u << (block * threads + thread);
                states.push_back(then);
            }
            const bool may_set = after_clearing ? cleared == of_block : (cleared & 1) != 0;
            if (!may_set || (state.left & own)) continue;
            State then = state;
            then.mask |= own;
            if (state.mask == all) then.left |= own;
            states.push_back(then);
        }
        return states;
    };

    std::map<State, std::vector<State>> before;  // of each state those from which it is reached in one step
    std::queue<State> found;
    before[State{}];
    found.push({});
    std::set<State> can_end;
    std::queue<State> ends;
    while (!found.empty()) {
        const State state = found.front();
        found.pop();
        if (state.left == all && can_end.insert(state).second) ends.push(state);
        for (const State& then : next(state)) {
            const auto [at, is_new] = before.try_emplace(then);
            at->second.push_back(state);
            if (is_new) found.push(then);
        }
    }
    // A state from which no order of steps leads to the end is a hang.
    while (!ends.empty()) {
        const State state = ends.front();
        ends.pop();
        for (const State& earlier : before[state])
            if (can_end.insert(earlier).second) ends.push(earlier);
    }
    return {static_cast<int>(before.size()), can_end.size() < before.size()};
}

}  // namespace gpuhist::bench::ladder::seeds
