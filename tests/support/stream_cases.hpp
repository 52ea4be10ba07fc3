// Shapes, placements and requests that the tests of the stream-level API go through.
#pragma once

#include <optional>
#include <vector>

#include "support/stream_under_test.hpp"

namespace gpuhist::test {

inline constexpr Depth depths[] = {Depth::u8, Depth::u16, Depth::f32};
inline constexpr int channel_counts[] = {1, 3, 4};

inline constexpr Size small_sizes[] = {{1, 1}, {1, 15}, {15, 1}, {16, 16}, {17, 5}, {83, 41}};
inline constexpr Size medium_sizes[] = {{10000, 1}, {1, 1000}, {257, 129}, {640, 480}, {1201, 803}};

inline std::vector<ChannelOrder> orders_of(int channels) {
    return channels == 1 ? std::vector{ChannelOrder::bgr} : std::vector{ChannelOrder::bgr, ChannelOrder::rgb};
}
inline AnalysisRequest without_luma() {
    AnalysisRequest request;
    request.luma_histogram = false;
    return request;
}

inline AnalysisRequest float_request(Detail detail, std::uint32_t bins, const std::optional<Range>& range) {
    AnalysisRequest request;
    request.detail = detail;
    request.bins = bins;
    request.range = range;
    return request;
}

inline std::vector<Picture> pictures_of(const Shape& shape, std::size_t count) {
    std::vector<Picture> pictures;
    for (std::size_t i = 0; i < count; ++i) pictures.push_back(picture_of(shape, i % kinds(shape.depth), i));
    return pictures;
}

struct BatchLayout {
    Placement at;
    int gap;
};
inline constexpr BatchLayout batch_layouts[] = {{{0, 0}, 0}, {{3, 0}, 5}, {{1, 7}, 13}, {{0, 16}, 64}};

}  // namespace gpuhist::test
