// Errors of the core: a C++ exception that becomes the matching Python exception at the boundary.
#pragma once

#include <exception>
#include <sstream>
#include <string>

namespace mt {

enum class ErrorKind {
    Runtime,
    Type,
    Value,
    Index,
    NotImplemented,
    Memory,
    Attribute,
    Key,
    Overflow,
    ZeroDivision,
    LinAlg
};

class Error : public std::exception {
  public:
    Error(ErrorKind kind, std::string text) : kind(kind), text(std::move(text)) {}
    const char* what() const noexcept override { return text.c_str(); }
    ErrorKind kind;
    std::string text;
};

// A Python exception is already set; unwind to the boundary.
class PythonError : public std::exception {};

template <class... A>
std::string concat(const A&... parts) {
    std::ostringstream s;
    (s << ... << parts);
    return s.str();
}

void raise_to_python() noexcept;  // inside catch (...): sets the Python exception for the one in flight

}  // namespace mt

#define MT_THROW(kind, ...) throw ::mt::Error(::mt::ErrorKind::kind, ::mt::concat(__VA_ARGS__))
#define MT_CHECK_AS(kind, condition, ...)                                   \
    do {                                                                    \
        if (__builtin_expect(!(condition), 0)) MT_THROW(kind, __VA_ARGS__); \
    } while (0)
#define MT_CHECK(condition, ...) MT_CHECK_AS(Runtime, condition, __VA_ARGS__)
#define MT_CHECK_TYPE(condition, ...) MT_CHECK_AS(Type, condition, __VA_ARGS__)
#define MT_CHECK_VALUE(condition, ...) MT_CHECK_AS(Value, condition, __VA_ARGS__)
#define MT_CHECK_INDEX(condition, ...) MT_CHECK_AS(Index, condition, __VA_ARGS__)
