// Python's stable ABI, for the kernels of wheels: functions that every CPython from 3.11 on exports with this
// signature, and that its headers show to users of the stable ABI from a later version on, or not (PyGILState_Check).
#pragma once

#include <Python.h>

#define PY_VECTORCALL_ARGUMENTS_OFFSET (static_cast<size_t>(1) << (8 * sizeof(size_t) - 1))
extern "C" PyObject* PyObject_Vectorcall(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames);
extern "C" const char* PyUnicode_AsUTF8(PyObject* text);
extern "C" int PyGILState_Check(void);
