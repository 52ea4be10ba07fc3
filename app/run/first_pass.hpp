/// Findings of the first of two passes over the inputs, for the second.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "run/inputs.hpp"
#include "run/row_file.hpp"

namespace gpuhist::app {

/// Inputs of the first pass, in their order: a record each in a file that grows, so that memory does not.
class FirstPass {
  public:
    struct Seen {
        bool failed = false;
        Stamp stamp;
        std::string path;
    };

    explicit FirstPass(OutputDirectory& output) : file_(output, "gpuhist.bad") {}

    RowFile& file() { return file_; }
    const RowFile& file() const { return file_; }
    /// Takes note of an input.
    void add(const Input& input, bool failed);

    /// Forgets all. Throws IoError.
    void discard();

    // The following functions are for the second pass, and throw IoError. Finds an input after the one that was found
    // last. `gone` receives the paths between them. Absent if the first pass did not have the input.
    std::optional<Seen> find(const Input& input, std::vector<std::string>& gone);
    /// Paths behind the input that was found last.
    std::vector<std::string> rest();

  private:
    bool read_next();

    RowFile file_;
    std::ifstream records_;
    std::optional<Seen> next_;
};

}  // namespace gpuhist::app
