// Other programs: running them, and the peers that measure directories.
#pragma once

#include <string>
#include <vector>

namespace gpuhist::bench {

/// Runs a program, found by the PATH, to its end, with standard input from a file, its output thrown away and what it
/// says on standard error in a file. Returns its exit code. Throws where it cannot be started or is killed.
int exit_code(const std::vector<std::string>& words, const std::string& input = "/dev/null",
              const std::string& errors = "/dev/null");

/// Program that has ended, and what it took.
struct Ended {
    int exit_code = 0;
    double cpu_ms = 0;  ///< of user and system, all threads
};

/// Runs a program as `exit_code`.
Ended run_program(const std::vector<std::string>& words, const std::string& input = "/dev/null",
                  const std::string& errors = "/dev/null");

/// A way to measure images with what is commonly installed.
struct Peer {
    std::string name;
    std::vector<std::string> words;  ///< the command, to which paths are appended
    std::string missing;             ///< why it cannot run here, or empty
    bool shares_out = false;         ///< it starts processes itself: a directory and their number are appended
};

/// What people use where there is no gpuhist, each with one thread per process: ImageMagick's identify, OpenImageIO's
/// oiiotool and a loop in Python around OpenCV; and CleanVision, if `python` is an interpreter that has it.
std::vector<Peer> directory_peers(const std::string& python);

/// Runs a peer over the files of a directory, as many processes at a time as there are threads. Throws where it fails
/// with one of them.
void measure_with(const Peer& peer, const std::string& directory, int threads, const std::string& list);

}  // namespace gpuhist::bench
