/// Build: facts about this program from CMake. They are in one small file, so that a new commit recompiles only this
/// file.
#pragma once

namespace gpuhist::app::build {

extern const char* const commit;  ///< empty where the sources came without git
extern const char* const cuda;    ///< the toolkit and the GPUs compiled for; empty without

}  // namespace gpuhist::app::build
