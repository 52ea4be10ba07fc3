// A directory from files to results, against decoding alone, which is the least that it can take, and against the
// programs that people use for this.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <opencv2/core.hpp>
#ifdef GPUHIST_BENCH_IMREAD
#include <opencv2/imgcodecs.hpp>
#endif
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench.hpp"
#include "bench/pictures.hpp"
#include "bench/programs.hpp"
#include "bench/report.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/pinned.hpp"
#include "gpuhist/io/walk.hpp"
#include "run/pipeline.hpp"
#include "support/codecs.hpp"
#include "support/temporary_directory.hpp"

namespace gpuhist::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
    std::string directory, python, csv, sides = "4000x3000", only;
    int images = 64, repetitions = 5, threads = 0;
    bool peers = false, gpus = false;
};

/// A photograph as a JPEG, under many names.
void make_jpegs(const fs::path& directory, const std::string& sides, int images) {
    fs::create_directories(directory);
    int width = 0, height = 0;
    if (std::sscanf(sides.c_str(), "%dx%d", &width, &height) != 2 || width < 1 || height < 1)
        throw std::runtime_error("--sides " + sides + " is not WIDTHxHEIGHT");
    const cv::Mat photograph = tiled(natural_picture("").pixels, {width, height});
    const std::string first = directory / "000000.jpg";
    test::write_picture(first, photograph);
    for (int i = 1; i < images; ++i) {
        char name[32];
        std::snprintf(name, sizeof name, "%06d.jpg", i);
        fs::create_hard_link(first, directory / name);
    }
}

/// What came of one way through the directory.
struct Passage {
    double seconds = 0;
    std::uint64_t images = 0, pixels = 0;
    std::vector<double> stages;  ///< occupancy, of all threads; of `list` and `rows` of one
};

/// Reads and decodes on all threads, and nothing else. `read(path)` returns the pixels, 0 where there are none.
template <class Read>
Passage read_all(const std::string& directory, int threads, Read read) {
    cv::setNumThreads(1);
    std::atomic<std::uint64_t> next{0}, images{0}, pixels{0};
    Passage passage;
    passage.seconds = milliseconds([&] {
                          const auto paths = io::list_images(directory);
                          std::vector<std::thread> workers;
                          for (int i = 0; i < threads; ++i)
                              workers.emplace_back([&] {
                                  for (std::uint64_t at; (at = next++) < paths.size();) {
                                      const std::uint64_t got = read(paths[at]);
                                      pixels += got;
                                      images += got > 0;
                                  }
                              });
                          for (std::thread& worker : workers) worker.join();
                      }) *
                      1e-3;
    passage.images = images;
    passage.pixels = pixels;
    return passage;
}

/// Decodes as gpuhist does, in memory that is reused as the pipeline's is.
Passage decode_alone(const std::string& directory, int threads) {
    PinnedPool memory(std::size_t{4} << 30, -1);
    const io::PinnedAllocator allocator(memory);
    io::DecodeOptions options;
    options.allocator = const_cast<io::PinnedAllocator*>(&allocator);
    return read_all(directory, threads, [&](const fs::path& path) -> std::uint64_t {
        try {
            return io::read_image(path, options).pixels.total();
        } catch (const IoError&) {
            return 0;
        }
    });
}

#ifdef GPUHIST_BENCH_IMREAD
constexpr const char* imread_missing = "";

/// Decodes by `cv::imread`.
Passage imread_alone(const std::string& directory, int threads) {
    return read_all(directory, threads, [](const fs::path& path) { return cv::imread(path.string()).total(); });
}
#else
constexpr const char* imread_missing = "not in this build, which found no imgcodecs of OpenCV";

Passage imread_alone(const std::string&, int) {
    return {};
}
#endif

/// A run of the command with these options.
Passage whole(app::Options options) {
    options.format = "none";
    options.quiet = true;
    app::RunSummary summary;
    const int code = app::run(options, &summary);
    if (code != app::all_done && code != app::inputs_failed)
        throw std::runtime_error("the run ended with exit code " + std::to_string(code));
    Passage passage{summary.seconds, summary.images, summary.pixels, {}};
    for (std::size_t i = 0; i < app::stage_names.size(); ++i) {
        const auto stage = static_cast<app::Stage>(i);
        const bool serial = stage == app::Stage::list || stage == app::Stage::rows;
        passage.stages.push_back(summary.stages.seconds(stage) / (summary.seconds * (serial ? 1 : summary.threads)));
    }
    return passage;
}

/// A peer tells only its time: the images are those that decode_alone found.
Passage peer_alone(const Peer& peer, const std::string& directory, int threads, const fs::path& list, Passage all) {
    all.seconds = milliseconds([&] { measure_with(peer, directory, threads, list); }) * 1e-3;
    return all;
}

constexpr const char* imread_name = "cv::imread alone";

struct Way {
    std::string name;
    std::function<Passage()> pass;
    bool peer = false;      ///< which may fail
    std::string missing{};  ///< then why, or empty
    std::vector<Passage> passages{};

    void take() {
        try {
            passages.push_back(pass());
        } catch (const std::exception& error) {
            if (!peer) throw;
            missing = error.what();
        }
    }
};

void run(const Options& options) {
    require_release();
    const test::TemporaryDirectory temporary;
    std::string directory = options.directory;
    if (directory.empty()) {
        directory = temporary.path() / "images";
        make_jpegs(directory, options.sides, options.images);
    }
    const int threads =
        options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    std::vector<Way> ways{{"decode alone", [&] { return decode_alone(directory, threads); }},
                          {imread_name, [&] { return imread_alone(directory, threads); }, true, imread_missing}};
    app::Options of_command;
    of_command.inputs.arguments = {directory};
    of_command.output = temporary.path() / "out";
    of_command.engine_options.threads = threads;
    const auto add_engine = [&](const std::string& engine, app::JpegOn jpeg_on, bool all_gpus = false) {
        for (const Measures& measures : {Measures(), Measures::quality()}) {
            app::Options own = of_command;
            own.engine = engine;
            own.measures = measures;
            own.jpeg_on = jpeg_on;
            own.all_gpus = all_gpus;
            ways.push_back({"engine " + engine + (jpeg_on == app::JpegOn::gpu ? " --jpeg-on gpu" : "") +
                                (all_gpus ? " --gpus all" : "") + (measures.empty() ? "" : " --quality"),
                            [own] { return whole(own); }});
        }
    };
    for (const EngineInfo& engine : engines()) {
        if (!engine.available) continue;
        add_engine(engine.name, app::JpegOn::cpu);
        if (engine.name != "cuda") continue;
        add_engine(engine.name, app::JpegOn::gpu);
        if (options.gpus) add_engine(engine.name, app::JpegOn::gpu, true);
    }
    std::erase_if(ways, [&](const Way& way) {  // the first is what the others are compared with
        return &way != &ways.front() && way.name.find(options.only) == way.name.npos;
    });
    for (Way& way : ways)
        if (way.missing.empty()) way.pass();  // once untimed
    if (options.peers) {
        const Passage all = decode_alone(directory, threads);
        for (const Peer& peer : directory_peers(options.python))
            ways.push_back(
                {peer.name,
                 [=, list = temporary.path() / "list"] { return peer_alone(peer, directory, threads, list, all); },
                 true, peer.missing});
    }
    for (int i = 0; i < options.repetitions; ++i)  // in turns
        for (Way& way : ways)
            if (way.missing.empty()) way.take();

    std::printf("%s%d threads, %llu images\n", machine_text().c_str(), threads,
                static_cast<unsigned long long>(ways.front().passages.front().images));
    std::ofstream csv;
    if (!options.csv.empty()) csv.open(options.csv);
    std::string header = "way,images,images_per_s,megapixels_per_s,of_decode_alone,of_imread";
    for (const char* stage : app::stage_names) header += std::string(",") + stage;
    csv << header << '\n';
    for (Way& way : ways)
        std::sort(way.passages.begin(), way.passages.end(),
                  [](const Passage& a, const Passage& b) { return a.seconds < b.seconds; });
    const auto median_of = [](const Way& way) { return way.passages[way.passages.size() / 2]; };
    const double decode_alone_s = median_of(ways[0]).seconds;
    double imread_s = std::nan("");
    std::map<std::string, double> seconds;
    // Ratio of a way to the same one without one of its options.
    const auto print_ratio = [&](const std::string& name, const std::string& option, double own_s) {
        const std::size_t at = name.find(option);
        if (at == name.npos) return;
        const auto other = seconds.find(name.substr(0, at) + name.substr(at + option.size()));
        if (other != seconds.end()) std::printf(", %.3f of without%s", other->second / own_s, option.c_str());
    };
    for (Way& way : ways) {
        if (!way.missing.empty()) {
            std::printf("%-20s %s\n", way.name.c_str(), way.missing.c_str());
            continue;
        }
        const Passage median = median_of(way);
        if (way.name == imread_name) imread_s = median.seconds;
        const double rate = static_cast<double>(median.images) / median.seconds;
        const double megapixels = static_cast<double>(median.pixels) * 1e-6 / median.seconds;
        std::printf("%-20s %9.1f images/s %9.1f MP/s   %.3f of decoding alone", way.name.c_str(), rate, megapixels,
                    decode_alone_s / median.seconds);
        if (!std::isnan(imread_s)) std::printf(", %.3f of cv::imread", imread_s / median.seconds);
        print_ratio(way.name, " --quality", median.seconds);
        print_ratio(way.name, " --gpus all", median.seconds);
        if (const auto quality = seconds.find("engine cpu --quality");
            way.peer && quality != seconds.end() && way.name != imread_name)
            std::printf(", engine cpu --quality is %.1f times as fast", median.seconds / quality->second);
        std::printf("\n");
        seconds[way.name] = median.seconds;
        csv << way.name << ',' << median.images << ',' << rate << ',' << megapixels << ','
            << decode_alone_s / median.seconds << ',' << imread_s / median.seconds;
        for (std::size_t i = 0; i < app::stage_names.size(); ++i) {
            if (!median.stages.empty())
                std::printf("    %-22s %5.1f %%\n", app::stage_names.at(i), 100 * median.stages[i]);
            csv << ',';
            if (!median.stages.empty()) csv << median.stages[i];
        }
        csv << '\n';
    }
    csv.flush();
    if (!options.csv.empty() && !csv) throw std::runtime_error(options.csv + ": cannot be written");
}

}  // namespace

void add_pipeline(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(
        "pipeline",
        "A directory from files to stats.csv on each engine, against reading and decoding alone, and against peers");
    command->add_option("DIR", options->directory, "The images [JPEGs, made for it]")->check(CLI::ExistingDirectory);
    command->add_option("--images", options->images, "How many are made")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->add_option("--sides", options->sides, "WIDTHxHEIGHT of those that are made")->capture_default_str();
    command->add_option("--only", options->only, "Only ways with this in their names, such as cuda");
    command->add_option("--threads", options->threads, "CPU threads [all]")->check(CLI::PositiveNumber);
    command->add_flag("--gpus", options->gpus, "Also all GPUs together, against one");
    command->add_flag("--peers", options->peers,
                      "Also what people use today, on all threads: identify -verbose, oiiotool --stats, OpenCV in "
                      "Python, CleanVision");
    command->add_option("--python", options->python, "With --peers: interpreter that has CleanVision");
    command->add_option("--repetitions", options->repetitions, "Runs of each, taken in turns; the median counts")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->add_option("--csv", options->csv, "Write the table to this file, with the occupancy of each stage");
    command->callback([options] { run(*options); });
}

}  // namespace gpuhist::bench
