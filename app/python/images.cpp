#include "images.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <utility>

#include "fork.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/resources.hpp"
#include "run/companions.hpp"
#include "run/weights.hpp"

namespace gpuhist::python {

namespace {

[[noreturn]] void refuse_band(const char* argument, const std::string& band) {
    throw InvalidArgument(std::string(argument) + ": '" + band + "': the bands of an array have no names of their own");
}

}  // namespace

AnalysisRequest Asked::request(Depth depth, const Picture* picture) const {
    if (histogram.bins == 0 && traits_of(depth).floating)
        throw InvalidArgument(std::string("bins=\"full\" is one bin per value, which ") + to_string(depth) +
                              " does not have: give a number of bins");
    AnalysisRequest request = without_rules();
    request.detail = detail == AskedDetail::brief ? Detail::brief : Detail::full;
    const auto check = [&](double value) {
        if (!picture && !nodata_in(depth, value))
            throw InvalidArgument("nodata: " + io::shortest(value) + " is not a value of " + to_string(depth) +
                                  " samples");
    };
    for (const auto& [channel, value] : validity.nodata) check(value);
    for (const auto& [band, value] : validity.nodata_of_bands) check(value);
    Validity rules = validity;
    std::string unheld;
    if (nodata_of_file && picture)
        if (const auto value = app::nodata_of(picture->image, unheld)) rules.nodata.push_back({std::nullopt, *value});
    if (picture) rules = rules_for(io::view(picture->image), io::names_of_samples(picture->image), rules);
    for (const auto& [band, value] : rules.nodata_of_bands) refuse_band("nodata", band);
    for (const auto& [band, lowest, highest] : rules.valid_of_bands) refuse_band("valid", band);
    if (picture) app::set_weight(rules, picture->image);
    if (!(rules == Validity())) request.validity = std::make_shared<const Validity>(std::move(rules));
    return request;
}

int threads_of_arena(int asked) {
    return asked > 0 ? std::min(asked, usable_processors()) : available_threads();
}

void check_cuda_process() {
    static std::atomic<pid_t> first{0};
    pid_t none = 0;
    if (!first.compare_exchange_strong(none, getpid()) && none != getpid())
        throw CudaError(
            "CUDA does not work in a process that was forked from one that used it: start processes by the method "
            "\"spawn\" or \"forkserver\" of multiprocessing");
}

Engines& Engines::all() {
    static Engines* const engines = new Engines;  // GPUs may be gone before static objects are
    return *engines;
}

Engines::Lease::Lease(Engines& engines, const Asked& asked)
    : engines_(engines), name_(asked.engine == "auto" ? "cpu" : asked.engine) {
    (name_ == "cpu" ? options_.threads : options_.gpu) = name_ == "cpu" ? asked.threads : asked.gpu;
    if (name_ == "cuda") check_cuda_process();
    {
        const std::lock_guard lock(engines_.mutex_);
        auto& idle = engines_.idle_;
        const auto found = std::find_if(idle.begin(), idle.end(), [&](const Idle& one) {
            return one.name == name_ && one.options.gpu == options_.gpu && one.options.threads == options_.threads;
        });
        if (found != idle.end()) {
            engine_ = std::move(found->engine);
            idle.erase(found);
            return;
        }
    }
    engine_ = make_engine(name_, options_);
}

Engines::Lease::~Lease() {
    if (!keep_) return;
    const std::lock_guard lock(engines_.mutex_);
    engines_.idle_.push_back({std::move(name_), options_, std::move(engine_)});
}

void Engines::forget_threads() {
    std::vector<Idle> gone;
    const std::lock_guard lock(mutex_);
    const auto on_gpu = std::partition(idle_.begin(), idle_.end(), [](const Idle& one) { return one.name != "cpu"; });
    std::move(on_gpu, idle_.end(), std::back_inserter(gone));
    idle_.erase(on_gpu, idle_.end());
}

Picture Picture::read(const std::string& path, const io::DecodeOptions& options) {
    return {io::read_image(path, options), path, options.page};
}

void Picture::weigh() {
    Validity rules;
    rules.alpha = AlphaRule::weight;
    app::set_weight(rules, image);
    app::divide_by_alpha(rules, image);
}

Picture Picture::decode(const std::vector<unsigned char>& bytes, const std::string& name,
                        const io::DecodeOptions& options) {
    return {io::decode_image(bytes, name, options), name, options.page};
}

Picture Picture::companion(const std::string& companion_path, Role role, const io::DecodeOptions& options) const {
    app::Input input;
    input.path = input.file = path;
    input.page = page;
    input.output_name = std::filesystem::path(path).filename().string();
    const ImageView view = io::view(image);
    const app::Companions companions(companion_path, role == Role::mask ? "mask" : "label image");
    Picture read{companions.read(input, {view.width, view.height, image.pages}, options), companion_path, 0};
    if (role == Role::labels) app::make_labels(read.image, input);
    if (role == Role::mask && !image.mask.empty()) read.image.mask = image.mask;  // valid is what both leave
    return read;
}

namespace {

/// Facts of an image, of a picture where there is one.
io::ImageInfo info_of(const ImageView& image, const Picture* picture) {
    io::ImageInfo info;
    if (picture) {
        info.path = picture->path;
        info.alpha = to_string(picture->image.alpha);
        info.damage = to_string(picture->image.damage);
        info.pages = picture->image.pages;
        if (const auto& size = picture->image.pixel_size) {
            info.pixel_width = size->width;
            info.pixel_height = size->height;
            info.pixel_unit = size->unit;
        }
    }
    info.width = image.width;
    info.height = image.height;
    info.depth = image.depth;
    return info;
}

/// Names the channels of an analysis, and says what stands for white.
void name(Analysis& analysis, const ImageView& image, const Asked& asked, const Picture* picture) {
    name_channels(analysis, image.samples, picture ? picture->image.bands : std::vector<std::string>());
    if (picture) analysis.white = picture->image.white;
    if (asked.white && !asked.space) analysis.white = *asked.white;
}

}  // namespace

namespace {

/// Measurement of an image whose analysis is complete.
std::shared_ptr<Measurement> measurement_of(Analysis analysis, std::vector<FrequencyTable> values,
                                            const ImageView& image, const Asked& asked, const Picture* picture) {
    auto result = std::make_shared<Measurement>();
    result->analysis = std::move(analysis);
    name(result->analysis, image, asked, picture);
    result->values = std::move(values);
    result->info = info_of(image, picture);
    result->info.white = result->analysis.white;
    result->percentiles = asked.percentiles;
    result->clip_sigma = asked.statistics().clip_sigma;
    result->histogram = asked.histogram;
    result->finish();
    return result;
}

/// Image in the space that is asked for, where one is, with what its picture says.
class InSpace {
  public:
    InSpace(const ImageView& image, const Asked& asked, const Picture* picture) : view(image), picture(picture) {
        if (!asked.space) return;
        if (asked.validity.alpha != AlphaRule::row && image.channels == 4)
            throw InvalidArgument("space: an image in memory needs the rule row for alpha: give mask instead");
        ColorEncoding encoding{traits_of(image.depth).highest, false};
        if (picture) {
            converted_ = *picture;
            encoding = {picture->image.white, picture->image.linear};
        }
        if (asked.white) encoding.white = *asked.white;
        io::Image made = io::image_in_space(image, encoding, *asked.space, nullptr, threads_of_arena(asked.threads));
        converted_.image.pixels = made.pixels;
        converted_.image.depth = made.depth;
        converted_.image.samples = made.samples;
        converted_.image.bands = made.bands;
        converted_.image.white = made.white;
        converted_.image.nodata.reset();
        view = io::view(converted_.image);
        view.mask = image.mask;
        view.mask_row_bytes = image.mask_row_bytes;
        this->picture = &converted_;
    }
    InSpace(const InSpace&) = delete;
    InSpace& operator=(const InSpace&) = delete;

    ImageView view;
    const Picture* picture;

  private:
    Picture converted_;
};

bool needs_values(const Asked& asked, Depth depth) {
    return (asked.detail == AskedDetail::values || asked.robust) && traits_of(depth).counting == Counting::bins;
}

std::shared_ptr<Measurement> measure_on(Engine& engine, const ImageView& stored, const Asked& asked,
                                        const Picture* of_stored) {
    const InSpace in_space(stored, asked, of_stored);
    const ImageView& image = in_space.view;
    const Picture* const picture = in_space.picture;
    const AnalysisRequest request = asked.request(image.depth, picture);
    Analysis analysis;
    engine.analyze(image, request, analysis);
    std::vector<FrequencyTable> values;
    if (needs_values(asked, image.depth)) values = count_frequencies(image, nullptr, request, image.samples);
    return measurement_of(std::move(analysis), std::move(values), image, asked, picture);
}

}  // namespace

std::shared_ptr<Measurement> measure(const ImageView& image, const Asked& asked, const Picture* picture) {
    const Work work;
    Engines::Lease engine(Engines::all(), asked);
    auto result = measure_on(*engine, image, asked, picture);
    engine.keep();
    return result;
}

std::vector<std::shared_ptr<Measurement>> measure_batch(const ImageView& first, std::int64_t images,
                                                        std::int64_t image_bytes, std::int64_t mask_bytes,
                                                        const Asked& asked) {
    constexpr std::int64_t most_pixels_alone = std::int64_t{1} << 20;  // larger images keep all threads busy
    std::vector<std::shared_ptr<Measurement>> results(static_cast<std::size_t>(images));
    const auto measure_one = [&](Engine& engine, std::size_t place) {
        ImageView image = first;
        const auto index = static_cast<std::int64_t>(place);
        image.data = static_cast<const unsigned char*>(first.data) + index * image_bytes;
        if (first.mask) image.mask = first.mask + index * mask_bytes;
        results[place] = measure_on(engine, image, asked, nullptr);
    };
    const Work work;
    if (asked.engine == "cuda" || images == 1 || first.pixels() > most_pixels_alone) {
        Engines::Lease engine(Engines::all(), asked);
        for (std::size_t i = 0; i < results.size(); ++i) measure_one(*engine, i);
        engine.keep();
        return results;
    }
    Asked alone = asked;
    alone.threads = 1;
    tbb::task_arena arena(threads_of_arena(asked.threads));
    arena.execute([&] {
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, results.size()),
                          [&](const tbb::blocked_range<std::size_t>& part) {
                              Engines::Lease engine(Engines::all(), alone);
                              for (std::size_t i = part.begin(); i < part.end(); ++i) measure_one(*engine, i);
                              engine.keep();
                          });
    });
    return results;
}

StripMeasurement::StripMeasurement(const ImageView& image, const Asked& asked)
    : image_(image), asked_(asked), request_(asked.request(image.depth)) {
    if (asked.space) throw InvalidArgument("space: an image in chunks is measured as it is stored");
    if (needs_values(asked, image.depth))
        throw InvalidArgument("an f32 image in chunks has neither robust numbers nor detail=\"values\"");
    if (!asked.measures.of_pixels().empty())
        throw InvalidArgument("measures: an image in chunks has none of those that read neighbors or colors");
    const Work work;
    engine_ = make_engine(asked.engine == "auto" ? "cpu" : asked.engine, {asked.threads, asked.gpu});
    strips_ = engine_->analyze_strips(image_, request_, analysis_);
}

void StripMeasurement::take(const ImageView& strip) {
    const Work work;
    strips_->take(strip);
}

bool StripMeasurement::end_pass() {
    const Work work;
    return strips_->end_pass();
}

std::shared_ptr<Measurement> StripMeasurement::result() {
    return measurement_of(std::move(analysis_), {}, image_, asked_, nullptr);
}

void normalize(const ImageView& image, const MutableImageView& output, const Normalization& normalization,
               const Asked& asked) {
    Normalization mode = normalization;
    if (image.samples == Samples::gray_alpha) mode.joint = false;  // gray is all that there is
    const AnalysisRequest request = asked.request(image.depth);
    Analysis analysis;
    const Work work;
    Engines::Lease lease(Engines::all(), asked);
    (*lease).normalize(image, request, mode, output, analysis);
    lease.keep();
}

std::shared_ptr<Measurement> Regions::measurement(std::size_t place) const {
    const Region& region = found.at(place);
    auto result = std::make_shared<Measurement>();
    result->analysis = region.analysis;
    result->info = info;
    result->info.width = region.width;
    result->info.height = region.height;
    result->info.white = region.analysis.white;
    result->percentiles = percentiles;
    result->clip_sigma = clip_sigma;
    result->values = region.values;
    result->histogram = histogram;
    result->finish();
    return result;
}

void Regions::for_each_row(std::size_t place, const std::function<void(const ColumnRow&)>& read) const {
    const Region& region = found.at(place);
    const auto measured = measurement(place);
    const std::string name = std::to_string(region.label);
    for (const Row& row : measured->rows) {
        ColumnRow columns = measured->columns(row);
        columns.region = name;
        columns.x = region.x;
        columns.y = region.y;
        columns.area = region.area;
        columns.centroid_x = region.centroid_x;
        columns.centroid_y = region.centroid_y;
        read(columns);
    }
}

Regions measure_regions(const ImageView& stored, const ImageView& labels, bool label_zero, const Asked& asked,
                        const Picture* of_stored) {
    const InSpace in_space(stored, asked, of_stored);
    const ImageView& image = in_space.view;
    const Picture* const picture = in_space.picture;
    Regions regions{{}, info_of(image, picture), asked.percentiles, asked.statistics().clip_sigma, asked.histogram};
    RegionOptions options;
    if (asked.robust) options.count_values = image.samples;
    options.label_zero = label_zero;
    options.threads = asked.threads;
    const Work work;
    regions.found = analyze_regions(image, labels, asked.request(image.depth, picture), options);
    for (Region& region : regions.found) name(region.analysis, image, asked, picture);
    return regions;
}

}  // namespace gpuhist::python
