#include "jpeg/huffman.hpp"

#include <algorithm>
#include <iterator>

namespace gpuhist::jpeg {

bool make_table(const std::uint8_t counts[16], const std::uint8_t* symbols, bool dc, HuffmanTable& table) {
    std::fill(std::begin(table.lookup), std::end(table.lookup), Code{0});
    std::fill(std::begin(table.codes), std::end(table.codes), no_code);
    std::uint32_t code = 0;
    int index = 0;
    for (int length = 1; length <= HuffmanTable::longest; ++length, code <<= 1) {
        const int count = counts[length - 1], at_first = index - static_cast<int>(code);
        if (index + count > 256) return false;
        for (int i = 0; i < count; ++i, ++index, ++code) {
            const int symbol = symbols[index], value_bits = symbol & 15, run = symbol >> 4;
            if (dc && run > 0) return false;
            const int advance = dc || value_bits > 0 ? run + 1 : run == 15 ? 16 : to_the_end;
            table.codes[index] = make_code(length + value_bits, value_bits, advance);
            if (length > HuffmanTable::lookup_bits) continue;
            const int spread = HuffmanTable::lookup_bits - length;
            if (code >> length != 0) return false;
            std::fill_n(table.lookup + (code << spread), 1 << spread, table.codes[index]);
        }
        if (count > 0 && code >= std::uint32_t{1} << length) return false;  // no code is all ones
        if (length <= HuffmanTable::lookup_bits) continue;
        const int i = length - HuffmanTable::lookup_bits - 1;
        table.limit[i] = code << (HuffmanTable::longest - length);
        table.first[i] = at_first;
    }
    return index > 0;
}

}  // namespace gpuhist::jpeg
