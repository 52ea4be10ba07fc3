// Decodes JPEG files on the GPU and measures them there.
#include <fstream>
#include <gpuhist/gpuhist.hpp>
#include <gpuhist/jpeg.hpp>
#include <iostream>
#include <iterator>
#include <vector>

int main(int argc, char** argv) try {
    if (gpuhist::gpus().empty()) return 77;  // ctest: skipped
    std::vector<std::vector<char>> contents;
    for (int i = 1; i < argc; ++i) {
        std::ifstream file(argv[i], std::ios::binary);
        contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    std::vector<gpuhist::JpegFile> files;
    for (const auto& content : contents) files.push_back({content.data(), content.size()});

    gpuhist::JpegDecoder decoder;  // once: it owns the images of the last call
    decoder.decode(files.data(), static_cast<std::int64_t>(files.size()));
    const auto engine = gpuhist::make_engine("cuda");
    for (std::int64_t i = 0; i < decoder.size(); ++i) {
        std::cout << argv[i + 1] << ": ";
        if (decoder[i].reason.empty())
            std::cout << *gpuhist::statistics(engine->analyze(decoder[i].view, {})).front().mean << '\n';
        else
            std::cout << "left to the CPU: " << decoder[i].reason << '\n';
    }
} catch (const gpuhist::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
