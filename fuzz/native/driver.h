// What the native targets share: an interpreter with the package in it, values made of a fuzzer's bytes, and what may
// come of a call.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fuzzing {

using Data = FuzzedDataProvider;

// Starts Python (the program that MINDTORCH_FUZZ_PYTHON names, for its packages) and runs `program`; its variables.
PyObject* start(const char* program);
// What `program` left under this name; borrowed.
PyObject* found(const char* name);

// Looks at the outcome of a call: gives up with the text of the exception if it is one that no input may lead to, else
// forgets it. True if there was none.
bool is_well(PyObject* result, const char* what);
bool is_well(PyObject* result, PyObject* callee);
// Gives up because of a wrong result.
[[noreturn]] void wrong(const char* what, const std::string& shown);

int64_t integer(Data& data);  // mostly small, some at the ends of what 64 bits hold
PyObject* integers(Data& data, size_t most);
PyObject* element(PyObject* list, Data& data);  // one of a list's; borrowed
std::string text_of(PyObject* object);          // repr, for reports

// Holds one reference.
class Ref {
  public:
    Ref() = default;
    explicit Ref(PyObject* object) : object_(object) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { Py_XDECREF(object_); }
    PyObject* get() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    PyObject* object_ = nullptr;
};

}  // namespace fuzzing
