/// Lookup tables (LUTs) that outlive the image from which they were made. With one set of tables for many images, a
/// series stays comparable.
#pragma once

#include <optional>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist {

/// Set of LUTs for the images of one depth. For u8 and u16 samples, it has the new value of each value; for f32, it has
/// the numbers of the formula. A value type.
struct LutSet {
    /// Table of one channel, or of the colors together.
    struct Lut {
        Channel channel = Channel::gray;  ///< joint: `gray`, and `all` for the colors; else `gray red green blue`
        /// New values. 8 and 16 bits: 256 or 65536, one per value; for f16 only finite samples have one, and others
        /// have 0. They are whole numbers within the depth of the copies. For floating copies they are numbers from 0
        /// to 1, and for zscore and f16 any finite numbers. f32 by equalize, if lower < upper: 65536 numbers from 0 to
        /// 1, one per equal bin from `lower` to `upper`. Otherwise none.
        std::vector<float> values;
        /// Ends, for f32, u32, s32 and f64 except by zscore. By minmax and percentile, these values become the ends of
        /// the range of the copies; by equalize, they are the ends of the bins. If both are equal, samples stay as they
        /// are.
        double lower = 0, upper = 0;
        double mean = 0, std = 1;  ///< f32, u32, s32 and f64 by zscore
        friend bool operator==(const Lut& a, const Lut& b) {
            return a.channel == b.channel && a.values == b.values && a.lower == b.lower && a.upper == b.upper &&
                   a.mean == b.mean && a.std == b.std;
        }
    };
    Depth depth = Depth::u8;
    NormalizeMode mode = NormalizeMode::minmax;
    bool joint = true;
    std::vector<Lut> luts;          ///< in the order of Lut::channel
    std::optional<Depth> copies{};  ///< depth of the copies; absent: that of the mode, `normalized_depth(depth, mode)`
    /// Value that stands for nodata in the copies, as Normalization::fill. No table for integer copies has it.
    std::optional<double> fill{};

    /// Depth of the copies.
    Depth copy_depth() const { return copies.value_or(normalized_depth(depth, mode)); }
    /// Returns the table for a color or gray, or null.
    const Lut* find(Channel channel) const;
    /// Returns whether every sample stays as it is, except for the conversion to the depth of the copies. Never true
    /// for zscore.
    bool leaves_all() const;

    friend bool operator==(const LutSet& a, const LutSet& b) {
        const bool same_fill = a.fill == b.fill || (a.fill && b.fill && *a.fill != *a.fill && *b.fill != *b.fill);
        return a.depth == b.depth && a.mode == b.mode && a.joint == b.joint && a.luts == b.luts &&
               a.copy_depth() == b.copy_depth() && same_fill;
    }
};

/// Makes the tables that normalize the images of one depth in a summary. Copies made with them are those that
/// `Engine::normalize` would make of one image with all these pixels, bit for bit. f32 uses the same formulas, with the
/// mean and std of the summary.
///
/// Tables of u8 and u16 are for copies of the depth of the normalization; those of f32 may be given another one. Among
/// colors, a gray image is treated as R = G = B and has the same table, so separate tables are refused there. Bands and
/// alpha have no tables.
///
/// Throws InvalidArgument
/// - for such separate tables, a normalization out of bounds, and a `fill` that copies cannot hold;
/// - for equalize of u32, s32 and f64, which uses the ranks of a single image;
/// - for copies of 8- and 16-bit images in u32, s32 or f64, because tables hold too few digits for them;
/// - if the summary has no image of the depth, or only bands;
/// - for joint equalization if luma was not counted;
/// - for percentile and equalize of f32 without frequencies.
LutSet make_luts(const Summary& summary, Depth depth, const Normalization& normalization);

/// Returns the channels that a normalization does not change because the samples that decide about them have a single
/// value. For a joint normalization, that is `all`. zscore has none, because it makes such samples 0. An image without
/// finite samples has none either. An f32 analysis must have the order statistics that the normalization needs. Throws
/// InvalidArgument for a normalization out of bounds.
std::vector<Channel> unchanged_channels(const Analysis& image, const Normalization& normalization);

/// Returns the channels that a normalization does not change because the samples that decide about them already fill
/// the range: their extremes for minmax, and for percentile of 8 and 16 bits their percentiles. Other modes have none.
/// Joint normalizations and exceptions are as above.
std::vector<Channel> filled_channels(const Analysis& image, const Normalization& normalization);

/// Writes the copy that the tables make of an image. Both are in host memory; the output follows the rules of
/// `Engine::normalize`, and may be the input if their depth is the same.
///
/// Alpha is copied, and converted to another depth as `NormalizeMode` says. `gray_alpha` uses the table for gray.
/// Excluded samples are mapped like others; call `settle_copy` afterwards. Runs on the CPU, whichever engine analyzes.
/// Throws InvalidArgument for views or tables that break their rules or do not fit together, for pixels on a GPU, and
/// for bands, which have no table.
void apply_luts(const LutSet& tables, const ImageView& image, const MutableImageView& output, int threads = 1,
                Samples samples = Samples::color);

}  // namespace gpuhist
