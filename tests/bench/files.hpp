// Single files, each in a process.
#pragma once

#include <opencv2/core/mat.hpp>

#include "bench/report.hpp"

namespace gpuhist::bench {

/// F1: CPU time of `gpuhist` and of `vips stats`, which finds extremes, sums, mean and std, on files of a
/// photograph.
void run_files(Report& report, const cv::Mat& photograph, const ReportOptions& options);

}  // namespace gpuhist::bench
