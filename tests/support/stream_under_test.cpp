#include "support/stream_under_test.hpp"

#include <cstring>

namespace gpuhist::test {

void StreamTest::check_images(const std::vector<Case>& cases, const AnalysisRequest& request) {
    if (left_out()) return;
    const std::size_t n = cases.size();
    DeviceImages images;
    for (const Case& c : cases) images.add(c.picture, c.at);
    images.upload();
    std::vector<ImageView> views;
    for (std::size_t i = 0; i < n; ++i) views.push_back(images[i]);

    StreamAnalyzer& subject = analyzer(cases[0].picture.shape());
    DeviceResults results(subject.layout(request), 2 * n);
    for (std::size_t i = 0; i < n; ++i) subject.enqueue(views[i], request, results.at(i), stream);
    subject.enqueue(views.data(), static_cast<std::int64_t>(n), request, results.at(n), stream);
    synchronize();
    for (std::size_t i = 0; i < n; ++i) {
        SCOPED_TRACE(describe(cases[i].picture.shape()) + ", offset " + std::to_string(cases[i].at.offset) +
                     ", padding " + std::to_string(cases[i].at.row_padding) + ", " + describe(request));
        const Expected truth = expected(cases[i].picture.view(), request);
        expect(results, i, truth, "alone");
        expect(results, n + i, truth, "in the list");
    }
    EXPECT_EQ(images.difference(), "");
    EXPECT_TRUE(results.guard_untouched());
}

void StreamTest::check_batch(const std::vector<Picture>& pictures, const Placement& at, int gap,
                             const AnalysisRequest& request) {
    if (left_out()) return;
    DeviceImages images;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        i == 0 ? images.add(pictures[0].shape(), at) : images.add_next(gap);
        images.set(i, pictures[i].view());
    }
    images.upload();
    StreamAnalyzer& subject = analyzer(pictures[0].shape());
    DeviceResults results(subject.layout(request), pictures.size());
    subject.enqueue(images.batch(), request, results.at(), stream);
    synchronize();
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        expect(results, i, expected(pictures[i].view(), request), "image");
        if (HasFailure()) break;  // one is enough to look at
    }
    EXPECT_EQ(images.difference(), "");
    EXPECT_TRUE(results.guard_untouched());
}

namespace {

/// A normalized image's tables, applied on the host: where they do not give the output.
template <class T, class O>
std::string table_difference(const ImageResult& got, const ImageView& input, const ImageView& output, bool joint) {
    constexpr std::size_t values = std::size_t{1} << 8 * sizeof(T);
    const auto* tables = reinterpret_cast<const O*>(reinterpret_cast<const char*>(&got) + got.tables_offset);
    for (std::int64_t y = 0; y < input.height; ++y)
        for (std::int64_t x = 0; x < input.width; ++x)
            for (int c = 0; c < input.channels && c < 3; ++c) {
                const std::size_t table = joint || input.channels == 1 ? 0 : static_cast<std::size_t>(c);
                O written;
                std::memcpy(&written,
                            static_cast<const char*>(output.data) + y * output.row_bytes +
                                (x * output.channels + c) * static_cast<std::int64_t>(sizeof(O)),
                            sizeof written);
                const std::uint32_t value = sample(input, x, y, c);
                const O mapped = tables[table * values + value];
                if (std::memcmp(&mapped, &written, sizeof written) == 0) continue;
                return "table " + std::to_string(table) + " maps " + std::to_string(value) + " to " +
                       std::to_string(mapped) + ", the output is " + std::to_string(written);
            }
    return {};
}
std::string table_difference(const ImageResult& got, const ImageView& input, const ImageView& output, bool joint) {
    if (input.depth == Depth::f32) return got.tables_offset ? "there is a table of f32" : "";
    if (got.tables_offset == 0) return {};  // by place
    const auto by_output = [&](auto value) {
        using T = decltype(value);
        return output.depth == Depth::f32   ? table_difference<T, float>(got, input, output, joint)
               : output.depth == Depth::u16 ? table_difference<T, std::uint16_t>(got, input, output, joint)
                                            : table_difference<T, std::uint8_t>(got, input, output, joint);
    };
    return input.depth == Depth::u8 ? by_output(std::uint8_t{}) : by_output(std::uint16_t{});
}

}  // namespace

void StreamTest::check_normalized(const std::vector<Case>& cases, const Normalization& normalization,
                                  const AnalysisRequest& request) {
    if (left_out()) return;
    const std::size_t n = cases.size();
    const auto count = static_cast<std::int64_t>(n);
    const bool in_place =
        normalized_depth(cases[0].picture.shape().depth, normalization) == cases[0].picture.shape().depth;
    DeviceImages images, alone, listed, replaced;
    for (const Case& c : cases) {
        const Shape shape = normalized_shape(c.picture.shape(), normalization);
        images.add(c.picture, c.at);
        alone.add(shape, {c.at.row_padding, c.at.offset});
        listed.add(shape, {c.at.offset, c.at.row_padding});
        if (in_place) replaced.add(c.picture, c.at);
    }
    for (DeviceImages* all : {&images, &alone, &listed, &replaced})
        if (all->size()) all->upload();
    std::vector<ImageView> views, replaced_views;
    std::vector<MutableImageView> listed_views, replaced_outputs;
    for (std::size_t i = 0; i < n; ++i) {
        views.push_back(images[i]);
        listed_views.push_back(listed[i]);
        if (!in_place) continue;
        replaced_views.push_back(replaced[i]);
        replaced_outputs.push_back(replaced[i]);
    }

    StreamAnalyzer& subject = analyzer(cases[0].picture.shape());
    DeviceResults results(subject.layout(request, &normalization), 3 * n);
    for (std::size_t i = 0; i < n; ++i)
        subject.enqueue_normalized(views[i], alone[i], request, normalization, results.at(i), stream);
    subject.enqueue_normalized(views.data(), listed_views.data(), count, request, normalization, results.at(n), stream);
    if (in_place)
        subject.enqueue_normalized(replaced_views.data(), replaced_outputs.data(), count, request, normalization,
                                   results.at(2 * n), stream);
    synchronize();
    for (std::size_t i = 0; i < n; ++i) {
        const Picture& picture = cases[i].picture;
        SCOPED_TRACE(describe(picture.shape()) + ", offset " + std::to_string(cases[i].at.offset) + ", padding " +
                     std::to_string(cases[i].at.row_padding) + ", " + describe(normalization) + ", " +
                     describe(request));
        Picture output(normalized_shape(picture.shape(), normalization), packed);
        const Expected truth = expected(picture.view(), request, normalization, output);
        for (DeviceImages* all : {&alone, &listed, &replaced})
            if (all->size()) all->set(i, output.view());
        for (std::size_t way = 0; way < (in_place ? 3 : 2); ++way) {
            expect(results, way * n + i, truth);
            EXPECT_EQ(table_difference(results.fetch(way * n + i), picture.view(), output.view(),
                                       normalization.joint && !traits_of(normalization.mode).per_color),
                      "");
        }
    }
    EXPECT_EQ(images.difference(), "") << "the input";
    EXPECT_EQ(alone.difference(), "") << "each alone";
    EXPECT_EQ(listed.difference(), "") << "as a list";
    if (in_place) {
        EXPECT_EQ(replaced.difference(), "") << "as a list in place";
    }
    EXPECT_TRUE(results.guard_untouched());
}

void StreamTest::check_normalized_batch(const std::vector<Picture>& pictures, const Placement& at, int gap,
                                        const Normalization& normalization, const AnalysisRequest& request) {
    if (left_out()) return;
    SCOPED_TRACE(describe(normalization));
    const Shape shape = pictures[0].shape(), output_shape = normalized_shape(shape, normalization);
    const bool in_place = shape.depth == output_shape.depth;
    DeviceImages images, outputs, replaced;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        for (DeviceImages* all : {&images, &replaced}) {
            i == 0 ? all->add(shape, at) : all->add_next(gap);
            all->set(i, pictures[i].view());
        }
        i == 0 ? outputs.add(output_shape, {at.row_padding, at.offset}) : outputs.add_next(gap / 2);
    }
    for (DeviceImages* all : {&images, &outputs, &replaced}) all->upload();
    StreamAnalyzer& subject = analyzer(shape);
    DeviceResults results(subject.layout(request, &normalization), 2 * pictures.size());
    subject.enqueue_normalized(images.batch(), outputs.batch(), request, normalization, results.at(), stream);
    if (in_place)
        subject.enqueue_normalized(replaced.batch(), replaced.batch(), request, normalization,
                                   results.at(pictures.size()), stream);
    synchronize();
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        Picture output(output_shape, packed);
        const Expected truth = expected(pictures[i].view(), request, normalization, output);
        outputs.set(i, output.view());
        if (in_place) replaced.set(i, output.view());
        for (std::size_t way = 0; way < (in_place ? 2 : 1); ++way) {
            expect(results, way * pictures.size() + i, truth, "image");
            EXPECT_EQ(table_difference(results.fetch(way * pictures.size() + i), pictures[i].view(), output.view(),
                                       normalization.joint),
                      "");
        }
        if (HasFailure()) break;  // one is enough to look at
    }
    EXPECT_EQ(images.difference(), "") << "the input";
    EXPECT_EQ(outputs.difference(), "") << "the output";
    EXPECT_EQ(replaced.difference(), "") << "in place";
    EXPECT_TRUE(results.guard_untouched());
}

}  // namespace gpuhist::test
