#include "cli/progress.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <system_error>

namespace gpuhist::app {
namespace {

/// Number in three digits or so, for people.
std::string number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), value < 9.95 ? "%.2f" : value < 99.5 ? "%.1f" : "%.0f", value);
    return text.data();
}

std::string duration(double seconds) {
    if (seconds < 59.5) return number(seconds) + " s";
    std::array<char, 32> text{};
    const auto whole = static_cast<long long>(seconds + 0.5);
    if (whole < 3600)
        std::snprintf(text.data(), text.size(), "%lld:%02lld", whole / 60, whole % 60);
    else
        std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    return text.data();
}

std::string speed(std::uint64_t images, std::uint64_t pixels, double seconds) {
    if (!(seconds > 0)) seconds = 1e-9;
    return number(static_cast<double>(images) / seconds) + " images/s, " +
           number(static_cast<double>(pixels) * 1e-6 / seconds) + " MP/s";
}

/// Stage that kept the others waiting: one that only one thread can work at if that one hardly rested, else the one on
/// which the threads spent most.
std::string limit(const RunSummary& summary) {
    const auto share = [&](Stage stage, int threads) {
        return summary.stages.seconds(stage) / (summary.seconds * threads);
    };
    Stage most = Stage::decode;
    int threads = summary.threads;
    for (const Stage stage : {Stage::memory, Stage::read, Stage::decode, Stage::engine, Stage::analyze, Stage::write})
        if (share(stage, threads) > share(most, threads)) most = stage;
    for (const Stage stage : {Stage::list, Stage::rows})
        if (share(stage, 1) > 0.8) {
            most = stage;
            threads = 1;
        }
    const int percent = static_cast<int>(share(most, threads) * 100 + 0.5);
    return std::string(stage_names.at(static_cast<std::size_t>(most))) + " (" + std::to_string(percent) + " % of " +
           counted(static_cast<std::uint64_t>(threads), "thread") + ")";
}

}  // namespace

/// Count of the shard's inputs. It outlives the progress where a directory takes long to list.
struct Progress::Total {
    std::atomic<std::uint64_t> inputs{0};
    std::atomic<bool> known{false}, end{false};
};

Progress::Progress(Console& console, const Options& options) : console_(console), total_(std::make_shared<Total>()) {
    if (!console.shows_progress()) return;
    std::error_code ignored;
    const auto& paths = options.inputs.files_from;
    if (!paths || std::filesystem::is_regular_file(*paths, ignored))  // what is read of a pipe is gone
        std::thread([total = total_, inputs = options.inputs, output = options.output] {
            try {
                InputList list(inputs, output);
                for (; !total->end; list.take_notes()) {
                    const auto input = list.next();
                    if (!input) break;
                    if (inputs.shard.has(input->index)) ++total->inputs;
                }
                total->known = !total->end;
            } catch (const std::exception&) {  // who reads the list for work says so
            }
        }).detach();
    drawer_ = std::thread([this] {
        const auto start = std::chrono::steady_clock::now();
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, std::chrono::milliseconds(250), [&] { return end_; }))
            console_.show(line(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    });
}

Progress::~Progress() {
    total_->end = true;
    if (!drawer_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        end_ = true;
    }
    ended_.notify_all();
    drawer_.join();
    console_.clear();
}

std::string Progress::line(double seconds) const {
    const std::uint64_t now = done_, done = skipped_ + now, total = total_->inputs, errors = errors_;
    std::string text = std::to_string(done);
    if (total_->known) text.append("/").append(std::to_string(total));
    text.append("  ").append(speed(now, pixels_, seconds));
    if (errors > 0) text.append("  ").append(counted(errors, "error"));
    if (total_->known && now > 0 && total >= done)
        text.append("  ")
            .append(duration(seconds * static_cast<double>(total - done) / static_cast<double>(now)))
            .append(" left");
    return text;
}

std::string summary_text(const RunSummary& summary) {
    std::uint64_t errors = 0;
    std::string kinds;
    for (const auto& [kind, count] : summary.errors) {
        errors += count;
        kinds += (kinds.empty() ? " (" : ", ") + std::to_string(count) + " " + kind;
    }
    std::string engines;
    for (const auto& [name, images] : summary.engines)
        engines += (engines.empty() ? "; " : ", ") + counted(images, "image") + " on " + name;
    return counted(summary.inputs, "input") + ", " + counted(errors, "error") + (kinds.empty() ? "" : kinds + ")") +
           ", " + duration(summary.seconds) + ", " + speed(summary.measured_now, summary.pixels, summary.seconds) +
           engines + "; the limit: " + limit(summary) +
           (summary.left_out.any() ? "; left out: " + to_string(summary.left_out) : "");
}

}  // namespace gpuhist::app
