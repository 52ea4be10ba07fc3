// The seeds' samples: what they print, what they count, and what must not hang.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <regex>

#include "bench/ladder/cuda_test.hpp"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

class SeedsTest : public OnGpu<testing::Test> {};
class SeedsSpinTest : public OnGpu<testing::Test> {};
/// Tests that show a race, on purpose: compute-sanitizer's racecheck rightly objects, and tests/sanitize
/// leaves them out by this name.
class SeedsRaceTest : public OnGpu<testing::Test> {};

template <class Print>
std::string printed(const Print& print) {
    testing::internal::CaptureStdout();
    print();
    return testing::internal::GetCapturedStdout();
}

TEST_F(SeedsTest, warp_sample_is_printed_as_in_the_article) {
    EXPECT_EQ(printed(print_warp_sample),
              "threadIdx.x:  0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15\n"
              "lane_id:      0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7\n"
              "FULL_MASK = ffffffff\n"
              "mask1     = fffe\n"
              "mask2     = 1\n"
              "all_sync (FULL_MASK): 0\n"
              "all_sync (mask1):     1\n"
              "any_sync (FULL_MASK): 1\n"
              "any_sync (mask2):     0\n"
              "shfl:         2  2  2  2  2  2  2  2 10 10 10 10 10 10 10 10\n"
              "shfl_up:      0  0  1  2  3  4  5  6  8  8  9 10 11 12 13 14\n"
              "shfl_down:    1  2  3  4  5  6  7  7  9 10 11 12 13 14 15 15\n"
              "shfl_xor:     1  0  3  2  5  4  7  6  9  8 11 10 13 12 15 14\n");
}

TEST_F(SeedsTest, one_line_is_printed_for_the_whole_grid) {
    for (const int blocks : {1, 64, 65})
        EXPECT_EQ(printed([&] { print_one_line(blocks); }), "Print a single line for the entire process\n") << blocks;
}

TEST_F(SeedsTest, listing_is_printed_and_its_sums_agree) {
    Listing listing{};
    const std::string text = printed([&] { listing = print_listing(7); });
    std::mt19937 random(7);
    std::uint32_t sum = 0;
    for (int i = 0; i < listing_count; ++i) sum += static_cast<std::uint32_t>(random() >> 1);
    EXPECT_EQ(static_cast<std::uint32_t>(listing.on_gpu), sum);
    EXPECT_EQ(static_cast<std::uint32_t>(listing.on_cpu), sum);
    const std::regex expected("filling the buffer with 10000000 elements...\nRunning on GPU...\nGPU sum: " +
                              std::to_string(sum) + "\nRunning on CPU...\nCPU sum: " + std::to_string(sum) +
                              "\nTest Passed!\nGPU time [0-9]+\\.[0-9]{3} ms\nCPU time [0-9]+\\.[0-9]{3} ms\n");
    EXPECT_TRUE(std::regex_match(text, expected)) << text;
}

TEST_F(SeedsTest, operations_on_one_word_leave_what_follows_from_their_order) {
    const AtomicSequence left = atomic_sequence();
    EXPECT_EQ(left.after_add, 256 * 10);
    EXPECT_EQ(left.after_max, 2560);      // more than any thread's number
    EXPECT_EQ(left.after_inc, 255 % 18);  // the first one finds more than 17: 0
    EXPECT_EQ(left.after_cas, 255);       // from 3 on each thread finds the number before its own
    EXPECT_EQ(left.after_and, 1);         // 7 and 9 have one bit in common, and all others have it too
    EXPECT_EQ(left.after_or, -1);         // 32 bits, each of some thread
    EXPECT_EQ(left.after_xor, -1);        // numbers from 0 to 255 have each bit an even number of times
}

// Threads come in any order. In each order, the last number is at most the sum of all additions.
TEST_F(SeedsTest, operations_as_written_leave_what_some_order_leads_to) {
    const auto left = atomic_sequences_as_written(100);
    ASSERT_EQ(left.size(), 100u);
    for (const auto& [first, second] : left) {
        EXPECT_GE(first, 0);
        EXPECT_LE(first, 256 * 10);
    }
}

TEST_F(SeedsTest, threads_without_an_atomic_leave_at_most_what_they_added) {
    EXPECT_LE(left_of_lost_updates(1), 256u);
    EXPECT_GE(left_of_lost_updates(1), 1u);
}

TEST_F(SeedsTest, constant_table_is_read_by_its_symbols_address) {
    const std::vector<unsigned> squares = constant_table();
    ASSERT_EQ(squares.size(), 256u);
    for (unsigned k = 0; k < 256; ++k) EXPECT_EQ(squares[k], k * k);
}

TEST_F(SeedsTest, a_seventh_of_the_threads_adds) {
    EXPECT_DOUBLE_EQ(thread_utilization(128 * 1000, false), 127.0 / 896);
    EXPECT_GT(thread_utilization(10'000'000, true), 0.9);
}

TEST_F(SeedsTest, sum_of_floats_is_the_same_wherever_the_partial_sums_lie) {
    constexpr std::int64_t count = 10'000'000;
    const auto numbers = numbers_on_gpu(count, 1.23f);
    const double exact = static_cast<double>(1.23f) * count;
    const auto sum = [&](FloatMethod method) {
        const FloatSum found = sum_of_floats(numbers.get(), count, method, 2);
        EXPECT_GT(found.ms, 0);
        return static_cast<double>(found.sum);
    };
    const double twice = sum(FloatMethod::twice);
    EXPECT_NEAR(twice, exact, exact * 1e-6);
    EXPECT_EQ(sum(FloatMethod::twice_static), twice);
    EXPECT_EQ(sum(FloatMethod::twice_static_host), twice);
    EXPECT_EQ(sum(FloatMethod::twice_allocated), twice);
    EXPECT_NEAR(sum(FloatMethod::atomic_10240), exact, exact * 10'240 * 0x1p-24);
    // 78,125 additions to one number, each off by half a unit of its last place at most.
    EXPECT_NEAR(sum(FloatMethod::atomic_a_block), exact, exact * 78'125 * 0x1p-24);
}

// The orders of lanes that the rules leave open, one at a time.
TEST_F(SeedsTest, tree_without_its_guard_depends_on_the_order_of_lanes) {
    EXPECT_EQ(unguarded_tree(LaneOrder::ascending), 32u);
    Word values[64];
    std::fill(std::begin(values), std::end(values), Word{1});
    for (int half = 16; half > 0; half /= 2)
        for (int lane = 31; lane >= 0; --lane) values[lane] += values[lane + half];
    EXPECT_NE(values[0], 32u);
    EXPECT_EQ(unguarded_tree(LaneOrder::descending), values[0]);
}

TEST_F(SeedsTest, tree_with_its_guard_has_no_race) {
    EXPECT_EQ(race_in_tree(true).wrong, 0u);
}

TEST_F(SeedsRaceTest, tree_without_its_guard_on_purpose) {
    const Race race = race_in_tree(false);
    EXPECT_EQ(race.warps, 1024u);
    EXPECT_GT(race.wrong, 0u);
    RecordProperty("wrong", static_cast<int>(race.wrong));
}

// The int of 32 bits: the barrier for 64 blocks is one for 31, and by luck for 64.
TEST_F(SeedsSpinTest, barrier_for_64_overflows_at_32) {
    for (const int blocks : {1, 2, 31, 64}) {
        const Spin spin = spin_as_written(blocks);
        EXPECT_EQ(spin.passed, blocks);
        EXPECT_EQ(spin.gave_up, 0) << blocks;
    }
    for (const int blocks : {32, 33, 63}) {
        const Spin spin = spin_as_written(blocks);
        EXPECT_EQ(spin.passed, 0) << blocks;
        EXPECT_EQ(spin.gave_up, blocks);
    }
}

TEST_F(SeedsSpinTest, barrier_for_more_is_one_for_32) {
    const auto fared = [](int blocks) {
        const Spin spin = spin_of_more_as_written(blocks);
        return std::pair{spin.passed, spin.gave_up};
    };
    EXPECT_EQ(fared(16), std::pair(0, 16));
    EXPECT_EQ(fared(32), std::pair(32, 0));
    EXPECT_EQ(fared(64), std::pair(33, 31));  // one of the second 32 finds no bit set, and takes that for all
    EXPECT_THROW(spin_of_more_as_written(65), Refused);
}

TEST_F(SeedsSpinTest, a_block_needs_barriers_around_the_one_between_blocks) {
    const Reads sound = reads_behind_barrier(true, true);
    EXPECT_GT(sound.all, 0u);
    EXPECT_EQ(sound.missed, 0u);
    EXPECT_GT(reads_behind_barrier(true, false).missed, 0u);
    EXPECT_GT(reads_behind_barrier(false, true).missed, 0u);
}

TEST_F(SeedsSpinTest, a_sum_that_was_read_before_needs_fences) {
    const Reads sound = reads_again_behind_barrier(true);
    EXPECT_GT(sound.all, 0u);
    EXPECT_EQ(sound.missed, 0u);
    EXPECT_GT(reads_again_behind_barrier(false).missed, 0u);
}

TEST_F(SeedsSpinTest, who_does_not_ask_for_residency_waits_in_vain_alone_on_the_gpu) {
    const int resident = spin_unasked_resident();
    const Spin all = spin_unasked(resident), one_more = spin_unasked(resident + 1);
    EXPECT_EQ(all.passed, resident);
    EXPECT_EQ(all.gave_up, 0);
    EXPECT_EQ(one_more.passed + one_more.gave_up, resident + 1);
    EXPECT_GT(one_more.gave_up, 0);
}

TEST_F(SeedsSpinTest, cooperative_launch_refuses_what_is_not_resident) {
    EXPECT_EQ(spin_cooperatively(spin_unasked_resident()), cudaSuccess);
    EXPECT_EQ(spin_cooperatively(spin_unasked_resident() + 1), cudaErrorCooperativeLaunchTooLarge);
    EXPECT_THROW(print_one_line(1'000'000), Refused);
}

// All orders of the threads' steps, without a GPU: a thread that clears late undoes a barrier that others have left.
TEST(SeedsSpinModelTest, clearing_late_hangs_and_a_block_barrier_helps) {
    EXPECT_FALSE(explore_spin(1, 3, false).can_hang);  // a block alone leaves last
    EXPECT_FALSE(explore_spin(3, 1, false).can_hang);  // a thread clears before it sets
    for (const int blocks : {2, 3})
        for (const int threads : {2, 3}) {
            EXPECT_TRUE(explore_spin(blocks, threads, false).can_hang) << blocks << "x" << threads;
            EXPECT_FALSE(explore_spin(blocks, threads, true).can_hang) << blocks << "x" << threads;
        }
    // One block of one thread: before, cleared, set once, left.
    EXPECT_EQ(explore_spin(1, 1, false).states, 4);
}

}  // namespace
}  // namespace gpuhist::bench::ladder::seeds
