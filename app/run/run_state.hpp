/// Identity and traces of a run: the settings by which another run is the same, and the files that an interrupted one
/// leaves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/io/checksum.hpp"
#include "run/checkpoint.hpp"
#include "run/inputs.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

/// Options, versions, and files that options name, which change results, by their names. Of files that all images share
/// these are sizes and times (of changes, too), in a shard checksums: they lie on several machines.
std::map<std::string, std::string> fingerprint(const Options& options);

/// What the name of a file begins with in a fingerprint.
inline constexpr const char* file_of_option = "the file of ";

/// Hash of all paths so far, in their order.
class PathsHash {
  public:
    void add(const std::string& path);
    std::string text() const;

  private:
    std::uint64_t high_ = 0xcbf29ce484222325u, low_ = 0x84222325cbf29ce4u;
};

/// Stamp of an input now: zeros where it is no regular file.
Stamp stamp_of(const Input& input);

/// Stamps of files that say something of inputs.
class CompanionStamps {
  public:
    /// `shared_out`: the files are on several machines, so their contents are compared.
    explicit CompanionStamps(bool shared_out) : shared_out_(shared_out) {}
    /// Adds those of an input to its stamp. Safe to call from several threads.
    void add(const std::vector<std::string>& companions, Stamp& stamp);

  private:
    std::uint64_t checksum_of(const std::string& path, const Stamp& stamp);

    const bool shared_out_;
    std::mutex mutex_;
    std::map<std::string, std::pair<Stamp, std::uint64_t>> known_;  ///< checksums: pages of a file share companions
};

/// Lets an input whose stamp shows another length than its manifest fail.
void refuse_changed(Input& input);

/// Lets an input of the second pass fail whose stamp is another than in the first.
void refuse_changed_since(const Stamp& first, Input& input);

/// Hash of numbers of the stamps of all inputs so far, in their order.
class StampsHash {
  public:
    template <std::size_t N>
    void add(const std::array<std::uint64_t, N>& numbers) {
        sum_.add(numbers.data(), sizeof numbers);
    }
    std::string text() const { return io::checksum_text(sum_.value()); }

  private:
    io::Checksum sum_;
};

/// Place in standard output behind all that was printed so far, if it is a file.
std::optional<Checkpoint::Output> standard_output();

/// The system's directory for temporary files.
std::filesystem::path temporary_directory();

}  // namespace gpuhist::app
