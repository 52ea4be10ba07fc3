#include "support/picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace gpuhist::test {
namespace {

std::uint64_t hash(std::int64_t x, std::int64_t y, int channel) {
    return scramble(static_cast<std::uint64_t>((y * 131071 + x) * 4 + channel));
}

double uniform(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// A number near enough to normally distributed: twelve uniform ones less their mean.
double normal(std::uint64_t bits) {
    double sum = -6;
    for (int i = 0; i < 6; ++i, bits = scramble(bits))
        sum += static_cast<double>(bits & 0xFFFFFFFF) * 0x1p-32 + static_cast<double>(bits >> 32) * 0x1p-32;
    return sum;
}

/// A sample in [0, 1].
double level(Content content, const Shape& shape, std::int64_t x, std::int64_t y, int channel) {
    const std::uint64_t bits = hash(x, y, channel);
    switch (content) {
        case Content::constant:
            return 0.3 + 0.11 * channel;
        case Content::lowest:
            return 0;
        case Content::highest:
            return 1;
        case Content::two_values:
            return bits & 1024 ? 0.2 : 0.7 - 0.05 * channel;
        case Content::ramp:
            return static_cast<double>((x + y * shape.width + channel * 5) % 65536) / 65535;
        case Content::random:
            return uniform(bits);
        case Content::natural: {
            const double u = static_cast<double>(x) / static_cast<double>(shape.width);
            const double v = static_cast<double>(y) / static_cast<double>(shape.height);
            return 0.15 + 0.4 * u * v + 0.15 * std::sin(7 * u + 3 * v + channel) * std::sin(5 * v) + 0.15 * u +
                   0.02 * normal(bits);
        }
        case Content::gaussian:
            return 0.5 + 0.09 * normal(bits) + 0.03 * channel;
        case Content::sparse:
            return bits % 997 ? 0.4 : uniform(scramble(bits));
        default:
            return 0;
    }
}

float float_value(Content content, const Shape& shape, std::int64_t x, std::int64_t y, int channel) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::uint64_t bits = hash(x, y, channel);
    const std::uint64_t more = scramble(bits);
    const auto pick = static_cast<unsigned>(bits % 16);
    const float sign = bits & 0x10000 ? 1.0f : -1.0f;
    switch (content) {
        case Content::specials:
            switch (pick) {
                case 0:
                    return std::bit_cast<float>(0x7FC00000u);
                case 1:
                    return std::bit_cast<float>(0xFFC12345u);
                case 2:
                    return infinity;
                case 3:
                    return -infinity;
                case 4:
                    return -0.0f;
                case 5:
                    return 0.0f;
                case 6:
                    return sign * std::bit_cast<float>(static_cast<std::uint32_t>(more % 0x800000));
                case 7:
                    return sign;
                default:
                    return static_cast<float>(4 * uniform(more) - 2);
            }
        case Content::nan:
            return std::bit_cast<float>(pick & 1 ? 0x7FC00000u : 0xFFC12345u);
        case Content::infinite:
            return pick < 8 ? sign * infinity : std::numeric_limits<float>::quiet_NaN();
        case Content::denormals:
            return sign * std::bit_cast<float>(static_cast<std::uint32_t>(more % 0x800000));
        case Content::huge:
            return sign * static_cast<float>(uniform(more) * 3.4e38);
        case Content::far_from_zero:
            return (x + y) & 1 ? 10000001.0f : 10000000.0f;  // neighbors: single precision has steps of 1 there
        case Content::outliers:
            return static_cast<float>(bits % 499 ? 0.3 + 0.01 * normal(more) : sign * 1e5 * uniform(more));
        default:
            return static_cast<float>(level(content, shape, x, y, channel));
    }
}

}  // namespace

std::vector<Content> contents_of(Depth depth) {
    if (depth == Depth::f32) return {std::begin(float_contents), std::end(float_contents)};
    return {std::begin(integer_contents), std::end(integer_contents)};
}

std::uint64_t scramble(std::uint64_t seed) {  // splitmix64
    seed += 0x9E3779B97F4A7C15;
    seed = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9;
    seed = (seed ^ (seed >> 27)) * 0x94D049BB133111EB;
    return seed ^ (seed >> 31);
}

Picture::Picture(const Shape& shape, const Layout& layout) : shape_(shape) {
    row_samples_ = shape.width * shape.channels + layout.row_padding;
    first_ = layout.offset + row_samples_ * layout.frame_rows;
    std::int64_t samples = first_ + row_samples_ * (shape.height - 1) + shape.width * shape.channels;
    if (layout.frame_rows > 0) samples += layout.row_padding + row_samples_ * layout.frame_rows;
    size_ = static_cast<std::size_t>(samples) * sample_bytes(shape.depth);
    buffer_ = std::make_unique<std::byte[]>(size_);
    for (std::size_t i = 0; i < size_; ++i) buffer_[i] = static_cast<std::byte>(i * 37 + (i >> 8) + 0xA5);
}

Picture::Picture(const Shape& shape, const Layout& layout, Content content) : Picture(shape, layout) {
    for (std::int64_t y = 0; y < shape.height; ++y)
        for (std::int64_t x = 0; x < shape.width; ++x)
            for (int c = 0; c < shape.channels; ++c) {
                if (shape.depth == Depth::f32) {
                    store(mutable_view(), x, y, c, float_value(content, shape, x, y, c));
                } else {
                    set(x, y, c, std::clamp(level(content, shape, x, y, c), 0.0, 1.0) * top_of(shape.depth) + 0.5);
                }
            }
}

ImageView Picture::view() const {
    return const_cast<Picture*>(this)->mutable_view();
}

MutableImageView Picture::mutable_view() {
    MutableImageView view;
    view.data = buffer_.get() + static_cast<std::size_t>(first_) * sample_bytes(shape_.depth);
    view.width = shape_.width;
    view.height = shape_.height;
    view.channels = shape_.channels;
    view.depth = shape_.depth;
    view.row_bytes = row_samples_ * static_cast<std::int64_t>(sample_bytes(shape_.depth));
    view.order = shape_.order;
    return view;
}

void Picture::set(std::int64_t x, std::int64_t y, int channel, double value) {
    const std::int64_t at = first_ + y * row_samples_ + x * shape_.channels + channel;
    std::byte* target = buffer_.get() + static_cast<std::size_t>(at) * sample_bytes(shape_.depth);
    auto store = [target](auto typed) { std::memcpy(target, &typed, sizeof typed); };
    switch (shape_.depth) {
        case Depth::u8:
            return store(static_cast<std::uint8_t>(value));
        case Depth::u16:
            return store(static_cast<std::uint16_t>(value));
        case Depth::f32:
            return store(static_cast<float>(value));
        default:  // none of these tests has pixels of another depth
            throw std::logic_error("a picture has no samples of this depth");
    }
}

std::vector<std::byte> Picture::bytes() const {
    return {buffer_.get(), buffer_.get() + size_};
}

std::vector<std::byte> Picture::bytes_between_pixels() const {
    std::vector<std::byte> result = bytes();
    const std::size_t bytes = sample_bytes(shape_.depth);
    for (std::int64_t y = 0; y < shape_.height; ++y)
        std::fill_n(
            result.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first_ + y * row_samples_) * bytes),
            static_cast<std::size_t>(shape_.width * shape_.channels) * bytes, std::byte{0});
    return result;
}

}  // namespace gpuhist::test
