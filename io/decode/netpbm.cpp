// The netpbm family: PBM, PGM and PPM, PAM, and PFM.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"
#include "decode/words.hpp"

namespace gpuhist::io {
namespace {

constexpr const char* too_short = "the file holds fewer samples than its header says";
constexpr const char* no_header = "the file ends inside its header";

/// A letter after the P and white space, with which texts begin too.
bool begins(const Bytes& file, std::string_view kinds) {
    return file.size() >= 3 && *file.at(0) == 'P' && kinds.find(static_cast<char>(*file.at(1))) != kinds.npos &&
           std::isspace(*file.at(2));
}

/// A header of three fields. Where one is wrong before the file ends, the file is only a text that begins like one.
struct Header {
    Words words;
    std::array<std::optional<std::uint64_t>, 3> fields;

    bool complete() const {
        return std::all_of(fields.begin(), fields.end(), [](const auto& field) { return field.has_value(); });
    }
    bool plausible() const { return complete() || words.at_end(); }
};

// ------------------------------------------------------------------------------------------ PBM, PGM and PPM

bool is_bitmap(const Bytes& file) {
    return *file.at(1) == '1' || *file.at(1) == '4';
}

Header pnm_header(const Bytes& file) {
    Words words(file, 2);
    const auto width = words.number(), height = words.number();
    const auto highest = is_bitmap(file) ? 1 : words.number();
    return {words, {width, height, highest}};
}

bool matches_pnm(const Bytes& file) {
    return begins(file, "123456") && pnm_header(file).plausible();
}

void inspect_pnm(const Bytes& file, Probe& probe) {
    auto [words, fields] = pnm_header(file);
    const char kind = static_cast<char>(*file.at(1));
    const bool bitmap = is_bitmap(file), ascii = kind <= '3', color = kind == '3' || kind == '6';
    if (!fields[0] || !fields[1] || !fields[2]) {
        probe.truncated = no_header;
        return;
    }
    const std::uint64_t width = *fields[0], height = *fields[1];
    probe.set_size(width, height);
    const std::uint64_t samples = saturating_product(saturating_product(width, height), color ? 3 : 1);
    bool complete = true;
    if (!ascii) {
        const std::uint64_t bytes = bitmap ? saturating_product((width + 7) / 8, height)
                                           : saturating_product(samples, *fields[2] > 255 ? 2 : 1);
        complete = file.has(words.position() + 1, bytes);
    } else {
        // Digits of a bitmap need no white space between them.
        std::uint64_t found = 0;
        while (found < samples) {
            const auto word = words.next();
            if (word.empty()) break;
            found += bitmap ? word.size() : 1;
        }
        complete = found >= samples;
    }
    if (!complete) probe.truncated = too_short;
}

/// OpenCV wants white space after the last number of a file in text.
Image decode_pnm(const EncodedImage& file) {
    const Bytes& bytes = file.bytes;
    const bool ascii = *bytes.at(1) <= '3';
    if (!ascii || std::isspace(*bytes.at(bytes.size() - 1))) return opencv_decode(file);
    return opencv_decode(file, std::string(bytes.text(0, bytes.size())) + '\n');
}

// ------------------------------------------------------------------------------------------------------- PAM

bool matches_pam(const Bytes& file) {
    return file.starts_with("P7\n");
}

void inspect_pam(const Bytes& file, Probe& probe) {
    Words words(file, 2);
    std::uint64_t channels = 0, top = 0;
    for (;;) {
        const auto word = words.next();
        if (word.empty()) {
            probe.truncated = no_header;
            return;
        }
        if (word == "ENDHDR") break;
        if (word == "WIDTH") {
            probe.width = words.number().value_or(0);
        } else if (word == "HEIGHT") {
            probe.height = words.number().value_or(0);
        } else if (word == "DEPTH") {
            channels = words.number().value_or(0);
        } else if (word == "MAXVAL") {
            top = words.number().value_or(0);
        }
    }
    const std::uint64_t samples = saturating_product(saturating_product(probe.width, probe.height), channels);
    if (!file.has(words.position() + 1, saturating_product(samples, top > 255 ? 2 : 1))) probe.truncated = too_short;
}

// ------------------------------------------------------------------------------------------------------- PFM

Header pfm_header(const Bytes& file) {
    Words words(file, 2);
    const auto width = words.number(), height = words.number();
    const bool scale = !words.next().empty();
    return {words, {width, height, scale ? std::optional(std::uint64_t{1}) : std::nullopt}};
}

bool matches_pfm(const Bytes& file) {
    return begins(file, "Ff") && pfm_header(file).plausible();
}

void inspect_pfm(const Bytes& file, Probe& probe) {
    const Header header = pfm_header(file);
    if (!header.complete()) {
        probe.truncated = no_header;
        return;
    }
    const std::uint64_t width = *header.fields[0], height = *header.fields[1];
    probe.set_size(width, height);
    const std::uint64_t sample_bytes = *file.at(1) == 'F' ? 12 : 4;
    if (!file.has(header.words.position() + 1, saturating_product(saturating_product(width, height), sample_bytes)))
        probe.truncated = too_short;
}

}  // namespace

const ImageFormat pnm_format{"a netpbm file", {".pbm", ".pgm", ".pnm", ".ppm", ".pxm"}, 6, matches_pnm, inspect_pnm,
                             decode_pnm};
const ImageFormat pam_format{"a netpbm file", {".pam"}, 8, matches_pam, inspect_pam, opencv_decode};
const ImageFormat pfm_format{"a PFM", {".pfm"}, 12, matches_pfm, inspect_pfm, opencv_decode};

}  // namespace gpuhist::io
