/// Numbers of a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gpuhist/io/walk.hpp"
#include "run/stages.hpp"

namespace gpuhist::app {

/// Inputs and errors of a run, its time, and where that went.
struct RunSummary {
    std::uint64_t inputs = 0, images = 0;          ///< of the shard; those of a run that this one resumed included
    std::uint64_t measured_now = 0, pixels = 0;    ///< without these; pixels: width × height
    std::map<std::string, std::uint64_t> errors;   ///< by kind
    std::map<std::string, std::uint64_t> engines;  ///< images that each has measured now
    io::LeftOut left_out;                          ///< of directories, if all were listed
    double seconds = 0;
    int threads = 1;
    StageTimes stages;
};

}  // namespace gpuhist::app
