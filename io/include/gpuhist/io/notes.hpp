/// Notes on the inputs of a run: what was other than might be expected, once a subject.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gpuhist::io {

/// Note on an input, and on those after it of which the same is said.
struct Note {
    std::uint64_t index = 0;  ///< of the first input
    std::string path;         ///< its path, any bytes
    std::string text;         ///< what is said of it; empty where it depends on the set: see dataset_notes
    std::uint64_t count = 1;  ///< inputs
};

/// Notes by their subjects. A value type: whatever the order in which they are added, the first input's text stays.
class Notes {
  public:
    void add(const std::string& subject, const Note& note);
    void add(const Notes& more);
    /// Note on a subject, or null.
    const Note* find(const std::string& subject) const;
    const std::map<std::string, Note>& all() const { return all_; }

    /// Lines for people, one line per subject that has a text: "PATH: TEXT (and 2 more)".
    std::vector<std::string> lines() const;

  private:
    std::map<std::string, Note> all_;
};

}  // namespace gpuhist::io
