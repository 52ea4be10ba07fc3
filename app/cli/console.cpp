#include "cli/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/table.hpp"

namespace gpuhist::app {
namespace {

bool can_redraw() {
    const char* terminal = std::getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && std::strcmp(terminal, "dumb") != 0;
}

std::size_t terminal_columns() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Console::Console(bool quiet)
    : quiet_(quiet), progress_(!quiet && can_redraw()), output_is_terminal_(isatty(STDOUT_FILENO) != 0) {}

Console::~Console() {
    clear();
}

void Console::erase_line() {
    if (drawn_) std::fputs("\r\033[K", stderr);
    drawn_ = false;
}

void Console::say(const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (message == said_) return;
    said_ = message;
    erase_line();
    std::fprintf(stderr, "gpuhist: %s\n", printable(message).c_str());
}

void Console::note(const std::string& message) {
    if (!quiet_) say(message);
}

void Console::print(const std::string& text) {
    if (closed_ || failed_) return;
    int error = 0;
    {
        const std::lock_guard lock(mutex_);
        if (output_is_terminal_) erase_line();
        if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
        error = errno;
        closed_ = error == EPIPE;  // no failure
        failed_ = !closed_;
    }
    if (failed_) say(std::string("standard output: ") + std::strerror(error));
}

void Console::print_rows(const std::string& text) {
    if (!output_is_terminal_) return print(text);
    std::string lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines += printable(std::string_view(text).substr(at, end - at));
        if (end < text.size()) lines += '\n';
        at = end + 1;
    }
    print(lines);
}

void Console::show(const std::string& progress_line) {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    erase_line();
    std::fputs(progress_line.substr(0, terminal_columns() - 1).c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
}

void Console::clear() {
    const std::lock_guard lock(mutex_);
    erase_line();
}

std::string counted(std::uint64_t count, const char* one) {
    return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace gpuhist::app
