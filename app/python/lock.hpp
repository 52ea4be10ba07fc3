/// The interpreter's lock.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace gpuhist::python {

/// Calls what waits for the interpreter's lock. Where the interpreter ends meanwhile, Python before 3.14 ends the
/// threads that wait, which are daemons, by unwinding their stacks. Destructors in C++ would end the process for that,
/// so such a thread waits for its end instead.
template <class Wait>
auto with_patience(const Wait& wait) {
    try {
        return wait();
    } catch (abi::__forced_unwind&) {
        for (;;) pause();
    }
}

/// Lets go of the interpreter's lock until this goes out of scope.
class Unlocked {
  public:
    Unlocked() : state_(PyEval_SaveThread()) {}
    ~Unlocked() {
        with_patience([this] { PyEval_RestoreThread(state_); });
    }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

  private:
    PyThreadState* state_;
};

/// Holds the interpreter's lock until this goes out of scope.
class Locked {
  public:
    Locked() : state_(with_patience([] { return PyGILState_Ensure(); })) {}
    ~Locked() { PyGILState_Release(state_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

  private:
    PyGILState_STATE state_;
};

}  // namespace gpuhist::python
