#include "report/contour.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace gpuhist::io {
namespace {

/// Height at a column, which may be one beyond either end.
int height_at(const Box& box, const Steps& steps, int x) {
    const int column = x - box.left;
    return column < 0 || column >= static_cast<int>(steps.size()) ? box.bottom
                                                                  : steps[static_cast<std::size_t>(column)];
}

/// Riser of a contour at the left edge of a column; empty if there is none.
struct Riser {
    int top, bottom;
};

Riser riser_at(const Box& box, const Steps& steps, int x) {
    const auto [top, bottom] = std::minmax({height_at(box, steps, x - 1), height_at(box, steps, x)});
    return {top, bottom};
}

/// Verdict on the dash of a contour at a place: whether others would hide it there, and its turn is here.
/// `lies_here(other)` says which others lie on it.
template <class LiesHere>
bool has_turn(std::size_t contour, int place, std::vector<bool>& shares, LiesHere lies_here) {
    int before = 0, after = 0;
    for (std::size_t other = 0; other < shares.size(); ++other)
        if (other != contour && lies_here(other)) {
            ++(other < contour ? before : after);
            shares[other] = shares[contour] = true;
        }
    return after > 0 && place / shared_dash % (before + 1 + after) == before;
}

}  // namespace

std::vector<std::uint64_t> column_maxima(const std::vector<std::uint64_t>& counts, int width) {
    std::vector<std::uint64_t> maxima(static_cast<std::size_t>(width), 0);
    const double bins_per_pixel = static_cast<double>(counts.size()) / width;
    for (std::size_t x = 0; x < maxima.size(); ++x) {
        const auto first = static_cast<std::size_t>(static_cast<double>(x) * bins_per_pixel);
        // A pixel that two bins share is the left one's, unless it holds whole bins.
        const auto last = static_cast<std::size_t>(std::ceil(static_cast<double>(x + 1) * bins_per_pixel));
        const std::size_t end = bins_per_pixel > 1 ? std::min(last, counts.size()) : first + 1;
        for (std::size_t bin = std::min(first, counts.size() - 1); bin < end && bin < counts.size(); ++bin)
            maxima[x] = std::max(maxima[x], counts[bin]);
    }
    return maxima;
}

Steps narrow_bars(const Box& box, const Steps& steps, int most) {
    Steps narrow(steps.size(), box.bottom);
    const auto is_empty = [&](int height) { return height >= box.bottom; };
    for (auto begin = steps.begin(); begin != steps.end();) {
        begin = std::find_if_not(begin, steps.end(), is_empty);
        const auto end = std::find_if(begin, steps.end(), is_empty);
        if (end - begin <= most) std::copy(begin, end, narrow.begin() + (begin - steps.begin()));
        begin = end;
    }
    return narrow;
}

std::vector<Segment> contour(const Box& box, const Steps& steps) {
    std::vector<Segment> segments;
    const int end = box.left + static_cast<int>(steps.size());
    int before = box.bottom;
    for (int x = box.left, next = x; x <= end; x = next) {
        const int height = height_at(box, steps, x);
        if (height != before) segments.push_back({x, before, x, height});
        for (next = x + 1; next < end && height_at(box, steps, next) == height;) ++next;
        if (height > box.top && height < box.bottom) segments.push_back({x, height, next, height});
        before = height;
    }
    return segments;
}

std::vector<Segment> dashed(const std::vector<Segment>& contour) {
    constexpr int dash = 9, period = 15;
    const auto sign = [](int difference) { return (difference > 0) - (difference < 0); };
    std::vector<Segment> dashes;
    int passed = 0;  // of the period
    for (std::size_t i = 0; i < contour.size(); ++i) {
        const auto [x0, y0, x1, y1] = contour[i];
        if (i > 0 && (contour[i - 1].x1 != x0 || contour[i - 1].y1 != y0)) passed = 0;
        const int length = std::abs(x1 - x0) + std::abs(y1 - y0), right = sign(x1 - x0), down = sign(y1 - y0);
        for (int from = 0, to = 0; from < length; from = to) {
            to = std::min(length, from + (passed < dash ? dash : period) - passed);
            if (passed < dash) dashes.push_back({x0 + right * from, y0 + down * from, x0 + right * to, y0 + down * to});
            passed = (passed + to - from) % period;
        }
    }
    return dashes;
}

SharedDashes shared_dashes(const Box& box, const std::vector<Steps>& all, int width) {
    SharedDashes dashes{std::vector<std::vector<Segment>>(all.size()), std::vector<bool>(all.size())};
    const auto columns = static_cast<int>(all.empty() ? 0 : all.front().size());
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        std::vector<Segment>& own = dashes.of[i];
        for (int x = box.left; x <= box.left + columns; ++x) {
            const Riser riser = riser_at(box, all[i], x);
            for (int y = riser.top, end = y; y < riser.bottom; y = end) {
                end = std::min(riser.bottom, (y / shared_dash + 1) * shared_dash);
                const auto rises_here = [&](std::size_t other) {
                    const Riser its = riser_at(box, all[other], x);
                    return its.top < end && its.bottom > y;
                };
                if (has_turn(i, y, dashes.shares, rises_here)) own.push_back({x, y, x, end});
            }
            const int height = height_at(box, all[i], x);
            if (height <= box.top || height >= box.bottom) continue;
            const auto is_level_here = [&](std::size_t other) {
                const int its = height_at(box, all[other], x);
                return its < box.bottom && std::abs(its - height) < width;
            };
            if (!has_turn(i, x, dashes.shares, is_level_here)) continue;
            if (!own.empty() && own.back().x1 == x && own.back().y0 == height && own.back().y1 == height)
                ++own.back().x1;
            else
                own.push_back({x, height, x + 1, height});
        }
    }
    return dashes;
}

}  // namespace gpuhist::io
