#include "run/outcome.hpp"

#include <new>
#include <opencv2/core.hpp>

#include "gpuhist/io/files.hpp"

namespace gpuhist::app {

Failure failure_of(const IoError& error) {
    if (dynamic_cast<const io::LockedError*>(&error)) return {locked, error.what()};
    return {io::to_string(error.kind()), error.what()};
}

Failure current_failure(const std::string& path) {
    try {
        throw;
    } catch (const IoError& error) {
        return failure_of(error);
    } catch (const CudaError& error) {
        return {"engine", path + ": " + error.what()};
    } catch (const InvalidArgument& error) {
        return {"unsupported", path + ": " + error.what()};
    } catch (const std::bad_alloc&) {
        return {"memory", path + ": there is not enough memory"};
    } catch (const cv::Exception& error) {
        return {"other", path + ": " + error.err};
    } catch (const std::exception& error) {
        return {"other", path + ": " + error.what()};
    } catch (...) {
        return {"other", path + ": unknown error"};
    }
}

}  // namespace gpuhist::app
