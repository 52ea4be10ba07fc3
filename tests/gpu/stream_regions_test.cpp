// Regions in the stream-level API: the numbers of each label are those that the CPU finds in its pixels.
#include "gpuhist/stream_regions.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "core/codes.hpp"
#include "core/integers.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/regions.hpp"
#include "support/raster.hpp"
#include "support/stream_behavior.hpp"

namespace gpuhist::test {
namespace {

using LabelAt = std::function<std::uint32_t(std::int64_t x, std::int64_t y)>;

/// Samples of one depth on both sides, rows and images so many bytes apart: on the GPU what was there is poison.
struct Pixels {
    std::int64_t width, height, images, row_bytes, image_bytes;
    int channels;
    Depth depth;
    std::vector<std::byte> bytes;
    std::unique_ptr<DeviceMemory> memory;

    Pixels(std::int64_t w, std::int64_t h, std::int64_t n, int c, Depth d, int padding)
        : width(w), height(h), images(n), channels(c), depth(d) {
        const auto sample = static_cast<std::int64_t>(sample_bytes(d));
        row_bytes = (w * c + padding) * sample;
        image_bytes = h * row_bytes + padding * sample;
        bytes.assign(static_cast<std::size_t>(n * image_bytes), std::byte{0x3C});
    }
    std::byte* at(std::int64_t image, std::int64_t x, std::int64_t y) {
        return bytes.data() + image * image_bytes + y * row_bytes +
               x * channels * static_cast<std::int64_t>(sample_bytes(depth));
    }
    ImageView view(std::int64_t image, bool device) const {
        const void* const data = device ? static_cast<const void*>(memory->data()) : bytes.data();
        ImageView view{
            static_cast<const std::byte*>(data) + image * image_bytes, width, height, channels, depth, row_bytes};
        view.memory = device ? Memory::device : Memory::host;
        return view;
    }
    BatchView batch() const { return {view(0, true), images, image_bytes}; }
    void upload() {
        memory = std::make_unique<DeviceMemory>(bytes.size(), untouched);
        check(cudaMemcpy(memory->data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
        check(cudaStreamSynchronize(nullptr));
    }
};

Pixels pixels_of(std::int64_t width, std::int64_t height, std::int64_t images, int channels, Depth depth, int padding,
                 std::uint64_t seed) {
    Pixels pixels(width, height, images, channels, depth, padding);
    for (std::int64_t i = 0; i < images; ++i)
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x) {
                const std::uint64_t bits = (seed = scramble(seed));
                std::memcpy(pixels.at(i, x, y), &bits, sample_bytes(depth) * static_cast<std::size_t>(channels));
            }
    return pixels;
}
/// Pixels of which each sample is written from random bits, by write(sample, bits, x, y).
template <class Write>
Pixels pixels_by(std::int64_t width, std::int64_t height, std::int64_t images, int channels, Depth depth, int padding,
                 std::uint64_t seed, const Write& write) {
    Pixels pixels(width, height, images, channels, depth, padding);
    with_depth(depth, [&](auto type) {
        using Sample = decltype(type);
        for (std::int64_t i = 0; i < images; ++i)
            for (std::int64_t y = 0; y < height; ++y)
                for (std::int64_t x = 0; x < width; ++x)
                    for (int c = 0; c < channels; ++c) {
                        Sample sample;
                        write(sample, seed = scramble(seed), x, y);
                        std::memcpy(pixels.at(i, x, y) + static_cast<std::size_t>(c) * sizeof sample, &sample,
                                    sizeof sample);
                    }
    });
    return pixels;
}

template <class Sample>
void set(Sample& sample, double value) {
    if constexpr (std::is_same_v<Sample, Half>)
        sample = core::narrowed<Half>(static_cast<float>(value));
    else
        sample = static_cast<Sample>(value);
}

/// Kinds of populations that a region has, of which each asks something else of moments.
enum class Kind { any_bits, even, far_from_zero, outlier, constant, not_finite, near_zero, largest, count };

template <class Sample>
void set_of_kind(Sample& sample, Kind kind, std::uint64_t bits) {
    const bool real = core::is_real<Sample>;
    const double highest = core::value_of(core::sample_at<Sample>(
        static_cast<core::Code<Sample>>(core::plus_infinity_code<Sample> - (core::is_real<Sample> ? 1 : 0))));
    const auto one_of = [&](std::uint64_t n) { return static_cast<double>(bits / 64 % n); };
    switch (kind) {
        case Kind::any_bits:
        case Kind::count:
            std::memcpy(&sample, &bits, sizeof sample);
            return;
        case Kind::even:
            return set(sample, one_of(20001) * (real ? 0.37 : 1) - (std::is_signed_v<Sample> || real ? 3000 : 0));
        case Kind::far_from_zero:
            return set(sample, highest / 2 + one_of(7) * (real ? highest / 4096 : 1));
        case Kind::outlier:
            return set(sample, bits % 50 == 0 ? highest : one_of(1000) * (real ? 1e-3 : 1));
        case Kind::constant:
            return set(sample, real ? 0.1 : 3);
        case Kind::not_finite: {
            const double infinite = std::numeric_limits<double>::infinity();
            if (!real) return set(sample, one_of(3));
            return set(sample, bits % 64 < 40   ? bits % 2 ? std::numeric_limits<double>::quiet_NaN() : -std::nan("")
                                 : bits % 64 < 50 ? infinite
                               : bits % 64 < 60 ? -infinite
                                                : one_of(5));
        }
        case Kind::near_zero:  // subnormal numbers, and zeros of both signs
            if (!real) return set(sample, one_of(2));
            bits = bits % 8 == 0 ? bits << 63 : (bits & 0xFF) | bits << 63;
            if constexpr (core::is_real<Sample>) {
                const auto low = static_cast<core::Code<Sample>>(bits);
                const auto sign = static_cast<core::Code<Sample>>(bits >> 63) << (8 * sizeof sample - 1);
                const auto both = static_cast<core::Code<Sample>>(low | sign);
                std::memcpy(&sample, &both, sizeof sample);
            }
            return;
        case Kind::largest:
            return set(sample, bits % 2 == 0 ? highest : real ? -highest : 0);
    }
}

/// Region of a pixel, in a picture of regions that are 37 × 11 pixels; and their kinds, which take turns.
std::uint32_t tile_of(std::int64_t x, std::int64_t y) {
    return static_cast<std::uint32_t>(x / 37 + y / 11 * 9);
}
Pixels pixels_of_kinds(std::int64_t width, std::int64_t height, std::int64_t images, int channels, Depth depth,
                       int padding, std::uint64_t seed) {
    return pixels_by(width, height, images, channels, depth, padding, seed,
                     [](auto& sample, std::uint64_t bits, std::int64_t x, std::int64_t y) {
                         set_of_kind(sample, static_cast<Kind>(tile_of(x, y) % static_cast<std::uint32_t>(Kind::count)),
                                     bits);
                     });
}

Pixels labels_of(std::int64_t width, std::int64_t height, std::int64_t images, Depth depth, int padding,
                 const std::function<std::uint32_t(std::int64_t image, std::int64_t x, std::int64_t y)>& label) {
    Pixels pixels(width, height, images, 1, depth, padding);
    for (std::int64_t i = 0; i < images; ++i)
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x) {
                const std::uint32_t value = label(i, x, y);
                std::memcpy(pixels.at(i, x, y), &value, sample_bytes(depth));
            }
    return pixels;
}

class StreamRegionsTest : public StreamTest {
  protected:
    /// Results in device memory full of poison, and a workspace just as dirty.
    struct Subject {
        explicit Subject(const RegionPlan& plan)
            : workspace(StreamRegionAnalyzer::workspace_bytes(plan), 0xA7),
              analyzer(plan, workspace.data()),
              results(analyzer.layout().bytes, 0x5A) {}
        ~Subject() {
            EXPECT_TRUE(workspace.guard_untouched());
            EXPECT_TRUE(results.guard_untouched());
        }
        void fetch() {
            host.resize(results.bytes() / sizeof(double) + 1);
            check(cudaMemcpy(host.data(), results.data(), results.bytes(), cudaMemcpyDeviceToHost));
        }
        const RegionsFound& found() const { return *reinterpret_cast<const RegionsFound*>(host.data()); }
        const RegionResult& result(std::size_t i) const {
            const RegionLayout layout = analyzer.layout();
            return *reinterpret_cast<const RegionResult*>(reinterpret_cast<const char*>(host.data()) + layout.first +
                                                          i * layout.stride);
        }
        double percentile(std::size_t i, std::size_t channel, std::size_t which) const {
            const auto* const at = reinterpret_cast<const double*>(reinterpret_cast<const char*>(&result(i)) +
                                                                   analyzer.layout().percentiles_offset);
            return at[channel * analyzer.plan().percentiles.size() + which];
        }

        DeviceMemory workspace;
        StreamRegionAnalyzer analyzer;
        DeviceMemory results;
        std::vector<double> host;
    };

    /// Expects the regions of an image from result `at` on; returns the result behind them.
    static std::size_t expect_regions(const Subject& subject, std::size_t at, std::int64_t image,
                                      const std::vector<Region>& regions) {
        const Percentiles& list = subject.analyzer.plan().percentiles;
        const auto limit = static_cast<std::size_t>(subject.analyzer.plan().regions);
        for (const Region& region : regions) {
            if (at == limit) break;
            const RegionResult& got = subject.result(at);
            SCOPED_TRACE("image " + std::to_string(image) + ", label " + std::to_string(region.label));
            EXPECT_EQ(got.label, region.label);
            EXPECT_EQ(got.image, image);
            EXPECT_EQ(got.x, region.x);
            EXPECT_EQ(got.y, region.y);
            EXPECT_EQ(got.width, region.width);
            EXPECT_EQ(got.height, region.height);
            EXPECT_EQ(got.area, region.area);
            const std::vector<Statistics> wanted = statistics(region.analysis, list);
            for (std::size_t c = 0; c < region.analysis.channels.size(); ++c) {
                const ChannelAnalysis& channel = region.analysis.channels[c];
                SCOPED_TRACE(to_string(channel.channel));
                const auto truth = std::find_if(wanted.begin(), wanted.end(),
                                                [&](const Statistics& of) { return of.channel == channel.channel; });
                const ChannelResult& found = got.channels[c];
                EXPECT_TRUE(found.by_class(got.area) == truth->by_class());
                EXPECT_EQ(found.minimum, truth->min.value_or(0));
                EXPECT_EQ(found.maximum, truth->max.value_or(0));
                EXPECT_EQ(found.mean, truth->mean.value_or(0));
                EXPECT_EQ(found.std, truth->std.value_or(0));
                EXPECT_EQ(found.below + found.above, 0);
                std::uint64_t sum = 0;
                core::u128 squares = 0;
                if (!traits_of(region.analysis.depth).floating)
                    for (FrequencyReader reader(channel.values.runs()); reader.next();) {
                        sum += reader.key() * reader.count();
                        squares += static_cast<core::u128>(reader.key()) * reader.key() * reader.count();
                    }
                EXPECT_EQ(found.sum, sum);
                EXPECT_EQ(found.sum_squares, core::to_public(static_cast<core::i128>(squares)));
                EXPECT_EQ(found.weight, region.analysis.weighted ? truth->weight.value_or(0) : 0);
                const auto& percentiles = region.analysis.weighted ? truth->weighted_percentiles : truth->percentiles;
                for (std::size_t p = 0; p < list.size(); ++p) {
                    const double value = subject.percentile(at, c, p);
                    if (percentiles[p].value)
                        EXPECT_EQ(value, *percentiles[p].value);
                    else
                        EXPECT_TRUE(std::isnan(value));
                }
            }
            ++at;
        }
        return at;
    }
    static RegionPlan plan_of(const Pixels& pixels, const Pixels& labels, std::int64_t regions) {
        RegionPlan plan;
        plan.depth = pixels.depth;
        plan.channels = pixels.channels;
        plan.labels = labels.depth;
        plan.pixels = pixels.width * pixels.height * pixels.images;
        plan.images = pixels.images;
        plan.regions = regions;
        plan.percentiles = Percentiles({0, 12.345678, 50, 99, 100});
        return plan;
    }
    /// Measures all images, and expects what the CPU finds in each.
    void expect_same(Subject& subject, const Pixels& pixels, const Pixels& labels) {
        subject.results.fill(0xFF);
        subject.analyzer.enqueue(pixels.batch(), labels.batch(), subject.results.data(), stream);
        synchronize();
        subject.fetch();
        RegionOptions options;
        options.label_zero = subject.analyzer.plan().label_zero;
        AnalysisRequest request;
        request.validity = subject.analyzer.plan().validity;
        request.percentiles = subject.analyzer.plan().percentiles;
        std::size_t at = 0, all = 0;
        for (std::int64_t i = 0; i < pixels.images; ++i) {
            const std::vector<Region> regions =
                analyze_regions(pixels.view(i, false), labels.view(i, false), request, options);
            all += regions.size();
            at = expect_regions(subject, at, i, regions);
        }
        EXPECT_EQ(subject.found().regions, all);
        EXPECT_EQ(subject.found().refused_pixels, 0);
        EXPECT_EQ(at, std::min(all, static_cast<std::size_t>(subject.analyzer.plan().regions)));
    }
};

TEST_P(StreamRegionsTest, are_those_of_the_cpu) {
    std::uint64_t seed = 1;
    for (const Depth depth : {Depth::u8, Depth::s8, Depth::u16, Depth::s16})
        for (const int channels : {1, 3, 4})
            for (const Depth of_labels : {Depth::u8, Depth::u16, Depth::u32, Depth::s32})
                for (const bool zero : {false, true}) {
                    SCOPED_TRACE(std::string(to_string(depth)) + std::to_string(channels) + ", labels " +
                                 to_string(of_labels) + (zero ? " and 0" : ""));
                    const int padding = static_cast<int>(seed % 5);
                    Pixels pixels = pixels_of(301, 67, 1, channels, depth, padding, ++seed);
                    const auto highest = static_cast<std::uint32_t>(traits_of(of_labels).highest);
                    Pixels labels = labels_of(301, 67, 1, of_labels, 3 - padding % 3, [&](auto, auto x, auto y) {
                        if (x == 300) return y == 66 ? 77u : highest;  // one pixel, and the largest there is
                        if (y > 50)
                            return static_cast<std::uint32_t>(scramble(static_cast<std::uint64_t>(x * 67 + y)) % 200);
                        return static_cast<std::uint32_t>(x < 9 ? 0 : (x / 37 + y / 11 * 9) % 250);
                    });
                    pixels.upload();
                    labels.upload();
                    RegionPlan plan = plan_of(pixels, labels, 256);
                    plan.label_zero = zero;
                    Subject subject(plan);
                    expect_same(subject, pixels, labels);
                }
}

TEST_P(StreamRegionsTest, of_depths_whose_samples_are_not_counted) {
    std::uint64_t seed = 1;
    for (const Depth depth : {Depth::u32, Depth::s32, Depth::f16, Depth::f32, Depth::f64})
        for (const int channels : {1, 3, 4})
            for (const Depth of_labels : {Depth::u8, Depth::u16, Depth::u32}) {
                SCOPED_TRACE(std::string(to_string(depth)) + std::to_string(channels) + ", labels " +
                             to_string(of_labels));
                const int padding = static_cast<int>(++seed % 4);
                Pixels pixels = pixels_of_kinds(301, 67, 1, channels, depth, padding, seed);
                Pixels labels = labels_of(301, 67, 1, of_labels, padding, [&](auto, auto x, auto y) {
                    if (y > 55)
                        return static_cast<std::uint32_t>(scramble(static_cast<std::uint64_t>(x * 67 + y)) % 30);
                    return tile_of(x, y) + 1;
                });
                pixels.upload();
                labels.upload();
                RegionPlan plan = plan_of(pixels, labels, 256);
                plan.label_zero = seed % 2 == 0;
                Subject subject(plan);
                expect_same(subject, pixels, labels);
            }
}

TEST_P(StreamRegionsTest, of_one_large_region) {
    for (const Depth depth : {Depth::u32, Depth::s32, Depth::f16, Depth::f32, Depth::f64})
        for (const Kind kind : {Kind::any_bits, Kind::even, Kind::outlier, Kind::largest}) {
            SCOPED_TRACE(std::string(to_string(depth)) + " of kind " + std::to_string(static_cast<int>(kind)));
            Pixels pixels = pixels_by(1003, 500, 1, 1, depth, 0, 77, [&](auto& sample, std::uint64_t bits, auto, auto) {
                set_of_kind(sample, kind, bits);
            });
            Pixels labels = labels_of(1003, 500, 1, Depth::u8, 0, [](auto, auto, auto) { return 1u; });
            pixels.upload();
            labels.upload();
            Subject subject(plan_of(pixels, labels, 2));
            expect_same(subject, pixels, labels);
        }
}

TEST_P(StreamRegionsTest, of_more_labels_and_images_than_64_bits_tell_apart) {
    constexpr std::int64_t images = 70'000;
    Pixels pixels = pixels_of(1, 1, images, 1, Depth::u16, 0, 3);
    Pixels labels = labels_of(1, 1, images, Depth::u32, 0,
                              [](auto i, auto, auto) { return static_cast<std::uint32_t>(4'294'967'295u - i % 3); });
    pixels.upload();
    labels.upload();
    Subject subject(plan_of(pixels, labels, images));
    subject.analyzer.enqueue(pixels.batch(), labels.batch(), subject.results.data(), stream);
    synchronize();
    subject.fetch();
    EXPECT_EQ(subject.found().regions, images);
    for (std::int64_t i = 0; i < images; ++i) {
        const RegionResult& got = subject.result(static_cast<std::size_t>(i));
        std::uint16_t sample = 0;
        std::memcpy(&sample, pixels.at(i, 0, 0), sizeof sample);
        ASSERT_EQ(got.image, i);
        ASSERT_EQ(got.label, 4'294'967'295u - i % 3);
        ASSERT_EQ(got.area, 1);
        ASSERT_EQ(got.channels[0].mean, sample);
    }
}

TEST_P(StreamRegionsTest, of_few_labels) {
    std::uint64_t seed = 1;
    for (const Depth depth : {Depth::u8, Depth::s8})
        for (const int channels : {1, 3, 4})
            for (const Depth of_labels : {Depth::u8, Depth::u16, Depth::s32})
                for (const std::uint32_t largest : {1u, 2u, 63u, 64u, 65u}) {  // the last of which are sorted
                    SCOPED_TRACE(std::string(to_string(depth)) + std::to_string(channels) + ", labels " +
                                 to_string(of_labels) + " up to " + std::to_string(largest));
                    const std::int64_t images = 1 + largest % 3;
                    ++seed;
                    Pixels pixels = pixels_of(261, 67, images, channels, depth, static_cast<int>(seed % 5), seed);
                    Pixels labels = labels_of(261, 67, images, of_labels, 1, [&](auto i, auto x, auto y) {
                        if (y > 50) return static_cast<std::uint32_t>(scramble(x * 67 + y + i)) % (largest + 1);
                        return static_cast<std::uint32_t>(i == 1 ? 0 : x / 5 + y / 11) % (largest / 2 + 1);
                    });
                    pixels.upload();
                    labels.upload();
                    RegionPlan plan = plan_of(pixels, labels, 256);
                    plan.largest_label = largest;
                    plan.label_zero = largest % 2 == 1;
                    Subject subject(plan);
                    expect_same(subject, pixels, labels);
                    plan.regions = 7;
                    Subject small(plan);
                    expect_same(small, pixels, labels);
                }
}

TEST_P(StreamRegionsTest, of_samples_that_count_by_rules) {
    for (const Depth depth : {Depth::u8, Depth::s16, Depth::u32, Depth::f16, Depth::f32, Depth::f64})
        for (const int channels : {1, 3, 4})
            for (const std::uint64_t largest : {60, 600}) {
                SCOPED_TRACE(std::string(to_string(depth)) + std::to_string(channels) + ", " + std::to_string(largest));
                Pixels pixels =
                    pixels_by(130, 60, 2, channels, depth, 3, 17, [](auto& sample, std::uint64_t bits, auto, auto) {
                        set(sample, static_cast<double>(bits % 120));
                        if (bits % 31 == 0) set_of_kind(sample, Kind::not_finite, bits / 31);
                    });
                Pixels labels = labels_of(130, 60, 2, Depth::u16, 0, [&](auto i, auto x, auto y) {
                    return static_cast<std::uint32_t>(x / 13 + y / 10 * 10 + i) % (largest == 60 ? 61u : 600u);
                });
                pixels.upload();
                labels.upload();
                RegionPlan plan = plan_of(pixels, labels, 600);
                plan.largest_label = largest;
                for (const bool any : {false, true}) {
                    Validity rules;
                    rules.nodata = {{{}, 3}, {{}, 77}};
                    if (any && traits_of(depth).floating) rules.nodata.push_back({{}, std::nan("")});
                    rules.valid = {{{}, 1, 100}};
                    if (channels > 1) rules.valid.push_back({Channel::green, -50, 90});
                    rules.nodata_any = any;
                    if (channels == 4 && any) rules.alpha = AlphaRule::mask;
                    plan.validity = std::make_shared<Validity>(rules);
                    Subject subject(plan);
                    expect_same(subject, pixels, labels);
                }
            }
}

TEST_P(StreamRegionsTest, weighted_by_alpha) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::s16})
        for (const int channels : {1, 3, 4})
            for (const bool rules : {false, true}) {
                if (depth == Depth::s16 && channels == 4) continue;  // alpha with a sign is no weight
                SCOPED_TRACE(std::string(to_string(depth)) + std::to_string(channels) + (rules ? ", rules" : ""));
                Pixels pixels = pixels_by(
                    230, 120, 2, channels, depth, 1, 29, [](auto& sample, std::uint64_t bits, std::int64_t x, auto) {
                        set(sample, x > 100 && bits % 3 == 0 ? 0 : static_cast<double>(bits % 120));
                    });
                // Regions of a pixel, of some hundreds, and of more than a warp measures.
                Pixels labels = labels_of(230, 120, 2, Depth::u16, 0, [](auto i, auto x, auto y) {
                    if (y < 3) return static_cast<std::uint32_t>(x + 10);
                    return static_cast<std::uint32_t>(y > 60 ? 1 + i : 300 + x / 20 + y / 20 * 20);
                });
                pixels.upload();
                labels.upload();
                RegionPlan plan = plan_of(pixels, labels, 1000);
                Validity weight;
                weight.alpha = AlphaRule::weight;
                if (rules) {
                    weight.nodata = {{{}, 3}};
                    weight.valid = {{{}, 1, 100}};
                    weight.opaque = 77;
                }
                plan.validity = std::make_shared<Validity>(weight);
                Subject subject(plan);
                expect_same(subject, pixels, labels);
            }
}

TEST_P(StreamRegionsTest, of_one_label_and_of_one_for_each_pixel) {
    Pixels pixels = pixels_of(513, 200, 1, 1, Depth::u16, 1, 5);
    pixels.upload();
    for (const bool one : {true, false}) {
        Pixels labels = labels_of(513, 200, 1, Depth::u32, 0, [&](auto, auto x, auto y) {
            return one ? 3u : static_cast<std::uint32_t>(4'000'000'000u - 7919 * (y * 513 + x));
        });
        labels.upload();
        Subject subject(plan_of(pixels, labels, 513 * 200));
        expect_same(subject, pixels, labels);
    }
}

TEST_P(StreamRegionsTest, of_label_maps_in_a_batch) {
    for (const int channels : {1, 3})
        for (const std::int64_t images : {2, 7}) {
            Pixels pixels = pixels_of(65, 33, images, channels, Depth::u8, 2, 9);
            Pixels labels = labels_of(65, 33, images, Depth::u16, 1, [](std::int64_t i, auto x, auto y) {
                return static_cast<std::uint32_t>(i == 1 ? 0 : (x + i) / 5 + y / 7 * 30);
            });
            pixels.upload();
            labels.upload();
            RegionPlan plan = plan_of(pixels, labels, 2000);
            plan.largest_label = 500;
            Subject subject(plan);
            expect_same(subject, pixels, labels);
            // Fewer images than were planned, and less room than there are regions.
            pixels.images = labels.images = images - 1;
            expect_same(subject, pixels, labels);
            plan.regions = 41;
            Subject small(plan);
            expect_same(small, pixels, labels);
        }
}

TEST_P(StreamRegionsTest, of_pixels_that_a_mask_leaves) {
    for (const auto& [depth, largest] : {std::pair{Depth::u8, 0},
                                         {Depth::u8, 60},
                                         {Depth::u16, 0},
                                         {Depth::s32, 0},
                                         {Depth::f16, 0},
                                         {Depth::f32, 0},
                                         {Depth::f64, 0}}) {
        SCOPED_TRACE(to_string(depth));
        Pixels pixels = pixels_of_kinds(200, 90, 2, 4, depth, 1, 21);
        const Depth of_labels = depth == Depth::s32 ? Depth::u32 : Depth::u16;
        Pixels labels = labels_of(200, 90, 2, of_labels, 0, [](auto, auto x, auto y) {
            return static_cast<std::uint32_t>(x / 10 + y / 30 * 20);
        });
        Pixels mask = labels_of(200, 90, 2, Depth::u8, 5, [](auto i, auto x, auto y) {
            if (x < 40) return y < 30 ? 0u : 200u;  // regions of no sample, and whole ones
            return static_cast<std::uint32_t>(scramble(static_cast<std::uint64_t>(x * 90 + y + i)) % 3);
        });
        for (Pixels* each : {&pixels, &labels, &mask}) each->upload();
        RegionPlan plan = plan_of(pixels, labels, 200);
        plan.masks = true;
        plan.largest_label = static_cast<std::uint64_t>(largest);
        Subject subject(plan);
        const auto masked = [&](std::int64_t image, bool device) {
            ImageView view = pixels.view(image, device);
            view.mask = static_cast<const std::uint8_t*>(mask.view(image, device).data);
            view.mask_row_bytes = mask.row_bytes;
            return view;
        };
        const BatchView batch{masked(0, true), 2, pixels.image_bytes, mask.image_bytes};
        subject.analyzer.enqueue(batch, labels.batch(), subject.results.data(), stream);
        synchronize();
        subject.fetch();
        AnalysisRequest request;
        request.percentiles = plan.percentiles;
        std::size_t at = 0;
        for (std::int64_t i = 0; i < 2; ++i)
            at = expect_regions(subject, at, i, analyze_regions(masked(i, false), labels.view(i, false), request));
        EXPECT_EQ(subject.found().regions, at);
        expect_same(subject, pixels, labels);
    }
}

TEST_P(StreamRegionsTest, count_pixels_of_labels_that_are_refused) {
    Pixels pixels = pixels_of(64, 64, 1, 1, Depth::u8, 0, 2);
    Pixels labels = labels_of(64, 64, 1, Depth::s32, 0, [](auto, auto x, auto y) {
        return static_cast<std::uint32_t>(y == 0 ? -1 - x : y == 1 ? 1000 + x : x % 4);
    });
    pixels.upload();
    labels.upload();
    RegionPlan plan = plan_of(pixels, labels, 10);
    plan.largest_label = 999;
    Subject subject(plan);
    subject.analyzer.enqueue(pixels.view(0, true), labels.view(0, true), subject.results.data(), stream);
    synchronize();
    subject.fetch();
    EXPECT_EQ(subject.found().regions, 3);
    EXPECT_EQ(subject.found().refused_pixels, 128);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(subject.result(i).area, 16 * 62);
}

TEST_P(StreamRegionsTest, are_replayed_in_a_graph) {
    for (const Depth depth : {Depth::u16, Depth::f32, Depth::f64}) {
        Pixels pixels = pixels_of_kinds(100, 80, 3, 3, depth, 0, 4);
        Pixels labels = labels_of(100, 80, 3, Depth::u16, 0, [](auto i, auto x, auto y) {
            return static_cast<std::uint32_t>(x / 9 + y / 9 * 12 + i);
        });
        pixels.upload();
        labels.upload();
        Subject subject(plan_of(pixels, labels, 400));
        const Graph graph(
            stream, [&] { subject.analyzer.enqueue(pixels.batch(), labels.batch(), subject.results.data(), stream); });
        AnalysisRequest request;
        request.percentiles = subject.analyzer.plan().percentiles;
        for (const std::uint64_t seed : {1, 2}) {
            pixels.bytes = pixels_of_kinds(100, 80, 3, 3, depth, 0, seed).bytes;
            check(cudaMemcpy(pixels.memory->data(), pixels.bytes.data(), pixels.bytes.size(), cudaMemcpyHostToDevice));
            check(cudaDeviceSynchronize());
            subject.results.fill(0x77);
            graph.launch(stream);
            synchronize();
            subject.fetch();
            std::size_t at = 0;
            for (std::int64_t i = 0; i < 3; ++i)
                at = expect_regions(subject, at, i,
                                    analyze_regions(pixels.view(i, false), labels.view(i, false), request));
            EXPECT_EQ(subject.found().regions, at);
        }
    }
}

TEST_P(StreamRegionsTest, others_are_refused_by_name) {
    Pixels pixels = pixels_of(8, 8, 1, 1, Depth::u8, 0, 4);
    Pixels labels = labels_of(8, 8, 1, Depth::u16, 0, [](auto, auto, auto) { return 1u; });
    pixels.upload();
    labels.upload();
    const RegionPlan good = plan_of(pixels, labels, 4);
    const auto refused = [&](auto change, const char* words) {
        RegionPlan plan = good;
        change(plan);
        try {
            StreamRegionAnalyzer analyzer(plan);
            ADD_FAILURE() << "taken, for " << words;
        } catch (const std::exception& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    };
    refused([](RegionPlan& plan) { plan.depth = static_cast<Depth>(77); }, "unknown depth");
    refused([](RegionPlan& plan) { plan.labels = Depth::f32; }, "labels of f32");
    refused([](RegionPlan& plan) { plan.channels = 2; }, "2 channels");
    refused([](RegionPlan& plan) { plan.largest_label = 65536; }, "labels up to 65536, which u16");
    refused([](RegionPlan& plan) { plan.pixels = 0; }, "plan of 0 pixels");
    refused([](RegionPlan& plan) { plan.regions = 0; }, "plan of 0 regions");
    refused([](RegionPlan& plan) { plan.images = 65; }, "plan of 65 images");
    refused([](RegionPlan& plan) { plan.gpu = 99; }, "99");
    Validity weight;
    weight.alpha = AlphaRule::weight;
    refused(
        [&](RegionPlan& plan) {
            plan.depth = Depth::f32;
            plan.validity = std::make_shared<Validity>(weight);
        },
        "samples of f32 are not weighted by alpha in device memory");

    Subject subject(good);
    const auto not_taken = [&](const ImageView& image, const ImageView& map, const char* words) {
        expect_refused([&] { subject.analyzer.enqueue(image, map, subject.results.data(), stream); }, words);
    };
    const ImageView image = pixels.view(0, true), map = labels.view(0, true);
    ImageView other = map;
    other.width = 7;
    not_taken(image, other, "labels of 7 x 8 pixels for an image of 8 x 8");
    not_taken(pixels.view(0, false), map, "host memory");
    not_taken(image, labels.view(0, false), "host memory");
    not_taken(map, map, "1 channels u16");
    not_taken(image, image, "labels of u8");
    other = image;
    other.mask = static_cast<const std::uint8_t*>(image.data);
    other.mask_row_bytes = 8;
    not_taken(other, map, "mask");
    EXPECT_THROW(subject.analyzer.enqueue(image, map, nullptr, stream), InvalidArgument);
    EXPECT_THROW(subject.analyzer.enqueue(image, map, subject.results.data() + 8, stream), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Stream, StreamRegionsTest, testing::Values(paths[0]), label_of_path);

}  // namespace
}  // namespace gpuhist::test
