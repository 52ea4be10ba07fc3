#include "arrow.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "lock.hpp"

// The structs of the Arrow C data and stream interfaces: https://arrow.apache.org/docs/format/CDataInterface.html
extern "C" {
struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema** children;
    struct ArrowSchema* dictionary;
    void (*release)(struct ArrowSchema*);
    void* private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void** buffers;
    struct ArrowArray** children;
    struct ArrowArray* dictionary;
    void (*release)(struct ArrowArray*);
    void* private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
    int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
    const char* (*get_last_error)(struct ArrowArrayStream*);
    void (*release)(struct ArrowArrayStream*);
    void* private_data;
};
}

namespace gpuhist::python {

std::string utf8_of(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0; };
    for (std::size_t at = 0; at < text.size();) {
        const int first = byte(at);
        const std::size_t length = first < 0x80    ? 1
                                   : first < 0xC2  ? 0
                                   : first < 0xE0  ? 2
                                   : first < 0xF0  ? 3
                                   : first <= 0xF4 ? 4
                                                   : 0;
        // Overlong forms, surrogates and numbers beyond U+10FFFF differ in the second byte.
        const int lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        const int highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        std::size_t good = length > 0 ? 1 : 0;
        while (good > 0 && good < length && byte(at + good) >= (good == 1 ? lowest : 0x80) &&
               byte(at + good) <= (good == 1 ? highest : 0xBF))
            ++good;
        if (good > 0 && good == length)
            result.append(text.substr(at, length));
        else
            result += "\xEF\xBF\xBD";
        at += std::max<std::size_t>(good, 1);
    }
    return result;
}

namespace {

const char* format_of(ColumnType type) {
    return type == ColumnType::text ? "u" : type == ColumnType::integer ? "L" : "g";
}

/// Schema, with what its pointers refer to.
struct Schema {
    std::string name, metadata;
    std::vector<std::unique_ptr<ArrowSchema>> children;
    std::vector<ArrowSchema*> pointers;
};

void release_schema(ArrowSchema* schema) {
    for (std::int64_t i = 0; i < schema->n_children; ++i)
        if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
    delete static_cast<Schema*>(schema->private_data);
    schema->release = nullptr;
}

void fill_schema(ArrowSchema& out, const char* format, std::unique_ptr<Schema> held) {
    for (const auto& child : held->children) held->pointers.push_back(child.get());
    out = {};
    out.format = format;
    out.name = held->name.c_str();
    out.metadata = held->metadata.empty() ? nullptr : held->metadata.data();
    out.flags = 2;  // nullable
    out.n_children = static_cast<std::int64_t>(held->children.size());
    out.children = held->pointers.data();
    out.release = &release_schema;
    out.private_data = held.release();
}

/// Metadata of a field, in the form of the interface: a definition.
std::string metadata_of(std::string_view definition) {
    std::string text;
    const auto add = [&](std::int32_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof number); };
    constexpr std::string_view key = "definition";
    add(1);
    add(static_cast<std::int32_t>(key.size()));
    text += key;
    add(static_cast<std::int32_t>(definition.size()));
    text += definition;
    return text;
}

/// Values of a column of a batch, in the buffers of Arrow.
class Values {
  public:
    explicit Values(ColumnType type) : type_(type) {}

    void add(const ColumnValue& value) {
        if (const auto* text = std::get_if<std::string_view>(&value)) return add_text(utf8_of(*text));
        mark(!std::holds_alternative<std::monostate>(value));
        if (type_ == ColumnType::text)
            add_end();
        else if (type_ == ColumnType::integer)
            integers_.push_back(std::holds_alternative<std::uint64_t>(value) ? std::get<std::uint64_t>(value) : 0);
        else
            numbers_.push_back(number_of(value));
    }
    void add_text(const std::string& text) {
        mark(true);
        text_ += text;
        add_end();
    }

    /// Moves the values into an array, whose release frees them.
    static void move(Values&& values, ArrowArray& out) {
        auto held = std::make_unique<Values>(std::move(values));
        const bool text = held->type_ == ColumnType::text, integer = held->type_ == ColumnType::integer;
        if (held->nulls_ > 0) held->buffers_[0] = held->valid_.data();
        if (text)
            held->buffers_[1] = held->ends_.data();
        else if (integer)
            held->buffers_[1] = held->integers_.data();
        else
            held->buffers_[1] = held->numbers_.data();
        held->buffers_[2] = held->text_.data();
        out = {};
        out.length = held->length_;
        out.null_count = held->nulls_;
        out.n_buffers = text ? 3 : 2;
        out.buffers = held->buffers_;
        out.release = [](ArrowArray* array) {
            delete static_cast<Values*>(array->private_data);
            array->release = nullptr;
        };
        out.private_data = held.release();
    }

  private:
    static double number_of(const ColumnValue& value) {
        if (const auto* number = std::get_if<double>(&value)) return *number;
        if (const auto* whole = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*whole);
        if (const auto* wide = std::get_if<Int128>(&value)) return to_double(*wide);
        return 0;
    }
    void mark(bool valid) {
        if (length_ % 8 == 0) valid_.push_back(0);
        if (valid) valid_.back() = static_cast<std::uint8_t>(valid_.back() | 1 << length_ % 8);
        nulls_ += valid ? 0 : 1;
        ++length_;
    }
    void add_end() { ends_.push_back(static_cast<std::int32_t>(text_.size())); }

    ColumnType type_;
    std::int64_t length_ = 0, nulls_ = 0;
    std::vector<std::uint8_t> valid_;  ///< a bit per value
    std::vector<std::uint64_t> integers_;
    std::vector<double> numbers_;
    std::vector<std::int32_t> ends_{0};
    std::string text_;
    const void* buffers_[3]{};
};

/// Batch, with what its pointers refer to.
struct Batch {
    std::vector<std::unique_ptr<ArrowArray>> children;
    std::vector<ArrowArray*> pointers;
    const void* buffers[1]{};
};

void release_batch(ArrowArray* batch) {
    for (std::int64_t i = 0; i < batch->n_children; ++i)
        if (batch->children[i]->release) batch->children[i]->release(batch->children[i]);
    delete static_cast<Batch*>(batch->private_data);
    batch->release = nullptr;
}

class Stream {
  public:
    explicit Stream(RowStream rows) : rows_(std::move(rows)), columns_(columns(rows_.asked, rows_.table)) {}

    void schema(ArrowSchema& out) const {
        auto held = std::make_unique<Schema>();
        const auto add = [&](const std::string& name, ColumnType type, const char* definition) {
            auto field = std::make_unique<Schema>();
            field->name = name;
            field->metadata = metadata_of(definition);
            held->children.push_back(std::make_unique<ArrowSchema>());
            fill_schema(*held->children.back(), format_of(type), std::move(field));
        };
        for (const Column& column : columns_) add(column.name, column.type, column.definition);
        add("error", ColumnType::text, "Why the input could not be measured.");
        fill_schema(out, "+s", std::move(held));
    }

    /// Next batch: a released array at the end. Returns false if a signal interrupts.
    bool next(ArrowArray& out) {
        if (!files_) files_ = rows_.runs->take();
        values_.clear();
        for (const Column& column : columns_) values_.emplace_back(column.type);
        values_.emplace_back(ColumnType::text);
        count_ = 0;
        while (count_ < rows_.most_rows) {
            if (outcome_ && add_next()) continue;
            outcome_ = files_->next(50);
            place_ = 0;
            if (!outcome_ && files_->ended()) break;
            if (!outcome_ && interrupted()) return false;
        }
        out = {};
        if (count_ == 0) return true;
        auto held = std::make_unique<Batch>();
        for (Values& values : values_) {
            held->children.push_back(std::make_unique<ArrowArray>());
            held->pointers.push_back(held->children.back().get());
            Values::move(std::move(values), *held->children.back());
        }
        out.length = static_cast<std::int64_t>(count_);
        out.n_buffers = 1;
        out.n_children = static_cast<std::int64_t>(held->children.size());
        out.buffers = held->buffers;
        out.children = held->pointers.data();
        out.release = &release_batch;
        out.private_data = held.release();
        return true;
    }

    std::string error;

  private:
    /// Adds the rows of the outcome at the place; returns false if there are no more. All rows of an image are one
    /// step, or all of a region.
    bool add_next() {
        const FileOutcome& from = *outcome_;
        if (!from.measurement) {
            if (place_++ > 0) return false;
            ColumnRow row;
            row.path = from.path;
            for (std::size_t i = 0; i < columns_.size(); ++i)
                values_[i].add(columns_[i].name == "path" ? ColumnValue(row.path) : ColumnValue());
            values_.back().add_text(utf8_of(from.kind + ": " + from.message));
            ++count_;
            return true;
        }
        if (rows_.table == ColumnFile::stats) {
            if (place_++ > 0) return false;
            for (const Row& row : from.measurement->rows) add(from.measurement->columns(row));
            return true;
        }
        if (!from.regions || place_ == from.regions->found.size()) return false;
        from.regions->for_each_row(place_++, [this](const ColumnRow& row) { add(row); });
        return true;
    }

    void add(const ColumnRow& row) {
        for (std::size_t i = 0; i < columns_.size(); ++i) values_[i].add(columns_[i].value(row));
        values_.back().add(ColumnValue());
        ++count_;
    }

    /// Whether a signal for Python came. Only the main thread can tell; others may not have the interpreter's lock.
    static bool interrupted() {
        if (gettid() != getpid()) return false;
        const Locked acquired;
        if (PyErr_CheckSignals() == 0) return false;
        PyErr_Clear();
        PyErr_SetInterrupt();  // the handler is called again once the caller has returned
        return true;
    }

    const RowStream rows_;
    const std::vector<Column> columns_;
    std::shared_ptr<Files> files_;
    std::vector<Values> values_;
    std::size_t count_ = 0;  ///< rows of the batch
    std::optional<FileOutcome> outcome_;
    std::size_t place_ = 0;  ///< rows, or regions, of the outcome that were added
};

Stream& stream_of(ArrowArrayStream* stream) {
    return *static_cast<Stream*>(stream->private_data);
}

template <class Call>
int guarded(ArrowArrayStream* stream, const Call& call) {
    try {
        return call(stream_of(stream));
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (const std::exception& error) {
        stream_of(stream).error = error.what();
        return EIO;
    }
}

}  // namespace

nb::capsule arrow_stream(RowStream rows) {
    auto held = std::make_unique<Stream>(std::move(rows));
    auto made = std::make_unique<ArrowArrayStream>();
    made->get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
        return guarded(self, [&](Stream& stream) {
            stream.schema(*out);
            return 0;
        });
    };
    made->get_next = [](ArrowArrayStream* self, ArrowArray* out) {
        return guarded(self, [&](Stream& stream) {
            if (stream.next(*out)) return 0;
            stream.error = "interrupted";
            return EINTR;
        });
    };
    made->get_last_error = [](ArrowArrayStream* self) -> const char* {
        const std::string& error = stream_of(self).error;
        return error.empty() ? nullptr : error.c_str();
    };
    made->release = [](ArrowArrayStream* self) {
        delete static_cast<Stream*>(self->private_data);
        self->release = nullptr;
    };
    made->private_data = held.release();
    nb::capsule capsule(made.get(), "arrow_array_stream", [](void* pointer) noexcept {
        auto* stream = static_cast<ArrowArrayStream*>(pointer);
        const Unlocked released;  // the run ends once the images in flight are done
        if (stream->release) stream->release(stream);
        delete stream;
    });
    static_cast<void>(made.release());
    return capsule;
}

}  // namespace gpuhist::python
