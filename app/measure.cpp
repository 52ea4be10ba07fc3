#include "measure.hpp"

#include <future>
#include <new>
#include <opencv2/core.hpp>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/io/part.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

Failure failure_of(const IoError& error) {
    return {word(error.kind()), error.what()};
}

/// What is being handled, as the failure of an input of that path.
Failure current_failure(const std::string& path) {
    try {
        throw;
    } catch (const IoError& error) {
        return failure_of(error);
    } catch (const CudaError& error) {
        return {"engine", path + ": " + error.what()};
    } catch (const InvalidArgument& error) {
        return {"unsupported", path + ": " + error.what()};
    } catch (const std::bad_alloc&) {
        return {"memory", path + ": there is not enough memory"};
    } catch (const cv::Exception& error) {
        return {"decode", path + ": " + error.err};
    } catch (const std::exception& error) {
        return {"other", path + ": " + error.what()};
    } catch (...) {
        return {"other", path + ": an error without a name"};
    }
}

}  // namespace

const char* word(IoError::Kind kind) {
    switch (kind) {
        case IoError::Kind::missing:
            return "missing";
        case IoError::Kind::permission:
            return "permission";
        case IoError::Kind::truncated:
            return "truncated";
        case IoError::Kind::too_large:
            return "too_large";
        case IoError::Kind::unsupported:
            return "unsupported";
        case IoError::Kind::damaged:
            return "decode";
        case IoError::Kind::memory:
            return "memory";
        case IoError::Kind::no_space:
            return "no_space";
        case IoError::Kind::other:
            break;
    }
    return "unreadable";
}

void make_directories(const fs::path& directory) {
    std::error_code failure;
    fs::create_directories(directory, failure);
    if (failure)
        throw IoError(directory.string() + ": cannot make this directory: " + failure.message(),
                      failure == std::errc::no_space_on_device ? IoError::Kind::no_space : IoError::Kind::other);
}

Measurer::Measurer(const Options& options, std::shared_ptr<const InputList> inputs, Engines& engines,
                   MemoryBudget& budget, StageTimes& times, bool single)
    : options_(options),
      inputs_(std::move(inputs)),
      engines_(engines),
      budget_(budget),
      times_(times),
      single_(single) {}

void Measurer::reuse_memory(std::size_t bytes) {
    pixel_memory_ = std::make_unique<PinnedPool>(bytes, engines_.on_gpu() ? options_.engine_options.gpu : -1);
    allocator_ = std::make_unique<io::PinnedAllocator>(*pixel_memory_);
}

void Measurer::measure(Outcome& outcome) {
    const Input& input = outcome.input;
    if (outcome.left_out) return;
    if (input.failure) {
        outcome.failure = failure_of(*input.failure);
        return;
    }
    ++in_flight_;
    StageClock clock(times_, Stage::read);
    MemoryBudget::Share share(budget_);
    try {
        measure_pixels(outcome, share, clock);
    } catch (const OutOfMemory&) {  // smaller images may still fit
        outcome.failure = current_failure(input.path);
    } catch (const CudaError&) {
        outcome.end = current_failure(input.path);
        outcome.engine_ended = true;
    } catch (const EngineUnavailable& error) {
        outcome.end = Failure{"engine", error.what()};
        outcome.engine_ended = true;
    } catch (...) {
        outcome.failure = current_failure(input.path);
    }
    --in_flight_;
}

/// Reads and decodes, once there is memory for it.
cv::Mat Measurer::read(const Input& input, bool normalized, MemoryBudget::Share& share, StageClock& clock) const {
    io::DecodeOptions decode = options_.decode;
    decode.allocator = allocator_.get();
    bool header_known = false;
    decode.admit = [&](std::uint64_t bytes) {
        clock.enter(Stage::memory);
        // The copy is as large as the pixels, as floats up to four times.
        const bool floats = options_.normalization.mode == NormalizeMode::zscore;
        share.require(header_known && normalized ? bytes * (floats ? 5 : 2) : bytes);
        clock.enter(header_known ? Stage::decode : Stage::read);
        header_known = true;
    };
    if (!input.standard_input) return io::read_image(input.path, decode);
    const auto bytes = io::read_standard_input();
    decode.admit(bytes.size());
    return io::decode_image(bytes, input.path, decode);
}

/// What is written about an input in this pass.
Writes Measurer::writes_of(const Input& input) const {
    Writes writes = options_.writes_of(input);
    if (pass_ == 2) return {false, false, false, writes.normalized};
    if (options_.linked && !single_) writes.normalized = false;
    return writes;
}

cv::Mat Measurer::like(const cv::Mat& pixels, NormalizeMode mode) const {
    const bool floats = mode == NormalizeMode::zscore || pixels.depth() == CV_32F;
    cv::Mat image;
    image.allocator = allocator_.get();
    image.create(pixels.rows, pixels.cols, CV_MAKETYPE(floats ? CV_32F : pixels.depth(), pixels.channels()));
    return image;
}

cv::Mat Measurer::apply_tables(const cv::Mat& pixels) const {
    const ImageView image = io::view(pixels);
    for (const Tables& tables : *tables_)
        if (tables.depth == image.depth) {
            cv::Mat normalized = like(pixels, tables.mode);
            gpuhist::apply_tables(tables, image, io::mutable_view(normalized));
            return normalized;
        }
    throw InvalidArgument(std::string("there is no lookup table for ") + to_string(image.depth) + " images");
}

/// Analyses, and normalises where asked. What the GPU cannot do goes to the CPU if the choice is ours.
void Measurer::analyse(const cv::Mat& pixels, bool normalize, Outcome& outcome, cv::Mat& normalized, std::string& name,
                       StageClock& clock) {
    AnalysisRequest request;
    if (options_.histogram.bins != 0) request.bins = options_.histogram.bins;
    request.range = options_.histogram.range;
    const ImageView image = io::view(pixels);
    if (image.depth == Depth::f32 && options_.histogram.bins == 0)
        throw InvalidArgument("--bins full is one bin per value, which f32 does not have: give --bins N");
    if (normalize) normalized = like(pixels, options_.normalization.mode);
    const auto work = [&](const Engines::Lease& engine) {
        clock.enter(Stage::analyse);
        name = engine->name();
        if (normalize)
            engine->normalize(image, request, options_.normalization, io::mutable_view(normalized), outcome.analysis);
        else
            engine->analyze(image, request, outcome.analysis);
    };
    clock.enter(Stage::engine);
    const bool alone = in_flight_ == 1;
    try {
        try {
            work(engines_.take(alone));
        } catch (const OutOfMemory&) {  // what others use there may be all that it lacks
            clock.enter(Stage::engine);
            work(engines_.take_whole_gpu());
        }
        return;
    } catch (const OutOfMemory& error) {
        if (!engines_.automatic()) throw;
        engines_.pass_over_gpu(error.what());
    } catch (const CudaError& error) {
        if (!engines_.automatic()) throw;
        engines_.abandon_gpu(error.what());
    }
    work(engines_.take_cpu(alone));
}

void Measurer::measure_pixels(Outcome& outcome, MemoryBudget::Share& share, StageClock& clock) {
    const Input& input = outcome.input;
    const Writes writes = writes_of(input);
    if (pass_ == 2 && !writes.normalized) return;
    cv::Mat pixels = read(input, writes.normalized, share, clock), normalized;
    const ImageView image = io::view(pixels);
    outcome.pixels = static_cast<std::uint64_t>(image.pixels());
    const io::ImageInfo info{input.path, image.width, image.height, image.depth};
    const int channels = image.channels;
    std::string engine, written;
    const bool by_tables = writes.normalized && tables_;
    if (pass_ == 1) analyse(pixels, writes.normalized && !by_tables, outcome, normalized, engine, clock);
    if (pass_ == 1 && values_counted_ && image.depth == Depth::f32) {
        auto floats = std::make_shared<Pool>();
        floats->add(outcome.analysis, gpuhist::count_values(image));
        outcome.floats = std::move(floats);
    }
    if (by_tables) {
        clock.enter(Stage::analyse);
        normalized = apply_tables(pixels);
    }
    pixels.release();
    if (pass_ == 2) {
        clock.enter(Stage::write);
        write_files(outcome, writes, {}, {}, normalized);
        return;
    }

    const std::vector<Statistics> rows = statistics(outcome.analysis);
    Histogram histogram;
    if (writes.histogram || writes.plot || options_.table_of(input))
        histogram = gpuhist::histogram(outcome.analysis, options_.histogram);
    clock.enter(Stage::write);
    for (const std::string& suffix : write_files(outcome, writes, histogram, rows, normalized))
        written += (written.empty() ? (options_.output / input.output_name).string() : " ") + suffix;
    if (writes.stats) {
        outcome.rows = rows.size();
        outcome.stats = options_.shard ? io::part_stats_rows(input.index, info, rows) : io::stats_csv_rows(info, rows);
    }
    if (options_.format == Format::csv) outcome.printed = io::stats_csv_rows(info, rows);
    if (options_.format == Format::json) outcome.printed = io::stats_json(info, engine, rows);
    if (options_.table_of(input))
        outcome.printed =
            format_table(heading_of(info, channels, engine, options_.style), rows, histogram, written, options_.style);
}

/// Runs one writer. Returns what goes wrong.
std::optional<Failure> Measurer::write(const fs::path& path, const std::function<void()>& writer) const {
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

/// Returns the suffixes of the files that were written.
std::vector<std::string> Measurer::write_files(Outcome& outcome, const Writes& writes, const Histogram& histogram,
                                               const std::vector<Statistics>& rows, const cv::Mat& normalized) const {
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
            io::write_image(path, io::plot_histogram(histogram, rows, plot));
        });
    if (writes.normalized)
        files.emplace_back(normalized.depth() == CV_32F ? ".normalized.tiff" : ".normalized.png",
                           [&](const fs::path& path) { io::write_image(path, normalized); });
    if (files.empty()) return {};

    const auto failed = [&](const std::optional<Failure>& failure) {
        if (!failure) return false;
        if (failure->kind == word(IoError::Kind::no_space) && !single_)
            outcome.end = failure;
        else
            outcome.not_written.push_back(*failure);
        return true;
    };
    const fs::path directory = fs::path(stem).parent_path();
    if (failed(write(directory, [&] { make_directories(directory); }))) return {};
    // The files of an image that is alone have a thread each but the last, which has this one: encoding takes longer
    // than all else.
    std::vector<std::pair<std::string, std::future<std::optional<Failure>>>> pending;
    for (auto& [suffix, writer] : files) {
        const bool own = !single_ || &suffix == &files.back().first;
        pending.emplace_back(suffix, std::async(own ? std::launch::deferred : std::launch::async,
                                                [this, path = fs::path(stem + suffix), &writer = writer] {
                                                    return write(path, [&] {
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
