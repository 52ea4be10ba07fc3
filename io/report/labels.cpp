#include "report/labels.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace gpuhist::io {
namespace {

constexpr double label_gap = 12;  // between labels of a row

/// Label that is missed least: an inner one, of these the first.
std::vector<Label>::iterator least(std::vector<Label>& labels) {
    const auto rank = [&](const Label& label) {
        const bool outer = &label == &labels.front() || &label == &labels.back();
        return 2 * label.important + outer;
    };
    return std::min_element(labels.begin(), labels.end(),
                            [&](const Label& a, const Label& b) { return rank(a) < rank(b); });
}

}  // namespace

std::string shorten(const std::string& text, double width, double size, const Canvas& canvas) {
    constexpr const char* ellipsis = "\u2026";
    if (canvas.width(text, size) <= width) return text;
    const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
    for (std::size_t keep = text.size() / 2; keep > 0; --keep) {
        std::size_t head = keep, tail = text.size() - keep;
        while (head > 0 && continues(head)) --head;
        while (tail < text.size() && continues(tail)) ++tail;
        const std::string shorter = text.substr(0, head) + ellipsis + text.substr(tail);
        if (canvas.width(shorter, size) <= width) return shorter;
    }
    return ellipsis;
}

void spread(std::vector<Label>& labels, double left, double right) {
    const auto width = [&] {
        double sum = -label_gap;
        for (const Label& label : labels) sum += 2 * label.half + label_gap;
        return sum;
    };
    while (labels.size() > 1 && width() > right - left) labels.erase(least(labels));
    struct Block {
        double sum = 0, start = 0, width = 0;  ///< sum of the starts its labels wish the block had
        std::size_t labels = 0;
    };
    std::vector<Block> blocks;
    const auto place = [&](Block& block) {
        block.start = std::clamp(block.sum / static_cast<double>(block.labels), left,
                                 std::max(left, right + label_gap - block.width));
    };
    for (const Label& label : labels) {
        const double wish = label.x - label.half;
        blocks.push_back({wish, 0, 2 * label.half + label_gap, 1});
        place(blocks.back());
        while (blocks.size() > 1) {
            const Block last = blocks.back();
            Block& before = blocks[blocks.size() - 2];
            if (before.start + before.width <= last.start) break;
            before.sum += last.sum - before.width * static_cast<double>(last.labels);
            before.width += last.width;
            before.labels += last.labels;
            place(before);
            blocks.pop_back();
        }
    }
    auto label = labels.begin();
    for (const Block& block : blocks) {
        double at = block.start;
        for (std::size_t i = 0; i < block.labels; ++i, ++label) {
            label->middle = at + label->half;
            at += 2 * label->half + label_gap;
        }
    }
}

std::optional<Box> place_beside(const Box& bar, int width, int height, const Box& area,
                                const std::function<bool(const Box&)>& is_free) {
    constexpr int distance = 5;
    for (int top = area.top + 2; top + height <= area.bottom; top += height)
        for (const int left : {bar.right + distance, bar.left - distance - width}) {
            const Box place{left, top, left + width, top + height};
            if (place.left >= area.left && place.right <= area.right && is_free(place)) return place;
        }
    return std::nullopt;
}

}  // namespace gpuhist::io
