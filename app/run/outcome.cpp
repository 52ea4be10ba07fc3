#include "run/outcome.hpp"

#include <new>
#include <opencv2/core.hpp>

#include "gpuhist/io/files.hpp"

namespace gpuhist::app {

Failure failure_of(const IoError& error) {
    if (dynamic_cast<const io::LockedError*>(&error)) return {locked, error.what()};
    return {word(error.kind()), error.what()};
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
        return {"other", path + ": an error without a name"};
    }
}

const char* word(IoError::Kind kind) {
    switch (kind) {
        case IoError::Kind::missing:
            return "missing";
        case IoError::Kind::permission:
            return "permission";
        case IoError::Kind::truncated:
            return "truncated";
        case IoError::Kind::too_large:
            return "too_large";
        case IoError::Kind::unsupported:
            return "unsupported";
        case IoError::Kind::damaged:
            return "damaged";
        case IoError::Kind::memory:
            return "memory";
        case IoError::Kind::no_space:
            return "no_space";
        case IoError::Kind::other:
            break;
    }
    return "unreadable";
}

}  // namespace gpuhist::app
