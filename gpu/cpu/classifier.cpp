#include "cpu/classifier.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>

#include "core/codes.hpp"

namespace gpuhist::cpu {
namespace {

/// Sets nodata[i] to 1 where sample i is nodata. Samples lie `step` apart.
template <class Sample>
void find_nodata(const rules::SampleRule& rule, const Sample* samples, int step, int count, std::uint8_t* nodata) {
    const auto value_at = [&](int i) { return core::value_of(samples[i * step]); };
    std::fill_n(nodata, count, std::uint8_t{0});
    if (const auto& bounds = rule.bounds()) {
        const double lowest = bounds->lower, highest = bounds->upper;
        for (int i = 0; i < count; ++i) nodata[i] = value_at(i) < lowest || value_at(i) > highest;
    }
    for (const double one : rule.values())
        for (int i = 0; i < count; ++i) nodata[i] |= value_at(i) == one;
    if (rule.nan())
        for (int i = 0; i < count; ++i) nodata[i] |= value_at(i) != value_at(i);
}

}  // namespace

void classify_block(const ImageView& image, const rules::ImageRules& rules, std::int64_t row, std::int64_t column,
                    int pixels, BlockClasses& classes) {
    const int channels = image.channels;
    if (image.mask) {
        const std::uint8_t* mask = image.mask + row * image.mask_row_bytes + column;
        for (int i = 0; i < pixels; ++i) classes.unmasked[i] = mask[i] != 0;
    } else {
        std::fill_n(classes.unmasked, pixels, std::uint8_t{1});
    }
    with_depth(image.depth, [&](auto type) {
        using Sample = decltype(type);
        const Sample* const samples = samples_at<Sample>(image, row, column);
        if (const rules::AlphaMask mask = rules.alpha_mask(); mask.any)
            for (int i = 0; i < pixels; ++i) classes.unmasked[i] &= mask.keeps(core::value_of(samples[4 * i + 3]));
        for (int c = 0; c < channels; ++c) {
            std::uint8_t* const nodata = classes.nodata[c];
            if (!rules[c].any()) {
                std::fill_n(nodata, pixels, std::uint8_t{0});
                continue;
            }
            find_nodata(rules[c], samples + c, channels, pixels, nodata);
            for (int i = 0; i < pixels; ++i) nodata[i] &= classes.unmasked[i];
        }
    });
    if (!rules.nodata_any()) return;
    for (int c = 1; c < channels; ++c)
        for (int i = 0; i < pixels; ++i) classes.nodata[0][i] |= classes.nodata[c][i];
    for (int c = 1; c < channels; ++c) std::copy_n(classes.nodata[0], pixels, classes.nodata[c]);
}

namespace {

/// Calls visit(row, column, pixels, classes) for all blocks of an image, from all workers, and counts the classes.
template <class Visit>
rules::ClassCounts classify(Workers& workers, const ImageView& image, const rules::ImageRules& rules,
                            const Visit& visit) {
    rules::ClassCounts all;
    std::mutex mutex;
    workers.sweep_rows(image.height, image.width, [&](int, std::int64_t begin, std::int64_t end) {
        const auto classes = std::make_unique<BlockClasses>();
        rules::ClassCounts own;
        alignas(64) std::uint8_t color[block_pixels];
        for (std::int64_t row = begin; row < end; ++row)
            for (std::int64_t column = 0; column < image.width; column += block_pixels) {
                const int pixels = static_cast<int>(std::min(block_pixels, image.width - column));
                classify_block(image, rules, row, column, pixels, *classes);
                own.unmasked += static_cast<std::uint64_t>(count_set(classes->unmasked, pixels));
                if (rules.any()) {
                    for (int c = 0; c < image.channels; ++c)
                        own.nodata[c] += static_cast<std::uint64_t>(count_set(classes->nodata[c], pixels));
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

ImageView HostClassifier::substitute(const ImageView& image, const rules::ImageRules& rules,
                                     rules::ClassCounts& counts) {
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
                    const Sample* const from = samples_at<Sample>(image, row, column);
                    auto* to = reinterpret_cast<Sample*>(memory + row * view.row_bytes) + column * view.channels;
                    const Sample nan = core::rounded_to<Sample>(std::numeric_limits<double>::quiet_NaN());
                    for (int c = 0; c < view.channels; ++c) {
                        const std::uint8_t* const nodata = classes.nodata[c];
                        for (int i = 0; i < pixels; ++i) {
                            const bool valid = classes.unmasked[i] && !nodata[i];
                            to[i * view.channels + c] = valid ? from[i * image.channels + c] : nan;
                        }
                    }
                }
            });
        });
    return view;
}

ImageView HostClassifier::mask(const ImageView& image, const rules::ImageRules& rules, rules::PixelsOf which,
                               rules::ClassCounts& counts) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(reserve(static_cast<std::size_t>(image.pixels())));
    counts = classify(workers_, image, rules,
                      [&](std::int64_t row, std::int64_t column, int pixels, const BlockClasses& classes) {
                          std::uint8_t* const to = bytes + row * image.width + column;
                          std::copy_n(classes.unmasked, pixels, to);
                          const int last = which == rules::PixelsOf::unmasked ? 0
                                           : which == rules::PixelsOf::all    ? image.channels
                                                                              : rules.colors();
                          for (int c = 0; c < last; ++c)
                              for (int i = 0; i < pixels; ++i) to[i] &= classes.nodata[c][i] == 0;
                      });
    ImageView view = image;
    view.mask = bytes;
    view.mask_row_bytes = image.width;
    return view;
}

std::vector<std::uint8_t> HostClassifier::sample_mask(const ImageView& image, const rules::ImageRules& rules) {
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(image.pixels() * image.channels));
    classify(workers_, image, rules,
             [&](std::int64_t row, std::int64_t column, int pixels, const BlockClasses& classes) {
                 std::uint8_t* to = mask.data() + (row * image.width + column) * image.channels;
                 for (int i = 0; i < pixels; ++i)
                     for (int c = 0; c < image.channels; ++c) *to++ = classes.unmasked[i] && !classes.nodata[c][i];
             });
    return mask;
}

void classify_copied(const ImageView& image, const rules::ImageRules& rules, std::int64_t row, std::int64_t column,
                     int pixels, CopyClasses& classes) {
    classify_block(image, rules, row, column, pixels, classes.by_rule);
    with_depth(image.depth, [&](auto type) {
        using Sample = decltype(type);
        const Sample* const samples = samples_at<Sample>(image, row, column);
        for (int c = 0; c < image.channels; ++c) {
            std::uint8_t* const at = classes.at[c];
            const std::uint8_t* const nodata = classes.by_rule.nodata[c];
            for (int i = 0; i < pixels; ++i)
                at[i] = classes.by_rule.unmasked[i] && !nodata[i] ? std::uint8_t{0} : CopyClasses::excluded;
            const auto value_at = [&](int i) { return core::value_of(samples[i * image.channels + c]); };
            const rules::SampleRule& rule = rules[c];
            for (int i = 0; rule.names_any() && i < pixels; ++i)
                if (rule.names(value_at(i))) at[i] |= CopyClasses::nodata | CopyClasses::excluded;
            if constexpr (core::is_real<Sample>)
                for (int i = 0; i < pixels; ++i)
                    if (value_at(i) != value_at(i)) at[i] |= CopyClasses::nan;
        }
    });
    if (!rules.nodata_any()) return;
    for (int i = 0; i < pixels; ++i) {
        std::uint8_t any = 0;
        for (int c = 0; c < image.channels; ++c) any |= classes.at[c][i] & CopyClasses::nodata;
        for (int c = 0; any && c < image.channels; ++c) classes.at[c][i] |= CopyClasses::nodata | CopyClasses::excluded;
    }
}

bool settles(const rules::ImageRules& rules, Depth image, Depth copy, const Normalization& normalization) {
    return copy != image || normalization.valid_only || rules.names_any();
}

void settle(Workers& workers, const ImageView& image, const rules::ImageRules& rules,
            const Normalization& normalization, const MutableImageView& output) {
    if (!settles(rules, image.depth, output.depth, normalization)) return;
    const bool converted = output.depth != image.depth, alpha = rules.has_alpha();
    const std::size_t from_bytes = sample_bytes(image.depth), to_bytes = sample_bytes(output.depth);
    const double nothing = traits_of(output.depth).floating ? std::numeric_limits<double>::quiet_NaN() : 0;
    const std::uint64_t nodata = core::sample_bits(output.depth, normalization.fill.value_or(nothing)),
                        others = core::sample_bits(output.depth, normalization.fill.value_or(0)), zero = 0;
    const auto settle_pixel = [&](const std::byte* from, std::byte* to, const CopyClasses& classes, int i) {
        bool all = true;
        for (int c = 0; c < image.channels; ++c) {
            const std::uint8_t is = classes.at[c][i];
            const bool is_alpha = alpha && c == 3, is_nodata = is & CopyClasses::nodata;
            if (!(is & CopyClasses::excluded)) continue;
            if (!is_alpha) all = false;
            std::byte* const written = to + static_cast<std::size_t>(c) * to_bytes;
            if (is_alpha) {
                if (converted) std::memcpy(written, &zero, to_bytes);
            } else if (converted || (is_nodata && normalization.fill)) {
                std::memcpy(written, is_nodata ? &nodata : &others, to_bytes);
            } else if (is_nodata || normalization.valid_only) {
                std::memcpy(written, from + static_cast<std::size_t>(c) * from_bytes, to_bytes);
            }
        }
        if (alpha && converted && !all) std::memcpy(to + 3 * to_bytes, &zero, to_bytes);
    };
    workers.sweep_rows(image.height, image.width, [&](int, std::int64_t begin, std::int64_t end) {
        const auto classes = std::make_unique<CopyClasses>();
        const auto channels = static_cast<std::size_t>(image.channels);
        for (std::int64_t row = begin; row < end; ++row)
            for (std::int64_t column = 0; column < image.width; column += block_pixels) {
                const int pixels = static_cast<int>(std::min(block_pixels, image.width - column));
                classify_copied(image, rules, row, column, pixels, *classes);
                const auto first = static_cast<std::size_t>(column) * channels;
                const auto* from =
                    static_cast<const std::byte*>(image.data) + row * image.row_bytes + first * from_bytes;
                auto* to = static_cast<std::byte*>(output.data) + row * output.row_bytes + first * to_bytes;
                for (int i = 0; i < pixels; ++i, from += channels * from_bytes, to += channels * to_bytes)
                    settle_pixel(from, to, *classes, i);
            }
    });
}

}  // namespace gpuhist::cpu
