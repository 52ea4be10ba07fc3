// Modes of NormalizeKind::exact, each from its file.
#pragma once

#include "core/portable.hpp"
#include "normalize/equalize.hpp"
#include "normalize/minmax.hpp"
#include "normalize/percentile.hpp"
#include "normalize/zscore.hpp"

namespace gpuhist::core {

/// Dispatch on an exact mode: calls `function` with a value of its struct, and returns its result.
#ifdef __CUDACC__
#pragma nv_exec_check_disable
#endif
template <class Function>
GPUHIST_HD constexpr decltype(auto) with_mode(NormalizeMode mode, Function&& function) {
    switch (mode) {
        case NormalizeMode::minmax:
            return function(MinmaxMode{});
        case NormalizeMode::percentile:
            return function(PercentileMode{});
        case NormalizeMode::equalize:
            return function(EqualizeMode{});
        case NormalizeMode::zscore:
            return function(ZscoreMode{});
        default:
            break;
    }
    __builtin_unreachable();
}

}  // namespace gpuhist::core
