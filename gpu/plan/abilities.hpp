// Abilities: the work that each backend does by itself, in one table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "gpuhist/image.hpp"
#include "gpuhist/measures.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::plan {

/// Set of depths.
class DepthSet {
  public:
    constexpr DepthSet(std::initializer_list<Depth> depths) {
        for (const Depth depth : depths) bits_ |= bit(depth);
    }
    /// Makes the set of the depths for whose row in the table `verdict` is true.
    template <class Verdict>
    static constexpr DepthSet where(Verdict verdict) {
        DepthSet set({});
        for (const DepthTraits& traits : all_depths)
            if (verdict(traits)) set.bits_ |= bit(traits.depth);
        return set;
    }
    constexpr bool has(Depth depth) const { return (bits_ & bit(depth)) != 0; }

  private:
    static constexpr std::uint32_t bit(Depth depth) { return std::uint32_t{1} << static_cast<unsigned>(depth); }
    std::uint32_t bits_ = 0;
};

inline constexpr DepthSet every_depth = DepthSet::where([](const DepthTraits&) { return true; });
inline constexpr DepthSet not_sorted =
    DepthSet::where([](const DepthTraits& of) { return of.counting != Counting::sorted; });
inline constexpr DepthSet not_in_bins =
    DepthSet::where([](const DepthTraits& of) { return of.counting != Counting::bins; });
/// Masked samples that are sorted become the highest code, which means NaN in floats.
inline constexpr DepthSet not_sorted_floats =
    DepthSet::where([](const DepthTraits& of) { return of.counting != Counting::sorted || !of.floating; });

/// Tiles of clahe for which a GPU has memory.
inline constexpr int most_clahe_tiles_of_gpu = 256;

/// Integers of 8 and 16 bits.
inline constexpr DepthSet narrow_integers =
    DepthSet::where([](const DepthTraits& of) { return of.counting == Counting::values && !of.floating; });

/// Abilities of a backend: a row of the table. For images in host memory, the CPU does everything else.
struct Abilities {
    const char* name;    ///< as messages call it
    DepthSet measures;   ///< depths that it measures
    DepthSet masks;      ///< depths whose masked pixels it leaves out
    DepthSet copies;     ///< depths of which it writes normalized copies
    DepthSet in_strips;  ///< depths that it counts strip by strip, or whose strips merge
    DepthSet weighs;     ///< depths whose samples it weighs where they lie in device memory
    Measures finds;      ///< measures that it finds: see found_by
    DepthSet finds_in;   ///< depths in whose pixels it finds them
    bool finds_whole;    ///< it finds those of pixels in whole images alone, which aren't reduced
    bool sorts_all;      ///< it sorts samples of 8 and 16 bits too, less work where pixels are few
    bool device_memory;  ///< it reads images there, and applies rules to them
    bool from_findings;  ///< it writes copies there from findings that the CPU has

    /// Returns whether the backend writes copies of a depth in device memory from findings that the CPU has.
    bool writes_from_findings(Depth depth, const Normalization& copy) const {
        const DepthTraits& traits = traits_of(depth);
        switch (traits_of(copy.mode).kind) {
            case NormalizeKind::exact:
                return from_findings && traits.counting == Counting::values;
            case NormalizeKind::curve:
                return from_findings && !(needs_places(copy) && traits.floating);
            case NormalizeKind::place:
                break;
        }
        return from_findings;
    }
    /// Returns whether the backend writes copies of a depth in the depth of their mode itself. A GPU writes those of
    /// exact modes, of curves that follow from few numbers, and by clahe if all samples are valid.
    bool writes_own(Depth depth, const Normalization& copy) const {
        if (!copies.has(depth)) return false;
        if (!device_memory || traits_of(copy.mode).kind == NormalizeKind::exact) return true;
        if (copy.mode == NormalizeMode::clahe)
            return depth == Depth::u8 && copy.tiles_x * copy.tiles_y <= most_clahe_tiles_of_gpu;
        return !needs_places(copy) && needs_of(copy) != NormalizeNeeds::counts;
    }
    /// As above, in the depth of the normalization. A GPU also converts between the depths of its copies, and the CPU
    /// writes curves in every depth.
    bool writes(Depth depth, const Normalization& copy) const {
        const Depth to = normalized_depth(depth, copy);
        return writes_own(depth, copy) &&
               (to == normalized_depth(depth, copy.mode) ||
                (device_memory ? copies.has(to) : traits_of(copy.mode).kind == NormalizeKind::curve));
    }
};

inline constexpr Abilities cpu_abilities{
    "engine cpu",        every_depth, every_depth, every_depth, every_depth, {},
    Measures::quality(), every_depth, false,       false,       false,       false};
/// The CPU as it measures regions, most of which have fewer pixels than their type has values.
inline constexpr Abilities region_abilities{"engine cpu", every_depth, every_depth, every_depth, every_depth, {},
                                            {},           {},          false,       true,        false,       false};
inline constexpr Abilities cuda_abilities{"engine cuda",
                                          every_depth,
                                          not_sorted_floats,
                                          {Depth::u8, Depth::u16, Depth::f32},
                                          not_in_bins,
                                          narrow_integers,
                                          Measures::quality().without(Measures::of(Measure::hashes)),
                                          narrow_integers,
                                          true,
                                          false,
                                          true,
                                          true};
inline constexpr Abilities stream_abilities{"stream analyzer",
                                            not_sorted,
                                            not_sorted,
                                            {Depth::u8, Depth::u16, Depth::f32},
                                            {},
                                            narrow_integers,
                                            {},
                                            {},
                                            false,
                                            false,
                                            true,
                                            false};
inline constexpr DepthSet depths_of_region_kernels{Depth::u8,  Depth::s8,  Depth::u16, Depth::s16, Depth::u32,
                                                   Depth::s32, Depth::f16, Depth::f32, Depth::f64};
inline constexpr Abilities region_stream_abilities{"stream analyzer of regions",
                                                   depths_of_region_kernels,
                                                   depths_of_region_kernels,
                                                   {},
                                                   {},
                                                   narrow_integers,
                                                   {},
                                                   {},
                                                   false,
                                                   true,
                                                   true,
                                                   false};

/// Statistics of a region that StreamRegionAnalyzer finds, by their names in Statistics::for_each_field.
inline constexpr std::string_view region_statistics_of_gpu[] = {"channel",
                                                                "pixels",
                                                                "masked",
                                                                "nodata",
                                                                "nan",
                                                                "inf",
                                                                "min",
                                                                "max",
                                                                "mean",
                                                                "std",
                                                                "percentiles",
                                                                "weight",
                                                                "weighted_percentiles"};

/// Returns whether the CPU measures the regions of a label image, whichever engine measures images. A GPU does if it
/// finds all statistics, because `regions.csv` has a column for each, and sets of regions are made from their counts.
constexpr bool regions_on_host() {
    bool all = true;
    Statistics::for_each_field([&](const char* name, auto) {
        all = all && std::find(std::begin(region_statistics_of_gpu), std::end(region_statistics_of_gpu),
                               std::string_view(name)) != std::end(region_statistics_of_gpu);
    });
    return !all;
}

}  // namespace gpuhist::plan
