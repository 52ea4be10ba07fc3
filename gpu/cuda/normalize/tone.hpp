// Normalized copies by curves, and of u8 and u16 in another depth than that of the mode, by launches behind the
// analysis. Plain C++.
#pragma once

#include "cuda/normalize/valid_copy.hpp"
#include "normalize/curves/facts.hpp"

namespace gpuhist::cuda {

/// Facts of a mode: of its row in the table of modes, which lies on the host.
struct ToneTraits {
    bool curve, by_luma, per_color, real;

    explicit ToneTraits(NormalizeMode mode)
        : curve(traits_of(mode).kind == NormalizeKind::curve),
          by_luma(traits_of(mode).joint_by_luma),
          per_color(traits_of(mode).per_color),
          real(traits_of(mode).real) {}
};

/// Tables of an image of u8 or u16, by the findings of its valid samples.
struct ToneTables {
    Common common;                ///< of its result, with the normalization
    ToneTraits traits;            ///< of the mode
    core::CurveParameters curve;  ///< if the mode is a curve
    bool has_alpha;               ///< a table of alpha follows those of the colors: values as they are
};

/// Enqueues the building of the tables from the counts of a result, which is then `ready`. `each` and `arrived`: see
/// launch_valid_luts. Throws CudaError; does not synchronize.
void launch_tone_luts(const ToneTables& tables, int channels, std::uint32_t each, std::uint32_t* arrived,
                      const Launch& launch);

/// Enqueues the copy of an image of f32 by a curve, behind the launches that have written its result and have left the
/// values at the ranks of a stretch in the workspace. Likewise.
template <int C>
void launch_tone_f32(const ValidCopy& copy, const core::CurveParameters& curve, void* workspace, const Launch& launch);

}  // namespace gpuhist::cuda
