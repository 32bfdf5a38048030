// Calls of Python's functions, and threads that the interpreter leaves behind.
//
// A thread that wants the GIL when the interpreter is already ending (a daemon thread) never gets it: up to
// version 3.13 Python ends the thread there, by unwinding its stack. Destructors on the way would touch Python objects
// without the GIL, and those that may not throw would end the process. So such a thread stays where it is until the
// process is over, as Python itself has it from 3.14 on.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cxxabi.h>

namespace mt {

[[noreturn]] void stay();

// Runs what may wait for the GIL: other Python code, or a function of CPython's.
template <class F>
auto or_stay(const F& f) {
    try {
        return f();
    } catch (abi::__forced_unwind&) {
        stay();
    }
}

// Such an unwinding that meets a destructor first, as NoGil's, ends in std::terminate: threads stay there too.
void stay_at_terminate();

// Holds the GIL on whatever thread this is.
class HoldGil {
  public:
    HoldGil() : state_(or_stay([] { return PyGILState_Ensure(); })) {}
    ~HoldGil() { PyGILState_Release(state_); }
    HoldGil(const HoldGil&) = delete;
    HoldGil& operator=(const HoldGil&) = delete;

  private:
    PyGILState_STATE state_;
};

// f(*args), keywords last as in a vectorcall. New reference, or null with the exception set.
inline PyObject* call_python(PyObject* f, PyObject* const* args, size_t n, PyObject* kwnames = nullptr) {
    return or_stay([&] { return PyObject_Vectorcall(f, args, n, kwnames); });
}
template <class... A>
PyObject* call_python(PyObject* f, A*... args) {
    PyObject* all[] = {nullptr, args...};
    return call_python(f, all + 1, sizeof...(args) | PY_VECTORCALL_ARGUMENTS_OFFSET);
}

}  // namespace mt
