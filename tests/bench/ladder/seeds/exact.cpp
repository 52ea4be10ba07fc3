#include "bench/ladder/seeds/exact.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace gpuhist::bench::ladder::seeds::exact {
namespace {

/// Calls `visit(pixels, how many are of the image, number)` for pieces of `size` pixels, zeros behind the image's end.
template <int Size, class Visit>
void for_each_piece(const Image& image, Visit visit) {
    const auto* pixels = image.on_host<std::uint8_t>();
    std::array<unsigned, Size> piece;
    for (std::int64_t first = 0, number = 0; first < image.samples(); first += Size, ++number) {
        const int own = static_cast<int>(std::min<std::int64_t>(Size, image.samples() - first));
        piece.fill(0);
        std::copy(pixels + first, pixels + first + own, piece.begin());
        visit(piece, own, number);
    }
}

/// What a branch makes of each of the 256 values.
std::array<std::array<unsigned, 256>, 5> worked() {
    std::array<std::array<unsigned, 256>, 5> results;
    for (unsigned value = 0; value < 256; ++value) {
        std::array<unsigned, 5> x;
        x.fill(value);
        for (int i = 0; i < branch_steps; ++i) {
            x[0] = (x[0] * 16777619u) ^ 2166136261u;
            x[1] = (x[1] + 2135587861u) ^ (x[1] / 8);
            x[2] = x[2] * 5 + x[2] / 128;
            x[3] = (x[3] * 32 | x[3] / 134217728) + 2654435769u;
        }
        for (std::size_t branch = 0; branch < 5; ++branch) results[branch][value] = x[branch];
    }
    return results;
}

template <class BranchOf>
Answer branches(const Image& image, BranchOf branch_of) {
    const auto results = worked();
    Word total = 0;
    for (std::int64_t i = 0; i < image.samples(); ++i)
        total += results[static_cast<std::size_t>(branch_of(i))][image.on_host<std::uint8_t>()[i]];
    return {total};
}

Word square(Word x) {
    return x * x;
}

bool is_bright(unsigned x) {
    return x >= static_cast<unsigned>(bright);
}

/// A vote of pixels `first` to `first + size` − 1 that the mask names: adds ballot, all, any.
template <class Piece>
void vote(const Piece& piece, int first, int size, unsigned mask, Word* sums) {
    Word ballot = 0, all = 1, any = 0;
    for (int k = 0; k < size; ++k) {
        if ((mask >> k & 1) == 0) continue;
        const Word own = is_bright(piece[static_cast<std::size_t>(first + k)]);
        ballot |= own << k;
        all &= own;
        any |= own;
    }
    sums[0] += ballot;
    sums[1] += all;
    sums[2] += any;
}

/// Lane `k` of a segment of `width`, in the four shuffles: whose value it gets.
struct Sources {
    int index, up, down, exclusive_or;
};
Sources sources(int k, int width, int lane, int distance, int bits) {
    return {lane, k - distance < 0 ? k : k - distance, k + distance >= width ? k : k + distance, k ^ bits};
}

float number(float sample) {
    return std::isnan(sample) ? 0 : sample;
}

/// The articles' tree: in each step the lower half adds the upper half's values.
float tree(std::vector<float> values) {
    for (std::size_t half = values.size() / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; ++k) values[k] += values[k + half];
    return values[0];
}

/// Sums of so many blocks whose threads go through the numbers with the grid's stride.
std::vector<float> partial_sums(const float* samples, std::int64_t count, int blocks, int threads) {
    std::vector<float> sums(static_cast<std::size_t>(blocks) * static_cast<std::size_t>(threads), 0.0f), partials;
    for (std::int64_t n = 0; n < count; ++n) sums[static_cast<std::size_t>(n) % sums.size()] += number(samples[n]);
    for (auto first = sums.begin(); first != sums.end(); first += threads)
        partials.push_back(tree({first, first + threads}));
    return partials;
}

Answer bits_of(float sum) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &sum, sizeof bits);
    return {bits};
}

}  // namespace

Answer branch_none(const Image& image) {
    return branches(image, [](std::int64_t) { return 0; });
}
Answer branch_by_warp(const Image& image) {
    return branches(image, [](std::int64_t i) { return i / 32 % 4; });
}
Answer branch_by_lane(const Image& image) {
    return branches(image, [](std::int64_t i) { return i % 4; });
}
Answer branch_one_side(const Image& image) {
    return branches(image, [](std::int64_t i) { return i % 2 == 0 ? 0 : 4; });
}

Answer bright_stretches(const Image& image) {
    Answer answer(3);
    for_each_piece<bright_stretch>(image, [&](const auto& piece, int own, std::int64_t) {
        const auto end = piece.begin() + own;
        const auto found = std::count_if(piece.begin(), end, is_bright);
        if (found > 0) answer[0] += *std::max_element(piece.begin(), end);
        answer[1] += static_cast<Word>(found);
        answer[2] += found == own;
    });
    return answer;
}

Answer ring(const Image& image) {
    Answer answer(2);
    for_each_piece<32>(image, [&](const auto& piece, int, std::int64_t) {
        for (std::size_t k = 1; k < 32; ++k) answer[0] += Word{piece[k]} * piece[k == 31 ? 1 : k + 1];
        answer[1] += piece[0];
    });
    return answer;
}

Answer votes(const Image& image, unsigned mask) {
    Answer answer(3);
    for_each_piece<32>(image, [&](const auto& piece, int, std::int64_t) { vote(piece, 0, 32, mask, answer.data()); });
    return answer;
}

Answer widths(const Image& image) {
    Answer answer;
    for (const int width : {2, 4, 8, 16, 32}) {
        Word sums[4] = {};
        for_each_piece<32>(image, [&](const auto& piece, int, std::int64_t) {
            for (int lane = 0; lane < 32; ++lane) {
                const int first = lane / width * width;
                const Sources from = sources(lane - first, width, width / 2, width / 2, width - 1);
                const Word weight = static_cast<Word>(lane) + 1;
                sums[0] += weight * piece[static_cast<std::size_t>(first + from.index)];
                sums[1] += weight * piece[static_cast<std::size_t>(first + from.up)];
                sums[2] += weight * piece[static_cast<std::size_t>(first + from.down)];
                sums[3] += weight * piece[static_cast<std::size_t>(first + from.exclusive_or)];
            }
        });
        answer.insert(answer.end(), sums, sums + 4);
    }
    return answer;
}

Answer types(const Image& image) {
    Word total = 0;
    for_each_piece<32>(image, [&](const auto& piece, int, std::int64_t) {
        for (std::size_t lane = 0; lane < 32; ++lane) total += piece[std::min<std::size_t>(lane + 1, 31)];
    });
    return Answer(8, total);
}

Answer utilization_tree(const Image& image) {
    const auto blocks = static_cast<Word>((image.samples() + 127) / 128);
    return {ladder::exact::sum(image)[0], blocks * (64 + 32 + 16 + 8 + 4 + 2 + 1), blocks * 128 * 7};
}

Answer utilization_loop(const Image& image) {
    const auto pixels = static_cast<Word>(image.samples());
    const Word blocks = utilization_blocks, threads = blocks * 128, rounds = (pixels + threads - 1) / threads;
    return {ladder::exact::sum(image)[0], pixels + blocks * 127, threads * (rounds + 7)};
}

Answer members(const Image& image) {
    Answer answer(6);
    for_each_piece<128>(image, [&](const auto& piece, int, std::int64_t block) {
        for (std::size_t k = 0; k < 128; ++k) {
            const Word x = piece[k],
                       factors[] = {128, k + 1, static_cast<Word>(block % 1021) + 1, k % 32 + 1, k / 32 + 1};
            for (std::size_t f = 0; f < 5; ++f) answer[f] += x * factors[f];
            answer[5] += piece[127 - k] * Word{k + 1};
        }
    });
    return answer;
}

Answer grid_members(const Image& image) {
    return {ladder::exact::sum(image)[0], 1};
}

Answer tiles(const Image& image) {
    Answer answer(2);
    for_each_piece<32>(image, [&](const auto& piece, int, std::int64_t) {
        Word of_32 = 0;
        for (std::size_t k = 0; k < 32; k += 4) {
            const Word of_4 = piece[k] + piece[k + 1] + piece[k + 2] + piece[k + 3];
            answer[0] += square(of_4);
            of_32 += of_4;
        }
        answer[1] += square(of_32);
    });
    return answer;
}

Answer tile_votes(const Image& image) {
    Answer answer;
    for (const int size : {4, 32}) {
        Word sums[7] = {};
        for_each_piece<32>(image, [&](const auto& piece, int, std::int64_t) {
            for (int first = 0; first < 32; first += size) {
                vote(piece, first, size, ~0u, sums);
                for (int k = 0; k < size; ++k) {
                    const Sources from = sources(k, size, 1, 1, 1);
                    const Word weight = static_cast<Word>(k) + 1;
                    sums[3] += weight * piece[static_cast<std::size_t>(first + from.index)];
                    sums[4] += weight * piece[static_cast<std::size_t>(first + from.up)];
                    sums[5] += weight * piece[static_cast<std::size_t>(first + from.down)];
                    sums[6] += weight * piece[static_cast<std::size_t>(first + from.exclusive_or)];
                }
            }
        });
        answer.insert(answer.end(), sums, sums + 7);
    }
    return answer;
}

Answer four_times(const Image& image) {
    return {4 * ladder::exact::sum(image)[0]};
}

Answer weighted(const Image& image) {
    Word total = 0;
    for_each_piece<512>(image, [&](const auto& piece, int, std::int64_t number) {
        for (const unsigned x : piece) total += x * square(static_cast<Word>(number % 256));
    });
    return {total};
}

Answer squares(const Image& image) {
    return {ladder::exact::four_quantities(image)[1]};
}

Answer sum_32(const Image& image) {
    return {ladder::exact::sum(image)[0] & 0xFFFFFFFFu};
}

Answer counts(const Image& image) {
    Answer answer(2);
    for_each_piece<atomic_tile>(image, [&](const auto& piece, int, std::int64_t) {
        const auto found = static_cast<Word>(std::count_if(piece.begin(), piece.end(), is_bright));
        answer[0] += found;
        answer[1] += square(found);
    });
    return answer;
}

Answer lost(const Image& image) {
    Answer answer(2);
    for_each_piece<32>(image, [&](const auto& piece, int, std::int64_t) {
        const auto found = static_cast<Word>(std::count_if(piece.begin(), piece.end(), is_bright));
        answer[0] += found > 0;
        answer[1] += found;
    });
    return answer;
}

Answer count_pairs(const Image& image) {
    Answer answer(2);
    for_each_piece<atomic_tile>(image, [&](const auto& piece, int own, std::int64_t) {
        const auto found = static_cast<Word>(std::count_if(piece.begin(), piece.end(), is_bright));
        answer[0] += square(found);
        answer[1] += square(static_cast<Word>(own) - found);
    });
    return answer;
}

namespace {

template <class Value>
Answer extremes_of(const Image& image, Value value) {
    Answer answer(2);
    for_each_piece<atomic_tile>(image, [&](const auto& piece, int own, std::int64_t) {
        const auto [low, high] = std::minmax_element(piece.begin(), piece.begin() + own);
        answer[0] += value(*low);
        answer[1] += value(*high);
    });
    return answer;
}

template <typename T>
Answer bits(const Image& image) {
    Answer answer(3);
    for_each_piece<atomic_tile>(image, [&](const auto& piece, int own, std::int64_t) {
        T conjunction = std::numeric_limits<T>::max(), disjunction = 0, parity = 0;
        for (int k = 0; k < own; ++k) {
            // The pixel in each byte, and which of the bytes is its complement, depends on its place.
            const Word in_each = piece[static_cast<std::size_t>(k)] * Word{0x0101010101010101};
            const T value = static_cast<T>(in_each ^ Word{0xFF} << 8 * (static_cast<std::size_t>(k) % sizeof(T)));
            conjunction &= value;
            disjunction |= value;
            parity ^= value;
        }
        answer[0] += conjunction;
        answer[1] += disjunction;
        answer[2] += parity;
    });
    return answer;
}

}  // namespace

Answer extremes(const Image& image) {
    return extremes_of(image, [](Word x) { return x; });
}
Answer signed_extremes(const Image& image) {
    return extremes_of(image, [](Word x) { return x - 128; });
}
Answer wide_extremes(const Image& image) {
    return extremes_of(image, [](Word x) { return x << 33; });
}
Answer signed_wide_extremes(const Image& image) {
    return extremes_of(image, [](Word x) { return (x - 128) << 33; });
}

Answer exchanges_wide(const Image& image) {
    return {ladder::exact::sum(image)[0] << 33};
}

Answer wraps(const Image& image) {
    Answer answer(2);
    for_each_piece<atomic_tile>(image, [&](const auto& piece, int, std::int64_t) {
        const auto found = static_cast<unsigned>(std::count_if(piece.begin(), piece.end(), is_bright));
        // A word astray goes to 0, or to the bound, with the first operation, and then round like the other.
        const unsigned rounds = turns + 1;
        const unsigned up = found % rounds, up_astray = found == 0 ? astray : (found - 1) % rounds;
        const unsigned down = (rounds - found % rounds) % rounds;
        const unsigned down_astray = found == 0 ? astray : turns - (found - 1) % rounds;
        answer[0] += up + 1000 * up_astray;
        answer[1] += down + 1000 * down_astray;
    });
    return answer;
}

Answer bits_32(const Image& image) {
    return bits<std::uint32_t>(image);
}
Answer bits_64(const Image& image) {
    return bits<std::uint64_t>(image);
}

Answer sequence(const Image& image) {
    Answer answer(2);
    for_each_piece<atomic_tile>(image, [&](const auto& piece, int own, std::int64_t) {
        for (unsigned tid = 0; tid < static_cast<unsigned>(own); ++tid) {
            unsigned first = std::max(piece[tid] + 10, tid);
            first = first >= 17 ? 0 : first + 1;
            if (first + 1 == tid) first = tid;
            answer[0] += first;
            answer[1] += ((piece[tid] & (2 * tid + 7)) | 1u << tid % 32) ^ tid;
        }
    });
    return answer;
}

Answer float_twice(const Image& image) {
    const std::vector<float> partials =
        partial_sums(image.on_host<float>(), image.samples(), float_blocks, tree_threads);
    return bits_of(partial_sums(partials.data(), float_blocks, 1, 1024)[0]);
}

Answer float_last_block(const Image& image) {
    return bits_of(tree(partial_sums(image.on_host<float>(), image.samples(), last_blocks, last_threads)));
}

}  // namespace gpuhist::bench::ladder::seeds::exact
