// The fixture of conformance tests: an analysis by any engine against the oracle, and bit for bit against the CPU
// engine on one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/engines_under_test.hpp"
#include "support/oracle.hpp"

namespace gpuhist::test {

inline AnalysisRequest bins_over(std::uint32_t bins, std::optional<Range> range = {}) {
    AnalysisRequest request;
    request.bins = bins;
    request.range = range;
    return request;
}
inline const AnalysisRequest without_luma = [] {
    AnalysisRequest request;
    request.luma_histogram = false;
    return request;
}();
inline AnalysisRequest brief(AnalysisRequest request = {}) {
    request.detail = Detail::brief;
    return request;
}

std::string describe(const Shape& shape, const Layout& layout, Content content);

/// Nothing vanishes.
void expect_all_pixels_counted(const Analysis& analysis);
/// All there is to an f32 analysis.
void expect_float_analysis(const ImageView& image, const AnalysisRequest& request, const Analysis& result);

class AnalysisTest : public EngineTest {
  protected:
    /// Into a poisoned result, from guarded memory; against the oracle and the reference engine.
    void check(const Picture& picture, const AnalysisRequest& request = {}) {
        if (left_out()) return;
        const std::vector<std::byte> before = picture.bytes();
        poison(result_);
        engine->analyze(picture.view(), request, result_);
        EXPECT_TRUE(picture.bytes() == before) << "the input was written to";
        if (picture.shape().depth == Depth::f32)
            expect_float_analysis(picture.view(), request, result_);
        else
            EXPECT_EQ(difference(result_, expected_analysis(picture.view(), request.luma_histogram)), "");
        expect_all_pixels_counted(result_);
        reference->analyze(picture.view(), request, reference_result_);
        EXPECT_EQ(difference(result_, reference_result_), "") << "not the reference's bits";
        EXPECT_TRUE(result_ == reference_result_);
    }

    void check_matrix(Depth depth, const Size* first, const Size* last, bool every_layout,
                      const AnalysisRequest& request = {}) {
        std::size_t turn = 0;
        for (const Size* size = first; size != last; ++size)
            for (int channels : {1, 3, 4})
                for (ChannelOrder order : {ChannelOrder::bgr, ChannelOrder::rgb})
                    for (Content content : contents_of(depth)) {
                        if (channels == 1 && order == ChannelOrder::rgb) continue;
                        for (std::size_t l = 0; l < std::size(layouts); ++l) {
                            if (!every_layout && l != turn % std::size(layouts)) continue;
                            const Shape shape{size->width, size->height, channels, depth, order};
                            SCOPED_TRACE(describe(shape, layouts[l], content));
                            check(Picture(shape, layouts[l], content), request);
                            if (HasFailure()) return;  // one case is enough to look at
                        }
                        ++turn;
                    }
    }

    Analysis result_, reference_result_;
};

}  // namespace gpuhist::test
