/// Notes on the inputs of a run: one per subject on which something was unexpected.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gpuhist::io {

/// Note on an input, which also counts the later inputs with the same remark.
struct Note {
    std::uint64_t index = 0;  ///< number of the first input
    std::string path;         ///< its path, any bytes
    std::string text;         ///< remark; empty if it depends on the set: see dataset_notes
    std::uint64_t count = 1;  ///< number of inputs
};

/// Subjects of two counts that make one line: samples that are excluded because files declare it, and these files.
inline constexpr const char *excluded_samples_subject = "samples excluded by files",
                            *excluding_files_subject = "files that exclude samples";
/// Subject of the number of images with rules that name channels. Subjects of images that lack such a channel, and
/// their texts, begin with `lacks_subject`.
inline constexpr const char *images_of_rules_subject = "images of rules that name channels", *lacks_subject = "lacks ";

/// Notes by subject. A value type. It keeps the text of the first input, in whatever order notes are added.
class Notes {
  public:
    void add(const std::string& subject, const Note& note);
    void add(const Notes& more);
    /// Returns the note on a subject, or null.
    const Note* find(const std::string& subject) const;
    const std::map<std::string, Note>& all() const { return all_; }

    /// Lines for people, one per subject with a text: "PATH: TEXT (and 2 more)".
    std::vector<std::string> lines() const;

  private:
    std::map<std::string, Note> all_;
};

}  // namespace gpuhist::io
