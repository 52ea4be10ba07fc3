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

/// Storage of frequency tables in a file. The file, and its directory, are made when something is first written.
/// Released room becomes holes, which take no space if the file system supports that. Every function except `give_back`
/// throws IoError with the name of the file. Functions may be called by several threads.
class FrequencyFile : public FrequencyStorage {
  public:
    /// File with a name. No other process may be writing it, and it must not exist unless it is resumed. `announce` is
    /// called before the file is made, from any thread.
    static std::shared_ptr<FrequencyFile> named(std::filesystem::path path, std::function<void()> announce = {});
    /// File without a name in a directory. It is removed with its last user.
    static std::shared_ptr<FrequencyFile> temporary(std::filesystem::path directory);
    /// File that is only read, and open only while it is read.
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
    /// Length of the file in bytes; 0 if there is no file.
    std::uint64_t bytes() const;
    /// Checksum of a run that is at the beginning of its room. It is known from writing the run, or is read.
    std::uint64_t checksum(std::uint64_t place, std::uint64_t bytes) const;

    /// Brings all data to disk. The data stay as they are until `release`, even if their room is given back. Returns
    /// the length of the file; 0 if there is no file.
    std::uint64_t sync();
    /// Frees the room that was given back before.
    void release();
    /// Continues after the first `bytes` of a named file, which an earlier process synced; the rest of the file is cut
    /// off. Throws if the file is shorter.
    void resume(std::uint64_t bytes);
    /// Frees all synced data except those at these places, each with its number of bytes.
    void keep_only(std::vector<std::pair<std::uint64_t, std::uint64_t>> places);
    /// Removes a named file, if there is one.
    void discard();

  private:
    enum class Use : std::uint8_t { named, temporary, existing };
    FrequencyFile(std::filesystem::path path, Use use) : path_(std::move(path)), use_(use) {}
    /// Checksum of the written part of a run. It grows piece by piece until it is first asked for.
    struct Written {
        std::uint64_t bytes = 0, value = 0;
        std::unique_ptr<Checksum> sum;
    };
    void open(bool there);
    void punch(std::uint64_t place, std::uint64_t bytes) const noexcept;

    const std::filesystem::path path_;  ///< path of the file, or of the directory of a temporary one
    const Use use_;
    std::function<void()> announce_;
    mutable std::mutex mutex_;
    int file_ = -1;
    std::uint64_t end_ = 0, synced_ = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> given_back_;
    mutable std::map<std::uint64_t, Written> written_;  ///< by place; none for a temporary file
};

}  // namespace gpuhist::io
