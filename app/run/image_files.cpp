#include "run/image_files.hpp"

#include <future>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::app {

namespace fs = std::filesystem;

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
                                           const io::PlotPanel& panel, const cv::Mat& normalized, Depth copy_depth,
                                           Samples samples) const {
    if (!writes.histogram && !writes.plot && !writes.normalized) return {};
    const Input& input = outcome.input;
    const std::string& stem = input.output_name;
    std::vector<std::pair<std::string, std::function<void(const std::string&)>>> files;
    const auto write_image = [&](const std::string& name, const cv::Mat& image, Samples of) {
        const std::vector<unsigned char> bytes = io::encode_image(output_.path() / name, image, of, copy_depth);
        output_.write(name, bytes.data(), bytes.size());
    };
    if (writes.histogram)
        files.emplace_back(".histogram.csv", [&](const std::string& name) {
            const std::string csv = io::histogram_csv(histogram);
            output_.write(name, csv.data(), csv.size());
        });
    io::Plot plot;
    if (writes.plot) {
        TableHeading heading = heading_of(outcome.result, {false, true, false});
        if (input.standard_input) heading.name.replace(0, 1, "standard input");
        plot = {printable(heading.name) + "  " + heading.description, {panel}};
        for (const io::PlotFormat format : options_.plots.formats)
            files.emplace_back(
                std::string(".histogram") + io::extension_of(format), [&, format](const std::string& name) {
                    const std::vector<unsigned char> bytes = io::encode_plot(plot, format, options_.plots.options);
                    output_.write(name, bytes.data(), bytes.size());
                });
    }
    if (writes.normalized)
        files.emplace_back(std::string(".normalized") + io::lossless_extension(copy_depth, samples),
                           [&](const std::string& name) { write_image(name, normalized, samples); });
    const auto failed = [&](const std::optional<Failure>& failure) {
        if (!failure) return false;
        if (failure->kind == word(IoError::Kind::no_space) && !single_)
            outcome.end = failure;
        else
            outcome.not_written.push_back(*failure);
        return true;
    };
    // The files of an image that is alone have a thread each but the last, which has this one: encoding takes longer
    // than all else.
    std::vector<std::pair<std::string, std::future<std::optional<Failure>>>> pending;
    for (auto& [suffix, writer] : files) {
        const bool own = !single_ || &suffix == &files.back().first;
        pending.emplace_back(suffix, std::async(own ? std::launch::deferred : std::launch::async,
                                                [this, name = stem + suffix, &writer = writer] {
                                                    return attempt(output_.path() / name, [&] { writer(name); });
                                                }));
    }
    std::vector<std::string> written;
    if (single_) pending.back().second.wait();
    for (auto& [suffix, done] : pending)
        if (!failed(done.get())) written.push_back(suffix);
    return written;
}

}  // namespace gpuhist::app
