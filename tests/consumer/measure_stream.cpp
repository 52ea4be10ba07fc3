// Uses the stream-level API without the CUDA toolkit: nothing of it is needed to compile. Exits 0 where the analyzer is
// made and refuses what it must, or where there is no GPU and it says so.
#include <cstdio>
#include <gpuhist/gpuhist.hpp>
#include <gpuhist/stream.hpp>

int main() {
    gpuhist::StreamPlan plan;
    plan.channels = 3;
    const bool available = gpuhist::engines().at(0).available;
    try {
        gpuhist::StreamAnalyzer analyzer(plan);
        gpuhist::PinnedResults results(analyzer.layout());
        std::printf("%zu bytes of workspace, %zu a result\n", gpuhist::StreamAnalyzer::workspace_bytes(plan),
                    analyzer.layout().bytes);
        const cudaStream_t stream = nullptr;
        try {
            analyzer.enqueue(gpuhist::ImageView{}, {}, results.device(), stream);
        } catch (const gpuhist::InvalidArgument&) {
            return available && !results.ready() ? 0 : 1;
        }
        return 1;
    } catch (const gpuhist::EngineUnavailable& error) {
        std::printf("%s\n", error.what());
        return available ? 1 : 0;
    } catch (const gpuhist::Error& error) {
        std::fprintf(stderr, "measure_stream: %s\n", error.what());
        return 2;
    }
}
