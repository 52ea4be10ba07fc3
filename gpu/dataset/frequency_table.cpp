#include "dataset/frequency_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "core/analysis.hpp"
#include "core/codes.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {
namespace {

/// Bytes of a run from which on it goes to the storage, if there is one.
constexpr std::size_t stored_bytes = std::size_t{1} << 16;
/// Number of runs of about the same length that are merged, and ratio of the lengths of neighboring levels.
constexpr std::size_t runs_a_level = 64;
constexpr int level_bits = 6;
/// Bytes of a run in a storage that are read or written at a time.
constexpr std::size_t buffer_bytes = std::size_t{1} << 16;
constexpr std::uint64_t most_samples = std::uint64_t{1} << 62;
/// Bytes of a value and its count: numbers of 65 and 63 bits.
constexpr int longest_value = 19;

constexpr const char* beyond_type = "a key beyond those of finite values";

[[noreturn]] void refuse(const char* what) {
    throw InvalidArgument(std::string("counts of values: ") + what);
}

int level_of(const FrequencyRun& run) {
    return static_cast<int>(std::bit_width(run.bytes())) / level_bits;
}

}  // namespace

/// Room in a storage that a run has.
struct FrequencyRun::Room {
    std::shared_ptr<FrequencyStorage> storage;
    std::uint64_t place, bytes;

    Room(std::shared_ptr<FrequencyStorage> in, std::uint64_t at, std::uint64_t size)
        : storage(std::move(in)), place(at), bytes(size) {}
    ~Room() { storage->give_back(place, bytes); }
    /// Releases the unused rest.
    void shrink(std::uint64_t to) {
        if (to < bytes) storage->give_back(place + to, bytes - to);
        bytes = to;
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
};

/// Goes through the values of one run.
class FrequencyRunReader {
  public:
    explicit FrequencyRunReader(const FrequencyRun& run) : run_(&run), last_(core::finite_codes(run.depth()).last) {
        if (const std::byte* data = run.data()) {
            at_ = data;
            end_ = data + run.bytes();
            read_ = run.bytes();
        }
    }

    /// Throws InvalidArgument where the bytes are not those of a run.
    bool next() {
        if (at_ == end_ && !refill()) return false;
        // The first number may have 65 bits: the lowest is kept apart.
        const auto first = std::to_integer<std::uint64_t>(*at_++);
        std::uint64_t step = first >> 1 & 63;
        if (first >= 128) {
            const std::uint64_t rest = number(true);
            if (rest >> 58 != 0) refuse(beyond_type);
            step |= rest << 6;
        }
        if (step > last_ || next_key_ > last_ - step) refuse(beyond_type);
        key_ = next_key_ + step;
        next_key_ = key_ + 1;
        count_ = 1;
        if (first & 1) {
            const std::uint64_t more = number(false);
            if (more >= most_samples) refuse("a count of 2^62 or more");
            count_ = more + 2;
        }
        return true;
    }
    /// Visits all values from the present one to the last below `end`: visit(key, count). Returns whether there is a
    /// further value.
    template <class Visit>
    bool next_below(std::uint64_t end, Visit visit) {
        constexpr std::ptrdiff_t longest = longest_value;
        while (key_ < end) {
            visit(key_, count_);
            const std::byte* at = at_;  // beside what `visit` writes, which could be any member
            const std::byte* const stop = end_ - std::min(longest, end_ - at_);
            const std::uint64_t last = last_;
            std::uint64_t next_key = next_key_, key = key_, count = count_;
            while (at < stop) {
                decode(at, next_key, last, key, count);
                if (key >= end) break;
                visit(key, count);
            }
            at_ = at;
            next_key_ = next_key;
            key_ = key;
            count_ = count;
            if (key >= end) return true;
            if (!next()) return false;
        }
        return true;
    }
    /// Value and its count.
    struct Value {
        std::uint64_t key, count;
    };
    /// Copies values from the present one on, at most so many, and moves behind them. Returns how many, and whether
    /// there is a further value.
    std::pair<std::size_t, bool> take(Value* to, std::size_t most) {
        std::size_t taken = 0;
        while (taken < most) {
            to[taken++] = {key_, count_};
            const std::byte* at = at_;  // beside what is written, which could be any member
            const std::byte* const stop = end_ - std::min<std::ptrdiff_t>(longest_value, end_ - at_);
            std::uint64_t next_key = next_key_;
            while (at < stop && taken < most) {
                Value value{};
                decode(at, next_key, last_, value.key, value.count);
                to[taken++] = value;
            }
            at_ = at;
            next_key_ = next_key;
            if (!next()) return {taken, false};
        }
        return {taken, true};
    }
    std::uint64_t key() const { return key_; }
    std::uint64_t count() const { return count_; }

  private:
    /// Decodes a value that is complete in the buffer.
    static void decode(const std::byte*& at, std::uint64_t& next_key, std::uint64_t last, std::uint64_t& key,
                       std::uint64_t& count) {
        const auto first = std::to_integer<std::uint64_t>(*at++);
        std::uint64_t step = first >> 1 & 63;
        if (first >= 128) step |= number(at) << 6;
        if (step > last || next_key > last - step) refuse(beyond_type);
        key = next_key + step;
        next_key = key + 1;
        count = first & 1 ? number(at) + 2 : 1;
    }
    /// Number that is complete in the buffer.
    static std::uint64_t number(const std::byte*& at) {
        auto byte = std::to_integer<std::uint64_t>(*at++);
        std::uint64_t value = byte & 127;
        for (int shift = 7; byte >= 128; shift += 7) {
            if (shift == 63) refuse("a number of more than 63 bits");
            byte = std::to_integer<std::uint64_t>(*at++);
            value |= (byte & 127) << shift;
        }
        return value;
    }
    bool refill() {
        if (read_ == run_->bytes()) return false;
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_bytes, run_->bytes() - read_));
        if (!buffer_) buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
        run_->room_->storage->read(run_->place() + read_, buffer_.get(), bytes);
        read_ += bytes;
        at_ = buffer_.get();
        end_ = at_ + bytes;
        return true;
    }
    /// Number, or the rest of one, which is not 0.
    std::uint64_t number(bool rest) {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 63; shift += 7) {
            if (at_ == end_ && !refill()) refuse("a number that does not end");
            const auto byte = std::to_integer<std::uint64_t>(*at_++);
            value |= (byte & 127) << shift;
            if (byte < 128) {
                if (byte == 0 && (rest || shift > 0)) refuse("a number with a zero before it");
                return value;
            }
        }
        refuse("a number of more than 63 bits");
    }

    const FrequencyRun* run_;
    const std::byte* at_ = nullptr;
    const std::byte* end_ = nullptr;
    std::uint64_t read_ = 0;  ///< bytes of the run that are in the buffer or were
    std::unique_ptr<std::byte[]> buffer_;
    std::uint64_t last_;  ///< the highest key of the type
    std::uint64_t next_key_ = 0, key_ = 0, count_ = 0;
};

/// Writer of a run, for values in ascending order.
class FrequencyRunWriter {
  public:
    /// Run of no more than `most_bytes`.
    FrequencyRunWriter(Depth depth, std::shared_ptr<FrequencyStorage> storage, std::uint64_t most_bytes)
        : storage_(std::move(storage)), most_bytes_(most_bytes) {
        run_.depth_ = depth;
    }

    void add(std::uint64_t key, std::uint64_t count) {
        if (bytes_.size() - used_ < longest_value) make_room();
        const std::uint64_t step = key - next_key_;  // with the bit below it, it may have 65
        std::byte* at = bytes_.data() + used_;
        const std::uint64_t first = (step << 1 & 127) | (count > 1 ? 1 : 0);
        if (step < 64) {
            *at++ = static_cast<std::byte>(first);
        } else {
            *at++ = static_cast<std::byte>(first | 128);
            at = put(step >> 6, at);
        }
        if (count > 1) at = put(count - 2, at);
        used_ = static_cast<std::size_t>(at - bytes_.data());
        if (run_.values_++ == 0) run_.first_ = key;
        run_.last_ = key;
        run_.samples_ += count;
        next_key_ = key + 1;
    }
    /// Run of the added values, at least one.
    FrequencyRun finish() {
        if (run_.room_ || (storage_ && used_ >= stored_bytes)) {
            flush();
            run_.room_->shrink(run_.bytes_);
        } else {
            run_.bytes_ = used_;
            bytes_.resize(used_);
            bytes_.shrink_to_fit();
            run_.memory_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes_));
        }
        return std::move(run_);
    }

  private:
    static std::byte* put(std::uint64_t value, std::byte* at) {
        for (; value >= 128; value >>= 7) *at++ = static_cast<std::byte>(value | 128);
        *at++ = static_cast<std::byte>(value);
        return at;
    }
    void make_room() {
        if (storage_ && used_ >= stored_bytes)
            flush();
        else
            bytes_.resize(std::max<std::size_t>(2 * bytes_.size(), 256));
    }
    void flush() {
        if (!run_.room_)
            run_.room_ = std::make_shared<FrequencyRun::Room>(storage_, storage_->take(most_bytes_), most_bytes_);
        storage_->write(run_.room_->place + run_.bytes_, bytes_.data(), used_);
        run_.bytes_ += used_;
        used_ = 0;
    }

    std::shared_ptr<FrequencyStorage> storage_;
    std::uint64_t most_bytes_, next_key_ = 0;
    std::vector<std::byte> bytes_;  ///< of these `used_` that are not yet in the storage
    std::size_t used_ = 0;
    FrequencyRun run_;
};

FrequencyRun::FrequencyRun(std::vector<std::byte> bytes, Depth depth)
    : memory_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))),
      bytes_(memory_->size()),
      depth_(depth) {
    check();
}

FrequencyRun::FrequencyRun(std::shared_ptr<FrequencyStorage> storage, std::uint64_t place, std::uint64_t bytes,
                           Depth depth)
    : room_(std::make_shared<Room>(std::move(storage), place, bytes)), bytes_(bytes), depth_(depth) {
    check();
}

/// Finds the facts about bytes that came from outside.
void FrequencyRun::check() {
    const core::CodeRange finite = core::finite_codes(depth_);
    const std::uint64_t minus_zero = (std::uint64_t{1} << (8 * sample_bytes(depth_) - 1)) - 1;
    FrequencyRunReader reader(*this);
    for (; reader.next(); ++values_) {
        if (values_ == 0) first_ = reader.key();
        last_ = reader.key();
        if (last_ < finite.first) refuse("a value that is not finite");
        if (traits_of(depth_).floating && last_ == minus_zero) refuse("zero with a sign");
        samples_ += reader.count();
        if (samples_ >= most_samples) refuse("2^62 samples or more");
    }
    if (values_ == 0) refuse("a run without values");
}

double FrequencyRun::lowest() const {
    return core::value_at(depth_, first_);
}

double FrequencyRun::highest() const {
    return core::value_at(depth_, last_);
}

std::uint64_t FrequencyRun::place() const {
    return room_ ? room_->place : 0;
}

// ----------------------------------------------------------------------------------------------------- FrequencyReader

/// Counts of neighboring keys, of all runs together. Keys are taken in by windows: to find the least of many runs
/// for each key would take several times as long. Keys of 64 bits lie so far apart that a window would hold one: of
/// these runs are a heap, and so is a single run or none.
struct FrequencyReader::Window {
    static constexpr std::uint32_t keys = 4096;

    std::vector<FrequencyRunReader> runs;  ///< each at its first value that is not taken in
    bool heap;                             ///< `runs` are one, the least key first; there are no windows
    std::vector<std::uint64_t> counts;
    std::vector<std::uint64_t> there;  ///< a bit for each key with a count
    std::size_t word = keys / 64;      ///< in `there`: what comes next
    std::uint64_t base = 0;
    /// Values of a single run, which are taken some at a time.
    std::array<FrequencyRunReader::Value, 64> some;
    std::size_t next = 0, taken = 0;

    explicit Window(const std::vector<FrequencyRun>& all) : heap(all.size() <= 1) {
        runs.reserve(all.size());
        for (const FrequencyRun& run : all) {
            if (run.depth() != all.front().depth()) refuse("runs of several depths");
            heap = heap || sample_bytes(run.depth()) > 4;
            runs.emplace_back(run);
            if (!runs.back().next()) runs.pop_back();
        }
        if (heap) {
            std::make_heap(runs.begin(), runs.end(), later);
        } else {
            counts.resize(keys);
            there.resize(keys / 64);
        }
    }
    static bool later(const FrequencyRunReader& a, const FrequencyRunReader& b) { return a.key() > b.key(); }
    /// Takes the smallest key off the heap, with its samples in all runs. Returns false if there is none.
    bool take_least(std::uint64_t& key, std::uint64_t& count) {
        if (next == taken && runs.size() == 1) {
            next = taken = 0;
            const auto [count_of_some, more] = runs.front().take(some.data(), some.size());
            taken = count_of_some;
            if (!more) runs.clear();
        }
        if (next != taken) {
            key = some[next].key;
            count = some[next++].count;
            return true;
        }
        if (runs.empty()) return false;
        key = runs.front().key();
        count = 0;
        do {
            std::pop_heap(runs.begin(), runs.end(), later);
            count += runs.back().count();
            if (runs.back().next())
                std::push_heap(runs.begin(), runs.end(), later);
            else
                runs.pop_back();
        } while (!runs.empty() && runs.front().key() == key);
        return true;
    }
    /// Moves to the next window with values. Returns false if there is none.
    bool fill() {
        if (runs.empty()) return false;
        std::uint64_t least = ~std::uint64_t{0};
        for (const FrequencyRunReader& run : runs) least = std::min(least, run.key());
        base = least / keys * keys;
        for (std::size_t i = 0; i < runs.size();) {
            FrequencyRunReader& run = runs[i];
            const bool more = run.next_below(base + keys, [&](std::uint64_t key, std::uint64_t count) {
                const std::uint64_t at = key - base;
                counts[at] += count;
                there[at / 64] |= std::uint64_t{1} << at % 64;
            });
            if (more) {
                ++i;
            } else {
                std::swap(runs[i], runs.back());
                runs.pop_back();
            }
        }
        word = least % keys / 64;
        return true;
    }
};

FrequencyTable frequencies_of(Depth depth, const std::vector<std::uint64_t>& counts) {
    FrequencyTable table;
    if (counts.size() != traits_of(depth).values) refuse("not one for each value of the type");
    if (std::any_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count != 0; }))
        table.add(core::run_of_counts(depth, 0, counts.data(), counts.size()));
    return table;
}

FrequencyReader::FrequencyReader(const std::vector<FrequencyRun>& runs)
    : window_(std::make_unique<Window>(runs)), depth_(runs.empty() ? Depth::f32 : runs.front().depth()) {}
FrequencyReader::~FrequencyReader() = default;
FrequencyReader::FrequencyReader(FrequencyReader&&) noexcept = default;
FrequencyReader& FrequencyReader::operator=(FrequencyReader&&) noexcept = default;

bool FrequencyReader::next() {
    Window& window = *window_;
    if (window.heap) return window.take_least(key_, count_);
    for (;; ++window.word) {
        if (window.word >= Window::keys / 64 && !window.fill()) return false;
        if (std::uint64_t& bits = window.there[window.word]; bits != 0) {
            const std::uint64_t at = 64 * window.word + static_cast<std::uint64_t>(std::countr_zero(bits));
            bits &= bits - 1;
            key_ = window.base + at;
            count_ = std::exchange(window.counts[at], 0);
            return true;
        }
    }
}

double FrequencyReader::value() const {
    return core::value_at(depth_, key_);
}

// ----------------------------------------------------------------------------------------------------- FrequencyTable

namespace {

/// Run made of at least one: no longer than they are together, since neither steps between keys nor counts take more
/// bytes in it.
FrequencyRun merge(const std::vector<FrequencyRun>& runs, const std::shared_ptr<FrequencyStorage>& storage) {
    std::uint64_t bytes = 0;
    for (const FrequencyRun& run : runs) bytes += run.bytes();
    FrequencyRunWriter writer(runs.front().depth(), storage, bytes);
    for (FrequencyReader reader(runs); reader.next();) writer.add(reader.key(), reader.count());
    return writer.finish();
}

}  // namespace

std::uint64_t FrequencyTable::samples() const {
    std::uint64_t sum = 0;
    for (const FrequencyRun& run : runs_) sum += run.samples();
    return sum;
}

std::uint64_t FrequencyTable::memory_bytes() const {
    std::uint64_t sum = runs_.capacity() * sizeof(FrequencyRun);
    for (const FrequencyRun& run : runs_) sum += run.data() ? run.bytes() : 0;
    return sum;
}

void FrequencyTable::add(const FrequencyTable& more) {
    minus_infinite += more.minus_infinite;
    plus_infinite += more.plus_infinite;
    if (!storage_) storage_ = more.storage_;
    const std::size_t n = more.runs_.size();
    runs_.reserve(runs_.size() + n);
    for (std::size_t i = 0; i < n; ++i) runs_.push_back(more.runs_[i]);  // `more` may be this
}

void FrequencyTable::settle() {
    constexpr int levels = 64 / level_bits + 1;
    std::array<std::size_t, levels> counts{};
    for (const FrequencyRun& run : runs_) ++counts[level_of(run)];
    for (int level = 0; level < levels; ++level) {
        if (counts[level] < runs_a_level) continue;
        const auto first = std::stable_partition(runs_.begin(), runs_.end(),
                                                 [&](const FrequencyRun& run) { return level_of(run) != level; });
        FrequencyRun run = merge({first, runs_.end()}, storage_);
        runs_.erase(first, runs_.end());
        ++counts[level_of(run)];
        runs_.push_back(std::move(run));
    }
}

FrequencyTable FrequencyTable::merged(std::shared_ptr<FrequencyStorage> storage) const {
    FrequencyTable all(std::move(storage));
    all.minus_infinite = minus_infinite;
    all.plus_infinite = plus_infinite;
    if (!runs_.empty()) all.runs_.push_back(merge(runs_, all.storage_));
    return all;
}

bool operator==(const FrequencyTable& a, const FrequencyTable& b) {
    if (a.minus_infinite != b.minus_infinite || a.plus_infinite != b.plus_infinite) return false;
    FrequencyReader left(a.runs_), right(b.runs_);
    for (;;) {
        const bool more = left.next();
        if (more != right.next()) return false;
        if (!more) return true;
        if (left.key() != right.key() || left.count() != right.count()) return false;
    }
}

namespace core {

template <class Key>
FrequencyRun sorted_run(Depth depth, Key first, const Key* distances, std::size_t n,
                        const std::shared_ptr<FrequencyStorage>& storage) {
    // A step of 33 bits and more, or of 65; as many bytes per sample hold its count too.
    FrequencyRunWriter writer(depth, storage, (sizeof(Key) > 4 ? 10 : 5) * n);
    for (std::size_t i = 0; i < n;) {
        const std::size_t start = i;
        do ++i;
        while (i < n && distances[i] == distances[start]);
        writer.add(first + distances[start], i - start);
    }
    return writer.finish();
}
template FrequencyRun sorted_run(Depth, std::uint32_t, const std::uint32_t*, std::size_t,
                                 const std::shared_ptr<FrequencyStorage>&);
template FrequencyRun sorted_run(Depth, std::uint64_t, const std::uint64_t*, std::size_t,
                                 const std::shared_ptr<FrequencyStorage>&);

template <class Key>
FrequencyRun counted_run(Depth depth, const Key* keys, const std::uint32_t* starts, std::size_t n) {
    FrequencyRunWriter writer(depth, nullptr, n * (sizeof(Key) > 4 ? 15 : 10));  // a step and a count each
    for (std::size_t i = 0; i < n; ++i) writer.add(keys[i], starts[i + 1] - starts[i]);
    return writer.finish();
}

FrequencyRun run_of_counts(Depth depth, std::uint64_t first, const std::uint64_t* counts, std::size_t n) {
    FrequencyRunWriter writer(depth, nullptr, 0);
    for (std::size_t i = 0; i < n; ++i)
        if (counts[i] != 0) writer.add(first + i, counts[i]);
    return writer.finish();
}

FrequencyTable multiplied(const FrequencyTable& table, std::uint64_t factor) {
    FrequencyTable more;
    if (table.runs().empty()) return more;
    FrequencyRunWriter writer(table.runs().front().depth(), nullptr, 0);
    for (FrequencyReader reader(table.runs()); reader.next();) writer.add(reader.key(), reader.count() * factor);
    more.add(writer.finish());
    return more;
}

FrequencyTable filtered(const FrequencyTable& table, const std::function<bool(double)>& keep) {
    FrequencyTable kept;
    kept.minus_infinite = table.minus_infinite;
    kept.plus_infinite = table.plus_infinite;
    std::uint64_t bytes = longest_value, values = 0;
    for (const FrequencyRun& run : table.runs()) bytes += 2 * run.bytes();  // a step over what is left out is longer
    if (table.runs().empty()) return kept;
    FrequencyRunWriter writer(table.runs().front().depth(), nullptr, bytes);
    for (FrequencyReader reader(table.runs()); reader.next();) {
        if (!keep(reader.value())) continue;
        writer.add(reader.key(), reader.count());
        ++values;
    }
    if (values > 0) kept.add(writer.finish());
    return kept;
}

template FrequencyRun counted_run(Depth, const std::uint32_t*, const std::uint32_t*, std::size_t);
template FrequencyRun counted_run(Depth, const std::uint64_t*, const std::uint32_t*, std::size_t);

bool plausible(const FrequencyTable& frequencies, Depth depth, std::uint64_t n) {
    std::uint64_t samples = 0;
    for (const FrequencyRun& run : frequencies.runs()) {
        if (run.depth() != depth || run.samples() > n - samples) return false;
        samples += run.samples();
    }
    return samples == n;
}

bool has_extremes(const FrequencyTable& frequencies, double minimum, double maximum) {
    return frequencies.runs().empty() || extremes_of(frequencies) == Range{minimum, maximum};
}

double OrderedValues::at_rank(std::uint64_t rank) {
    if (through_ > 0 && rank < through_ - reader_.count()) {
        reader_ = FrequencyReader(runs_);
        through_ = 0;
    }
    while (rank >= through_ && reader_.next()) through_ += reader_.count();
    return reader_.value();
}

}  // namespace core
}  // namespace gpuhist
