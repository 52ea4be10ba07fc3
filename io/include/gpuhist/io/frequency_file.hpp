/// Counts of the values of floats that would take too much memory, in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpuhist/frequency_table.hpp"

namespace gpuhist::io {

/// A file is made, with its directory, when something is first written to it. What is given back leaves holes in it,
/// which take no space where the file system can do without. Throws IoError naming the file.
class FrequencyFile : public FrequencyStorage {
  public:
    /// Of that name, which no other process may be writing. What is there is overwritten.
    static std::shared_ptr<FrequencyFile> named(std::filesystem::path path);
    /// Without a name: it is gone with the last who uses it.
    static std::shared_ptr<FrequencyFile> temporary(std::filesystem::path directory);
    /// To be read; it is open only while it is.
    static std::shared_ptr<FrequencyFile> existing(std::filesystem::path path);

    ~FrequencyFile() override;
    FrequencyFile(const FrequencyFile&) = delete;
    FrequencyFile& operator=(const FrequencyFile&) = delete;

    std::uint64_t take(std::uint64_t bytes) override;
    void write(std::uint64_t place, const std::byte* from, std::size_t bytes) override;
    void read(std::uint64_t place, std::byte* to, std::size_t bytes) const override;
    void give_back(std::uint64_t place, std::uint64_t bytes) noexcept override;

    /// All that was written is on disk afterwards, and stays as it is until `release`, even where it is given back.
    /// Returns where it ends; 0: there is no file.
    std::uint64_t sync();
    /// What was given back may go.
    void release();
    /// Goes on after so many bytes of a named file, which an earlier process synced; what is behind goes. Throws where
    /// it is shorter.
    void resume(std::uint64_t bytes);
    /// Of these, all but such places, of so many bytes, may go.
    void keep_only(std::vector<std::pair<std::uint64_t, std::uint64_t>> places);
    /// Removes a named file, if there is one.
    void discard();

  private:
    enum class Use : std::uint8_t { named, temporary, existing };
    FrequencyFile(std::filesystem::path path, Use use) : path_(std::move(path)), use_(use) {}
    void open();
    void punch(std::uint64_t place, std::uint64_t bytes) const noexcept;

    const std::filesystem::path path_;  ///< or the directory
    const Use use_;
    mutable std::mutex mutex_;
    int file_ = -1;
    std::uint64_t end_ = 0, synced_ = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> given_back_;
};

}  // namespace gpuhist::io
