/// Frequencies: the number of times that each value occurs. They give the order statistics of a set of f32 images, and
/// every number of samples that are sorted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

/// Storage for long runs outside of memory, mostly a file. Several threads may call its functions at a time. Functions
/// that count, merge and read pass on the exceptions of the storage.
class FrequencyStorage {
  public:
    virtual ~FrequencyStorage() = default;
    /// Reserves room for `bytes`. Returns its place.
    virtual std::uint64_t take(std::uint64_t bytes) = 0;
    /// Writes into room that is reserved.
    virtual void write(std::uint64_t place, const std::byte* from, std::size_t bytes) = 0;
    /// Reads bytes that were written.
    virtual void read(std::uint64_t place, std::byte* to, std::size_t bytes) const = 0;
    /// Releases room, or a part of it. It is not read afterwards.
    virtual void give_back(std::uint64_t place, std::uint64_t bytes) noexcept = 0;
};

/// Run of values in ascending order, with one count each. It never changes. Copies share the bytes; the last copy
/// releases them.
///
/// Encoding: each value is one or two numbers. The first is 2 · (its key − the lowest key that it can have) + (1 if it
/// occurs more than once). If it does, the second is its count − 2. Numbers have 7 bits per byte, the lowest first; 128
/// is added to a byte if another follows. The key of a value is its place among all values of the type in ascending
/// order. The key of a float with the bits b is b with the highest bit set, and ~b if it is negative; −0 is treated as
/// +0. The key of an integer is its distance from the lowest value.
class FrequencyRun {
  public:
    /// Makes a run of encoded values of a depth. Throws InvalidArgument for bytes with another encoding.
    explicit FrequencyRun(std::vector<std::byte> bytes, Depth depth = Depth::f32);
    /// Makes a run from a place in a storage that holds encoded bytes. The last copy releases the room. Throws
    /// InvalidArgument for bytes with another encoding, and the exceptions of reading.
    FrequencyRun(std::shared_ptr<FrequencyStorage> storage, std::uint64_t place, std::uint64_t bytes,
                 Depth depth = Depth::f32);

    Depth depth() const { return depth_; }
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t values() const { return values_; }    ///< number of different values, at least one
    std::uint64_t samples() const { return samples_; }  ///< sum of the counts, below 2^62
    double lowest() const;
    double highest() const;
    /// Encoded bytes, if they are in memory. Else null, and they are at `place` of a FrequencyStorage.
    const std::byte* data() const { return memory_ ? memory_->data() : nullptr; }
    std::uint64_t place() const;

  private:
    friend class FrequencyRunReader;
    friend class FrequencyRunWriter;
    struct Room;
    FrequencyRun() = default;
    void check();

    std::shared_ptr<const std::vector<std::byte>> memory_;
    std::shared_ptr<Room> room_;
    std::uint64_t bytes_ = 0, values_ = 0, samples_ = 0;
    std::uint64_t first_ = 0, last_ = 0;  ///< keys
    Depth depth_ = Depth::f32;
};

/// Frequency table of one channel without NaN: a count for each value that occurs. The counts are in runs of one depth,
/// as they were added. With a storage, runs of 64 KiB and more are there. Without a storage, all runs are in memory,
/// with 1 to 5 bytes per value (f64: up to 10), and more if it occurs often. A value type: copies share the runs.
class FrequencyTable {
  public:
    static constexpr std::size_t most_memory_bytes = std::size_t{5} << 20;  ///< limit of memory_bytes() with a storage

    FrequencyTable() = default;
    /// Makes an empty table. Its long runs will be in `storage`, which may be null.
    explicit FrequencyTable(std::shared_ptr<FrequencyStorage> storage) : storage_(std::move(storage)) {}

    std::uint64_t minus_infinite = 0;  ///< number of samples that are -Inf
    std::uint64_t plus_infinite = 0;   ///< number of samples that are +Inf

    const std::vector<FrequencyRun>& runs() const { return runs_; }
    std::uint64_t samples() const;       ///< number of finite samples
    std::uint64_t memory_bytes() const;  ///< bytes of memory that the runs take

    /// Adds the samples of a run.
    void add(FrequencyRun run) { runs_.push_back(std::move(run)); }
    /// Adds the samples of another table. If this table has no storage yet, it takes the other's.
    void add(const FrequencyTable& more);
    /// Merges runs if there are 64 of about the same length. So the number of runs, and the number of times that a
    /// value is written, grow with the logarithm of the number of values.
    void settle();
    /// Returns a table with the same counts in one run; without finite samples, it has no run. Equal counts give equal
    /// bytes. Throws the exceptions of the storages.
    FrequencyTable merged(std::shared_ptr<FrequencyStorage> storage) const;

    /// Equality of the counts, in whatever runs they are.
    friend bool operator==(const FrequencyTable& a, const FrequencyTable& b);

  private:
    std::vector<FrequencyRun> runs_;
    std::shared_ptr<FrequencyStorage> storage_;
};

/// Reader of all values of several runs: in ascending order, each value once. The runs must outlive it.
class FrequencyReader {
  public:
    explicit FrequencyReader(const std::vector<FrequencyRun>& runs);
    ~FrequencyReader();
    FrequencyReader(FrequencyReader&&) noexcept;
    FrequencyReader& operator=(FrequencyReader&&) noexcept;

    /// Moves to the first value, or to the next. Returns false if there is none, also in all later calls. Throws the
    /// exceptions of the storages, and InvalidArgument if their bytes changed.
    bool next();
    double value() const;
    std::uint64_t key() const { return key_; }      ///< key of the value: see FrequencyRun
    std::uint64_t count() const { return count_; }  ///< number of samples of this value

  private:
    struct Window;
    std::unique_ptr<Window> window_;
    Depth depth_ = Depth::f32;
    std::uint64_t key_ = 0;
    std::uint64_t count_ = 0;
};

/// Frequency table made from counts with one count per value of the depth. It has the values that occur.
FrequencyTable frequencies_of(Depth depth, const std::vector<std::uint64_t>& counts);

/// Frequency tables of the channels of an f32 image in host memory, in the order of its analysis after `name_channels`.
/// They count the samples that an analysis by the request sees. Runs on the calling thread, and takes
/// `counting_bytes(image)` of memory beside the result. Throws InvalidArgument for a view or a request that breaks its
/// rules, for other depths (the analysis of sorted samples has their tables) and for device memory, and the exceptions
/// of `storage`.
std::vector<FrequencyTable> count_frequencies(const ImageView& image,
                                              const std::shared_ptr<FrequencyStorage>& storage = nullptr,
                                              const AnalysisRequest& request = {}, Samples samples = Samples::color);

/// Bytes of memory that count_frequencies takes beside its result: at most 24 MiB, and three times as much in addition
/// for other than 1, 3 or 4 channels.
std::size_t counting_bytes(const ImageView& image);

/// Largest number of bytes of memory that an analysis of sorted samples takes, including the tables in its result.
std::size_t sorting_bytes(const ImageView& image);

}  // namespace gpuhist
