/// Remarks: unexpected facts about a file, its numbers, its copy or a directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/io/notes.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/walk.hpp"
#include "gpuhist/normalize.hpp"
#include "run/outcome.hpp"

namespace gpuhist::app {

/// Remarks on a file: that it is of another kind than its name says, has several pages, or is damaged.
std::vector<Remark> remarks_on(const io::Image& file);

/// Remarks on rules for valid samples that name a channel which the image lacks. `names` are those of its channels.
std::vector<Remark> remarks_on_rules(const Validity& rules, const std::vector<std::string>& names);

/// Remark on a mask whose 0 viewers show as white: it selects the complement of what a reader may see in it.
Remark remark_on_white_mask();

/// Remarks on the numbers of an image, which refer to its white, or to the one that was asked for.
std::vector<Remark> remarks_on(const io::ImageResult& image, const std::optional<double>& asked_white);

/// Remarks on a normalized copy that differs from the image in nothing, or not in some channels. That an image fills
/// its range already is worth one only where a copy was asked for.
std::vector<Remark> remarks_on_copy(const Analysis& image, const Normalization& normalization, bool asked);

/// Adds notes that matter only in a set, for `io::dataset_notes`: that an image is gray, or has bands.
void add_kind(io::Notes& notes, const io::ImageResult& image);

/// Line that says that `--channels separate` has no effect, because all images are gray. Absent if one is not.
std::optional<std::string> note_on_separate_channels(const io::Notes& notes, std::uint64_t images);

/// Lines about a walk: links that lead nowhere, and options that found nothing to act on.
std::vector<std::string> notes_on(const io::WalkOptions& options, const io::LeftOut& left_out);

/// Words for a pipe that nobody writes to.
std::string unwritten_text(const std::string& name);

}  // namespace gpuhist::app
