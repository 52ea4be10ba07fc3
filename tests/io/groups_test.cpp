// Groups of a set, in memory and in a file.
#include "gpuhist/io/groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <type_traits>

#include "gpuhist/engine.hpp"
#include "gpuhist/io/frequency_file.hpp"
#include "gpuhist/io/shard.hpp"
#include "support/temporary_directory.hpp"
#include "support/text_files.hpp"

namespace {

using namespace gpuhist;
using namespace gpuhist::io;

/// Image of random samples; of floats there are enough for runs that lie in the storage.
template <class Sample>
Summary random_image(std::mt19937& random, const std::shared_ptr<FrequencyFile>& storage) {
    static const auto engine = make_engine("cpu", {.threads = 1});
    std::vector<Sample> samples(std::is_floating_point_v<Sample> ? 30000 : 500);
    for (Sample& sample : samples)
        sample = std::is_floating_point_v<Sample> ? static_cast<Sample>(static_cast<double>(random()) * 1e-9)
                                                  : static_cast<Sample>(random());
    const ImageView image = packed_view(samples.data(), static_cast<std::int64_t>(samples.size()), 1, 1,
                                        sizeof(Sample) == 2 ? Depth::u16 : Depth::f32);
    Summary summary;
    summary.add(engine->analyze(image),
                image.depth == Depth::f32 ? count_frequencies(image, storage) : std::vector<FrequencyTable>());
    return summary;
}

class StoredGroupsTest : public testing::Test {
  protected:
    /// Adds images to groups, and to sums in memory, which are returned.
    std::map<std::string, Summary> fill(StoredGroups& groups, const std::shared_ptr<FrequencyFile>& storage) {
        std::mt19937 random(1);
        std::map<std::string, Summary> sums;
        for (int i = 0; i < 200; ++i) {
            const std::string name = "group " + std::to_string(random() % 6);
            const Summary image =
                i % 3 == 0 ? random_image<float>(random, storage) : random_image<std::uint16_t>(random, storage);
            sums[name].merge(image);
            if (i % 2 == 0)
                groups.add(name, image);
            else
                groups.add(name, store(image, *storage));
        }
        return sums;
    }
    static void expect_equal(const StoredGroups& groups, const std::map<std::string, Summary>& sums) {
        auto expected = sums.begin();
        groups.each([&](const Group& group) {
            ASSERT_NE(expected, sums.end());
            EXPECT_EQ(group.name, expected->first);
            EXPECT_TRUE(group.summary == expected->second) << group.name;
            ++expected;
        });
        EXPECT_EQ(expected, sums.end());
    }

    const test::TemporaryDirectory directory_;
};

TEST_F(StoredGroupsTest, AreTheSameWhereverTheyLie) {
    for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
        const std::shared_ptr<FrequencyFile> storage = FrequencyFile::temporary(directory_.path());
        StoredGroups groups(storage, most);
        const auto sums = fill(groups, storage);
        expect_equal(groups, sums);
        groups.spill();
        expect_equal(groups, sums);
        groups.each_stored([&](const std::string&, const std::vector<StoredSummary>& parts) {
            EXPECT_LT(parts.size(), StoredGroups::most_parts);
            EXPECT_GT(parts.size(), 0U);
        });
    }
}

TEST_F(StoredGroupsTest, OfAShardReadBack) {
    std::vector<std::string> texts;
    for (const std::uint64_t most : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        const std::shared_ptr<FrequencyFile> storage = FrequencyFile::temporary(directory_.path());
        Shard shard;
        shard.stored = StoredGroups(storage, most);
        const auto sums = fill(shard.stored, storage);
        Summary whole;
        for (const auto& [name, sum] : sums) whole.merge(sum);
        shard.groups = {{"", whole}};
        write_shard(directory_.path(), shard);
        const auto json = directory_.path() / shard_file_name(shard.id),
                   values = directory_.path() / shard_frequency_file_name(shard.id);
        texts.push_back(test::read_text(json) + test::read_text(values));
        const Shard read = parse_shard(test::read_text(json), "p", {FrequencyFile::existing(values), nullptr});
        expect_equal(read.stored, sums);
        EXPECT_TRUE(read.groups.front().summary == whole);
        std::filesystem::remove(values);
    }
    EXPECT_TRUE(texts[0] == texts[1]);
}

}  // namespace
