/// Build: what CMake knew of this program. One small file holds it, so that a new commit compiles no other.
#pragma once

namespace gpuhist::app::build {

extern const char* const commit;  ///< empty where the sources came without git
extern const char* const cuda;    ///< the toolkit and the GPUs compiled for; empty without

}  // namespace gpuhist::app::build
