// Images that lie in GPU memory already: the same bits as from the host. Built where the CUDA engine is.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/engines_under_test.hpp"
#include "support/modes.hpp"
#include "support/oracle.hpp"
#include "support/validity_cases.hpp"

namespace gpuhist::test {
namespace {

void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// Place of pixels: samples behind each row, before the first and behind the last.
struct Placement {
    int row_padding, before, behind;
};
constexpr Placement placements[] = {{0, 0, 16}, {0, 1, 0}, {3, 5, 0}, {16, 0, 16}, {13, 15, 0}};

/// A picture's pixels in GPU memory, in rows of its own length, at an alignment of their own. What lies between the
/// rows and around them is 0xC3.
class DevicePicture {
  public:
    DevicePicture(const ImageView& host, const Placement& at) : host_(host) {
        const auto bytes = static_cast<std::int64_t>(sample_bytes(host.depth));
        first_ = at.before * bytes;
        row_bytes_ = host.packed_row_bytes() + at.row_padding * bytes;
        size_ = static_cast<std::size_t>(first_ + row_bytes_ * (host.height - 1) + host.packed_row_bytes() +
                                         at.behind * bytes);
        check(cudaMalloc(&memory_, size_));
        check(cudaMemset(memory_, 0xC3, size_));
        check(cudaMemcpy2D(data(), static_cast<std::size_t>(row_bytes_), host.data,
                           static_cast<std::size_t>(host.row_bytes), packed_row(), rows(), cudaMemcpyHostToDevice));
    }
    ~DevicePicture() { cudaFree(memory_); }
    DevicePicture(const DevicePicture&) = delete;
    DevicePicture& operator=(const DevicePicture&) = delete;

    MutableImageView view() const {
        return {data(),      host_.width, host_.height, host_.channels,
                host_.depth, row_bytes_,  host_.order,  Memory::device};
    }
    void copy_to(Picture& picture) const { copy_to(picture.mutable_view()); }
    void copy_to(const MutableImageView& to) const {
        check(cudaMemcpy2D(to.data, static_cast<std::size_t>(to.row_bytes), data(),
                           static_cast<std::size_t>(row_bytes_), packed_row(), rows(), cudaMemcpyDeviceToHost));
    }
    /// Memory around the pixels still is what it was.
    bool surroundings_untouched() const {
        check(cudaMemset2D(data(), static_cast<std::size_t>(row_bytes_), 0xC3, packed_row(), rows()));
        std::vector<unsigned char> bytes(size_);
        check(cudaMemcpy(bytes.data(), memory_, size_, cudaMemcpyDeviceToHost));
        for (unsigned char byte : bytes)
            if (byte != 0xC3) return false;
        return true;
    }

  private:
    char* data() const { return static_cast<char*>(memory_) + first_; }
    std::size_t packed_row() const { return static_cast<std::size_t>(host_.packed_row_bytes()); }
    std::size_t rows() const { return static_cast<std::size_t>(host_.height); }

    ImageView host_;
    void* memory_ = nullptr;
    std::int64_t first_ = 0, row_bytes_ = 0;
    std::size_t size_ = 0;
};

class DeviceTest : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Conformance, DeviceTest, testing::Values(engines_under_test[1], engines_under_test[2]),
                         label_of);

// Lists of jobs, where some pixels lie on the host and some on the GPU.
TEST_P(DeviceTest, small_jobs) {
    std::vector<std::unique_ptr<Picture>> hosts, outputs;
    std::vector<std::unique_ptr<DevicePicture>> devices, device_outputs;
    std::vector<Analysis> results(24);
    std::vector<Job> jobs(results.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const auto n = static_cast<std::int64_t>(i);
        const Shape shape{5 + n, 30 - n, i % 2 ? 3 : 1, i % 6 < 3 ? Depth::u8 : Depth::f32};
        hosts.push_back(std::make_unique<Picture>(shape, layouts[i % 5], Content::natural));
        outputs.push_back(std::make_unique<Picture>(shape, packed));
        const auto& at = placements[i % 5];
        devices.push_back(std::make_unique<DevicePicture>(hosts[i]->view(), at));
        device_outputs.push_back(std::make_unique<DevicePicture>(outputs[i]->view(), at));
        const bool on_device = i % 3 != 0;
        jobs[i].image = on_device ? devices[i]->view() : hosts[i]->view();
        jobs[i].result = &results[i];
        if (i % 4 < 2) continue;
        jobs[i].normalization = Normalization{};
        jobs[i].output = on_device ? device_outputs[i]->view() : outputs[i]->mutable_view();
    }
    engine->run(jobs.data(), jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        SCOPED_TRACE(i);
        ASSERT_FALSE(jobs[i].error);
        Analysis expected;
        if (!jobs[i].normalization) {
            reference->analyze(hosts[i]->view(), {}, expected);
        } else {
            Picture copy(hosts[i]->shape(), packed);
            reference->normalize(hosts[i]->view(), {}, *jobs[i].normalization, copy.mutable_view(), expected);
            if (jobs[i].image.memory == Memory::device) {
                device_outputs[i]->copy_to(*outputs[i]);
                EXPECT_TRUE(device_outputs[i]->surroundings_untouched());
            }
            EXPECT_EQ(difference(outputs[i]->view(), copy.view()), "");
        }
        EXPECT_EQ(difference(results[i], expected), "");
    }
}

TEST_P(DeviceTest, small_analyze) {
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (int channels : {1, 3, 4})
            for (const Placement& at : placements)
                for (const auto& [width, height] : {std::pair{1, 1}, {15, 1}, {17, 5}, {211, 97}}) {
                    if (left_out()) continue;
                    const Content content = depth == Depth::f32 ? Content::specials : Content::natural;
                    const Picture picture({width, height, channels, depth, ChannelOrder::rgb}, packed, content);
                    const DevicePicture device(picture.view(), at);
                    Analysis result;
                    poison(result);
                    engine->analyze(device.view(), {}, result);
                    EXPECT_EQ(difference(result, reference->analyze(picture.view())), "")
                        << width << "x" << height << "x" << channels << " " << to_string(depth) << ", padding "
                        << at.row_padding << ", before " << at.before;
                    if (depth == Depth::f32) {
                        AnalysisRequest brief;
                        brief.detail = Detail::brief;
                        engine->analyze(device.view(), brief, result);
                        EXPECT_EQ(difference(result, reference->analyze(picture.view(), brief)), "")
                            << "brief, " << width << "x" << height << "x" << channels << ", padding " << at.row_padding
                            << ", before " << at.before;
                    }
                    EXPECT_TRUE(device.surroundings_untouched());
                }
}

TEST_P(DeviceTest, small_normalize) {
    for (Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (int channels : {1, 3, 4})
            for (NormalizeMode mode : all_exact_modes)
                for (bool joint : {true, false}) {
                    const Normalization normalization{mode, 1, 99, joint};
                    const Shape shape{83, 41, channels, depth, ChannelOrder::bgr};
                    Shape output_shape = shape;
                    output_shape.depth = normalized_depth(depth, mode);
                    const Picture picture(shape, packed, Content::natural);
                    Picture expected(output_shape, packed), output(output_shape, packed);
                    Analysis expected_result, result;
                    reference->normalize(picture.view(), {}, normalization, expected.mutable_view(), expected_result);
                    for (const Placement& at : placements) {
                        if (left_out()) continue;
                        SCOPED_TRACE(std::string(to_string(depth)) + "x" + std::to_string(channels) + ", mode " +
                                     std::to_string(static_cast<int>(mode)) + (joint ? " joint" : " separate") +
                                     ", padding " + std::to_string(at.row_padding) + ", before " +
                                     std::to_string(at.before));
                        const DevicePicture device(picture.view(), at);
                        const DevicePicture target(output.view(), {at.before, at.row_padding, at.behind});
                        engine->normalize(device.view(), {}, normalization, target.view(), result);
                        target.copy_to(output);
                        EXPECT_EQ(difference(output.view(), expected.view()), "");
                        EXPECT_EQ(difference(result, expected_result), "");
                        EXPECT_TRUE(target.surroundings_untouched());
                        if (output_shape.depth != depth) continue;
                        engine->normalize(device.view(), {}, normalization, device.view(), result);
                        device.copy_to(output);
                        EXPECT_EQ(difference(output.view(), expected.view()), "") << "in place";
                        EXPECT_TRUE(device.surroundings_untouched());
                    }
                }
}

/// Normalizations whose copies a GPU writes after the findings are on the CPU, in its memory. `other` is of the depth.
std::vector<Normalization> normalizations_by_findings(const Raster& other) {
    const auto made = [](NormalizeMode mode, const auto& set) {
        Normalization of;
        of.mode = mode;
        set(of);
        return of;
    };
    const auto none = [](Normalization&) {};
    std::vector<Normalization> all;
    const auto reference = reference_of(other.view(), {});
    all.push_back(made(NormalizeMode::match, [&](Normalization& of) { of.reference = reference; }));
    all.push_back(made(NormalizeMode::robust, none));
    for (const ThresholdRule rule : {ThresholdRule::otsu, ThresholdRule::triangle, ThresholdRule::li})
        all.push_back(made(NormalizeMode::threshold, [&](Normalization& of) { of.threshold = rule; }));
    for (const StretchInterval interval :
         {StretchInterval::minmax, StretchInterval::percentile, StretchInterval::sigma, StretchInterval::zscale})
        all.push_back(made(NormalizeMode::stretch, [&](Normalization& of) {
            of.interval = interval;
            of.stretch = StretchFunction::asinh;
            of.low = 5;
            of.high = 90;
        }));
    for (const NormalizeMode mode :
         {NormalizeMode::gamma, NormalizeMode::auto_gamma, NormalizeMode::gray_world, NormalizeMode::white_patch,
          NormalizeMode::minmax, NormalizeMode::percentile, NormalizeMode::equalize, NormalizeMode::zscore})
        all.push_back(made(mode, [&](Normalization& of) { of.gamma = mode == NormalizeMode::gamma ? 2.2 : 1; }));
    for (const double tiles : {1.0, 3.0, 20.0}) {
        all.push_back(made(NormalizeMode::clahe, [&](Normalization& of) {
            of.tiles_x = tiles;
            of.tiles_y = 2;
            of.clip_limit = tiles == 1 ? 0 : 1.5;
            of.clip_white = tiles == 20;
            of.white = 9;
        }));
        all.push_back(made(NormalizeMode::background, [&](Normalization& of) {
            of.tiles_x = tiles;
            of.tiles_y = 4;
        }));
    }
    return all;
}

/// Verdict on a copy: whether the pixels of an image in device memory do not suffice for it.
bool needs_host_memory(const ImageView& image, const AnalysisRequest& request, const Normalization& of) {
    const bool zscale = of.mode == NormalizeMode::stretch && of.interval == StretchInterval::zscale;
    if (zscale) return traits_of(image.depth).floating || image.mask || request.validity;
    if (traits_of(of.mode).kind != NormalizeKind::exact) return false;
    const auto writes = [](Depth depth) { return depth == Depth::u8 || depth == Depth::u16 || depth == Depth::f32; };
    return traits_of(image.depth).counting == Counting::sorted ||
           (image.depth == Depth::f32 && !writes(normalized_depth(image.depth, of)));
}

// Copies of every depth and mode, in every depth, with and without excluded samples, and in the place of the image.
TEST_P(DeviceTest, small_copies_from_findings) {
    std::size_t turn = 0, refused = 0, written = 0;
    for (const DepthTraits& traits : all_depths)
        for (const int channels : {1, 3, 4}) {
            const auto all = normalizations_by_findings(raster(traits.depth, channels, Fill::few, 60, 40, 0, 77));
            for (int variant = -1; variant < validity_variants; ++variant)
                for (Normalization normalization : all)
                    for (const bool joint : {true, false}) {
                        if (left_out()) continue;
                        ++turn;
                        ValidityCase given = make_validity_case(traits.depth, channels, std::max(variant, 0));
                        AnalysisRequest request;
                        if (variant < 0)
                            given.mask.clear();
                        else
                            request = given.request();
                        normalization.joint = joint;
                        const bool by_place = traits_of(normalization.mode).kind == NormalizeKind::place;
                        if (!by_place && turn % 3 != 0) normalization.depth = all_depths[turn % 9].depth;
                        const Depth depth = normalized_depth(traits.depth, normalization);
                        normalization.valid_only = depth == traits.depth && turn % 2 == 0;
                        const DepthTraits& to = traits_of(depth);
                        if (turn % 4 == 1) normalization.fill = to.floating ? -7.5 : to.highest;
                        SCOPED_TRACE(std::string(traits.name) + " x" + std::to_string(channels) + " to " + to.name +
                                     " by " + to_string(normalization.mode) + (joint ? " joint" : " separate") +
                                     ", variant " + std::to_string(variant) + ", turn " + std::to_string(turn));
                        const ImageView view = given.view();
                        Raster wanted(view.width, view.height, channels, depth);
                        wanted.order = given.image.order;
                        Raster got = wanted;
                        Analysis expected, found;
                        try {
                            reference->normalize(view, request, normalization, wanted.mutable_view(), expected);
                        } catch (const InvalidArgument&) {
                            continue;  // nobody writes such a copy
                        }
                        const Placement& at = placements[turn % 5];
                        const DevicePicture device(view, at);
                        const DevicePicture target(got.view(), at);
                        ImageView there = device.view();
                        std::optional<DevicePicture> mask;
                        if (view.mask) {
                            mask.emplace(ImageView{view.mask, view.width, view.height, 1, Depth::u8,
                                                   view.mask_row_bytes, ChannelOrder::bgr, Memory::host},
                                         at);
                            there.mask = static_cast<const std::uint8_t*>(mask->view().data);
                            there.mask_row_bytes = mask->view().row_bytes;
                        }
                        if (needs_host_memory(view, request, normalization)) {
                            ++refused;
                            EXPECT_THROW(engine->normalize(there, request, normalization, target.view(), found),
                                         InvalidArgument);
                            continue;
                        }
                        ++written;
                        const auto expect_same = [&](const DevicePicture& picture) {
                            picture.copy_to(got.mutable_view());
                            for (std::int64_t y = 0; y < got.height; ++y)
                                for (std::int64_t x = 0; x < got.width; ++x)
                                    for (int c = 0; c < channels; ++c) {
                                        const double a = got.value(x, y, c), b = wanted.value(x, y, c);
                                        ASSERT_TRUE(a == b || (a != a && b != b))
                                            << x << "," << y << " sample " << c << ": " << a << ", not " << b;
                                    }
                        };
                        engine->normalize(there, request, normalization, target.view(), found);
                        ASSERT_NO_FATAL_FAILURE(expect_same(target));
                        EXPECT_EQ(found, expected);
                        EXPECT_TRUE(target.surroundings_untouched());
                        if (depth != traits.depth) continue;
                        engine->normalize(there, request, normalization, device.view(), found);
                        ASSERT_NO_FATAL_FAILURE(expect_same(device)) << "in place";
                        EXPECT_TRUE(device.surroundings_untouched());
                    }
        }
    EXPECT_GE(written, refused);
}

// Many values per tile, and more tiles than are counted at a time.
TEST_P(DeviceTest, small_copies_by_place_of_natural_pictures) {
    for (const Depth depth : {Depth::u8, Depth::u16, Depth::f32})
        for (const int channels : {1, 3, 4})
            for (const NormalizeMode mode : {NormalizeMode::clahe, NormalizeMode::background})
                for (const double tiles : {8.0, 19.0}) {
                    if (mode == NormalizeMode::clahe && depth == Depth::f32) continue;
                    const Picture picture({640, 331, channels, depth}, packed, Content::natural);
                    Picture wanted(picture.shape(), packed), got(picture.shape(), packed);
                    Normalization normalization;
                    normalization.mode = mode;
                    normalization.tiles_x = normalization.tiles_y = tiles;
                    normalization.clip_limit = 3;
                    normalization.clip_white = true;
                    Analysis expected, found;
                    reference->normalize(picture.view(), {}, normalization, wanted.mutable_view(), expected);
                    const DevicePicture device(picture.view(), placements[3]), target(got.view(), placements[2]);
                    engine->normalize(device.view(), {}, normalization, target.view(), found);
                    target.copy_to(got);
                    EXPECT_EQ(difference(got.view(), wanted.view()), "")
                        << to_string(depth) << " x" << channels << " " << to_string(mode) << " " << tiles;
                    EXPECT_EQ(found, expected);
                }
}

TEST_P(DeviceTest, twelve_megapixels) {
    for (Depth depth : {Depth::u8, Depth::u16}) {
        const Picture picture({4000, 3000, 3, depth}, packed, Content::natural);
        const DevicePicture device(picture.view(), {0, 0, 0});
        EXPECT_EQ(difference(engine->analyze(device.view()), reference->analyze(picture.view())), "");
    }
}

TEST_P(DeviceTest, small_input_and_output_lie_in_the_same_memory) {
    Picture picture({16, 16, 1, Depth::u8}, packed, Content::ramp);
    const DevicePicture device(picture.view(), {0, 0, 0});
    Analysis result;
    EXPECT_THROW(engine->normalize(device.view(), {}, {}, picture.mutable_view(), result), InvalidArgument);
    EXPECT_THROW(engine->normalize(picture.view(), {}, {}, device.view(), result), InvalidArgument);
    EXPECT_THROW(reference->analyze(device.view(), {}, result), InvalidArgument);
}

// Measures, of rows that begin anywhere, with and without a mask.
TEST_P(DeviceTest, small_measures) {
    const auto expect_same = [](const Analysis& found, const Analysis& expected) {
        ASSERT_EQ(found.measured.size(), expected.measured.size());
        for (std::size_t i = 0; i < found.measured.size(); ++i)
            EXPECT_EQ(found.measured[i], expected.measured[i]) << traits_of(expected.measured[i].measure).name;
        EXPECT_EQ(found.channels, expected.channels);
        EXPECT_EQ(found, expected);
    };
    AnalysisRequest request;
    for (const MeasureTraits& traits : all_measures)
        if (!traits.as_stored) request.measures.add(traits.measure);
    for (const Depth depth : {Depth::u8, Depth::u16})
        for (const int channels : {1, 3, 4})
            for (const auto& [width, height] : {std::pair{1, 1}, {3, 3}, {31, 33}, {241, 70}, {1000, 37}})
                for (const Placement& at : placements) {
                    SCOPED_TRACE(std::string(to_string(depth)) + " " + std::to_string(channels) + " " +
                                 std::to_string(width) + " at " + std::to_string(at.before));
                    const Picture host({width, height, channels, depth}, layouts[2], Content::natural);
                    const DevicePicture device(host.view(), at);
                    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(width * height));
                    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = scramble(i) % 30 != 0;
                    const DevicePicture mask(
                        {bytes.data(), width, height, 1, Depth::u8, width, ChannelOrder::bgr, Memory::host}, at);
                    ImageView view = device.view(), on_host = host.view();
                    expect_same(engine->analyze(view, request), reference->analyze(on_host, request));
                    view.mask = static_cast<const std::uint8_t*>(mask.view().data);
                    view.mask_row_bytes = mask.view().row_bytes;
                    on_host.mask = bytes.data();
                    on_host.mask_row_bytes = width;
                    expect_same(engine->analyze(view, request), reference->analyze(on_host, request));
                }
}

// Measures of pixels that a copy replaces.
TEST_P(DeviceTest, small_measures_come_with_copies) {
    AnalysisRequest request;
    request.measures.add(Measure::noise);
    request.measures.add(Measure::brightness);
    const Picture host({130, 40, 3, Depth::u8}, packed, Content::natural);
    const DevicePicture device(host.view(), placements[2]);
    Picture expected_copy({130, 40, 3, Depth::u8}, packed), copy({130, 40, 3, Depth::u8}, packed);
    Analysis found, expected;
    engine->normalize(device.view(), request, {}, device.view(), found);
    reference->normalize(host.view(), request, {}, expected_copy.mutable_view(), expected);
    device.copy_to(copy);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(difference(copy.view(), expected_copy.view()), "");
}

TEST_P(DeviceTest, small_leaves_no_error_behind) {
    Analysis result;
    EXPECT_THROW(engine->analyze(ImageView{}, {}, result), InvalidArgument);
    const Picture picture({16, 16, 1, Depth::u8}, packed, Content::ramp);
    engine->analyze(picture.view(), {}, result);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Another engine's GPU is neither taken for good nor needed to be current.
TEST_P(DeviceTest, small_current_device_stays_current) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices));
    if (devices < 2) GTEST_SKIP() << "needs two GPUs, here is one";
    const Picture picture({64, 64, 3, Depth::u8}, packed, Content::natural);
    Picture output(picture.shape(), packed);
    const Analysis expected = reference->analyze(picture.view());
    auto current = [] {
        int device = -1;
        check(cudaGetDevice(&device));
        return device;
    };
    check(cudaSetDevice(0));
    const DevicePicture on_first(picture.view(), {0, 0, 0});
    for (int here : {1, 0}) {
        check(cudaSetDevice(here));
        for (int gpu : {0, 1}) {
            EngineOptions options = GetParam().options;
            options.gpu = gpu;
            const std::unique_ptr<Engine> other = make_engine("cuda", options);
            EXPECT_EQ(current(), here);
            Analysis result;
            other->analyze(picture.view(), {}, result);
            EXPECT_EQ(current(), here);
            EXPECT_EQ(difference(result, expected), "");
            other->normalize(picture.view(), {}, {}, output.mutable_view(), result);
            EXPECT_EQ(current(), here);
            EXPECT_THROW(other->analyze(ImageView{}, {}, result), InvalidArgument);
            EXPECT_EQ(current(), here);
            if (gpu == 0) {
                other->analyze(on_first.view(), {}, result);
                EXPECT_EQ(current(), here);
                EXPECT_EQ(difference(result, expected), "");
            }
        }
        EXPECT_EQ(current(), here);
    }
}

}  // namespace
}  // namespace gpuhist::test
