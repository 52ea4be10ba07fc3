/// Page about a set of images: one file of HTML for a browser, which needs nothing from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpuhist/columns.hpp"

namespace gpuhist::io {

/// Cell of a table: nothing, a number, or text of any bytes.
using PageCell = std::variant<std::monostate, std::uint64_t, double, std::string>;

/// Table with a row of headings.
struct PageTable {
    std::vector<std::string> headings;
    std::vector<std::vector<PageCell>> rows;
};

/// Number in the head of the page, with its label.
struct PageFact {
    std::string label, value;
    bool marked = false;  ///< in the color of what is flagged
};

/// Histogram of some channels, drawn over each other, in equal bins from `lower` to `upper`.
struct PageHistogram {
    struct Line {
        std::string channel;
        std::vector<double> counts;
    };
    std::string heading;
    double lower = 0, upper = 0;
    std::vector<Line> lines;
};

/// Images of one depth.
struct PageSet {
    std::string heading;
    std::vector<PageHistogram> histograms;
    PageTable channels;
    std::vector<std::string> training;  ///< lines for training code
};

/// Class of a set, such as a directory.
struct PageGroup {
    std::string name, depth;
    std::uint64_t images = 0;
    std::string channel;  ///< the one that mean and std are of
    std::optional<double> mean, std;
    PageHistogram histogram;  ///< one line, in the bins of `PageGroups::whole`
};
struct PageGroups {
    std::uint64_t all = 0;  ///< number of classes, of which some are shown
    std::vector<PageGroup> shown;
    std::vector<PageHistogram> whole;  ///< of the whole set, one for each class that is shown
};

/// Distribution of a number over the images.
struct PageMeasure {
    std::string name, unit, definition;
    double lower = 0, upper = 0;                     ///< range of the bins
    std::vector<double> counts, flagged;             ///< images in each bin, and how many of them have one of `flags`
    std::uint64_t below = 0, above = 0;              ///< images outside of the bins
    std::uint64_t flagged_outside = 0;               ///< of these, images with one of `flags`
    std::uint64_t images = 0;                        ///< images with a value
    std::optional<double> threshold;                 ///< beyond which images are flagged, if there is one
    std::vector<std::string> flags;                  ///< flags that follow from the number
    std::optional<double> minimum, median, maximum;  ///< the median may be that of a sample of the images
};

/// Picture of an image, or the reason why there is none.
struct PagePicture {
    std::string path, caption;
    std::vector<unsigned char> jpeg;
    int width = 0, height = 0;
    std::string missing;
};

/// Flag, and the worst of its images.
struct PageFlag {
    std::string name, definition;
    std::string rule;  ///< such as `< 0.32`
    std::uint64_t images = 0;
    std::vector<PagePicture> worst;
};

/// Images of a group of duplicates, the first of which is kept.
struct PageCopies {
    std::uint64_t images = 0;
    std::vector<PagePicture> shown;
};
struct PageDuplicates {
    std::uint64_t groups = 0, copies = 0, equal = 0;
    std::vector<PageCopies> shown;
};

/// Failures of one kind.
struct PageErrors {
    std::string kind;
    std::uint64_t inputs = 0;
    std::vector<std::pair<std::string, std::string>> shown;  ///< paths, and messages
};

/// What changed since an earlier run.
struct PageChanges {
    std::string earlier;               ///< name of the earlier results
    std::vector<std::string> remarks;  ///< such as: how many images were added
    PageTable channels, flags;
};

/// Rows about images: a path, its flags as bits in the order of `PageImages::flags`, and numbers.
struct PageImage {
    std::string path;
    std::uint32_t flags = 0;
    std::vector<std::optional<double>> numbers;
};
struct PageImages {
    std::uint64_t all = 0;                    ///< number of images of the set
    std::string chosen;                       ///< which of them have a row; empty: all
    std::vector<std::string> flags, numbers;  ///< names
    std::vector<PageImage> rows;              ///< the most important first, if rows must be left out
};

struct Page {
    /// Largest number of bytes of a page.
    static constexpr std::size_t most_bytes = 5'000'000;

    std::string title;                 ///< any bytes, as are all names and paths
    std::string source;                ///< where the results are
    std::vector<std::string> remarks;  ///< what the results lack
    std::vector<PageFact> facts;
    std::vector<PageSet> sets;
    PageGroups groups;
    std::vector<PageMeasure> measures;
    bool flags_known = false;
    std::vector<PageFlag> flags;
    std::optional<PageDuplicates> duplicates;
    std::vector<PageErrors> errors;
    std::optional<PageChanges> changes;
    PageImages images;
    std::vector<Column> definitions;
};

/// Text of the page, in UTF-8. It loads nothing: its policy for contents allows its own script and style, by their
/// hashes, and pictures in it. Names may have any bytes; those that HTML or UTF-8 forbids, and those that reorder text,
/// become U+FFFD. Equal pages give equal bytes.
///
/// A page has at most `Page::most_bytes`. If it would have more, columns of numbers of images are left out from the
/// end, then rows, then pictures, and the page says so. Throws InvalidArgument if it is too large without them.
std::string page_html(Page page);

}  // namespace gpuhist::io
