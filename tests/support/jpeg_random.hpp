// JPEGs of every kind that libjpeg writes without progression, by chance and reproducibly, and what libjpeg reads of
// any.
#pragma once

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/jpeg_files.hpp"

namespace jpeg_files {

/// Way to write a JPEG.
struct Coding {
    int width = 1, height = 1;
    J_COLOR_SPACE stored = JCS_YCbCr;  ///< or JCS_RGB, JCS_GRAYSCALE
    int across[3] = {1, 1, 1}, down[3] = {1, 1, 1};
    int quality = 90;
    unsigned restart = 0;      ///< MCUs
    bool optimized = false;    ///< Huffman tables
    bool same_tables = false;  ///< the first component's for all
    int coarseness = 0;        ///< of quantization tables with 16 bits, if not 0: their lowest number
    int contents = 0;          ///< 0: waves and noise, 1: noise, 2: flat, 3: black and white, 4: flat with noise in it
    unsigned seed = 1;

    int components() const { return stored == JCS_GRAYSCALE ? 1 : 3; }
};

inline std::string text_of(const Coding& c) {
    std::string text = std::to_string(c.width) + " x " + std::to_string(c.height) +
                       (c.stored == JCS_GRAYSCALE ? " gray"
                        : c.stored == JCS_RGB     ? " rgb"
                                                  : " ycc");
    for (int i = 0; i < c.components(); ++i)
        text += " " + std::to_string(c.across[i]) + "x" + std::to_string(c.down[i]);
    return text + ", quality " + std::to_string(c.quality) + ", restart " + std::to_string(c.restart) +
           (c.optimized ? ", optimized" : "") + (c.same_tables ? ", same tables" : "") + ", coarseness " +
           std::to_string(c.coarseness) + ", contents " + std::to_string(c.contents) + ", seed " +
           std::to_string(c.seed);
}

inline cv::Mat picture_of(const Coding& c) {
    cv::Mat image(c.height, c.width, CV_8UC(c.components()));
    std::mt19937 random(c.seed);
    const double frequency = 0.02 + 0.3 * (random() % 100) / 100;
    const unsigned base = random();
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            for (int i = 0; i < image.channels(); ++i) {
                const unsigned noise = random() >> 8;
                int v = 0;
                switch (c.contents) {
                    case 0:
                        v = static_cast<int>(128 + 90 * std::sin(frequency * (x + 2 * i)) * std::cos(frequency * y) +
                                             noise % 24);
                        break;
                    case 1:
                        v = static_cast<int>(noise % 256);
                        break;
                    case 2:
                        v = static_cast<int>(base >> (8 * i) & 255);
                        break;
                    case 3:
                        v = noise % 2 ? 255 : 0;
                        break;
                    default:
                        v = (x / 64 + y / 64) % 5 == 0 ? static_cast<int>(noise % 256)
                                                       : static_cast<int>(base >> (8 * i) & 255);
                }
                image.ptr(y)[x * image.channels() + i] = static_cast<unsigned char>(std::clamp(v, 0, 255));
            }
    return image;
}

inline Bytes write(const Coding& c) {
    const cv::Mat image = picture_of(c);
    const J_COLOR_SPACE input = c.stored == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    return write_jpeg(image, input, c.stored, c.quality, [&](jpeg_compress_struct& info) {
        info.err->emit_message = [](j_common_ptr, int) {};  // it has a remark on coarse quantization
        if (c.coarseness > 0) {
            unsigned table[DCTSIZE2];
            for (int i = 0; i < DCTSIZE2; ++i) table[i] = static_cast<unsigned>(c.coarseness + 3 * i);
            for (int i = 0; i < 2; ++i) jpeg_add_quant_table(&info, i, table, 100, FALSE);
        }
        for (int i = 0; i < c.components(); ++i) {
            info.comp_info[i].h_samp_factor = c.across[i];
            info.comp_info[i].v_samp_factor = c.down[i];
            if (c.same_tables) info.comp_info[i].dc_tbl_no = info.comp_info[i].ac_tbl_no = 0;
        }
        info.optimize_coding = c.optimized;
        info.restart_interval = c.restart;
    });
}

/// Coding by chance: any that libjpeg takes, of up to so many pixels per side.
inline Coding random_coding(unsigned seed, int longest = 200) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    Coding c;
    c.seed = seed;
    c.width = 1 + below(below(3) == 0 ? 20 : longest);
    c.height = 1 + below(below(3) == 0 ? 20 : longest);
    c.stored = below(8) == 0 ? JCS_GRAYSCALE : below(6) == 0 ? JCS_RGB : JCS_YCbCr;
    c.quality = 1 + below(100);
    c.restart = below(3) == 0 ? static_cast<unsigned>(1 + below(40)) : 0;
    c.optimized = below(2) == 0;
    c.same_tables = below(5) == 0;
    c.coarseness = below(8) == 0 ? 1 + below(400) : 0;
    c.contents = below(5);
    static constexpr int common[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}};
    if (below(3) > 0) {
        const auto& first = common[below(8)];
        c.across[0] = first[0];
        c.down[0] = first[1];
        return c;
    }
    for (int blocks = 11; blocks > 10;) {
        blocks = 0;
        for (int i = 0; i < 3; ++i) {
            c.across[i] = 1 + below(4);
            c.down[i] = 1 + below(4);
        }
        // Divisors of the largest: libjpeg has no fractional sampling.
        for (auto* factors : {c.across, c.down}) {
            const int most = *std::max_element(factors, factors + 3);
            for (int i = 0; i < 3; ++i)
                while (most % factors[i] != 0) --factors[i];
        }
        for (int i = 0; i < 3; ++i) blocks += c.across[i] * c.down[i];
    }
    return c;
}

/// Reading of a file by libjpeg, with the settings of gpuhist's decoder: gray, or blue, green, red.
struct Reading {
    std::string error;  ///< of a file that it refuses
    long warnings = 0;
    cv::Mat pixels;
};

inline Reading read(const Bytes& jpeg) {
    Reading reading;
    jpeg_decompress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    errors.error_exit = throw_error;
    errors.emit_message = [](j_common_ptr all, int level) {
        if (level < 0) ++all->err->num_warnings;
    };
    jpeg_create_decompress(&info);
    try {
        jpeg_mem_src(&info, jpeg.data(), static_cast<unsigned long>(jpeg.size()));
        jpeg_read_header(&info, TRUE);
        if (info.num_components != 1 && info.num_components != 3) throw std::runtime_error("ink");
        info.out_color_space = info.num_components == 1 ? JCS_GRAYSCALE : JCS_EXT_BGR;
        jpeg_start_decompress(&info);
        reading.pixels.create(static_cast<int>(info.output_height), static_cast<int>(info.output_width),
                              CV_8UC(info.output_components));
        for (int y = 0; y < reading.pixels.rows; ++y) {
            unsigned char* row = reading.pixels.ptr(y);
            jpeg_read_scanlines(&info, &row, 1);
        }
        jpeg_finish_decompress(&info);
    } catch (const std::runtime_error& error) {
        reading.error = error.what();
    }
    reading.warnings = errors.num_warnings;
    jpeg_destroy_decompress(&info);
    return reading;
}

}  // namespace jpeg_files
