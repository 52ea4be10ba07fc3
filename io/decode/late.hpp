// Functions of libraries that are loaded when the first file needs them: to load them with the program takes half of
// its start.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace gpuhist::io {

/// Function of a C library, which is loaded when the function is first wanted, and stays.
template <class Function>
class LateFunction;

template <class Result, class... Arguments>
class LateFunction<Result(Arguments...)> {
  public:
    /// Both texts must stay.
    constexpr LateFunction(const char* library, const char* name) : library_(library), name_(name) {}

    /// Whether the library is there.
    explicit operator bool() const { return address() != nullptr; }
    /// Calls the function, which must be there.
    Result operator()(Arguments... arguments) const { return address()(arguments...); }

  private:
    using Address = Result (*)(Arguments...);

    Address address() const {
        if (const Address known = address_) return known;
        void* const library = dlopen(library_, RTLD_NOW | RTLD_LOCAL);
        if (!library) return nullptr;
        return address_ = reinterpret_cast<Address>(dlsym(library, name_));
    }

    const char* library_;
    const char* name_;
    mutable std::atomic<Address> address_{nullptr};
};

/// Whether the library of a function is there.
template <class Function>
bool is_there(const LateFunction<Function>& function) {
    return static_cast<bool>(function);
}
/// A function that was linked is.
template <class Result, class... Arguments>
constexpr bool is_there(Result (*)(Arguments...)) {
    return true;
}

}  // namespace gpuhist::io
