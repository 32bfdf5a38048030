// Methods of the C type that modes and classes with a __torch_function__ are asked for, as they are for operators.
#pragma once

#include "bind.h"
#include "types.h"

namespace mt {

// The name of a method, as an argument of a template.
template <size_t N>
struct MethodName {
    char text[N];
    constexpr MethodName(const char (&given)[N]) {
        for (size_t i = 0; i < N; i++) text[i] = given[i];
    }
};

// Of a method without arguments: who takes the call over may have been given some.
template <MethodName name, PyObject* (*Run)(PyObject*, PyObject*)>
PyObject* offered_method(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    PyObject* result;
    if (__builtin_expect(asks_for_attributes(o), 0) && ask_method(name.text, o, args, n, kwnames, &result))
        return result;
    const Py_ssize_t given = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (__builtin_expect(given == 0, 1)) return Run(o, nullptr);
    PyErr_Format(PyExc_TypeError, "Tensor.%s() takes no arguments (%zd given)", name.text, given);
    return nullptr;
}
template <MethodName name, PyObject* (*Run)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)>
PyObject* offered_fastcall(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    PyObject* result;
    if (__builtin_expect(asks_for_attributes(o), 0) && ask_method(name.text, o, args, n, kwnames, &result))
        return result;
    return Run(o, args, n, kwnames);
}
template <MethodName name, PyObject* (*Run)(PyObject*, PyObject*, PyObject*)>
PyObject* offered_keywords(PyObject* o, PyObject* args, PyObject* kwargs) {
    if (__builtin_expect(!asks_for_attributes(o), 1)) return Run(o, args, kwargs);
    return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
        const Py_ssize_t n = PyTuple_GET_SIZE(args), named = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
        std::vector<PyObject*> all;
        all.reserve(static_cast<size_t>(n + named));
        for (Py_ssize_t i = 0; i < n; i++) all.push_back(PyTuple_GET_ITEM(args, i));
        PyObject* names = kwargs ? PySequence_Tuple(kwargs) : nullptr;
        if (kwargs && !names) return nullptr;
        for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); k++)
            all.push_back(PyDict_GetItem(kwargs, PyTuple_GET_ITEM(names, k)));
        PyObject* result;
        const bool handled = ask_method(name.text, o, all.data(), n, names, &result);
        Py_XDECREF(names);
        return handled ? result : Run(o, args, kwargs);
    });
}

}  // namespace mt
