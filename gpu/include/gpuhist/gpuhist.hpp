/// gpuhist measures images: histograms, statistics, normalised copies. This header brings the whole library.
#pragma once

#include "gpuhist/analysis.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/image_view.hpp"
#include "gpuhist/normalization.hpp"
#include "gpuhist/pinned_pool.hpp"
#include "gpuhist/pool.hpp"
#include "gpuhist/statistics.hpp"
#include "gpuhist/stream.hpp"
#include "gpuhist/tables.hpp"
#include "gpuhist/value_counts.hpp"
