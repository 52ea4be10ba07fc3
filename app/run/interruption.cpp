#include "run/interruption.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <string>
#include <thread>

#include "run/options.hpp"

namespace gpuhist::app {
namespace {

std::atomic<bool> noted{false};  // without a lock, so a handler may set it

void note(int) {
    noted = true;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
}

}  // namespace

void watch_for_interruption() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;  // nohup
        action = {};
        action.sa_handler = note;
        action.sa_flags = SA_RESTART;
        sigaction(signal, &action, nullptr);
    }
}

void watch_parent() {
    const pid_t parent = getppid();
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, parent, 0));
    // A parent that has ended leaves its child to another process.
    const bool ended = (descriptor < 0 && errno == ESRCH) || getppid() != parent;
    if (descriptor < 0 && !ended) {
        const int error = errno;
        throw UsageError("--die-with-parent: the parent process cannot be watched: " +
                         std::string(parent == 0       ? "it is in another PID namespace"
                                     : error == ENOSYS ? "this system has no pidfd_open, which came with Linux 5.3"
                                                       : std::strerror(error)));
    }
    std::thread([descriptor, ended] {
        pollfd watched{descriptor, POLLIN, 0};
        while (!ended && poll(&watched, 1, -1) < 0 && errno == EINTR) continue;
        // A second signal would end the process at once.
        if (!noted.exchange(true)) kill(getpid(), SIGTERM);
    }).detach();
}

bool interrupted() {
    return noted;
}

void end_if_interrupted() {
    if (interrupted()) throw Interrupted{};
}

}  // namespace gpuhist::app
