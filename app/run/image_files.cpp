#include "run/image_files.hpp"

#include <future>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

}  // namespace

void make_directories(const fs::path& directory) {
    std::error_code failure;
    fs::create_directories(directory, failure);
    if (failure)
        throw IoError(directory.string() + ": cannot make this directory: " + failure.message(),
                      failure == std::errc::no_space_on_device ? IoError::Kind::no_space : IoError::Kind::other);
}

/// Runs one writer. Returns what goes wrong, absent where nothing does.
std::optional<Failure> ImageFiles::attempt(const fs::path& path, const std::function<void()>& writer) const {
    try {
        writer();
        return std::nullopt;
    } catch (const IoError& error) {
        const bool full = error.kind() == IoError::Kind::no_space;
        return Failure{full ? word(error.kind()) : "output", error.what()};
    } catch (...) {
        return Failure{"output", current_failure(path.string()).message};
    }
}

std::vector<std::string> ImageFiles::write(Outcome& outcome, const Writes& writes, const Histogram& histogram,
                                           const cv::Mat& normalized, Samples samples) const {
    if (!writes.histogram && !writes.plot && !writes.normalized) return {};
    const Input& input = outcome.input;
    const std::string stem = (options_.output / input.output_name).string();
    std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> files;
    if (writes.histogram)
        files.emplace_back(".histogram.csv",
                           [&](const fs::path& path) { io::write_file(path, io::histogram_csv(histogram)); });
    if (writes.plot)
        files.emplace_back(".histogram.png", [&](const fs::path& path) {
            io::PlotOptions plot;
            plot.log_counts = options_.log_counts;
            plot.title = printable(input.standard_input ? "standard input" : input.output_name);
            io::write_image(path, io::plot_histogram(histogram, outcome.result.rows, plot));
        });
    if (writes.normalized)
        files.emplace_back(std::string(".normalized") + io::lossless_extension(io::view(normalized).depth, samples),
                           [&](const fs::path& path) { io::write_image(path, normalized, samples); });
    const auto failed = [&](const std::optional<Failure>& failure) {
        if (!failure) return false;
        if (failure->kind == word(IoError::Kind::no_space) && !single_)
            outcome.end = failure;
        else
            outcome.not_written.push_back(*failure);
        return true;
    };
    const fs::path directory = fs::path(stem).parent_path();
    if (failed(attempt(directory, [&] { make_directories(directory); }))) return {};
    // The files of an image that is alone have a thread each but the last, which has this one: encoding takes longer
    // than all else.
    std::vector<std::pair<std::string, std::future<std::optional<Failure>>>> pending;
    for (auto& [suffix, writer] : files) {
        const bool own = !single_ || &suffix == &files.back().first;
        pending.emplace_back(suffix, std::async(own ? std::launch::deferred : std::launch::async,
                                                [this, path = fs::path(stem + suffix), &writer = writer] {
                                                    return attempt(path, [&] {
                                                        if (inputs_->includes(path))
                                                            throw IoError(path.string() +
                                                                          ": not written, it is one of the inputs; "
                                                                          "name another --output");
                                                        writer(path);
                                                    });
                                                }));
    }
    std::vector<std::string> written;
    if (single_) pending.back().second.wait();
    for (auto& [suffix, done] : pending)
        if (!failed(done.get())) written.push_back(suffix);
    return written;
}

}  // namespace gpuhist::app
