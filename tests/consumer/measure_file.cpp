// Uses the library with its files. Exits 0 where the image was measured.
#include <cstdio>
#include <gpuhist/gpuhist.hpp>
#include <gpuhist/io/decode.hpp>
#include <gpuhist/io/report.hpp>

int main(int, char** arguments) {
    try {
        const gpuhist::io::Image image = gpuhist::io::read_image(arguments[1]);
        const gpuhist::ImageView pixels = view(image);
        const auto rows = gpuhist::statistics(gpuhist::make_engine("auto")->analyze(pixels));
        const gpuhist::io::ImageInfo info{arguments[1], pixels.width, pixels.height, pixels.depth};
        std::printf("%s%s", gpuhist::io::stats_csv_header().c_str(), gpuhist::io::stats_csv_rows(info, rows).c_str());
        return rows.size() == 5 ? 0 : 1;
    } catch (const gpuhist::Error& error) {
        std::fprintf(stderr, "measure_file: %s\n", error.what());
        return 2;
    }
}
