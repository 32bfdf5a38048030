// libc10.so: two functions of libstdc++ 13 that libraries made with a newer compiler leave open, for systems whose
// libstdc++ is older. Written here for the layout of std::string that all of them share.
#include <cstring>
#include <iostream>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default"), weak))

// std::ios_base_library_init(): cin and cout are made by then.
EXPORT void _ZSt21ios_base_library_initv() { static const std::ios_base::Init streams; }

// std::string::_M_replace_cold(char* at, size_t replaced, const char* by, size_t n, size_t behind): `by` may lie inside
// the string itself, the room suffices.
EXPORT void _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm(std::string* self, char* at,
                                                                                            size_t replaced,
                                                                                            const char* by, size_t n,
                                                                                            size_t behind) {
    const std::string copy(by, n);
    if (behind && replaced != n) std::memmove(at + n, at + replaced, behind);
    if (n) std::memcpy(at, copy.data(), n);
}
