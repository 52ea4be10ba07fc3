/// Remarks: what of a file, its numbers, its copy or a directory is other than a reader of the results might expect.
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

/// Remarks on the numbers of an image, which refer to its white, or to the one that was asked for.
std::vector<Remark> remarks_on(const io::ImageResult& image, const std::optional<double>& asked_white);

/// Remarks on a normalized copy that differs from the image in nothing, or not in some channels. That an image fills
/// its range already is worth one only where a copy was asked for.
std::vector<Remark> remarks_on_copy(const Analysis& image, const Normalization& normalization, bool asked);

/// Notes on what is worth one only in a set, which `io::dataset_notes` knows: an image is gray, or of bands.
void add_kind(io::Notes& notes, const io::ImageResult& image);

/// Line that says of `--channels separate` that all images are gray; absent where one is not.
std::optional<std::string> note_on_separate_channels(const io::Notes& notes, std::uint64_t images);

/// Lines about a walk: links that lead nowhere, and options that found nothing to act on.
std::vector<std::string> notes_on(const io::WalkOptions& options, const io::LeftOut& left_out);

}  // namespace gpuhist::app
