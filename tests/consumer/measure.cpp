// Uses the library alone. Exits 0 where the numbers are right.
#include <cstdio>
#include <gpuhist/gpuhist.hpp>

int main() {
    const unsigned char pixels[] = {10, 20, 30, 40};
    try {
        const auto image = gpuhist::packed_view(pixels, 2, 2, 1, gpuhist::Depth::u8);
        const auto rows = gpuhist::statistics(gpuhist::make_engine("auto")->analyze(image));
        std::printf("%s: mean %g, std %g\n", to_string(rows.at(0).channel), *rows.at(0).mean, *rows.at(0).std);
        return rows.size() == 1 && rows[0].mean == 25.0 && rows[0].max == 40.0 ? 0 : 1;
    } catch (const gpuhist::Error& error) {
        std::fprintf(stderr, "measure: %s\n", error.what());
        return 2;
    }
}
