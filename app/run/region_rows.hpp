/// Rows of an image's regions, which may be many.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gpuhist/io/frequency_file.hpp"
#include "run/sinks.hpp"

namespace gpuhist::app {

/// Formatted rows. Only a few are in memory; the others are in a file until they are taken.
class RegionRows {
  public:
    RegionRows() = default;
    ~RegionRows();
    RegionRows(RegionRows&&) = default;
    RegionRows& operator=(RegionRows&& other) noexcept;

    /// Adds rows behind the others. Where they take more than `most` bytes, they go to the file. Throws IoError.
    void add(const Formatted& rows, const std::shared_ptr<io::FrequencyFile>& file, std::uint64_t most);
    /// Takes all rows out, some at a time, in order. Throws IoError, and the exceptions of `take`.
    void take(const std::function<void(Formatted rows)>& take);

  private:
    struct Room {
        std::uint64_t place = 0, bytes = 0;
    };
    /// Rows in the file: for each sink, and for standard output.
    struct Stored {
        std::vector<Room> files;
        Room printed;
        io::RowCounts rows;
    };

    void store();
    Room store(const std::string& text);
    std::string load(Room& room);
    void give_back(Room& room) noexcept;

    std::shared_ptr<io::FrequencyFile> file_;
    std::vector<Stored> stored_;
    Formatted latest_;
    std::uint64_t latest_bytes_ = 0;
};

}  // namespace gpuhist::app
