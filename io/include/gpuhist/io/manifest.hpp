/// Manifests: the inputs of a run, listed once for all machines that share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/shard.hpp"

namespace gpuhist::io {

/// Input as a line of a manifest has it.
struct ListedInput {
    std::string path;                       ///< any bytes
    std::string name;                       ///< of what is written about it: relative
    std::string group;                      ///< the directory it belongs to
    std::optional<std::uint64_t> bytes;     ///< absent: not known
    std::optional<std::uint64_t> modified;  ///< nanoseconds since 1970
    std::string etag;                       ///< what an object store calls its contents; empty: nothing
    std::optional<IoError> failure;         ///< of what cannot even be listed
};

/// Line of a manifest: an object of JSON, and an LF.
std::string manifest_line(const ListedInput& input);
/// Reads it back; of an object with no more than a path the name and the group follow from that. `place` is for
/// messages. Throws IoError naming it for what is no such object.
ListedInput parse_manifest_line(std::string_view line, const std::string& place);

/// Lines that lie together, of 1 MiB and more but for the last: the piece in which a manifest is read and checked.
struct ManifestBlock {
    static constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;
    std::uint64_t bytes = 0;   ///< of the lines
    std::uint64_t inputs = 0;  ///< lines
    std::uint64_t weight = 0;  ///< of the inputs: see `Manifest`
    std::uint64_t checksum = 0;
};

/// Writer of a manifest: lines, then a last one that has their number and the checksums of all blocks.
class ManifestWriter {
  public:
    explicit ManifestWriter(std::function<void(const std::string&)> write) : write_(std::move(write)) {}
    void add(const ListedInput& input);
    void finish();
    std::uint64_t inputs() const { return inputs_; }
    std::uint64_t bytes() const { return bytes_; }  ///< of the inputs, as far as they are known

  private:
    void end_block();

    std::function<void(const std::string&)> write_;
    std::string text_;
    ManifestBlock block_;
    std::vector<ManifestBlock> blocks_;
    std::uint64_t inputs_ = 0, bytes_ = 0;
};

/// Manifest in a file, of which no more is read than is asked for. An input weighs its bytes and `own_weight`, since
/// opening a file takes time too. Functions throw IoError naming the file, also where it was changed since it was made.
class Manifest {
  public:
    static constexpr std::uint64_t own_weight = 16384;

    /// Reads the last line.
    explicit Manifest(std::filesystem::path path);

    const std::filesystem::path& path() const { return path_; }
    std::uint64_t inputs() const { return inputs_; }
    /// Checksum of all of it, as text: other manifests have another.
    const std::string& checksum() const { return checksum_; }

    /// Lines of a shard: ranges of shard 1, 2, … follow each other and weigh as much as each other, but for an input.
    LineRange lines_of(ShardId shard) const;

    /// Lines of a block, by its number.
    std::string read_block(std::size_t number) const;
    const std::vector<ManifestBlock>& blocks() const { return blocks_; }

  private:
    std::uint64_t first_line(std::uint64_t weight) const;

    std::filesystem::path path_;
    std::vector<ManifestBlock> blocks_;
    std::vector<std::uint64_t> places_;  ///< of the blocks in the file
    std::uint64_t inputs_ = 0, weight_ = 0;
    std::string checksum_;
};

/// Reader of lines of a manifest, one after the other.
class ManifestLines {
  public:
    ManifestLines(std::shared_ptr<const Manifest> manifest, LineRange lines);
    /// The next input; absent at the end. Throws as Manifest.
    std::optional<ListedInput> next();

  private:
    std::shared_ptr<const Manifest> manifest_;
    std::uint64_t end_, line_ = 0;  ///< the line that comes next
    std::size_t block_ = 0;         ///< that is read next
    std::string text_;
    std::size_t at_ = 0;  ///< in the text
};

}  // namespace gpuhist::io
