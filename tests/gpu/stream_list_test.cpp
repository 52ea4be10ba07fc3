// Lists of images through the stream-level API: what it finds in each, against the CPU engine.
#include <memory>

#include "support/stream_cases.hpp"

namespace gpuhist::test {
namespace {

/// A few images from one pixel to a megapixel, and what is to be found in each, whichever channel is called red.
struct Summary {
    std::vector<Picture> pictures;
    DeviceImages images;
    std::vector<Expected> truths[2];

    ImageView view(std::size_t i, ChannelOrder order = ChannelOrder::bgr) const {
        ImageView view = images[i % pictures.size()];
        view.order = order;
        return view;
    }
    const Expected& truth(std::size_t i, ChannelOrder order = ChannelOrder::bgr) const {
        return truths[static_cast<std::size_t>(order)][i % pictures.size()];
    }
};

class StreamListTest : public StreamTest {
  protected:
    std::unique_ptr<Summary> pool_of(Depth depth, int channels, const AnalysisRequest& request = {}) {
        constexpr Size sizes[] = {{1, 1},   {64, 48}, {3, 1},   {211, 97},  {1, 7}, {17, 5},
                                  {33, 33}, {256, 1}, {16, 16}, {300, 260}, {2, 2}, {1201, 803}};
        auto pool = std::make_unique<Summary>();
        std::size_t turn = 0;
        for (const Size& size : sizes) {
            pool->pictures.push_back(picture_of({size.width, size.height, channels, depth}, turn % kinds(depth), turn));
            pool->images.add(pool->pictures.back(), placement(turn++));
        }
        pool->images.upload();
        for (const Picture& picture : pool->pictures)
            for (ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb}) {
                ImageView view = picture.view();
                view.order = order;
                pool->truths[static_cast<std::size_t>(order)].push_back(expected(view, request));
            }
        return pool;
    }
    /// `count` views from the pool, with the largest of it now and then; `orders`: runs of both orders.
    void check_list(const Summary& pool, std::size_t count, bool orders, const AnalysisRequest& request = {}) {
        if (left_out()) return;
        SCOPED_TRACE(std::to_string(count) + " views like " + describe(pool.pictures[0].shape()));
        std::vector<ImageView> views;
        std::vector<const Expected*> truths;
        auto order = ChannelOrder::bgr;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t bits = scramble(count * 1000 + i);
            if (orders && bits % 7 == 0) order = order == ChannelOrder::bgr ? ChannelOrder::rgb : ChannelOrder::bgr;
            const std::size_t largest = pool.pictures.size() - 1;
            const std::size_t choice = i == 1 || bits % 101 == 0 ? largest : (bits >> 8) % largest;
            views.push_back(pool.view(choice, order));
            truths.push_back(&pool.truth(choice, order));
        }
        check_views(views, truths, request);
    }
    void check_views(const std::vector<ImageView>& views, const std::vector<const Expected*>& truths,
                     const AnalysisRequest& request = {}) {
        StreamAnalyzer& subject = analyzer(views[0].depth, views[0].channels);
        DeviceResults results(subject.layout(request), views.size());
        subject.enqueue(views.data(), static_cast<std::int64_t>(views.size()), request, results.at(), stream);
        synchronize();
        for (std::size_t i = 0; i < views.size() && !HasFailure(); ++i)
            EXPECT_EQ(difference(results.fetch(i), results.layout(), *truths[i]), "") << "view " << i;
        EXPECT_TRUE(results.guard_untouched());
    }
};
INSTANTIATE_TEST_SUITE_P(Stream, StreamListTest, testing::ValuesIn(paths), label_of_path);

TEST_P(StreamListTest, of_mixed_sizes) {
    for (Depth depth : depths)
        for (int channels : channel_counts) {
            const auto pool = pool_of(depth, channels);
            for (std::size_t count : {1, 2, 13, 255, 256, 257, 600}) {
                if (depth == Depth::u16 && channels == 4 && count > 257) continue;  // 2.6 MB a result
                check_list(*pool, count, false);
                if (channels > 1 && count > 1) check_list(*pool, count, true);
                ASSERT_FALSE(HasFailure());
            }
            EXPECT_EQ(pool->images.difference(), "");
        }
}

TEST_P(StreamListTest, of_mixed_sizes_without_luma_and_brief) {
    AnalysisRequest request = without_luma();
    request.detail = Detail::brief;
    for (Depth depth : depths) {
        const auto pool = pool_of(depth, 3, request);
        for (std::size_t count : {2, 13, 257}) check_list(*pool, count, true, request);
    }
}

TEST_P(StreamListTest, small_of_mixed_orders) {
    for (Depth depth : depths) {
        std::vector<Case> cases;
        for (std::size_t i = 0; i < 9; ++i)
            cases.push_back({picture_of({3 + static_cast<std::int64_t>(i * 5), 7, 3, depth,
                                         i % 4 == 1 ? ChannelOrder::rgb : ChannelOrder::bgr},
                                        i),
                             placement(i)});
        check_images(cases);
    }
}

// Equal distances, upwards, downwards or none at all, for all views or for a part of them.
TEST_P(StreamListTest, that_is_a_tensor) {
    for (Depth depth : depths)
        for (std::size_t count : {2, 9, 300}) {
            if (left_out()) continue;
            const std::vector<Picture> pictures = pictures_of({33, 21, 3, depth}, std::min<std::size_t>(count, 20));
            DeviceImages images;
            std::vector<Expected> truths;
            for (std::size_t i = 0; i < count; ++i) {
                const Picture& picture = pictures[i % pictures.size()];
                i == 0 ? images.add(picture, {3, 5}) : images.add_next(11);
                images.set(i, picture.view());
                if (i < pictures.size()) truths.push_back(expected(picture.view()));
            }
            images.upload();
            std::vector<ImageView> views;
            std::vector<const Expected*> expected_of;
            auto append = [&](std::size_t i) {
                views.push_back(images[i]);
                expected_of.push_back(&truths[i % pictures.size()]);
            };
            auto check = [&](const char* what) {
                SCOPED_TRACE(std::string(what) + " of " + std::to_string(count) + " " + to_string(depth));
                check_views(views, expected_of);
                views.clear();
                expected_of.clear();
            };
            for (std::size_t i = 0; i < count; ++i) append(i);
            check("upwards");
            for (std::size_t i = count; i-- > 0;) append(i);
            check("downwards");
            for (std::size_t i = 0; i < count; ++i) append(1);
            check("the same again and again");
            for (std::size_t i = 0; i < count; i += 2) append(i);
            append(1);
            check("every second, and another");
            append(1);
            append(1);
            for (std::size_t i = 0; i < count; ++i) append(i);
            for (std::size_t i = count; i-- > 0;) append(i);
            check("up and down");
            EXPECT_EQ(images.difference(), "");
        }
}

TEST_P(StreamListTest, small_that_is_empty) {
    StreamAnalyzer& subject = analyzer(Depth::u8, 3);
    DeviceResults results(subject.layout(), 1);
    subject.enqueue(static_cast<const ImageView*>(nullptr), 0, {}, results.at(), stream);
    subject.enqueue_normalized(nullptr, nullptr, 0, {}, {}, results.at(), stream);
    synchronize();
    EXPECT_NE(results.fetch().ready, 1u);
}

}  // namespace
}  // namespace gpuhist::test
