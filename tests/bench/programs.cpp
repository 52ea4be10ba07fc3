#include "bench/programs.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "gpuhist/io/walk.hpp"

namespace gpuhist::bench {
namespace {

/// The histogram, mean and standard deviation of each channel and of the luma, as gpuhist finds them among others.
constexpr char opencv_loop[] = R"(
import sys, cv2
cv2.setNumThreads(1)
for path in sys.argv[1:]:
    image = cv2.imread(path, cv2.IMREAD_UNCHANGED)
    gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY) if image.ndim == 3 else image
    bins, limit = (65536, 65536) if image.dtype == 'uint16' else (256, 256)
    for channel in range(image.shape[2] if image.ndim == 3 else 0):
        cv2.calcHist([image], [channel], None, [bins], [0, limit])
    cv2.meanStdDev(image)
    cv2.calcHist([gray], [0], None, [bins], [0, limit])
    cv2.meanStdDev(gray)
)";

/// All checks of CleanVision, which finds what flags.csv has, in processes of its own.
constexpr char cleanvision[] = R"(
import sys
from cleanvision import Imagelab
Imagelab(data_path=sys.argv[1]).find_issues(n_jobs=int(sys.argv[2]), verbose=False)
)";

bool runs(const std::vector<std::string>& words) {
    try {
        return exit_code(words) == 0;
    } catch (const std::exception&) {
        return false;
    }
}

/// The interpreter that knows OpenCV: that of the PATH, or else the system's.
std::string python_with_opencv() {
    for (const char* python : {"python3", "/usr/bin/python3"})
        if (runs({python, "-c", "import cv2"})) return python;
    return {};
}

}  // namespace

Ended run_program(const std::vector<std::string>& words, const std::string& input, const std::string& errors) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) throw std::system_error(error, std::generic_category(), words[0]);
    int status = 0;
    rusage used{};
    if (wait4(child, &status, 0, &used) != child || !WIFEXITED(status))
        throw std::runtime_error(words[0] + ": was ended (status " + std::to_string(status) + ")");
    const auto ms = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) * 1e-3;
    };
    return {WEXITSTATUS(status), ms(used.ru_utime) + ms(used.ru_stime)};
}

int exit_code(const std::vector<std::string>& words, const std::string& input, const std::string& errors) {
    return run_program(words, input, errors).exit_code;
}

std::vector<Peer> directory_peers(const std::string& python_with_cleanvision) {
    std::vector<Peer> peers{
        {"identify -verbose", {"env", "OMP_NUM_THREADS=1", "MAGICK_THREAD_LIMIT=1", "identify", "-verbose"}, {}},
        {"oiiotool --stats", {"oiiotool", "--threads", "1", "--stats"}, {}}};
    if (!runs({"identify", "-version"})) peers[0].missing = "not installed (Debian: imagemagick)";
    if (!runs({"oiiotool", "--help"})) peers[1].missing = "not installed (Debian: openimageio-tools)";
    const std::string python = python_with_opencv();
    peers.push_back({"OpenCV in Python", {python, "-c", opencv_loop}, {}});
    if (python.empty()) peers.back().missing = "not installed (Debian: python3-opencv)";
    peers.push_back({"CleanVision", {python_with_cleanvision, "-c", cleanvision}, {}, true});
    if (python_with_cleanvision.empty() || !runs({python_with_cleanvision, "-c", "import cleanvision"}))
        peers.back().missing = "not installed (PyPI: cleanvision; --python names the interpreter that has it)";
    return peers;
}

void measure_with(const Peer& peer, const std::string& directory, int threads, const std::string& list) {
    if (peer.shares_out) {
        std::vector<std::string> words = peer.words;
        words.insert(words.end(), {directory, std::to_string(threads)});
        if (const int code = exit_code(words); code != 0)
            throw std::runtime_error("fails (exit code " + std::to_string(code) + ")");
        return;
    }
    const auto paths = io::list_images(directory);
    std::ofstream file(list, std::ios::binary);
    for (const auto& path : paths) file << path.string() << '\0';
    file.close();
    if (!file) throw std::runtime_error(list + ": cannot be written");
    // An equal share for each process, so that starting it counts little; more shares where they become large.
    const auto processes = static_cast<std::size_t>(threads);
    const std::size_t share = std::clamp<std::size_t>((paths.size() + processes - 1) / processes, 1, 64);
    std::vector<std::string> words{"xargs", "-0", "-P", std::to_string(threads), "-n", std::to_string(share)};
    words.insert(words.end(), peer.words.begin(), peer.words.end());
    if (const int code = exit_code(words, list); code != 0)
        throw std::runtime_error("fails with some of the images (exit code " + std::to_string(code) + " of xargs)");
}

}  // namespace gpuhist::bench
