// Runs over directories of images, some of them bad, and what they leave.
#pragma once

#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <random>
#include <sstream>

#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/opencv.hpp"
#include "support/command.hpp"

namespace command {

using Names = std::vector<std::string>;

class Directory : public Command {
  protected:
    /// The first fields of the rows of stats.csv that name `channel`; fields hold no commas here.
    Names paths(const std::string& csv, const std::string& channel = "gray") const {
        Names found;
        std::istringstream lines(csv);
        for (std::string line; std::getline(lines, line);)
            if (contains(line, "," + channel + ",")) found.push_back(line.substr(0, line.find(',')));
        return found;
    }

    Names measured(std::vector<std::string> arguments) const {
        arguments.insert(arguments.end(), {"-q", "--format", "csv", "--write", "none", "--engine", "cpu"});
        return paths(run(arguments).out);
    }

    void save_gray(const std::string& name, int value = 1) const {
        save(name, cv::Mat(3, 2, CV_8UC1, cv::Scalar(value)));
    }

    /// Images of every depth and number of channels in a tree of directories, some of them bad.
    void make_tree(const std::string& root, int count, unsigned seed = 1) const {
        std::mt19937 random(seed);
        const Names directories{"", "a/", "a/b/", "a b/", "\xc3\xbc/", "a/b/c/d/"};
        const std::array types{CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3, CV_32FC1, CV_32FC3};
        for (int i = 0; i < count; ++i) {
            std::string name = root + "/" + directories[random() % directories.size()] + "image" + std::to_string(i);
            cv::Mat image(1 + static_cast<int>(random() % 24), 1 + static_cast<int>(random() % 24),
                          types[random() % types.size()]);
            name += image.depth() == CV_32F ? ".pfm" : ".png";
            cv::randu(image, 0, image.depth() == CV_8U ? 256 : image.depth() == CV_16U ? 65536 : 1);
            save(name, image);
            const unsigned luck = random() % 40;
            if (luck == 0) write_text(at(name), read_text(at(name)).substr(0, 30));
            if (luck == 1) write_text(at(name), "no image");
        }
    }

    /// Images of floats, each with 40,000 values of its own in a channel.
    std::vector<cv::Mat> save_floats(const std::string& root, int count, int type) const {
        std::vector<cv::Mat> images;
        for (int i = 0; i < count; ++i) {
            cv::Mat image(200, 200, type);
            cv::randn(image, cv::Scalar::all(0.1 * i), cv::Scalar::all(1 + i));
            image.at<float>(3, 4) = std::nanf("");
            image.at<float>(5, i) = -INFINITY;
            save(root + "/" + std::to_string(i % 3) + "/" + std::to_string(i) + ".pfm", image);
            images.push_back(image);
        }
        return images;
    }

    /// TIFF images of every depth, of 1 to 6 channels and random bits.
    void save_depths(const std::string& root, int count) const {
        std::mt19937 random(5);
        for (int i = 0; i < count; ++i) {
            const gpuhist::DepthTraits& traits =
                gpuhist::all_depths[static_cast<std::size_t>(i) % std::size(gpuhist::all_depths)];
            const int channels = std::array{1, 3, 5, 1, 2, 6}[static_cast<std::size_t>(i / 9) % 6];
            cv::Mat image(20 + i % 7, 31, CV_MAKETYPE(gpuhist::io::opencv_depth(traits.depth), channels));
            for (std::size_t at = 0; at < image.total() * image.elemSize(); ++at)
                image.data[at] = static_cast<unsigned char>(random());
            const gpuhist::Samples samples = channels == 2 || channels == 5 ? gpuhist::Samples::bands
                                             : channels == 6                ? gpuhist::Samples::color_bands
                                                                            : gpuhist::Samples::color;
            const std::string name =
                root + "/" + std::to_string(i % 2) + "/" + std::to_string(i) + traits.name + ".tiff";
            fs::create_directories(at(name).parent_path());
            gpuhist::io::write_image(at(name), image, samples, traits.depth);
        }
    }

    /// Directories of a few images of every kind each, and a list that goes through them in no order.
    void make_groups(int directories, int images) const {
        const std::array types{CV_16UC3, CV_16UC1, CV_8UC3, CV_32FC1, CV_32FC3};
        Names names;
        for (int i = 0; i < images; ++i) {
            const int type = types[static_cast<std::size_t>(i / directories) % types.size()];
            cv::Mat image(24, 24, type);
            cv::randu(image, 0, image.depth() == CV_8U ? 256 : image.depth() == CV_16U ? 65536 : 1);
            names.push_back("set/" + std::to_string(i % directories) + "/" + std::to_string(i) +
                            (image.depth() == CV_32F ? ".pfm" : ".png"));
            save(names.back(), image);
        }
        std::shuffle(names.begin(), names.end(), std::mt19937(3));
        std::ofstream list(at("list"));
        for (const std::string& name : names) list << name << '\n';
    }

    /// A table of CSV whose fields hold no commas, each row by the names of the columns.
    std::vector<std::map<std::string, std::string>> table(const std::string& csv) const {
        std::vector<std::map<std::string, std::string>> rows;
        Names names;
        std::istringstream lines(csv);
        for (std::string line; std::getline(lines, line);) {
            Names fields(1);
            for (const char byte : line)
                if (byte == ',')
                    fields.emplace_back();
                else
                    fields.back() += byte;
            if (names.empty()) {
                names = fields;
                continue;
            }
            auto& row = rows.emplace_back();
            for (std::size_t i = 0; i < fields.size(); ++i) row[names.at(i)] = fields[i];
        }
        return rows;
    }

    /// Every file below a directory, with its bytes, and the list of what gpuhist wrote there.
    std::map<std::string, std::string> contents(const std::string& name) const {
        std::map<std::string, std::string> files;
        for (const std::string& file : files_below(name)) files[file] = read_text(at(name) / file);
        if (fs::exists(at(name) / ".gpuhist")) {
            std::string& list = files[".gpuhist"] = read_text(at(name) / ".gpuhist");
            // Entries of finished runs depend on the times of their inputs.
            if (const std::size_t runs = list.find("\n= "); runs != list.npos) list.resize(runs + 1);
        }
        return files;
    }

    void expect_same_files(const std::string& actual, const std::string& expected) const {
        EXPECT_EQ(files_below(actual), files_below(expected));
        const auto there = contents(actual);
        for (const auto& [name, bytes] : contents(expected)) {
            const auto found = there.find(name);
            EXPECT_TRUE(found == there.end() || found->second == bytes) << name << " differs";
        }
    }
};

}  // namespace command
