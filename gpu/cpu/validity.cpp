#include "cpu/validity.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "core/analysis.hpp"
#include "core/validate.hpp"
#include "cpu/bands.hpp"
#include "cpu/float_analysis.hpp"
#include "cpu/normalize.hpp"
#include "cpu/weights.hpp"
#include "dataset/frequency_table.hpp"
#include "engines.hpp"
#include "gpuhist/error.hpp"
#include "normalize/depths.hpp"

namespace gpuhist {

std::optional<double> nodata_in(Depth depth, double value) {
    const DepthTraits& traits = traits_of(depth);
    if (!traits.floating) {
        const double rounded = std::nearbyint(value);
        if (!(rounded >= traits.lowest && rounded <= traits.highest)) return std::nullopt;
        return rounded;
    }
    return with_depth(depth, [&](auto sample) -> std::optional<double> {
        using Sample = decltype(sample);
        if constexpr (core::is_real<Sample>) {
            const double held = core::value_of(core::rounded_to<Sample>(value));
            if (std::isinf(held) && !std::isinf(value)) return std::nullopt;
            return held;
        }
        return std::nullopt;
    });
}

namespace cpu {

// ---- rules ----------------------------------------------------------------------------------------------------------

SampleRule::SampleRule(const Validity& validity, Channel channel, Depth depth) {
    const auto concerns = [&](const std::optional<Channel>& named) {
        return named ? *named == channel : channel != Channel::alpha;
    };
    for (const Validity::Value& one : validity.nodata) {
        if (!concerns(one.channel)) continue;
        const auto held = nodata_in(depth, one.value);
        if (held && *held != *held)
            nan_ = true;
        else if (held)
            values_.push_back(*held);
    }
    bool own = false;
    for (const Validity::Interval& one : validity.valid) {
        if (!concerns(one.channel) || (own && !one.channel)) continue;
        own = one.channel.has_value();
        bounds_ = Range{one.lowest, one.highest};
    }
}

template <class Sample>
void SampleRule::find(const Sample* samples, int step, int count, std::uint8_t* nodata) const {
    const auto value_at = [&](int i) { return core::value_of(samples[i * step]); };
    std::fill_n(nodata, count, std::uint8_t{0});
    if (bounds_) {
        const double lowest = bounds_->lower, highest = bounds_->upper;
        for (int i = 0; i < count; ++i) nodata[i] = value_at(i) < lowest || value_at(i) > highest;
    }
    for (const double one : values_)
        for (int i = 0; i < count; ++i) nodata[i] |= value_at(i) == one;
    if (nan_)
        for (int i = 0; i < count; ++i) nodata[i] |= value_at(i) != value_at(i);
}

namespace {

/// Verdict on an image: whether none of its samples is a color.
bool is_bands(const ImageView& image) {
    return image.samples == Samples::bands || (has_parts(image) && image.samples != Samples::color_bands);
}

/// Channel that a sample is of, by position in the pixel.
Channel channel_of(const ImageView& image, int position) {
    if (is_bands(image) || (image.samples == Samples::color_bands && position >= 3)) return band(position);
    if (image.channels == 1) return Channel::gray;
    if (position == 3) return Channel::alpha;
    if (image.samples == Samples::gray_alpha) return Channel::gray;
    const Positions at(image.order);
    return position == at.red ? Channel::red : position == at.green ? Channel::green : Channel::blue;
}

}  // namespace

ImageRules::ImageRules(const ImageView& image, const Validity* validity)
    : rules_(static_cast<std::size_t>(image.channels)), channels_(image.channels) {
    colors_ = is_bands(image) ? 0 : std::min(image.channels, 3);
    has_alpha_ = image.channels == 4 && (image.samples == Samples::color || image.samples == Samples::gray_alpha);
    if (!validity) return;
    for (const Validity::Interval& one : validity->valid)
        if (!(one.lowest <= one.highest))
            throw InvalidArgument("valid values from " + std::to_string(one.lowest) + " to " +
                                  std::to_string(one.highest) + ": the lower one first");
    for (int c = 0; c < image.channels; ++c) {
        SampleRule& rule = rules_[static_cast<std::size_t>(c)] =
            SampleRule(*validity, channel_of(image, c), image.depth);
        any_ = any_ || rule.any();
        any_color_ = any_color_ || (c < colors_ && rule.any());
    }
    nodata_any_ = validity->nodata_any && any_;
    const bool weight = validity->alpha == AlphaRule::weight;  // of 0 nothing
    alpha_masks_ = has_alpha_ && (validity->alpha == AlphaRule::mask || weight);
    alpha_left_out_ = has_alpha_ && (validity->alpha == AlphaRule::ignore || weight);
}

void ImageRules::classify(const ImageView& image, std::int64_t row, std::int64_t column, int pixels,
                          BlockClasses& classes) const {
    if (image.mask) {
        const std::uint8_t* mask = image.mask + row * (image.height == 1 ? 0 : image.mask_row_bytes) + column;
        for (int i = 0; i < pixels; ++i) classes.counts[i] = mask[i] != 0;
    } else {
        std::fill_n(classes.counts, pixels, std::uint8_t{1});
    }
    const auto* bytes = static_cast<const std::byte*>(image.data) + (image.height == 1 ? 0 : row * image.row_bytes);
    with_depth(image.depth, [&](auto type) {
        using Sample = decltype(type);
        const Sample* const samples = reinterpret_cast<const Sample*>(bytes) + column * channels_;
        if (alpha_masks_)
            for (int i = 0; i < pixels; ++i) classes.counts[i] &= core::value_of(samples[4 * i + 3]) != 0;
        for (int c = 0; c < channels_; ++c) {
            std::uint8_t* const nodata = classes.nodata[c];
            if (!rules_[static_cast<std::size_t>(c)].any()) {
                std::fill_n(nodata, pixels, std::uint8_t{0});
                continue;
            }
            rules_[static_cast<std::size_t>(c)].find(samples + c, channels_, pixels, nodata);
            for (int i = 0; i < pixels; ++i) nodata[i] &= classes.counts[i];
        }
    });
    if (!nodata_any_) return;
    for (int c = 1; c < channels_; ++c)
        for (int i = 0; i < pixels; ++i) classes.nodata[0][i] |= classes.nodata[c][i];
    for (int c = 1; c < channels_; ++c) std::copy_n(classes.nodata[0], pixels, classes.nodata[c]);
}

int position_of(const ImageView& image, Channel channel) {
    if (channel == Channel::gray) return 0;
    if (channel == Channel::alpha) return 3;
    if (channel == Channel::luma || channel == Channel::all) return -1;
    if (is_band(channel)) return static_cast<int>(channel) - static_cast<int>(Channel::c0);
    const Positions at(image.order);
    return channel == Channel::red ? at.red : channel == Channel::green ? at.green : at.blue;
}

void ClassCounts::operator+=(const ClassCounts& more) {
    counted += more.counted;
    color_nodata += more.color_nodata;
    for (std::size_t c = 0; c < nodata.size(); ++c) nodata[c] += more.nodata[c];
}

namespace {

/// Calls visit(row, column, pixels, classes) for all blocks of an image, from all workers, and counts the classes.
template <class Visit>
ClassCounts classify(Workers& workers, const ImageView& image, const ImageRules& rules, const Visit& visit) {
    ClassCounts all;
    std::mutex mutex;
    const std::int64_t rows = std::max<std::int64_t>(1, tile_pixels / image.width);
    const std::int64_t serial_rows = (serial_pixels + image.width - 1) / image.width;
    workers.sweep(image.height, rows, serial_rows, workers.threads(), [&](int, std::int64_t begin, std::int64_t end) {
        const auto classes = std::make_unique<BlockClasses>();
        ClassCounts own;
        alignas(64) std::uint8_t color[block_pixels];
        for (std::int64_t row = begin; row < end; ++row)
            for (std::int64_t column = 0; column < image.width; column += block_pixels) {
                const int pixels = static_cast<int>(std::min(block_pixels, image.width - column));
                rules.classify(image, row, column, pixels, *classes);
                own.counted += static_cast<std::uint64_t>(count_set(classes->counts, pixels));
                if (rules.any()) {
                    for (int c = 0; c < image.channels; ++c)
                        own.nodata[static_cast<std::size_t>(c)] +=
                            static_cast<std::uint64_t>(count_set(classes->nodata[c], pixels));
                    std::copy_n(classes->nodata[0], pixels, color);
                    for (int c = 1; c < rules.colors(); ++c)
                        for (int i = 0; i < pixels; ++i) color[i] |= classes->nodata[c][i];
                    own.color_nodata += static_cast<std::uint64_t>(count_set(color, pixels));
                }
                visit(row, column, pixels, *classes);
            }
        const std::lock_guard lock(mutex);
        all += own;
    });
    return all;
}

}  // namespace

std::byte* HostClassifier::reserve(std::size_t bytes) {
    if (bytes > bytes_) {
        memory_.reset();
        memory_.reset(new std::byte[bytes]);
        bytes_ = bytes;
    }
    return memory_.get();
}

ImageView HostClassifier::substitute(const ImageView& image, const ImageRules& rules, ClassCounts& counts) {
    ImageView view = image;
    view.mask = nullptr;
    view.channels = rules.alpha_left_out() ? 3 : image.channels;
    view.row_bytes = view.packed_row_bytes();
    std::byte* const memory = reserve(static_cast<std::size_t>(view.row_bytes * view.height));
    view.data = memory;
    counts = classify(
        workers_, image, rules, [&](std::int64_t row, std::int64_t column, int pixels, const BlockClasses& classes) {
            with_depth(image.depth, [&](auto type) {
                using Sample = decltype(type);
                if constexpr (core::is_real<Sample>) {
                    const auto* from = reinterpret_cast<const Sample*>(static_cast<const std::byte*>(image.data) +
                                                                       row * image.row_bytes) +
                                       column * image.channels;
                    auto* to = reinterpret_cast<Sample*>(memory + row * view.row_bytes) + column * view.channels;
                    const Sample nan = core::rounded_to<Sample>(std::numeric_limits<double>::quiet_NaN());
                    for (int c = 0; c < view.channels; ++c) {
                        const std::uint8_t* const nodata = classes.nodata[c];
                        for (int i = 0; i < pixels; ++i) {
                            const bool counts_here = classes.counts[i] && !nodata[i];
                            to[i * view.channels + c] = counts_here ? from[i * image.channels + c] : nan;
                        }
                    }
                }
            });
        });
    return view;
}

ImageView HostClassifier::mask(const ImageView& image, const ImageRules& rules, PixelsOf which, ClassCounts& counts) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(reserve(static_cast<std::size_t>(image.pixels())));
    counts = classify(
        workers_, image, rules, [&](std::int64_t row, std::int64_t column, int pixels, const BlockClasses& classes) {
            std::uint8_t* const to = bytes + row * image.width + column;
            std::copy_n(classes.counts, pixels, to);
            const int last = which == PixelsOf::counted ? 0 : which == PixelsOf::all ? image.channels : rules.colors();
            for (int c = 0; c < last; ++c)
                for (int i = 0; i < pixels; ++i) to[i] &= classes.nodata[c][i] == 0;
        });
    ImageView view = image;
    view.mask = bytes;
    view.mask_row_bytes = image.width;
    return view;
}

ValidityPlan::ValidityPlan(const ImageView& image, const ImageRules& rules, bool masks)
    : substitutes(traits_of(image.depth).floating) {
    const bool swept = !has_parts(image) &&
                       (image.channels != 4 || image.samples == Samples::color || image.samples == Samples::gray_alpha);
    if (masks && swept && !rules.any() && !rules.alpha_masks() && !rules.alpha_left_out()) substitutes = false;
    luma_apart = !substitutes && !rules.nodata_any() && rules.any_color() && rules.colors() == 3;
    if (substitutes) return;
    if (rules.nodata_any())
        of = PixelsOf::all;
    else if (rules.alpha_masks())
        of = PixelsOf::counted;
}

// ---- the engine -----------------------------------------------------------------------------------------------------

namespace {

/// Takes the samples that are nodata out of what was counted by value.
void take_out(const SampleRule& rule, Depth depth, ChannelAnalysis& channel) {
    if (!rule.any()) return;
    for (std::size_t code = 0; code < channel.counts.size(); ++code)
        if (channel.counts[code] != 0 && rule(core::value_at(depth, code)))
            channel.nodata += std::exchange(channel.counts[code], 0);
    const std::uint64_t before = channel.values.samples();
    channel.values = core::filtered(channel.values, [&](double value) { return !rule(value); });
    channel.nodata += before - channel.values.samples();
}

/// What is measured in place of an image, and what its findings become.
class Valid {
  public:
    /// `masks`: as of ValidityPlan. `device`: for images in device memory, null where there are none.
    Valid(Workers& workers, Classifier* device, const ImageView& image, const AnalysisRequest& request, bool masks)
        : host_(workers), device_(device), rules_(image, request.validity.get()), by_(image, rules_, masks) {}

    const ImageRules& rules() const { return rules_; }
    bool substitutes() const { return by_.substitutes; }
    bool luma_apart() const { return by_.luma_apart; }

    /// View that the engine is to measure, until the next call.
    ImageView of(const ImageView& image) {
        if (by_.substitutes) return classifier(image).substitute(image, rules_, now_);
        if (by_.of) return classifier(image).mask(image, rules_, *by_.of, now_);
        return image;  // how many are masked the engine finds out
    }
    /// View whose luma is that of the pixels of which no color is nodata.
    ImageView of_luma(const ImageView& image) {
        ClassCounts same;
        return classifier(image).mask(image, rules_, PixelsOf::colors, same);
    }
    /// Counts the pixels of the last `of`.
    void add_counts() { counts_ += now_; }

    /// Makes of an engine's findings those of an image, or of strips of it, of so many pixels; `luma` is of `of_luma`.
    void finish(const ImageView& image, Analysis& result, const Analysis& luma) const {
        const auto pixels = static_cast<std::uint64_t>(image.pixels());
        for (ChannelAnalysis& channel : result.channels) {
            const int position = position_of(image, channel.channel);
            if (by_.substitutes) {
                channel.masked = pixels - counts_.counted;
                channel.nodata =
                    position >= 0 ? counts_.nodata[static_cast<std::size_t>(position)] : counts_.color_nodata;
                channel.nan -= channel.masked + channel.nodata;
            } else if (rules_.nodata_any()) {
                channel.nodata = channel.masked - (pixels - counts_.counted);
                channel.masked = pixels - counts_.counted;
            } else if (position >= 0) {
                take_out(rules_[position], image.depth, channel);
            } else if (by_.luma_apart) {
                const std::uint64_t masked = channel.masked;
                channel = *luma.find(Channel::luma);
                channel.nodata = channel.masked - masked;
                channel.masked = masked;
            }
        }
        if (!by_.substitutes && !rules_.nodata_any() && result.brightness) {
            if (by_.luma_apart) result.brightness = luma.brightness;
            if (result.channels.size() == 1) result.brightness = core::brightness_of(result.channels[0]);
        }
        if (!rules_.alpha_left_out()) return;
        const auto remove = [&](auto gone) {
            const auto gone_channel = [&](const ChannelAnalysis& one) { return gone(one.channel); };
            result.channels.erase(std::remove_if(result.channels.begin(), result.channels.end(), gone_channel),
                                  result.channels.end());
        };
        remove([](Channel one) { return one == Channel::alpha; });
        if (image.samples != Samples::gray_alpha) return;
        remove([](Channel one) { return one != Channel::red; });
        result.channels.front().channel = Channel::gray;
        result.pooled_order_statistics.clear();
    }

  private:
    Classifier& classifier(const ImageView& image) {
        return image.memory == Memory::device && device_ ? *device_ : static_cast<Classifier&>(host_);
    }

    HostClassifier host_;
    Classifier* const device_;
    const ImageRules rules_;
    const ValidityPlan by_;
    ClassCounts counts_, now_;
};

/// Request as engines know it.
AnalysisRequest without_validity(AnalysisRequest request) {
    request.validity.reset();
    return request;
}

/// Writes what becomes of the samples that do not count: of a copy of the image's depth they stay as they are where
/// that is asked; of another depth they are 0, and so is the alpha of such pixels.
void settle(Workers& workers, const ImageView& image, const ImageRules& rules, bool valid_only,
            const MutableImageView& output) {
    const bool converted = output.depth != image.depth;
    if (!converted && !valid_only) return;
    const std::size_t from_bytes = sample_bytes(image.depth), to_bytes = sample_bytes(output.depth);
    const bool alpha = rules.has_alpha();
    classify(workers, image, rules,
             [&](std::int64_t row, std::int64_t column, int pixels, const BlockClasses& classes) {
                 const auto* from = static_cast<const std::byte*>(image.data) + row * image.row_bytes;
                 auto* to = static_cast<std::byte*>(output.data) + row * output.row_bytes;
                 for (int i = 0; i < pixels; ++i) {
                     const auto first = static_cast<std::size_t>((column + i) * image.channels);
                     bool all = true;
                     for (int c = 0; c < image.channels; ++c) {
                         const auto at = first + static_cast<std::size_t>(c);
                         const bool counts = classes.counts[i] && !classes.nodata[c][i];
                         const bool is_alpha = alpha && c == 3;
                         if (!is_alpha) all = all && counts;
                         if (counts || (is_alpha && !converted)) continue;
                         if (converted)
                             std::memset(to + at * to_bytes, 0, to_bytes);
                         else
                             std::memcpy(to + at * to_bytes, from + at * from_bytes, to_bytes);
                     }
                     if (alpha && converted && !all) std::memset(to + (first + 3) * to_bytes, 0, to_bytes);
                 }
             });
}

/// Copies the pixels of an image that is to be written over.
ImageView copy_of(const ImageView& image, std::vector<double>& memory) {
    ImageView copy = image;
    copy.row_bytes = image.packed_row_bytes();
    const auto row = static_cast<std::size_t>(copy.row_bytes);
    memory.resize((static_cast<std::size_t>(image.height) * row + sizeof(double) - 1) / sizeof(double));
    auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
    for (std::int64_t y = 0; y < image.height; ++y)
        std::memcpy(bytes + static_cast<std::size_t>(y) * row,
                    static_cast<const std::byte*>(image.data) + y * image.row_bytes, row);
    copy.data = bytes;
    return copy;
}

/// Strips of an image of which not all samples count.
class ValidStrips final : public StripAnalysis {
  public:
    ValidStrips(Workers& workers, Engine& engine, const ImageView& image, const AnalysisRequest& request,
                Analysis& result, const Normalization* copies)
        : workers_(workers),
          valid_(workers, nullptr, image, request, true),
          image_(image),
          request_(request),
          result_(result) {
        if (copies) normalization_ = *copies;
        AnalysisRequest asked = without_validity(request);
        if (copies) asked.luma_histogram = needs_luma(request, *copies);
        if (copies && traits_of(image.depth).counting == Counting::sorted)
            throw InvalidArgument(std::string("copies of strips: none of ") + to_string(image.depth));
        ImageView seen = image_;
        seen.mask = nullptr;
        if (valid_.substitutes() && valid_.rules().alpha_left_out()) seen.channels = 3;
        // Floats that are nodata are NaN, of which tables know nothing; of integers tables follow from what is left.
        floating_ = traits_of(image.depth).floating;
        analysis_ = engine.analyze_strips(seen, asked, result, floating_ ? copies : nullptr);
        if (valid_.luma_apart()) luma_ = engine.analyze_strips(seen, asked, luma_found_);
    }

    void take(const ImageView& strip) override {
        core::validate(strip, request_);
        analysis_->take(valid_.of(strip));
        if (first_) valid_.add_counts();
        if (luma_) luma_->take(valid_.of_luma(strip));
    }
    bool end_pass() override {
        first_ = false;
        if (analysis_->end_pass()) return true;
        if (luma_) luma_->end_pass();
        valid_.finish(image_, result_, luma_found_);
        found_ = result_;
        if (normalization_ && !floating_) leave_out_luma(request_, result_);
        return false;
    }
    void copy(const ImageView& strip, const MutableImageView& output) override {
        if (!normalization_) return StripAnalysis::copy(strip, output);
        if (floating_) {
            analysis_->copy(strip, output);
        } else {
            core::validate(strip, request_);
            core::validate_output(strip, normalized_depth(strip.depth, *normalization_), output);
            normalizer_.apply_counted(workers_, strip, found_, *normalization_, output);
        }
        settle(workers_, strip, valid_.rules(), normalization_->valid_only, output);
    }

  private:
    Workers& workers_;
    Valid valid_;
    const ImageView image_;
    const AnalysisRequest request_;
    Analysis& result_;
    Analysis luma_found_, found_;
    std::unique_ptr<StripAnalysis> analysis_, luma_;
    std::optional<Normalization> normalization_;
    Normalizer normalizer_;
    bool floating_ = false;
    bool first_ = true;  ///< pass, in which classes are counted
};

/// Strips of an image whose samples are weighted, by an engine that knows weights.
class WeightedStrips final : public StripAnalysis {
  public:
    WeightedStrips(Workers& workers, Engine& engine, const AnalysisRequest& request, Analysis& result,
                   const Normalization* copies)
        : workers_(workers), engine_(engine), request_(request), asked_(request), result_(result) {
        if (copies) normalization_ = *copies;
        if (copies) asked_.luma_histogram = needs_luma(request, *copies);
    }

    void take(const ImageView& strip) override {
        engine_.analyze(strip, asked_, first_ ? result_ : strip_);
        if (!std::exchange(first_, false)) result_ += strip_;
    }
    bool end_pass() override {
        if (!normalization_) return false;
        found_ = result_;
        leave_out_luma(request_, result_);
        return false;
    }
    void copy(const ImageView& strip, const MutableImageView& output) override {
        if (!normalization_) return StripAnalysis::copy(strip, output);
        core::validate(strip, request_);
        core::validate_output(strip, normalized_depth(strip.depth, *normalization_), output);
        normalizer_.apply_counted(workers_, strip, found_, *normalization_, output);
        settle(workers_, strip, ImageRules(strip, request_.validity.get()), normalization_->valid_only, output);
    }

  private:
    Workers& workers_;
    Engine& engine_;
    const AnalysisRequest request_;
    AnalysisRequest asked_;
    Analysis& result_;
    Analysis strip_, found_;
    bool first_ = true;
    std::optional<Normalization> normalization_;
    Normalizer normalizer_;
};

class ValidityEngine final : public Engine {
  public:
    ValidityEngine(std::unique_ptr<Engine> engine, const MasksKnown& known, std::unique_ptr<Classifier> device,
                   const EngineOptions& options)
        : engine_(std::move(engine)),
          known_(known),
          device_(std::move(device)),
          options_(options),
          workers_(threads_of(options)) {}

    std::string_view name() const override { return engine_->name(); }

    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        if (plain(image, request)) return engine_->analyze(image, request, result);
        validate(image, request);
        if (weighs(request)) {
            const ImageRules rules(image, request.validity.get());
            if (rules.has_alpha() && image.memory == Memory::device) return engine_->analyze(image, request, result);
            if (rules.has_alpha()) return weighted_.analyze(workers_, image, rules, request, result);
            analyze(image, without_weights(request), result);
            return weigh(result, weight_of_opaque(image.depth, *request.validity));
        }
        Valid valid(workers_, device_.get(), image, request, known_.masks(image.depth));
        const AnalysisRequest asked = without_validity(request);
        Engine& engine = engine_for(valid, image.depth, request);
        engine.analyze(valid.of(image), asked, result);
        valid.add_counts();
        Analysis luma;
        if (valid.luma_apart()) engine.analyze(valid.of_luma(image), asked, luma);
        valid.finish(image, result, luma);
    }

    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        if (plain(image, request)) return engine_->normalize(image, request, normalization, output, result);
        validate(image, request);
        if (image.memory == Memory::device && image.samples == Samples::color && !has_parts(image))
            return engine_->normalize(image, request, normalization, output, result);
        require_host(image, "copies of bands and gray with alpha of which not all samples count");
        core::validate(normalization);
        core::validate_output(image, normalized_depth(image.depth, normalization), output);
        core::validate_kept(image, normalization);
        const ImageRules rules(image, request.validity.get());
        if (weighs(request) && !rules.has_alpha()) {
            normalize(image, without_weights(request), normalization, output, result);
            return weigh(result, weight_of_opaque(image.depth, *request.validity));
        }
        std::vector<double> before;  // aligned to any sample
        const ImageView kept = normalization.valid_only && output.data == image.data ? copy_of(image, before) : image;
        if (image.samples == Samples::bands || image.samples == Samples::color_bands || has_parts(image))
            normalize_bands(image, rules, request, normalization, output, result);
        else
            normalize_swept(image, request, normalization, output, result);
        settle(workers_, kept, rules, normalization.valid_only, output);
    }

    void run(Job* jobs, std::size_t count) override {
        for (std::size_t begin = 0, end; begin < count; begin = end) {
            const bool all = plain(jobs[begin].image, jobs[begin].request);
            for (end = begin + 1; end < count && plain(jobs[end].image, jobs[end].request) == all;) ++end;
            if (all)
                engine_->run(jobs + begin, end - begin);
            else
                Engine::run(jobs + begin, end - begin);
        }
    }

    std::unique_ptr<StripAnalysis> analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                  Analysis& result, const Normalization* copies) override {
        if (plain(image, request)) return engine_->analyze_strips(image, request, result, copies);
        if (weighs(request)) {
            validate_weights(image, *request.validity);
            return std::make_unique<WeightedStrips>(workers_, *this, request, result, copies);
        }
        const bool in_strips = traits_of(image.depth).counting != Counting::bins && !copies && !request.sparse;
        Engine& engine = known_.sparse || (known_.masks(image.depth) && in_strips) ? *engine_ : cpu();
        return std::make_unique<ValidStrips>(workers_, engine, image, request, result, copies);
    }

  private:
    void validate(const ImageView& image, const AnalysisRequest& request) const {
        core::validate(image, request);
        if (!device_) require_host(image, "engine cpu");
        if (request.sparse && !known_.sparse) require_host(image, "samples that are sorted in place of counted");
        if (weighs(request)) validate_weights(image, *request.validity);
    }
    static void require_host(const ImageView& image, const char* what) {
        if (image.memory != Memory::host)
            throw InvalidArgument(std::string(what) + ": for images in host memory, and this one lies on a GPU");
    }
    /// Request for an image without alpha, whose samples are weighed afterwards.
    static AnalysisRequest without_weights(AnalysisRequest request) {
        Validity others = *request.validity;
        others.alpha = AlphaRule::row;
        others.opaque = 0;
        request.validity = others == Validity() ? nullptr : std::make_shared<const Validity>(std::move(others));
        return request;
    }
    /// Verdict: whether the engine does it as it is.
    bool plain(const ImageView& image, const AnalysisRequest& request) const {
        return all_count(image, request) && knows(request);
    }
    bool knows(const AnalysisRequest& request) const { return known_.sparse || !request.sparse; }
    /// Engine that measures what `Valid` makes of an image.
    Engine& engine_for(const Valid& valid, Depth depth, const AnalysisRequest& request) {
        return (known_.masks(depth) || valid.substitutes()) && knows(request) ? *engine_ : cpu();
    }
    Engine& cpu() {
        if (!cpu_) cpu_ = make_engine("cpu", options_);
        return *cpu_;
    }

    /// Copies gray and colors: by what was found, of all samples.
    void normalize_swept(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                         const MutableImageView& output, Analysis& result) {
        const Counting counting = traits_of(image.depth).counting;
        AnalysisRequest asked = request;
        asked.luma_histogram = needs_luma(request, normalization);
        if (counting == Counting::bins) return normalize_floats(image, asked, normalization, output, result);
        analyze(image, asked, result);
        const auto apply = counting == Counting::sorted ? &Normalizer::apply_sorted : &Normalizer::apply_counted;
        (normalizer_.*apply)(workers_, image, result, normalization, output);
        leave_out_luma(request, result);
    }

    void normalize_floats(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                          const MutableImageView& output, Analysis& result) {
        Engine& engine = cpu();  // the copy is made of its findings
        if (traits_of(normalization.mode).needs != NormalizeNeeds::counts) {
            ValidStrips strips(workers_, engine, image, request, result, &normalization);
            do strips.take(image);
            while (strips.end_pass());
            return strips.copy(image, output);
        }
        Valid valid(workers_, nullptr, image, request, true);
        const ImageView counted = valid.of(image);
        engine.analyze(counted, without_validity(request), result);
        valid.add_counts();
        MutableImageView floats = output;
        std::vector<float> memory;
        if (output.depth != Depth::f32) {
            memory.resize(static_cast<std::size_t>(image.pixels() * image.channels));
            floats.data = memory.data();
            floats.depth = Depth::f32;
            floats.row_bytes = floats.packed_row_bytes();
        }
        normalizer_.apply_floats(workers_, image, counted, result, normalization, counter_, floats);
        if (output.depth != Depth::f32) convert_floats(workers_, floats, output);
        valid.finish(image, result, {});
    }

    /// Copies bands each by its own table, or all samples by one, as of a gray image with a mask of these samples.
    void normalize_bands(const ImageView& image, const ImageRules& rules, const AnalysisRequest& request,
                         const Normalization& normalization, const MutableImageView& output, Analysis& result) {
        if (normalization.joint && traits_of(normalization.mode).joint_by_luma)
            throw InvalidArgument(std::string(to_string(normalization.mode)) +
                                  " of bands together goes by luma, which they have not: separate tables");
        analyze(image, request, result);
        std::vector<std::uint8_t> mask(static_cast<std::size_t>(image.pixels() * image.channels));
        classify(workers_, image, rules,
                 [&](std::int64_t row, std::int64_t column, int pixels, const BlockClasses& classes) {
                     std::uint8_t* to = mask.data() + (row * image.width + column) * image.channels;
                     for (int i = 0; i < pixels; ++i)
                         for (int c = 0; c < image.channels; ++c) *to++ = classes.counts[i] && !classes.nodata[c][i];
                 });
        const AnalysisRequest asked = without_validity(request);
        ImageView all = image;
        all.samples = Samples::color;
        Analysis one;
        if (normalization.joint) {
            ImageView gray = as_one_channel(all);
            gray.mask = mask.data();
            gray.mask_row_bytes = gray.width;
            return normalize_swept(gray, asked, normalization, as_one_channel(output), one);
        }
        Part from, to;
        std::vector<std::uint8_t> own(static_cast<std::size_t>(image.pixels()));
        for (int c = 0; c < image.channels; ++c) {
            for (std::size_t i = 0; i < own.size(); ++i)
                own[i] = mask[i * static_cast<std::size_t>(image.channels) + static_cast<std::size_t>(c)];
            ImageView band = from.of(all, c, 1);
            band.mask = own.data();
            band.mask_row_bytes = band.width;
            normalize_swept(band, asked, normalization, to.like(image, 1, output.depth), one);
            to.put(output, c);
        }
    }

    const std::unique_ptr<Engine> engine_;
    const MasksKnown known_;
    const std::unique_ptr<Classifier> device_;
    const EngineOptions options_;
    Workers workers_;
    std::unique_ptr<Engine> cpu_;
    Normalizer normalizer_;
    WeightedAnalyzer weighted_;
    FloatAnalyzer counter_;
};

}  // namespace
}  // namespace cpu

void settle_copy(const ImageView& image, const AnalysisRequest& request, bool valid_only,
                 const MutableImageView& output, int threads) {
    if (cpu::all_count(image, request)) return;
    core::validate(image, request);
    core::validate_output(image, output.depth, output);
    cpu::Workers workers(threads);
    cpu::settle(workers, image, cpu::ImageRules(image, request.validity.get()), valid_only, output);
}

std::unique_ptr<Engine> with_validity(std::unique_ptr<Engine> engine, const MasksKnown& known,
                                      std::unique_ptr<cpu::Classifier> device, const EngineOptions& options) {
    return std::make_unique<cpu::ValidityEngine>(std::move(engine), known, std::move(device), options);
}

}  // namespace gpuhist
