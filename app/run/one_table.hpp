/// Images that may share lookup tables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/lut.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

/// Kinds of images for which a run makes tables: of one depth where all are linked, and either gray or colors where
/// each channel has a table of its own.
class OneTable {
  public:
    explicit OneTable(const Options& options)
        : linked_(options.linked),
          separate_((options.linked || !options.tables_to.empty()) && !options.normalization.joint) {}

    /// Takes note of images that an interrupted run measured.
    void resume(const Summary& images);
    /// Takes note of an image. Returns why it cannot be one of these; absent where it can.
    std::optional<std::string> refusal(const io::ImageResult& image);

  private:
    struct Kinds {
        bool gray = false, colors = false;
    };
    bool linked_, separate_;
    std::map<Depth, Kinds> kinds_;
};

/// Has this value stand for nodata in the copies that kept tables, those of the file `name`, make. Throws UsageError
/// where a table was made for another one, or copies do not hold it.
void fill_copies_of(double fill, std::vector<LutSet>& tables, const std::string& name);

/// Has kept tables, those of the file `name`, make copies of this depth: those of floats can. Throws UsageError where
/// others were made for another one.
void make_copies_of(Depth depth, std::vector<LutSet>& tables, const std::string& name);

}  // namespace gpuhist::app
