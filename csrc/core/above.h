// Functions of higher layers that the core asks for by name. Those layers register them in mindtorch_v2._core.above,
// the only way up: no file of the core imports a module that stands above it.
#pragma once

#include "gil.h"

namespace mt {

// The function of that name. New reference, or null with the exception set.
PyObject* above(const char* name);

// above.name(*args). New reference, or null with the exception set.
template <class... A>
PyObject* call_above(const char* name, A*... args) {
    PyObject* function = above(name);
    PyObject* r = function ? call_python(function, args...) : nullptr;
    Py_XDECREF(function);
    return r;
}

}  // namespace mt
