// A program's own kernel on the emulated GPU: a function of any parameters behind the one address that the emulator
// hands over.
#pragma once

#include "../on_cpu.h"

namespace emulated {

// Where a parameter lies, as on a GPU: each at the next place that its alignment allows.
constexpr unsigned place(unsigned after, unsigned align) { return (after + align - 1) / align * align; }

template <class... P>
constexpr unsigned bytes_of(void (*)(P...)) {
    unsigned end = 0;
    ((end = place(end, alignof(P)) + sizeof(P)), ...);
    return end;
}

// The sizes of the parameters, ended by a 0, for who packs them.
template <class... P>
struct Sizes {
    unsigned char sizes[sizeof...(P) + 1] = {sizeof(P)..., 0};
};
template <class... P>
constexpr Sizes<P...> sizes_of(void (*)(P...)) {
    return {};
}

template <class T>
const T& taken(const char* from, unsigned& end) {
    const unsigned at = place(end, alignof(T));
    end = at + sizeof(T);
    return *reinterpret_cast<const T*>(from + at);
}
template <class... P>
struct Call {
    // Braces around the arguments of the constructor order them.
    Call(void (*f)(P...), P... p) { f(p...); }
};
template <class... P>
void call(void (*f)(P...), const void* args) {
    [[maybe_unused]] unsigned end = 0;
    [[maybe_unused]] const char* from = static_cast<const char*>(args);
    Call<P...>{f, taken<P>(from, end)...};
}

}  // namespace emulated

#define EMULATED_USER_KERNEL(name)                                                                 \
    extern "C" EMULATED_EXPORT const unsigned emulated_user_bytes;                                 \
    extern "C" EMULATED_EXPORT const unsigned emulated_user_bytes = emulated::bytes_of(&name);     \
    extern "C" EMULATED_EXPORT const decltype(emulated::sizes_of(&name)) emulated_user_sizes;      \
    extern "C" EMULATED_EXPORT const decltype(emulated::sizes_of(&name)) emulated_user_sizes = {}; \
    extern "C" EMULATED_EXPORT void emulated_user(const void* args, emulated_block* block) {       \
        emulated_run<char>(args, block, [args](const char&) { emulated::call(&name, args); });     \
    }
