// JPEG, by libjpeg-turbo: the pixels of `cv::imread`, and no damage passed over.
#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it
#include <cstring>
#include <opencv2/core.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <jpeglib.h>

#include <jerror.h>

#include "decode/cmyk.hpp"
#include "decode/formats.hpp"
#include "decode/jpeg.hpp"
#include "files/window.hpp"

namespace gpuhist::io {
namespace {

constexpr int most_scans = 500;

bool matches(const Bytes& file) {
    return file.starts_with("\xFF\xD8\xFF");
}

// ---- markers ----

constexpr unsigned char sof2 = 0xC2, dht = 0xC4, jpg = 0xC8, sof9 = 0xC9, sof10 = 0xCA, dac = 0xCC, soi = 0xD8,
                        eoi = 0xD9, sos = 0xDA, dhp = 0xDE, app1 = 0xE1, app2 = 0xE2, sof55 = 0xF7;

/// Segment: a marker and the bytes that belong to it.
struct Segment {
    unsigned char marker;
    std::uint64_t begin;  ///< of what follows the length
    std::uint64_t size;
};

/// Place of the next byte with a value, at or after a position; the end of the file if there is none. Keeps little of a
/// window in memory.
std::uint64_t find(const Bytes& file, unsigned char value, std::uint64_t position) {
    constexpr std::uint64_t block = 1 << 16;
    while (position < file.size()) {
        file.let_go();
        const Bytes part = file.part(position, std::min(block, file.size() - position));
        if (const void* found = std::memchr(part.at(0), value, part.size()))
            return position + static_cast<std::uint64_t>(static_cast<const unsigned char*>(found) - part.at(0));
        position += part.size();
    }
    return file.size();
}

/// Next segment at or after a position, after any entropy-coded data: 0xFF and a byte that is neither stuffing (00),
/// nor fill (FF), nor restart (D0 to D7), nor TEM (01), nor SOI. Moves the position after the segment, so that markers
/// inside (of an EXIF thumbnail) are skipped. None if the file ends before.
std::optional<Segment> next_segment(const Bytes& file, std::uint64_t& position) {
    while (position < file.size()) {
        position = find(file, 0xFF, position) + 1;
        if (position >= file.size()) break;
        const unsigned char marker = file.byte(position);
        if (marker == 0xFF) continue;
        ++position;
        if (marker <= 0x01 || (marker >= 0xD0 && marker <= soi)) continue;
        if (marker == eoi) return Segment{marker, position, 0};
        const auto length = file.number(position, 2, Endian::big);
        if (!length) break;
        const std::uint64_t begin = position + 2, size = std::max<std::uint64_t>(2, *length) - 2;
        position = begin + size;
        return Segment{marker, begin, size};
    }
    return std::nullopt;
}

/// Component of a frame, and the parts of it that the scans bring.
struct Component {
    std::uint64_t id, across, down;  ///< sampling factors
    std::array<int, 64> missing{};   ///< of each coefficient: the low bits that no scan has brought yet; all at first
};

/// Size of the table at the beginning of the contents of a DQT or DHT segment; none if there is no table.
std::optional<std::size_t> quantization_table(const Bytes& at) {
    const auto head = at.number(0, 1, Endian::big).value_or(0xFF);
    const std::size_t size = head < 0x10 ? 65 : 129;
    if ((head & 0x0F) > 3 || head > 0x13 || !at.has(0, size)) return std::nullopt;
    for (std::size_t i = 1; i < size; i += size / 64)
        if (at.number(i, size / 64, Endian::big) == 0U) return std::nullopt;
    return size;
}
std::optional<std::size_t> huffman_table(const Bytes& at) {
    const auto head = at.number(0, 1, Endian::big).value_or(0xFF);
    if ((head & 0x0F) > 3 || head > 0x13 || !at.has(0, 17)) return std::nullopt;
    std::size_t symbols = 0, codes = 0;  // the latter of 16 bits
    for (unsigned length = 1; length <= 16; ++length) {
        symbols += at.byte(length);
        codes += std::size_t{at.byte(length)} << (16 - length);
    }
    if (symbols == 0 || symbols > 256 || codes > 1 << 16 || !at.has(17, symbols)) return std::nullopt;
    return 17 + symbols;
}

/// Tells whether bytes between the segments of a header hold a table that lost its marker, or Adobe's words on colors.
bool hold_table(const Bytes& bytes) {
    using namespace std::string_view_literals;
    constexpr std::uint64_t longest = 2 + 8 * (17 + 256);
    for (std::size_t at = 0; at + 2 < bytes.size(); ++at) {
        if (bytes.starts_with("Adobe\0"sv, at) && bytes.number(at + 6, 1, Endian::big).value_or(0) / 2 == 50)
            return true;
        const std::uint64_t length = *bytes.number(at, 2, Endian::big);
        if (length <= 2 || length > longest || !bytes.has(at, length)) continue;
        for (const auto& table : {quantization_table, huffman_table}) {
            Bytes rest = bytes.part(at + 2, length - 2);
            while (const auto size = rest.size() > 0 ? table(rest) : std::nullopt)
                rest = rest.part(*size, rest.size() - *size);
            if (rest.size() == 0) return true;
        }
    }
    return false;
}

/// Bytes between the segments of a header, which belong to none: harmless where no table got lost there.
class Strays {
  public:
    bool hide_table() const { return found_ && lost_; }

    void take(const Bytes& file, std::uint64_t begin, std::uint64_t end) {
        constexpr std::uint64_t most = 1 << 20;
        while (end > begin && file.byte(end - 1) == 0xFF) --end;
        if (end <= begin) return;
        found_ = true;
        if (end - begin > most || hold_table(file.part(begin, end - begin))) lost_ = true;
    }
    void take_tables(const Bytes& file, const Segment& segment) {
        if (!file.has(segment.begin, segment.size)) return;
        Bytes rest = file.part(segment.begin, segment.size);
        while (const auto size = rest.size() > 0 ? huffman_table(rest) : std::nullopt) {
            defined_[rest.byte(0)] = true;
            rest = rest.part(*size, rest.size() - *size);
        }
    }
    /// Checks that the tables of a baseline scan are there; otherwise libjpeg would use those of motion JPEG.
    void take_scan(const Bytes& file, const Segment& scan) {
        const std::uint64_t count = file.number(scan.begin, 1, Endian::big).value_or(0);
        for (std::uint64_t i = 0; i < count; ++i)
            if (const auto both = file.number(scan.begin + 2 + 2 * i, 1, Endian::big))
                if (!defined_[*both >> 4 & 3] || !defined_[0x10 | (*both & 3)]) lost_ = true;
    }

  private:
    std::array<bool, 0x20> defined_{};  ///< Huffman tables, by the byte that each begins with
    bool found_ = false, lost_ = false;
};

/// Frame: the facts in its header.
struct Frame {
    unsigned char marker = 0;
    std::vector<Component> components;

    bool arithmetic() const { return marker >= sof9; }
    bool progressive() const { return marker == sof2 || marker == sof10; }
};

Frame read_frame(const Bytes& file, const Segment& segment, Probe& probe) {
    Frame frame{segment.marker, {}};
    probe.set_size(file.number(segment.begin + 3, 2, Endian::big), file.number(segment.begin + 1, 2, Endian::big));
    const auto precision = file.number(segment.begin, 1, Endian::big);
    const auto count = file.number(segment.begin + 5, 1, Endian::big);
    for (std::uint64_t i = 0, at = segment.begin + 6; count && i < *count && file.has(at, 3); ++i, at += 3) {
        Component component{file.byte(at), file.byte(at + 1) / 16U, file.byte(at + 1) % 16U, {}};
        component.missing.fill(16);
        frame.components.push_back(component);
    }
    const unsigned char kind = segment.marker & 15U;
    if (segment.marker == sof55) {
        probe.unsupported = "JPEG-LS is not supported";
        return frame;
    }
    const auto unsupported = [&](const std::string& what) { probe.unsupported = what + " is not supported"; };
    if (kind == 3 || kind == 11)
        unsupported("lossless JPEG");
    else if (kind != 9 && kind != 10 && kind > 2)
        unsupported("hierarchical JPEG");
    else if (precision && *precision != 8)
        unsupported(std::to_string(*precision) + "-bit JPEG");
    else if (count && *count != 1 && *count != 3 && *count != 4)
        unsupported("JPEG of " + std::to_string(*count) + " components");
    else if (probe.height == 0 && probe.width != 0)
        unsupported("JPEG that tells its height after its data (DNL)");
    return frame;
}

/// Records the parts that a scan brings. Returns false if it has fewer components than the frame.
bool read_scan(const Bytes& file, const Segment& segment, Frame& frame) {
    const std::uint64_t count = file.number(segment.begin, 1, Endian::big).value_or(0),
                        spectrum = segment.begin + 1 + 2 * count;
    if (!file.has(spectrum, 3)) return true;
    std::size_t first = file.byte(spectrum), last = file.byte(spectrum + 1);
    int low = file.byte(spectrum + 2) & 15;
    if (!frame.progressive()) first = 0, last = 63, low = 0;
    for (std::uint64_t i = 0; i < count; ++i)
        for (Component& component : frame.components)
            if (component.id == file.byte(segment.begin + 1 + 2 * i))
                for (std::size_t k = first; k <= std::min<std::size_t>(last, 63); ++k) component.missing[k] = low;
    return count >= frame.components.size();
}

/// Sets facts that follow from the size of the frame: the memory that it takes, and whether the file can hold it.
void judge_size(const Bytes& file, const Frame& frame, bool one_scan, Probe& probe) {
    std::uint64_t across = 1, down = 1, samples = 0, blocks = 0;
    for (const Component& c : frame.components) {
        across = std::max(across, c.across);
        down = std::max(down, c.down);
        samples += c.across * c.down;
    }
    const auto divided = [](std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; };
    for (const Component& c : frame.components)
        blocks += divided(probe.width * c.across, 8 * across) * divided(probe.height * c.down, 8 * down);
    // An image, a second one where it is turned, and the coefficients of all where a scan brings a part of them.
    const std::uint64_t image = frame.components.size() == 1 ? 1 : 3;
    probe.pixel_bytes = 2 * image + (one_scan && !frame.progressive() ? 0 : divided(2 * samples, across * down));
    // A Huffman code takes at least one bit, and a block has one code (progressive) or two. A truncated file may have
    // less, up to a point.
    const std::uint64_t bits = 8 * file.size() * (probe.truncated.empty() ? 1 : 1024);
    if (!frame.arithmetic() && bits < blocks * (frame.progressive() ? 1 : 2))
        probe.too_large =
            cannot_hold("the JPEG's " + std::to_string(file.size()) + " bytes", probe.width, probe.height);
}

/// Words about data that no scan brings; empty where all is there.
std::string what_is_missing(const Frame& frame) {
    for (std::size_t c = 0; c < frame.components.size(); ++c)
        for (std::size_t k = 0; k < 64; ++k)
            if (const int low = frame.components[c].missing[k]; low > 0)
                return "the JPEG's scans leave out " + (low < 16 ? std::to_string(low) + " bits of " : std::string()) +
                       "coefficient " + std::to_string(k) + " of component " + std::to_string(c + 1);
    return {};
}

/// Directory of TIFF's kind that a segment holds, as EXIF and MPF do.
class Directory {
  public:
    /// Directory after a name of `name` bytes; empty if there is none.
    Directory(const Bytes& file, const Segment& segment, std::uint64_t name)
        : bytes_(segment.size > name && file.has(segment.begin, segment.size)
                     ? file.part(segment.begin + name, segment.size - name)
                     : Bytes(file.at(0), 0)),
          endian_(bytes_.starts_with("II") ? Endian::little : Endian::big) {
        if ((!bytes_.starts_with("II") && !bytes_.starts_with("MM")) || number(2, 2) != 42) return;
        first_ = number(4, 4).value_or(bytes_.size()) + 2;
        count_ = number(first_ - 2, 2).value_or(0);
    }

    std::optional<std::uint64_t> number(std::uint64_t position, int size) const {
        return bytes_.number(position, size, endian_);
    }
    /// Number of `size` bytes that an entry's value begins with.
    std::optional<std::uint64_t> value(std::uint64_t tag, int size) const {
        for (std::uint64_t i = 0, entry = first_; i < count_; ++i, entry += 12)
            if (number(entry, 2) == tag) return number(entry + 8, size);
        return std::nullopt;
    }

  private:
    Bytes bytes_;
    Endian endian_;
    std::uint64_t first_ = 0, count_ = 0;  ///< place of the first entry; entries
};

/// Orientation in the EXIF data of the first APP1 segment, which OpenCV uses too; 1 if there is none.
std::uint64_t orientation(const Bytes& file) {
    constexpr std::uint64_t name = 6, orientation_tag = 0x0112;  // "Exif", 0, 0
    std::uint64_t position = 2;
    while (const auto segment = next_segment(file, position)) {
        if (segment->marker == sos || segment->marker == eoi) break;
        if (segment->marker == app1) return Directory(file, *segment, name).value(orientation_tag, 2).value_or(1);
    }
    return 1;
}

void inspect(const Bytes& file, Probe& probe) {
    Frame frame;
    Strays strays;
    bool ended = false, one_scan = true;
    int scans = 0;
    std::uint64_t position = 2, end = position;
    while (const auto segment = next_segment(file, position)) {
        const unsigned char marker = segment->marker;
        if (marker == eoi) {
            ended = true;
            break;
        }
        if (scans == 0) strays.take(file, end, segment->begin - 4);
        end = position;
        if (marker == dhp) probe.unsupported = "hierarchical JPEG is not supported";
        const bool starts = marker >= 0xC0 && marker <= 0xCF && marker != dht && marker != jpg && marker != dac;
        if (!frame.marker && (starts || marker == sof55)) frame = read_frame(file, *segment, probe);
        if (marker == sof55) return;
        if (marker == dht) strays.take_tables(file, *segment);
        if (marker != sos) continue;
        if (!frame.progressive() && !frame.arithmetic()) strays.take_scan(file, *segment);
        if (!read_scan(file, *segment, frame)) one_scan = false;
        if (++scans > most_scans) {
            probe.too_large = "the JPEG has more than " + std::to_string(most_scans) + " scans";
            return;
        }
    }
    if (!ended)
        probe.truncated = scans ? "the JPEG ends before its end-of-image marker" : "the JPEG ends inside its header";
    else if (!scans)
        probe.damaged = "the JPEG has an end-of-image marker but no image data";
    else if (strays.hide_table())
        probe.damaged = "a table of the JPEG is lost among bytes between its header's segments";
    else if (frame.marker)
        probe.damaged = what_is_missing(frame);
    if (frame.marker) judge_size(file, frame, one_scan, probe);
    probe.held_bytes = FileWindow::kept + (1 << 20);
    if (one_scan && !frame.progressive()) probe.strip_rows = 1;
    const std::uint64_t turn = orientation(file);
    probe.turned = turn >= 2 && turn <= 8;
}

/// Pictures of a file: itself, and the pictures in its MPF data (MPO, of stereo cameras and panoramas), without
/// previews. The data are in one of the first segments.
void find_pages(const Bytes& whole, PageList& list) {
    constexpr std::uint64_t name = 4, pictures_tag = 0xB001, list_tag = 0xB002, entry = 16, preview = 0x01;
    constexpr std::uint64_t longest = 1 << 20;
    list.add({});
    const Bytes file = whole.part(0, std::min<std::uint64_t>(longest, whole.size()));
    std::uint64_t position = 2;
    while (const auto segment = next_segment(file, position)) {
        if (segment->marker == sos || segment->marker == eoi) return;
        if (segment->marker != app2 || !file.has(segment->begin, name) ||
            std::memcmp(file.at(segment->begin), "MPF", name) != 0)
            continue;
        const Directory directory(file, *segment, name);
        const std::uint64_t listed = directory.value(pictures_tag, 4).value_or(0);
        const std::uint64_t entries = directory.value(list_tag, 4).value_or(file.size());
        bool first = true;
        for (std::uint64_t i = 0; i < listed; ++i) {
            const std::uint64_t at = entries + i * entry;
            const auto attribute = directory.number(at, 4), length = directory.number(at + 4, 4),
                       place = directory.number(at + 8, 4);
            if (!attribute || !length || !place || !directory.number(at + entry - 4, 4)) return;
            if ((*attribute >> 16 & 0xFF) == preview) continue;
            if (!std::exchange(first, false)) {  // the first is the file
                PageFacts page;
                const std::uint64_t begin = segment->begin + name + *place;
                if (*place != 0 && *length != 0 && whole.has(begin, *length))
                    std::tie(page.place, page.length) = std::pair(begin, *length);
                else
                    page.problem = "damaged: the JPEG's MPF data place the picture outside of the file";
                if (!list.add(std::move(page))) return;
            }
        }
        return;
    }
}

std::uint64_t count_pages(const EncodedImage& file) {
    PageList list;
    find_pages(file.bytes, list);
    return list.count();
}

// ---- libjpeg ----

/// Decoder of libjpeg, and the results of its callbacks: plain data, so that longjmp is safe.
struct Decoder {
    jpeg_decompress_struct info;
    jpeg_error_mgr errors;
    jpeg_progress_mgr progress;
    jpeg_source_mgr source;
    const Bytes* file;
    std::uint64_t position;     ///< in the file, of what was not read yet
    unsigned char* read;        ///< memory for `piece` bytes
    const unsigned char* next;  ///< bytes that were read, and that the source has not handed over yet
    std::size_t left;
    std::jmp_buf failed;
    bool strict;                  ///< gives up at the first damage, not only where libjpeg does
    int code;                     ///< of the first damage or failure; 0: none
    char words[JMSG_LENGTH_MAX];  ///< libjpeg's
    int scan;                     ///< where it was
    JDIMENSION row;
    std::uint64_t strays;  ///< bytes between the segments of the header
    bool padding;          ///< before the end
    bool started;          ///< to decompress
    JSAMPARRAY inks;       ///< of CMYK: rows that become colors
};

Decoder& decoder_of(j_common_ptr info) {
    return *static_cast<Decoder*>(info->client_data);
}

void take_note(j_common_ptr info) {
    Decoder& decoder = decoder_of(info);
    if (decoder.code) return;
    decoder.code = info->err->msg_code;
    info->err->format_message(info, decoder.words);
    if (!info->is_decompressor) return;
    decoder.scan = decoder.info.input_scan_number;
    decoder.row = std::min(decoder.info.input_iMCU_row * 8 * static_cast<JDIMENSION>(decoder.info.max_v_samp_factor),
                           decoder.info.image_height);
}

void on_error(j_common_ptr info) {
    take_note(info);
    std::longjmp(decoder_of(info).failed, 1);
}

}  // namespace

bool are_padding(const Bytes& file, std::uint64_t end, std::uint64_t count) {
    while (end > 0 && file.byte(end - 1) == 0xFF) --end;  // fill bytes of the marker
    std::array<unsigned char, 4096> block{};
    if (count == 0 || count >= end) return false;
    const unsigned char last = file.byte(end - 1), before = file.byte(end - 2);
    const bool stuffed = last == 0 && before == 0xFF;
    if (!stuffed && last == 0 && file.byte(end - count - 1) == 0xFF) return false;  // one of the zeros is stuffing
    for (std::uint64_t done = 0, some; done < count; done += some) {
        some = std::min<std::uint64_t>(count - done, block.size());
        file.copy(end - done - some, some, block.data());
        for (std::uint64_t i = 0; i < some; ++i)
            if (block[i] != (stuffed && (some - i) % 2 == 0 ? before : last)) return false;
    }
    return true;
}

namespace {

/// Takes note of bytes before a marker that belong to nothing. True where they are harmless: the probe finds no table
/// in the header's, and those before the end are padding.
bool pass_over(Decoder& decoder) {
    const auto count = static_cast<std::uint64_t>(decoder.errors.msg_parm.i[0]);
    if (decoder.info.input_scan_number == 0) return decoder.strays += count, true;
    if (decoder.errors.msg_parm.i[1] != eoi) return false;
    std::uint64_t end = decoder.position - decoder.left - decoder.source.bytes_in_buffer;
    while (decoder.file->has(end, 1) && decoder.file->byte(end) == 0xFF) ++end;
    if (!decoder.file->has(end, 1)) return false;
    return decoder.padding = are_padding(*decoder.file, end, count);
}

/// Tells whether a warning is about the data.
bool is_damage(Decoder& decoder) {
    switch (decoder.errors.msg_code) {
        case JWRN_EXTRANEOUS_DATA:
            return !pass_over(decoder);
        case JWRN_ARITH_BAD_CODE:
        case JWRN_BOGUS_PROGRESSION:
        case JWRN_HIT_MARKER:
        case JWRN_HUFF_BAD_CODE:
        case JWRN_JPEG_EOF:
        case JWRN_MUST_RESYNC:
            return true;
        default:
            return false;
    }
}

void on_message(j_common_ptr info, int level) {
    if (level >= 0 || !is_damage(decoder_of(info))) return;
    take_note(info);
    if (decoder_of(info).strict) std::longjmp(decoder_of(info).failed, 1);
}

void on_progress(j_common_ptr info) {
    if (decoder_of(info).info.input_scan_number <= most_scans) return;
    info->err->msg_code = JERR_BAD_PROGRESSION;
    info->err->error_exit(info);
}

/// Hands over a few bytes at a time: where libjpeg-turbo holds 512 for each block of an MCU, it decodes faster by a
/// twentieth and says nothing of bad Huffman codes.
constexpr std::size_t few = 500, piece = 128 * few;

boolean fill(j_decompress_ptr info) {
    static constexpr unsigned char end[]{0xFF, eoi};
    Decoder& decoder = decoder_of(reinterpret_cast<j_common_ptr>(info));
    if (decoder.left == 0) {
        decoder.next = decoder.read;
        decoder.left = decoder.file->copy(decoder.position, piece, decoder.read);
        decoder.position += decoder.left;
    }
    const std::size_t count = std::min(decoder.left, few);
    decoder.source.next_input_byte = count > 0 ? decoder.next : end;
    decoder.source.bytes_in_buffer = count > 0 ? count : sizeof end;
    decoder.next += count;
    decoder.left -= count;
    if (count == 0) WARNMS(info, JWRN_JPEG_EOF);
    return TRUE;
}

void skip(j_decompress_ptr info, long count) {
    auto rest = static_cast<std::size_t>(std::max(count, 0L));
    for (; rest > info->src->bytes_in_buffer; fill(info)) rest -= info->src->bytes_in_buffer;
    info->src->next_input_byte += rest;
    info->src->bytes_in_buffer -= rest;
}

/// Reads the header. False where it fails.
bool start(Decoder& decoder) {
    if (setjmp(decoder.failed)) return false;
    jpeg_create_decompress(&decoder.info);
    decoder.info.progress = &decoder.progress;
    decoder.progress.progress_monitor = on_progress;
    decoder.source.init_source = decoder.source.term_source = [](j_decompress_ptr) {};
    decoder.source.fill_input_buffer = fill;
    decoder.source.skip_input_data = skip;
    decoder.source.resync_to_restart = jpeg_resync_to_restart;
    decoder.info.src = &decoder.source;
    jpeg_read_header(&decoder.info, TRUE);
    decoder.info.out_color_space = decoder.info.num_components == 1   ? JCS_GRAYSCALE
                                   : decoder.info.num_components == 3 ? JCS_EXT_BGR
                                                                      : JCS_CMYK;
    return true;
}

/// Reads the next `count` rows, and behind the last one on to the end marker. False where that fails; then the rows
/// from output_scanline on are missing.
bool read_rows(Decoder& decoder, unsigned char* pixels, std::size_t step, JDIMENSION count) {
    constexpr JDIMENSION batch = 16;
    if (setjmp(decoder.failed)) return false;
    jpeg_decompress_struct& info = decoder.info;
    const bool cmyk = info.out_color_space == JCS_CMYK;
    if (!decoder.started) {
        jpeg_start_decompress(&info);
        decoder.started = true;
        if (cmyk)
            decoder.inks = info.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE,
                                                  4 * info.output_width, batch);
    }
    const JDIMENSION begin = info.output_scanline, end = begin + count;
    while (info.output_scanline < end) {
        const JDIMENSION first = info.output_scanline, some = std::min(batch, end - first);
        JSAMPROW rows[batch];
        for (JDIMENSION i = 0; i < some; ++i) rows[i] = pixels + step * (first - begin + i);
        const JDIMENSION got = jpeg_read_scanlines(&info, cmyk ? decoder.inks : rows, some);
        for (JDIMENSION i = 0; cmyk && i < got; ++i) convert_cmyk(decoder.inks[i], rows[i], info.output_width, true);
    }
    if (end == info.output_height) jpeg_finish_decompress(&info);
    return true;
}

IoError::Kind kind_of(int code) {
    switch (code) {
        case JWRN_JPEG_EOF:
        case JERR_INPUT_EOF:
            return IoError::Kind::truncated;
        case JERR_OUT_OF_MEMORY:
            return IoError::Kind::memory;
        case JERR_ARITH_NOTIMPL:
        case JERR_BAD_PRECISION:
        case JERR_CCIR601_NOTIMPL:
        case JERR_COMPONENT_COUNT:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_FRACT_SAMPLE_NOTIMPL:
        case JERR_IMAGE_TOO_BIG:
        case JERR_NOTIMPL:
        case JERR_NOT_COMPILED:
        case JERR_SOF_UNSUPPORTED:
            return IoError::Kind::unsupported;
        default:
            return IoError::Kind::damaged;
    }
}

/// Leaves an image encoded if the caller decodes it. Returns whether it does.
bool leave_encoded(const EncodedImage& file, Image& image) {
    if (!file.options.leave_encoded || file.strip_rows > 0 || file.bytes.size() > DecodeOptions::most_encoded_bytes)
        return false;
    std::vector<unsigned char> own;
    std::vector<unsigned char>& memory = file.options.encoded_memory ? *file.options.encoded_memory : own;
    if (memory.empty() || file.bytes.of_window() || file.bytes.at(0) != memory.data()) {
        memory.resize(file.bytes.size());
        file.bytes.copy(0, memory.size(), memory.data());
    }
    if (!file.options.leave_encoded(memory)) return false;
    image.encoded.swap(memory);
    image.width = file.probe.width;
    image.height = file.probe.height;
    image.orientation = orientation(file.bytes);
    if (image.orientation < 1 || image.orientation > 8) image.orientation = 1;
    if (image.orientation >= 5) std::swap(image.width, image.height);
    image.pages = count_pages(file);
    return true;
}

Image decode(const EncodedImage& file) {
    Image image;
    if (leave_encoded(file, image)) return image;
    image = {};
    Decoder decoder{};
    decoder.info.err = jpeg_std_error(&decoder.errors);
    decoder.errors.error_exit = on_error;
    decoder.errors.emit_message = on_message;
    decoder.info.client_data = &decoder;
    std::vector<unsigned char> read(piece);
    decoder.file = &file.bytes;
    decoder.read = read.data();
    decoder.strict = file.options.on_damaged == OnDamaged::error;
    struct Guard {
        Decoder& decoder;
        ~Guard() { jpeg_destroy_decompress(&decoder.info); }
    } const guard{decoder};

    const auto words = [&] { return "libjpeg: " + std::string(decoder.words); };
    const auto refuse = [&] {
        const IoError::Kind kind = kind_of(decoder.code);
        const bool data = kind == IoError::Kind::damaged || kind == IoError::Kind::truncated;
        file.refuse((kind == IoError::Kind::damaged     ? "damaged: "
                     : kind == IoError::Kind::truncated ? "truncated: "
                                                        : "") +
                        std::string("the JPEG") + (data ? "'s header" : " cannot be read") + ": " + words(),
                    kind);
    };
    if (!start(decoder)) refuse();
    if (decoder.info.image_width != file.probe.width || decoder.info.image_height != file.probe.height)
        file.refuse("damaged: the JPEG has several headers that contradict each other", IoError::Kind::damaged);

    const auto look_for_damage = [&] {
        if (!decoder.code) return;
        const IoError::Kind kind = kind_of(decoder.code);
        if (kind != IoError::Kind::damaged && kind != IoError::Kind::truncated) refuse();
        const std::string scan = decoder.scan > 1 ? " of scan " + std::to_string(decoder.scan) : "";
        file.report(image,
                    "the JPEG at row " + std::to_string(decoder.row) + " of " + std::to_string(file.probe.height) +
                        scan + ": " + words(),
                    kind);
    };
    const JDIMENSION height = decoder.info.image_height;
    const auto at_once = static_cast<JDIMENSION>(file.rows_at_once());
    cv::Mat pixels =
        file.allocate(at_once, decoder.info.image_width, decoder.info.num_components == 1 ? CV_8UC1 : CV_8UC3);
    bool complete = true;
    for (JDIMENSION row = 0, rows; row < height; row += rows) {
        rows = std::min(at_once, height - row);
        if (complete) complete = read_rows(decoder, pixels.data, pixels.step, rows);
        if (!complete) {
            const JDIMENSION done = std::clamp(decoder.info.output_scanline, row, row + rows) - row;
            pixels.rowRange(static_cast<int>(done), pixels.rows).setTo(cv::Scalar::all(0));
        }
        look_for_damage();
        file.give_rows(image, pixels, row, rows);
    }
    file.put_upright(image, orientation(file.bytes));
    image.pages = count_pages(file);
    if (decoder.strays > 0)
        image.note = "passed over: " + std::to_string(decoder.strays) + " bytes between the segments of its header";
    if (decoder.padding)
        image.note += (decoder.strays > 0 ? ", " : "passed over: ") + std::string("padding before its end");
    return image;
}

}  // namespace

const ImageFormat jpeg_format{
    "a JPEG",
    {".jpe", ".jpeg", ".jpg", ".mpo"},
    14,
    matches,
    inspect,
    decode,
    {"JPEG, MPO",
     {"libjpeg-turbo"},
     "u8",
     "pictures of MPO",
     "baseline, extended, progressive, Huffman or arithmetic, every sampling; gray, YCbCr, RGB, CMYK and YCCK; pixels "
     "and orientation of cv::imread, bit for bit",
     "lossless, JPEG-LS, hierarchical, other than 8 bits, 2 or more than 4 components, DNL, over 500 scans"},
    find_pages,
    nullptr,
    true};

}  // namespace gpuhist::io
