#include "bench/report.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <opencv2/core/version.hpp>
#include <stdexcept>
#include <thread>
#ifdef GPUHIST_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace gpuhist::bench {
namespace {

template <class... Arguments>
std::string print(const char* format, Arguments... arguments) {
    std::array<char, 512> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, arguments...);
    return buffer.data();
}

std::string time_text(double ms) {
    return ms < 1 ? print("%.1f us", ms * 1e3) : ms < 1000 ? print("%.3f ms", ms) : print("%.3f s", ms * 1e-3);
}

/// Fills up to `width` characters; printf counts bytes, and names may hold others than ASCII.
std::string padded(const std::string& text, std::size_t width) {
    const auto characters = static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
    return text + std::string(characters < width ? width - characters : 0, ' ');
}

std::string quoted(const std::string& field) {
    if (field.find_first_of(",\"\n") == field.npos) return field;
    std::string result = "\"";
    for (char c : field) result += c == '"' ? "\"\"" : std::string(1, c);
    return result + '"';
}

/// The value after the last `key` of a file such as /proc/cpuinfo has it, or empty.
std::string value_in(const char* path, const std::string& key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.rfind(key, 0) == 0 && line.find(':') + 2 < line.size()) return line.substr(line.find(':') + 2);
    return "";
}

#ifdef GPUHIST_HAS_CUDA
/// 580.65.06, of the kernel module; empty where the kernel does not say.
std::string driver_version() {
    std::ifstream file("/sys/module/nvidia/version");
    std::string version;
    if (std::getline(file, version)) return version;
    std::ifstream text("/proc/driver/nvidia/version");
    while (text >> version)
        if (version.find_first_not_of("0123456789.") == version.npos && version.find('.') != version.npos)
            return version;
    return "";
}

void add_gpu(std::vector<std::pair<std::string, std::string>>& lines, int gpu) {
    cudaDeviceProp properties{};
    int runtime = 0, driver = 0;
    for (const cudaError_t status :
         {cudaGetDeviceProperties(&properties, gpu), cudaRuntimeGetVersion(&runtime), cudaDriverGetVersion(&driver)})
        if (status != cudaSuccess)
            throw std::runtime_error("GPU " + std::to_string(gpu) + " cannot be used: " + cudaGetErrorString(status));
    lines.emplace_back("GPU",
                       print("%s, %d SMs, L2 %d MB, %.0f GiB", properties.name, properties.multiProcessorCount,
                             properties.l2CacheSize >> 20, static_cast<double>(properties.totalGlobalMem) / (1 << 30)));
    const std::string version = driver_version();
    lines.emplace_back("driver", (version.empty() ? "" : version + ", ") +
                                     print("up to CUDA %d.%d", driver / 1000, driver % 1000 / 10));
    lines.emplace_back("CUDA", print("runtime %d.%d", runtime / 1000, runtime % 1000 / 10));
}
#endif

bool is_met(const Measurement& m, double ceiling) {
    const double found = m.target->of == Target::Of::relative  ? m.relative.value_or(Relative{}).value
                         : m.target->of == Target::Of::ceiling ? m.gb_per_s() / ceiling
                                                               : m.timing.median_ms * 1e3;
    return m.target->at_most ? found <= m.target->value : found >= m.target->value;
}

const char* target_of(const Measurement& m) {
    switch (m.target->of) {
        case Target::Of::relative:
            return "relative";
        case Target::Of::ceiling:
            return "ceiling";
        default:
            return "microseconds";
    }
}

/// "target 0.97 of sweep: met"
std::string target_text(const Measurement& m, const std::string& ceiling, bool met) {
    const std::string wanted = m.target->of == Target::Of::relative
                                   ? print("%.2f ", m.target->value) + m.relative.value_or(Relative{}).to
                               : m.target->of == Target::Of::ceiling ? print("%.2f of ", m.target->value) + ceiling
                                                                     : print("%.0f us", m.target->value);
    return (m.target->at_most ? "at most " : "at least ") + wanted + (met ? ": met" : ": MISSED");
}

}  // namespace

void bind_report_options(CLI::App& command, ReportOptions& options) {
    // Known before anything is measured, rather than when all is done.
    const auto has_directory = [](const std::string& path) -> std::string {
        const auto directory = std::filesystem::path(path).parent_path();
        return directory.empty() || std::filesystem::is_directory(directory)
                   ? ""
                   : "there is no directory " + directory.string();
    };
    command.add_option("--csv", options.csv, "write the table to this file too")->check(has_directory);
    command.add_option("--image", options.image, "the user's own picture, for what is called `natural`")
        ->check(CLI::ExistingFile);
    command.add_option("--only", options.only, "only cases with this in their names, such as K2");
    command.add_option("--repetitions", options.repetitions, "timings of each case, of which the median is reported")
        ->check(CLI::Range(3, 10000))
        ->capture_default_str();
}

void bind_gpu_options(CLI::App& command, ReportOptions& options) {
    command.add_option("--gpu", options.gpu, "which GPU")->check(CLI::NonNegativeNumber)->capture_default_str();
    command.add_option("--bytes", options.bytes, "of a large image's pixels; at least 256 MiB")
        ->check(CLI::Range(std::int64_t{256} << 20, std::int64_t{1} << 40))
        ->capture_default_str();
    command
        .add_option("--pause", options.pause_ms,
                    "milliseconds of rest before each timing, so that its power limit does not slow it")
        ->check(CLI::Range(0, 1000))
        ->capture_default_str();
}

void require_release() {
#if !defined(NDEBUG) || !defined(__OPTIMIZE__)
    throw std::runtime_error(
        "this is a build for debugging, and its times mean nothing: "
        "measure with -DCMAKE_BUILD_TYPE=Release");
#endif
}

std::vector<std::pair<std::string, std::string>> machine(int gpu) {
    std::vector<std::pair<std::string, std::string>> lines;
#ifdef GPUHIST_HAS_CUDA
    if (gpu >= 0) add_gpu(lines, gpu);
#else
    (void)gpu;
#endif
    std::string processor = value_in("/proc/cpuinfo", "model name");
    if (processor.empty()) processor = "unknown";
    lines.emplace_back("processor",
                       processor + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads");
    std::string compiler = __VERSION__;
#ifndef __clang__
    compiler = "GCC " + compiler;
#endif
    lines.emplace_back("compiler", compiler);
    lines.emplace_back("OpenCV", CV_VERSION);
    std::array<char, 32> date{};
    const std::time_t now = std::time(nullptr);
    std::strftime(date.data(), date.size(), "%Y-%m-%d", std::gmtime(&now));
    lines.emplace_back("date", date.data());
    return lines;
}

std::string machine_text(int gpu) {
    std::string text;
    for (const auto& [name, value] : machine(gpu)) text += padded(name, 11) + value + "\n";
    return text;
}

Report::Report(const std::string& title, const ReportOptions& options, int gpu) : options_(options) {
    require_release();
    machine_ = machine(gpu);
    std::printf("%s\n\n", title.c_str());
    for (const auto& [name, value] : machine_) std::printf("%s%s\n", padded(name, 11).c_str(), value.c_str());
    std::printf("\n");
    std::fflush(stdout);
    if (options_.csv.empty()) return;
    csv_.open(options_.csv);
    if (!csv_) throw std::runtime_error(options_.csv + ": cannot be written");
    csv_ << "group,case,content,tool,bytes,gb_per_s,ceiling,percent_of_ceiling,median_ms,spread_percent,relative,"
            "relative_to,target,met,note,skipped,machine,date,target_of\n";
}

Report::~Report() = default;

void Report::set_ceiling(const std::string& name, double gb_per_s) {
    ceilings_.emplace_back(name, gb_per_s);
}

void Report::heading(const std::string& group, const std::string& name) {
    if (!header_printed_) {
        const std::string share = ceilings_.empty() ? "relative" : "of " + ceilings_.front().first;
        std::printf("    %-12s %-14s %9s %22s %12s %8s  target\n", "content", "tool", "GB/s", share.c_str(), "time",
                    "spread");
        header_printed_ = true;
    }
    const std::string text = group.empty() ? name : group + "  " + name;
    if (text == last_heading_) return;
    std::printf("%s\n", text.c_str());
    last_heading_ = text;
    last_content_.clear();
}

void Report::row(const std::string& content, const std::string& tool, const std::string& rest) {
    const std::string shown = content == last_content_ ? "" : content;
    last_content_ = content;
    std::printf("    %s %s %s\n", padded(shown, 12).c_str(), padded(tool, 14).c_str(), rest.c_str());
    std::fflush(stdout);
}

void Report::add(const Measurement& m) {
    heading(m.group, m.name);
    const std::string ceiling_name = ceilings_.empty() ? "" : ceilings_.front().first;
    const bool has_share = m.bytes > 0 && !ceilings_.empty();
    const double share = has_share ? m.gb_per_s() / ceiling() : 0;
    const bool met = m.target && is_met(m, ceiling());
    if (m.target) {
        ++targets_;
        met_ += met;
    }
    const std::string rate = m.bytes > 0 ? print(m.gb_per_s() < 100 ? "%.2f" : "%.0f", m.gb_per_s()) : "";
    const std::string relation = m.relative  ? print("%.2f ", m.relative->value) + m.relative->to
                                 : has_share ? print("%.1f %%", 100 * share)
                                             : "";
    std::string remarks = m.target ? target_text(m, ceiling_name, met) : "";
    if (!m.note.empty()) remarks += (remarks.empty() ? "" : "; ") + m.note;
    row(m.content, m.tool,
        print("%9s %22s %12s %6.1f %%", rate.c_str(), relation.c_str(), time_text(m.timing.median_ms).c_str(),
              m.timing.spread_percent) +
            (remarks.empty() ? "" : "  " + remarks));

    if (csv_.is_open()) {
        csv_ << quoted(m.group) << ',' << quoted(m.name) << ',' << quoted(m.content) << ',' << quoted(m.tool) << ','
             << print("%.0f", m.bytes) << ',' << (m.bytes > 0 ? print("%.4f", m.gb_per_s()) : "") << ','
             << (has_share ? quoted(ceiling_name) : "") << ',' << (has_share ? print("%.3f", 100 * share) : "") << ','
             << print("%.7f,%.3f,", m.timing.median_ms, m.timing.spread_percent)
             << (m.relative ? print("%.4f", m.relative->value) : "") << ','
             << (m.relative ? quoted(m.relative->to) : "") << ',' << (m.target ? print("%g", m.target->value) : "")
             << ',' << (m.target ? met ? "yes" : "no" : "") << ',' << quoted(m.note) << ",,"
             << quoted(machine_.front().second) << ',' << machine_.back().second << ','
             << (m.target ? target_of(m) : "") << std::endl;  // flushed: a run that is broken off leaves its rows
    }
}

void Report::skip(const Skipped& s) {
    heading(s.group, s.name);
    row(s.content, s.tool, "skipped: " + s.reason);
    if (csv_.is_open())
        csv_ << quoted(s.group) << ',' << quoted(s.name) << ',' << quoted(s.content) << ',' << quoted(s.tool)
             << ",,,,,,,,,,,," << quoted(s.reason) << ',' << quoted(machine_.front().second) << ','
             << machine_.back().second << ',' << std::endl;
}

void Report::say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    last_heading_.clear();
}

void Report::finish() {
    if (targets_) std::printf("\n%d of %d targets met\n", met_, targets_);
    std::fflush(stdout);
    if (csv_.is_open()) {
        csv_.close();
        if (!csv_) throw std::runtime_error(options_.csv + ": cannot be written");
        std::printf("wrote %s\n", options_.csv.c_str());
    }
}

}  // namespace gpuhist::bench
