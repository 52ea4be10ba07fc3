#include "run/interruption.hpp"

#include <atomic>
#include <csignal>
#include <initializer_list>

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

bool interrupted() {
    return noted;
}

void end_if_interrupted() {
    if (interrupted()) throw Interrupted{};
}

}  // namespace gpuhist::app
