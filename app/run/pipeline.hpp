/// A run: inputs in, results out.
#pragma once

#include "run/engine_pool.hpp"
#include "run/exit_code.hpp"
#include "run/jpeg_pool.hpp"
#include "run/options.hpp"
#include "run/run_summary.hpp"

namespace gpuhist::app {

/// Measures the inputs. Prints results on standard output, and failures, each with its file and cause, on standard
/// error. Returns an ExitCode. `summary` receives a summary of the run if it is not null. `make` makes the engines, and
/// `make_jpegs` the decoders on a GPU.
int run(const Options& options, RunSummary* summary = nullptr, const EngineFactory& make = make_engine,
        const JpegFactory& make_jpegs = make_jpeg_lane);

}  // namespace gpuhist::app
