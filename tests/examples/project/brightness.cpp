#include <gpuhist/gpuhist.hpp>
#include <iostream>

int main() try {
    const unsigned char pixels[] = {10, 20, 30, 40};  // 2 × 2, gray
    const auto image = gpuhist::packed_view(pixels, 2, 2, 1, gpuhist::Depth::u8);
    const auto engine = gpuhist::make_engine("auto");
    std::cout << "mean " << *gpuhist::statistics(engine->analyze(image)).at(0).mean << '\n';
} catch (const gpuhist::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
