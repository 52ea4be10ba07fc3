// Damage as disks, networks and editors do it to files, reproducibly.
#pragma once

#include <algorithm>
#include <cctype>
#include <random>
#include <string>

namespace gpuhist::test {

/// Text with one damage: bits flipped, zeros, a piece cut out, the end cut off, something put in, two pieces swapped,
/// or a digit that is another. It is never as it was.
inline std::string damaged(const std::string& good, std::mt19937& random) {
    for (;;) {
        std::string text = good;
        const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
        const std::size_t at = below(text.size()), length = std::min<std::size_t>(1 + below(64), text.size() - at);
        switch (random() % 7) {
            case 0:
                text[at] = static_cast<char>(text[at] ^ 1 << random() % 8);
                break;
            case 1:
                text.replace(at, length, length, '\0');
                break;
            case 2:
                text.erase(at, length);
                break;
            case 3:
                text.resize(at);
                break;
            case 4:
                text.insert(at, text.substr(below(text.size()), length));
                break;
            case 5: {
                const std::size_t other = below(text.size() - length + 1);
                const std::string a = text.substr(at, length), b = text.substr(other, length);
                text.replace(at, length, b).replace(other, length, a);
                break;
            }
            default:
                for (std::size_t i = at; i < text.size(); ++i)
                    if (std::isdigit(static_cast<unsigned char>(text[i]))) {
                        text[i] = static_cast<char>('0' + random() % 10);
                        break;
                    }
        }
        if (text != good) return text;
    }
}

}  // namespace gpuhist::test
