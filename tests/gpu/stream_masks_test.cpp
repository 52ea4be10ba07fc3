// Masks in the stream-level API: the unmasked pixels, copies by what is found of them, and what is refused.
#include <algorithm>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/stream_behavior.hpp"
#include "support/tones.hpp"

namespace gpuhist::test {
namespace {

class StreamMasksTest : public StreamTest {
  protected:
    /// Mask of a shape's pixels on both sides, rows so many bytes apart and its first so many off an aligned address.
    struct Mask {
        enum class Kind : std::uint8_t { nothing, everything, chance, disc };
        static constexpr Kind kinds[] = {Kind::nothing, Kind::everything, Kind::chance, Kind::disc};

        Mask(const Shape& shape, Kind kind, int off, int padding)
            : row_bytes(shape.width + padding),
              offset(off),
              bytes(static_cast<std::size_t>(offset + row_bytes * shape.height), 1),
              memory(bytes.size(), untouched) {
            std::uint64_t seed = 7;
            for (std::int64_t y = 0; y < shape.height; ++y)
                for (std::int64_t x = 0; x < shape.width; ++x) {
                    seed = scramble(seed);
                    const std::int64_t dx = 2 * x - shape.width, dy = 2 * y - shape.height;
                    const bool in = kind == Kind::everything || (kind == Kind::chance && seed % 2 == 0) ||
                                    (kind == Kind::disc && dx * dx + dy * dy < shape.width * shape.height);
                    bytes[static_cast<std::size_t>(offset + y * row_bytes + x)] =
                        static_cast<unsigned char>(in ? 1 + seed % 255 : 0);
                }
            check(cudaMemcpy(memory.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
            check(cudaStreamSynchronize(nullptr));
        }
        ImageView on(ImageView view, bool device) const {
            view.mask = (device ? reinterpret_cast<const std::uint8_t*>(memory.data()) : bytes.data()) + offset;
            view.mask_row_bytes = row_bytes;
            return view;
        }
        std::int64_t row_bytes;
        int offset;
        std::vector<unsigned char> bytes;
        DeviceMemory memory;
    };
    static StreamPlan plan_of(Depth depth, int channels, bool normalize = false) {
        StreamPlan plan;
        plan.depth = depth;
        plan.channels = channels;
        plan.normalize = normalize;
        return plan;
    }
    /// Copies of images with masks: each alone, as a list with a whole image behind each, and as a list in place.
    void check_copies(StreamAnalyzer& analyzer, std::size_t turn, const AnalysisRequest& request,
                      const Normalization& normalization) {
        const auto [depth, channels] = std::pair(analyzer.plan().depth, analyzer.plan().channels);
        const bool in_place = normalized_depth(depth, normalization) == depth;
        DeviceImages images, alone, listed, replaced;
        std::vector<Picture> pictures;
        std::vector<std::unique_ptr<Mask>> masks;
        for (const Size& size : {Size{1, 1}, {7, 5}, {211, 96}, {1001, 33}})
            for (const Mask::Kind kind : Mask::kinds) {
                const Placement at = placement(turn), mask_at = placement(turn / 2);
                const std::vector<ChannelOrder> orders = orders_of(channels);
                const Shape shape{size.width, size.height, channels, depth, orders[turn % orders.size()]};
                pictures.push_back(picture_of(shape, turn++ % kinds(depth)));
                masks.push_back(std::make_unique<Mask>(shape, kind, mask_at.offset, mask_at.row_padding));
                images.add(pictures.back(), at);
                replaced.add(pictures.back(), at);
                const Shape written = normalized_shape(shape, normalization);
                alone.add(written, {at.row_padding, at.offset});
                listed.add(written, at);
                listed.add(written);
            }
        for (DeviceImages* all : {&images, &alone, &listed, &replaced}) all->upload();
        const std::size_t n = pictures.size();
        std::vector<ImageView> views, replaced_views;
        std::vector<MutableImageView> outputs, replaced_outputs;
        for (std::size_t i = 0; i < n; ++i) {
            views.push_back(masks[i]->on(images[i], true));
            views.push_back(images[i]);
            outputs.push_back(listed[2 * i]);
            outputs.push_back(listed[2 * i + 1]);
            replaced_views.push_back(masks[i]->on(replaced[i], true));
            replaced_outputs.push_back(replaced[i]);
        }
        DeviceResults results(analyzer.layout(request, &normalization), 4 * n);
        analyzer.enqueue_normalized(views.data(), outputs.data(), static_cast<std::int64_t>(2 * n), request,
                                    normalization, results.at(), stream);
        for (std::size_t i = 0; i < n; ++i)
            analyzer.enqueue_normalized(views[2 * i], alone[i], request, normalization, results.at(2 * n + i), stream);
        if (in_place)
            analyzer.enqueue_normalized(replaced_views.data(), replaced_outputs.data(), static_cast<std::int64_t>(n),
                                        request, normalization, results.at(3 * n), stream);
        synchronize();
        for (std::size_t i = 0; i < n; ++i) {
            SCOPED_TRACE(describe(pictures[i].shape()) + ", " + describe(normalization) +
                         (normalization.valid_only ? " of valid samples, " : ", ") + describe(request));
            Picture copy(normalized_shape(pictures[i].shape(), normalization), packed),
                whole = Picture(copy.shape(), packed);
            const Expected truth = expected(masks[i]->on(pictures[i].view(), false), request, normalization, copy);
            const Expected of_whole = expected(pictures[i].view(), request, normalization, whole);
            alone.set(i, copy.view());
            listed.set(2 * i, copy.view());
            listed.set(2 * i + 1, whole.view());
            if (in_place) replaced.set(i, copy.view());
            expect(results, 2 * i, truth, "in a list");
            expect(results, 2 * i + 1, of_whole, "behind one with a mask");
            expect(results, 2 * n + i, truth, "alone");
            if (in_place) expect(results, 3 * n + i, truth, "in place");
        }
        EXPECT_EQ(images.difference(), "") << "the input";
        EXPECT_EQ(alone.difference(), "") << "each alone, " << describe(normalization);
        EXPECT_EQ(listed.difference(), "") << "as a list, " << describe(normalization);
        EXPECT_EQ(replaced.difference(), "") << "in place, " << describe(normalization);
        EXPECT_TRUE(results.guard_untouched());
    }

    /// Pictures that all of some images become.
    static std::vector<Picture> pictures_of_round(DeviceImages& images, const Shape& shape, std::size_t round) {
        std::vector<Picture> pictures;
        for (std::size_t i = 0; i < images.size(); ++i) {
            pictures.push_back(picture_of(shape, round, 10 * round + i));
            images.set(i, pictures[i].view());
        }
        images.upload();
        return pictures;
    }
};

TEST_P(StreamMasksTest, leave_out_pixels) {
    AnalysisRequest no_luma, brief, bins, full_bins;
    no_luma.luma_histogram = false;
    brief.detail = bins.detail = Detail::brief;
    bins.bins = full_bins.bins = 30000;  // more than a block has room for
    full_bins.range = Range{0.25, 0.75};
    const std::vector<AnalysisRequest> of_codes{{}, no_luma}, of_floats{{}, brief, bins, full_bins};
    for (const Depth depth : {Depth::u8, Depth::s8, Depth::u16, Depth::s16, Depth::f16, Depth::f32})
        for (const int channels : {1, 3, 4})
            for (const AnalysisRequest& request : depth == Depth::f32 ? of_floats : of_codes) {
                StreamPlan plan = plan_of(depth, channels);
                plan.bins = 30000;
                StreamAnalyzer analyzer(plan);
                DeviceImages images;
                std::vector<Picture> pictures;
                std::vector<std::unique_ptr<Mask>> masks;
                const auto add = [&](int width, int height, Mask::Kind kind, Placement at, Placement mask_at) {
                    const std::size_t turn = pictures.size();
                    const Depth made = depth == Depth::f32 ? depth : sample_bytes(depth) == 1 ? Depth::u8 : Depth::u16;
                    const Shape shape{width, height, channels, made, turn % 2 ? ChannelOrder::rgb : ChannelOrder::bgr};
                    constexpr Content contents[] = {Content::constant, Content::random, Content::sparse,
                                                    Content::two_values, Content::natural};
                    pictures.emplace_back(shape, packed, contents[turn % 5]);
                    images.add(pictures.back(), at);
                    masks.push_back(std::make_unique<Mask>(shape, kind, mask_at.offset, mask_at.row_padding));
                };
                for (const auto& [width, height] : {std::pair{1, 1}, {7, 5}, {640, 480}, {1001, 333}, {33, 1024}})
                    for (const Mask::Kind kind : Mask::kinds)
                        add(width, height, kind, placement(pictures.size()), placement(pictures.size() / 2));
                // Packed, so that each is one row, whose groups have their mask at aligned addresses or at others.
                for (const auto& [at, mask_at] : {std::pair{0, 0}, {0, 1}, {1, 0}, {16, 8}})
                    for (const Mask::Kind kind : {Mask::Kind::chance, Mask::Kind::disc})
                        add(611, 173, kind, {at, 0}, {mask_at, 0});
                images.upload();
                // Each alone, and all of them as a list with a whole image behind each.
                DeviceResults results(analyzer.layout(request), 3 * images.size());
                std::vector<ImageView> views;
                const auto as_depth = [&](ImageView view) {
                    view.depth = depth;
                    return view;
                };
                for (std::size_t i = 0; i < images.size(); ++i) {
                    views.push_back(masks[i]->on(as_depth(images[i]), true));
                    analyzer.enqueue(views.back(), request, results.at(2 * images.size() + i), stream);
                    views.push_back(as_depth(images[i]));
                }
                analyzer.enqueue(views.data(), static_cast<std::int64_t>(views.size()), request, results.at(), stream);
                synchronize();
                for (std::size_t i = 0; i < images.size(); ++i) {
                    const std::string what =
                        describe(pictures[i].shape()) + " as " + to_string(depth) + ", image " + std::to_string(i);
                    const Expected wanted = expected(masks[i]->on(as_depth(pictures[i].view()), false), request);
                    expect(results, 2 * images.size() + i, wanted, what.c_str());
                    expect(results, 2 * i, wanted, (what + " in a list").c_str());
                    expect(results, 2 * i + 1, expected(as_depth(pictures[i].view()), request),
                           (what + ": the one behind").c_str());
                }
                EXPECT_TRUE(results.guard_untouched());
                EXPECT_EQ(images.difference(), "");
            }
}

TEST_P(StreamMasksTest, of_a_batch_are_replayed_in_a_graph) {
    const Shape shape{301, 77, 3, Depth::u8};
    DeviceImages images;
    images.add(shape, placement(1));
    images.add_next(5);
    images.add_next(5);
    const Mask mask(Shape{301, 3 * 77, 3, Depth::u8}, Mask::Kind::chance, 3, 9);
    StreamAnalyzer analyzer(plan_of(Depth::u8, 3));
    for (const std::int64_t distance : {77 * mask.row_bytes, std::int64_t{0}}) {
        images.upload();
        DeviceResults results(analyzer.layout(), 3);
        BatchView batch = images.batch();
        batch.first = mask.on(batch.first, true);
        batch.mask_bytes = distance;
        const Graph graph(stream, [&] { analyzer.enqueue(batch, {}, results.at(), stream); });
        for (std::size_t round = 0; round < 3; ++round) {
            const std::vector<Picture> pictures = pictures_of_round(images, shape, round);
            results.poison();
            graph.launch(stream);
            synchronize();
            for (std::size_t i = 0; i < 3; ++i) {
                ImageView masked = mask.on(pictures[i].view(), false);
                masked.mask += static_cast<std::int64_t>(i) * distance;
                expect(results, i, expected(masked));
            }
        }
        EXPECT_TRUE(results.guard_untouched());
    }
}

TEST_P(StreamMasksTest, copies_are_made_from_what_they_leave) {
    std::size_t turn = 0;
    for (const Depth depth : depths)
        for (const int channels : channel_counts) {
            StreamAnalyzer analyzer(plan_of(depth, channels, true));
            for (Normalization normalization : with_tones(normalizations(channels), channels, turn))
                for (const bool valid_only : {false, true}) {
                    normalization.valid_only = valid_only;
                    if (valid_only && normalized_depth(depth, normalization) != depth) continue;
                    AnalysisRequest request;
                    request.luma_histogram = turn % 2 == 0;
                    request.detail = turn % 3 == 0 ? Detail::brief : Detail::full;
                    check_copies(analyzer, 5 * turn++, request, normalization);
                    ASSERT_FALSE(HasFailure());
                }
        }
}

TEST_P(StreamMasksTest, large_copies) {
    for (const Depth depth : depths) {
        const Shape shape{2001, 1501, 3, depth};
        const Picture picture(shape, packed, Content::natural);
        const Mask mask(shape, Mask::Kind::disc, 0, 3);
        StreamAnalyzer analyzer(plan_of(depth, 3, true));
        for (const NormalizeMode mode : all_exact_modes) {
            const Normalization normalization{mode};
            DeviceImages images, outputs;
            images.add(picture);
            outputs.add(normalized_shape(shape, normalization));
            images.upload();
            outputs.upload();
            DeviceResults results(analyzer.layout({}, &normalization), 1);
            analyzer.enqueue_normalized(mask.on(images[0], true), outputs[0], {}, normalization, results.at(), stream);
            synchronize();
            Picture copy(normalized_shape(shape, normalization), packed);
            expect(results, 0, expected(mask.on(picture.view(), false), {}, normalization, copy));
            outputs.set(0, copy.view());
            EXPECT_EQ(outputs.difference(), "") << describe(shape) << " " << describe(normalization);
        }
    }
}

TEST_P(StreamMasksTest, copies_of_a_batch_are_replayed_in_a_graph) {
    for (const Depth depth : depths)
        for (const NormalizeMode mode : all_exact_modes) {
            const Normalization normalization{mode};
            const Shape shape{301, 77, 3, depth};
            const Mask mask(Shape{301, 3 * 77, 3, Depth::u8}, Mask::Kind::chance, 3, 9);
            StreamAnalyzer analyzer(plan_of(depth, 3, true));
            for (const std::int64_t distance : {77 * mask.row_bytes, std::int64_t{0}}) {
                DeviceImages images, outputs;
                images.add(shape, placement(1));
                outputs.add(normalized_shape(shape, normalization), placement(2));
                for (int i = 0; i < 2; ++i) {
                    images.add_next(5);
                    outputs.add_next(3);
                }
                images.upload();
                outputs.upload();
                DeviceResults results(analyzer.layout({}, &normalization), 3);
                BatchView batch = images.batch();
                batch.first = mask.on(batch.first, true);
                batch.mask_bytes = distance;
                const Graph graph(stream, [&] {
                    analyzer.enqueue_normalized(batch, outputs.batch(), {}, normalization, results.at(), stream);
                });
                for (std::size_t round = 0; round < 3; ++round) {
                    const std::vector<Picture> pictures = pictures_of_round(images, shape, round);
                    results.poison();
                    graph.launch(stream);
                    synchronize();
                    for (std::size_t i = 0; i < 3; ++i) {
                        ImageView masked = mask.on(pictures[i].view(), false);
                        masked.mask += static_cast<std::int64_t>(i) * distance;
                        Picture copy(normalized_shape(shape, normalization), packed);
                        expect(results, i, expected(masked, {}, normalization, copy));
                        outputs.set(i, copy.view());
                    }
                    EXPECT_EQ(outputs.difference(), "") << describe(shape) << " " << describe(normalization);
                }
                EXPECT_TRUE(results.guard_untouched());
            }
        }
}

TEST_P(StreamMasksTest, copies_that_cannot_be_are_refused_by_name) {
    const Mask mask(Shape{8, 8, 1, Depth::u8}, Mask::Kind::disc, 0, 0);
    DeviceImages images, floats;
    images.add(Shape{8, 8, 1, Depth::u8});
    floats.add(Shape{8, 8, 1, Depth::f32});
    images.upload();
    floats.upload();
    const auto refusal = [&](bool planned, const MutableImageView& output, Normalization normalization) -> std::string {
        normalization.valid_only = true;
        StreamAnalyzer analyzer(plan_of(Depth::u8, 1, planned));
        DeviceResults results(analyzer.layout({}, &normalization), 1);
        try {
            analyzer.enqueue_normalized(mask.on(images[0], true), output, {}, normalization, results.at(), stream);
            synchronize();
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "none";
    };
    EXPECT_EQ(refusal(true, images[0], {}), "none");
    EXPECT_NE(refusal(false, images[0], {}).find("not planned to normalize"), std::string::npos);
    EXPECT_NE(refusal(true, floats[0], {NormalizeMode::zscore}).find("copy in f32 of an image of u8"),
              std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Stream, StreamMasksTest, testing::ValuesIn(paths), label_of_path);

}  // namespace
}  // namespace gpuhist::test
