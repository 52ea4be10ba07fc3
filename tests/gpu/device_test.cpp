// Images that lie in GPU memory already: the same bits as from the host. Built where the CUDA engine is.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"
#include "support/engines_under_test.hpp"
#include "support/modes.hpp"
#include "support/oracle.hpp"

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
    void copy_to(Picture& picture) const {
        const MutableImageView to = picture.mutable_view();
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
