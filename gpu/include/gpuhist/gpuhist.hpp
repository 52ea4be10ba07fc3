/// gpuhist measures images: histograms, statistics, normalised copies. This header brings the whole library.
#pragma once

#include "gpuhist/analysis.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/lut.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/pinned_memory.hpp"
#include "gpuhist/reduce.hpp"
#include "gpuhist/regions.hpp"
#include "gpuhist/request.hpp"
#include "gpuhist/statistics.hpp"
#include "gpuhist/stream.hpp"
