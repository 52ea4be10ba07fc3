/// Frequency files: counts of the values of floats that would take too much memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpuhist/frequency_table.hpp"
#include "gpuhist/io/checksum.hpp"

namespace gpuhist::io {

/// Storage of frequency tables in a file, which is made, with its directory, when something is first written to it.
/// Room that is given back becomes holes, which take no space where the file system can do without. Every function but
/// `give_back` throws IoError, which names the file. Safe to use from several threads.
class FrequencyFile : public FrequencyStorage {
  public:
    /// File of that name, which no other process may be writing, and which is not there unless it is resumed.
    /// `announce` is called before the file is made, from whichever thread needs it first.
    static std::shared_ptr<FrequencyFile> named(std::filesystem::path path, std::function<void()> announce = {});
    /// File without a name in a directory: it is gone with the last who uses it.
    static std::shared_ptr<FrequencyFile> temporary(std::filesystem::path directory);
    /// File that is only read, and open only while it is.
    static std::shared_ptr<FrequencyFile> existing(std::filesystem::path path);

    ~FrequencyFile() override;
    FrequencyFile(const FrequencyFile&) = delete;
    FrequencyFile& operator=(const FrequencyFile&) = delete;

    std::uint64_t take(std::uint64_t bytes) override;
    void write(std::uint64_t place, const std::byte* from, std::size_t bytes) override;
    void read(std::uint64_t place, std::byte* to, std::size_t bytes) const override;
    void give_back(std::uint64_t place, std::uint64_t bytes) noexcept override;

    /// Path of the file, or of the directory of a temporary one.
    const std::filesystem::path& path() const { return path_; }
    /// Length of the file; 0 where there is none.
    std::uint64_t bytes() const;
    /// Checksum of a run, which lies where its room begins: known from its writing, or else from reading it.
    std::uint64_t checksum(std::uint64_t place, std::uint64_t bytes) const;

    /// Brings all that was written to disk. It stays as it is until `release`, even where it is given back. Returns the
    /// length of the file; 0: there is none.
    std::uint64_t sync();
    /// Frees the room that was given back.
    void release();
    /// Goes on after the first `bytes` of a named file, which an earlier process synced; what is behind goes. Throws
    /// where the file is shorter.
    void resume(std::uint64_t bytes);
    /// Frees what was synced but for these places, each with its bytes.
    void keep_only(std::vector<std::pair<std::uint64_t, std::uint64_t>> places);
    /// Removes a named file, if there is one.
    void discard();

  private:
    enum class Use : std::uint8_t { named, temporary, existing };
    FrequencyFile(std::filesystem::path path, Use use) : path_(std::move(path)), use_(use) {}
    /// Checksum of what was written of a run, piece by piece until it is first asked for.
    struct Written {
        std::uint64_t bytes = 0, value = 0;
        std::unique_ptr<Checksum> sum;
    };
    void open(bool there);
    void punch(std::uint64_t place, std::uint64_t bytes) const noexcept;

    const std::filesystem::path path_;  ///< of the file, or of the directory of a temporary one
    const Use use_;
    std::function<void()> announce_;
    mutable std::mutex mutex_;
    int file_ = -1;
    std::uint64_t end_ = 0, synced_ = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> given_back_;
    mutable std::map<std::uint64_t, Written> written_;  ///< by place; of a temporary file none
};

}  // namespace gpuhist::io
