/// Summaries: many images as one, as Python holds them.
#pragma once

#include <mutex>
#include <utility>

#include "gpuhist/dataset.hpp"

namespace gpuhist::python {

/// Summary that several threads may add to.
struct SharedSummary {
    mutable std::mutex mutex;
    Summary summary;

    Summary copy() const {
        const std::lock_guard lock(mutex);
        return summary;
    }
    void set(Summary next) {
        const std::lock_guard lock(mutex);
        summary = std::move(next);
    }
};

}  // namespace gpuhist::python
