// Errors of the core: a C++ exception that becomes the matching Python exception at the boundary.
#pragma once

#include <exception>
#include <initializer_list>
#include <ostream>
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

// What a function of Python's C API made; where it is null, the exception that says why is set already.
template <class T>
T* made(T* object) {
    if (!object) throw PythonError();
    return object;
}

// A part of a message: a value and how it is printed. It only refers to the value, which outlives the statement.
class Part {
  public:
    template <class T>
    Part(const T& value) : value_(&value), print_(print<T>) {}
    Part(const char* text) : value_(text), print_(print_text) {}  // literals of all lengths alike
    void print_to(std::ostream& s) const { print_(s, value_); }

  private:
    template <class T>
    static void print(std::ostream& s, const void* value) {
        s << *static_cast<const T*>(value);
    }
    static void print_text(std::ostream& s, const void* text) { s << static_cast<const char*>(text); }

    const void* value_;
    void (*print_)(std::ostream&, const void*);
};

// Messages are put together out of line: there are a thousand, and a stream for each is code.
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
