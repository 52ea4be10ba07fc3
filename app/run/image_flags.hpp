/// Flags of the images of a set, which follow from the tables of a run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuhist/duplicates.hpp"
#include "gpuhist/flags.hpp"
#include "gpuhist/hashes.hpp"
#include "gpuhist/io/csv_rows.hpp"
#include "gpuhist/io/encode.hpp"
#include "run/measured_images.hpp"

namespace gpuhist::app {

/// Key of the thresholds in the options of a run, as `io::flags_json`, from which a merge has them.
inline constexpr const char* thresholds_option = "thresholds of --policy";

/// Flag of an image.
struct ImageFlag {
    std::uint64_t image = 0;  ///< counted from 0, in the order of the tables
    std::string_view path;
    Flag flag = Flag::dark;
    double value = 0;
    std::optional<double> threshold{};
    std::optional<std::uint64_t> first{};  ///< of a duplicate: the first image of its group
};

/// Whether a flag is about other images that are alike.
bool is_duplicate(Flag flag);

/// Hashes of images, in the order of the tables.
struct ImageHashes {
    std::vector<Hash128> pixels;
    std::vector<std::uint64_t> similar;  ///< 0: none
};

/// Adds the hashes of the row that a reader of quality.csv is at. An image without a hash of its pixels is like no
/// other. Throws IoError for text that is no hash.
class HashColumns {
  public:
    explicit HashColumns(const io::CsvRows& quality)
        : pixels_(quality.find("pixels_hash")), similar_(quality.find("dhash")) {}
    bool present() const { return pixels_ && similar_; }
    void add(const io::CsvRows& quality, ImageHashes& to) const;

  private:
    std::optional<std::size_t> pixels_, similar_;
};

/// Flags of the images of a set, from the numbers of each and what is known of all.
class SetFlags {
  public:
    explicit SetFlags(const FlagThresholds& thresholds) : thresholds_(thresholds) {}

    bool wants_sizes() const { return thresholds_.of(Flag::odd_size).has_value(); }
    bool wants_hashes() const { return thresholds_.of(Flag::duplicate) || thresholds_.of(Flag::near_duplicate); }
    /// Finds what is usual, and the duplicates, from the values of `odd_size` and the hashes of all images. Both may be
    /// empty: then no image bears those flags.
    void complete(std::vector<double> sizes, const ImageHashes& hashes);
    const std::vector<std::uint32_t>& groups() const { return near_.empty() ? exact_ : near_; }

    /// Passes the flags of an image on, in the order of `all_flags`. `value_of` is called for flags that are switched
    /// on, but not for duplicates.
    void each(std::uint64_t image, std::string_view path, const std::function<std::optional<double>(Flag)>& value_of,
              const std::function<void(const ImageFlag&)>& take) const;

  private:
    FlagThresholds thresholds_;
    std::optional<UsualSizes> sizes_;
    std::vector<std::uint32_t> exact_, near_;  ///< first image of the group; empty: not looked for
    std::vector<std::uint64_t> hashes_;
};

/// Finder of flags. It reads the tables once for the sizes and hashes of the whole set, which take about 100 bytes per
/// image, and once for the flags.
class FlagFinder {
  public:
    /// Throws IoError for tables that are none, or do not belong together.
    FlagFinder(ImageTables tables, const FlagThresholds& thresholds);

    /// Passes the flags of all images on, in the order of the images and of `all_flags`. Throws IoError.
    void each(const std::function<void(const ImageFlag&)>& take) const;
    std::uint64_t images() const { return images_; }
    /// The first image of the group of duplicates of each image: its own number if it has none before it. Empty if no
    /// duplicates are looked for.
    const std::vector<std::uint32_t>& groups() const { return set_.groups(); }
    /// Numbers of images with few pixels, and with many: `count` of each. Throws IoError.
    std::vector<std::uint64_t> smallest_and_largest(std::size_t count) const;
    /// Paths of images by their numbers. Throws IoError.
    std::map<std::uint64_t, std::string> paths_of(const std::vector<std::uint64_t>& images) const;

  private:
    ImageTables tables_;
    SetFlags set_;
    std::uint64_t images_ = 0;
};

/// How far a value is beyond its threshold; the larger, the worse.
double excess(const ImageFlag& flag);

/// Numbers of images that bear each flag, and the worst three of each.
class FlagSummary {
  public:
    void add(const ImageFlag& flag);
    /// Lines for the terminal. Throws IoError.
    std::string text(const FlagFinder& flags) const;

  private:
    struct Worst {
        std::string path;
        ImageFlag flag;
    };
    struct OfFlag {
        std::uint64_t images = 0;
        std::vector<Worst> worst;
    };
    std::array<OfFlag, flag_count> of_;
    std::uint64_t images_ = 0;
    std::optional<std::uint64_t> last_;
};

/// Contents of flags.csv. Each flag is added to the summary too. Calling it throws IoError.
io::Pieces flags_csv(const FlagFinder& flags, FlagSummary& summary);

/// The value of a flag, in short, for people: "0.12"; for a duplicate "= PATH", given the path of the first image.
std::string value_text(const ImageFlag& flag, const std::string& first);

}  // namespace gpuhist::app
