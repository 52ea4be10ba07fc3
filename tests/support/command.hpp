// The program as a user runs it, in a directory of its own.
//
// Environment: GPUHIST_PROGRAM, the program.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/codecs.hpp"
#include "support/temporary_directory.hpp"
#include "support/text_files.hpp"

namespace command {

namespace fs = std::filesystem;
using gpuhist::test::read_text, gpuhist::test::write_text;

inline constexpr int all_done = 0, inputs_failed = 1, usage_error = 2, engine_failed = 3, output_failed = 4,
                     policy_broken = 5, data_refused = 65, output_locked = 75, was_interrupted = 130;

inline std::string from_environment(const char* variable) {
    const char* value = std::getenv(variable);
    if (!value || !*value) throw std::runtime_error(std::string(variable) + " is not set");
    return value;
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Standard output of the program goes there; `log` is appended to. The reader of a broken pipe is gone before the
/// program starts.
enum class Out { file, full_device, broken_pipe, closed, terminal, log };

struct Setting {
    Out out = Out::file;
    std::string input = "/dev/null";         ///< becomes standard input
    std::vector<std::string> environment{};  ///< NAME=value, beside LC_ALL=C.UTF-8 and TERM=xterm
    rlim_t largest_file = RLIM_INFINITY;     ///< bytes
    int signal = 0;                          ///< sent
    double after_seconds = 0;                ///< so long after the start,
    std::string after_file{};                ///< or after this file of the directory is there
    bool watched = false;                    ///< standard error is a terminal
    bool nobody = false;                     ///< where the tests run as root, the program does not
};

struct Outcome {
    int code = -1;  ///< or minus the signal that ended it
    std::string out, err;
    double seconds = 0;
    std::int64_t most_memory = 0;  ///< bytes that were resident at most
};

inline void require(bool done, const char* what) {
    if (!done) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

/// Returns the program's side of a new pseudo-terminal.
inline int open_terminal(int& master) {
    master = posix_openpt(O_RDWR | O_NOCTTY);
    require(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0, "pseudo-terminal");
    return open(ptsname(master), O_RDWR | O_NOCTTY);
}

class Command : public testing::Test {
  protected:
    void SetUp() override { fs::create_directory(directory_); }

    fs::path at(const std::string& name) const { return directory_ / name; }

    void save(const std::string& name, const cv::Mat& image) const {
        fs::create_directories(at(name).parent_path());
        gpuhist::test::write_picture(at(name), image);
    }

    cv::Mat load(const std::string& name) const { return gpuhist::test::read_picture(at(name)); }

    /// Every file below a directory but lists of what gpuhist wrote, sorted.
    std::vector<std::string> files_below(const std::string& name) const {
        std::vector<std::string> files;
        if (fs::exists(at(name)))
            for (const auto& entry : fs::recursive_directory_iterator(at(name)))
                if (entry.is_regular_file() && entry.path().filename() != ".gpuhist")
                    files.push_back(fs::relative(entry.path(), at(name)).string());
        std::sort(files.begin(), files.end());
        return files;
    }

    /// Runs the program in the working directory until it ends.
    Outcome run(const std::vector<std::string>& arguments, const Setting& setting = {}) const {
        const std::string program = from_environment("GPUHIST_PROGRAM");
        static std::atomic<int> runs{0};  // which may be at once
        const std::string number = std::to_string(runs++);
        const fs::path out_path = root_ / ("stdout" + number), err_path = root_ / ("stderr" + number);
        std::vector<std::string> words{program};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<std::string> environment{"LC_ALL=C.UTF-8", "TERM=xterm"};
        for (const char* kept :
             {"PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "ASAN_OPTIONS", "TSAN_OPTIONS"})
            if (const char* value = std::getenv(kept)) environment.push_back(std::string(kept) + "=" + value);
        environment.insert(environment.begin(), setting.environment.begin(), setting.environment.end());
        std::vector<char*> argv, envp;
        for (std::string& word : words) argv.push_back(word.data());
        for (std::string& variable : environment) envp.push_back(variable.data());
        argv.push_back(nullptr);
        envp.push_back(nullptr);

        const int in = open(setting.input.c_str(), O_RDONLY);
        int err = open(err_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int out = -1, master = -1;
        switch (setting.out) {
            case Out::file:
                out = open(out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
                break;
            case Out::log:
                out = open(at("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
                break;
            case Out::full_device:
                out = open("/dev/full", O_WRONLY);
                break;
            case Out::closed:
                out = open("/dev/null", O_WRONLY);
                break;
            case Out::broken_pipe: {
                std::array<int, 2> ends{};
                require(pipe(ends.data()) == 0, "pipe");
                close(ends[0]);
                out = ends[1];
                break;
            }
            case Out::terminal:
                out = open_terminal(master);
                break;
        }
        if (setting.watched) {
            close(err);
            err = open_terminal(master);
        }
        require(in >= 0 && out >= 0 && err >= 0, "opening the standard streams");

        malloc_trim(0);  // what the child has before it becomes the program counts as memory of it
        const auto start = std::chrono::steady_clock::now();
        const pid_t child = fork();
        require(child >= 0, "fork");
        if (child == 0) {
            dup2(in, 0);
            dup2(out, 1);
            dup2(err, 2);
            for (const int used : {in, out, err, master})
                if (used > 2) close(used);
            if (setting.out == Out::closed) close(1);
            const rlimit limit{setting.largest_file, setting.largest_file};
            if (chdir(directory_.c_str()) != 0) _exit(126);
            if (setting.largest_file != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(126);
            if (setting.nobody && geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(126);
            execve(argv[0], argv.data(), envp.data());
            _exit(127);
        }
        close(in);
        close(out);
        close(err);
        Outcome outcome;
        if (setting.signal != 0) {
            const auto ended = [&] {
                siginfo_t info{};
                return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
            };
            while (!setting.after_file.empty() && !fs::exists(at(setting.after_file)) && !ended())
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            std::this_thread::sleep_for(std::chrono::duration<double>(setting.after_seconds));
            kill(child, setting.signal);
        }
        if (master >= 0) {  // ends with EIO once the program has closed its side
            std::array<char, 4096> part{};
            for (ssize_t got; (got = read(master, part.data(), part.size())) > 0;)
                (setting.watched ? outcome.err : outcome.out).append(part.data(), static_cast<std::size_t>(got));
            close(master);
        }
        int status = 0;
        rusage usage{};
        require(wait4(child, &status, 0, &usage) == child, "wait4");
        outcome.most_memory = std::int64_t{usage.ru_maxrss} * 1024;
        outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        if (setting.out == Out::file) outcome.out = read_text(out_path);
        if (!setting.watched) outcome.err = read_text(err_path);
        fs::remove(out_path);
        fs::remove(err_path);
        return outcome;
    }

    const gpuhist::test::TemporaryDirectory temporary_;
    const fs::path root_ = temporary_.path(), directory_ = root_ / "folder";
};

/// Reproducible pixels with structure and noise, from integers alone, so that expected outputs hold everywhere.
inline cv::Mat make_image(int width, int height, int type) {
    cv::Mat image(height, width, type);
    std::uint32_t state = 1;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < image.channels(); ++c) {
                state = state * 1664525u + 1013904223u;
                const std::uint32_t noise = state >> 28;
                const std::uint32_t value = static_cast<std::uint32_t>(x * (3 + c) + y * 2) % 200 + noise + 20u;
                const int i = x * image.channels() + c;
                switch (image.depth()) {
                    case CV_8U:
                        image.ptr<std::uint8_t>(y)[i] = static_cast<std::uint8_t>(value);
                        break;
                    case CV_16U:
                        image.ptr<std::uint16_t>(y)[i] = static_cast<std::uint16_t>(value * 211);
                        break;
                    default:
                        image.ptr<float>(y)[i] = static_cast<float>(value) / 128 - 0.5f;
                }
            }
    return image;
}

}  // namespace command
