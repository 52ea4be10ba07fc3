#include "jpeg/parse.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace gpuhist::jpeg {
namespace {

constexpr int sof0 = 0xC0, sof1 = 0xC1, sof2 = 0xC2, sof9 = 0xC9, sof10 = 0xCA, dht = 0xC4, jpg = 0xC8, dac = 0xCC,
              soi = 0xD8, eoi = 0xD9, sos = 0xDA, dqt = 0xDB, dri = 0xDD, app0 = 0xE0, app14 = 0xEE, com = 0xFE;
constexpr unsigned most_side = 65500;  ///< libjpeg's
/// Bytes of data that positions in bits may count.
constexpr std::size_t most_data = std::size_t{1} << 28;

/// Contents of a segment.
struct Contents {
    const unsigned char* data;
    std::size_t size;

    unsigned byte(std::size_t i) const { return data[i]; }
    unsigned word(std::size_t i) const { return data[i] * 256U + data[i + 1]; }
    bool begin_with(const char* text, std::size_t length) const {
        return size >= length && std::memcmp(data, text, length) == 0;
    }
    void move_on(std::size_t count) {
        data += count;
        size -= count;
    }
};

/// Huffman table as a file has it.
struct CodeCounts {
    bool defined = false;
    std::uint8_t counts[16], symbols[256];
};

/// Component as a frame header has it.
struct FrameComponent {
    unsigned id, across, down, quantization, dc = 0, ac = 0;
};

/// Header, segment by segment. A function returns why the file is for the CPU, or null.
class Header {
  public:
    const char* read(int marker, Contents contents) {
        switch (marker) {
            case sof0:
            case sof1:
                return read_frame(contents);
            case sof2:
                return "progressive";
            case dht:
                return read_codes(contents);
            case dqt:
                return read_quantization(contents);
            case dri:
                if (contents.size != 2) return "an odd restart interval";
                restart_ = contents.word(0);
                return nullptr;
            case app0:
                if (contents.size < 14 || !contents.begin_with("JFIF", 5)) return nullptr;
                jfif_ = true;
                return contents.byte(5) == 1 ? nullptr : "an odd version of JFIF";
            case app14:
                if (contents.size >= 12 && contents.begin_with("Adobe", 5)) adobe_ = contents.byte(11);
                return nullptr;
            case sof9:
            case sof10:
            case dac:
                return "arithmetic coding";
            default:
                if ((marker > app0 && marker < app0 + 16) || marker == com) return nullptr;
                if (marker > sof2 && marker < soi - 8 && marker != jpg)
                    return "a coding other than Huffman's, baseline";
                return "an odd marker in the header";
        }
    }

    const char* read_scan(Contents contents) {
        if (components_.empty()) return "a scan without a frame";
        const std::size_t count = contents.size > 0 ? contents.byte(0) : 0;
        if (contents.size != 4 + 2 * count) return "an odd scan header";
        if (count != components_.size()) return "several scans";
        for (std::size_t i = 0; i < count; ++i) {
            const unsigned tables = contents.byte(2 + 2 * i);
            if (contents.byte(1 + 2 * i) != components_[i].id || (tables & 0xCCU) != 0) return "an odd scan header";
            components_[i].dc = tables >> 4;
            components_[i].ac = tables & 15U;
        }
        if (contents.byte(1 + 2 * count) != 0 || contents.byte(2 + 2 * count) != 63 ||
            contents.byte(3 + 2 * count) != 0)
            return "an odd scan header";
        return nullptr;
    }

    /// Makes the plan, of a header that was read up to its data.
    const char* plan(Plan& plan) const {
        Image& image = plan.image;
        image.width = static_cast<std::int32_t>(width_);
        image.height = static_cast<std::int32_t>(height_);
        image.components = static_cast<std::int32_t>(components_.size());
        image.color = color();
        if (adobe_ && *adobe_ > 1) return "odd words on colors";
        if (const char* reason = place_components(image)) return reason;
        if (const char* reason = choose_tables(plan)) return reason;
        image.segment_mcus = restart_ == 0 ? image.mcus() : std::min(restart_, image.mcus());
        return nullptr;
    }

  private:
    const char* read_frame(Contents contents) {
        if (!components_.empty()) return "several frames";
        if (contents.size < 6) return "an odd frame header";
        const std::size_t count = contents.byte(5);
        if (contents.size != 6 + 3 * count) return "an odd frame header";
        if (contents.byte(0) != 8) return "other than 8 bits";
        if (count == 4) return "four components";
        if (count != 1 && count != 3) return "a number of components other than 1 and 3";
        height_ = contents.word(1);
        width_ = contents.word(3);
        if (width_ == 0 || height_ == 0 || width_ > most_side || height_ > most_side) return "an odd size";
        for (contents.move_on(6); contents.size > 0; contents.move_on(3)) {
            const FrameComponent c{contents.byte(0), contents.byte(1) >> 4, contents.byte(1) & 15U, contents.byte(2)};
            for (const FrameComponent& other : components_)
                if (other.id == c.id) return "an odd frame header";
            if (c.across < 1 || c.across > 4 || c.down < 1 || c.down > 4 || c.quantization > 3)
                return "an odd frame header";
            components_.push_back(c);
        }
        return nullptr;
    }

    const char* read_quantization(Contents contents) {
        while (contents.size > 0) {
            const unsigned head = contents.byte(0), sample = (head >> 4) + 1;
            if (sample > 2 || (head & 15U) > 3 || contents.size < 1 + block_samples * std::size_t{sample})
                return "an odd quantization table";
            auto& table = quantization_[head & 15U].emplace();
            for (std::size_t i = 0; i < block_samples; ++i)
                table[natural_order.place[i]] =
                    static_cast<std::uint16_t>(sample == 1 ? contents.byte(1 + i) : contents.word(1 + 2 * i));
            contents.move_on(1 + block_samples * std::size_t{sample});
        }
        return nullptr;
    }

    const char* read_codes(Contents contents) {
        while (contents.size > 0) {
            const unsigned head = contents.byte(0);
            if (contents.size < 17 || (head & 15U) > 3 || head >> 4 > 1) return "an odd Huffman table";
            CodeCounts& table = codes_[head >> 4][head & 15U];
            std::size_t count = 0;
            for (std::size_t i = 0; i < 16; ++i) count += table.counts[i] = contents.data[1 + i];
            if (count > 256 || contents.size < 17 + count) return "an odd Huffman table";
            std::copy_n(contents.data + 17, count, table.symbols);
            table.defined = true;
            contents.move_on(17 + count);
        }
        return nullptr;
    }

    /// Meaning of the components, as libjpeg guesses it.
    Color color() const {
        if (components_.size() == 1) return Color::gray;
        if (jfif_) return Color::ycc;
        if (adobe_) return *adobe_ == 0 ? Color::rgb : Color::ycc;
        return components_[0].id == 'R' && components_[1].id == 'G' && components_[2].id == 'B' ? Color::rgb
                                                                                                : Color::ycc;
    }

    const char* place_components(Image& image) const {
        unsigned across = 1, down = 1;
        for (const FrameComponent& c : components_) {
            across = std::max(across, c.across);
            down = std::max(down, c.down);
        }
        const bool one = components_.size() == 1;  // whose blocks are MCUs, whatever its factors
        const unsigned mcu_width = one ? side : side * across, mcu_height = one ? side : side * down;
        image.mcus_across = static_cast<std::int32_t>((width_ + mcu_width - 1) / mcu_width);
        image.mcus_down = static_cast<std::int32_t>((height_ + mcu_height - 1) / mcu_height);
        for (std::size_t i = 0; i < components_.size(); ++i) {
            const FrameComponent& from = components_[i];
            if (across % from.across != 0 || down % from.down != 0) return "fractional sampling";
            Component& c = image.component[i];
            c.across = one ? 1 : static_cast<std::int32_t>(from.across);
            c.down = one ? 1 : static_cast<std::int32_t>(from.down);
            c.times_across = static_cast<std::int32_t>(across / from.across);
            c.times_down = static_cast<std::int32_t>(down / from.down);
            c.width = (image.width + c.times_across - 1) / c.times_across;
            c.height = (image.height + c.times_down - 1) / c.times_down;
            c.row_samples = image.mcus_across * c.across * side;
            // libjpeg's conditions.
            c.upsampling = Upsampling::repeated;
            if (c.times_across == 1 && c.times_down == 2) c.upsampling = Upsampling::fancy_h1v2;
            if (c.times_across == 2 && c.times_down == 1 && c.width > 2) c.upsampling = Upsampling::fancy_h2v1;
            if (c.times_across == 2 && c.times_down == 2 && c.width > 2) c.upsampling = Upsampling::fancy_h2v2;
            for (int row = 0; row < c.down; ++row)
                for (int column = 0; column < c.across; ++column) {
                    if (image.mcu_blocks == most_mcu_blocks) return "MCUs of more than 10 blocks";
                    image.block[image.mcu_blocks++] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(column),
                                                       static_cast<std::uint8_t>(row)};
                }
            const auto& table = quantization_[from.quantization];
            if (!table) return "a quantization table that is missing";
            for (std::size_t k = 0; k < block_samples; ++k) {
                if ((*table)[k] > 32767) return "a quantization table beyond 15 bits";
                c.quantization[k] = (*table)[k];
            }
        }
        return nullptr;
    }

    const char* choose_tables(Plan& plan) const {
        Image& image = plan.image;
        int number[2][4];
        std::fill_n(&number[0][0], 8, -1);
        for (const FrameComponent& c : components_)
            for (const bool dc : {true, false}) {
                const unsigned selected = dc ? c.dc : c.ac;
                int& place = number[dc ? 0 : 1][selected];
                if (place >= 0) continue;
                const CodeCounts& counts = codes_[dc ? 0 : 1][selected];
                if (!counts.defined) return "a Huffman table that is missing";
                place = static_cast<int>(plan.tables.size());
                if (!make_table(counts.counts, counts.symbols, dc, plan.tables.emplace_back()))
                    return "an odd Huffman table";
            }
        image.tables = static_cast<std::int32_t>(plan.tables.size());
        for (int b = 0; b < image.mcu_blocks; ++b) {
            const FrameComponent& c = components_[image.block[b].component];
            image.dc_table[b] = static_cast<std::uint8_t>(number[0][c.dc]);
            image.ac_table[b] = static_cast<std::uint8_t>(number[1][c.ac]);
        }
        image.phases = 1;
        for (; image.phases < image.mcu_blocks; ++image.phases) {
            bool repeat = image.mcu_blocks % image.phases == 0;
            for (int b = image.phases; b < image.mcu_blocks && repeat; ++b)
                repeat = image.dc_table[b] == image.dc_table[b - image.phases] &&
                         image.ac_table[b] == image.ac_table[b - image.phases];
            if (repeat) break;
        }
        return nullptr;
    }

    unsigned width_ = 0, height_ = 0;
    std::uint32_t restart_ = 0;
    bool jfif_ = false;
    std::optional<unsigned> adobe_;  ///< its word on colors
    std::vector<FrameComponent> components_;
    std::optional<std::array<std::uint16_t, block_samples>> quantization_[4];
    CodeCounts codes_[2][4];
};

}  // namespace

Plan parse(const unsigned char* file, std::size_t bytes) {
    Plan plan;
    const auto refuse = [&](const char* reason) {
        plan.reason = reason;
        return std::move(plan);
    };
    if (bytes < 2 || file[0] != 0xFF || file[1] != soi) return refuse("no JPEG");
    Header header;
    for (std::size_t at = 2;;) {
        if (at >= bytes || file[at] != 0xFF) return refuse("bytes between the segments of the header");
        while (at < bytes && file[at] == 0xFF) ++at;  // fill bytes too
        if (bytes - at < 3) return refuse("a header that ends early");
        const int marker = file[at];
        const std::size_t length = file[at + 1] * std::size_t{256} + file[at + 2];
        if (marker < sof0 || (marker >= soi - 8 && marker <= eoi)) return refuse("an odd marker in the header");
        if (length < 2 || bytes - at - 1 < length) return refuse("a header that ends early");
        const Contents contents{file + at + 3, length - 2};
        at += 1 + length;
        if (marker != sos) {
            if (const char* reason = header.read(marker, contents)) return refuse(reason);
            continue;
        }
        if (const char* reason = header.read_scan(contents)) return refuse(reason);
        if (const char* reason = header.plan(plan)) return refuse(reason);
        plan.data = at;
        if (bytes - at > most_data) return refuse("more data than positions can count");
        // A block has two codes of a bit at least.
        if (4 * (bytes - at) < std::uint64_t{plan.image.mcus()} * static_cast<unsigned>(plan.image.mcu_blocks))
            return refuse("too few bytes for its pixels");
        return plan;
    }
}

std::size_t stage(const unsigned char* file, std::size_t bytes, unsigned char* to, std::vector<Segment>& segments,
                  Plan& plan, std::uint32_t chunk_bits) {
    Image& image = plan.image;
    const std::uint32_t count = (image.mcus() + image.segment_mcus - 1) / image.segment_mcus;
    image.chunk_bits = chunk_bits;
    image.segments = image.chunks = 0;
    const unsigned char *at = file + plan.data, *const end = file + bytes;
    unsigned char *out = to, *begin = to;
    const auto refuse = [&](const char* reason) {
        plan.reason = reason;
        return std::size_t{0};
    };
    for (;;) {
        const void* found = std::memchr(at, 0xFF, static_cast<std::size_t>(end - at));
        if (!found) return refuse("data that end early");
        const auto* marker = static_cast<const unsigned char*>(found);
        const auto run = static_cast<std::size_t>(marker - at);
        std::memcpy(out, at, run);
        out += run;
        const unsigned char* code = marker + 1;
        while (code < end && *code == 0xFF) ++code;
        if (code == end) return refuse("data that end early");
        at = code + 1;
        if (*code == 0) {
            if (code != marker + 1) return refuse("fill bytes within the data");
            *out++ = 0xFF;
            continue;
        }
        // A marker: the end of a segment.
        const auto size = static_cast<std::size_t>(out - begin);
        if (size == 0) return refuse("data that end early");
        const auto whole = static_cast<std::uint32_t>(size * 8);
        segments.push_back({static_cast<std::uint32_t>(begin - to) / 4, whole, image.chunks});
        image.chunks += (whole + chunk_bits - 1) / chunk_bits;
        const std::uint32_t number = image.segments++;
        while ((out - to) % 4 != 0) *out++ = 0;
        begin = out;
        if (*code == eoi) break;
        if (*code != 0xD0 + number % 8 || image.segments == count) return refuse("an odd marker in the data");
    }
    if (image.segments != count) return refuse("data that end early");
    for (int i = 0; i < 8; ++i) *out++ = 0;  // a reader looks ahead
    return static_cast<std::size_t>(out - to);
}

}  // namespace gpuhist::jpeg
