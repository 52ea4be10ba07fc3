#include "run/input_stream.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>

namespace gpuhist::app {

/// Outlives the stream where the thread hangs in a system call, as when it reads a list from a pipe.
struct InputStream::Shared {
    static constexpr std::size_t ahead = 1 << 13;

    std::shared_ptr<InputList> list;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Input> waiting;
    std::vector<std::string> notes;
    io::LeftOut left_out;
    std::exception_ptr failure;
    bool ended = false;
    bool abandoned = false;

    void work() {
        try {
            for (;;) {
                auto input = list->next();
                auto said = list->take_notes();
                std::unique_lock lock(mutex);
                std::move(said.begin(), said.end(), std::back_inserter(notes));
                changed.wait(lock, [&] { return waiting.size() < ahead || abandoned; });
                if (!input || abandoned) break;
                waiting.push_back(std::move(*input));
                if (waiting.size() == 1) changed.notify_all();
            }
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        left_out = list->left_out();
        ended = true;
        changed.notify_all();
    }
};

InputStream::InputStream(std::shared_ptr<InputList> list, std::function<void(const std::string&)> note)
    : shared_(std::make_shared<Shared>()), note_(std::move(note)) {
    shared_->list = std::move(list);
    std::thread([shared = shared_] { shared->work(); }).detach();
}

InputStream::~InputStream() {
    const std::lock_guard lock(shared_->mutex);
    shared_->abandoned = true;
    shared_->changed.notify_all();
}

void InputStream::end() {
    std::unique_lock lock(shared_->mutex);
    shared_->abandoned = true;
    shared_->waiting.clear();  // and with them the memory that the list may wait for
    shared_->changed.notify_all();
    shared_->changed.wait(lock, [this] { return shared_->ended; });
}

std::vector<Input> InputStream::next(std::size_t most, const std::function<bool()>& stopped) {
    std::unique_lock lock(shared_->mutex);
    std::deque<Input>& waiting = shared_->waiting;
    const auto ready = [&] { return !waiting.empty() || shared_->ended; };
    while (!shared_->changed.wait_for(lock, std::chrono::milliseconds(50), ready))
        if (stopped()) return {};
    if (stopped()) return {};
    for (const std::string& note : std::exchange(shared_->notes, {})) note_(note);
    if (waiting.empty() && shared_->failure) std::rethrow_exception(std::exchange(shared_->failure, nullptr));
    std::vector<Input> inputs;
    const bool many = waiting.size() > Shared::ahead / 2;
    for (; inputs.size() < most && !waiting.empty(); waiting.pop_front()) inputs.push_back(std::move(waiting.front()));
    if (many && waiting.size() <= Shared::ahead / 2) shared_->changed.notify_all();
    return inputs;
}

std::pair<std::size_t, bool> InputStream::waiting() const {
    const std::lock_guard lock(shared_->mutex);
    return {shared_->waiting.size(), !shared_->ended};
}

io::LeftOut InputStream::left_out() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->left_out;
}

}  // namespace gpuhist::app
