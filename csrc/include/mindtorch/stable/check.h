// STD_TORCH_CHECK: throws the standard's exception, for libraries that use nothing but C functions.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

// Each library has its own: none may take another one's, made with other headers.
#pragma GCC visibility push(hidden)

namespace mindtorch_stable {

template <class... A>
std::string joined(const A&... parts) {
    std::ostringstream s;
    (void)(s << ... << parts);
    return s.str();
}
template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const char* function, const char* file, int line,
                                                 const char* condition, const A&... parts) {
    if constexpr (sizeof...(A) == 0)
        throw std::runtime_error(
            joined(function, ", ", file, ":", line, ", Expected ", condition, " to be true, but got false."));
    else
        throw std::runtime_error(joined(function, ", ", file, ":", line, ", ", parts...));
}

}  // namespace mindtorch_stable

#define STD_TORCH_CHECK(condition, ...)                                                                    \
    do {                                                                                                   \
        if (__builtin_expect(!(condition), 0))                                                             \
            ::mindtorch_stable::fail(__func__, __FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
    } while (false)

#pragma GCC visibility pop
