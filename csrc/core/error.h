// Errors of the core: a C++ exception that becomes the matching Python exception at the boundary.
#pragma once

#include <exception>
#include <initializer_list>
#include <string>

#include "text.h"

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

// What a function of Python's C API made; where it is null, the exception that says why is set already.
template <class T>
T* made(T* object) {
    if (!object) throw PythonError();
    return object;
}

// A part of a message: a value and how it becomes text. It only refers to the value, which outlives the statement.
class Part {
  public:
    template <class T>
    Part(const T& value) : value_(&value), append_(append_value<T>) {}
    Part(const char* text) : value_(text), append_(append_text) {}  // literals of all lengths alike
    void append_to(std::string& text) const { append_(text, value_); }

  private:
    template <class T>
    static void append_value(std::string& text, const void* value) {
        append(text, *static_cast<const T*>(value));
    }
    static void append_text(std::string& text, const void* part) { append(text, static_cast<const char*>(part)); }

    const void* value_;
    void (*append_)(std::string&, const void*);
};

// Messages are put together out of line: there are a thousand, and a text made in each place is code.
std::string concat_parts(std::initializer_list<Part> parts);
template <class... A>
std::string concat(const A&... parts) {
    return concat_parts({Part(parts)...});
}
[[noreturn, gnu::cold]] void raise(ErrorKind kind, std::initializer_list<Part> message);

void raise_to_python() noexcept;  // inside catch (...): sets the Python exception for the one in flight

}  // namespace mt

#define MT_THROW(kind, ...) ::mt::raise(::mt::ErrorKind::kind, {__VA_ARGS__})
#define MT_CHECK_AS(kind, condition, ...)                                   \
    do {                                                                    \
        if (__builtin_expect(!(condition), 0)) MT_THROW(kind, __VA_ARGS__); \
    } while (0)
#define MT_CHECK(condition, ...) MT_CHECK_AS(Runtime, condition, __VA_ARGS__)
#define MT_CHECK_TYPE(condition, ...) MT_CHECK_AS(Type, condition, __VA_ARGS__)
#define MT_CHECK_VALUE(condition, ...) MT_CHECK_AS(Value, condition, __VA_ARGS__)
#define MT_CHECK_INDEX(condition, ...) MT_CHECK_AS(Index, condition, __VA_ARGS__)
