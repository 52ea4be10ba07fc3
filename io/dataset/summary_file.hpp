// Summaries as JSON values, which several files hold.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "dataset/json.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/io/dataset.hpp"

namespace gpuhist::io {

/// Runs of values that are not in memory lie in `file`.
Json summary_value(const Summary& summary, const FrequencyFile* file);

/// Limits of the memory and the time that a text may take: so much per byte, whatever it contains.
class ReadLimits {
  public:
    /// Memory that counts may take which lie in few runs: a text that asks for more is made longer by its writer.
    static constexpr std::uint64_t free_bytes = std::uint64_t{64} << 20, bytes_a_character = 1024;

    ReadLimits(std::size_t characters, std::uint64_t stored) : counts_(free_bytes), stored_(stored) {
        counts_ += characters * bytes_a_character;
    }
    /// Throws IoError, which names the place, before memory for counts is taken.
    void take_counts(const JsonReader& place, std::size_t counts);
    /// Throws before a run is read: runs that lie in a file do not overlap, so they are no longer than it is.
    void take_stored(const JsonReader& place, const FrequencyFile& file, std::uint64_t bytes);

  private:
    std::uint64_t counts_, stored_;
};

/// Memory of the counts, which `ReadLimits` bounds.
std::uint64_t counts_bytes(const Summary& summary);
/// Spaces that make a text with these counts long enough.
std::string padding(std::size_t characters, std::uint64_t counts);

/// [place, bytes, checksum] of a run in a file.
Json place_value(std::uint64_t place, std::uint64_t bytes, const FrequencyFile* file);

/// Reads it, and checks the data there: the place and the bytes.
std::pair<std::uint64_t, std::uint64_t> read_place(const JsonReader& value, const FrequencyFiles& files,
                                                   ReadLimits& limits);

/// Reads a run of a depth's values: Base64, or a place, which is checked where `files.known` has none there.
FrequencyRun read_run(const JsonReader& value, Depth depth, const FrequencyFiles& files, ReadLimits& limits);

/// Depth of a name.
Depth depth_named(const JsonReader& value);

/// Reads it back. Throws IoError naming the place.
Summary read_summary(const JsonReader& value, const FrequencyFiles& files, ReadLimits& limits);

}  // namespace gpuhist::io
