#include "run/image_files.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::app {

namespace fs = std::filesystem;
namespace {

std::string copy_suffix(const Copy& copy, Samples samples) {
    return copy_end + std::string(copy.extension(samples));
}

}  // namespace

std::string stack_name(const Input& page) {
    const std::string end = ".p" + std::to_string(page.page);
    return page.output_name.substr(0, page.output_name.size() - std::min(end.size(), page.output_name.size()));
}

io::NewFile ImageFiles::open_copy(const Input& input, const Copy& copy, Samples samples) const {
    if (copy.of_stack) output_.open_file(stack_name(input) + copy_end + stack_extension);  // it may have that name
    return output_.open_file(input.output_name + copy_suffix(copy, samples));
}

/// Runs one writer. Returns its failure, if any.
std::optional<Failure> ImageFiles::attempt(const fs::path& path, const std::function<void()>& writer) const {
    try {
        writer();
        return std::nullopt;
    } catch (const IoError& error) {
        const bool full = error.kind() == IoError::Kind::no_space;
        return Failure{full ? io::to_string(error.kind()) : "output", error.what()};
    } catch (const InvalidArgument&) {  // a copy that cannot be, rather than one that cannot be written
        return current_failure(path.string());
    } catch (...) {
        return Failure{"output", current_failure(path.string()).message};
    }
}

std::vector<std::string> ImageFiles::write(Outcome& outcome, const Writes& writes, const Histogram& histogram,
                                           const io::PlotPanel& panel, Copy& copy, Samples samples) const {
    if (!writes.histogram && !writes.plot && !writes.normalized) return {};
    const Input& input = outcome.input;
    const std::string& stem = input.output_name;
    std::vector<std::pair<std::string, std::function<void(const std::string&)>>> files;
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
        files.emplace_back(copy_suffix(copy, samples), [&](const std::string& name) {
            if (copy.error) std::rethrow_exception(copy.error);
            if (!copy.file) {
                copy.file.emplace(open_copy(input, copy, samples));
                const cv::Mat& pixels = copy.pixels;
                const auto rows =
                    io::encode_rows(*copy.file, pixels.size(), pixels.type(), samples, copy.depth, copy.form);
                rows->add(pixels);
                rows->finish();
            }
            output_.close_file(name, std::move(*copy.file));
        });
    const auto failed = [&](const std::optional<Failure>& failure) {
        if (!failure) return false;
        if (failure->kind == io::to_string(IoError::Kind::no_space) && !single_)
            outcome.end = failure;
        else
            outcome.not_written.push_back(*failure);
        return true;
    };
    // The files of an image that is alone have one thread each but the last, which has this one: encoding takes longer
    // than all else.
    std::vector<std::pair<std::string, std::future<std::optional<Failure>>>> pending;
    for (auto& [suffix, writer] : files) {
        const bool own = !single_ || &suffix == &files.back().first;
        pending.emplace_back(suffix, std::async(own ? std::launch::deferred : std::launch::async,
                                                [this, name = stem + suffix, write = &writer] {
                                                    return attempt(output_.path() / name, [&] { (*write)(name); });
                                                }));
    }
    std::vector<std::string> written;
    if (single_) pending.back().second.wait();
    for (auto& [suffix, done] : pending)
        if (!failed(done.get())) written.push_back(suffix);
    return written;
}

}  // namespace gpuhist::app
