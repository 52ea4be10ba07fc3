/// `gpuhist gate`: whether the results of a run keep to a policy.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuhist::app {

struct GateOptions {
    std::vector<std::string> directories;  ///< with the results of a run: one
    std::string policy;                    ///< a file
    std::filesystem::path junit;           ///< a report as JUnit XML, if it has a name
    bool github = false;                   ///< annotations of GitHub on standard output
    bool print_policy = false;             ///< and nothing else
    bool force = false;                    ///< a report that gpuhist did not write is replaced
    bool notes = true;
};

/// Checks the rules of the policy, and prints a line for each that is broken. Says on standard error why it cannot.
/// Returns an ExitCode: policy_broken; data_refused where the policy is none, or the directory lacks a table.
int gate(const GateOptions& options);

}  // namespace gpuhist::app
