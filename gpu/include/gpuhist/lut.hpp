/// Lookup tables (LUTs) that outlive the image they were made from: one set for many images, so that a series stays
/// comparable.
#pragma once

#include <optional>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist {

/// Set of LUTs for the images of one depth: what becomes of each value of u8 or u16 samples, and the numbers in the
/// formulas for f32. A value type.
struct LutSet {
    /// Table of one channel, or of the colors together.
    struct Lut {
        Channel channel = Channel::gray;  ///< joint: `gray`, and `all` for the colors; else `gray red green blue`
        /// 8 and 16 bits: 256 or 65536, of f16 for finite samples alone, the others having 0; whole numbers within the
        /// copies' depth, of floating copies numbers from 0 to 1, of zscore and f16 any finite ones. f32: of equalize,
        /// where lower < upper, 65536 from 0 to 1, one for each equal bin from `lower` to `upper`; else none.
        std::vector<float> values;
        /// f32, u32, s32 and f64 but for zscore: of minmax and percentile the values that become the ends of the
        /// copies' range, of equalize the ends of the bins. Where both are the same, samples stay as they are.
        double lower = 0, upper = 0;
        double mean = 0, std = 1;  ///< f32, u32, s32 and f64, zscore
        friend bool operator==(const Lut& a, const Lut& b) {
            return a.channel == b.channel && a.values == b.values && a.lower == b.lower && a.upper == b.upper &&
                   a.mean == b.mean && a.std == b.std;
        }
    };
    Depth depth = Depth::u8;
    NormalizeMode mode = NormalizeMode::minmax;
    bool joint = true;
    std::vector<Lut> luts;          ///< in this order, those there are
    std::optional<Depth> copies{};  ///< depth of the copies; absent: the mode's, `normalized_depth(depth, mode)`

    /// Depth of the copies.
    Depth copy_depth() const { return copies.value_or(normalized_depth(depth, mode)); }
    /// Table for a color or gray, or null.
    const Lut* find(Channel channel) const;
    /// Verdict: whether every sample, but those of zscore, stays as it is, brought to the depth of the copies.
    bool leaves_all() const;

    friend bool operator==(const LutSet& a, const LutSet& b) {
        return a.depth == b.depth && a.mode == b.mode && a.joint == b.joint && a.luts == b.luts &&
               a.copy_depth() == b.copy_depth();
    }
};

/// Tables that normalize the summary's images of one depth, with the bits that `Engine::normalize` gives to one image
/// of all their pixels; f32 by the same formulas, with the mean and std of the summary. Tables of u8 and u16 are for
/// copies of the normalization's depth, those of f32 may be given another one. Gray images among colors count
/// as R = G = B, and have the same table: separate tables are refused there. Bands and alpha make none. Throws
/// InvalidArgument for that, a normalization out of bounds, equalize of u32, s32 and f64, which goes by an image's own
/// ranks, copies of 8- and 16-bit images in u32, s32 or f64, of which tables hold too few digits, a depth of which the
/// summary has no image, or none but of bands, joint equalization where luma was not counted, and percentile and
/// equalize of f32 without frequencies.
LutSet make_luts(const Summary& summary, Depth depth, const Normalization& normalization);

/// Channels that a normalization leaves as they are because the samples that decide about them are of one value: of a
/// joint one `all`. None of zscore, which makes 0 of them, and none where no sample is finite. f32: the analysis has
/// the order statistics that the normalization asks for. Throws InvalidArgument for a normalization out of bounds.
std::vector<Channel> unchanged_channels(const Analysis& image, const Normalization& normalization);

/// Channels that a normalization leaves as they are because the samples that decide about them reach from end to end of
/// the range already: their extremes for minmax, of 8 and 16 bits their percentiles for percentile. None of other
/// modes. Joint ones, and what is thrown, as above.
std::vector<Channel> filled_channels(const Analysis& image, const Normalization& normalization);

/// Writes the copy that the tables make of an image, both in host memory; the output as for `Engine::normalize`, which
/// it may also share with the input, where their depth is the same. Alpha is copied, brought to another depth as
/// `NormalizeMode` says; `gray_alpha` takes the table for gray. Runs on the CPU, whichever
/// engine analyzes: pixels on a GPU are refused. Throws InvalidArgument for views or tables that break their rules or
/// do not fit together, and for samples with bands, for which there is no table.
void apply_luts(const LutSet& tables, const ImageView& image, const MutableImageView& output, int threads = 1,
                Samples samples = Samples::color);

}  // namespace gpuhist
